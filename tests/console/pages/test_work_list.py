"""Work list: what waits, what is recorded, and what is refused."""

import re
from datetime import timedelta

import pytest
from tests.console.offices import CLASSES, Office


def test_a_visit_is_recorded(office: Office) -> None:
    programme = office.begin()
    assert "No audit was drawn yet" in office.browser("Otto").get("/work-list").text
    office.clock.tomorrow()
    otto = office.browser("Otto")
    drawn = programme.close_round(1).audits[0]
    page = otto.get("/work-list").text
    day = re.findall(r'max="([^"]+)"', page)[0]
    assert re.findall(r'name="audit" value="([^"]+)"', page) == [f"1 {drawn}"]
    form = {"audit": f"1 {drawn}", "day": day}
    asked = otto.post("/work-list", form).text
    assert f"<bdi>{drawn}</bdi> was visited on" in asked
    assert programme.status().entries == 1
    answer = otto.post("/work-list", {**form, "confirmed": "yes"})
    assert answer.headers["location"] == "/work-list?done=recorded"
    page = otto.get("/work-list?done=recorded").text
    assert "No audit waits" in page
    assert f"The audit of {drawn}, selected in round 1, took place on" in page
    assert "visited on" in otto.get("/transcript").text
    assert "recorded that an audit took place (entry 2)" in office.log()
    for again in (form, {**form, "confirmed": "yes"}):
        assert otto.post("/work-list", again).status_code == 422
    assert programme.status().entries == 2


@pytest.mark.parametrize("day", ["", "soon", "2999-01-01", "2020-01-01"])
def test_a_day_that_cannot_be_is_refused(office: Office, day: str) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    for confirmed in ("", "yes"):
        form = {"audit": f"1 {drawn}", "day": day, "confirmed": confirmed}
        answer = office.browser("Otto").post("/work-list", form)
        assert answer.status_code == 422
        row = answer.text.partition("<tbody")[2]
        assert f"Give the day of the visit to {drawn}: from 5 January 2026 to 6 January 2026." in row
        assert answer.text.count("This did not work") == 1
    assert programme.status().entries == 1


def test_one_of_many_is_found_and_said_not_to_have_taken_place(office: Office) -> None:
    targets = tuple(f"Depot {number}" for number in range(100))
    programme, otto = office.begin(targets=targets), office.browser("Otto")
    programme.override(targets[:60], "A fire.", independent=True)
    page = otto.get("/work-list").text
    assert "60 audits to record" in page
    assert len(re.findall(r'name="audit" value', page)) == 25
    found = otto.post("/work-list/find", {"find": "DEPOT 59"}).text
    assert re.findall(r'name="audit" value="([^"]+)"', found) == ["1 Depot 59"]
    assert "in its name" in otto.post("/work-list/find", {"find": "elsewhere"}).text
    form = otto.post("/round/decisions/not-carried-out", {"audit": "1 Depot 59", "start": "0"}).text
    assert re.findall(r'name="audit" value="([^"]+)" checked', form) == ["1 Depot 59"]
    assert programme.status().entries == 1


def test_a_name_that_is_not_public_yet_is_marked_and_cannot_be_recorded(office: Office) -> None:
    programme = office.begin(reveal_after=1)
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    otto = office.browser("Otto")
    page = otto.get("/work-list").text
    assert drawn in page
    assert "not public yet" in page
    assert "<h1>Nothing to record yet</h1>" in page
    assert "show this name only to the people who go there" in page
    assert "Give the day" not in page
    assert "The public record says that these" not in page
    assert 'name="audit"' not in page
    assert otto.post("/work-list", {"audit": f"1 {drawn}", "day": "2026-01-06"}).status_code == 422
    assert drawn not in office.log()
    office.clock.tomorrow()
    programme.close_round(2)
    otto = office.browser("Otto")
    assert f'name="audit" value="1 {drawn}"' in otto.get("/work-list").text
    programme.end("The law was repealed.")
    assert "not public yet" not in otto.get("/work-list").text


def test_a_target_that_was_selected_again_is_there_once(office: Office) -> None:
    programme = office.begin()
    programme.override(["Ash Mill"], "A fire.", independent=True)
    office.clock.tomorrow()
    programme.skip("A holiday.", independent=True)
    programme.override(["Ash Mill"], "Another fire.", independent=True)
    page = office.browser("Otto").get("/work-list").text
    assert "1 audit to record" in page
    assert "also selected in round 1; one visit is enough<" in page
    office.clock.tomorrow()
    programme.skip("A holiday.", independent=True)
    programme.override(["Ash Mill"], "Once more.", independent=True)
    assert "also selected in rounds 1 and 2; one visit is enough<" in office.browser("Otto").get("/work-list").text
    programme.carried_out(3, "Ash Mill", office.clock().date())
    programme.override(["Ash Mill"], "A third fire.", independent=True)
    assert "also selected in" not in office.browser("Otto").get("/work-list").text


