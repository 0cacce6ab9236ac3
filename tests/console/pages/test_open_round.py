"""The open round: what to do now, and how it is closed."""

import re
from datetime import timedelta
from typing import Any

import pytest
from tests.console.offices import CLASSES, Office

from deniable.console.pages import common, open_round
from deniable.programme.randomness.source import Dice
from deniable.programme.transcript_copies import KeyCopy

MANY = tuple(f"Depot {number}" for number in range(1000))


def first_page_shows(office: Office, count: str) -> bool:
    """Whether the page that an auditor sees first has this count, in digits or as a bar."""
    page = office.browser("Anna").get("/round").text
    return count in page or 'class="bars"' in page or "Confidential" in page


def test_without_asking_no_count_is_on_the_page(office: Office) -> None:
    programme = office.begin()
    programme.report({"Ash Mill": 31_337})
    assert not first_page_shows(office, "31,337")
    anna = office.browser("Anna")
    assert anna.get("/round/counts").headers["location"] == "/round"
    assert anna.client.post("/round/counts").status_code == 403  # no form of ours
    assert anna.get("/round?start=0").text == anna.get("/round").text


def test_the_check_sees_counts_on_the_first_page(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the page shows how many reports there are in place of the targets."""
    programme = office.begin()
    programme.report({"Ash Mill": 31_337})
    original = open_round.AuditorRoundPage

    def telling(**fields: Any) -> open_round.AuditorRoundPage:
        return original(**fields | {"targets": sum(programme.active_counts().values())})

    monkeypatch.setattr(open_round, "AuditorRoundPage", telling)
    assert first_page_shows(office, "31,337")


def test_an_operator_sees_no_trace_of_counts(office: Office) -> None:
    office.begin().report({"Ash Mill": 8})
    otto = office.browser("Otto")
    page = otto.get("/round").text
    for trace in ("Confidential", "Ash Mill", "ounts", "bars"):
        assert trace not in page
    assert otto.post("/round/counts").status_code == 403
    assert otto.get("/round/counts").status_code == 403


@pytest.mark.parametrize("name", ["Otto", "Anna"])
def test_the_page_says_what_to_do_now(office: Office, name: str) -> None:
    programme = office.begin()
    page = office.browser(name).get("/round").text
    assert "Round 1 is open" in page
    assert "Nothing is published yet" in page
    assert "/work-list" not in page.split("<main")[1]
    assert "You have nothing to do" not in page
    programme.publish(office.public)
    assert "You have nothing to do here now." in office.browser(name).get("/round").text
    office.clock.tomorrow()
    page = office.browser(name).get("/round").text
    assert "Close round 1 now" in page
    assert "You have nothing to do" not in page
    assert "asks you for the reason" not in page
    (drawn,) = programme.close_round(1).audits
    page = office.browser(name).get("/round").text
    assert "Round 2 is open" in page
    assert f"Drawn last: <strong><bdi>{drawn}</bdi></strong> (round 1)" in page
    assert "Not published yet: 1 entry" in page
    assert f"<bdi>{drawn}</bdi></th><td" in page
    assert 'href="/work-list">Open' in page
    programme.override([f"{target}" for target in programme.targets()], "A fire.", independent=True)
    programme.publish()
    page = office.browser(name).get("/round").text
    assert "Not published yet" not in page
    assert "Nothing is published" not in page


def test_of_many_audits_the_oldest_are_on_the_page(office: Office) -> None:
    programme = office.begin(targets=MANY)
    programme.override(MANY[:7], "A fire.", independent=True)
    page = office.browser("Otto").get("/round").text
    assert "5 of 7 audits" in page
    assert len(re.findall(r"<th scope=\"row\"><bdi>Depot", page)) == 5


def test_a_target_is_looked_up_in_the_record(office: Office) -> None:
    programme = office.begin()
    programme.override(["Ash Mill"], "A fire.", independent=True)
    otto = office.browser("Otto")
    assert 'action="/transcript/find#found"' in otto.get("/round").text
    assert "Ash Mill" in otto.post("/transcript/find", {"find": "ash", "start": "0"}).text


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
    assert 'record its day on the <a href="/work-list">' in answer.text
    assert "closed round 1" in office.log()


def test_a_loss_that_the_public_does_not_know_comes_before_closing(office: Office) -> None:
    programme, warning = office.begin(), "still promises what was lost"
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A letter.", independent=False)
    office.clock.tomorrow()
    page = office.browser("Otto").get("/round").text
    assert page.count(warning) == 1
    assert page.index(warning) < page.index('class="button quiet" href="/round/close"')


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
    assert office.log().count("closed round 1") == 1


def test_nothing_is_drawn_where_it_could_not_be_kept(office: Office) -> None:
    """Locked with a passphrase and never published: there is no copy outside the database."""
    office.console.copy = None
    programme = office.begin()
    office.clock.tomorrow()
    browser = office.browser("Otto")
    decision = {"reason": "A fire in the news.", "independent": "yes"}
    for path, data in (
        ("/round/close", {"round": "1"}),
        ("/round/decisions/skip", {"round": "1", "confirmed": "1-2", **decision}),
        ("/round/decisions/rename", {"target": "Ash Mill", "new_name": "Ash", "confirmed": "1-2", **decision}),
    ):
        refused = browser.post(path, data)
        assert refused.status_code == 422
        assert "must be kept outside the database" in refused.text
    assert programme.status().entries == 0
    browser.post("/transcript/publish")
    assert "Round 1 is closed" in browser.post("/round/close", {"round": "1"}).text
    assert programme.status().published == 1


SHOWING = ("/transcript", "/transcript/transcript.jsonl", "/transcript/public.zip", "/round/decisions/not-carried-out",
           "/work-list")  # fmt: skip


def test_what_was_drawn_is_shown_when_it_is_kept_outside_the_database(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk on which the copy is breaks between the draw and the answer."""
    programme = office.begin()
    office.clock.tomorrow()
    otto, anna = office.browser("Otto"), office.browser("Anna")
    anna.get("/round")
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    answer = otto.post("/round/close", {"round": "1"})
    drawn = office.console.public_records.current(programme.parameters).events[0].audited[0].name
    assert answer.status_code == 422
    assert "Round 1 is closed" in answer.text
    assert "cannot be shown yet" in answer.text
    hidden = [answer, otto.post("/round/close", {"round": "1"}), anna.get("/round"), *map(otto.get, SHOWING)]
    assert all(drawn not in one.text for one in hidden)
    with monkeypatch.context() as patch:  # planted
        patch.setattr(common, "is_kept", lambda *_: True)
        assert drawn in otto.get("/transcript").text
    monkeypatch.undo()
    again = otto.post("/round/close", {"round": "1"})
    assert "It was closed before" in again.text
    assert drawn in again.text
    assert all(drawn in otto.get(path).text for path in ("/transcript", "/round/decisions/not-carried-out"))
    assert programme.status().open_round == 2
    assert office.log().count("closed round 1") == 1


def test_a_late_round_asks_for_the_reason(office: Office) -> None:
    office.begin()
    office.clock.now += timedelta(days=3)
    browser = office.browser("Otto")
    assert "The round is closed late, so the next page asks you for the reason." in browser.get("/round").text
    page = browser.get("/round/close").text
    assert "2 days late" in page
    assert 'name="reason"' in page
    browser.post("/round/close", {"round": "1", "reason": "The office was flooded."})
    assert "The office was flooded." in browser.get("/transcript").text


@pytest.mark.parametrize("reason", [None, "", "  "])
@pytest.mark.parametrize("others", [{}, {"randomness": Dice("The town hall")}], ids=["drawn", "frozen"])
def test_a_late_round_is_not_closed_without_a_reason(
    office: Office, others: dict[str, Any], reason: str | None
) -> None:
    """Also where a browser sends the form without asking for it."""
    programme = office.begin(**others)
    office.clock.now += timedelta(days=3)
    browser, form = office.browser("Otto"), {"round": "1"}
    answer = browser.post("/round/close", form if reason is None else form | {"reason": reason})
    assert answer.status_code == 422
    assert '<span class="wrong-here" id="reason-wrong"><bdi>Say why the round is closed late.' in answer.text
    assert 'aria-describedby="reason-wrong reason-hint" aria-invalid="true"' in answer.text
    assert '<input type="hidden" name="round" value="1">' in answer.text
    assert programme.status().open_round == 1
    assert programme.status().entries == 0
    assert browser.post("/round/close", form | {"reason": "A flood."}).status_code == 200
    assert browser.post("/round/close", form).status_code == 200  # it is closed, and shows what was drawn


def test_a_round_that_is_in_time_needs_no_reason(office: Office) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    assert office.browser("Otto").post("/round/close", {"round": "1"}).status_code == 200
    assert programme.status().open_round == 2


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


def test_after_the_end_it_says_what_is_not_recorded_and_in_which_order_to_finish(office: Office) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    programme.close_round()
    programme.end("The law was repealed.")
    browser = office.browser("Otto")
    page = browser.get("/round").text
    assert "1 audit was selected and may not have taken place yet." in page
    assert "First publish the end. Then destroy the key" in page
    programme.publish(office.public)
    page = browser.get("/round").text
    assert "First publish the end" not in page
    assert "<strong>Destroy the key" in page


def test_closing_freezes_a_round_where_a_public_value_is_to_come(office: Office) -> None:
    programme = office.begin(randomness=Dice("The town hall"))
    office.clock.tomorrow()
    browser = office.browser("Otto")
    asked = browser.get("/round/close").text
    assert "This freezes the round" in asked
    assert "Freeze round 1" in asked
    assert "and draw</button>" not in asked
    for _ in range(2):
        answer = browser.post("/round/close", {"round": "1"}).text
        assert "Round 1 is frozen" in answer
        assert 'href="/round/draw"' not in answer
        assert "belong to round 2" in answer
        assert not any(target in answer for target in programme.status().targets)
    assert office.log().count("closed round 1") == 1


@pytest.mark.parametrize("name", ["Otto", "Anna"])
def test_while_a_round_waits_it_is_on_the_page(office: Office, name: str) -> None:
    """Its reports are still among the counts."""
    programme = office.begin(randomness=Dice("The town hall"))
    programme.report({"Ash Mill": 7})
    office.clock.tomorrow()
    programme.close_round()
    office.clock.tomorrow()
    programme.report({"Ash Mill": 4})
    browser = office.browser(name)
    page = browser.get("/round").text
    assert "Round 1 was frozen on 6 January 2026" in page
    assert (
        page.index("The numbers were to be thrown on") < page.index('href="/round/draw"') < page.index("was frozen on")
    )
    assert "after round 1 is drawn" in page
    for link in ("/round/close", "/round/decisions/skip", "/round/decisions/targets"):
        assert f'href="{link}"' not in page
    assert browser.get("/round/close").headers["location"] == "/round"
    refused = browser.post("/round/close", {"round": "2"})
    assert refused.status_code == 422
    assert "Round 1 waits for its public value" in refused.text
    if name == "Anna":
        counts = browser.counts()
        row = counts.split("<bdi>Ash Mill</bdi>")[1].split("</tr>")[0]
        assert re.findall(r'class="number">([^<]+)</td>', row) == ["11"]
        assert "frozen round are included" in counts


def test_a_round_that_is_never_drawn_is_not_called_skipped(office: Office) -> None:
    programme = office.begin(randomness=Dice("The town hall"))
    programme.publish(office.public)
    old = office.saved()
    office.clock.tomorrow()
    programme.close_round()
    programme.publish()
    office.put_back(old)
    programme.recover(office.public, "The disk broke.")
    browser = office.browser("Otto")
    answer = browser.post("/round/close", {"round": "1"}).text
    assert "skipped" not in answer
    assert "No target was selected" in answer
    assert "Frozen, and never drawn" in browser.get("/transcript").text


def test_names_that_are_not_public_yet(office: Office) -> None:
    """Those who close rounds see them, with the day from which they are public; the transcript and the log do not."""
    programme = office.begin(reveal_after=2)
    office.clock.tomorrow()
    answer = office.browser("Otto").post("/round/close", {"round": "1"}).text
    (drawn,) = programme.close_round(1).audits
    page, transcript = (office.browser("Otto").get(path).text for path in ("/round", "/transcript"))
    for shown in (answer, page):
        assert drawn in shown
        assert "only to the people who go there" in shown
        assert "8 January 2026" in shown
    assert drawn not in transcript
    assert "Drawn last" not in page
    assert "names follow" in transcript
    assert drawn not in office.log()
    assert drawn not in office.browser("Otto").get("/round/decisions/not-carried-out").text


def test_visits_in_an_emergency_are_told_to_those_who_may_know(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    office.clock.tomorrow()
    otto, anna = office.browser("Otto"), office.browser("Anna")
    before = otto.get("/round/close").text, otto.get("/round").text
    assert "wait: " not in anna.get("/round/close").text
    programme.report({"Ash Mill": 1}, report_class="danger")
    assert (otto.get("/round/close").text, otto.get("/round").text) == before
    assert "First the emergency" not in before[1]
    assert "First the emergency, then close round 1" in anna.get("/round").text
    assert "Ash Mill" in anna.get("/round/close").text
    anna.post("/emergencies/ask", {"target": "Ash Mill", "class": "danger"})
    assert "waits for you" in otto.get("/round").text
    assert "First the emergency, then close round 1" in otto.get("/round").text
    assert "waits for you" not in anna.get("/round").text
    assert "You asked for a visit" in anna.get("/round").text
    assert "Ash Mill" in otto.get("/round/close").text
    closed = [otto.post("/round/close", {"round": "1"}).text for _ in range(2)]
    assert "Visit at once (emergency): <bdi>Ash Mill</bdi>" in closed[0]
    assert '<bdi>Ash Mill</bdi></strong> <span class="state wrong">Round 1, visit at once</span>' in closed[1]
    assert "unless your people were there already" not in closed[1]
    assert "Closing the round recorded it" not in closed[1]
    assert all("Go first, then publish" in page for page in closed)
    assert all('<a class="button quiet" href="/transcript">' in page for page in closed)
    assert ("Drawn, and also an emergency: <bdi>Ash Mill</bdi>. One visit is enough." in closed[0]) == (
        '<p class="drawn-one"><bdi>Ash Mill</bdi></p>' in closed[0]
    )


def test_an_auditor_has_something_to_do_while_a_report_leads_to_a_visit(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.publish(office.public)
    told = "You have nothing to do here now."
    assert all(told in office.browser(name).get("/round").text for name in ("Anna", "Otto"))
    programme.report({"Ash Mill": 1}, report_class="danger")
    assert told not in office.browser("Anna").get("/round").text
    assert told in office.browser("Otto").get("/round").text  # who may not know of it


def test_after_closing_visits_recorded_before_are_told_from_those_that_closing_recorded(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 1, "Birch Works": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    office.clock.tomorrow()
    page = office.browser("Otto").post("/round/close", {"round": "1"}).text
    assert "Visit at once (emergency): <bdi>Birch Works</bdi>.</strong>" in page
    assert "there already: <bdi>Ash Mill</bdi>.</strong>" in page


def test_shown_again_a_closed_round_says_of_a_visit_only_what_the_record_tells(office: Office) -> None:
    """Whether closing recorded a visit shows only where another entry lies between the two."""
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    programme.rename_target("Cedar Bank", "Cedar Trust", "A new name.", independent=True)
    programme.report({"Birch Works": 1}, report_class="danger")
    programme.visit("Birch Works", "danger")
    programme.report({"Cedar Trust": 1}, report_class="danger")
    office.clock.tomorrow()
    first, again = (office.browser("Otto").post("/round/close", {"round": "1"}).text for _ in range(2))
    assert "(emergency): <bdi>Cedar Trust</bdi>.</strong>" in first
    assert "there already: <bdi>Ash Mill</bdi>; <bdi>Birch Works</bdi>.</strong>" in first
    assert "there already: <bdi>Ash Mill</bdi>.</strong>" in again
    assert "<strong><bdi>Birch Works</bdi>; <bdi>Cedar Trust</bdi></strong> <span" in again


def test_the_question_says_that_an_order_waits(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    otto, anna = office.browser("Otto"), office.browser("Anna")
    order = {"target": "Ash Mill", "reason": "A fire.", "independent": "yes"}
    during = re.findall(r'name="confirmed" value="([\d-]+)"', otto.post("/round/decisions/override", order).text)
    otto.post("/round/decisions/override", {**order, "confirmed": during[0]})
    assert "moves to round 2" in anna.get("/round/close").text
    assert "Moved to" not in anna.get("/round/pending").text
    anna.post("/round/close", {"round": "1"})
    assert "Moved to round 2" in anna.get("/round/pending").text
