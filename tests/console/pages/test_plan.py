import dataclasses
import html
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.console.offices import CLASSES, Browser, Office, recovered
from tests.languages.pseudo import pseudo

from deniable.cli.main import main
from deniable.console import static_files
from deniable.console.pages import plan
from deniable.console.pages.plan_form import MORE, PlanForm
from deniable.console.pages.plan_reading import settings_of
from deniable.languages.language import available
from deniable.languages.voice import Voice, plain
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.source import Dice, Drand

FORM = PlanForm(
    name="Site visits",
    targets="Ash Mill\r\nBirch Works\r\n\r\n Cedar Bank \r\n",
    start="2026-02-02",
    zone="Europe/Berlin",
)


def typed(**changes: str) -> dict[str, str]:
    return dataclasses.asdict(dataclasses.replace(FORM, **changes))


def show(browser: Browser, **changes: str) -> Any:
    return browser.post("/plan", {**typed(**changes), "step": "show"})


def check(browser: Browser, **changes: str) -> Any:
    """The last page before the start."""
    return browser.post("/plan", {**typed(**changes), "step": "check"})


def begin(browser: Browser, page: Any) -> Any:
    """Send the form on the last page."""
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.text)
    return browser.post("/plan", {name: html.unescape(value) for name, value in fields} | {"step": "begin"})


def test_a_plan_is_looked_at_and_begun(office: Office) -> None:
    browser = office.browser("Anna")
    assert browser.get("/plan").status_code == 200
    page = show(browser)
    assert page.status_code == 200
    assert "57\xa0% sure" in page.text
    assert page.text.count('<svg class="chart"') == 3
    assert "Monday 9 February 2026, 09:00 (Europe/Berlin time)" in page.text
    last = check(browser)
    assert last.status_code == 200
    assert "at most 5 points in 100" in last.text
    assert office.console.programme() is None
    answer = begin(browser, last)
    assert answer.headers["location"] == "/plan?done=begun"
    programme = office.console.programme()
    assert programme is not None
    assert programme.parameters.targets == ("Ash Mill", "Birch Works", "Cedar Bank")
    assert programme.parameters.reports_per_person == 3
    assert programme.parameters.guarantee().advantage <= 0.05
    begun = browser.get("/plan?done=begun").text
    assert "The programme has started." in begun
    assert "The programme has started." not in browser.get("/plan").text
    assert "began the programme" in office.browser("Ada").get("/activity").text


@pytest.mark.parametrize(
    ("changes", "source", "words"),
    [
        ({}, None, "must trust that it draws them fairly"),
        ({"randomness": "drand", "minutes": "20"}, Drand(minutes=20), "drand publishes 20 minutes after the due time"),
        (
            {"randomness": "dice", "sides": "20", "days": "3", "place": "Town hall"},
            Dice("Town hall", Throws(of=20), days=3),
            "Town hall; a die with 20 sides",
        ),
        (
            {"randomness": "lottery", "place": "State lottery"},
            Dice("State lottery", Throws(6, 49)),
            "State lottery; 6 numbers of 49, drawn 5 times",
        ),
    ],
)
def test_where_the_random_numbers_come_from(office: Office, changes: dict[str, str], source: Any, words: str) -> None:
    browser = office.browser("Anna")
    assert show(browser, **changes).status_code == 200
    page = check(browser, **changes)
    assert words in page.text
    begin(browser, page)
    programme = office.console.programme()
    assert programme is not None
    assert programme.parameters.randomness == source
    assert words in browser.get("/plan?done=begun").text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"randomness": "coins"}, "Choose where the random"),
        ({"randomness": "drand", "minutes": "0"}, "Minutes until the public value"),
        ({"randomness": "dice"}, "where people can watch"),
        ({"randomness": "drand", "days": "400"}, "at most 365"),
        ({"randomness": "drand", "start": "2020-01-01"}, "had not started"),
        ({"randomness": "dice", "place": "here", "sides": "1"}, "Sides of the die"),
        ({"randomness": "lottery", "place": "here", "numbers": "49"}, "fewer numbers than it chooses from"),
        ({"randomness": "lottery", "place": "here", "of": "x"}, "highest number of the lottery must"),
    ],
)
def test_a_source_that_cannot_be_is_refused(office: Office, changes: dict[str, str], words: str) -> None:
    page = show(office.browser("Anna"), **changes)
    assert page.status_code == 422
    assert words in html.unescape(page.text)


