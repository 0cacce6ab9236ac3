"""Orders by hand, and decisions that cost the promise: one person asks with the consequences in sight, another
confirms.
"""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from tests.console.offices import Browser, Office, pending_on

from deniable.console.accounts import people
from deniable.console.pending_decisions import KEPT_FOR
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.transcript_copies import KeyCopy

ORDER: dict[str, Any] = {"target": ["Ash Mill", "Cedar Bank"], "reason": "A fire in the news.", "independent": "yes"}


def disable(office: Office, name: str) -> None:
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, office.people[name].id, True)


def ask(browser: Browser, **changes: Any) -> Any:
    return browser.decide("override", {**ORDER, **changes})


@pytest.mark.parametrize("independent", ["yes", "no"])
def test_one_person_asks_and_another_confirms(office: Office, independent: str) -> None:
    programme = office.begin()
    programme.report({"Ash Mill": 2, "Birch Works": 1})
    otto, anna = office.browser("Otto"), office.browser("Anna")
    shown = otto.post("/round/decisions/override", {**ORDER, "independent": independent}).text
    assert "Anna" in shown
    assert "2 targets outside the draw" in shown
    assert ask(otto, independent=independent).headers["location"] == "/round/pending?done=asked"
    assert programme.status().entries == 0
    assert "A decision by hand waits for you.</strong> <bdi>Otto</bdi>" in anna.get("/round").text
    assert "You asked for a decision" in otto.get("/round").text
    told = anna.get("/round/pending").text
    assert anna.confirm_decision().headers["location"] == "/transcript?done=decided"
    event = office.console.public_records.current(programme.parameters).events[0]
    assert (event.kind, [one.name for one in event.audited]) == ("override", ["Ash Mill", "Cedar Bank"])
    for page in (shown, told):
        assert event.effect in unescape(page)  # in advance, and word for word
        assert "A fire in the news." in page
    assert programme.status().coverage.holds_from == (1 if independent == "yes" else 2)
    assert programme.active_counts() == {"Ash Mill": 0, "Birch Works": 1, "Cedar Bank": 0, "Dogwood Clinic": 0}
    log = unescape(office.log())
    assert "asked to order an audit by hand" in log
    assert "confirmed the request of Otto to order an audit by hand (entry 1)" in log
    assert "Ash Mill" not in log
    assert "No requests are waiting" in anna.get("/round/pending").text
    assert anna.confirm_decision().status_code == 422


