"""All pages of an office that calls its audits inspections and its targets employers say nothing else."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import jinja2
import pytest
from tests.console.offices import CLASSES, FILE, Office, pending_on, preview, routes
from tests.console.test_rendering import READ_OUT, SHOWN, TERMS_NEEDED, _values
from tests.programme.offices import TARGETS

from deniable.console import rendering
from deniable.console.pages.decision_kinds import KINDS
from deniable.languages.language import Terms
from deniable.programme.public.promise import Part
from deniable.programme.randomness.source import Dice

TERMS = Terms("inspection", "employer")
WHY = {"reason": "A fire in the news.", "independent": "yes"}
DECISIONS: dict[str, dict[str, Any]] = {
    "override": {"target": ["Ash Mill", "Cedar Bank"]},
    "targets": {"added": "Elm Yard", "target": ["Ash Mill"]},
    "rename": {"target": "Ash Mill", "new_name": "Ash Works"},
    "not-carried-out": {"audit": "1 Ash Mill"},
    "skip": {"round": "2"},
}

SAID_ANYWAY = (
    "targets.csv",  # the name of a file
    "columns channel, target and class",  # of a file
    "If target is empty",
    "The audit log of reports",  # of GlobaLeaks
)
IN_OTHER_WORDS = {
    "api.html",  # the document that describes the interface, which is the same for every office
    "help.html",  # the handbook, likewise
}
BEFORE_A_PROGRAMME = {"plan.html", "plan_check.html", "waiting.html"}
BEFORE_SIGNING_IN = {"login.html", "invitation.html"}

Rendered = list[tuple[str, dict[str, Any], str]]


def test_every_decision_is_made_in_other_words() -> None:
    assert DECISIONS.keys() == KINDS.keys()


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Rendered:
    """Every page that is rendered: its template, what that was given, and what came of it."""
    seen: Rendered = []
    original = jinja2.Template.render

    def spy(self: jinja2.Template, **context: Any) -> str:
        text = original(self, **context)
        seen.append((str(self.name), context, text))
        return text

    monkeypatch.setattr(jinja2.Template, "render", spy)
    return seen


def visible(text: str) -> str:
    """What people read or have read out to them."""
    return " ".join(unescape(" ".join([re.sub("<[^>]*>", " ", text), *READ_OUT.findall(text)])).split())


def known_sentences(page: Any) -> Iterator[str]:
    """The sentences on a page that are the same for every office, the longest first: those for experts."""
    found = set()
    for one in _values(page):
        if isinstance(one, Part) and one.id == "experts":
            found |= {*one.before}
    yield from sorted({" ".join(words.split()) for words in found if words}, key=len, reverse=True)


def other_words(rendered: Rendered) -> list[tuple[str, str]]:
    """Where pages say audit or target: the template, and the words with those around them."""
    found = []
    for name, context, text in rendered:
        if name in IN_OTHER_WORDS:
            continue
        said = visible(text)
        for known in (*known_sentences(context["page"]), *SAID_ANYWAY):
            said = said.replace(known, "")
        found += [(name, said[max(0, word.start() - 40) : word.end() + 40]) for word in TERMS_NEEDED.finditer(said)]
    return found


def look(office: Office) -> None:
    """All pages, by everyone who may see them."""
    paths = [path for method, path in routes(office.app) if method == "GET" and "{" not in path]
    for name in office.people:
        browser = office.browser(name)
        for path in [*paths, *(f"/round/decisions/{kind}" for kind in DECISIONS), "/import/channels?hotline=hotline"]:
            browser.get(path)
    administrator = office.browser("Ada")
    for name in office.people:
        assert administrator.get(f"/people/id-{name}/disable").status_code == 200
    administrator.post("/people/id-Ida/disable", {})
    assert administrator.get("/people/id-Ida/remove").status_code == 200
    administrator.post("/people/id-Ida/enable", {})
    assert administrator.get("/people/id-Otto/reset").status_code == 200
    administrator.post("/tokens/new", {"name": "machine", "scope": "status"})
    (token,) = re.findall(r"/tokens/\w+/revoke", administrator.get("/tokens").text)
    assert administrator.get(token).status_code == 200
    assert administrator.post("/hotlines/new", {"name": "north", "person": "id-Ida"}).status_code == 200


def decide(office: Office) -> None:
    """By hand: nothing chosen, all chosen, and recorded."""
    otto, anna = office.browser("Otto"), office.browser("Anna")
    for kind, chosen in DECISIONS.items():
        for typed in (WHY, WHY | chosen, WHY | chosen | {"independent": "no"}):
            otto.post(f"/round/decisions/{kind}", typed)
    assert otto.decide("override", WHY | DECISIONS["override"]).status_code == 303
    details = {"contact": "office@example.org", "hotline": "https://example.org", "independent": "yes"}
    assert otto.post("/round/decisions/details", details).status_code == 200
    for browser in (otto, anna):
        browser.get("/round")
        browser.get("/round/pending")
    assert anna.confirm_decision().status_code == 303


def bring_reports(office: Office) -> None:
    """By hand and from files, with mistakes."""
    anna, ida = office.browser("Anna"), office.browser("Ida")
    for browser in (anna, ida):
        assert browser.enter("Ash Mill", 2, report_class="minor").status_code == 200
        assert browser.enter("Elsewhere", 2, report_class="minor").status_code == 422
        browser.post("/report/find", {"target": "Mill"})
        page = preview(browser, FILE + b"4,north\n", b"channel,target,class\nAsh Mill,Ash Mill,minor\n")
        assert page.status_code == 200
        browser.post("/import/channels", {"hotline": "hotline", "channel-0": "x", "choice-0": "is:Elsewhere"})
    anna.post("/import/confirm", {"pending": pending_on(preview(anna).text), "step": "count"})
    anna.enter("Ash Mill", 1, report_class="danger")
    anna.post("/emergencies/ask", {"target": "Ash Mill", "class": "danger"})
    anna.counts()
    anna.counts(find="Mill", start="0")


def go_through(office: Office, **settings: Any) -> None:
    """A round from its reports to its record."""
    office.begin(terms=TERMS, classes=CLASSES, **settings)
    look(office)
    bring_reports(office)
    decide(office)
    look(office)
    office.clock.tomorrow()
    otto = office.browser("Otto")
    otto.get("/round/close")
    otto.post("/round/close", {"round": "1"})
    otto.post("/work-list", {"audit": "1 Ash Mill", "day": "2026-01-06"})
    otto.post("/work-list/find", {"find": "Mill"})
    otto.post("/transcript/find", {"find": "Mill"})
    look(office)
    stranger = office.browser()
    stranger.sign_in("Otto", code="000000")
    assert stranger.sign_in("Otto").status_code == 200  # is told of it


@pytest.mark.parametrize(
    ("settings", "unseen"),
    [
        ({}, {"frozen.html"}),
        (
            {"targets": (*TARGETS, *(f"Depot {number}" for number in range(60))), "cooldown": 1, "max_gap": 70},
            {"frozen.html"},
        ),
        ({"randomness": Dice("The town hall"), "reveal_after": 1, "most_counted": 20, "weights": "forecast"}, set()),
    ],
)
def test_no_page_says_audit_or_target_where_the_office_does_not(
    office: Office, rendered: Rendered, settings: dict[str, Any], unseen: set[str]
) -> None:
    go_through(office, **settings)
    assert other_words(rendered) == []
    assert {name for name, *_ in rendered} >= SHOWN.keys() - BEFORE_A_PROGRAMME - BEFORE_SIGNING_IN - unseen


@pytest.mark.parametrize(
    ("template", "planted"),
    [
        ("work_list.html", "{% block title %}All audits{% endblock %}"),
        ("pending_decisions.html", '{% block content %}<input placeholder="Name of the target">{% endblock %}'),
    ],
)
def test_the_check_finds_a_word_that_is_written_in_a_template(
    office: Office, rendered: Rendered, monkeypatch: pytest.MonkeyPatch, template: str, planted: str
) -> None:
    templates = rendering._templates()
    original, changed = templates.get_template, templates.from_string(f'{{% extends "base.html" %}}{planted}')
    changed.name = template
    monkeypatch.setattr(templates, "get_template", lambda name, *a: changed if name == template else original(name, *a))
    office.begin(terms=TERMS, classes=CLASSES)
    otto = office.browser("Otto")
    otto.get("/work-list")
    otto.get("/round/pending")
    assert {name for name, _ in other_words(rendered)} == {template}


def test_the_check_finds_what_the_office_itself_wrote(office: Office, rendered: Rendered) -> None:
    programme = office.begin(terms=TERMS, classes=CLASSES)
    programme.override(["Ash Mill"], "An audit of a target.", independent=True)
    office.browser("Otto").get("/transcript")
    assert {name for name, _ in other_words(rendered)} == {"transcript.html"}