def test_drand_is_refused_where_its_beacons_cannot_be_checked(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_ecc", None)
    monkeypatch.delitem(sys.modules, "deniable.programme.randomness.bls", raising=False)
    monkeypatch.delattr("deniable.programme.randomness.bls", raising=False)
    for name in [name for name in sys.modules if name.startswith("py_ecc.")]:
        monkeypatch.setitem(sys.modules, name, None)
    page = show(office.browser("Anna"), randomness="drand")
    assert page.status_code == 422
    assert "need py_ecc" in html.unescape(page.text)
    assert show(office.browser("Anna"), randomness="dice", place="here").status_code == 200


def test_a_first_day_in_the_past_is_told_before_it_begins(office: Office) -> None:
    browser = office.browser("Anna")
    assert "overdue" not in show(browser).text
    page = show(browser, start="2025-12-31", length="1", unit="D", zone="UTC")
    assert "5 rounds are overdue already" in page.text
    assert "published as late" in page.text
    changed = check(browser, start="2025-12-28", zone="UTC")
    assert "1 round is overdue already" in changed.text
    begin(browser, changed)
    assert "Round 1 was due on" in browser.get("/plan?done=begun").text


def test_what_is_begun_is_what_was_looked_at(office: Office) -> None:
    browser = office.browser("Anna")
    for given in (FORM.fingerprint, "", "0" * 64):
        answer = browser.post("/plan", {**typed(points="9"), "step": "begin", "shown": given})
        assert answer.status_code == 422
        assert "Check it again" in answer.text
        assert 'name="points" value="9"' in answer.text
    assert office.console.programme() is None


def test_there_is_one_programme(office: Office) -> None:
    office.begin()
    answer = show(office.browser("Anna"))
    assert answer.headers["location"] == "/plan"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": ""}, "give the programme a name"),
        ({"name": "A" * 201}, "at most 200 characters"),
        ({"targets": "Ash Mill"}, "at least two targets"),
        ({"targets": "date,target,reports\n2025-01-06,Ash Mill,2"}, "This is a file of reports, not a list of targets"),
        ({"targets": "Ash Mill,2\nBirch Works,1"}, "This is a file of reports, not a list of targets"),
        ({"targets": f"Ash Mill\n{'B' * 201}"}, "at most 200 characters"),
        ({"targets": "Ash Mill\nAsh Mill"}, "Ash Mill comes twice"),
        ({"points": "50"}, "above 0 and below 50"),
        ({"points": "0"}, "above 0 and below 50"),
        ({"points": "nan"}, "above 0 and below 50"),
        ({"reports_per_person": "0"}, "Reports by one person must be a whole number of at least 1"),
        ({"audits": "4"}, "Audits a round must be at most the number of targets"),
        ({"audits": ""}, "Audits a round must be a whole number"),
        ({"max_gap": "2"}, "longest gap must be at least 3 rounds"),
        ({"max_gap": "99999999"}, "Longest gap must be at most 1,000,000 rounds"),
        ({"mechanism": "tca"}, "needs a horizon or a longest gap"),
        ({"mechanism": "greedy"}, "race or counter auditing"),
        ({"mechanism": "tca", "horizon": "9", "max_gap": "20"}, "either a horizon or a longest gap, not both"),
        ({"horizon": "100"}, "leave the horizon empty"),
        ({"reports_per_person": "10001"}, "Reports by one person must be at most 10,000"),
        ({"reveal_after": "1001"}, "names are public must be at most 1,000"),
        ({"reveal_after": "9", "mechanism": "tca", "horizon": "9"}, "fewer than the horizon of 9 rounds"),
        ({"cooldown": ""}, "Rest after an audit must be a whole number of at least 0"),
        ({"cooldown": "x"}, "Rest after an audit must be a whole number of at least 0"),
        ({"zone": "Atlantis"}, "This is no time zone"),
        ({"start": "soon"}, "first day"),
        ({"unit": "Y"}, "days, weeks or months"),
        ({"length": "0"}, "How long a round lasts"),
        ({"oversight": "age1"}, "Key of an oversight body must be an age recipient"),
        ({"weights": "forecast", "mechanism": "tca", "horizon": "9"}, "A forecast is for race alone"),
        ({"classes": "serious"}, "Class serious needs a weight: write serious=1"),
        ({"classes": "serious 3"}, "Class serious needs a weight: write serious=1"),
        ({"classes": "minor=1\nserious=1.5"}, "weight of class serious must be a whole number"),
        ({"classes": "minor=0"}, "weight of class minor must be a whole number"),
        ({"classes": "minor=1\nMinor=2"}, "its own name"),
        ({"classes": "danger=visit"}, "at least one class of reports must have a weight"),
        ({"most_counted": "0"}, "Most reports that count must be a whole number of at least 1"),
    ],
)
def test_a_mistake_is_told_next_to_the_form_in_its_words(office: Office, changes: dict[str, str], told: str) -> None:
    answer = show(office.browser("Anna"), **changes)
    assert answer.status_code == 422
    alert = answer.text.split('role="alert"')[1].split("</div>")[0]
    assert told.lower() in alert.lower()
    assert not re.search(r"max_gap|cooldown|tca|reports_per_person", re.sub("<[^>]*>", "", alert))
    assert alert.index("<bdi>") > 0
    assert "Site visits" in answer.text or "name" in changes


