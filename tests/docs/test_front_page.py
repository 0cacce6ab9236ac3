"""README, the first page of the documentation and `make demo` tell the same story in the same words."""

import re

from examples.office_year import STORY
from tests.docs.blocks import DOCS, README

SHARED = ("What is promised", "What an office can do")


def opening(page: str) -> str:
    return page.partition("\n## ")[0]


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


def plain(text: str) -> str:
    return " ".join(text.replace("*", "").split())


def test_the_documentation_begins_as_the_readme_does() -> None:
    readme = README.read_text("utf-8").replace("](docs/", "](")
    index = (DOCS / "index.md").read_text("utf-8")
    assert opening(index) == opening(readme)
    for title in SHARED:
        assert section(index, title).strip() == section(readme, title).strip()


def test_the_demo_begins_as_the_readme_does() -> None:
    assert all(part in plain(opening(README.read_text("utf-8"))) for part in STORY)
    assert len(STORY) == 2