def test_no_person_confirms_their_own_order(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    ask(otto)
    page = otto.get("/round/pending").text
    assert "Confirm the order" not in page
    assert "If it is urgent" in page
    assert "If it is urgent" not in office.browser("Anna").get("/round/pending").text
    refused = otto.post("/round/pending/confirm", {"pending": pending_on(page), "confirmed": "1-1"})
    assert refused.status_code == 422
    assert "another person must confirm it" in refused.text
    again = ask(otto, target="Birch Works")
    assert again.status_code == 422
    assert "still waits" in again.text
    assert programme.status().entries == 0


def test_a_person_who_is_alone_orders_it_alone_and_the_log_says_so(office: Office) -> None:
    programme = office.begin()
    disable(office, "Otto")
    anna = office.browser("Anna")
    assert "You decide alone" in anna.post("/round/decisions/override", ORDER).text
    assert programme.status().entries == 0
    assert ask(anna).headers["location"] == "/transcript?done=decided"
    assert programme.status().entries == 1
    assert "alone, since no other person could confirm it (entry 1)" in office.log()


def test_a_request_ends(office: Office) -> None:
    """It is withdrawn, grows old, or the person who made it is disabled."""
    programme, otto, anna = office.begin(), office.browser("Otto"), office.browser("Anna")
    ask(otto)
    asked = {"pending": pending_on(anna.get("/round/pending").text), "confirmed": "1-1"}
    assert anna.post("/round/pending/withdraw", asked).headers["location"] == "/round/pending?done=refused"
    assert "refused the request of Otto" in office.log()
    for step in ("confirm", "withdraw"):
        refused = anna.post(f"/round/pending/{step}", asked)
        assert refused.status_code == 422
        assert "no longer there" in refused.text
    ask(otto)
    office.clock.now += KEPT_FOR
    anna = office.browser("Anna")
    assert "Ash Mill" not in anna.get("/round/pending").text
    ask(office.browser("Otto"))
    disable(office, "Otto")
    assert "Ash Mill" not in anna.get("/round/pending").text
    assert "decision by hand waits" not in anna.get("/round").text
    assert anna.confirm_decision().status_code == 422
    assert programme.status().entries == 0


def test_an_order_because_of_reports_is_read_again_when_a_new_round_began(office: Office) -> None:
    programme = office.begin()
    ask(office.browser("Otto"), independent="no")
    page = office.browser("Anna").get("/round/pending").text
    assert "This is because <bdi>Otto</bdi> answered that a report led to the decision" in page
    pending = pending_on(page)
    office.clock.now += KEPT_FOR / 2  # round 1 is due, so by the calendar it is round 2
    anna = office.browser("Anna")
    refused = anna.post("/round/pending/confirm", {"pending": pending, "confirmed": "1-1"})
    assert refused.status_code == 422
    assert "new round has begun" in refused.text
    assert "7 January 2026" in refused.text
    assert programme.status().entries == 0
    assert anna.confirm_decision().status_code == 303
    assert programme.status().coverage.holds_from == 3


def two_rounds_overdue(office: Office) -> Programme:
    """The calendar's round is the third, and stays so when one of them is closed."""
    programme = office.begin()
    office.clock.tomorrow()
    office.clock.tomorrow()
    return programme


def test_an_order_is_read_again_when_the_round_was_closed_that_it_was_shown_for(office: Office) -> None:
    """Also one that had nothing to do with reports."""
    programme = two_rounds_overdue(office)
    ask(office.browser("Otto"))
    anna = office.browser("Anna")
    page = anna.get("/round/pending").text
    asked = {"pending": pending_on(page), "confirmed": "1-3"}
    assert 'name="confirmed" value="1-3"' in page
    programme.skip("Snow.", independent=True)
    refused = anna.post("/round/pending/confirm", asked)
    assert refused.status_code == 422
    assert "new round has begun" in refused.text
    assert "Moved to round 2" in refused.text
    assert programme.status().entries == 1
    assert anna.confirm_decision().status_code == 303
    assert programme.status().entries == 2


def test_an_order_is_not_recorded_in_a_round_that_opens_meanwhile(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler closes the round after the page was compared with it."""
    programme, honest = two_rounds_overdue(office), Programme.decide
    ask(office.browser("Otto"))
    anna = office.browser("Anna")

    def late(own: Programme, foreseen: Any) -> Any:
        own.skip("Snow.", independent=True)
        return honest(own, foreseen)

    with monkeypatch.context() as patched:
        patched.setattr(Programme, "decide", late)
        refused = anna.confirm_decision()
    assert refused.status_code == 422
    assert "new round has begun" in refused.text
    assert programme.status().entries == 1
    assert "confirmed" not in office.log()
    assert anna.confirm_decision().status_code == 303


def test_an_order_that_can_no_longer_be_recorded_says_why(office: Office) -> None:
    programme = office.begin()
    ask(office.browser("Otto"))
    programme.change_targets("Closed.", independent=True, remove=["Ash Mill"])
    page = office.browser("Anna").get("/round/pending").text
    assert "can no longer be recorded" in page
    assert "Confirm the order" not in page
    assert office.browser("Anna").confirm_decision().status_code == 422
    assert programme.status().entries == 1


def test_an_order_that_is_recorded_and_not_kept_is_not_asked_for_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    programme = office.begin()
    ask(office.browser("Otto"))
    anna = office.browser("Anna")
    asked = {"pending": pending_on(anna.get("/round/pending").text), "confirmed": "1-1"}
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    assert anna.post("/round/pending/confirm", asked).headers["location"] == "/transcript?done=decided"
    assert programme.status().entries == 1
    assert office.console.pending_decisions.all() == []
    assert "the request of Otto to order an audit by hand (entry 1)" in office.log()


@pytest.mark.parametrize("second", ["confirm", "withdraw"])
def test_a_double_click_records_one_order(office: Office, monkeypatch: pytest.MonkeyPatch, second: str) -> None:
    """The second request comes while the first one is being recorded."""
    programme, honest, between = office.begin(), Programme.decide, list[Any]()
    ask(office.browser("Otto"))
    anna, again = office.browser("Anna"), office.browser("Anna")
    asked = {"pending": pending_on(anna.get("/round/pending").text), "confirmed": "1-1"}

    def slow(*args: Any, **options: Any) -> Any:
        if not between:
            between.append(None)
            between.append(again.post(f"/round/pending/{second}", asked))
        return honest(*args, **options)

    monkeypatch.setattr(Programme, "decide", slow)
    assert anna.post("/round/pending/confirm", asked).headers["location"] == "/transcript?done=decided"
    assert between[1].status_code == 422
    assert "no longer there" in between[1].text
    assert programme.status().entries == 1
    assert office.log().count("confirmed the request") == 1
    assert "refused" not in office.log()


def test_an_order_that_is_refused_stays_to_be_confirmed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    programme = office.begin()
    ask(office.browser("Otto"))
    anna = office.browser("Anna")

    def refused(*_: Any, **__: Any) -> Any:
        raise DeniableError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Programme, "decide", refused)
        assert anna.confirm_decision().status_code == 422
    assert anna.confirm_decision().headers["location"] == "/transcript?done=decided"
    assert programme.status().entries == 1


LOSSES: dict[str, tuple[dict[str, Any], str]] = {
    "targets": ({"target": "Ash Mill"}, "to change the list of targets"),
    "rename": ({"target": "Ash Mill", "new_name": "Ash Mills"}, "to rename a target"),
    "not-carried-out": ({"audit": "1 Ash Mill"}, "to record that an audit did not take place"),
    "skip": ({"round": "1"}, "to skip round 1"),
}


@pytest.mark.parametrize("kind", LOSSES)
def test_no_person_alone_loses_the_promise(office: Office, kind: str) -> None:
    """And each may decide alone what has nothing to do with reports."""
    programme = office.begin()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    if kind == "skip":
        office.clock.now += timedelta(days=1)
    own, wish = LOSSES[kind]
    otto, anna, form = office.browser("Otto"), office.browser("Anna"), {**own, "reason": "Known."}
    shown = otto.post(f"/round/decisions/{kind}", {**form, "independent": "no"}).text
    assert "another person confirms it: <bdi>Anna</bdi>" in shown
    assert otto.decide(kind, {**form, "independent": "no"}).headers["location"] == "/round/pending?done=asked"
    assert (programme.status().entries, programme.status().coverage.holds_from) == (1, 1)
    assert anna.confirm_decision().headers["location"] == "/transcript?done=decided"
    assert (programme.status().entries, programme.status().coverage.holds_from > 1) == (2, True)
    assert f"asked {wish}" in office.log()
    assert f"confirmed the request of Otto {wish} (entry 2)" in office.log()


@pytest.mark.parametrize("kind", LOSSES)
def test_a_decision_without_a_loss_needs_no_second_person(office: Office, kind: str) -> None:
    programme = office.begin()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    if kind == "skip":
        office.clock.now += timedelta(days=1)
    form = {**LOSSES[kind][0], "reason": "Known.", "independent": "yes"}
    assert office.browser("Otto").decide(kind, form).headers["location"] == "/transcript?done=decided"
    assert programme.status().entries == 2
    assert "alone" not in office.log()


def test_a_person_who_is_alone_loses_the_promise_alone_and_the_log_says_so(office: Office) -> None:
    programme = office.begin()
    disable(office, "Otto")
    anna, form = office.browser("Anna"), {"target": "Ash Mill", "reason": "Known.", "independent": "no"}
    assert "You decide alone" in anna.post("/round/decisions/targets", form).text
    assert anna.decide("targets", form).headers["location"] == "/transcript?done=decided"
    assert programme.status().coverage.holds_from == 2
    assert "changed the list of targets, alone, since no other person could confirm it (entry 1)" in office.log()


def test_a_request_to_skip_a_round_that_was_closed_is_void(office: Office) -> None:
    programme = office.begin()
    office.clock.now += timedelta(days=1)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    otto.decide("skip", {"round": "1", "reason": "Known.", "independent": "no"})
    programme.close_round()
    assert "closed already" in anna.get("/round/pending").text
    assert anna.confirm_decision().status_code == 422
    assert programme.status().open_round == 2


def test_the_second_person_declares_what_the_first_declared_and_is_reminded_of_counts(office: Office) -> None:
    office.begin()
    otto, anna = office.browser("Otto"), office.browser("Anna")
    ask(otto)
    page = anna.get("/round/pending").text
    assert "<bdi>Otto</bdi> declares in public" in page
    assert "By confirming you declare it, too" in page
    assert "You declare in public" not in page
    assert "You looked at counts" not in page
    assert "Refuse the request" in page
    assert "Withdraw the request" not in page
    own = otto.get("/round/pending").text
    assert "You declare in public" in own
    assert "Withdraw the request" in own
    anna.counts()
    assert "You looked at counts on" in anna.get("/round/pending").text
    assert "You looked at counts on" not in otto.get("/round/pending").text


def test_a_second_person_who_looked_at_counts_reads_who_can_confirm_instead(office: Office) -> None:
    office.begin()
    ask(office.browser("Otto"))
    anna = office.browser("Anna")
    anna.counts()
    assert "All people who could confirm this have looked" in anna.get("/round/pending").text
    office.add("Eve", "auditor")
    office.add("Axel", "auditor")
    office.browser("Axel").counts()
    assert "Let one of these people confirm this: <bdi>Eve</bdi>. Or refuse" in anna.get("/round/pending").text
    assert "Let one of these" not in office.browser("Eve").get("/round/pending").text