def test_names_are_shown_as_they_are_and_never_as_markup(office: Office) -> None:
    hostile = '"><script>alert(1)</script>'
    answer = show(office.browser("Anna"), name=hostile, targets=f"</textarea>{hostile}\nB")
    assert answer.status_code == 200
    assert "<script" not in answer.text
    assert "&lt;/textarea&gt;" in answer.text


def test_a_plan_of_many_targets(office: Office) -> None:
    answer = show(office.browser("Anna"), targets="\n".join(f"Target number {number}" for number in range(5000)))
    assert answer.status_code == 200


def test_no_least_lead_is_told_where_some_targets_are_likelier(office: Office) -> None:
    browser = office.browser("Anna")
    assert "needs a lead of at least" in show(browser).text
    assert "needs a lead of at least" not in show(browser, weights="forecast").text


TWENTY = "\n".join(f"Target {number}" for number in range(20))


def table(page: str, title: str) -> tuple[list[str], dict[str, list[str]]]:
    """The columns of a chart's table, and its rows by their first cell."""
    found = re.search(rf'<caption class="for-readers">{title}</caption>(.*?)</table>', page, re.DOTALL)
    assert found is not None, title
    columns = [html.unescape(cell) for cell in re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", found[1])]
    rows = re.findall(r"<tr><th scope=\"row\"[^>]*>(.*?)</th>(.*?)</tr>", found[1])
    cells = {name: re.findall("<td[^>]*>(.*?)</td>", row) for name, row in rows}
    return columns, {name: [html.unescape(cell) for cell in row] for name, row in cells.items()}


@pytest.mark.parametrize("rules", [("", "0"), ("26", "0"), ("", "4"), ("26", "4")])
@pytest.mark.parametrize("audits", ["1", "3"])
@pytest.mark.parametrize("mechanism", ["race", "tca"])
def test_the_page_and_the_command_have_the_same_figures(
    office: Office, capsys: pytest.CaptureFixture[str], mechanism: str, audits: str, rules: tuple[str, str]
) -> None:
    gap, rest = rules
    horizon = "100" if mechanism == "tca" and not gap else ""
    plan = {"mechanism": mechanism, "audits": audits, "max_gap": gap, "cooldown": rest, "horizon": horizon}
    page = show(office.browser("Anna"), targets=TWENTY, **plan).text
    options = ["--audits", audits, "--cooldown", rest, *(["--max-gap", gap] if gap else [])]
    options += ["--horizon", horizon] if horizon else []
    assert main(["plan", "--targets", "20", "--advantage", "0.05", "--runs", "2", *options]) == 0
    out = capsys.readouterr().out
    row = [line for line in out.splitlines() if line.startswith(f"{mechanism} ")][1]
    cells = re.findall(r"(?:[≤~] )?[\d.,]+|-|never", row.replace("a report", "|").replace("counts ±", "|"))
    lead, waits = cells[-6], cells[-5:]
    at_once = re.search(r"a lead of (at most )?([\d,]+) report", page)
    if mechanism == "tca" and gap:
        assert lead == "-"
        assert at_once is None
        assert "To be audited almost at once" not in page
    else:
        assert at_once is not None
        assert "To be audited almost at once" in page
        assert lead == f"{'≤ ' if at_once[1] else ''}{at_once[2]}"
    least = "needs a lead of at least ([0-9,]+)"
    assert re.findall(least, page) == re.findall(least, " ".join(out.split()))
    assert bool(re.findall(least, page)) == (rules == ("", "0"))
    if mechanism == "tca" and not gap:
        assert waits == ["-"] * 5
        assert "How long a target waits</h3>" not in page
        assert "deniable plan --targets 20 --delta" in page
        return
    columns, rows = table(page, "How long a target waits")
    assert [rows[n][0] for n in ("1", "3", "5", "10", "30")] == waits
    lots = [line for line in out.splitlines() if line.startswith("uniform ")][1].split()[-1]
    assert rows["1"][columns.index("drawing lots") - 1].split()[-1] == lots
    assert ("≤" in waits[0]) == (mechanism == "tca")
    if gap:
        decided = re.search(r"up to (\d+) audits of 100", " ".join(out.split()))
        assert decided is not None
        assert f"up to {decided[1]} audits of 100" in page


def test_rules_change_what_the_page_shows(office: Office) -> None:
    """Negative control of the comparison: what ignores a rule shows the same with it and without."""
    browser = office.browser("Anna")
    waits = "How long a target waits"
    shown = [
        table(show(browser, targets=TWENTY, **plan).text, waits)[1]["10"][0]
        for plan in ({}, {"max_gap": "22"}, {"cooldown": "8"}, {"audits": "3"})
    ]
    assert len(set(shown)) == len(shown)


def test_what_the_charts_leave_out_is_said(office: Office) -> None:
    browser = office.browser("Anna")
    assert "too long for 3 targets" in show(browser, cooldown="9").text
    for weights in ("forecast", "steady-forecast"):
        assert "equally likely" in show(browser, weights=weights).text
    assert "<dt>Longest wait</dt><dd>9 rounds" in show(browser, max_gap="9").text
    assert "Longest wait" not in show(browser).text


def test_what_a_deadline_has_to_do_with_delta_is_for_experts(office: Office) -> None:
    names = "\n".join(f"Depot {number}" for number in range(20))
    page = html.unescape(show(office.browser("Anna"), targets=names, deadline="13", probability="90").text)
    before, after = page.split("<summary>For experts</summary>")
    in_time = before.partition("A visit in time")[2]
    assert "A longest gap of 13 rounds makes the visit certain" in in_time
    assert "delta" not in in_time
    assert "would then force delta up to" in after
    assert "Whatever the mechanism, at delta =" in after
    assert "A longest gap of 13 rounds" not in after


def test_a_plan_that_keeps_the_deadline_can_be_tried(office: Office) -> None:
    browser, names = office.browser("Anna"), "\n".join(f"Depot {number}" for number in range(20))
    in_time = {"targets": names, "deadline": "13", "probability": "90"}
    assert "Enough audits for your deadline" not in show(browser, targets=names).text
    assert "Enough audits for your deadline" not in show(browser, **in_time, max_gap="13", audits="2").text  # kept
    page = html.unescape(show(browser, **in_time).text)
    needed = re.search(r"you need (\d+) audits a round", page)
    assert needed
    row = page.partition("Enough audits for your deadline")[2].partition("</tr>")[0]
    assert f"{needed[1]} audits a round instead of 1" in row
    assert 'name="take" value="deadline"' in row
    page = browser.post("/plan", {**typed(**in_time), "take": "deadline"}).text
    assert re.search(rf'name="audits"[^>]* value="{needed[1]}"', page)
    assert "Enough audits for your deadline" not in page


def test_the_first_language_is_not_offered_as_a_further_one() -> None:
    """The browser hides it, whichever is chosen: without scripts, the server learns of the choice too late."""
    style = (Path(static_files.__file__).parent / "static/style.css").read_text()
    for code in available():
        assert f'fieldset:has(#first_language [value="{code}"]:checked) .choice:has([value="{code}"])' in style


def test_plans_are_compared_with_reports_and_without(office: Office) -> None:
    """A rest raises the chance of every target that does not rest, reported or not: the reader must see both."""
    names = "\n".join(f"Depot {number}" for number in range(20))
    page = show(office.browser("Anna"), targets=names, cooldown="0").text
    table = page.partition('aria-labelledby="compare-title"')[2].partition("</table>")[0]
    mine, rest = table.partition("Your plan")[2].partition("</tr>")[0], table.partition("With a rest after")[2]
    assert "no report: 5\xa0%" in mine
    assert "no report: about 20 weeks" in mine
    assert "no report: 6.2\xa0%" in rest


def test_a_deadline_is_answered_in_rounds_and_days(office: Office) -> None:
    browser, names = office.browser("Anna"), "\r\n".join(f"Site {n}" for n in range(20))
    page = html.unescape(show(browser, targets=names, deadline="13", probability="90").text)
    assert "A visit in time" in page
    assert "within 13 rounds (91 days) in at least 90 cases of 100" in page
    assert "force delta up to at least" in page
    assert "that takes at least 2 audits a round" in page
    assert "A visit in time" not in show(browser, targets=names).text
    assert "certain, with a report" in show(browser, targets=names, deadline="20", max_gap="20").text
    assert "cannot be calculated" in show(browser, targets=names, deadline="5", mechanism="tca", horizon="100").text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deadline": "0"}, "Deadline must be a whole number of at least 1"),
        ({"deadline": "1.5"}, "Deadline must be a whole number of at least 1"),
        ({"deadline": "13", "probability": "100"}, "above 0 and below 100"),
        ({"deadline": "13", "probability": "0"}, "above 0 and below 100"),
        ({"deadline": "2", "cooldown": "2"}, "longer than the rest"),
        ({"deadline": "30", "mechanism": "tca", "horizon": "20"}, "within the horizon of 20 rounds"),
    ],
)
def test_a_bad_deadline_is_one_sentence(office: Office, changes: dict[str, str], words: str) -> None:
    page = show(office.browser("Anna"), **changes)
    assert page.status_code == 422
    assert words in html.unescape(page.text)


