"""What an expression of the code may say: the texts that a message can have, with ⟨names⟩ for what is filled in."""

import ast
import re
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Any

NAMES = {
    "__name__": "kind", "__cause__": "what was given", "against": "fingerprint", "altered": "how", "at": "time",
    "backend": "kind", "called": "name", "came": "what was given", "checks": "names", "command_path": "command",
    "composed": "name", "c": "number of targets", "differs": "how", "during": "round", "entries": "number",
    "error": "reason", "existing": "path", "fits": "kind", "foreign": "name", "found": "reason",
    "got": "what was given", "in_words": "how", "k": "number", "keys": "round or date", "label": "name",
    "last_closing": "number", "layers": "classes", "least": "smallest", "len": "number", "line_num": "line",
    "lineno": "line", "meant": "option", "mechanism_id": "mechanism", "mechanism_ids": "mechanisms",
    "memory": "path", "memory_kib": "number", "n": "number", "n_leaders": "number of leaders",
    "n_present": "number of targets", "n_rounds": "number of rounds", "n_targets": "number of targets",
    "ndim": "number", "of": "number", "open_round": "round", "option_name": "option", "opts": "option",
    "out": "path", "outside": "number", "own": "names", "p": "probability", "parent": "folder",
    "present": "number of targets", "public_after": "round", "quoted": "what was given", "seen": "number",
    "self": "database", "shown": "what was given", "size": "number", "st_size": "number", "stated": "number",
    "store": "database", "strerror": "reason", "text": "what was given", "unstated": "what",
    "value": "what was given", "where": "place", "why": "reason", "wrong": "reason",
}  # fmt: skip
"""What a name of the code stands for, where a reader would not guess it."""
TEXTS = {"str", "Message", "str | Message"}
"""What a function returns that makes a text."""
SAID = {"noted": 0, "why_not": 0, "noted_count": 1}
"""What makes a sentence to be said later -> which of its arguments has the words; of two, those for several."""
NUMBERS = {"len", "sum", "max", "min", "rounded_up", "abs"}
SOURCE = Path(__file__).parents[1] / "src" / "deniable"


@dataclass(frozen=True)
class Module:
    place: str
    tree: ast.Module
    constants: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name here -> place and name there."""


@dataclass(frozen=True)
class Scope:
    module: Module
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    given: dict[str, list[str]] = field(default_factory=dict)
    """Texts of the function's arguments."""
    under_way: frozenset[int] = frozenset()


Code = dict[str, Module]


def read(folder: Path = SOURCE) -> Code:
    code = {}
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder).with_suffix("").as_posix().removesuffix("/__init__")
        code[place] = module_of(place, ast.parse(path.read_text(encoding="utf-8")))
    return code


def module_of(place: str, tree: ast.Module) -> Module:
    module = Module(place, tree)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            module.constants[node.targets[0].id] = node.value
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            pairs = zip(node.targets[0].elts, node.value.elts, strict=True)
            module.constants.update({last(target): value for target, value in pairs})
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            module.constants[node.target.id] = node.value
    for inside in ast.walk(tree):
        if isinstance(inside, ast.FunctionDef):
            module.functions.setdefault(inside.name, inside)
        elif isinstance(inside, ast.ImportFrom) and (inside.module or "").startswith("deniable"):
            origin = (inside.module or "").removeprefix("deniable").removeprefix(".").replace(".", "/")
            for name in inside.names:
                module.imports[name.asname or name.name] = origin, name.name
    return module


