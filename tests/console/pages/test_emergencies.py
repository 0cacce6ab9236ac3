"""Visits to which a report leads at once: two people record them, and ordinary reports keep their promise."""

import re
from html import unescape
from typing import Any

import pytest
from tests.console.offices import CLASSES, Browser, Office, receipt_on

from deniable.console.accounts import invitations, people
from deniable.console.pending_visits import KEPT_FOR
from deniable.programme.programme import Programme

VISIT = {"target": "Ash Mill", "class": "danger"}
NONE_ASKED = "Visits that wait for a second person"
WHAT_HAPPENS = "What happens when a visit is confirmed"


@pytest.fixture
def programme(office: Office) -> Programme:
    """One report waits for the draw, one leads to a visit."""
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 2, "Cedar Bank": 1}, report_class="minor")
    programme.report({"Ash Mill": 1}, report_class="danger")
    return programme


def ask(browser: Browser) -> Any:
    return browser.post("/emergencies/ask", VISIT)


def confirm(browser: Browser) -> Any:
    return browser.post("/emergencies/confirm", VISIT)


def headings(browser: Browser) -> list[str]:
    """Of the page and its parts."""
    return re.findall(r"<h[12][^>]*>(.*?)</h[12]>", browser.get("/emergencies").text)


def text_of(answer: Any) -> str:
    """Without what marks up names."""
    return unescape(answer.text).replace("<bdi>", "").replace("</bdi>", "")


def test_one_person_asks_and_another_confirms(office: Office, programme: Programme) -> None:
    anna, otto = office.browser("Anna"), office.browser("Otto")
    page = text_of(anna.get("/emergencies"))
    assert "Confidential" in page
    assert "Ask for this visit" in page
    assert ask(anna).headers["location"] == "/emergencies?done=asked"
    told = text_of(otto.get("/emergencies"))
    assert "Anna asked for this visit" in told
    assert "Confidential" in told
    answer = confirm(otto)
    assert answer.headers["location"] == "/transcript?done=visit"
    public = anna.get("/transcript?done=visit").text
    assert public.index("Go first") < public.index("Publish the rules")
    record = office.console.public_records.current(programme.parameters)
    event = record.events[0]
    assert (event.kind, event.audited[0].name, event.lapse) == ("emergency", "Ash Mill", False)
    for words in (event.heading, event.effect, f"Round {event.round}: visit to Ash Mill"):
        assert words in page  # in advance, and word for word
        assert words in told
    assert programme.waiting_visits() == []
    assert programme.active_counts() == {"Ash Mill": 0, "Birch Works": 0, "Cedar Bank": 1, "Dogwood Clinic": 0}
    log = unescape(office.log())
    assert "asked for a visit" in log
    assert "which Anna had asked for (entry 1)" in log
    assert "Ash Mill" not in log
    assert confirm(otto).status_code == 422


def test_the_headings_go_with_the_number_of_visits(office: Office, programme: Programme) -> None:
    anna, otto = office.browser("Anna"), office.browser("Otto")
    assert headings(anna) == ["A visit must be made now", "The visit to ask for", NONE_ASKED, WHAT_HAPPENS]
    programme.report({"Birch Works": 1}, report_class="danger")
    assert headings(anna) == ["2 visits must be made now", "The visits to ask for", NONE_ASKED, WHAT_HAPPENS]
    ask(anna)
    assert headings(otto) == ["A visit to confirm", "This visit waits for a second person", WHAT_HAPPENS]
    anna.post("/emergencies/ask", VISIT | {"target": "Birch Works"})
    assert headings(otto) == ["2 visits to confirm", "These visits wait for a second person", WHAT_HAPPENS]
    confirm(otto)
    assert headings(anna)[0] == "Your request waits for another person"


def test_nobody_confirms_their_own_request(office: Office, programme: Programme) -> None:
    anna = office.browser("Anna")
    ask(anna)
    page = anna.get("/emergencies").text
    assert "Confirm the visit" not in page
    assert "Otto" in page
    refused = confirm(anna)
    assert refused.status_code == 422
    assert "another person must confirm it" in refused.text
    assert programme.status().entries == 0
    office.add("Eve", "auditor")
    assert confirm(office.browser("Eve")).status_code == 303
    assert programme.status().entries == 1


def test_a_person_who_cannot_sign_in_confirms_nothing(office: Office, programme: Programme) -> None:
    """Otto was given new codes, and has not set them up: Anna is told so, and may decide alone."""
    with office.console.store.writing() as connection:
        invitations.reset_codes(connection, office.console.key, office.people["Otto"].id, office.clock.now)
    anna = office.browser("Anna")
    ask(anna)
    page = text_of(anna.get("/emergencies"))
    assert "Otto cannot sign in at present" in page
    assert "Another person must confirm it" not in page
    assert confirm(anna).status_code == 303
    assert "Publish when your people are there" in anna.get("/transcript?done=visit").text
    assert programme.status().entries == 1
    assert "alone" in office.log()


def test_a_round_that_was_due_is_not_said_to_come(office: Office, programme: Programme) -> None:
    assert f"Round {programme.status().open_round} is due on" in office.browser("Otto").get("/emergencies").text
    office.clock.tomorrow()
    assert f"Round {programme.status().open_round} was due on" in office.browser("Otto").get("/emergencies").text


def test_an_operator_sees_no_visit_before_it_was_asked_for(office: Office, programme: Programme) -> None:
    otto = office.browser("Otto")
    page = otto.get("/emergencies").text
    assert "Ash Mill" not in page
    assert "Confidential" not in page
    assert confirm(otto).status_code == 422
    assert programme.status().entries == 0


