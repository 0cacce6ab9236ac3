"""The table of words can be searched by eye."""

import re

from tests.docs.blocks import DOCS

PAGE = (DOCS / "notation.md").read_text(encoding="utf-8")


def words_of(page: str) -> list[str]:
    """The words as a reader looks them up: `to replay` under R."""
    table = page.partition("## Words")[2].partition("## Symbols")[0]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    return [row.lower().removeprefix("to ") for row in rows if row not in ("Word", "---")]


def test_the_words_are_in_alphabetical_order_and_each_stands_once() -> None:
    words = words_of(PAGE)
    assert len(words) > 50
    assert words == sorted({*words})


def test_a_word_in_the_wrong_place_is_found() -> None:
    """Negative control."""
    words = words_of("## Words\n\n| Word | Meaning |\n| --- | --- |\n| tick | a second |\n| to replay | again |\n")
    assert words == ["tick", "replay"] != sorted(words)
