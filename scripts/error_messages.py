"""Every message by which deniable refuses something, read off the code; scripts/reference.py puts them on a page.

A message is the sentence given to `DeniableError` or a class below it, to a function that returns one, or to what
answers with a problem in the console and at the command line. What is filled in is shown as ⟨name⟩, what is only
sometimes there in [brackets]. A message whose words cannot be found is an error of its own, so that none is missing.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from scripts.message_texts import Code, Reader, Scope, assigned, has_words, last, tidy

ROOT_ERROR = "DeniableError"
ANSWERS = {"HTTPException": 1, "Refused": 1, "problem": 2, "_fail": 0, "FieldError": 1}
"""What else tells a person of a problem -> which of its arguments the sentence is."""
TABLES = {"console/app": ("_BUG",), "console/refusals": ("_SENTENCES", "FIRST_RUN", "_KEY_CHANGED")}
"""Constants that hold sentences for problems."""
WITH_OWN_WORDS = {"OtherColumnsError"}
"""Classes that make their sentence of what they are given."""
PASSED_ON = {"programme/hand_over": "told"}
"""Names for what another process said, which has its own place in the list."""
TITLES: dict[str, tuple[str, ...]] = {
    "Commands and options": ("cli/",),
    "Reports in files": (
        "report_files",
        "csv_files",
        "classed_streams",
        "report_classes",
        "streams",
        "simulation/recorded",
    ),
    "Mechanisms, rules and weights": (
        "arrays",
        "calibration",
        "class_guarantees",
        "counters/",
        "curves",
        "errors",
        "guarantee",
        "mechanisms/",
        "noise",
        "promptness/",
        "rounding",
        "rules",
        "run",
        "state",
        "utility",
        "yearly_figures",
    ),
    "Plans, studies and attacks": (
        "attack/",
        "cli/attack",
        "cli/evaluate",
        "cli/plan",
        "cli/simulate",
        "planning/",
        "simulation/",
        "testing",
    ),
    "A programme": ("programme/", "cli/programme/", "languages/"),
    "Imports": ("programme/imports/", "cli/programme/imports"),
    "Public values": (
        "programme/randomness/",
        "cli/programme/sources",
        "cli/programme/draw_round",
        "programme/public/frozen_rounds",
    ),
    "Public files, checks and certificates": (
        "programme/public/",
        "programme/transcript/",
        "cli/programme/public",
        "cli/programme/verify",
        "cli/programme/certificate",
    ),
    "Witnesses": ("programme/witness/", "cli/witness", "programme/public/cosignatures"),
    "Keys and oversight": ("programme/secrets/", "programme/rekeying", "cli/programme/oversight"),
    "Databases, backups and copies of the transcript": (
        "storage/",
        "programme/backup",
        "programme/transcript_copies",
        "programme/old_databases",
        "programme/recovery",
        "cli/programme/maintenance",
    ),
    "Starting the console": ("cli/serve", "console/allowed_hosts", "console/workers"),
    "Pages of the console": ("console/",),
    "Signing in, accounts and invitations": (
        "console/accounts/",
        "console/security",
        "console/sessions",
        "console/limits",
        "console/pages/account",
        "console/pages/invitations",
        "console/pages/login",
        "console/pages/people",
    ),
    "The console's API": ("console/api",),
}
"""Where a reader meets a message -> the files that it comes from; of several that fit, the longest counts."""


class UnreadableError(Exception):
    """The words of a message cannot be found in the code."""


class Message(NamedTuple):
    place: str
    """The file, below the package and without its suffix."""
    line: int
    text: str


def messages(code: Code) -> list[Message]:
    """All of them, in the order of the files."""
    classes, found = error_classes(code), list[Message]()
    reader = Reader(code, classes)
    for module in code.values():
        for name in TABLES.get(module.place, ()):
            held = module.constants[name]
            sentences = held.values if isinstance(held, ast.Dict) else [held]
            found += (
                Message(module.place, one.lineno, tidy(text))
                for one in sentences
                for text in reader.texts(one, Scope(module))
            )
        for call, function in _within(module.tree, None):
            texts = told(reader, call, Scope(module, function), classes)
            found += (Message(module.place, call.lineno, tidy(text)) for text in texts)
    return found


def error_classes(code: Code) -> set[str]:
    found = {ROOT_ERROR}
    definitions = [node for module in code.values() for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    while more := {node.name for node in definitions if {last(base) for base in node.bases} & found} - found:
        found |= more
    return found


def _within(node: ast.AST, function: Any) -> Iterator[tuple[ast.Call, Any]]:
    """Every call, with the function that it stands in."""
    for child in ast.iter_child_nodes(node):
        inside = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, ast.Call):
            yield child, function
        yield from _within(child, inside)


def told(reader: Reader, call: ast.Call, scope: Scope, classes: set[str]) -> list[str]:
    """What a call tells a person of a problem; nothing where it does not, or passes on what was said elsewhere."""
    if reader.makes(scope.function):
        return []
    name = last(call.func)
    if name == "__init__" and call.args and isinstance(call.args[0], ast.Constant):  # the words of the class itself
        texts = reader.filled(call, call.args[0], scope)
    elif name in WITH_OWN_WORDS:
        return []
    elif reader.maker(call, scope):
        texts = reader.called(call, scope)
    elif name in classes or name in ANSWERS:
        texts = [text for part in call.args[ANSWERS.get(name, 0) :][:1] for text in reader.filled(call, part, scope)]
    elif name == "of" and isinstance(call.func, ast.Attribute) and last(call.func.value) in classes:
        texts = reader.filled(call, call.args[2], scope)
    else:
        in_console = scope.module.place.startswith("console")
        shown = [key.value for key in call.keywords if key.arg == "error" and in_console]
        return [text for part in shown for text in reader.texts(part, scope) if has_words(text) and " " in text]
    if texts and not any(map(has_words, texts)) and not _passes_on(call, scope):
        raise UnreadableError(f"{scope.module.place}.py, line {call.lineno}: {ast.unparse(call)}")
    return [*filter(has_words, texts)]


def _passes_on(call: ast.Call, scope: Scope) -> bool:
    """Whether the sentence is that of an error that was caught, or given to the function."""
    parts = (*call.args, *(key.value for key in call.keywords))
    used = {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
    assigned_to = [part for name in used for part in assigned(name, scope.function)]
    used |= {node.id for part in assigned_to for node in ast.walk(part) if isinstance(node, ast.Name)}
    errors = {PASSED_ON.get(scope.module.place, "")}
    for node in ast.walk(scope.function) if scope.function is not None else ():
        if isinstance(node, ast.ExceptHandler) and node.name:
            errors.add(node.name)
        elif (
            isinstance(node, ast.arg)
            and node.annotation is not None
            and ast.unparse(node.annotation).endswith(("Error", "Exception"))
        ):
            errors.add(node.arg)
    return bool(used & errors)


def title(place: str) -> str:
    """Where a reader meets the messages of a file."""
    fitting = [
        (len(start), name) for name, starts in TITLES.items() for start in starts if f"{place}/".startswith(start)
    ]
    if not fitting:
        raise UnreadableError(f"{place}.py belongs to no part of the page; add it to TITLES")
    return max(fitting)[1]


def grouped(code: Code) -> dict[str, list[str]]:
    """By where a reader meets them, each once and in the order of the alphabet."""
    found: dict[str, set[str]] = {name: set() for name in TITLES}
    for message in messages(code):
        found[title(message.place)].add(message.text)
    return {name: sorted(texts, key=lambda text: text.lstrip("⟨[").casefold()) for name, texts in found.items()}
