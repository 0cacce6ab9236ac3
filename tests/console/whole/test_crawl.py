"""Every link and every form of every page leads somewhere, for each role, before a programme, in it and after it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from tests.console.offices import CLASSES, Browser, Office

from deniable.console import rendering
from deniable.console.refusals import HEADINGS
from deniable.programme.randomness.source import Dice

OTHERS = ("https://", "otpauth://")
"""Addresses that lead out of the console."""
OLD_FORM = "the form was too old"
"""What is said of a form without a token, after it was found to be there and to be this role's."""


@dataclass
class Page(HTMLParser):
    """What a page leads to."""

    links: list[str] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {given["id"] or ""} if "id" in given else set()
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag == "form":
            self.forms.append(given.get("action") or "")
        if given.get("formaction"):
            self.forms.append(given["formaction"] or "")


def faults(browser: Browser, first: str = "/") -> Iterator[str]:
    """What is wrong with any page that can be reached from this one."""
    waiting, pages, tried = [first], dict[str, Page | None](), set[str]()
    while waiting:
        address = waiting.pop()
        if address in pages:
            continue
        answer = browser.get(address, follow_redirects=True)
        pages[address] = page = read(answer)
        if answer.status_code != 200:
            yield f"{address} answers {answer.status_code}"
        elif answer.url.path == "/login":
            yield f"{address} leads to the sign-in page"
        elif page is not None and set(re.findall("<h1>(.*?)</h1>", answer.text)) & {*map(str, HEADINGS.values())}:
            yield f"{address} is an error"
        links = [] if page is None else [link for link in page.links if not link.startswith(OTHERS)]
        waiting += [urljoin(str(answer.url), link).partition("#")[0] for link in links]
        for action in set() if page is None else {urljoin(str(answer.url), form) for form in page.forms} - tried:
            tried.add(action)
            refused = browser.client.post(action.partition("#")[0], data={"a": "b"})
            if refused.status_code != 403 or OLD_FORM not in refused.text:
                yield f"the form to {urlsplit(action).path} answers {refused.status_code}"
    yield from missing_headings(pages)


def read(answer: Any) -> Page | None:
    """None where it is a file."""
    if not answer.headers.get("content-type", "").startswith("text/html"):
        return None
    page = Page()
    page.feed(answer.text)
    return page


def missing_headings(pages: dict[str, Page | None]) -> Iterator[str]:
    for address, page in pages.items():
        for link in [] if page is None else page.links:
            there, _, heading = urljoin(address, link).partition("#")
            found = pages.get(there)
            if heading and found is not None and heading not in found.ids:
                yield f"{address} leads to {link}, which has no such place"


def begun(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 2}, report_class="danger")
    office.clock.tomorrow()
    programme.close_round()
    programme.publish(office.public)


def frozen(office: Office) -> None:
    programme = office.begin(randomness=Dice("The town hall"))
    office.clock.tomorrow()
    programme.close_round()
    office.clock.now += timedelta(days=1)


def ended(office: Office) -> None:
    programme = office.begin()
    programme.publish(office.public)
    programme.end("It is over.")


def nothing(_: Office) -> None:
    """Before there is a programme."""


@pytest.mark.parametrize("name", ["Ada", "Otto", "Ida", "Anna"])
@pytest.mark.parametrize("state", [nothing, begun, frozen, ended])
def test_every_link_and_every_form_leads_somewhere(office: Office, name: str, state: Callable[[Office], None]) -> None:
    state(office)
    assert [*faults(office.browser(name))] == []


def test_strangers_too(office: Office) -> None:
    assert {*faults(office.browser(), "/login")} == {
        "/login leads to the sign-in page",
        "http://testserver/login leads to the sign-in page",
    }


@pytest.mark.parametrize(
    ("href", "found"),
    [
        ("/nowhere", "answers 404"),
        ("/plan", "answers 403"),
        ("/health#nowhere", "no such place"),
    ],
)
def test_a_planted_link_is_found(office: Office, monkeypatch: pytest.MonkeyPatch, href: str, found: str) -> None:
    begun(office)
    monkeypatch.setattr(rendering, "NAVIGATION", (*rendering.NAVIGATION, ("round", href, "Planted")))
    assert found in " ".join(faults(office.browser("Otto")))


def test_a_planted_form_is_found(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(office)
    for page, action in (("account.html", "/account/nowhere"), ("account.html", "/people/invite")):
        planted = plant(monkeypatch, page, action)
        assert any(action in fault for fault in faults(planted(office)))
        monkeypatch.undo()


def plant(monkeypatch: pytest.MonkeyPatch, name: str, action: str) -> Callable[[Office], Browser]:
    def render(*args: Any, **options: Any) -> Any:
        answer = original(*args, **options)
        answer.body = bytes(answer.body).replace(b'action="/account/sign-out"', f'action="{action}"'.encode())
        answer.init_headers()
        return answer

    original = rendering.render
    monkeypatch.setattr(f"deniable.console.pages.{name.removesuffix('.html')}.render", render)
    return lambda office: office.browser("Otto")