def test_what_has_waited_longest_comes_first(office: Office) -> None:
    """Since its first selection, though the list has it with the latest."""
    programme = office.begin()
    programme.override(["Cedar Bank"], "A fire.", independent=True)
    office.clock.tomorrow()
    programme.skip("A holiday.", independent=True)
    programme.override(["Birch Works", "Ash Mill"], "A flood.", independent=True)
    office.clock.tomorrow()
    programme.skip("A holiday.", independent=True)
    programme.override(["Cedar Bank"], "Another fire.", independent=True)
    otto, names = office.browser("Otto"), ["Cedar Bank", "Ash Mill", "Birch Works"]
    page = otto.get("/work-list").text
    assert re.findall(r'role="rowheader"><bdi>([^<]+)</bdi>', page) == names
    assert [line.split('"')[1] for line in otto.get("/work-list/work-list.csv").text.splitlines()[1:]] == names
    assert otto.get("/round").text.count("<small>first in round 1</small>") == 1


def test_who_sees_it(office: Office) -> None:
    office.begin()
    assert office.browser("Ida").get("/work-list").status_code == 403


def test_a_target_is_found_by_its_number_in_the_register(office: Office) -> None:
    targets = tuple(f"Depot {number}" for number in range(100))
    programme = office.begin(targets=targets, registered=tuple(f"R-{number:03}" for number in range(100)))
    anna = office.browser("Anna")
    page = anna.post("/report/find", {"target": " R-042", "start": "0"}).text
    assert "Depot 42" in page
    assert "Depot 4<" not in page
    page = anna.post("/round/decisions/override", {"find": "R-007", "start": "0"}).text
    assert re.findall(r'name="target" value="([^"]+)"', page) == ["Depot 7"]
    assert programme.status().entries == 0


