from datetime import timedelta
from typing import Any

import pytest
from tests.console.offices import Browser, Office, form_on, receipt_on

from deniable.console.pages import transcript
from deniable.console.pages.common import read_record
from deniable.programme.transcript_copies import KeyCopy


def deeds(office: Office) -> str:
    page: str = office.browser("Ada").get("/activity").text
    return page


def test_an_auditor_sees_the_counts_as_bars(office: Office) -> None:
    office.begin().report({"Ash Mill": 8, "Cedar Bank": 2})
    page = office.browser("Anna").get("/round").text
    assert "Confidential" in page
    assert page.index("Ash Mill") < page.index("Cedar Bank") < page.index("Birch Works")
    assert 'width="25.0%"' in page
    assert "no-store" in office.browser("Anna").get("/round").headers["cache-control"]


def test_an_operator_does_not(office: Office) -> None:
    office.begin().report({"Ash Mill": 8})
    page = office.browser("Otto").get("/round").text
    assert "Confidential" not in page
    assert "Ash Mill" not in page


def test_reports_are_entered_and_corrected(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Anna")
    answer = browser.enter("Ash Mill", 3)
    assert answer.status_code == 200
    assert "Counted." in answer.text
    browser.enter("Ash Mill", 1)
    withdrawn = withdraw(browser, "Ash Mill", receipt_on(answer.text).lower())
    assert withdrawn.headers["location"] == "/report?done=withdrawn"
    assert "Taken back." in browser.get("/report?done=withdrawn").text
    assert programme.active_counts()["Ash Mill"] == 1
    assert withdraw(browser, "Ash Mill", receipt_on(answer.text)).status_code == 422
    assert programme.active_counts()["Ash Mill"] == 1


def withdraw(browser: Browser, target: str, receipt: str) -> Any:
    return browser.post("/report/withdraw", {"target": target, "receipt": receipt})


def test_a_form_that_is_sent_again_counts_once(office: Office) -> None:
    programme, browser = office.begin(), office.browser("Ida")
    form = form_on(browser.get("/report").text)
    first, again = (browser.enter("Ash Mill", 3, form) for _ in range(2))
    assert receipt_on(first.text) == receipt_on(again.text)
    assert programme.active_counts()["Ash Mill"] == 3
    browser.enter("Ash Mill", 3, form_on(again.text))  # the answer has a form of its own
    assert programme.active_counts()["Ash Mill"] == 6


def test_a_form_found_again_counts_what_else_is_entered_into_it(office: Office) -> None:
    """With the browser's Back, say; otherwise the page would say "Counted" of what is not."""
    programme, browser = office.begin(), office.browser("Ida")
    form = form_on(browser.get("/report").text)
    answers = [
        browser.enter(target, number, form) for target, number in (("Ash Mill", 3), ("Cedar Bank", 3), ("Ash Mill", 1))
    ]
    assert len({receipt_on(answer.text) for answer in answers}) == 3
    assert programme.active_counts() == {"Ash Mill": 4, "Birch Works": 0, "Cedar Bank": 3, "Dogwood Clinic": 0}


def test_nobody_makes_the_receipt_of_somebody_else(office: Office) -> None:
    """Eve has the form that Ida will send, and sends it first: Ida's reports count all the same, and Eve's receipt does
    not take them back.
    """
    programme = office.begin()
    office.add("Eve", "auditor")
    ida, eve = office.browser("Ida"), office.browser("Eve")
    form = form_on(ida.get("/report").text)
    stolen = receipt_on(eve.enter("Ash Mill", 3, form).text)
    assert withdraw(eve, "Ash Mill", stolen).status_code == 303
    receipt = receipt_on(ida.enter("Ash Mill", 3, form).text)
    assert programme.active_counts()["Ash Mill"] == 3
    assert withdraw(eve, "Ash Mill", stolen).status_code == 422
    assert withdraw(eve, "Ash Mill", receipt).status_code == 303


@pytest.mark.parametrize("form", ["", "x", "x" * 21, "x" * 23, "ä" * 22, "x" * 21 + " "])
def test_a_form_without_an_id_is_refused(office: Office, form: str) -> None:
    programme = office.begin()
    answer = office.browser("Ida").enter("Ash Mill", 1, form)
    assert answer.status_code == 422
    assert "Reload the page" in answer.text
    assert sum(programme.active_counts().values()) == 0


@pytest.mark.parametrize("end", ["override", "close", "withdraw", "nothing"])
def test_withdrawing_never_takes_back_the_report_of_somebody_else(office: Office, end: str) -> None:
    """Anna's reports are gone: since their target was audited, their round was closed, or they were taken back. Then
    Ida enters as many about the same target.
    """
    programme, anna, ida = office.begin(), office.browser("Anna"), office.browser("Ida")
    receipt = receipt_on(anna.enter("Ash Mill", 2).text)
    if end == "override":
        programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    elif end == "close":
        office.clock.tomorrow()
        programme.close_round()
        anna, ida = office.browser("Anna"), office.browser("Ida")
    elif end == "withdraw":
        assert withdraw(anna, "Ash Mill", receipt).status_code == 303
    before = programme.active_counts()["Ash Mill"]
    ida.enter("Ash Mill", 2)
    assert withdraw(anna, "Ash Mill", receipt).status_code == (303 if end == "nothing" else 422)
    assert programme.active_counts()["Ash Mill"] == (2 if end == "nothing" else before + 2)


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "10001", "", "٣", "9" * 400, "1e3"])
def test_a_number_that_is_none_is_not_shown_again(office: Office, number: str) -> None:
    programme = office.begin()
    answer = office.browser("Ida").enter("Ash Mill", number)
    assert answer.status_code == 422
    assert "whole number from 1 to 10,000" in answer.text
    assert len(number) < 4 or number not in answer.text
    assert sum(programme.active_counts().values()) == 0