def test_classes_are_planned_and_the_promise_holds_for_the_heaviest(office: Office) -> None:
    browser, classes = office.browser("Anna"), " minor=1\r\nserious=3\r\n\r\ndanger=visit"
    page = html.unescape(check(browser, classes=classes, most_counted="20", reports_per_person="2").text)
    assert page.index("A report of class danger is not protected") < page.index("A boss who")
    assert "at most 5 points in 100" in page
    assert "Class serious: a report counts 3 times" in page
    settings = settings_of(dataclasses.replace(FORM, classes=classes, most_counted="20", reports_per_person="2"))
    assert [one.written for one in settings["classes"]] == ["minor=1", "serious=3", "danger=visit"]
    assert settings["most_counted"] == 20
    begin(browser, check(browser, classes=classes, most_counted="20"))
    programme = office.console.programme()
    assert programme is not None
    assert programme.parameters.guarantee().filed == "3 reports of class serious"
    assert programme.parameters.guarantee().advantage <= 0.05
    planned = html.unescape(browser.get("/plan").text)
    assert "minor (counts once); serious (counts 3 times)" in planned
    assert "of each class at most 20 reports about a target count in a round" in planned


def test_without_classes_a_plan_says_nothing_of_them(office: Office) -> None:
    page = show(office.browser("Anna")).text.split('id="meaning"')[1]
    assert "lass" not in page.replace('class="', "").replace("chart", "")


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "A" * 201}),
        ("targets", {"targets": "Ash Mill"}),
        ("targets", {"targets": "Ash Mill\nAsh Mill"}),
        ("points", {"points": "60"}),
        ("reports_per_person", {"reports_per_person": "10001"}),
        ("reports_per_person", {"reports_per_person": "0"}),
        ("audits", {"audits": "4"}),
        ("max_gap", {"max_gap": "2"}),
        ("cooldown", {"cooldown": "x"}),
        ("start", {"start": "soon"}),
        ("start", {"start": "9998-01-01"}),
        ("time", {"time": "noon"}),
        ("time", {"time": "09:00:30"}),
        ("length", {"length": "0"}),
        ("zone", {"zone": "Atlantis"}),
        ("horizon", {"horizon": "9"}),
        ("oversight", {"oversight": "age1"}),
        ("oversight", {"oversight": "age1" + "q" * 58}),
        ("classes", {"classes": "serious"}),
        ("most_counted", {"most_counted": "0"}),
        ("reveal_after", {"reveal_after": "-1"}),
        ("place", {"randomness": "dice"}),
        ("sides", {"randomness": "dice", "place": "here", "sides": "2000"}),
        ("numbers", {"randomness": "lottery", "place": "here", "numbers": "49"}),
        ("minutes", {"randomness": "drand", "minutes": "1"}),
        ("days", {"randomness": "drand", "days": "400"}),
        ("randomness", {"randomness": "coins"}),
        ("mechanism", {"mechanism": "greedy"}),
        ("audit_term", {"audit_term": "raid"}),
        ("target_term", {"target_term": "victim"}),
        ("weights", {"weights": "forecast", "mechanism": "tca", "horizon": "9"}),
        ("deadline", {"deadline": "2", "cooldown": "2"}),
        ("probability", {"deadline": "2", "probability": "0"}),
    ],
)
def test_a_mistake_is_told_at_its_field(office: Office, field: str, changes: dict[str, str]) -> None:
    page = show(office.browser("Anna"), **changes).text
    assert f'id="{field}-wrong"' in page
    assert page.count('class="wrong-here"') == 1
    assert f'<a href="#{field}">' in page
    here = page.split(f'id="{field}-wrong"')[1].split("</span>")[0]
    assert here.split("<bdi>")[1].split("</bdi>")[0] in page.split('role="alert"')[1].split("</div>")[0]
    assert ('<details class="more" open>' in page) == (field in MORE or any(name in MORE for name in changes))


