"""In the sources every sentence is a literal, so that it can be extracted: no f-string is said, and nothing glued."""

import ast
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes
from scripts import messages

import deniable

SOURCE = Path(deniable.__file__).parent
TEXTS = {"say": 1, "noted": 1, "noted_count": 2, "html": 1, "counted": 2, "counted_html": 2}
"""How many texts each of them takes first."""
MAKING = (SOURCE / "message.py", SOURCE / "errors.py")
"""Where messages are made of what is given."""
TEMPLATES = (SOURCE / "programme/public/templates", SOURCE / "console/templates")
MESSAGE = (ast.Name, ast.Attribute, ast.Subscript)
"""A message may be in a variable or in a table."""


def unextracted(source: str) -> Iterator[int]:
    """The lines of a Python file at which something else than a literal is said. A message may be in a variable."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (said := _name(node.func)) in TEXTS:
            for text in node.args[: TEXTS[said]]:
                if not _is_literal(text) and not (said == "say" and _is_message(text)):
                    yield text.lineno


def unextracted_errors(source: str) -> Iterator[int]:
    """The lines at which something is refused in words that are no literal. A message may be in a variable, or be made
    there.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (refused := _refused(node.func)):
            for place in messages.REFUSED[refused] or (1,):
                if place <= len(node.args) and not _is_literal_or_message(node.args[place - 1]):
                    yield node.lineno


def _is_literal(text: ast.expr) -> bool:
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def _is_message(text: ast.expr) -> bool:
    is_refusal = isinstance(text, ast.Call) and isinstance(text.func, ast.Name) and text.func.id == "refusal"
    return is_refusal or isinstance(text, MESSAGE)


def _is_literal_or_message(text: ast.expr) -> bool:
    is_made = isinstance(text, ast.Call) and isinstance(text.func, ast.Name) and text.func.id in ("noted", "why_not")
    return _is_literal(text) or is_made or isinstance(text, (*MESSAGE, ast.Starred))


def _refused(called: ast.expr) -> str:
    """By which of the names in scripts/messages.py it is refused."""
    if isinstance(called, ast.Attribute):
        is_error = isinstance(called.value, ast.Name) and called.value.id in messages.REFUSED
        is_made = called.attr == "error" or (called.attr == "of" and is_error)
        return called.attr if is_made else ""
    return called.id if isinstance(called, ast.Name) and called.id in messages.REFUSED.keys() - {"of"} else ""


def unextracted_in_template(source: str) -> Iterator[int]:
    for call in jinja2.Environment(autoescape=True).parse(source).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in TEXTS:
            texts = call.args[: TEXTS[call.node.name]]
            yield from (text.lineno for text in texts if not isinstance(text, IN_TEMPLATES))


IN_TEMPLATES = (nodes.Const, nodes.Name, nodes.Getattr, nodes.Getitem)
"""A literal, or a message of the page or of a table."""


def _name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        is_said = called.attr in ("counted", "counted_html", "html") and _name(called.value) == "say"
        return called.attr if is_said else ""
    return called.id if isinstance(called, ast.Name) and called.id in ("say", "noted", "noted_count") else ""


def test_only_literals_are_said() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path not in MAKING
        for line in unextracted(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_only_literals_are_said_in_templates() -> None:
    found = [
        f"{path.name}:{line}"
        for folder in TEMPLATES
        for path in sorted(folder.iterdir())
        for line in unextracted_in_template(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def reached() -> list[Path]:
    """What may refuse something that was asked for in the console. The scheduler runs at the terminal."""
    found = {path for pattern, _ in messages.REACHED for path in SOURCE.glob(_globbed(pattern))}
    return sorted(found - {*MAKING, SOURCE / "programme/scheduler.py"})


def _globbed(pattern: str) -> str:
    return pattern.replace("**.py", "**/*.py")


def test_only_literals_are_refused() -> None:
    assert {SOURCE / "console/accounts/people.py", SOURCE / "programme/rounds.py"} <= {*reached()}
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in reached()
        for line in unextracted_errors(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "glued",
    [
        'DeniableError(f"the {thing} is gone")',
        'DeniableError("the " + thing)',
        'DeniableError("one" if one else "many")',
        'DeniableError.of(n, "{number} row", f"{n} rows")',
        'PlaceError("{} is gone".format(thing))',
        'copy.error(f"{thing} is gone")',
        'why_not(f"the {thing}")',
        'FieldError("name", f"give {thing} a name")',
    ],
)
def test_an_error_that_is_glued_is_found(glued: str) -> None:
    """Negative control."""
    assert list(unextracted_errors(glued)) == [1]


@pytest.mark.parametrize(
    "literal",
    [
        'DeniableError("the {thing} " "is gone", thing=f"{name}.csv")',
        "DeniableError(WRONG)",
        'DeniableError(noted("the {thing} is gone", thing=thing))',
        'DeniableError.of(n, "{number} row", "{number} rows")',
        'FieldError(field, "give it a name")',
        "Record.of(parameters, lines, head)",
    ],
)
def test_an_error_that_is_whole_is_not(literal: str) -> None:
    assert list(unextracted_errors(literal)) == []


@pytest.mark.parametrize(
    "glued",
    [
        'say(f"The {thing} is due.")',
        'say("The round " + "is due.")',
        'say("One." if one else "Many.")',
        'say("The {} is due.".format(thing))',
        'say.counted("{number} day", f"{number} {days}", 3)',
        'say.html(f"<b>{name}</b>")',
        'noted(f"The office {because}.")',
        "noted(because)",
        'noted_count("{number} row", f"{n} rows", n)',
    ],
)
def test_what_is_glued_is_found(glued: str) -> None:
    """Negative control."""
    assert list(unextracted(glued)) == [1]


@pytest.mark.parametrize(
    "literal",
    [
        'say("The round is " "due on {day}.", day=day)',
        "say(lapse.because)",
        "say(ROLE_NAMES[role])",
        "sentence(say(refusal(error)))",
        'say.counted("{number} day", "{number} days", n, time=f"{time:%H:%M}")',
        'path.html(f"{name}")',
        "counted(reports, classes)",
    ],
)
def test_what_is_whole_is_not(literal: str) -> None:
    assert list(unextracted(literal)) == []


def test_what_is_glued_in_a_template_is_found() -> None:
    """Negative control."""
    assert list(unextracted_in_template('{{ say("The round is due.") }}{{ counted("{number} day", "days", n) }}')) == []
    assert list(unextracted_in_template("{{ say(page.done) }}{{ say(ROLE_NAMES[person.role]) }}")) == []
    assert list(unextracted_in_template('{{ say("The " ~ thing ~ " is due.") }}')) == [1]
    assert list(unextracted_in_template('{{ say("One." if one else "Many.") }}')) == [1]
