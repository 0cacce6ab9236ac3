"""What the pages of rounds say before and after something is public, and refuse while public files are damaged."""

from datetime import timedelta

import pytest
from tests.console.offices import CLASSES, Browser, Office, fallen_behind, preview
from tests.console.test_api import STATUS, token
from tests.programme.frozen_offices import DICE, value_of

from deniable.console.pages.published import check_undamaged
from deniable.programme.calendar import Calendar
from deniable.programme.programme import Programme
from deniable.programme.transcript.waiting import Waiting

DAY = timedelta(days=1)
REASON = {"reason": "A fire in the news.", "independent": "yes"}


def changed(office: Office) -> None:
    """One byte of an entry, with the signed head as it was."""
    file = office.public / "transcript.jsonl"
    file.write_bytes(file.read_bytes().replace(b"A fire", b"A Fire", 1))


def damaged(office: Office, *, is_missing: bool = False, **settings: object) -> Programme:
    programme = office.begin(**settings)
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish(office.public)
    office.clock.now += DAY
    (office.public / "transcript.jsonl").unlink() if is_missing else changed(office)
    return programme


@pytest.mark.parametrize("is_missing", [False, True])
def test_changed_public_files_are_treated_as_missing_ones(office: Office, is_missing: bool) -> None:
    programme = damaged(office, is_missing=is_missing)
    before, otto = programme.status().entries, office.browser("Otto")
    page = otto.get("/round").text
    assert "Put the public files right, then close round 1" in page
    assert 'href="/round/close"' not in page
    assert otto.get("/round/close").headers["location"] == "/round"
    assert "no decision recorded" in otto.get("/round/decisions/rename").text
    rename = {"target": "Birch Works", "new_name": "Birch Hall", **REASON}
    details = {"contact": "1 High Street", "hotline": "", "independent": "yes", "confirmed": "yes"}
    for address, form in (
        ("/round/close", {"round": "1", "reason": "We were late."}),
        ("/round/decisions/rename", rename),
        ("/round/decisions/details", details),
    ):
        told = otto.post(address, form)
        assert told.status_code == 422
        assert "must be put right first" in told.text
    assert programme.status().entries == before


def test_a_second_person_records_nothing_while_public_files_are_changed(office: Office) -> None:
    programme = office.begin()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish(office.public)
    form = {"target": "Birch Works", **REASON, "confirmed": "1-1"}
    assert office.browser("Anna").post("/round/decisions/override", form).status_code == 303
    changed(office)
    before, otto = programme.status().entries, office.browser("Otto")
    key = office.console.pending_decisions.all()[0].key
    told = otto.post("/round/pending/confirm", {"pending": key, "confirmed": "1-1"})
    assert "must be put right first" in told.text
    assert programme.status().entries == before


def test_the_calendar_does_not_stop_for_a_changed_file(office: Office) -> None:
    """What `programme run` does; people are refused by the console alone."""
    programme = damaged(office)
    with pytest.raises(Exception, match="put right first"):
        check_undamaged(office.console, programme)
    assert programme.close_round(1).round == 1


def test_an_old_database_invites_no_person_to_close_a_round(office: Office) -> None:
    programme = fallen_behind(office)
    otto = office.browser("Otto")
    for browser in (otto, office.browser("Anna")):
        page = browser.get("/round").text
        assert "cannot go on with this database" in page
        assert "Health says what to do" in page
        for invitation in ("Close round", "/round/close"):
            assert invitation not in page
    assert otto.get("/round/close").headers["location"] == "/round"
    assert otto.post("/round/close", {"round": "1"}).status_code == 422
    assert programme.status().open_round == 1


def test_both_people_read_that_the_asker_looked_at_counts(office: Office) -> None:
    office.begin()
    anna = office.browser("Anna")
    anna.post("/round/counts", {"find": ""})
    form = {"target": "Birch Works", **REASON}
    day = "5 January 2026"
    preview = anna.post("/round/decisions/override", form).text
    assert "You looked at counts on" in preview
    assert day in preview
    anna.post("/round/decisions/override", {**form, "confirmed": "1-1"})
    assert "You looked at counts on" in anna.get("/round/pending").text
    second = office.browser("Otto").get("/round/pending").text
    assert "<bdi>Anna</bdi> looked at counts on" in second
    assert day in second
    assert "Can this declaration be true?" in second


