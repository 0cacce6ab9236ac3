"""The reference pages that are written from the code are up to date; and the page about data names all of it."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from scripts import reference
from tests.docs.blocks import DOCS
from tests.programme.offices import new_office

from deniable.storage import layout


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_written_page_is_what_would_be_written_now(name: str) -> None:
    """If not: `python scripts/reference.py`."""
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == reference.PAGES[name]()


def undescribed(page: str) -> set[str]:
    """The columns of the database that no row of the page is about: `table.column`."""
    described = set(re.findall(r"^\| `(\w+\.\w+)` \|", page, re.MULTILINE))
    there = {f"{table.name}.{column.name}" for table in layout.tables() for column in table.columns}
    return there ^ described


def test_all_that_is_stored_is_described() -> None:
    page = (DOCS / "explanation" / "data-protection.md").read_text(encoding="utf-8")
    assert undescribed(page) == set()
    without = page.replace("| `people.password` |", "| a password |")
    assert undescribed(without) == {"people.password"}


def test_all_secrets_are_described(tmp_path: Path) -> None:
    page = (DOCS / "explanation" / "data-protection.md").read_text(encoding="utf-8")
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    with closing(office.programme), closing(sqlite3.connect(office.database)) as database:
        names = {name for (name,) in database.execute("SELECT name FROM secrets")}
    assert names
    shown = {re.sub(r"^known/\d+/\d+$", "known/…", name) for name in names}
    assert {name for name in shown if f"`{name}`" not in page} == set()
