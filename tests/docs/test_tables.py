"""Every table of numbers is computed again and compared, or is marked as a record of one day."""

import re
from pathlib import Path

import pytest
from scripts.figures import TABLE, Marked, cells, compared, marked, rows_for
from tests.docs import tables
from tests.docs.blocks import DOCS, PAGES, TRANSLATED, named

NUMBER = re.compile(r"[≥>]?[\d][\d,. ]*(?:e-?\d+)?(?: ± [\d.]+)?(?: ?%| x| \(exact\))?")
SLOW = {"experiment_2", "forecast_shares", "tca_leaks"}
MEASURED = DOCS / "benchmarks.md"
"""Written by `make bench`."""


def is_of_numbers(table: str) -> bool:
    return any(NUMBER.fullmatch(cell) for row in cells(table) for cell in row[1:])  # the first column names the row


def unaccounted(text: str) -> list[str]:
    """The first lines of tables of numbers of which the page does not say where they come from."""
    without_code = re.sub(
        r"^( *)```.*?^\1```", lambda code: re.sub(r"^\|", " ", code[0], flags=re.M), text, flags=re.M | re.S
    )
    known = {one.table for one in marked(Path(), text)}
    return [
        table[0].splitlines()[0]
        for table in TABLE.finditer(without_code)
        if is_of_numbers(table[0]) and table[0] not in known
    ]


MARKED = [one for page in (*PAGES, *TRANSLATED) for one in marked(page, page.read_text("utf-8"))]
COMPUTED = [one for one in MARKED if one.kind == "table"]


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.title, marks=[pytest.mark.long] * (one.name in SLOW)) for one in COMPUTED]
)
def test_a_table_is_what_is_computed(one: Marked) -> None:
    result = compared(one.title, cells(one.table), rows_for(one))
    assert not result.beyond, result.told()


def test_every_function_has_its_table() -> None:
    functions = {name for name in vars(tables) if getattr(vars(tables)[name], "__module__", "") == tables.__name__}
    assert {name for name in functions if not name.startswith("_")} == {one.name for one in COMPUTED}


@pytest.mark.parametrize("one", [one for one in MARKED if one.kind == "record"], ids=lambda one: one.title)
def test_a_record_has_its_day(one: Marked) -> None:
    assert re.match(r"\d{4}-\d\d-\d\d", one.name)


@pytest.mark.parametrize("page", [page for page in (*PAGES, *TRANSLATED) if page != MEASURED], ids=named)
def test_a_table_of_numbers_says_where_they_come_from(page: Path) -> None:
    assert unaccounted(page.read_text("utf-8")) == []


def test_a_table_from_nowhere_is_found() -> None:
    table = "| s | distance |\n| --- | --- |\n| 1 | 4.688e-4 |\n| 2 | 4.929e-4 |\n"
    assert unaccounted(f"# One\n\n{table}") == ["| s | distance |"]
    assert unaccounted(f"# One\n\n`deniable plan`\n\n{table}") == ["| s | distance |"]
    assert unaccounted(f"# One\n\n<!-- record: 2026-01-01 -->\n\n{table}") == []
    assert unaccounted(f"# One\n\n<!-- table: rounding_distances -->\n{table}") == []
    assert unaccounted(f"# One\n\n```text\n{table}```\n") == []
    assert unaccounted("| a | b |\n| --- | --- |\n| round 1 | SHA-256 |\n") == []
