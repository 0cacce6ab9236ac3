"""In the sources every sentence is a literal, so that it can be extracted: no f-string is said, and nothing glued."""

import ast
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

import deniable

SOURCE = Path(deniable.__file__).parent
TEXTS = {"say": 1, "noted": 1, "html": 1, "counted": 2}
"""How many texts each of them takes first."""


def unextracted(source: str) -> Iterator[int]:
    """The lines of a Python file at which something else than a literal is said. A message may be in a variable."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (said := _name(node.func)) in TEXTS:
            for text in node.args[: TEXTS[said]]:
                is_literal = isinstance(text, ast.Constant) and isinstance(text.value, str)
                if not is_literal and not (said == "say" and isinstance(text, ast.Name | ast.Attribute)):
                    yield text.lineno


def unextracted_in_template(source: str) -> Iterator[int]:
    for call in jinja2.Environment(autoescape=True).parse(source).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in TEXTS:
            texts = call.args[: TEXTS[call.node.name]]
            yield from (text.lineno for text in texts if not isinstance(text, nodes.Const | nodes.Name | nodes.Getattr))


def _name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr if called.attr in ("counted", "html") and _name(called.value) == "say" else ""
    return called.id if isinstance(called, ast.Name) and called.id in ("say", "noted") else ""


def test_only_literals_are_said() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in unextracted(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_only_literals_are_said_in_templates() -> None:
    found = [
        f"{path.name}:{line}"
        for path in sorted((SOURCE / "programme" / "public" / "templates").glob("*.j2"))
        for line in unextracted_in_template(path.read_text(encoding="utf-8"))
    ]
    assert found == []


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
    assert list(unextracted_in_template('{{ say("The " ~ thing ~ " is due.") }}')) == [1]
