"""Decisions by hand: an order, a change of targets, an audit that was not carried out, a round that is skipped."""

import re
from typing import Any

import pytest
from tests.console.offices import Office

from deniable.programme.transcript_copies import KeyCopy


def test_a_decision_that_is_recorded_and_not_kept_is_not_asked_for_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    otto.get("/round")
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    said = {"target": "Ash Mill", "reason": "A fire in the news.", "independent": "yes"}
    answer = otto.post("/round/decisions/override", said)
    assert answer.headers["location"] == "/transcript?done=decided"
    page = otto.get("/transcript?done=decided").text
    assert "The decision is recorded" in page
    assert "cannot be shown yet" in page
    assert programme.status().entries == 1
    assert "decided by hand (entry 1)" in office.log()


DECISIONS: list[tuple[str, dict[str, Any], str]] = [
    ("override", {"target": ["Ash Mill", "Cedar Bank"]}, "Ordered by hand"),
    ("targets", {"added": "Elm Logistics\n\nFir Foundry", "target": "Ash Mill"}, "Fir Foundry"),
    ("rename", {"target": "Ash Mill", "new_name": " Ash Works "}, "Ash Mill is called Ash Works from now on"),
    ("skip", {"round": "1"}, "The round was skipped"),
]


@pytest.mark.parametrize(("kind", "data", "told"), DECISIONS)
@pytest.mark.parametrize("independent", ["yes", "no"])
def test_a_decision_is_recorded_with_what_it_does_to_the_guarantee(
    office: Office, kind: str, data: dict[str, Any], told: str, independent: str
) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    browser = office.browser("Otto")
    assert browser.get(f"/round/decisions/{kind}").status_code == 200
    said = {"reason": "A fire in the news.", "independent": independent, "confirmed": "2", **data}
    assert browser.post(f"/round/decisions/{kind}", said).headers["location"] == "/transcript?done=decided"
    page = browser.get("/transcript").text
    assert told in page
    assert "A fire in the news." in page
    # Round 1 is due, so by the calendar it is round 2.
    assert programme.status().coverage.holds_from == (1 if independent == "yes" else 3)
    assert "entry 1" in office.log() or "skipped round 1" in office.log()


@pytest.mark.parametrize("confirmed", ["", "1", "yes"])
def test_an_order_because_of_reports_is_confirmed_with_its_consequence_in_sight(office: Office, confirmed: str) -> None:
    programme = office.begin()
    office.clock.tomorrow()  # round 1 is due, so by the calendar it is round 2
    said = {"target": "Ash Mill", "reason": "A hint.", "independent": "no", "confirmed": confirmed}
    page = office.browser("Otto").post("/round/decisions/override", said).text
    for words in (
        "Please confirm",
        "in round 2 or earlier",
        "targets",
        'name="confirmed" value="2"',
        'value="A hint."',
    ):
        assert words in page
    assert ticked(page) == ["Ash Mill"]
    assert programme.status().entries == 0


@pytest.mark.parametrize(("kind", "data", "_"), DECISIONS)
def test_a_decision_without_a_declaration_is_refused_and_the_form_stays_filled(
    office: Office, kind: str, data: dict[str, Any], _: str
) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    answer = office.browser("Otto").post(f"/round/decisions/{kind}", {"reason": "A fire.", **data})
    assert answer.status_code == 422
    assert "Say whether the decision had anything to do with reports." in answer.text
    assert 'value="A fire."' in answer.text
    assert programme.status().entries == 0


def test_an_audit_that_was_not_carried_out(office: Office) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    browser = office.browser("Otto")
    assert f'value="1 {drawn}"' in browser.get("/round/decisions/not-carried-out").text
    said = {"audit": f"1 {drawn}", "reason": "Snow.", "independent": "yes"}
    assert browser.post("/round/decisions/not-carried-out", said).status_code == 303
    assert f'value="1 {drawn}"' not in browser.get("/round/decisions/not-carried-out").text
    again = browser.post("/round/decisions/not-carried-out", said)
    assert again.status_code == 422


