"""Files for spreadsheets: read back as they were, and never computed."""

import csv
import io

import pytest

from deniable.console.csv_download import cell, csv_response


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
    assert cell(name) == f"'{name}"


@pytest.mark.parametrize("name", ["Ash Mill", "A=1", "1-2", "'t Veld", ""])
def test_other_names_stay_as_they_are(name: str) -> None:
    assert cell(name) == name
