"""The guarantee, in the words of the public page."""

from html import unescape

from tests.console.offices import Office

from deniable.programme.public.page import render
from deniable.programme.transcript.replay import parse


def test_the_guarantee_has_the_text_of_the_public_page(office: Office) -> None:
    programme = office.begin(reports_per_person=2)
    programme.override(["Ash Mill"], "Somebody wrote to us.", independent=False)
    page = unescape(office.browser("Anna").get("/guarantee").text.split("<main")[1])
    record = office.console.public_records.current(programme.parameters)
    world = unescape(render(programme.parameters, [*map(parse, record.lines)], record.head))
    paragraphs = [line.removeprefix("<p>").removeprefix('<p class="lead">').removesuffix("</p>")
                  for line in page.splitlines() if line.startswith(("<p>", '<p class="lead">'))]  # fmt: skip
    assert len(paragraphs) > 4
    assert all(paragraph in world for paragraph in paragraphs)
    assert programme.status().coverage.in_words() in page
    assert "between two people" in page
