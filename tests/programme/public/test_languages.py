"""The public folder in several languages: a page and a calendar in each, and each of them is checked."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.console.whole.browsers import chromium
from tests.languages.pseudo import Accented, pseudo
from tests.languages.translated import translated
from tests.programme.public.published import NAMES, chained, drawn, made, skip
from tests.programme.public.test_page import PAGES, VOID, Outline, eventful
from tests.programme.public.test_publish import FILES, lines_of, published, signed

from deniable.languages.language import language
from deniable.languages.voice import Voice
from deniable.programme.parameters import Parameters
from deniable.programme.public.calendar_file import calendar_file
from deniable.programme.public.certificate import certificate
from deniable.programme.public.folder import published_names
from deniable.programme.public.page import render
from deniable.programme.public.publish import contents
from deniable.programme.public.verify import verify
from deniable.programme.transcript.replay import replay

NOW = datetime(2026, 1, 13, tzinfo=UTC)
SAID = [drawn(1, NAMES[0])]
TWO = ("index.html", "index.ar.html", "calendar.ics", "calendar.ar.ics")

NAMES_AND_FIGURES = {"bdi", "code", "pre", "style", "time"}
READ_OUT = ("alt", "aria-label", "placeholder", "title")
IN_THE_RECORD = re.compile("entry-[0-9]+|waiting")
"""What the entries of the record say; they have tests of their own."""


class Plain(HTMLParser):
    """Text of a page that no voice said: outside all brackets of the pseudo-language."""

    def __init__(self, page: str, names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.found: list[str] = []
        self._names = names
        self._open: list[tuple[str, bool]] = []
        self._depth = 0
        self.feed(page)
        assert self._depth == 0, "a sentence has no end"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_name = tag in NAMES_AND_FIGURES or given.get("class") in ("name", "hash")
        is_name |= "lang" in given and tag != "html"
        in_the_record = IN_THE_RECORD.fullmatch(given.get("id") or "") is not None
        if tag not in VOID or tag == "line":
            self._open.append((tag, is_name or in_the_record or any(left for _, left in self._open)))
        if not self._is_left:
            for name in READ_OUT:
                self._look(given.get(name) or "[]")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if not self._is_left:
            self._look(data)

    @property
    def _is_left(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _look(self, text: str) -> None:
        for name in self._names:
            text = text.replace(name, "")
        outside = ""
        for letter in text:
            self._depth += (letter == "[") - (letter == "]")
            outside += letter if self._depth == 0 else ""
        if re.search("[^\\W\\d_]", outside):
            self.found.append(outside.strip())


class AllBut(Accented):
    """A catalogue that one sentence was forgotten in."""

    def __init__(self, forgotten: str) -> None:
        self._forgotten = forgotten

    def __getitem__(self, text: str) -> tuple[str, ...]:
        if text == self._forgotten:
            raise KeyError(text)
        return super().__getitem__(text)


def plain_on(parameters: Parameters, text: str) -> list[str]:
    return Plain(text, (parameters.name, *parameters.targets)).found


@pytest.mark.parametrize("name", PAGES)
def test_a_voice_says_all_that_the_page_says(name: str) -> None:
    parameters, said = PAGES[name]()
    text = render(parameters, chained(parameters, said), None, Voice(pseudo(), parameters.terms))
    assert plain_on(parameters, text) == []


@pytest.mark.parametrize("forgotten", ["Check this record", "On this page", "{name}, round {round}: selected"])
def test_a_sentence_that_is_not_said_is_noticed(forgotten: str) -> None:
    """Negative control."""
    parameters, said = eventful()
    voice = Voice(replace(pseudo(), sentences=AllBut(forgotten)), parameters.terms)
    assert plain_on(parameters, render(parameters, chained(parameters, said), None, voice))


def test_a_voice_says_all_that_the_calendar_says() -> None:
    state = replay(made(), chained(made(), SAID))
    lines = calendar_file(state, Voice(pseudo())).decode().replace("\r\n ", "").split("\r\n")
    summaries = [line.partition(":")[2] for line in lines if line.startswith("SUMMARY")]
    assert len(summaries) > 10
    assert all(re.fullmatch(r"\[.*\]", summary) for summary in summaries)


def in_folder(folder: Path, *codes: str) -> Parameters:
    parameters = made(languages=codes)
    published(folder, SAID, parameters)
    return parameters


def test_a_voice_says_all_that_the_certificate_says(tmp_path: Path) -> None:
    parameters = in_folder(tmp_path, "en")
    found = certificate(verify(tmp_path, now=NOW), 1, Voice(pseudo()))
    text = re.sub("<bdi>|</bdi>", "", found.page)  # the facts stand in them whole
    assert plain_on(parameters, text) == []
    english = certificate(verify(tmp_path, now=NOW), 1, parameters.voice()).page
    assert plain_on(parameters, re.sub("<bdi>|</bdi>", "", english))


@pytest.fixture
def _arabic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    translated(monkeypatch, tmp_path / "catalogues", "de", "ar")


@pytest.mark.usefixtures("_arabic")
def test_a_folder_has_a_page_and_a_calendar_in_each_language() -> None:
    parameters = made(languages=("de", "en", "ar"))
    lines = lines_of(chained(parameters, SAID))
    files = contents(parameters, lines, signed(parameters, lines))
    pages = {"index.html": "de", "index.en.html": "en", "index.ar.html": "ar"}
    calendars = ["calendar.ics", "calendar.en.ics", "calendar.ar.ics"]
    assert list(files) == [*FILES[:-2], *calendars, *pages] == list(published_names(parameters))
    for name, code in pages.items():
        outline = Outline(files[name].decode())
        html = outline.named("html")[0]
        assert (html["lang"], html["dir"]) == (code, "rtl" if code == "ar" else "ltr")
        switch = outline.named("nav")[0]
        assert switch["class"] == "languages"
        assert switch["aria-label"] == parameters.voice(code)("Languages")
        others = [(link["href"], link["hreflang"]) for link in outline.named("a") if "lang" in link]
        assert others == [(file, other) for file, other in pages.items() if other != code]
        assert [one["lang"] for one in outline.named("span") if "aria-current" in one] == [code]
        assert all(language(one).locale.name in outline.text("header") for one in pages.values())
        calendar = name.replace("index", "calendar").replace("html", "ics")
        assert {link["href"] for link in outline.named("a") if str(link["href"]).endswith(".ics")} == {calendar}
        assert f"record//{code.upper()}\r\n".encode() in files[calendar]


@pytest.mark.usefixtures("_arabic")
@pytest.mark.parametrize(
    ("codes", "is_told", "is_linked"),
    [(("ar",), True, False), (("en",), False, False), (("ar", "en"), True, True)],
)
def test_a_page_that_was_not_reviewed_says_so(codes: tuple[str, ...], is_told: bool, is_linked: bool) -> None:
    parameters = made(languages=codes)
    text = render(parameters, chained(parameters, SAID), None, parameters.voice(codes[0]))
    told = text.partition('id="translation"')[2].partition("</div>")[0]
    assert bool(told) is is_told
    assert ('<a href="index.en.html" hreflang="en">' in told) is is_linked
    assert ('class="languages"' in text) is (len(codes) > 1)


def test_a_language_that_was_reviewed_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    translated(monkeypatch, tmp_path, "ar", reviewed=True)
    parameters = made(languages=("ar", "en"))
    assert 'id="translation"' not in render(parameters, [], None, parameters.voice("ar"))


@pytest.mark.usefixtures("_arabic")
def test_every_file_is_compared(tmp_path: Path) -> None:
    folder = tmp_path / "public"
    in_folder(folder, "en", "ar")
    found = verify(folder, now=NOW)
    assert {**found.pages, **found.calendar_files} == dict.fromkeys(TWO, "matches")
    assert (found.warnings, found.missing) == ((), ())
    for name in TWO:
        file = folder / name
        kept = file.read_bytes()
        file.write_bytes(kept.replace(b"2026", b"2027", 1))
        found = verify(folder, now=NOW)
        assert [one for one, state in {**found.pages, **found.calendar_files}.items() if state == "differs"] == [name]
        (warning,) = found.warnings
        assert warning.startswith(f"{name} is not the ")
        file.unlink()
        found = verify(folder, now=NOW)
        assert ({**found.pages, **found.calendar_files}[name], found.missing) == ("missing", (name,))
        file.write_bytes(kept)


@pytest.mark.usefixtures("_arabic")
def test_a_page_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    in_folder(tmp_path / "public", "en", "ar")
    (tmp_path / "public" / "index.ar.html").write_bytes((tmp_path / "public" / "index.html").read_bytes())
    assert verify(tmp_path / "public", now=NOW).pages == {"index.html": "matches", "index.ar.html": "differs"}


def test_names_are_set_apart_as_the_language_does() -> None:
    gone = {"added": (), "removed": NAMES[:2], "reason": "moved", "independent": True, "during": 1}
    parameters = made(languages=("en", "fr", "ar"))
    entries = chained(parameters, [("targets", 1, gone)])
    first, second = (f"<bdi>{name}</bdi>" for name in NAMES[:2])
    for code, between in (("en", "; "), ("fr", "\u00a0; "), ("ar", "؛ ")):
        assert f"{first}{between}{second}" in render(parameters, entries, None, parameters.voice(code)), code


def test_a_round_without_a_draw_has_words_of_no_gender() -> None:
    """Whatever the office calls its targets."""
    parameters = made(languages=("es", "en"))
    text = render(parameters, chained(parameters, [skip(1)]), None, parameters.voice("es"))
    assert '<span class="muted">sin sorteo</span>' in text


WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.mark.long
@pytest.mark.usefixtures("_arabic")
def test_a_page_from_right_to_left_in_a_browser(tmp_path: Path) -> None:
    """On a phone: nothing is cut off, text begins on the right, and the chart still goes from left to right."""
    parameters, said = eventful()
    parameters = made(targets=parameters.targets, name=parameters.name, reports_per_person=3, languages=("ar", "en"))
    published(tmp_path / "public", said, parameters)
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 390, "height": 844})
        boxes = {}
        for name in ("index.html", "index.en.html"):
            tab.goto((tmp_path / "public" / name).as_uri())
            assert not tab.evaluate(WIDER)
            bar = tab.locator(".box").first.evaluate("one => getComputedStyle(one).borderRightWidth")
            ticks = tab.locator(".tick").evaluate_all("all => all.map(one => one.getBoundingClientRect().x)")
            skip = tab.locator("h1").evaluate("one => getComputedStyle(one).direction")
            boxes[name] = (bar != "0px", ticks == sorted(ticks) and len(ticks) > 1, skip)
        assert boxes["index.html"] == (True, True, "rtl")
        assert boxes["index.en.html"][1:] == (True, "ltr")


def test_what_people_typed_does_not_change_places_in_a_sentence_from_right_to_left() -> None:
    """Between Arabic words the number would be read as 01 555 30 49+, and the name as Lane 24."""
    name = "24 Lane"
    gone = {"reason": "moved", "independent": True, "during": 1}
    said: list[tuple[str, int, dict[str, Any]]] = [
        ("details", 1, {"contact": "+49 30 555 01", "hotline": None, "day": "2026-01-05", "reason": None}),
        ("renamed", 1, {"target": NAMES[0], "name": name, **gone}),
        drawn(1, name),
        ("not-carried-out", 2, {"of": 1, "target": name, **gone, "during": 2}),
    ]
    parameters = made(languages=("ar", "de"))
    pages = {code: render(parameters, chained(parameters, said), None, parameters.voice(code)) for code in ("ar", "de")}
    headings = {code: re.findall("<(?:p|strong)><bdi>(.*?)</bdi></", page) for code, page in pages.items()}
    assert len(headings["ar"]) == len(headings["de"]) == 3
    for heading, typed in zip(reversed(headings["ar"]), ("+49 30 555 01", name, name), strict=True):
        assert f"\u2068{typed}\u2069" in heading.replace("\N{NO-BREAK SPACE}", " ")
    assert "\u2068" not in pages["de"]
