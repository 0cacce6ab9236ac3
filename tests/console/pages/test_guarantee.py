"""The guarantee, in the words of the public page."""

from html import unescape

from tests.console.offices import Office

from deniable.console.pages.common import read_record
from deniable.programme.public.page import render


def test_the_guarantee_has_the_text_of_the_public_page(office: Office) -> None:
    programme = office.begin(reports_per_person=2)
    programme.override(["Ash Mill"], "Somebody wrote to us.", independent=False)
    page = unescape(office.browser("Anna").get("/guarantee").text.split("<main")[1])
    record = read_record(office.console.store)
    world = unescape(render(programme.parameters, record.entries, record.head))
    paragraphs = [line.removeprefix("<p>").removeprefix('<p class="lead">').removesuffix("</p>")
                  for line in page.splitlines() if line.startswith(("<p>", '<p class="lead">'))]  # fmt: skip
    assert len(paragraphs) > 4
    assert all(paragraph in world for paragraph in paragraphs)
    assert programme.status().coverage.in_words() in page
    assert "between two people" in page