def last(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class Reader:
    """Finds the texts that an expression may have."""

    def __init__(self, code: Code, errors: set[str]) -> None:
        self._code = code
        self._makers = {
            node.name: (module, node)
            for module in code.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef) and node.returns is not None and _named_in(node.returns) & errors
        }
        """Functions that return an error, by name."""

    def makes(self, function: ast.AST | None) -> bool:
        """Whether a function returns an error, so that its callers say what is wrong."""
        return any(function is maker for _, maker in self._makers.values())

    def maker(self, call: ast.Call, scope: Scope) -> tuple[Module, ast.FunctionDef] | None:
        """The function that returns the error, where a call calls one."""
        name = last(call.func)
        if name not in self._makers:
            return None
        module, function = self._makers[name]
        known = scope.module.functions.get(name) or self._imported(name, scope)
        return (module, function) if known in {None, function} or isinstance(call.func, ast.Attribute) else None

    def _imported(self, name: str, scope: Scope) -> ast.FunctionDef | None:
        place, there = scope.module.imports.get(name, ("", ""))
        return self._code[place].functions.get(there) if place in self._code else None

    def texts(self, node: ast.expr, scope: Scope) -> list[str]:  # noqa: PLR0911  (one for each kind of expression)
        """What an expression may say: one text for each choice of words, with ⟨names⟩ for what is filled in."""
        if id(node) in scope.under_way:
            return [placeholder(node)]
        scope = replace(scope, under_way=scope.under_way | {id(node)})
        match node:
            case ast.Constant():
                return [placeholder(node) if node.value is None else str(node.value)]
            case ast.JoinedStr():
                return self._joined([self._filled(part, scope) for part in node.values])
            case ast.FormattedValue():
                texts = self.texts(node.value, scope)
                grouped = node.format_spec is not None and ast.unparse(node.format_spec) == "f','"
                return [f"{int(text):,}" if grouped and text.isdigit() else text for text in texts]
            case ast.BinOp(op=ast.Add()):
                texts = self._joined([self.texts(node.left, scope), self._optional(node.right, scope)])
                return texts if any(map(has_words, texts)) else [placeholder(node)]
            case ast.IfExp():
                return [*self.texts(node.body, scope), *self.texts(node.orelse, scope)]
            case ast.BoolOp():
                return [text for part in node.values for text in self.texts(part, scope)]
            case ast.Name() | ast.Attribute():
                return self._named(node, scope)
            case ast.Subscript(value=ast.Name(id=name), slice=key) if isinstance(
                table := self._table(name, scope.module), ast.Dict
            ):
                values = {_constant(one): value for one, value in zip(table.keys, table.values, strict=True)}
                chosen = [values[_constant(key)]] if _constant(key) in values else [*values.values()]
                return [text for value in chosen for text in self.texts(value, scope)]
            case ast.Call():
                return self.called(node, scope)
        return [placeholder(node)]

    def _table(self, name: str, module: Module) -> ast.expr | None:
        place, there = module.imports.get(name, (module.place, name))
        return self._code[place].constants.get(there) if place in self._code else None

    def _filled(self, part: ast.expr, scope: Scope) -> list[str]:
        return [str(part.value)] if isinstance(part, ast.Constant) else self._optional(part, scope)

    def _optional(self, node: ast.expr, scope: Scope) -> list[str]:
        """A text that is only sometimes there is in brackets."""
        texts = list(dict.fromkeys(self.texts(node, scope)))
        return [f"[{text}]" for text in texts if text] if "" in texts and len(texts) > 1 else texts

    def _joined(self, parts: list[list[str]]) -> list[str]:
        return ["".join(chosen) for chosen in product(*parts)]

    def _named(self, node: ast.Name | ast.Attribute, scope: Scope) -> list[str]:
        name = last(node)
        if isinstance(node, ast.Name):
            if name in scope.given:
                return scope.given[name]
            values = [*assigned(name, scope.function), *_looped(name, scope)]
            local = [text for value in values for text in self.texts(value, scope)]
            if any(not is_placeholder(text) for text in local):
                return local
            if name in scope.module.constants and not local:
                return self._constant(scope.module, name, node)
        place, there = scope.module.imports.get(name, ("", name))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            folder, module = scope.module.imports.get(node.value.id, ("", ""))
            place = f"{folder}/{module}".strip("/")
        if place in self._code and there in self._code[place].constants:
            return self._constant(self._code[place], there, node)
        return [placeholder(node)]

    def _constant(self, module: Module, name: str, node: ast.expr) -> list[str]:
        value = module.constants[name]
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Pow):
            return [str(ast.literal_eval(value.left) ** ast.literal_eval(value.right))]
        is_text = isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp) or (
            isinstance(value, ast.Call) and last(value.func) in SAID
        )
        texts = self.texts(value, Scope(module)) if is_text else []
        return texts if texts and not texts[0].startswith("⟨") else [placeholder(node)]

    def called(self, call: ast.Call, scope: Scope) -> list[str]:  # noqa: PLR0911  (one for each kind of call)
        name = last(call.func)
        if name in {"count", "plural"} and len(call.args) > 1:
            nouns = [str(part.value) for part in call.args[1:] if isinstance(part, ast.Constant)]
            noun = nouns[1] if len(nouns) > 1 else f"{nouns[0]}s" if nouns else "⟨things⟩"
            return [noun if name == "plural" else f"{self._optional(call.args[0], scope)[0]} {noun}"]
        if name in SAID and len(call.args) > SAID[name]:
            return self.filled(call, call.args[SAID[name]], scope)
        if name in {"all_of", "one_of"}:
            return [placeholder(call.args[0])]
        if name == "Place":
            return self.texts(call.args[0], scope)
        if name == "format" and isinstance(call.func, ast.Attribute):
            return self._formatted(call, call.func.value, scope)
        if name in {"str", "elsewhere", "sentence", "capitalize"} and len(call.args) == 1:
            return self.texts(call.args[0], scope)
        found = self.maker(call, scope) or self._function(call, scope)
        if found is None or id(found[1]) in scope.under_way:
            return [placeholder(call)]
        module, function = found
        given = self._given(call, function, scope)
        inside = Scope(module, function, given, scope.under_way | {id(function)})
        returned = [
            node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None
        ]
        texts = [
            text
            for value in returned
            for text in (self._error(value, inside) if found[1].name in self._makers else self.texts(value, inside))
        ]
        return texts if any(map(has_words, texts)) or "" in texts else [placeholder(call)]

    def filled(self, call: ast.Call, template: ast.expr, scope: Scope) -> list[str]:
        """What a text may say whose values stand in braces and are given by the call."""
        texts = self.texts(template, scope)
        if not call.keywords and last(call.func) not in {"of", "noted_count"}:
            return texts
        values = {key.arg: self._value(key.value, scope) for key in call.keywords if key.arg}
        found = []
        for text in texts:
            names = [name for _, name, _, _ in Formatter().parse(text) if name]
            known = [values.get(name) or scope.given.get(name) or [f"⟨{name.replace('_', ' ')}⟩"] for name in names]
            found += [text.format(**dict(zip(names, chosen, strict=True))) for chosen in product(*known)]
        return found

    def _value(self, node: ast.expr, scope: Scope) -> list[str]:
        """As a message writes it: whole numbers in groups, unless they are made a text first."""
        texts = self._optional(node, scope)
        is_text = isinstance(node, ast.Call) and last(node.func) == "str"
        return [f"{int(text):,}" if text.isdecimal() and not is_text else text for text in texts]

    def _error(self, value: ast.expr, scope: Scope) -> list[str]:
        """The text of the error that a function returns."""
        if not isinstance(value, ast.Call):
            return []
        if self.maker(value, scope):
            return self.called(value, scope)
        return self.filled(value, value.args[0], scope) if value.args else []

    def _function(self, call: ast.Call, scope: Scope) -> tuple[Module, ast.FunctionDef] | None:
        """A function of ours that makes a text."""
        if not isinstance(call.func, ast.Name) and ast.unparse(call.func.value) != "self":  # type: ignore[attr-defined]
            return None
        name = last(call.func)
        place, there = scope.module.imports.get(name, (scope.module.place, name))
        function = self._code[place].functions.get(there) if place in self._code else None
        makes_text = function is not None and function.returns is not None and ast.unparse(function.returns) in TEXTS
        return (self._code[place], function) if makes_text and function is not None else None

    def _given(self, call: ast.Call, function: ast.FunctionDef, scope: Scope) -> dict[str, list[str]]:
        names = [
            argument.arg
            for argument in (*function.args.posonlyargs, *function.args.args)
            if argument.arg not in {"self", "cls"}
        ]
        given = {name: self._optional(value, scope) for name, value in zip(names, call.args, strict=False)}
        return given | {key.arg: self._optional(key.value, scope) for key in call.keywords if key.arg}

    def _formatted(self, call: ast.Call, template: ast.expr, scope: Scope) -> list[str]:
        texts = self.texts(template, scope)
        if not any(map(has_words, texts)):
            return [placeholder(call)]
        names = [key.arg or "" for key in call.keywords]
        fills = [self._optional(part, scope) for part in (*call.args, *(key.value for key in call.keywords))]
        return [
            text.format(*chosen[: len(call.args)], **dict(zip(names, chosen[len(call.args) :], strict=True)))
            for text in texts
            for chosen in product(*fills)
        ]


