"""Counts of reports: shown to auditors who ask for them, with how they come about, and noted in the log."""

import re

import pytest
from tests.console.offices import CLASSES, Office

from deniable.console.console import Console
from deniable.console.pages.common import LOOKED
from deniable.programme.programme import Programme
from deniable.storage.store import StoreError

MANY = tuple(f"Depot {number}" for number in range(1000))


def test_an_auditor_who_asks_sees_the_counts_as_bars(office: Office) -> None:
    office.begin().report({"Ash Mill": 8, "Cedar Bank": 2})
    page = office.browser("Anna").counts()
    assert "Confidential" in page
    assert page.index("Ash Mill") < page.index("Cedar Bank") < page.index("Birch Works")
    assert 'width="25.0%"' in page


def test_who_looks_at_counts_is_in_the_log_once_a_day(office: Office) -> None:
    office.begin(targets=MANY).report({"Depot 3": 2})
    anna = office.browser("Anna")
    anna.get("/round")
    anna.get("/round/counts")
    assert LOOKED.text not in office.log()
    for fields in ({}, {"find": "depot"}, {"start": "50"}):
        anna.counts(**fields)
    assert office.log().count(LOOKED.text) == 1
    office.clock.tomorrow()
    office.browser("Anna").counts()
    assert office.log().count(LOOKED.text) == 2
    assert "Depot" not in office.log()


def test_where_the_log_cannot_be_written_no_count_is_shown(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    programme = office.begin()
    programme.report({"Ash Mill": 31_337})
    anna = office.browser("Anna")

    def fails(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Console, "record", fails)
    answer = anna.post("/round/counts")
    assert answer.status_code == 503
    assert "31,337" not in answer.text


def test_counts_come_a_page_at_a_time_the_most_first(office: Office) -> None:
    office.begin(targets=MANY).report({"Depot 900": 8, "Depot 3": 2})
    anna = office.browser("Anna")
    first, second = anna.counts(), anna.counts(start="50")
    assert re.findall(r'<th scope="row"><bdi>([^<]+)', first) == ["Depot 900", "Depot 3", *MANY[:3], *MANY[4:49]]
    assert re.findall(r'<th scope="row"><bdi>([^<]+)', second) == [*MANY[49:99]]
    assert re.findall(r'name="start" value="(\d+)"[^>]*>(\w+) page', first) == [("50", "Next")]
    assert re.findall(r'name="start" value="(\d+)"[^>]*>(\w+) page', second) == [("0", "Previous"), ("100", "Next")]
    assert "Next page" not in anna.counts(start="950")
    assert "Depot 900" in anna.counts(start="1000")
    assert "?start" not in first
    assert max(map(len, (first.rstrip(), second.rstrip()))) < 30_000


def test_the_counts_of_a_target_are_found_by_its_name(office: Office) -> None:
    office.begin(targets=MANY).report({"Depot 900": 8, "Depot 3": 2})
    anna = office.browser("Anna")
    found = anna.counts(find="depot 3")
    assert re.findall(r'<th scope="row"><bdi>([^<]+)', found)[:3] == ["Depot 3", "Depot 30", "Depot 31"]
    assert 'width="25.0%"' in found
    assert "Confidential" in found
    assert "in its name" in anna.counts(find="elsewhere")
    assert "Depot 900" in anna.counts(find="")
    for name in ("Otto", "Ida", "Ada"):
        assert office.browser(name).post("/round/counts", {"find": "depot 3"}).status_code == 403


def test_an_auditor_sees_the_reports_of_the_round_by_class(office: Office) -> None:
    programme = office.begin(classes=CLASSES, most_counted=5)
    programme.report({"Ash Mill": 7}, report_class="minor")
    programme.report({"Ash Mill": 2, "Cedar Bank": 1}, report_class="serious")
    page = office.browser("Anna").counts()
    row = page.split("<bdi>Ash Mill</bdi>")[1].split("</tr>")[0]
    assert "<small>7 minor, 2 serious</small>" in row
    assert re.findall(r'class="number">([^<]+)</td>', row) == ["11"]
    assert "<small>" not in page.split("<bdi>Birch Works</bdi>")[1].split("</tr>")[0]
    assert "at most 5 reports of each class" in page
    assert "leads to a visit" not in office.browser("Anna").get("/round").text
    programme.report({"Cedar Bank": 1}, report_class="danger")
    assert "leads to a visit" in office.browser("Anna").get("/round").text
    assert "leads to a visit" not in office.browser("Otto").get("/round").text


def test_with_one_class_the_counts_do_not_name_it(office: Office) -> None:
    office.begin().report({"Ash Mill": 8})
    page = office.browser("Anna").counts()
    assert re.findall(r'class="number">([^<]+)</th>', page) == ["Reports"]
    assert "<small>" not in page


REPORTED: tuple[dict[str, int], ...] = ({}, {"Depot 7": 1}, {"Depot 7": 9}, {"Depot 7": 10, "Depot 12": 123_456_789})


def _lengths(office: Office, programme: Programme, **fields: str) -> list[int]:
    """Of the page with counts, in bytes, after each of these was reported."""
    anna, lengths = office.browser("Anna"), list[int]()
    for reported in REPORTED:
        if reported:
            programme.report(reported)
        answer = anna.post("/round/counts", fields)
        assert answer.headers["content-length"] == str(len(answer.content))
        lengths.append(len(answer.content))
    return lengths


@pytest.mark.parametrize("fields", [{}, {"start": "50"}, {"find": "depot 1"}])
@pytest.mark.parametrize("number", [13, 120])
def test_the_page_with_counts_is_as_long_whatever_was_reported(
    office: Office, number: int, fields: dict[str, str]
) -> None:
    programme = office.begin(targets=("Äußere & “alte” Straße", *(f"Depot {each}" for each in range(number))))
    assert len({*_lengths(office, programme, **fields)}) == 1


def test_so_it_is_where_there_are_classes(office: Office) -> None:
    programme = office.begin(targets=MANY[:60], classes=CLASSES)
    anna = office.browser("Anna")
    lengths = {len(anna.post("/round/counts").content)}
    for one in CLASSES:
        programme.report({"Depot 7": 11}, report_class=one.name)
        lengths.add(len(anna.post("/round/counts").content))
    assert len(lengths) == 1


def test_a_page_with_counts_that_is_not_filled_up_is_found(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.console.pages.round_counts._padded", lambda response, _: response)
    programme = office.begin(targets=MANY[:20])
    assert len({*_lengths(office, programme)}) > 1