def test_a_telephone_shows_every_way_to_begin_in_full(office: Office) -> None:
    """In a box of choices what is chosen is cut off where it is longer than the screen is wide."""
    page = office.browser("Anna").get("/plan").text
    assert '<select id="weights"' not in page
    assert '<input type="radio" name="weights" value="equal" checked required>' in page


def test_print_leaves_out_what_is_for_experts(office: Office) -> None:
    shown = re.findall(r"<details([^>]*)>\s*<summary>For experts", show(office.browser("Anna")).text)
    assert shown == [' class="not-printed"']


def test_an_empty_form_says_what_to_begin_with(office: Office) -> None:
    browser = office.browser("Anna")
    page = browser.post("/plan", {"step": "show"})
    assert page.status_code == 422
    assert 'id="name-wrong"' in page.text
    assert "Give the programme a name" in page.text


def test_more_choices_are_folded_away_until_one_is_made(office: Office) -> None:
    browser = office.browser("Anna")
    assert '<details class="more">' in browser.get("/plan").text
    assert '<details class="more">' in show(browser).text
    assert '<details class="more" open>' in show(browser, reveal_after="2").text


def test_nothing_that_can_be_folded_away_must_be_filled_in(office: Office) -> None:
    """A browser cannot show what is wrong with a field that it does not show."""
    folded = office.browser("Anna").get("/plan").text.split('<details class="more">')[1].split("</details>")[0]
    fields = re.findall(r"<(?:input|textarea)[^>]*>", folded)
    assert len(fields) > 15
    assert [field for field in fields if "required" in field and 'type="radio"' not in field] == []