def assigned(name: str, function: Any) -> list[ast.expr]:
    """What a function assigns to a name of its own."""
    found = []
    for node in ast.walk(function) if function is not None else ():
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.NamedExpr) else []
        )
        found += [_value_of(name, target, node.value) for target in targets]  # type: ignore[attr-defined]
    return [value for value in found if value is not None and ast.unparse(value) != "None"]


def _looped(name: str, scope: Scope) -> list[ast.expr]:
    """What a function takes one by one from a constant table and calls by this name."""
    found = list[ast.expr]()
    for node in ast.walk(scope.function) if scope.function is not None else ():
        match node:
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=named)]),
                iter=ast.Call(func=ast.Attribute(value=ast.Name(id=table), attr="items")),
            ) if named == name and isinstance(held := scope.module.constants.get(table), ast.Dict):
                found += held.values
    return found


def _value_of(name: str, target: ast.expr, value: ast.expr) -> ast.expr | None:
    if isinstance(target, ast.Name):
        return value if target.id == name else None
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return next((found for one, held in pairs if (found := _value_of(name, one, held)) is not None), None)
    return None


def _named_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def has_words(text: str) -> bool:
    bare, depth = "", 0
    for sign in text:
        depth += (sign == "⟨") - (sign == "⟩")
        bare += sign if depth == 0 else ""
    return any(map(str.isalpha, bare))