def test_emergencies_come_first(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.override(["Birch Works"], "A fire.", independent=True)
    office.clock.tomorrow()
    programme.skip("A holiday.", independent=True)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    otto = office.browser("Otto")
    for path in ("/work-list", "/round"):
        page = otto.get(path).text
        assert page.index("Ash Mill") < page.index("Birch Works")
        assert page.count("emergency</span>") == 1
    first, second = otto.get("/work-list/work-list.csv").text.splitlines()[1:]
    assert "Ash Mill" in first
    assert "at once" in first
    assert "at once" not in second


def test_what_is_not_published_is_not_called_public(office: Office) -> None:
    """An office goes first and publishes then, so its list must not say that the public knows of the visit."""
    programme = office.begin(classes=CLASSES)
    programme.override(["Birch Works"], "A fire.", independent=True)
    programme.publish(office.public)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    otto = office.browser("Otto")
    page = otto.get("/work-list").text
    marked = re.findall(
        r"<bdi>([^<]+)</bdi> <a class=\"state warn\" href=\"/transcript\">not published yet: go first", page
    )
    assert marked == ["Ash Mill"]
    assert "The public record says that these" not in page
    emergency, ordered = otto.get("/work-list/work-list.csv").text.splitlines()[1:]
    assert '"visit at once","","not published yet"' in emergency
    assert '"ordered by hand","","yes"' in ordered
    programme.publish()
    page = otto.get("/work-list").text
    assert "not published yet" not in page
    assert "The public record says that these" in page
    assert "not published yet" not in otto.get("/work-list/work-list.csv").text


def test_a_target_that_was_renamed_since_is_marked_as_before(office: Office) -> None:
    """The record has its former name, and the list its present one."""
    programme = office.begin(classes=CLASSES)
    programme.publish(office.public)
    programme.override(["Birch Works"], "A fire.", independent=True)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    for former, name in (("Ash Mill", "Ash Mill North"), ("Birch Works", "Birch Plant"), ("Birch Plant", "Birch Hall")):
        programme.rename_target(former, name, "It changed hands.", independent=True)
    otto = office.browser("Otto")
    page = otto.get("/work-list").text
    marked = re.findall(r"<bdi>([^<]+)</bdi> <a class=\"state warn\" href=\"/transcript\">not published yet", page)
    assert marked == ["Ash Mill North", "Birch Hall"]
    assert "visit at once" in page
    assert "ordered by hand" in page
    assert "The public record says that these" not in page
    assert "visit at once" in otto.get("/round").text
    emergency, ordered = otto.get("/work-list/work-list.csv").text.splitlines()[1:]
    assert '"visit at once","","not published yet"' in emergency
    assert '"ordered by hand","","not published yet"' in ordered
    programme.publish()
    assert "not published yet" not in otto.get("/work-list").text
    programme.report({"Cedar Bank": 1}, report_class="danger")
    office.clock.tomorrow()
    otto = office.browser("Otto")
    assert "Cedar Bank" in otto.post("/round/close", {"round": "1"}).text
    named = {"Ash Mill North", "Cedar Bank", *programme.closed_round(1).audits}
    for former in named:
        programme.rename_target(former, f"New {former}", "It changed hands.", independent=True)
    again = {*re.findall("<bdi>([^<]+)</bdi>", otto.post("/round/close", {"round": "1"}).text)}
    assert {f"New {former}" for former in named} <= again
    assert not {"Ash Mill", *named} & again


def test_a_name_is_public_once_the_entry_with_it_is_published(office: Office) -> None:
    programme = office.begin(reveal_after=1)
    for _ in range(2):
        programme.publish(office.public)  # the draw of round 1, and not its name
        office.clock.tomorrow()
        programme.close_round()
    otto = office.browser("Otto")
    assert '"1","2026-01-06","draw","","not published yet"' in otto.get("/work-list/work-list.csv").text
    programme.publish()
    assert '"1","2026-01-06","draw","","yes"' in otto.get("/work-list/work-list.csv").text


def test_an_emergency_is_due_at_once(office: Office) -> None:
    programme = office.begin(classes=CLASSES, reveal_after=1)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    page = office.browser("Otto").get("/work-list").text
    assert "emergency</span>" in page
    assert "at once</td>" in page
    assert "Confidential" not in page
    office.clock.tomorrow()
    programme.close_round()
    otto = office.browser("Otto")
    page = otto.get("/work-list").text
    assert page.count("at once</td>") == 1
    assert "Confidential" in page
    assert "Confidential" in otto.get("/round").text


def test_an_order_by_hand_is_marked(office: Office) -> None:
    programme = office.begin()
    office.clock.now += timedelta(days=1)
    programme.close_round()
    for page in ("/work-list", "/round"):
        assert "ordered by hand</td>" not in office.browser("Otto").get(page).text
    programme.override(["Ash Mill"], "A fire.", independent=True)
    for page in ("/work-list", "/round"):
        assert "Round 2, ordered by hand" in office.browser("Otto").get(page).text


def test_one_sentence_comes_before_the_list(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    otto = office.browser("Otto")
    otto.post("/round/close", {"round": "1"})
    before, _, after = otto.get("/work-list").text.partition("</h1>")[2].partition("<table")
    assert re.findall(r"<p[ >].*?</p>", before) == [
        '<p class="lead">Give the day of each visit, or say that it did not take place.</p>'
    ]
    assert "choose the day by a rule that has nothing to do with reports" in after.partition("<details")[0]
    assert "What is on this list" in after


def test_after_the_end_there_is_no_form(office: Office) -> None:
    programme = office.begin()
    programme.override(["Ash Mill", "Cedar Bank"], "A fire.", independent=True)
    programme.end("As announced.")
    page = office.browser("Otto").get("/work-list").text
    assert "<h1>The programme has ended</h1>" in page
    assert "does not say whether these 2 audits" in page
    assert "Ash Mill" in page
    assert 'action="/work-list"' not in page
    assert "Record the visit" not in page


def test_an_emergency_of_an_earlier_round_is_told_beside_the_later_one(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    office.clock.tomorrow()
    programme.skip("A holiday.", independent=True)
    programme.override(["Ash Mill"], "A fire.", independent=True)
    otto = office.browser("Otto")
    page = otto.get("/work-list").text
    assert "Round 2, ordered by hand" in page
    assert "also an emergency in round 1, not recorded yet" in page
    assert "also selected in" not in page
    for path in ("/work-list", "/round"):
        assert "Round 2, visit at once" not in otto.get(path).text


def test_in_one_round_an_emergency_goes_before_an_order_wherever_it_is_told(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    programme.override(["Ash Mill"], "A fire.", independent=True)
    otto = office.browser("Otto")
    for path in ("/work-list", "/round"):
        page = otto.get(path).text
        assert "Round 1, visit at once" in page
        assert "ordered by hand</td>" not in page
    assert '"visit at once"' in otto.get("/work-list/work-list.csv").text
