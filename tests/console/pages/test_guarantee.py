"""The guarantee, in the words of the public page."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pyrage
import pytest
from tests.console.offices import CLASSES, Office, fallen_behind

from deniable.languages.voice import plain
from deniable.programme.public.page import render
from deniable.programme.randomness.source import Dice
from deniable.programme.transcript.replay import parse

OVERSIGHT = str(pyrage.x25519.Identity.generate().to_public())
SECTION = re.compile(r'<section id="(promise|effect|not-protected|contact|questions|experts)".*?</section>', re.DOTALL)


def guarantee(office: Office, who: str = "Anna") -> str:
    return unescape(office.browser(who).get("/guarantee").text.split("<main")[1])


@pytest.mark.parametrize(
    "settings", [{}, {"classes": CLASSES}, {"oversight": OVERSIGHT}, {"yearly_figures_delta": 0.02}]
)
def test_the_guarantee_has_the_text_of_the_public_page(office: Office, settings: dict[str, Any]) -> None:
    programme = office.begin(reports_per_person=2, **settings)
    programme.override(["Ash Mill"], "Somebody wrote to us.", independent=False)
    programme.tell_details("Room 5, town hall", "https://hotline.example")
    page = guarantee(office)
    assert " %" not in page  # no sign alone on a line
    record = office.console.public_records.current(programme.parameters)
    world = unescape(render(programme.parameters, [*map(parse, record.lines)], None, plain()))
    world = re.sub("<p>In the record: .*?</p>", "", world)  # the public page has the record, too
    for pattern, least in ((SECTION, 6), (re.compile('<div class="box (warn|wrong)">.*?</div>'), 1)):
        here, there = ([found[0] for found in pattern.finditer(text)] for text in (page, world))
        assert len(here) >= least
        assert here == there
    assert "Nothing is promised about reports made before" in page
    assert "The office’s reason: <bdi>Somebody wrote to us.</bdi>" in page
    assert "https://hotline.example" in page
    assert ("The oversight body." in page) == ("oversight" in settings)


def test_waits_are_told_in_one_unit(office: Office) -> None:
    office.begin(max_gap=60)  # rounds of a day
    page = guarantee(office)
    assert "at least once in 60 rounds. Skipped rounds do not count" in page
    assert re.search(r"(about|at most) [0-9.]+ days?<", page)


def test_what_is_not_protected_comes_first(office: Office) -> None:
    office.begin(classes=CLASSES)
    page = guarantee(office, "Otto")
    first = page.index("A report of class danger is not protected")
    assert first < page.index("A boss who was 50\xa0% sure")
    assert "Reports of the other classes stay protected after such a visit." in page
    for told in ("Class minor", "Class serious", "Class danger"):
        assert told in page


def waits(page: str) -> list[str]:
    return re.findall(r'<th scope="row" role="rowheader"><bdi>(.*?)</bdi>', page.split('<section id="effect"')[1])


def test_waits_are_those_of_reports_that_count(office: Office) -> None:
    office.begin(most_counted=5)
    assert waits(guarantee(office)) == ["No report", "One report", "Three reports"]


def test_waits_are_told_by_class(office: Office) -> None:
    office.begin(classes=CLASSES)
    assert waits(guarantee(office)) == ["No report", "One report of class minor", "One report of class serious"]


def test_an_overdue_draw_is_said_on_the_page(office: Office) -> None:
    office.begin()
    assert "The next draw was due" not in guarantee(office)
    office.clock.now += timedelta(days=1)
    assert "The next draw was due on" in guarantee(office)
    assert "The draw of round 1 was due on" in office.browser("Otto").get("/round").text


def test_the_line_above_says_whether_the_public_page_has_the_same_text(office: Office) -> None:
    programme = office.begin()
    lines = {
        "same": "The public page has the same text",
        "behind": "The public page does not say this yet",
        "damaged": "Do not point people to the public page",
        "ended": "Give this page only to people who reported before",
        "end": "The end is not published yet",
    }

    def told() -> list[str]:
        page = office.browser("Otto").get("/guarantee").text
        return [name for name, line in lines.items() if line in page]

    assert told() == ["behind"]
    programme.publish(office.public)
    assert told() == ["same"]
    programme.override(["Ash Mill"], "A fire.", independent=False)
    assert told() == ["behind"]
    programme.publish(office.public)
    assert told() == ["same"]
    transcript = office.public / "transcript.jsonl"
    written = transcript.read_bytes()
    transcript.write_bytes(written.replace(b"A fire.", b"A fair."))
    assert told() == ["damaged"]
    transcript.write_bytes(written)
    programme.carried_out(1, "Ash Mill", programme.parameters.calendar.first_day(1))
    assert told() == ["same"]  # which the promise does not speak of
    programme.tell_details("Room 5, town hall", "https://hotline.example")
    assert told() == ["behind"]
    programme.end("As announced.")
    assert told() == ["ended", "end"]
    programme.publish(office.public)
    assert told() == ["ended"]


def test_who_may_publish_is_led_there(office: Office) -> None:
    office.begin()
    link = '<a href="/transcript">Go on to publishing…</a>'
    assert [link in guarantee(office, who) for who in ("Anna", "Otto", "Ada")] == [True, True, False]


def test_a_database_older_than_the_public_record_is_said_and_the_page_is_not_to_be_printed(office: Office) -> None:
    programme = fallen_behind(office)
    page = guarantee(office)
    assert "The programme cannot go on with this database" in page
    assert "print this page" not in page
    programme.recover(office.database.with_name("public"), "The disk broke.")
    page = guarantee(office)
    assert "The public page does not say this yet" in page
    assert "Some reports do not count now" in page
    programme.publish()
    assert "The public page has the same text" in guarantee(office)


def test_a_frozen_round_is_drawn_before_the_next_is_closed(office: Office) -> None:
    programme = office.begin(randomness=Dice("The town hall"))
    office.clock.now = programme.parameters.calendar.due(1)
    assert "An operator or auditor closes the round" in guarantee(office)
    programme.close_round()
    assert "The next draw was due" not in guarantee(office)
    office.clock.now = programme.parameters.calendar.due(2)
    assert "An operator or auditor draws round 1, then closes round 2" in guarantee(office)