def is_placeholder(text: str) -> bool:
    return text.startswith("⟨") and text.find("⟩") == len(text) - 1


def tidy(text: str) -> str:
    """In one line, with brackets apart from the word before, and nothing filled in twice in a row."""
    text = re.sub(r"(⟨[^⟩]*⟩)\1", r"\1", text.replace("[ ", " ["))
    return " ".join(text.split())


def placeholder(node: ast.AST) -> str:
    return f"⟨{_words(node)}⟩"


def _words(node: ast.AST) -> str:  # noqa: PLR0911  (one for each kind of expression)
    """What an expression stands for, in words."""
    match node:
        case ast.Name() | ast.Attribute():
            name = last(node)
            return NAMES.get(name.lower(), name.strip("_").lower().replace("_", " "))
        case ast.Call() if last(node.func) in NUMBERS:
            return "number"
        case ast.Call(args=[*_, final]):
            filled = [one for one in node.args if not isinstance(one, ast.Constant) and last(one) != "str"]
            return _words(next(iter(filled), final))
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() as value)):
            return _words(value)
        case ast.Call():
            return _words(node.func)
        case ast.Subscript() | ast.Starred() | ast.FormattedValue() | ast.Await():
            return _words(node.value)
        case ast.BinOp():
            return _words(node.left)
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
            return _words(node.generators[0].iter)
        case ast.IfExp():
            return _words(node.body)
    return "number"
