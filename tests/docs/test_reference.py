"""The reference pages are up to date, pages name options that there are, and the page about data names all of it."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from scripts import reference
from tests.docs.blocks import DOCS, PAGES, named
from tests.programme.offices import TARGETS, new_office
from tests.programme.test_yearly_figures import NEW_YEAR

from deniable.storage import layout

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]+")


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_written_page_is_what_would_be_written_now(name: str) -> None:
    """If not: `python scripts/reference.py`."""
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == reference.PAGES[name]()


def unknown_options(page: str) -> list[str]:
    """The options in a page's text, outside its blocks, that no command of deniable has; benchmarks have their own."""
    known = set(re.findall(OPTION, (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")))
    text = re.sub("^ *```.*?^ *```", "", page, flags=re.DOTALL | re.MULTILINE)
    codes = [code for code in re.findall("`([^`\n]+)`", text) if "benchmarks." not in code]
    return [option for code in codes for option in re.findall(OPTION, code) if option not in known]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "benchmarks.md"], ids=named)
def test_a_page_names_options_that_there_are(page: Path) -> None:
    assert unknown_options(page.read_text(encoding="utf-8")) == []


def test_an_option_that_is_gone_is_found() -> None:
    """Negative control."""
    page = "From `--start` to `--to`.\n\n```sh\npip --quiet\n```\n\nSee `python -m benchmarks.console --times 100`.\n"
    assert unknown_options(page) == ["--to"]


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
    settings = {"calendar": NEW_YEAR, "yearly_figures_delta": 0.02}
    office = new_office(str(tmp_path / "programme.db"), tmp_path, **settings)
    office.programme.import_reports("hotline", [("1", TARGETS[0])])
    with closing(office.programme), closing(sqlite3.connect(office.database)) as database:
        names = {name for (name,) in database.execute("SELECT name FROM secrets")}
    assert {"received", "kept/1"} < names
    shown = {re.sub(r"^known/\d+/\d+$", "known/…", re.sub(r"^kept/\d+$", "kept/1", name)) for name in names}
    assert {name for name in shown if f"`{name}`" not in page} == set()