def test_a_target_that_does_not_take_part(office: Office) -> None:
    office.begin()
    answer = office.browser("Ida").enter("<script>", 1)
    assert answer.status_code == 422
    assert "Choose one of the targets" in answer.text
    assert "<script>" not in answer.text


def test_the_address_cannot_make_the_page_say_things(office: Office) -> None:
    office.begin()
    assert "evil" not in office.browser("Ida").get("/report?done=evil").text


def test_a_round_is_closed_when_it_is_due(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Otto")
    assert browser.get("/round/close").headers["location"] == "/round"
    early = browser.post("/round/close", {"round": "1"})
    assert early.status_code == 422
    assert "must not be closed before" in early.text
    office.clock.tomorrow()
    browser = office.browser("Otto")
    assert "once and for all" in browser.get("/round/close").text
    answer = browser.post("/round/close", {"round": "1"})
    assert answer.status_code == 200
    drawn = programme.close_round(1).audits[0]
    assert drawn in answer.text
    assert "closed round 1" in deeds(office)


def test_closing_again_shows_what_was_drawn(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    office.clock.tomorrow()
    first, second = (office.browser("Otto").post("/round/close", {"round": "1", "reason": "A strike."}).text
                     for _ in range(2))  # fmt: skip
    assert "It was closed before" in second
    assert "It was closed before" not in first
    drawn = first.split("<bdi>")[-1].split("</bdi>")[0]
    assert drawn in second
    assert deeds(office).count("closed round 1") == 1


def test_nothing_is_drawn_where_it_could_not_be_kept(office: Office) -> None:
    """Locked with a passphrase and never published: there is no copy outside the database."""
    office.console.copy = None
    programme = office.begin()
    office.clock.tomorrow()
    browser = office.browser("Otto")
    decision = {"reason": "A fire in the news.", "independent": "yes"}
    for path, data in (
        ("/round/close", {"round": "1"}),
        ("/round/decisions/skip", {"round": "1", **decision}),
        ("/round/decisions/override", {"target": "Ash Mill", **decision}),
    ):
        refused = browser.post(path, data)
        assert refused.status_code == 422
        assert "must be kept outside the database" in refused.text
    assert programme.status().entries == 0
    browser.post("/transcript/publish")
    assert "Round 1 is closed" in browser.post("/round/close", {"round": "1"}).text
    assert programme.status().published == 1


SHOWING = ("/transcript", "/transcript/transcript.jsonl", "/transcript/public.zip", "/round/decisions/not-carried-out")


def test_what_was_drawn_is_shown_when_it_is_kept_outside_the_database(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk on which the copy is breaks between the draw and the answer."""
    programme = office.begin()
    office.clock.tomorrow()
    otto, anna = office.browser("Otto"), office.browser("Anna")
    anna.get("/round")
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "bring_up_to_date", lambda *_: next(works, False))
    answer = otto.post("/round/close", {"round": "1"})
    drawn = read_record(office.console.store).entries[0].own()["audits"][0]
    assert answer.status_code == 422
    assert "Round 1 is closed" in answer.text
    assert "cannot be shown yet" in answer.text
    hidden = [answer, otto.post("/round/close", {"round": "1"}), anna.get("/round"), *map(otto.get, SHOWING)]
    assert all(drawn not in one.text for one in hidden)
    with monkeypatch.context() as patch:  # planted
        patch.setattr(transcript, "why_hidden", lambda *_: None)
        assert drawn in otto.get("/transcript").text
    monkeypatch.undo()
    again = otto.post("/round/close", {"round": "1"})
    assert "It was closed before" in again.text
    assert drawn in again.text
    assert all(drawn in otto.get(path).text for path in ("/transcript", "/round/decisions/not-carried-out"))
    assert programme.status().open_round == 2
    assert deeds(office).count("closed round 1") == 1


def test_a_decision_that_is_recorded_and_not_kept_is_not_asked_for_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    otto.get("/round")
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "bring_up_to_date", lambda *_: next(works, False))
    said = {"target": "Ash Mill", "reason": "A fire in the news.", "independent": "yes"}
    answer = otto.post("/round/decisions/override", said)
    assert answer.headers["location"] == "/transcript?done=decided"
    page = otto.get("/transcript?done=decided").text
    assert "The decision is recorded" in page
    assert "cannot be shown yet" in page
    assert programme.status().entries == 1
    assert "decided by hand (entry 1)" in deeds(office)


def test_a_late_round_asks_for_the_reason(office: Office) -> None:
    office.begin()
    office.clock.now += timedelta(days=3)
    browser = office.browser("Otto")
    page = browser.get("/round/close").text
    assert "2 days late" in page
    assert 'name="reason"' in page
    browser.post("/round/close", {"round": "1", "reason": "The office was flooded."})
    assert "The office was flooded." in browser.get("/transcript").text


@pytest.mark.parametrize("number", ["", "2", "x", "9" * 30, "-1", "0"])
def test_a_round_that_cannot_be_closed(office: Office, number: str) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    assert office.browser("Otto").post("/round/close", {"round": number}).status_code == 422
    assert programme.status().open_round == 1


@pytest.mark.parametrize("name", ["Otto", "Anna"])
def test_after_the_end(office: Office, name: str) -> None:
    office.begin().end("The law was repealed.")
    browser = office.browser(name)
    assert "The programme has ended" in browser.get("/round").text
    assert "ended" in browser.get("/health").text
    assert browser.post("/round/close", {"round": "1"}).status_code == 422


DECISIONS: list[tuple[str, dict[str, Any], str]] = [
    ("override", {"target": ["Ash Mill", "Cedar Bank"]}, "Ordered by hand"),
    ("targets", {"added": "Elm Logistics\n\nFir Foundry", "target": "Ash Mill"}, "Fir Foundry"),
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
    said = {"reason": "A fire in the news.", "independent": independent, **data}
    assert browser.post(f"/round/decisions/{kind}", said).headers["location"] == "/transcript?done=decided"
    page = browser.get("/transcript").text
    assert told in page
    assert "A fire in the news." in page
    # Round 1 is due, so by the calendar it is round 2.
    assert programme.status().coverage.holds_from == (1 if independent == "yes" else 3)
    assert "entry 1" in deeds(office) or "skipped round 1" in deeds(office)


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
