"""Every message by which deniable refuses something is on the page of error messages."""

import ast

import pytest
from scripts import error_messages, message_texts
from scripts.error_messages import UnreadableError
from tests.docs.blocks import DOCS

CODE = message_texts.read()


def planted(source: str, place: str = "programme/planted") -> list[str]:
    """The messages of a file that is added to the code."""
    storage = {known: CODE[known] for known in ("storage/store", "storage/driver_errors")}
    code = {**storage, place: message_texts.module_of(place, ast.parse(source))}
    return [message.text for message in error_messages.messages(code) if message.place == place]


def missing(code: message_texts.Code, page: str) -> list[str]:
    """Words after `DeniableError(` that the page does not have: found in another way than the page is written."""
    listed = page.replace("\\", "")
    return [
        words
        for module in code.values()
        for call in ast.walk(module.tree)
        if isinstance(call, ast.Call) and message_texts.last(call.func) == "DeniableError" and call.args
        for part in ast.walk(call.args[0])
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        if (words := " ".join(part.value.split())).count(" ") > 3 and words not in listed and "{" not in words
    ]


def test_no_message_is_missing() -> None:
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    assert missing(CODE, page) == []
    unlisted = message_texts.module_of("planted", ast.parse("raise DeniableError('the moon is too far away today')"))
    assert missing({"planted": unlisted}, page) == ["the moon is too far away today"]


def test_each_has_a_part_of_the_page() -> None:
    assert all(error_messages.grouped(CODE).values())
    with pytest.raises(UnreadableError, match="belongs to no part"):
        error_messages.title("elsewhere/planted")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raise DeniableError('the door is shut')", ["the door is shut"]),
        ("raise StoreError(f'the door {door.name} is shut')", ["the door ⟨name⟩ is shut"]),
        ("class DoorError(StoreError): ...\nraise DoorError('the door is shut')", ["the door is shut"]),
        ("error = DeniableError('the door is shut')", ["the door is shut"]),
        ("SHUT = 'the door is shut'\ndef f():\n    raise DeniableError(SHUT)", ["the door is shut"]),
        (
            "def f(night):\n    when = 'at night' if night else 'by day'\n    raise DeniableError(f'shut {when}')",
            ["shut at night", "shut by day"],
        ),
        ('raise DeniableError(f\'the door{" of oak" if oak else ""} is shut\')', ["the door [of oak] is shut"]),
        (
            "def door(why) -> DeniableError:\n    return DeniableError(f'the door: {why}')\n"
            "def f():\n    raise door('it is shut')",
            ["the door: it is shut"],
        ),
        ("def f():\n    raise HTTPException(404, 'There is no door.')", ["There is no door."]),
        ("MOST = 10**4\nraise DeniableError(f'at most {MOST:,} doors')", ["at most 10,000 doors"]),
    ],
)
def test_a_planted_one_is_found(source: str, found: list[str]) -> None:
    assert planted(source) == found


def test_a_page_of_the_console_shows_one_without_raising_it() -> None:
    assert planted("_page(error='Choose a door.')", "console/pages/planted") == ["Choose a door."]


def test_one_whose_words_are_not_in_the_code_is_refused() -> None:
    """Negative control: it cannot be left out in silence."""
    with pytest.raises(UnreadableError, match=r"planted\.py, line 2"):
        planted("def f(words):\n    raise DeniableError(words)")


def test_one_that_is_passed_on_is_listed_where_it_comes_from() -> None:
    source = (
        "def f():\n    try:\n        g()\n    except DeniableError as error:\n        raise DeniableError(str(error))"
    )
    assert planted(source) == []