@pytest.mark.parametrize(
    ("kind", "data"),
    [("override", {}), ("targets", {}), ("not-carried-out", {}), ("not-carried-out", {"audit": "x Ash Mill"}),
     ("rename", {}), ("rename", {"target": "Ash Mill"}), ("rename", {"target": "Ash Mill", "new_name": "Cedar Bank"}),
     ("rename", {"target": ["Ash Mill", "Cedar Bank"], "new_name": "Elm"}),
     ("skip", {"round": "7"}), ("override", {"target": "Nobody"}), ("override", {"target": "Ash Mill", "reason": ""})],
)  # fmt: skip
def test_a_decision_that_says_nothing(office: Office, kind: str, data: dict[str, str]) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    said = {"reason": "A fire.", "independent": "yes", **data}
    assert office.browser("Otto").post(f"/round/decisions/{kind}", said).status_code == 422
    assert programme.status().entries == 0


def test_there_are_no_other_decisions(office: Office) -> None:
    office.begin()
    assert office.browser("Otto").get("/round/decisions/evil").status_code == 404
    assert office.browser("Otto").post("/round/decisions/evil").status_code == 404


def test_a_round_that_is_not_due_cannot_be_skipped(office: Office) -> None:
    office.begin()
    assert office.browser("Otto").get("/round/decisions/skip").headers["location"] == "/round"


MANY = tuple(f"Depot {number}" for number in range(1000))


def ticked(page: str) -> list[str]:
    return re.findall(r'name="target" value="([^"]+)" checked', page)


def offered(page: str) -> list[str]:
    return re.findall(r'name="target" value="([^"]+)">', page)


@pytest.mark.parametrize("kind", ["override", "targets"])
def test_what_is_chosen_stays_so_across_searches(office: Office, kind: str) -> None:
    programme, otto = office.begin(targets=MANY), office.browser("Otto")
    path = f"/round/decisions/{kind}"
    page = otto.get(path).text
    assert not offered(page)
    assert len(page) < 10_000
    said = {"reason": "A fire.", "independent": "yes", "added": "Elm\nFir"}
    page = otto.post(path, {**said, "find": "depot 12", "start": "0"}).text
    assert offered(page) == ["Depot 12", *MANY[120:130]]
    page = otto.post(path, {**said, "find": "depot 99", "start": "0", "target": ["Depot 12", "Depot 125", "Evil"]}).text
    assert ticked(page) == ["Depot 12", "Depot 125"]
    assert offered(page) == ["Depot 99", *MANY[990:]]
    assert 'value="A fire."' in page
    assert kind == "override" or "Elm\nFir" in page
    assert programme.status().entries == 0
    chosen = ["Depot 12", "Depot 125", "Depot 991", "Depot 12"]
    assert otto.post(path, {**said, "target": chosen}).status_code == 303
    page = otto.get("/transcript").text
    assert all(name in page for name in chosen)


def test_a_refused_decision_keeps_what_was_chosen(office: Office) -> None:
    office.begin(targets=MANY)
    answer = office.browser("Otto").post("/round/decisions/override", {"target": ["Depot 7"], "reason": "A fire."})
    assert answer.status_code == 422
    assert ticked(answer.text) == ["Depot 7"]


def test_one_of_many_audits_is_found(office: Office) -> None:
    programme, otto = office.begin(targets=MANY), office.browser("Otto")
    programme.override(MANY[:200], "A fire.", independent=True)
    path = "/round/decisions/not-carried-out"
    page = otto.get(path).text
    assert len(re.findall(r'name="audit" value="([^"]+)"', page)) == 20
    found = otto.post(path, {"find": "DEPOT 19", "start": "0"}).text
    keys = re.findall(r'name="audit" value="([^"]+)"', found)
    assert sorted(keys) == ["1 Depot 19", *(f"1 Depot {number}" for number in range(190, 200))]
    assert "no such audit" in otto.post(path, {"find": "elsewhere", "start": "0"}).text
    said = {"audit": "1 Depot 150", "reason": "Snow.", "independent": "yes"}
    assert otto.post(path, said).status_code == 303
