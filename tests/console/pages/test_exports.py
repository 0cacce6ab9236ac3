"""Files to take away: what they hold, for whom, and that no count is among it."""

import csv
import io
from datetime import date
from typing import Any

import pytest
from tests.console.offices import CLASSES, Browser, Office

from deniable.console.accounts import activity
from deniable.message import noted


def rows(browser: Browser, path: str) -> list[dict[str, str]]:
    answer = browser.get(path)
    assert answer.status_code == 200, path
    assert answer.headers["content-disposition"] == f'attachment; filename="{path.rpartition("/")[2]}"'
    return [*csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline=""))]


def run_a_while(office: Office, **settings: Any) -> str:
    """Two rounds are closed; the audit of the first took place. Returns whose audit that was."""
    programme = office.begin(**settings)
    office.clock.tomorrow()
    (audited,) = programme.close_round().audits
    programme.carried_out(1, audited, date(2026, 1, 6))
    programme.rename_target(audited, "=Ash Mill", "It has another owner.", independent=True)
    programme.publish(office.public)
    return audited


def test_the_record(office: Office) -> None:
    audited = run_a_while(office)
    found = rows(office.browser("Otto"), "/transcript/record.csv")
    assert [row["entry"] for row in found] == ["3", "2", "1"]
    assert found[-1]["selected"] == f"{audited} (visited on 2026-01-06)"
    assert found[0]["reason"] == "It has another owner."


def test_the_targets(office: Office) -> None:
    run_a_while(office, registered=("R1", "R2", "R3", "R4"))
    found = {row["target"]: row for row in rows(office.browser("Anna"), "/transcript/targets.csv")}
    assert len(found) == 4
    row = found["'=Ash Mill"]  # which a spreadsheet shows, and does not compute
    assert (row["last audit in round"], row["round was due"], row["visited on"]) == ("1", "2026-01-06", "2026-01-06")
    assert {row["register number"] for row in found.values()} == {"R1", "R2", "R3", "R4"}
    assert sum(bool(row["last audit in round"]) for row in found.values()) == 1


def test_the_work_list(office: Office) -> None:
    programme = office.begin(reveal_after=2)
    office.clock.tomorrow()
    (audited,) = programme.close_round().audits
    (row,) = rows(office.browser("Otto"), "/work-list/work-list.csv")
    assert row == {"target": audited, "register number": "", "round": "1", "round was due": "2026-01-06",
                   "selected by": "draw", "rounds of earlier emergencies not recorded yet": "",
                   "name is public": "after round 3 is closed"}  # fmt: skip
    record = office.browser("Otto").get("/transcript/record.csv").text
    assert audited not in record
    assert audited in office.browser("Otto").get("/transcript/targets.csv").text  # without its audit
    assert not any(row["last audit in round"] for row in rows(office.browser("Otto"), "/transcript/targets.csv"))


def test_activity_and_people(office: Office) -> None:
    office.begin(classes=CLASSES)
    ada = office.browser("Ada")
    ada.post("/people/invite", {"name": "-Berta", "role": "auditor"})
    ada.post("/people/id-Otto/disable")
    people = {row["name"]: (row["role"], row["state"]) for row in rows(ada, "/people/people.csv")}
    assert people["'-Berta"] == ("auditor", "invited")
    assert people["Otto"] == ("operator", "disabled")
    assert people["Anna"] == ("auditor", "active")
    log = rows(ada, "/activity/activity.csv")
    assert log[0]["what"] == "disabled Otto"
    with office.console.store.writing() as connection:
        activity.record(connection, office.console.clock(), "Anna", noted("asked for something"), "reports")
    assert rows(ada, "/activity/activity.csv") == log
    assert rows(office.browser("Anna"), "/activity/activity.csv")[0]["what"] == "asked for something"


@pytest.mark.parametrize("name", ["Otto", "Anna", "Ada"])
def test_there_is_none_of_counts(office: Office, name: str) -> None:
    """Whatever was reported, every file is the same; also an auditor's, who may see the counts."""
    programme, browser = office.begin(), office.browser(name)
    paths = ("/transcript/record.csv", "/transcript/targets.csv", "/work-list/work-list.csv", "/activity/activity.csv",
             "/people/people.csv")  # fmt: skip
    before = [browser.get(path) for path in paths]
    programme.report({"Ash Mill": 31_337})
    assert [browser.get(path).content for path in paths] == [answer.content for answer in before]
    assert 200 in {answer.status_code for answer in before}
