"""A page in another language has what the English one has: its commands, links, headings and figures."""

import re
from pathlib import Path

import pytest
from tests.docs.blocks import DOCS, TRANSLATED, blocks

from deniable.languages.language import PUBLIC, language

PAGES = ("reporters.md", "audited.md")
_LINK = re.compile(r"\]\(([^)]+)\)")
_FIGURE = re.compile(r"(?<![\d.,])\d\d(?![.,]?\d)")


def skeleton(page: str, code: str = "en") -> dict[str, object]:
    """What a translation keeps."""
    digits = str.maketrans(language(code).locale.digits, "0123456789")
    figures = _FIGURE.findall(page.translate(digits))
    return {
        "commands": [block.source for block in blocks(page)],
        "headings": [len(level) for level in re.findall("^(#+) ", page, re.MULTILINE)],
        "links": sorted(link.removeprefix("../") for link in _LINK.findall(page)),
        "figures": sorted(figures),
        "items": len(re.findall(r"^ *(?:-|\d+\.) ", page.translate(digits), re.MULTILINE)),
    }


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("code", PUBLIC[1:])
def test_it_has_what_the_english_page_has(code: str, name: str) -> None:
    translated = (DOCS / code / name).read_text(encoding="utf-8")
    english, own = skeleton((DOCS / name).read_text(encoding="utf-8")), skeleton(translated, code)
    english["links"] = sorted([*_LINK.findall((DOCS / name).read_text(encoding="utf-8")), name])
    assert own == english


def test_a_lost_figure_is_noticed() -> None:
    """Negative control."""
    page = (DOCS / "de" / "reporters.md").read_text(encoding="utf-8")
    assert skeleton(page.replace("57", "75"), "de") != skeleton(page, "de")


def test_no_other_page_is_translated() -> None:
    assert {path.name for path in TRANSLATED} == {*PAGES}
    assert {Path(path).parent.name for path in TRANSLATED} == {*PUBLIC[1:]}
