"""Every table of numbers is computed again and compared, or the page names the command that it came from."""

import re
from pathlib import Path

import pytest
from tests.docs import tables
from tests.docs.blocks import PAGES, named

TABLE = re.compile(r"(?:^\|[^\n]*\n){3,}", re.MULTILINE)
MARK = re.compile(r"<!-- table: (\w+) -->\s*$")
COMMAND = re.compile("`(?:deniable|make|python|pytest) [^`]*`|^(?:\\$ )?deniable ", re.MULTILINE)
NUMBER = re.compile(r"[≥>]?[\d][\d,. ]*(?:e-?\d+)?(?: ± [\d.]+)?(?: ?%| x| \(exact\))?")
SLOW = {"experiment_2"}


def rows(table: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()[2:]]


def is_of_numbers(table: str) -> bool:
    return any(NUMBER.fullmatch(cell) for row in rows(table) for cell in row[1:])  # the first column names the row


def unaccounted(page: str) -> list[str]:
    """The first lines of tables of numbers of which the page does not say where they come from."""
    without_code = re.sub(r"^( *)```.*?^\1```", lambda code: re.sub(r"^\|", " ", code[0], flags=re.MULTILINE), page)
    return [
        table[0].splitlines()[0]
        for table in TABLE.finditer(without_code)
        if is_of_numbers(table[0])
        and not MARK.search(page[: table.start()])
        and not COMMAND.search(section(page, table.start()))
    ]


def section(page: str, at: int) -> str:
    """The text between two headings around this place."""
    start = max(page.rfind("\n#", 0, at), 0)
    end = page.find("\n#", at)
    return page[start : end if end > 0 else len(page)]


def marked(page: str) -> list[tuple[str, list[list[str]]]]:
    """The tables with a mark: its name, and their cells."""
    found = ((MARK.search(page[: table.start()]), table[0]) for table in TABLE.finditer(page))
    return [(mark[1], rows(table)) for mark, table in found if mark]


def differences(shown: list[list[str]], computed: tables.Rows) -> list[str]:
    if [len(row) for row in shown] != [len(row) for row in computed]:
        return ["another number of rows or columns"]
    pairs = ((a, b) for row, fresh in zip(shown, computed, strict=True) for a, b in zip(row, fresh, strict=True))
    return [f"{a} stands there, {b} is computed" for a, b in pairs if b is not None and a != b]


MARKED = [(page, name, shown) for page in PAGES for name, shown in marked(page.read_text("utf-8"))]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param(name, shown, id=f"{named(page)}-{name}", marks=[pytest.mark.long] * (name in SLOW))
        for page, name, shown in MARKED
    ],
)
def test_a_table_is_what_is_computed(name: str, shown: list[list[str]]) -> None:
    assert differences(shown, getattr(tables, name)()) == []


def test_every_function_has_its_table() -> None:
    functions = {name for name in vars(tables) if getattr(vars(tables)[name], "__module__", "") == tables.__name__}
    assert {name for name in functions if not name.startswith("_")} == {name for _, name, _ in MARKED}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_table_of_numbers_says_where_they_come_from(page: Path) -> None:
    assert unaccounted(page.read_text("utf-8")) == []


# Wrong digits, and tables from nowhere, are found.

TABLE_OF_NUMBERS = "# One\n\n| s | distance |\n| --- | --- |\n| 1 | 4.688e-4 |\n| 2 | 4.929e-4 |\n"


def test_a_wrong_digit_is_found() -> None:
    ((name, shown),) = marked(f"<!-- table: rounding_distances -->\n{TABLE_OF_NUMBERS[7:]}")
    computed = tables.rounding_distances()[:2]
    assert (name, differences(shown, computed)) == ("rounding_distances", [])
    shown[1][1] = "4.928e-4"
    assert differences(shown, computed) == ["4.928e-4 stands there, 4.929e-4 is computed"]
    assert differences(shown[:1], computed)


def test_a_table_from_nowhere_is_found() -> None:
    assert unaccounted(TABLE_OF_NUMBERS) == ["| s | distance |"]
    assert unaccounted(f"# Zero\n\n`deniable plan`\n\n{TABLE_OF_NUMBERS}") == ["| s | distance |"]
    assert unaccounted(f"{TABLE_OF_NUMBERS}\nMade by `python benchmarks/race.py`.\n") == []
    assert unaccounted("| a | b |\n| --- | --- |\n| round 1 | SHA-256 |\n") == []
