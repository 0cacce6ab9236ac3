"""The code blocks of the documentation's pages."""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from deniable.languages.language import PUBLIC

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
TRANSLATED = [page for code in PUBLIC for page in sorted((DOCS / code).glob("*.md"))]
"""Pages in other languages than English."""
COMPARED = sorted((DOCS / "translations").glob("*.md"))
"""How each language was checked: mostly quotations."""
PAGES = [README, *(page for page in sorted(DOCS.rglob("*.md")) if page not in (*TRANSLATED, *COMPARED))]

_FENCE = re.compile(r'^( *)```(\w*)(?: title="([^"]*)")?[^\n]*\n(.*?)^\1```[ \t]*$', re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    line: int
    """Of the page, before the block's first."""
    language: str
    title: str
    source: str

    @property
    def file(self) -> bool:
        """Whether it is a file, which its title names."""
        return re.fullmatch(r"[\w.-]+\.\w+", self.title) is not None

    @property
    def refused(self) -> bool:
        return self.title.startswith("Refused")


def blocks(page: str, *languages: str) -> list[Block]:
    """The blocks of a page, in order: those in these languages, or all."""
    return [
        Block(page.count("\n", 0, match.start(4)), match[2], match[3] or "", textwrap.dedent(match[4]))
        for match in _FENCE.finditer(page)
        if not languages or match[2] in languages
    ]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