def test_no_one_is_told_so_of_a_person_who_did_not_look(office: Office) -> None:
    office.begin()
    anna, form = office.browser("Anna"), {"target": "Birch Works", **REASON}
    assert "Can this declaration" not in anna.post("/round/decisions/override", form).text
    anna.post("/round/decisions/override", {**form, "confirmed": "1-1"})
    assert "Can this declaration" not in office.browser("Otto").get("/round/pending").text


def test_the_person_who_asked_reads_who_refused_a_visit(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 1}, report_class="danger")
    anna, otto = office.browser("Anna"), office.browser("Otto")
    visit = {"target": "Ash Mill", "class": "danger"}
    anna.post("/emergencies/ask", visit)
    otto.post("/emergencies/withdraw", visit)
    told = anna.get("/round").text
    assert "Otto" in told
    assert "refused the visit in an emergency that you asked for" in told
    assert "Ask for the visit now" not in told
    assert "<bdi>Otto</bdi> refused the visit that you asked for" in anna.get("/emergencies").text
    assert "refused the visit" not in otto.get("/round").text
    anna.post("/emergencies/ask", visit)
    assert "refused the visit" not in anna.get("/emergencies").text


def test_the_heading_stays_while_the_own_request_waits(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    office.clock.now += DAY - timedelta(hours=1)
    programme.report({"Ash Mill": 1}, report_class="danger")
    office.browser("Anna").post("/emergencies/ask", {"target": "Ash Mill", "class": "danger"})
    office.clock.now += timedelta(hours=2)
    assert "First the emergency, then close round 1" in office.browser("Anna").get("/round").text


def test_what_closing_or_skipping_makes_public_is_said_before_and_after(office: Office) -> None:
    programme = office.begin(reveal_after=1)
    programme.publish(office.public)
    office.clock.now += DAY
    [name] = programme.close_round(1).audits
    programme.publish(office.public)
    office.clock.now += DAY
    otto = office.browser("Otto")
    for page in (
        otto.get("/round/close"),
        otto.post("/round/decisions/skip", {"round": "2", **REASON}),
    ):
        assert "This makes public whom round 1 selected" in page.text
        assert name in page.text
        assert "Confidential" in page.text
    closed = otto.post("/round/close", {"round": "2"}).text
    assert "Publishing makes public whom round 1 selected" in closed
    record = otto.get("/transcript").text
    assert "Publishing makes public whom round 1 selected" in record
    assert "The names of round 1 become public with this entry" in record
    assert "Go first, then publish" not in record
    otto.post("/transcript/publish")
    record = otto.get("/transcript").text
    assert "Publishing makes public" not in record
    assert "The names of round 1 are public" in record


def test_names_that_an_overdue_round_makes_public(office: Office) -> None:
    programme = office.begin(reveal_after=1)
    programme.publish(office.public)
    office.clock.now += 2 * DAY
    otto = office.browser("Otto")
    drawn = otto.post("/round/close", {"round": "1", "reason": "We were late."}).text
    assert "Visit first" in drawn
    assert "Round 2 is overdue" in drawn
    assert "which is overdue" in otto.get("/round").text


def test_a_late_round_is_shown_as_the_public_will_read_it(office: Office) -> None:
    office.begin()
    office.clock.now += 4 * DAY
    otto = office.browser("Otto")
    page = otto.get("/round/close").text
    assert "The round was closed 3 days late." in page
    assert "and your reason" in page
    skipped = otto.post("/round/decisions/skip", {"round": "1", **REASON}).text
    assert "which was due on" in skipped


def test_times_are_those_of_the_office(office: Office) -> None:
    """A throw is announced and entered by the office's own clocks."""
    berlin = Calendar(office.clock.now.date(), "1D", "Europe/Berlin")
    office.begin(calendar=berlin, randomness=DICE).publish(office.public)
    office.clock.now += DAY
    otto = office.browser("Otto")
    assert "Closing the round freezes it" in otto.get("/round").text
    frozen = otto.post("/round/close", {"round": "1"}).text
    for page in (frozen, otto.get("/round").text, otto.get("/round/draw").text, otto.get("/transcript").text):
        assert "(Europe/Berlin time)" in page
        assert " UTC" not in page
    assert "Publish before" in otto.get("/round").text
    office.clock.now += timedelta(hours=3)
    assert "in Europe/Berlin time" in office.browser("Otto").get("/round/draw").text


def test_the_log_says_that_closing_recorded_a_visit(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    office.clock.now += DAY
    programme.report({"Ash Mill": 1}, report_class="danger")
    otto = office.browser("Otto")
    otto.post("/round/close", {"round": "1"})
    assert "which recorded a visit in an emergency with no second person" in office.log()


def test_a_late_round_is_frozen_with_the_time_that_will_hold(office: Office) -> None:
    office.begin(randomness=DICE).publish(office.public)
    office.clock.now += 4 * DAY
    page = office.browser("Otto").get("/round/close").text
    assert "if you freeze the round now" in page
    assert "after the due time" not in page
    assert "9 January 2026" in page


def test_a_round_frozen_in_an_emergency_is_published_when_people_are_there(office: Office) -> None:
    programme = office.begin(randomness=DICE, classes=CLASSES)
    programme.publish(office.public)
    office.clock.now = programme.parameters.calendar.due(1)
    programme.report({"Ash Mill": 1}, report_class="danger")
    page = office.browser("Otto").post("/round/close", {"round": "1"}).text
    assert "Publish when your people are there, at the latest before" in page
    assert "Publish now." not in page


def test_the_second_person_reads_that_numbers_were_entered(office: Office) -> None:
    programme = office.begin(randomness=DICE)
    programme.publish(office.public)
    office.clock.now += DAY
    programme.close_round(1)
    programme.publish(office.public)
    office.clock.now += timedelta(hours=3)
    numbers = " ".join(["1", "2", "3"] * 13)
    otto = office.browser("Otto")
    sent = otto.post("/round/draw/numbers", {"round": "1", "numbers": numbers, "time": "2026-01-06T13:30"})
    assert sent.status_code == 303
    assert "Now you enter them" not in otto.get("/round").text
    assert "Now you enter them" in office.browser("Anna").get("/round").text


def test_a_visit_that_is_public_already(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    programme.publish(office.public)
    office.clock.now += DAY
    page = office.browser("Otto").post("/round/close", {"round": "1"}).text
    assert "The public can read of this already" in page
    assert "Go first" not in page


def test_a_round_with_a_visit_is_not_to_be_published_before_people_are_sent(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.publish(office.public)
    programme.report({"Ash Mill": 1}, report_class="danger")
    office.clock.now += DAY
    otto = office.browser("Otto")
    otto.post("/round/close", {"round": "1"})
    page = otto.get("/transcript").text
    assert "Round 1 is closed but not published yet.</strong> Send your people first, then publish. " in page
    assert "Emergency: <bdi>Ash Mill</bdi>." in page
    assert "Press Publish" not in page
    office.clock.now += DAY
    otto = office.browser("Otto")  # the session is over
    otto.post("/round/close", {"round": "2"})
    page = otto.get("/transcript").text
    assert "Rounds 1 to 2 are closed but not published yet.</strong> Send your people first, then publish." in page


def test_a_lapse_and_a_visit_that_are_not_published_have_one_order(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.publish(office.public)
    programme.override(["Birch Works"], "A report.", independent=False)
    otto = office.browser("Otto")
    assert "Publish now: the public page" in otto.get("/transcript").text
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    page = otto.get("/transcript").text
    assert "Send your people now, and publish as soon as they are there" in page
    assert "tell the hotline that nothing is promised" in page
    assert "Publish now" not in page
    assert "Go first" not in page


def test_files_that_are_not_in_order_are_not_up_to_date(office: Office) -> None:
    office.begin().publish(office.public)
    otto = office.browser("Otto")
    assert "up to date" in otto.get("/transcript").text
    (office.public / "index.html").unlink()
    assert "up to date" not in otto.get("/transcript").text


LAST = "The last round is closed. A new report counts in no draw."


def pages(office: Office, browser: Browser) -> dict[str, str]:
    """What an auditor sees of a programme in its present state, by address."""
    addresses = ("/", "/round", "/report", "/import", "/health", "/emergencies", "/guarantee", "/work-list")
    found = {path: browser.get(path).text for path in (*addresses, "/transcript")}
    found["/health"] = office.browser("Ada").get("/health").text
    found["/import preview"] = preview(browser, source="hotline").text
    found["/round/counts"] = browser.counts()
    return found


def test_after_the_last_round_no_page_names_another(office: Office) -> None:
    programme = office.begin(mechanism="tca", horizon=2, classes=CLASSES[:2])
    programme.publish(office.public)
    office.hotline("hotline", "Anna")
    headers = token(office, "status")
    assert "Round 1 is open" in office.browser("Anna").get("/round").text
    for round_ in (1, 2):
        office.clock.now = programme.parameters.calendar.due(round_)
        anna = office.browser("Anna")
        closed = anna.post("/round/close", {"round": str(round_)}).text
        assert ("Round 2 closes on" in closed, LAST in closed) == (round_ == 1, round_ == 2)
    programme.publish()
    for days in (0, 5):
        office.clock.now += days * DAY
        anna = office.browser("Anna")
        entered = anna.enter("Ash Mill", 1, report_class="minor").text
        assert "Other auditors can do it with your receipt." in entered
        importer = office.browser("Ida").get("/report").text
        told = pages(office, anna) | {"closed": closed, "entered": entered, "an importer": importer}
        assert [path for path, page in told.items() if "ound 3" in page] == []
        for path in ("/round", "/report", "/import preview", "closed", "an importer"):
            assert LAST in told[path], path
        assert "The last round is closed. End the programme when nothing waits." in told["/health"]
        assert "You have nothing to do here now" not in told["/round"]
        answer = office.browser().get(STATUS, headers=headers).json()
        assert (answer["round"], answer["due"], answer["overdue"]) == (None, None, 0)
        assert anna.get("/round/decisions/skip").headers["location"] == "/round"
        beyond = anna.post("/round/close", {"round": "3", "reason": "We were late."}).text
        assert "The last round is closed: end the programme" in beyond
    assert "The last round is closed: end the programme" in anna.decide("skip", REASON | {"round": "3"}).text


def test_a_last_round_that_is_frozen_is_still_to_be_drawn(office: Office) -> None:
    programme = office.begin(mechanism="tca", horizon=2, randomness=DICE)
    programme.publish(office.public)
    waiting: Waiting | None = None
    for round_ in (1, 2):
        office.clock.now = programme.parameters.calendar.due(round_)
        anna = office.browser("Anna")
        closed = anna.post("/round/close", {"round": str(round_)}).text
        waiting = programme.status().waiting
        assert waiting is not None
        if round_ == 1:
            assert "belong to round 2" in closed
            assert "Round 1 is frozen, round 2 is open" in anna.get("/round").text
            office.clock.now = waiting.expected
            programme.draw_round(value_of(waiting))
    assert waiting is not None
    programme.publish()
    for now in (office.clock.now, waiting.expected):
        office.clock.now = max(now, office.clock.now)
        anna = office.browser("Anna")
        addresses = ("/", "/round", "/round/draw", "/report", "/health", "/transcript")
        told = {path: anna.get(path).text for path in addresses} | {"closed": closed}
        assert [path for path, page in told.items() if "ound 3" in page] == []
        for path in ("/round", "closed"):
            assert f"{LAST} Until round 2 is drawn, no target can join or leave." in told[path]
        assert "Draw round 2" in told["/round"]
    assert "Draw round 2 now" in told["/round"]
    programme.draw_round(value_of(waiting))
    assert LAST in anna.get("/round").text


def test_to_skip_the_last_round_takes_its_reports_out_of_every_draw(office: Office) -> None:
    programme = office.begin(mechanism="tca", horizon=2)
    into_the_next = "They go into the draw of round 2"
    into_none = "This is the last round: its reports count in no draw."
    for round_ in (1, 2):
        office.clock.now = programme.parameters.calendar.due(round_)
        anna = office.browser("Anna")
        asked = anna.post("/round/decisions/skip", REASON | {"round": str(round_)}).text
        assert (into_the_next in asked, into_none in asked) == (round_ == 1, round_ == 2)
        programme.skip("A fire.", independent=True)
    again = anna.post("/round/close", {"round": "2"}).text
    assert "the reports of the round count in no draw: it was the last one." in again
    assert "count in the next one" in anna.post("/round/close", {"round": "1"}).text


def test_after_the_last_round_the_end_records_visits_that_wait(office: Office) -> None:
    programme = office.begin(mechanism="tca", horizon=1, classes=CLASSES)
    last = "The end of the programme records every visit that still waits."
    page = office.browser("Anna").get("/emergencies").text
    assert ("Closing it records" in page, last in page) == (True, False)
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    page = office.browser("Anna").get("/emergencies").text
    assert ("Closing it records" in page, last in page) == (False, True)


def test_after_the_last_round_a_refusal_asks_for_no_reason(office: Office) -> None:
    """There is no round that is late."""
    programme = office.begin(mechanism="tca", horizon=1)
    office.clock.tomorrow()
    programme.close_round()
    office.clock.now += timedelta(days=9)
    answer = office.browser("Otto").post("/round/close", {"round": "2", "reason": ""})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert 'name="reason"' not in answer.text