@pytest.mark.parametrize("max_gap", ["", "9"])
def test_a_running_plan_says_whether_there_is_a_longest_gap_and_keeps_charts_for_experts(
    office: Office, max_gap: str
) -> None:
    browser = office.browser("Anna")
    begin(browser, check(browser, max_gap=max_gap))
    told, experts = browser.get("/plan").text.split('<main id="content"')[1].split("<summary>For experts</summary>")
    assert "<dt>Longest gap</dt>" in told
    assert ("no limit" in told) == (not max_gap)
    assert "They are public as soon as you publish them." in told
    assert '<svg class="chart"' not in told
    assert '<svg class="chart"' in experts
    assert re.findall(r"\brace\b.", told) == ["race)"]  # after what it means


def test_what_is_remembered_of_a_plan_is_in_each_readers_language(office: Office) -> None:
    parameters = office.begin().parameters
    others = Voice(pseudo(), parameters.terms)
    for say in (plain(), others, plain(), others):
        found = plan.explained(parameters, say)
        assert found.charts[0].title == say("How often the leader is passed over")
        assert found.comparison.mine.title == say("This programme")
    assert plan.explained(parameters, others) is found


def test_the_plan_tells_the_office_from_when_on_the_promise_holds(office: Office) -> None:
    """And does not speak to people who report, as the page Promise does; also when the promise holds again."""
    programme = office.begin(classes=CLASSES)
    programme.override(["Ash Mill"], "A fire.", independent=False)
    page = office.browser("Anna").get("/plan").text
    assert "Reports of the other classes stay protected" not in page
    assert "Reports of the other classes made from" in page
    assert "The promise does not cover reports filed before" in page
    assert "did not declare that no report was the reason" in page
    assert "Wait until then" not in page
    office.clock.tomorrow()
    programme.close_round()
    page = office.browser("Anna").get("/plan").text
    assert "The promise is lost for reports filed before" in page
    assert "Get advice" not in page


