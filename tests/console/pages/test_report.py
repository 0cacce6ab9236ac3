"""Reports are entered by number, and taken back with their receipt."""

import re
from concurrent.futures import Future
from functools import partial
from html import unescape
from typing import Any

import pytest
from tests.console.offices import CLASSES, Browser, Office, fallen_behind, form_on, receipt_on

from deniable.console.accounts import people
from deniable.console.pages.report import ASKED_BACK
from deniable.console.target_search import FEW
from deniable.programme import intake
from deniable.programme.buffer import Slots
from deniable.programme.ticker import Ticker


def test_a_programme_whose_names_are_formulas_is_published_as_text(office: Office) -> None:
    """No public file is one that a spreadsheet would run, and the page shows them as they are."""
    programme = office.begin(targets=("=1+1", "@SUM(A1)", '<img src="//evil">'))
    page = office.browser("Ida").get("/report").text
    assert "<img" not in page
    assert "=1+1" in page
    assert programme.parameters.targets[0] == "=1+1"


def test_reports_are_entered_and_corrected(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Anna")
    answer = browser.enter("Ash Mill", 3)
    assert answer.status_code == 200
    assert said(answer.text) == "Entered: 3 reports about Ash Mill."
    assert said(browser.enter("Ash Mill", 1).text) == "Entered: 1 report about Ash Mill."
    withdrawn = withdraw(browser, "Ash Mill", receipt_on(answer.text).lower())
    assert withdrawn.status_code == 200
    first = withdrawn.text.partition('id="enter-title"')[0]  # what the browser shows first
    assert "reports about <bdi>Ash Mill</bdi> that were entered with this receipt are taken back" in first
    assert programme.active_counts()["Ash Mill"] == 1
    assert withdraw(browser, "Ash Mill", receipt_on(answer.text)).status_code == 422
    assert programme.active_counts()["Ash Mill"] == 1


def test_an_old_database_is_told_as_soon_as_a_page_was_refused(office: Office) -> None:
    """Until the office goes on from it."""
    programme, told = fallen_behind(office), "Keep the reports that come in, and enter them afterwards."
    ida = office.browser("Ida")
    assert ida.enter("Ash Mill", 1).status_code == 422
    for path in ("/report", "/import"):
        page = ida.get(path).text
        assert told in page
        assert "Reports still count" not in page
        assert "Reports that you enter now count" not in page
    programme.recover(office.database.with_name("public"), "The disk broke.")
    assert ida.enter("Ash Mill", 1).status_code == 200
    assert all(told not in ida.get(path).text for path in ("/report", "/import"))


def test_what_a_person_enters_waits_in_places_of_their_own(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise who enters much would see, by how long it takes, that another person enters a report."""
    owners = list[str]()

    class Watched(Ticker):
        def submit(self, brought: Slots, owner: str = "") -> "Future[None]":
            owners.append(owner)
            return super().submit(brought, owner)

    monkeypatch.setattr(intake, "Ticker", partial(Watched, every=0.01))
    office.begin()
    office.console.start()
    for name in ("Ida", "Anna"):
        assert office.browser(name).enter("Ash Mill", 1).status_code == 200
    programme = office.console.programme()
    assert programme is not None
    programme.close()
    assert owners == [office.people["Ida"].id, office.people["Anna"].id]


def test_a_take_back_that_is_refused_keeps_what_was_typed_beside_the_message(office: Office) -> None:
    office.begin()
    answer = withdraw(office.browser("Anna"), "Cedar Bank", "AAAA-BBBB-CCCC-DDDD").text
    form = answer[answer.index('action="/report/withdraw"') :]
    assert re.search(r'id="error" tabindex="-1" autofocus><p><strong>This did not work', form), "the browser goes there"
    assert 'value="AAAA-BBBB-CCCC-DDDD"' in form
    assert "<option selected>Cedar Bank</option>" in form


def test_a_number_above_what_can_count_is_asked_about_once_more(office: Office) -> None:
    programme, ida = office.begin(most_counted=5), office.browser("Ida")
    typed = {"target": "Ash Mill", "number": "500", "form_id": form_on(ida.get("/report").text)}
    asked = ida.post("/report", typed).text
    assert said(asked).startswith("You typed 500 reports about Ash Mill. Is this number right?")
    assert "At most 5 of them count; the others count in no round." in asked
    assert "receipt down" not in asked
    assert sum(programme.active_counts().values()) == 0
    sent = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', asked.split("</form>")[1]))
    assert typed.items() <= sent.items()
    assert said(ida.post("/report", sent | {"number": "501"}).text).startswith("You typed 501")
    assert sum(programme.active_counts().values()) == 0
    answers = [ida.post("/report", sent).text for _ in range(2)]
    assert [said(answer) for answer in answers] == ["Entered: 500 reports about Ash Mill."] * 2
    assert "Counted" not in answers[0]
    assert programme.active_counts()["Ash Mill"] == 5


@pytest.mark.parametrize(
    ("most", "number", "is_asked"),
    [(5, 5, False), (5, 6, True), (None, 20, False), (None, 21, True), (50, 50, False), (50, 51, True)],
)
def test_which_numbers_are_asked_about(office: Office, most: int | None, number: int, is_asked: bool) -> None:
    """Whatever else was reported."""
    programme, ida = office.begin(most_counted=most), office.browser("Ida")
    for _ in range(2):
        typed = {"target": "Ash Mill", "number": str(number), "form_id": form_on(ida.get("/report").text)}
        assert said(ida.post("/report", typed).text).startswith("You typed") == is_asked
        programme.report({"Ash Mill": 900})


@pytest.mark.parametrize(
    ("number", "report_class", "kept", "checked"),
    [
        ("500", "serious", "500", "serious"),
        ("1.5", "serious", "", "serious"),
        ("3", "", "3", ""),
        ("2", "danger", "2", "danger"),
    ],
)
def test_a_form_that_is_refused_or_asked_about_keeps_what_was_typed(
    office: Office, number: str, report_class: str, kept: str, checked: str
) -> None:
    office.begin(classes=CLASSES)
    ida = office.browser("Ida")
    typed = {"target": "Cedar Bank", "number": number, "class": report_class}
    page = ida.post("/report", typed | {"form_id": form_on(ida.get("/report").text)}).text
    form = page[page.index('id="enter-title"') :]
    assert "<option selected>Cedar Bank</option>" in form
    assert f'max="10000" value="{kept}"' in form
    assert re.findall(r'name="class" value="(\w+)" checked', form) == ([checked] if checked else [])


def test_a_form_of_many_targets_keeps_what_was_typed(office: Office) -> None:
    office.begin(targets=MANY, classes=CLASSES)
    ida = office.browser("Ida")
    typed = {"target": "Depot 7", "number": "500", "class": "minor", "form_id": form_on(ida.get("/report").text)}
    assert 'type="search" value="Depot 7"' in ida.post("/report", typed).text
    found = looked_for(ida, "Depot 7", number="4", **{"class": "serious"})
    assert 'max="10000" value="4"' in found
    assert 'value="serious" checked' in found


def test_a_report_that_leads_to_a_visit_is_asked_about_once_more(office: Office) -> None:
    programme, ida = office.begin(classes=CLASSES), office.browser("Ida")
    typed = {"target": "Ash Mill", "number": "1", "class": "danger", "form_id": form_on(ida.get("/report").text)}
    asked = ida.post("/report", typed).text
    assert said(asked) == (
        "You typed 1 report about Ash Mill, of class danger. Is this class right? Nothing is entered yet."
    )
    assert "ask an auditor before you enter the report: <bdi>Anna</bdi>" in asked
    assert "Enter 1 report of class danger" in asked
    assert programme.waiting_visits() == []
    sent = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', asked.split("</form>")[1]))
    assert said(ida.post("/report", sent).text) == "Entered: 1 report about Ash Mill, of class danger."
    assert programme.waiting_visits() == [("Ash Mill", "danger")]


def said(page: str) -> str:
    """The sentence that says what was entered, or asks about it."""
    found = re.search(r'<p class="entered">(.*?)</p>', page)
    assert found is not None
    return unescape(re.sub("<[^>]*>", "", found[1]))


@pytest.mark.parametrize("name", ["Ida", "Anna"])
def test_the_page_names_who_can_take_reports_back(office: Office, name: str) -> None:
    office.begin()
    office.add("Berta", "auditor")
    browser = office.browser(name)
    assert ("Take back" in browser.get("/report").text) == (name == "Anna")
    answer = browser.enter("Ash Mill", 3).text
    assert "Anna</bdi>; <bdi>Berta" in answer or name == "Anna"
    with office.console.store.writing() as connection:
        for one in ("id-Anna", "id-Berta"):
            people.set_disabled(connection, office.console.key, one, True)
    if name == "Ida":
        assert "there is none at present" in browser.get("/report").text


def test_a_take_back_is_in_the_log_for_those_who_may_see_counts(office: Office) -> None:
    """Without a number or a target. The administrator does not learn that there is a line, nor its place."""
    office.begin()
    anna, ada = office.browser("Anna"), office.browser("Ada")
    receipt = receipt_on(office.browser("Ida").enter("Ash Mill", 9731).text)
    before = ada.get("/activity").text, ada.post("/activity/find", {"who": "Anna"}).text
    assert str(ASKED_BACK) not in anna.get("/activity").text
    assert withdraw(anna, "Ash Mill", "AAAA-BBBB-CCCC-DDDD").status_code == 422
    refused = anna.get("/activity").text
    assert str(ASKED_BACK) in refused
    assert withdraw(anna, "Ash Mill", receipt).status_code == 200
    assert anna.get("/activity").text == refused  # once a day, whatever came of it
    assert (ada.get("/activity").text, ada.post("/activity/find", {"who": "Anna"}).text) == before
    log = anna.get("/activity").text
    assert str(ASKED_BACK) in log
    assert str(ASKED_BACK) in anna.post("/activity/find", {"who": "Anna"}).text
    for trace in ("Ash Mill", "9731", receipt):
        assert trace not in log


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
    """With the browser's Back, say; otherwise the page would say "Entered" of what is not."""
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
    assert withdraw(eve, "Ash Mill", stolen).status_code == 200
    receipt = receipt_on(ida.enter("Ash Mill", 3, form).text)
    assert programme.active_counts()["Ash Mill"] == 3
    assert withdraw(eve, "Ash Mill", stolen).status_code == 422
    assert withdraw(eve, "Ash Mill", receipt).status_code == 200


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
        assert withdraw(anna, "Ash Mill", receipt).status_code == 200
    before = programme.active_counts()["Ash Mill"]
    ida.enter("Ash Mill", 2)
    assert withdraw(anna, "Ash Mill", receipt).status_code == (200 if end == "nothing" else 422)
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


MANY = tuple(f"Depot {number}" for number in range(1000))


def looked_for(browser: Browser, part: str, **fields: str) -> str:
    answer = browser.post("/report/find", {"target": part, **fields})
    assert answer.status_code == 200
    page: str = answer.text
    return page


def test_of_many_targets_a_page_shows_those_that_are_looked_for(office: Office) -> None:
    programme, ida = office.begin(targets=MANY), office.browser("Ida")
    page = ida.get("/report").text
    assert "Depot" not in page
    assert len(page) < 10_000
    page = looked_for(ida, "DEPOT 77")
    assert re.findall(r'type="radio" name="target" value="([^"]+)"', page) == ["Depot 77", *MANY[770:780]]
    answer = ida.enter("Depot 775", 2, form_on(page))
    assert "2 reports about" in answer.text
    assert programme.active_counts()["Depot 775"] == 2


def test_one_may_type_the_whole_name(office: Office) -> None:
    programme, anna = office.begin(targets=MANY), office.browser("Anna")
    receipt = receipt_on(anna.enter("depot 7", 3).text)
    assert programme.active_counts()["Depot 7"] == 3
    assert withdraw(anna, "Depot 7", receipt).status_code == 200
    assert anna.enter("Depot", 3).status_code == 422
    assert sum(programme.active_counts().values()) == 0


def test_what_is_found_has_pages(office: Office) -> None:
    office.begin(targets=MANY)
    ida = office.browser("Ida")
    first = looked_for(ida, "depot")
    later = re.search(r'name="start" value="(\d+)"[^>]*>Next page', first)
    assert later is not None
    second = looked_for(ida, "depot", start=later[1])
    assert "Depot 20<" in second
    assert "Depot 19<" not in second
    assert "Previous page" in second
    assert "in its name" in looked_for(ida, "<script>")
    assert "<script>" not in looked_for(ida, "<script>")


def test_no_address_tells_what_is_looked_for(office: Office) -> None:
    office.begin(targets=MANY)
    page = looked_for(office.browser("Ida"), "Depot 12")
    assert not re.findall(r'(?:action|href)="[^"]*(?:Depot|\?)', page)
    assert 'method="get"' not in page


@pytest.mark.parametrize("start", ["-1", "x", "9" * 30, "1000", "999"])
def test_a_page_that_there_is_not(office: Office, start: str) -> None:
    office.begin(targets=MANY)
    assert looked_for(office.browser("Ida"), "depot", start=start)


def test_few_targets_are_listed(office: Office) -> None:
    office.begin()
    page = office.browser("Ida").get("/report").text
    assert page.count("<option>") == 4
    assert 'type="search"' not in page


def test_a_report_has_one_of_the_classes(office: Office) -> None:
    programme, ida = office.begin(classes=CLASSES), office.browser("Ida")
    page = ida.get("/report").text
    explained = (
        "<strong>minor</strong> A report counts once in the draw",
        "<strong>serious</strong> A report counts 3 times in the draw",
        "<strong>danger</strong> A report leads to a visit at once, without a draw",
    )
    places = [page.index(one) for one in explained]
    assert places == sorted(places)
    for wrong in ("", "Minor", "none"):
        refused = ida.enter("Ash Mill", 1, report_class=wrong)
        assert refused.status_code == 422
        assert "Choose the class" in refused.text
    form = form_on(page)
    assert said(ida.enter("Ash Mill", 1, form, "minor").text) == "Entered: 1 report about Ash Mill, of class minor."
    receipts = [receipt_on(ida.enter("Ash Mill", 1, form, one).text) for one in ("minor", "serious", "serious")]
    assert len(set(receipts)) == 2  # the same form with another class counts again, and with the same class once
    assert programme.active_counts()["Ash Mill"] == 4
    assert withdraw(office.browser("Anna"), "Ash Mill", receipts[1]).status_code == 200
    assert programme.active_counts()["Ash Mill"] == 1


def test_what_the_record_will_show_is_told_before_a_report_leads_to_a_visit(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    page = office.browser("Ida").get("/report").text
    programme.report({"Ash Mill": 1}, report_class="danger")
    entry = programme.visit("Ash Mill", "danger")
    say = programme.parameters.voice()
    assert entry.effect(programme.parameters.calendar, say) in page
    assert entry.deed(say).replace("Ash Mill", "the target") in page
    assert "not protected" in page
    assert "from the next publication on" in page


def test_while_reports_are_not_protected_the_page_says_whether_to_enter_them(office: Office) -> None:
    programme, ida = office.begin(), office.browser("Ida")
    assert "Enter reports as usual" not in ida.get("/report").text
    programme.override(["Ash Mill"], "A fire.", independent=False)
    assert "Enter reports as usual" in ida.get("/report").text


def test_where_there_is_one_class_nobody_chooses(office: Office) -> None:
    programme, ida = office.begin(), office.browser("Ida")
    page = ida.get("/report").text
    assert "lass of the report" not in page
    assert "in the draw" not in page
    assert "a visit" not in page
    assert ida.enter("Ash Mill", 1, report_class="anything").status_code == 200
    assert programme.active_counts()["Ash Mill"] == 1


def test_who_enters_a_danger_is_told_to_call_an_auditor_in_an_answer_of_the_same_length(office: Office) -> None:
    office.begin(classes=CLASSES)
    ida = office.browser("Ida")
    sent = {"target": "Ash Mill", "number": "1", "confirmed": "1"}
    answers = [ida.post("/report", {**sent, "form_id": str(at) * 22, "class": name}).text
               for at, name in enumerate(("danger", "minor"))]  # fmt: skip
    assert [answer.count('<div class="at-once">') for answer in answers] == [1, 0]
    assert "at once: <bdi>Anna</bdi>" in answers[0]
    assert len({len(answer.encode()) for answer in answers}) == 1


def test_an_overdue_round_still_counts(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    assert "Round 1 is overdue and still open" in office.browser("Ida").get("/report").text


def test_a_name_that_no_target_has_is_to_be_looked_for(office: Office) -> None:
    """It is not repeated in the message: the form keeps it, in a page that is as long whatever was typed."""
    office.begin(targets=[f"Farm {number}" for number in range(FEW + 1)])
    ida = office.browser("Ida")
    answers = [ida.enter(name, 1) for name in ("Frm 7", "A farm that is called otherwise")]
    for answer in answers:
        assert answer.status_code == 422
        assert "No target has exactly this name. Search for it" in answer.text
    assert len({len(answer.text) for answer in answers}) == 1


@pytest.mark.parametrize(
    ("name", "told"), [("Ida", "tell an auditor: <bdi>Anna</bdi>"), ("Anna", "join the programme")]
)
def test_what_to_do_about_a_name_that_is_not_found(office: Office, name: str, told: str) -> None:
    office.begin(targets=[f"Farm {number}" for number in range(FEW + 1)])
    assert told in office.browser(name).post("/report/find", {"target": "zzz"}).text


def test_what_is_found_among_a_few_is_chosen_once(office: Office) -> None:
    office.begin()
    page = looked_for(office.browser("Ida"), "mill")
    assert page.count('name="target" value="Ash Mill"') == 1
    assert "<select" not in page
