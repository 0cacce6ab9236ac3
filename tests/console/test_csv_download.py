"""Files for spreadsheets: read back as they were, and never computed."""

import csv
import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.console import csv_download
from deniable.console.csv_download import cell, csv_response
from deniable.csv_files import as_it_was, not_a_formula


def test_it_is_a_file_for_spreadsheets() -> None:
    answer = csv_response("a.csv", ["target", "round"], [("Zoë's, “Mill”\nof", 3), ("山", None)])
    content = bytes(answer.body)
    assert content.startswith(b"\xef\xbb\xbf")
    assert answer.headers["content-disposition"] == 'attachment; filename="a.csv"'
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = [*csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))]
    assert rows == [["target", "round"], ["Zoë's, “Mill”\nof", "3"], ["山", ""]]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "'=1"])
def test_no_name_is_a_formula(name: str) -> None:
    assert cell(name).startswith("'")
    assert as_it_was(cell(name)) == name


@pytest.mark.parametrize("name", ["Ash Mill", "A=1", "1-2", "'t Veld", ""])
def test_other_names_stay_as_they_are(name: str) -> None:
    assert cell(name) == name


def formulas(name: str) -> list[str]:
    """Cells of a downloaded table that spreadsheets compute which split lines at other signs than commas."""
    content = bytes(csv_response("a.csv", ["a", "target"], [(name, name)]).body).decode("utf-8-sig")
    cells = [one for sign in ";|\t" for row in csv.reader(io.StringIO(content), delimiter=sign) for one in row]
    return [one for one in cells if one.lstrip(' "').startswith(("=", "+", "-", "@"))]


INSIDE = ["Ash;=1+1", "Ash; @SUM(A1)", 'Ash;"=1+1"', "Ash;;-1", "Ash|=1", "Ash\n=1", " =1+1", '"=1+1']


@pytest.mark.parametrize("name", INSIDE)
def test_no_cell_is_a_formula_where_lines_are_split_at_semicolons(name: str) -> None:
    """As in many countries. A quote then counts only where such a cell begins with it."""
    assert formulas(name) == []


@pytest.mark.parametrize("name", INSIDE)
def test_the_check_sees_a_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_download, "not_a_formula", str)
    assert formulas(name)


@pytest.mark.parametrize("end", ["a", "="])
def test_the_time_grows_with_the_text_alone(end: str) -> None:
    """A file of channels may have such a cell, and while a pattern looks for something, nothing else is done."""
    text = "a" + 2**15 * "\t" + end
    began = time.thread_time()
    assert as_it_was(not_a_formula(text)) == text
    assert time.thread_time() - began < 2


@given(st.text(alphabet="=+-@;|\t\n '\"a", max_size=8))
def test_every_text_comes_back(text: str) -> None:
    assert as_it_was(not_a_formula(text)) == text
