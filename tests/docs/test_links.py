"""The relative links of pages that MkDocs does not build lead somewhere; it checks those of docs/ itself."""

import re
from pathlib import Path

import pytest
from tests.docs.blocks import ROOT

LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
FILES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md"]


def broken(file: Path) -> list[str]:
    """The relative links of a Markdown file to files or headings that do not exist."""
    text = re.sub(r"^```.*?^```", "", file.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [
        f"{path}#{heading}" if heading else path
        for path, heading in LINK.findall(text)
        if "://" not in path and not path.startswith("mailto:") and not leads_somewhere(file, path, heading)
    ]


def leads_somewhere(file: Path, path: str, heading: str) -> bool:
    there = file.parent / path if path else file
    return there.exists() and (not heading or heading in anchors(there.read_text(encoding="utf-8")))


def anchors(page: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", FILES)
def test_links_lead_somewhere(name: str) -> None:
    assert broken(ROOT / name) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A b!\n[1](page.md#a-b) [2](#a-b) [3](none.md) ![4](none.png) [5](#c) [6](https://a.example/none)\n"
    )
    assert broken(page) == ["none.md", "none.png", "#c"]
