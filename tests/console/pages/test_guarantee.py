"""The guarantee, in the words of the public page."""

import re
from html import unescape
from typing import Any

import pyrage
import pytest
from tests.console.offices import CLASSES, Office

from deniable.programme.public.page import render
from deniable.programme.transcript.replay import parse

OVERSIGHT = str(pyrage.x25519.Identity.generate().to_public())


@pytest.mark.parametrize("settings", [{}, {"classes": CLASSES}, {"oversight": OVERSIGHT}])
def test_the_guarantee_has_the_text_of_the_public_page(office: Office, settings: dict[str, Any]) -> None:
    programme = office.begin(reports_per_person=2, **settings)
    programme.override(["Ash Mill"], "Somebody wrote to us.", independent=False)
    page = unescape(office.browser("Anna").get("/guarantee").text.split("<main")[1])
    record = office.console.public_records.current(programme.parameters)
    world = unescape(render(programme.parameters, [*map(parse, record.lines)]))
    paragraphs = [line.removeprefix("<p>").removeprefix('<p class="lead">').removesuffix("</p>")
                  for line in page.splitlines() if line.startswith(("<p>", '<p class="lead">'))]  # fmt: skip
    assert len(paragraphs) > 4
    assert all(paragraph in world for paragraph in paragraphs)
    assert programme.status().coverage.in_words() in page
    assert "between two people" in page
    assert ("oversight body" in page) == ("oversight" in settings)


def test_waits_are_told_in_days(office: Office) -> None:
    office.begin(max_gap=60)  # rounds of a day
    page = unescape(office.browser("Anna").get("/guarantee").text)
    assert "60 rounds (60 days), also without any report" in page
    assert re.search(r"rounds on average \((about )?[0-9]+ days\)", page)


def test_what_is_not_protected_comes_first(office: Office) -> None:
    office.begin(classes=CLASSES)
    page = unescape(office.browser("Otto").get("/guarantee").text.split("<main")[1])
    first = page.index("a report of class danger is not protected")
    assert first < page.index("Suppose someone")
    assert "100 % of the ordinary reports" in page
    for told in ("Class minor", "Class serious", "Class danger"):
        assert told in page


def test_waits_are_those_of_reports_that_count(office: Office) -> None:
    office.begin(most_counted=5)
    page = office.browser("Anna").get("/guarantee").text
    assert re.findall(r"<dt>(.*?)</dt>", page.split("<main")[1]) == ["1 report", "3 reports"]


def test_waits_are_told_by_class(office: Office) -> None:
    office.begin(classes=CLASSES)
    page = office.browser("Anna").get("/guarantee").text
    assert re.findall(r"<dt>(.*?)</dt>", page) == ["1 report of class minor", "1 report of class serious"]