def test_the_plan_says_above_its_figures_for_how_many_targets_they_are(office: Office) -> None:
    programme, anna = office.begin(), office.browser("Anna")
    assert "with which the programme began" not in anna.get("/plan").text
    programme.change_targets(add=["Elm Logistics"], remove=[], reason="Opened in May.", independent=True)
    page = anna.get("/plan").text
    assert page.index("These figures are for the 4 targets") < page.index("What reports about a target do")


def test_rules_are_public_once_they_are_published(office: Office) -> None:
    """Also before there is any entry."""
    programme = office.begin()
    assert "as soon as you publish them" in office.browser("Anna").get("/plan").text
    programme.publish(office.public)
    assert "and are public" in office.browser("Anna").get("/plan").text


def test_after_the_end_the_plan_says_no_more_that_the_office_visits_at_once(office: Office) -> None:
    programme, anna, told = office.begin(classes=CLASSES), office.browser("Anna"), "The office visits at once"
    assert told in anna.get("/plan").text
    programme.end("As announced.")
    assert told not in anna.get("/plan").text


def test_the_plan_does_not_tell_the_office_to_ask_the_office(office: Office) -> None:
    recovered(office)
    anna = office.browser("Anna")
    told = "Ask the office before you report"
    assert [told in anna.get(path).text for path in ("/guarantee", "/plan")] == [True, False]