def test_only_a_visit_that_waits_can_be_asked_for_and_only_once(office: Office, programme: Programme) -> None:
    anna = office.browser("Anna")
    for wrong in ({"target": "Cedar Bank", "class": "danger"}, {"target": "Ash Mill", "class": "minor"}, {}):
        answer = anna.post("/emergencies/ask", wrong)
        assert answer.status_code == 422
        assert "Enter the report first" in answer.text
    assert ask(anna).status_code == 303
    assert "asked for before" in ask(anna).text
    assert office.log().count("asked for a visit") == 1
    assert programme.status().entries == 0


def test_a_request_ends(office: Office, programme: Programme) -> None:
    """It is withdrawn, grows old, or the person who made it is disabled."""
    anna, otto = office.browser("Anna"), office.browser("Otto")
    ask(anna)
    assert "Withdraw the request" in anna.get("/emergencies").text
    assert "Refuse the request" in otto.get("/emergencies").text
    assert otto.post("/emergencies/withdraw", VISIT).headers["location"] == "/emergencies?done=refused"
    assert "refused the request of Anna for a visit" in office.log()
    assert "No requests are waiting" in otto.get("/emergencies").text
    assert "no longer there" in confirm(otto).text
    assert "no longer there" in otto.post("/emergencies/withdraw", VISIT).text
    ask(anna)
    office.clock.now += KEPT_FOR
    otto = office.browser("Otto")
    assert confirm(otto).status_code == 422
    office.add("Eve", "auditor")
    ask(office.browser("Eve"))
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, office.people["Eve"].id, True)
    assert "Ash Mill" not in otto.get("/emergencies").text
    assert confirm(otto).status_code == 422
    assert programme.status().entries == 0
    assert ask(office.browser("Anna")).status_code == 303  # in its place
    assert confirm(otto).status_code == 303


def test_a_report_that_is_taken_back_leads_to_no_visit(office: Office) -> None:
    programme, anna = office.begin(classes=CLASSES), office.browser("Anna")
    receipt = receipt_on(anna.enter("Ash Mill", 1, report_class="danger").text)
    ask(anna)
    assert anna.post("/report/withdraw", {"target": "Ash Mill", "receipt": receipt}).status_code == 200
    answer = confirm(office.browser("Otto"))
    assert answer.status_code == 422
    assert "waits for a visit" in answer.text
    assert programme.status().entries == 0


def test_a_person_who_is_alone_confirms_alone_and_the_log_says_so(office: Office, programme: Programme) -> None:
    assert "No other person here" not in office.browser("Anna").get("/emergencies").text
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, office.people["Otto"].id, True)
    anna = office.browser("Anna")
    assert "No other person here can confirm" in anna.get("/emergencies").text
    ask(anna)
    assert "you decide alone" in anna.get("/emergencies").text
    assert programme.waiting_visits() == [("Ash Mill", "danger")]
    assert confirm(anna).status_code == 303
    assert programme.waiting_visits() == []
    assert "alone, since no other person could (entry 1)" in office.log()


def test_the_page_says_by_when_a_visit_is_recorded_in_any_case(office: Office, programme: Programme) -> None:
    assert programme.status().open_round == 1
    for name in ("Anna", "Otto"):
        assert "Round 1 is due on" in text_of(office.browser(name).get("/emergencies"))


def test_without_a_class_that_leads_to_a_visit_there_is_nothing_here(office: Office) -> None:
    office.begin(classes=CLASSES[:2])
    anna = office.browser("Anna")
    assert "Emergencies" not in anna.get("/round").text
    for answer in (anna.get("/emergencies"), ask(anna), confirm(anna)):
        assert answer.headers["location"] == "/round"


def test_after_the_end_there_is_nothing_to_confirm(office: Office, programme: Programme) -> None:
    programme.end("The law changed.")
    page = office.browser("Anna").get("/emergencies").text
    assert "has ended" in page
    assert "Ash Mill" not in page


def test_a_double_click_records_one_visit(
    office: Office, programme: Programme, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second request comes while the first one is being recorded: no report waits any more for one of the two."""
    honest, answers = Programme.visit, list[Any]()
    ask(office.browser("Anna"))
    otto, again = office.browser("Otto"), office.browser("Otto")

    def slow(*args: Any, **options: Any) -> Any:
        if not answers:
            answers.append(None)
            answers.append(confirm(again))
        return honest(*args, **options)

    monkeypatch.setattr(Programme, "visit", slow)
    answers.append(confirm(otto))
    assert sorted(answer.status_code for answer in answers[1:]) == [303, 422]
    assert programme.status().entries == 1


@pytest.mark.parametrize("is_asked", [False, True])
def test_what_every_such_visit_means_is_said_once(office: Office, programme: Programme, is_asked: bool) -> None:
    programme.report({"Birch Works": 1}, report_class="danger")
    anna = office.browser("Anna")
    if is_asked:
        ask(anna)
    page = text_of(anna.get("/emergencies"))
    assert page.count("leads to a visit at once") == 1
    assert page.count("visit to Ash Mill because of a report of class danger") == 1


def test_who_else_can_confirm_is_named(office: Office, programme: Programme) -> None:
    anna = office.browser("Anna")
    assert "Then Otto confirms it." in text_of(anna.get("/emergencies"))
    ask(anna)
    assert "and so can" not in text_of(office.browser("Otto").get("/emergencies"))
    office.add("Eve", "auditor")
    assert "and so can Eve." in text_of(office.browser("Otto").get("/emergencies"))
    assert "and so can Otto." in text_of(office.browser("Eve").get("/emergencies"))
    assert programme.status().entries == 0
