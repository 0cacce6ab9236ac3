"""Decisions by hand: what they do is shown first, and then they are recorded. Orders have a file of their own."""

import re
from html import unescape
from typing import Any

import pytest
from tests.console.offices import Office

from deniable.console.accounts import people
from deniable.programme.foresight import Foresight
from deniable.programme.programme import Programme
from deniable.programme.transcript_copies import KeyCopy


def test_a_decision_that_is_recorded_and_not_kept_is_not_asked_for_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    otto.get("/round")
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    said = {"target": "Ash Mill", "new_name": "Ash Works", "reason": "Sold in March.", "independent": "yes"}
    answer = otto.decide("rename", said)
    assert answer.headers["location"] == "/transcript?done=decided"
    page = otto.get("/transcript?done=decided").text
    assert "The decision is recorded" in page
    assert "cannot be shown yet" in page
    assert programme.status().entries == 1
    assert "renamed a target (entry 1)" in office.log()


def test_the_log_names_the_entry_of_a_decision_that_is_not_kept_and_no_later_one(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process records one before the console looks again."""
    programme, otto, honest = office.begin(), office.browser("Otto"), Programme.decide

    def then_another(own: Programme, foreseen: Any) -> Any:
        works = iter([True])
        try:
            with monkeypatch.context() as patched:
                patched.setattr(KeyCopy, "write", lambda *_: next(works, False))
                return honest(own, foreseen)
        finally:
            own.override(["Birch Works"], "A storm.", independent=True)

    monkeypatch.setattr(Programme, "decide", then_another)
    said = {"target": "Ash Mill", "new_name": "Ash Works", "reason": "Sold in March.", "independent": "yes"}
    assert otto.decide("rename", said).status_code == 303
    assert programme.status().entries == 2
    assert "renamed a target (entry 1)" in office.log()


def test_the_log_names_the_entry_of_a_skip_that_is_not_kept(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of the round before follow it at once."""
    programme = office.begin(reveal_after=1)
    office.clock.tomorrow()
    programme.close_round()
    office.clock.tomorrow()
    otto = office.browser("Otto")
    otto.get("/round")
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    assert otto.decide("skip", {"round": "2", "reason": "Snow.", "independent": "yes"}).status_code == 303
    assert programme.status().entries == 3
    assert "(entry 2)" in office.log()


DECISIONS: list[tuple[str, dict[str, Any], str]] = [
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
    said = {"reason": "A fire in the news.", "independent": independent, **data}
    shown = browser.post(f"/round/decisions/{kind}", said)
    assert shown.status_code == 200
    assert programme.status().entries == 0
    answer = browser.decide(kind, said)
    if independent == "no":  # which a second person confirms
        assert programme.status().entries == 0
        answer = office.browser("Anna").confirm_decision()
    assert answer.headers["location"] == "/transcript?done=decided"
    effect = office.console.public_records.current(programme.parameters).events[0].effect
    assert effect in unescape(shown.text)  # in advance, and word for word
    page = browser.get("/transcript").text
    assert told in page
    assert "A fire in the news." in page
    # Round 1 is due, so by the calendar it is round 2.
    assert programme.status().coverage.holds_from == (1 if independent == "yes" else 3)
    assert "(entry 1)" in office.log()


@pytest.mark.parametrize("kind", ["override", "rename"])
@pytest.mark.parametrize("confirmed", ["", "1-1", "2-3", "yes"])
def test_a_decision_because_of_reports_is_confirmed_with_its_dates_in_sight(
    office: Office, kind: str, confirmed: str
) -> None:
    programme = office.begin()
    office.clock.tomorrow()  # round 1 is due, so by the calendar it is round 2
    said = {"target": "Ash Mill", "new_name": "Ash", "reason": "A hint.", "independent": "no", "confirmed": confirmed}
    otto = office.browser("Otto")
    page = otto.post(f"/round/decisions/{kind}", said).text
    for words in (
        "Ash Mill",
        "5 January 2026",  # the first day of a report that loses the promise
        "7 January 2026",  # from which it holds again
        "4 targets",
        'name="confirmed" value="1-2"',
        'name="reason" value="A hint."',
        "This is because you answered that a report led to the decision, or may have.",
    ):
        assert words in page
    assert ("new round has begun" in page) == bool(confirmed)
    assert programme.status().entries == 0
    independent = otto.post(f"/round/decisions/{kind}", {**said, "independent": "yes"}).text
    assert "This is because you answered" not in independent
    programme.skip("Snow.", independent=False)
    assert "promise stays lost for reports filed before" in otto.post(f"/round/decisions/{kind}", said).text


@pytest.mark.parametrize("kind", ["rename", "override"])
def test_a_decision_is_confirmed_for_the_round_that_was_shown(office: Office, kind: str) -> None:
    """One that has nothing to do with reports, too: two rounds are overdue, and one is closed meanwhile."""
    programme = office.begin()
    office.clock.tomorrow()
    office.clock.tomorrow()
    otto = office.browser("Otto")
    said = {"target": "Ash Mill", "new_name": "Ash", "reason": "A letter.", "independent": "yes"}
    assert 'name="confirmed" value="1-3"' in otto.post(f"/round/decisions/{kind}", said).text
    programme.skip("Snow.", independent=True)
    page = otto.post(f"/round/decisions/{kind}", {**said, "confirmed": "1-3"}).text
    assert "new round has begun" in page
    assert 'name="confirmed" value="2-3"' in page
    assert programme.status().entries == 1
    assert not office.console.pending_decisions.all()
    assert otto.post(f"/round/decisions/{kind}", {**said, "confirmed": "2-3"}).status_code == 303


NOT_PROTECTED = re.compile(
    r"does not cover reports filed before <time[^>]*>\w+ 6 January 2026, 00:00 \(UTC time\)</time>"
)


@pytest.mark.parametrize("independent", [True, False])
def test_a_lost_promise_stands_above_the_pages_until_it_holds_again(office: Office, independent: bool) -> None:
    """Also where importers and administrators read it; and previews no longer say that it holds as before."""
    programme = office.begin()
    programme.override(["Birch Works"], "A hint.", independent=independent)
    pages = [("Otto", "/round"), ("Anna", "/round"), ("Ida", "/report"), ("Ada", "/health"), ("Anna", "/plan")]
    for name, page in pages:
        assert bool(NOT_PROTECTED.search(office.browser(name).get(page).text)) is not independent
    health = office.browser("Ada").get("/health").text
    assert f"{2 if independent else 3} things need attention" in health  # no backup, nothing published, and this
    said = {"target": "Ash Mill", "reason": "A fire.", "independent": "yes"}
    preview = office.browser("Otto").post("/round/decisions/override", said).text
    assert ("holds as before" in preview) is independent
    assert ("stays lost for reports filed before" in preview) is not independent
    office.clock.tomorrow()
    for name, page in pages:
        assert not NOT_PROTECTED.search(office.browser(name).get(page).text)


def test_a_person_who_looked_at_counts_is_told_so_when_they_decide(office: Office) -> None:
    """They alone: what Anna looked at is in the log, and no matter of Otto's form."""
    office.begin()
    anna, path = office.browser("Anna"), "/round/decisions/override"
    assert "can no longer honestly say" in anna.get("/round").text
    assert "You looked at counts" not in anna.get(path).text
    anna.counts()
    assert "You looked at counts on" in anna.get(path).text
    assert "5 January 2026" in anna.get(path).text
    assert "You looked at counts" not in office.browser("Otto").get(path).text


def test_who_never_looked_at_counts_can_decide_instead(office: Office) -> None:
    office.begin().override(["Ash Mill"], "A fire.", independent=True)
    office.add("Axel", "auditor")
    anna = office.browser("Anna")
    office.browser("Axel").counts()
    anna.counts()
    paths = [f"/round/decisions/{kind}" for kind in ("override", "not-carried-out")]
    assert all(" <bdi>Otto</bdi> " in anna.get(path).text for path in paths)
    assert all("One of these people" not in anna.get(path).text for path in paths)
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, "id-Otto", True)
    assert all(" this have looked at them." in anna.get(path).text for path in paths)


def test_what_is_asked_of_a_visit_that_did_not_take_place(office: Office) -> None:
    """The clerk decided nothing, and came from the work list."""
    office.begin().override(["Ash Mill"], "A fire.", independent=True)
    otto, path = office.browser("Otto"), "/round/decisions/not-carried-out"
    for page in (otto.get(path), otto.post(path, {"audit": "1 Ash Mill", "reason": "Flooded."})):
        assert "Did you stay away because of a report?" in page.text
        assert "this decision" not in page.text
        assert '<a href="/work-list" aria-current="page">' in page.text
        assert page.text.count('aria-current="page"') == 1


def test_the_form_says_until_when_the_promise_would_be_lost(office: Office) -> None:
    office.begin()
    form = office.browser("Otto").get("/round/decisions/override").text
    assert "filed so far and until the next due date, Tuesday 6 January 2026" in form


@pytest.mark.parametrize(
    ("changes", "read"),
    [
        ({"added": "Elm"}, "Elm joined."),
        ({"target": "Ash Mill"}, "Ash Mill left."),
        ({"added": "Elm", "target": "Ash Mill"}, "Elm joined; Ash Mill left."),
    ],
)
def test_the_page_says_what_the_public_will_read_of_who_joins_and_leaves(
    office: Office, changes: dict[str, str], read: str
) -> None:
    office.begin()
    said = {"reason": "A fire.", "independent": "yes", **changes}
    page = office.browser("Otto").post("/round/decisions/targets", said).text
    assert f"<q>Round 1: {read}" in page.replace("<bdi>", "").replace("</bdi>", "")


def test_what_the_public_will_read_of_a_skipped_round_is_a_sentence_of_its_own(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    otto = office.browser("Otto")
    otto.client.cookies.set("language", "fr")
    page = otto.post("/round/decisions/skip", {"round": "1", "reason": "Neige.", "independent": "yes"}).text
    assert "<q>Cycle 1. Le cycle a été sauté" in page


def test_a_name_that_stands_twice_among_the_new_ones_is_said(office: Office) -> None:
    office.begin()
    said = {"added": "Elm\nElm", "reason": "A fire.", "independent": "yes"}
    page = office.browser("Otto").post("/round/decisions/targets", said).text
    assert "The list of new names has a name twice; write each name once." in page


def test_what_was_typed_can_be_changed_before_it_is_confirmed(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    said = {"target": "Ash Mill", "added": "Elm\r\nFir", "reason": "A fire.", "independent": "yes"}
    page = otto.post("/round/decisions/targets", said).text
    kept = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    form = otto.post("/round/decisions/targets", {**kept, "change": "yes"}).text
    assert ticked(form) == ["Ash Mill"]
    assert "Elm\nFir" in form.replace("\r", "")
    assert 'value="A fire."' in form
    assert programme.status().entries == 0
    assert otto.post("/round/decisions/targets", kept).status_code == 303
    assert programme.targets() == ("Birch Works", "Cedar Bank", "Dogwood Clinic", "Elm", "Fir")


@pytest.mark.parametrize(("kind", "data", "_"), DECISIONS)
def test_a_decision_without_a_declaration_is_refused_and_the_form_stays_filled(
    office: Office, kind: str, data: dict[str, Any], _: str
) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    answer = office.browser("Otto").post(f"/round/decisions/{kind}", {"reason": "A fire.", **data})
    assert answer.status_code == 422
    assert "connected with any report" in answer.text
    assert 'value="A fire."' in answer.text
    assert programme.status().entries == 0


def test_an_audit_that_was_not_carried_out(office: Office) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    browser = office.browser("Otto")
    assert f'value="1 {drawn}"' in browser.get("/round/decisions/not-carried-out").text
    said = {"audit": f"1 {drawn}", "reason": "Snow.", "independent": "yes"}
    assert browser.decide("not-carried-out", said).status_code == 303
    assert f'value="1 {drawn}"' not in browser.get("/round/decisions/not-carried-out").text
    again = browser.decide("not-carried-out", said)
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
    otto = office.browser("Otto")
    assert otto.get("/round/decisions/skip").headers["location"] == "/round"
    early = otto.post("/round/decisions/skip", {"round": "1", "reason": "A fire.", "independent": "yes"})
    assert early.status_code == 422
    assert "not before" in early.text


def test_two_requests_at_once_skip_one_round(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds are overdue, and both requests have read that the first of them is open."""
    programme = office.begin()
    office.clock.tomorrow()
    office.clock.tomorrow()
    otto, foreseen = office.browser("Otto"), Foresight.decision

    def while_another_skips(own: Foresight, *args: Any, **fields: Any) -> Any:
        entry = foreseen(own, *args, **fields)
        programme.skip("Snow.", independent=True)
        return entry

    monkeypatch.setattr(Foresight, "decision", while_another_skips)
    said = {"round": "1", "reason": "Snow.", "independent": "yes", "confirmed": "1-3"}
    answer = otto.post("/round/decisions/skip", said)
    assert answer.status_code == 422
    assert "This round is closed already" in answer.text
    assert programme.status().open_round == 2


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
    assert otto.decide(kind, {**said, "target": chosen}).status_code == 303
    if kind == "override":
        assert office.browser("Anna").confirm_decision().status_code == 303
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
    assert otto.decide("not-carried-out", said).status_code == 303


def test_a_person_who_comes_from_the_work_list_sees_the_audit_that_they_chose(office: Office) -> None:
    programme, otto = office.begin(targets=MANY), office.browser("Otto")
    programme.override(MANY[:30], "A fire.", independent=True)
    path, chosen = "/round/decisions/not-carried-out", {"audit": "1 Depot 15", "start": "0"}
    page = otto.post(path, chosen).text
    assert re.findall(r'name="audit" value="([^"]+)" checked', page) == ["1 Depot 15"]
    assert page.count('name="audit"') == 1
    assert 'name="find"' not in page
    searched = otto.post(path, chosen | {"find": "Depot 2"}).text
    assert searched.count('name="audit"') > 1


def test_one_target_that_joins_or_leaves_is_named(office: Office) -> None:
    office.begin()
    otto = office.browser("Otto")
    form = {"reason": "As announced.", "independent": "yes"}
    answer = otto.post("/round/decisions/targets", {**form, "added": "Nettle Works"}).text
    assert "Let <bdi>Nettle Works</bdi> join from round 1 on?" in answer
    assert "Ash Mill takes part already" in otto.post("/round/decisions/targets", {**form, "added": "Ash Mill"}).text
    assert "is a file of reports" in otto.post("/round/decisions/targets", {**form, "added": "Elm,2\nFir,1"}).text


def test_the_preview_speaks_of_one_audit_or_of_several(office: Office) -> None:
    office.begin()
    otto = office.browser("Otto")
    form = {"reason": "As announced.", "independent": "yes"}
    one = otto.post("/round/decisions/override", {**form, "target": "Ash Mill"}).text
    assert "The reports about the target that count" in one
    two = otto.post("/round/decisions/override", {**form, "target": ["Ash Mill", "Birch Works"]}).text
    assert "Order audits of 2 targets outside the draw?" in two
    assert "The reports about these targets that count" in two
