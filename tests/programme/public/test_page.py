"""The public page: what it says, that anybody can read it, and that nothing else gets into it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from markupsafe import escape
from tests.programme.public.published import (
    NAMES,
    RECIPIENT,
    START,
    Said,
    chained,
    drawn,
    drawn_with,
    fresh,
    frozen,
    made,
    programmes,
    revealed,
    selected,
    skip,
)
from tests.programme.randomness.own_chain import OwnChain

from deniable.errors import DeniableError
from deniable.languages.language import Terms
from deniable.languages.voice import plain
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public import page
from deniable.programme.public.check_table import CHECKS, NOT_HERE
from deniable.programme.public.promise import promise_of
from deniable.programme.public.rules_in_words import facts_of
from deniable.programme.public.situation import Situation
from deniable.programme.public.timeline import MOST_MARKS, MOST_ROWS, shortened, timeline
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import FrozenDraw
from deniable.programme.transcript.outcomes import present_names
from deniable.programme.transcript.replay import replay
from deniable.report_classes import ONE_CLASS, ReportClass

A, B, C, D = NAMES
HOSTILE = "<script>alert('1')</script>\" & {{ 7 * 7 }}"
VOID = {"meta", "link", "rect", "line", "path", "circle", "wbr"}


def rendered(parameters: Parameters, said: Iterable[Said] = ()) -> str:
    entries = chained(parameters, said)
    return page.render(parameters, entries, None, parameters.voice())


def override(number: int, *audits: str, independent: bool = True, reason: str = "a court ordered it") -> Said:
    return "override", number, {"audits": audits, "reason": reason, "independent": independent, "during": number}


def eventful() -> tuple[Parameters, list[Said]]:
    """One entry of every kind, with the worst names and reasons."""
    parameters = made(targets=(A, B, C, HOSTILE), name=f"Ports {HOSTILE}", reports_per_person=3)
    ok = {"reason": HOSTILE, "independent": True}
    restored = {"complete": True, "during": 5, "reason": HOSTILE}
    return parameters, [
        drawn(1, HOSTILE),
        drawn(2, A, late=5, reason=f"late {HOSTILE}"),
        ("not-carried-out", 3, {"of": 1, "target": HOSTILE, "during": 3} | ok),
        override(3, B, independent=False, reason=HOSTILE),
        ("carried-out", 3, {"of": 2, "target": A, "day": "2026-01-20", "during": 3, "reason": None}),
        ("renamed", 3, {"target": HOSTILE, "name": f"Delft {HOSTILE}", "during": 3} | ok),
        ("details", 3, {"contact": HOSTILE, "hotline": f"Room 7 {HOSTILE}", "day": "2026-01-20", "reason": None}),
        drawn(3, A),
        skip(4, late=1, during=5, **ok),
        ("targets", 5, {"added": (f"new {HOSTILE}",), "removed": (C,), "during": 5} | ok),
        ("recovery", 5, {"lost": 3, "commitment": fresh(500), "paused": True, "inputs_lost": False, **restored}),
        drawn(5, f"new {HOSTILE}"),
        ("end", 6, {"reason": HOSTILE}),
    ]


class Outline(HTMLParser):
    """What the page consists of; refuses tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID or tag == "line":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in tags]

    def text(self, inside: str = "body") -> str:
        return " ".join("".join(data for where, data in self.texts if inside in where).split())


def long_programme() -> tuple[Parameters, list[Said]]:
    names = tuple(f"depot {number}" for number in range(60))
    return made(targets=names), [drawn(number, names[number % 50]) for number in range(1, 131)]


def figures() -> tuple[Parameters, list[Said]]:
    parameters = made(calendar=Calendar(START, "12M", "UTC"), yearly_figures_delta=0.02)
    said = {"year": 2027, "reports": [["report", 31]], "in_all": 31, "deviation": 20, "complete": True}
    return parameters, [drawn(1, B), ("figures", 2, {**said, "sealed": None, "reason": None})]


PAGES: dict[str, Callable[[], tuple[Parameters, list[Said]]]] = {
    "empty": lambda: (made(), []),
    "eventful": eventful,
    "long": long_programme,
    "figures": figures,
    "overseen": lambda: (made(oversight=RECIPIENT), [drawn(1, B, sealed=fresh(-1))]),
}


def unannounced() -> tuple[Parameters, list[Said]]:
    """The names of rounds 3 and 4 are hidden, those of 1 and 2 are not; target A was ordered in round 2."""
    said = [selected(1, A), override(2, A), selected(2, B), selected(3, C), revealed(4, 1, A), selected(4, D)]
    return made(reveal_after=2), [*said, revealed(5, 2, B)]


PAGES["unannounced"] = unannounced
CLASSES = (ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None))

PUBLIC_VALUES = made(randomness=Drand())
DICE = made(randomness=Dice(f"the hall {HOSTILE}"), targets=(A, B, C, HOSTILE))
SIGNATURE = "ab" * 48
THROWN = " ".join("123456" * 7)[: 2 * 39 - 1]


def restored(round_: int) -> Said:
    """The office lost what the frozen round was to be drawn from."""
    said = {"lost": 1, "commitment": fresh(500), "paused": False, "complete": True, "during": round_}
    return "recovery", round_, said | {"inputs_lost": True, "reason": "the disk broke"}


def frozen_rounds_of_all_states() -> tuple[Parameters, list[Said]]:
    """Round 1 was drawn with its value, 2 without it, 3 is never drawn, and 4 waits."""
    parameters = PUBLIC_VALUES
    return parameters, [
        *(frozen(1, parameters), drawn_with(1, SIGNATURE, B), frozen(2, parameters)),
        *(override(3, A), drawn_with(2, None, C, reason=f"no network {HOSTILE}")),
        *(frozen(3, parameters), restored(4), frozen(4, parameters)),
    ]


def thrown() -> tuple[Parameters, list[Said]]:
    """Round 1 was drawn with numbers at a place with the worst name; round 2 waits."""
    draw = drawn_with(1, THROWN, HOSTILE, time="2026-01-12T00:05:00Z")
    return DICE, [frozen(1, DICE), draw, frozen(2, DICE)]


PAGES |= {"frozen": frozen_rounds_of_all_states, "thrown": thrown}


@pytest.fixture(params=PAGES)
def outline(request: pytest.FixtureRequest) -> Outline:
    return Outline(rendered(*PAGES[request.param]()))


def test_the_page_is_the_same_for_everybody(tmp_path: Path) -> None:
    """Another process, hash seed, locale, time zone and folder: the same bytes."""
    script = (
        "import sys; from tests.programme.public.test_page import eventful, rendered;"
        "sys.stdout.buffer.write(rendered(*eventful()).encode())"
    )
    elsewhere = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONPATH": str(Path(__file__).parents[3])}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | elsewhere, cwd=tmp_path, capture_output=True, check=True
    )
    assert ran.stdout.decode() == rendered(*eventful())


@settings(max_examples=25, deadline=None)
@given(made_=programmes())
def test_every_programme_has_a_page(made_: tuple[Parameters, list[Entry]]) -> None:
    parameters, entries = made_
    outline = Outline(page.render(parameters, entries, None, parameters.voice()))
    rows = [attributes["id"] for attributes in outline.named("tr") if "id" in attributes]
    shown = [entry.number for entry in entries if not isinstance(entry, FrozenDraw)]  # it is in the row of its round
    assert rows == [f"entry-{number}" for number in reversed(shown)]


def test_names_and_reasons_are_text() -> None:
    text = rendered(*eventful())
    outline = Outline(text)
    assert "<script" not in text.lower()
    assert "alert('1')" not in text
    assert HOSTILE in outline.text("h1")
    assert outline.text("main").count(HOSTILE) > 5
    assert "49" not in outline.text("h1")


def test_no_scripts_and_nothing_from_elsewhere(outline: Outline) -> None:
    assert not outline.named("script", "iframe", "object", "embed", "img", "form", "base")
    for _, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "srcset")]
    links = {attributes["href"] for _, attributes in outline.tags if "href" in attributes}
    files = {"VERIFY.md", "calendar.ics", "checkpoint", "transcript.jsonl", "programme.json", "public_key.pem"}
    assert {link for link in links if link and not link.startswith("#")} == files | {"data:,"}
    style = outline.text("style")
    assert "url(" not in style
    assert "@import" not in style
    policy = next(meta["content"] for meta in outline.named("meta") if "http-equiv" in meta)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_links_lead_somewhere(outline: Outline) -> None:
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = [
        str(attributes["href"])[1:] for _, attributes in outline.tags if str(attributes.get("href", ""))[:1] == "#"
    ]
    wanted += [name for _, attributes in outline.tags for name in (attributes.get("aria-labelledby") or "").split()]
    assert set(wanted) <= set(ids)


def test_a_screen_reader_finds_its_way(outline: Outline) -> None:
    assert outline.named("html")[0]["lang"] == "en"
    assert [tag for tag, _ in outline.tags if tag in ("header", "nav", "main", "footer")] == [
        "header",
        "nav",
        "main",
        "footer",
    ]
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert len(outline.named("caption")) == len(outline.named("table"))
    assert all(cell["scope"] in ("row", "col") for cell in outline.named("th"))
    pictures = [svg for svg in outline.named("svg") if svg.get("aria-hidden") != "true"]
    assert all(svg["role"] == "img" and svg["aria-labelledby"] for svg in pictures)


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as the accessibility guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_measured_right() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") < 4.5 < contrast("#767676", "#ffffff")


def test_text_can_be_read_in_light_dark_and_print() -> None:
    style = Outline(rendered(made())).text("style")
    schemes = [dict(re.findall(r"--(\w+): (#\w+);", block)) for block in re.findall(r":root \{(.*?)\}", style)]
    assert len(schemes) == 3
    for scheme in schemes:
        full = {name: c if len(c) == 7 else "#" + "".join(2 * digit for digit in c[1:]) for name, c in scheme.items()}
        for surface in ("page", "raised", "soft", "good", "warn", "bad"):
            for text in ("ink", "muted", "link", *(["wrong"] if surface == "bad" else [])):
                assert contrast(full[text], full[surface]) >= 4.5, (text, surface)
        for mark in ("drawn", "hand", "uncovered"):
            assert contrast(full[mark], full["page"]) >= 3, mark


def test_an_empty_programme_says_what_comes_first() -> None:
    text = Outline(rendered(made())).text()
    assert "No round has been closed yet. The first draw is due on Monday 12 January 2026, 00:00" in text
    assert "Does the promise hold now?yes, for all reports" in text
    assert made().digest in text


def test_the_guarantee_is_there_in_full() -> None:
    parameters, said = eventful()
    outline = Outline(rendered(parameters, said))
    state = replay(parameters, chained(parameters, said))
    promise = promise_of(parameters, Situation.after(state), parameters.voice())
    for part in (*promise.parts, promise.experts):
        for sentence in (*part.before, *(item.text for item in part.items), *part.after):
            assert sentence in outline.text("main")
    assert promise.first in outline.text("main")
    for sentence in parameters.guarantee().statements(parameters.voice()):
        assert sentence in outline.text("main")
    header = outline.text("header")
    assert all(paragraph in header for paragraph in promise.warnings[1].paragraphs)
    assert "yes, for reports made from Monday 26 January 2026, 00:00 (Europe/Berlin time) on" in header
    assert "In the record: entry 4." in header


def test_a_guarantee_that_promises_nothing_is_not_called_one() -> None:
    outline = Outline(rendered(made(delta=0.9999999)))
    assert "promises nothing" in outline.text("main")
    assert "no: there is none" in outline.text("header")
    assert "10,000 reports by one person" in Outline(rendered(made(reports_per_person=10_000))).text("main")


@pytest.mark.parametrize(
    ("delta", "sure", "coin"), [(0.1, "57 %", "55"), (0.31, "71 %", "65.5"), (0.99, "99.9 %", "99.5")]
)
def test_the_words_fit_the_number(delta: float, sure: str, coin: str) -> None:
    main = Outline(rendered(made(delta=delta))).text("main")
    assert f"50 % sure that you reported can become at most {sure}" in main
    assert f"is right at most {coin} times in 100" in main


def test_the_page_speaks_the_words_of_the_office() -> None:
    parameters, said = eventful()
    written = Outline(rendered(replace(parameters, terms=Terms("inspection", "company")), said))
    for part in ("h2", "nav", "caption", "header", "table"):
        assert not re.search(r"\b(audit|target|guarantee)", written.text(part), re.IGNORECASE), part
    assert "Inspections so far" in written.text("h2")
    assert "Companies" in written.text("h2")


def test_the_hotline_is_a_link_that_tells_it_nothing() -> None:
    told = {"contact": f"Room {HOSTILE}", "hotline": "https://hotline.example/report", "day": "2026-01-07"}
    text = rendered(made(), [("details", 1, told | {"reason": None})])
    assert '<a href="https://hotline.example/report" rel="noreferrer">' in text
    part = Outline(text).text("main")
    assert f"Room {HOSTILE}" in part
    assert "7 January 2026" in part
    assert "<script" not in text
    assert text.count("https://<wbr>hotline<wbr>.example/<wbr>report") == 3


def _facts(parameters: Parameters) -> dict[str, str]:
    return {fact.id: fact.text for fact in facts_of(parameters, parameters.voice())}


@pytest.mark.parametrize("delta", [0.1, 0.12345649, 0.03338864])
@pytest.mark.parametrize("settings", [{}, {"mechanism": "tca", "horizon": 100}], ids=["race", "tca"])
def test_the_delta_of_one_report_is_rounded_up(delta: float, settings: dict[str, Any]) -> None:
    parameters = made(delta=delta, reports_per_person=3, **settings)
    printed = Fraction(_facts(parameters)["level"].removeprefix("delta = "))
    assert Fraction(parameters.built().guarantee().delta) <= printed <= Fraction(repr(delta)) * Fraction("1.001")


@pytest.mark.parametrize(
    ("settings", "limits"),
    [({}, "None of these limits holds"), ({"mechanism": "tca", "horizon": 100}, "This limit does not hold")],
    ids=["race", "tca"],
)
def test_the_case_of_two_people_is_told(settings: dict[str, Any], limits: str) -> None:
    text = Outline(rendered(made(delta=0.1, **settings))).text("main")
    assert f"{limits} between two people" in text
    assert "which of the two it was by at most 10 points in 100" in text


def test_counter_auditing_has_no_limit_for_single_cases() -> None:
    said = "There is no limit for single cases"
    assert said in Outline(rendered(made(mechanism="tca", horizon=100))).text("main")
    assert said not in Outline(rendered(made())).text("main")


def test_an_oversight_body_is_among_what_is_not_protected() -> None:
    part = rendered(*PAGES["overseen"]()).partition('<section id="not-protected"')[2].partition("</section>")[0]
    assert "The oversight body." in part
    assert "The oversight body." not in rendered(made())


@pytest.mark.parametrize("oversight", [None, RECIPIENT])
def test_neither_page_says_that_a_number_cannot_be_chosen(oversight: str | None) -> None:
    parameters = made(oversight=oversight)
    for text in (Outline(rendered(parameters)).text("main"), " ".join(page.verify_text(parameters).split())):
        assert "until it likes" not in text
        assert "a dishonest office could try several numbers, see whom each would draw" in text


def test_it_says_first_where_not_to_read_it_and_only_once(outline: Outline) -> None:
    warned = "Do not read this page on a device or a network of your work."
    assert outline.text().count(warned) == 1
    assert outline.text("header").index(warned) < outline.text("header").index("?")


def test_the_card_says_what_one_report_changes_except_beside_the_box_of_a_lapse() -> None:
    held = (
        "yes, for all reports not lost so far; an order by hand can end the promise: see “What is not protected” If "
        "you report once, a boss"
    )
    for chosen, said, told in (
        ({}, [], held),
        ({"mechanism": "tca", "horizon": 100}, [], held),
        ({"delta": 0.9999999}, [], "no: there is none This programme promises nothing to you"),
        ({}, [drawn(1, A), override(2, B, independent=False)], "If you report once"),
        ({"mechanism": "tca", "horizon": 100}, [], "may become nearly sure. what it says"),
    ):
        header = Outline(rendered(made(**chosen), said)).text("header").replace("\N{NO-BREAK SPACE}", " ")
        assert (told in header) == (not said)


def test_the_card_says_what_rests_on_the_word_of_the_office() -> None:
    told = " For reports made before round 2 ends, it holds only if what the office declared is true:"
    assert told in Outline(rendered(made(), [drawn(1, A), override(2, B)])).text("header")
    lapse = override(3, B, independent=False)
    for said in ([drawn(1, A)], [override(1, B), drawn(1, A), drawn(2, A), lapse, drawn(3, A)]):
        assert "what the office declared is true" not in rendered(made(), said)


def test_the_box_of_a_lapse_has_the_reason_of_the_office() -> None:
    box = '<div class="box wrong">'
    for reason, shown in (("smoke & <b>fire</b>", "smoke &amp; &lt;b&gt;fire&lt;/b&gt;"), ("x" * 400, "x" * 299 + "…")):
        text = rendered(made(), [drawn(1, A), override(2, B, independent=False, reason=reason)])
        top = text[text.index(box) : text.index("</div>", text.index(box))]
        assert f"The office’s reason: <bdi>{shown}</bdi>" in top
    earlier, later = override(2, B, independent=False, reason="flood"), override(3, B, reason="a court")
    text = rendered(made(), [drawn(1, A), earlier, drawn(2, A), later])
    header = Outline(text).text("header")
    assert "The office’s reason: flood" in header
    assert "a court" not in header


def test_after_a_lapse_the_card_says_again_what_one_report_changes() -> None:
    said = [drawn(1, A), override(2, B, independent=False), drawn(2, A)]
    header = Outline(rendered(made(), said)).text("header")
    assert "yes, for new reports" in header
    assert "If you report once" in header


def test_the_box_of_the_end_has_the_reason_of_the_office() -> None:
    text = rendered(made(), [drawn(1, A), ("end", 2, {"reason": "a new <b>law</b>"})])
    top = text[text.index("This programme has ended.") : text.index("</div>", text.index("This programme has ended."))]
    assert "The office’s reason: <bdi>a new &lt;b&gt;law&lt;/b&gt;</bdi>" in top
    over = rendered(made(mechanism="tca", horizon=2), [drawn(1, A), drawn(2, B)])
    assert "This programme has ended." in over
    assert "The office’s reason" not in over


def test_a_newcomer_learns_what_a_target_and_a_round_are() -> None:
    known = made(terms=Terms("visit", "workplace"))
    for parameters, told in ((made(), True), (known, False)):
        header = Outline(rendered(parameters)).text("header")
        assert "A round is the time from one draw to the next." in header
        assert ("Targets are what the office can visit" in header) == told


def test_after_the_last_round_no_draw_is_foretold() -> None:
    parameters = made(mechanism="tca", horizon=2)
    for first in (drawn(1, A), skip(1)):
        said = [first, drawn(2, B)]
        header = Outline(rendered(parameters, said)).text("header")
        assert "none: the programme has ended" in header
        assert "round 3" not in header
        assert Situation.after(replay(parameters, chained(parameters, said))).is_over(parameters)
        with pytest.raises(DeniableError, match="the last round is closed"):
            replay(parameters, chained(parameters, [*said, drawn(3, C)]))


def test_after_the_last_round_the_page_asks_for_no_report() -> None:
    """As after the office ended the programme; unless a class of reports still leads to a visit."""
    said: list[Said] = [HOTLINE, drawn(1, A)]
    over, visited = (
        Outline(rendered(made(mechanism="tca", horizon=1, classes=classes), said)) for classes in (ONE_CLASS, CLASSES)
    )
    assert "https://hotline.example.org" not in over.text("header")
    assert "no more: the programme has ended" in over.text("header")
    assert "Reports do not count here any more" in over.text("main")
    assert "yes, for reports made before it ended an order by hand can end the promise" in over.text("header")
    assert "Can I take my report back?" not in over.text("main")
    assert "it deleted its numbers" not in over.text("main")
    assert "For round 2 the fingerprint is" not in over.text("main")
    assert not re.search("can be drawn|Do you want to report", over.text("header") + over.text("main"))
    assert "https://hotline.example.org" in visited.text("header")
    assert "Only a new report of class danger still leads to a visit." in visited.text("main")


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        ({}, [], "The promise stays for all reports made before the end."),
        ({"classes": CLASSES}, [], "What is promised about reports made before the end stays promised after it."),
        (
            {},
            [override(2, B, independent=False), drawn(2, C)],
            "What is promised about reports made before the end stays promised after it.",
        ),
    ],
)
def test_it_says_what_the_end_leaves_of_the_promise(settings: dict[str, Any], more: list[Said], words: str) -> None:
    assert words in Outline(rendered(made(**settings), [drawn(1, A), *more])).text("main")


def test_the_card_says_that_the_promise_was_never_lost_only_where_this_is_so() -> None:
    for independent in (True, False):
        text = Outline(rendered(made(), [override(1, B, independent=independent), drawn(1, A)])).text("header")
        assert ("not lost so far" in text) == independent


def test_a_last_round_that_is_frozen_is_still_to_be_drawn() -> None:
    parameters = made(mechanism="tca", horizon=2, randomness=PUBLIC_VALUES.randomness)
    said: list[Said] = [frozen(1, parameters), drawn_with(1, SIGNATURE, B), frozen(2, parameters)]
    now = Situation.after(replay(parameters, chained(parameters, said)))
    assert now.takes_no_more(parameters)
    assert not now.is_over(parameters)
    page = Outline(rendered(parameters, said))
    assert "Only the last draw is still to come." in page.text("header")
    assert "round 3" not in page.text("header")
    assert "has ended" not in page.text("header") + page.text("main")
    last = drawn_with(2, SIGNATURE, C)
    assert Situation.after(replay(parameters, chained(parameters, [*said, last]))).is_over(parameters)


def test_the_names_of_the_last_round_are_revealed_after_it() -> None:
    """A skipped round counts towards the horizon, and the names follow a round later than the last."""
    parameters = made(mechanism="tca", horizon=3, reveal_after=1)
    said = [selected(1, A, parameters=parameters), skip(2), revealed(3, 1, A)]
    said += [selected(3, B, parameters=parameters), revealed(4, 3, B), ("end", 4, {"reason": "it is over"})]
    assert replay(parameters, chained(parameters, said)).ended


def test_late_draws_are_counted_at_the_top() -> None:
    late = drawn(2, A, late=5, reason="flood")
    assert "draws so far: 2; late: 1" in Outline(rendered(made(), [drawn(1, A), late])).text("header")
    assert "draws so far" not in rendered(made(), [drawn(1, A), drawn(2, A)])


def test_the_chart_reaches_as_far_as_the_promise_is_lost() -> None:
    said = [drawn(1, A), override(2, B, independent=False)]
    chart = timeline(made(), chained(made(), said), holds_from=5, say=plain())
    assert (chart.rounds, chart.ticks[-1].round) == (4, 4)


def test_every_kind_of_entry_is_explained() -> None:
    text = Outline(rendered(*eventful())).text("main")
    for said in [
        "The round was closed 5 days late.",
        "The promise covers which targets were drawn, if no report was the reason for the delay.",
        "It does not cover the time of the draw.",
        f"The audit of {HOSTILE} in round 1 was not carried out",
        "(not carried out)",
        f"{A} visited on 20 January 2026",
        f"The audit of {A}, selected in round 2, took place on 20 January 2026",
        "not the day on which the office went there.",
        f"{HOSTILE} is called Delft {HOSTILE} from now on",
        f"Delft {HOSTILE} formerly {HOSTILE}",
        "Ordered by hand, outside the draw",
        "The promise does not cover reports filed in round 3 or earlier, that is, before Monday 26 January 2026, "
        "00:00 (Europe/Berlin time).",
        "The reports of this round count in the next draw, if there is one.",
        "The round was skipped, 1 day late",
        "The office says this had nothing to do with any report",
        f"Joined: new {HOSTILE}",
        f"Left: {C}",
        "The office restored its records from a backup",
        "The programme ended",
    ]:
        assert said in text
    assert "Next draw" in Outline(rendered(*eventful())).text("header")
    assert "none: the programme has ended" in Outline(rendered(*eventful())).text("header")


def test_an_audit_before_the_one_not_carried_out_stands() -> None:
    """The target was audited by hand and then drawn in the same round: the entry speaks of the later audit."""
    parameters = made()
    undone = {"of": 1, "target": A, "reason": "strike", "independent": True, "during": 2}
    said: list[Said] = [override(1, A), drawn(1, A), ("not-carried-out", 2, undone)]
    events = page.events_of(parameters, chained(parameters, said), parameters.voice())
    assert [[audited.carried_out for audited in event.audited] for event in events] == [[], [False], [True]]


def test_names_stand_in_the_row_of_their_round_once_they_are_public() -> None:
    parameters, said = unannounced()
    events = page.events_of(parameters, chained(parameters, said), parameters.voice())
    assert [[audited.name for audited in event.audited] for event in reversed(events)] == [
        [A],
        [A],
        [B],
        [],
        [],
        [],
        [],
    ]
    main = Outline(rendered(parameters, said)).text("main")
    assert "Selected. The names follow when round 5 is closed, due Monday 9 February 2026" in main
    assert "The names of round 1 are public" in main
    assert "names follow" in main
    assert "Who was selected when." in main
    assert "audited when" not in main
    header = Outline(rendered(parameters, said)).text("header")
    assert f"Latest names{B} in round 2" in header
    assert "The office publishes whom a draw selected 2 rounds later, whatever happened since" in header


def test_an_audit_by_hand_and_a_hidden_one_are_told_apart() -> None:
    """What was not carried out is what was public then."""
    parameters, decided = made(reveal_after=2), {"reason": "strike", "independent": True, "during": 2}
    by_hand: Said = ("not-carried-out", 2, {"of": 1, "target": A, **decided})
    said: list[Said] = [override(1, A), selected(1, A), by_hand, selected(2, B), selected(3, C), revealed(4, 1, A)]
    drawn_ = [*said, ("not-carried-out", 4, {"of": 1, "target": A, **decided, "during": 4})]
    for entries, carried_out in ((said, [[False], [True]]), (drawn_, [[False], [False]])):
        events = page.events_of(parameters, chained(parameters, entries), parameters.voice())
        assert [[audited.carried_out for audited in event.audited] for event in reversed(events)][:2] == carried_out
        chart = timeline(parameters, chained(parameters, entries), 1, say=plain())
        kinds = [mark.kind for mark in chart.rows[0].marks]
        assert kinds == (["missed", "drawn"] if entries is said else ["missed", "missed"])


def test_the_chart_has_hidden_rounds_and_names_in_their_place() -> None:
    parameters, said = unannounced()
    chart = timeline(parameters, chained(parameters, said), 1, say=plain())
    assert [[(mark.kind, mark.round) for mark in row.marks] for row in chart.rows] == [
        [("drawn", 1), ("hand", 2)],
        [("drawn", 2)],
        [],
        [],
    ]
    assert (len(chart.hidden), len(chart.skips), chart.rounds) == (2, 0, 4)


def row(text: str, entry: int) -> str:
    """The row of the record that begins with this entry, and the text in it."""
    return text.partition(f'id="entry-{entry}"')[2].partition("</tr>")[0].replace("\N{NO-BREAK SPACE}", " ")


HOTLINE: Said = (
    "details",
    1,
    {"contact": "Room 7", "hotline": "https://hotline.example.org", "day": "2026-01-05", "reason": None},
)


def test_an_ended_programme_asks_for_no_report() -> None:
    said = [HOTLINE, drawn(1, A)]
    running, ended = (
        Outline(rendered(made(targets=(A, B, C, D)), said + last)) for last in ([], [("end", 2, {"reason": "by law"})])
    )
    assert "https://hotline.example.org" in running.text("header")
    assert "Can I take my report back?" in running.text("main")
    assert "no more: the programme has ended" in ended.text("header")
    assert "Room 7" not in ended.text("header")
    assert "Room 7" in ended.text("main")
    assert "A report made an audit more likely" in ended.text("header")
    assert "Can I take my report back?" not in ended.text("main")
    assert "Do you want to report something" in running.text("header")
    assert "Did you report something" in ended.text("header")
    assert "Is my report deleted now?" in ended.text("main")
    assert "4 targets could be drawn when the programme ended." in ended.text("main")
    assert not re.search("can be drawn|Do you want to report", ended.text("header") + ended.text("main"))


def test_one_row_a_frozen_round_says_what_became_of_it() -> None:
    text = rendered(*frozen_rounds_of_all_states())
    rows = re.findall(r'<tr role="row" id="entry-(\d+)"( class="noted")?', text)
    assert rows == [("8", ""), ("7", ' class="noted"'), ("6", ' class="noted"'), ("4", ' class="noted"'),
                    ("3", ' class="noted"'), ("1", "")]  # fmt: skip
    for entry, words in {
        1: ("entries 1, 2", B, "Drawn with drand’s beacon", SIGNATURE),
        3: ("entries 3, 5", C, "Drawn without its public value", "no network", "could know the result"),
        6: ("no draw", "never drawn", "entry 7"),
        8: ("not drawn yet", "Frozen; drawn with drand’s beacon", "2 February 2026, 00:00 UTC"),
    }.items():
        for word in words:
            assert word in row(text, entry), word
    assert "<script" not in text


def test_a_round_that_waits_stands_at_the_top_and_what_went_wrong_stays() -> None:
    parameters, said = frozen_rounds_of_all_states()
    header = Outline(rendered(parameters, said)).text("header")
    assert "Round 4 was frozen on 2 February 2026" in header
    assert "without it from 9 February 2026, 00:00 UTC on" in header
    assert "Next drawround 4, 2 February 2026, 00:00 UTC" in header
    later = [drawn_with(4, SIGNATURE, D)]
    for number in range(5, 60):
        later += [frozen(number, parameters), drawn_with(number, SIGNATURE, NAMES[number % 4])]
    text = rendered(parameters, [*said, *later])
    assert 'id="entry-3"' not in text
    assert "Drawn without its public value: round 2." in text
    assert "Frozen, and never drawn: round 3." in text
    assert "was frozen on" not in text
    assert "the latest 40 of 119 entries" in text
    assert "Show 60 earlier entries" in text
    assert "The record has 19 entries before these" in text


def test_only_of_values_that_nobody_knows_in_advance_it_is_said_that_the_office_cannot_choose() -> None:
    for source in (Drand(), DICE.randomness, Drand(OwnChain().chain)):
        text = Outline(rendered(made(randomness=source))).text("main")
        is_own = source == Drand(OwnChain().chain)
        assert ("So the office cannot look for a" in text) is not is_own
        assert text.count("An office that knows them can look for a result that it likes,") == 2 * is_own


def test_numbers_that_people_threw_have_their_place_and_time() -> None:
    text = Outline(rendered(*thrown())).text("main")
    assert f"on 12 January 2026, 00:05 UTC: the hall {HOSTILE}" in text
    assert THROWN in text


def test_names_of_a_frozen_round_follow_in_its_row() -> None:
    parameters = made(randomness=Dice("the hall"), reveal_after=1)
    at = {"time": "2026-01-12T00:05:00Z"}
    _, _, names = selected(1, B, parameters=parameters)
    hidden = {name: names[name] for name in ("names", "capsule", "public_after")}
    draw = {"of": 1, "value": THROWN, **at, "reason": None, **hidden}
    said: list[Said] = [frozen(1, parameters), ("drawn hidden", 2, draw), frozen(2, parameters)]
    for public in (False, True):
        entries = chained(parameters, [*said[:2], *([said[2], revealed(3, 1, B)] if public else [])])
        first = page.events_of(parameters, entries, parameters.voice())[-1]
        assert (first.kind, first.n_entries, first.is_noted) == ("freeze", 2, False)
        assert [one.name for one in first.audited] == ([B] if public else [])
        assert ("names follow" in first.effect) is not public
        chart = timeline(parameters, entries, 1, say=plain())
        assert (len(chart.hidden), len(chart.waiting)) == ((0, 1) if public else (1, 0))


def test_the_chart_does_not_call_a_frozen_round_skipped() -> None:
    parameters, said = frozen_rounds_of_all_states()
    chart = timeline(parameters, chained(parameters, said), 1, say=plain())
    assert [len(spans) for spans in (chart.skips, chart.hidden, chart.waiting, chart.undrawn)] == [0, 0, 1, 1]
    assert chart.undrawn[0].x == "16.67%"
    assert chart.waiting[0].x == "25%"
    assert [[mark.round for mark in row.marks] for row in chart.rows] == [[3], [1], [2], []]


@pytest.mark.parametrize("parameters", [made(), PUBLIC_VALUES, DICE], ids=["none", "drand", "dice"])
def test_the_page_says_who_can_check_what(parameters: Parameters) -> None:
    part = rendered(parameters).partition('<section id="who"')[2].partition("</section>")[0]
    values = parameters.randomness is not None
    for check in CHECKS:
        to = check.of(values=values, witnesses=False).to
        assert (plain()(check.what) in part) == (to not in NOT_HERE)
        assert (to in NOT_HERE) or ("oversight body" in to.text) or (escape(to.text) in part)
    assert part.count("no one here") >= (3 if values else 1)
    assert "oversight replay</code>" not in part
    assert "verify --witness</code>" in part
    assert "With witnesses" in part
    assert "named no oversight body" in part
    gap = "a dishonest office could try several numbers"
    assert (gap in rendered(parameters), gap in page.verify_text(parameters)) == ((not values,) * 2)
    assert ("A public value is mixed in" in rendered(parameters)) is values


def test_targets_are_counted() -> None:
    parameters, said = eventful()
    entries = chained(parameters, said)
    present = present_names(entries)
    targets = page._targets(
        replay(parameters, entries), page.events_of(parameters, entries, parameters.voice()), present
    )
    assert [target.former for target in targets] == [(), (), (), (HOSTILE,), ()]
    assert [(target.audits, target.last, target.joined, target.left) for target in targets] == [
        (2, 3, 0, 0),
        (1, 3, 0, 0),
        (0, 0, 0, 5),
        (0, 0, 0, 0),
        (1, 5, 5, 0),
    ]


def test_a_renamed_target_keeps_its_audits() -> None:
    """Its row counts those under the former name; in the chart as well, when it is too crowded for all."""
    parameters = made(targets=tuple(f"depot {number}" for number in range(50)))
    said: list[Said] = [
        drawn(1, "depot 7"),
        ("renamed", 2, {"target": "depot 7", "name": "quay", "during": 2, "reason": "sold", "independent": True}),
        ("carried-out", 2, {"of": 1, "target": "quay", "day": "2026-01-13", "during": 2, "reason": None}),
        drawn(2, "quay"),
    ]
    entries = chained(parameters, said)
    (row,) = timeline(parameters, entries, holds_from=1, say=plain()).rows
    titles = ["quay, round 1: visited on 13 January 2026", "quay, round 2: selected"]
    assert (row.name, [mark.title for mark in row.marks]) == ("quay", titles)
    events = page.events_of(parameters, entries, plain())
    counted = {
        one.name: one.audits for one in page._targets(replay(parameters, entries), events, present_names(entries))
    }
    assert (counted["quay"], counted.get("depot 7")) == (2, None)
    assert [[audited.name for audited in event.audited] for event in events] == [["quay"], [], [], ["depot 7"]]


def test_a_very_long_list_of_targets_is_left_to_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_TARGETS", 2)
    table = (
        rendered(made(), [drawn(1, B), drawn(2, D)]).partition('<table class="targets">')[2].partition("</section")[0]
    )
    assert [name for name in NAMES if name in table] == [B, D]
    assert table.index(D) < table.index(B)
    assert "The names of 2 others are not shown here." in table


SIZES = [(10, 1), (1000, 1), pytest.param(10**6, 1, marks=pytest.mark.long), (1000, 400)]


@pytest.mark.parametrize(("n_targets", "audits"), SIZES)
def test_the_page_weighs_the_same_however_many_targets_there_are(n_targets: int, audits: int) -> None:
    """Also where many are audited every round, and many join at once."""
    names = [f"Depot number {number}" for number in range(n_targets)]
    rounds = [drawn(round_, *names[round_ % 3 : round_ % 3 + audits]) for round_ in range(1, 81)]
    joining = {"added": [f"new {name}" for name in names[:10_000]], "removed": (), "during": 81}
    said: list[Said] = [*rounds, ("targets", 81, {"reason": "a new law", "independent": True} | joining)]
    text = rendered(made(targets=tuple(names), audits=audits), said)
    assert len(text.encode()) < 112 * 2**10
    assert f"{n_targets + min(n_targets, 10_000):,} targets can be drawn" in text
    assert ("Depot number 9<" in text) or n_targets > page.MOST_TARGETS


def test_the_check_of_its_weight_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limits that there once were."""
    monkeypatch.setattr(page, "MOST_TARGETS", 2000)
    with pytest.raises(AssertionError):
        test_the_page_weighs_the_same_however_many_targets_there_are(1000, 1)


def test_older_entries_are_folded_away() -> None:
    outline = Outline(rendered(*long_programme()))
    assert "Show 30 earlier entries" in outline.text("summary")
    assert "The record has 80 entries before these" in outline.text()
    assert len(outline.named("details")) == 5
    assert "Show the earlier entry" in rendered(made(), [drawn(number, A) for number in range(1, 22)])
    few = Outline(rendered(made(), [drawn(number, A) for number in range(1, 21)])).named("details")
    assert [one["class"] for one in few] == ["fold"] * 4


def test_what_is_for_experts_is_folded_behind_the_record() -> None:
    text = rendered(made())
    order = [text.index(f'<section id="{name}"') for name in ("promise", "audits", "check", "who", "experts", "rules")]
    assert order == sorted(order)
    assert text.index('<details class="fold">') > order[1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"max_gap": 20},
            "every target is audited at least once in 20 rounds (140 days); skipped rounds do not count",
        ),
        ({"cooldown": 1}, "1 round (7 days), where that is possible"),
        ({"weights": "forecast"}, "a forecast from past audits, which are public"),
        ({"weights": "steady-forecast"}, "for rates of reports that never change"),
        ({"weights": (1, 2, 3, 0.5)}, "Ashford 1; Brühl 2; Calais 3; Delft 0.5"),
        ({"mechanism": "tca", "horizon": 2000}, "2,000 rounds"),
        ({"audits": 2}, "It draws whom to visit: 2 targets every week"),
        ({"oversight": RECIPIENT}, RECIPIENT),
        ({}, "no oversight body can repeat the draws"),
    ],
)
def test_the_rules_are_said_in_words(settings: dict[str, Any], words: str) -> None:
    assert words in Outline(rendered(made(**settings))).text()


def test_the_chart_shows_each_audit_in_its_place() -> None:
    parameters, said = eventful()
    chart = timeline(parameters, chained(parameters, said), holds_from=4, say=plain())
    assert [row.name for row in chart.rows] == [A, B, C, f"Delft {HOSTILE}", f"new {HOSTILE}"]
    marks = [[(mark.kind, mark.round) for mark in row.marks] for row in chart.rows]
    assert marks == [[("drawn", 2), ("drawn", 3)], [("hand", 3)], [], [("missed", 1)], [("drawn", 5)]]
    assert chart.rows[0].marks[0].x == "12.5%"  # the middle of the second of twelve columns
    assert (chart.rows[2].start, chart.rows[2].end) == ("0%", "33.33%")  # it left in the fifth
    assert (chart.rows[4].start, chart.rows[4].end) == ("33.33%", "41.67%")  # the programme ended in the sixth
    assert [(span.x, span.width) for span in chart.skips] == [("25%", "8.33%")]
    assert chart.uncovered is not None
    assert (chart.uncovered.x, chart.uncovered.width) == ("0%", "25%")
    assert chart.kinds == {"drawn", "visited", "hand", "missed", "skip"}
    words = [[mark.title.rpartition(": ")[2] for mark in row.marks] for row in chart.rows]
    assert words == [["visited on 20 January 2026", "selected"], ["selected"], [], ["not carried out"], ["selected"]]


def test_a_crowded_chart_shows_the_targets_audited_last() -> None:
    parameters, said = long_programme()
    chart = timeline(parameters, chained(parameters, said), holds_from=1, say=plain())
    assert len(chart.rows) == MOST_ROWS
    assert chart.left_out == 20
    last = {number % 50 for number in range(91, 131)}
    assert [row.name for row in chart.rows] == [f"depot {number}" for number in sorted(last)]
    assert [tick.round for tick in chart.ticks] == [1, 50, 100]


def test_the_chart_goes_back_as_far_as_it_stays_readable() -> None:
    parameters = made()
    entries = chained(parameters, [drawn(number, NAMES[number % 2]) for number in range(1, 301)])
    chart = timeline(parameters, entries, holds_from=290, say=plain())
    assert (chart.first, chart.rounds) == (301 - MOST_MARKS, 300)
    marks = [mark for row in chart.rows for mark in row.marks]
    assert len(marks) == MOST_MARKS
    assert all(0 < float(mark.x.rstrip("%")) < 100 for mark in marks)
    assert [tick.round for tick in chart.ticks] == [200, 220, 240, 260, 280, 300]
    assert chart.uncovered is not None
    assert chart.uncovered.x == "0%"
    assert {(row.start, row.end) for row in chart.rows} == {("0%", "100%")}
    assert timeline(parameters, entries, holds_from=100, say=plain()).uncovered is None


def test_the_chart_numbers_every_one_of_a_few_rounds_and_ends_with_the_last_draw() -> None:
    parameters = made()
    said = [*(drawn(number, NAMES[number % 2]) for number in range(1, 7)), ("end", 7, {"reason": "by law"})]
    chart = timeline(parameters, chained(parameters, said), holds_from=1, say=plain())
    assert [tick.round for tick in chart.ticks] == [1, 2, 3, 4, 5, 6]
    assert {chart.end} == {row.end for row in chart.rows} == {"50%"}
    assert 'class="axis" x1="0" x2="50%"' in rendered(parameters, said)


@pytest.mark.parametrize("name", ["x" * 200, "採" * 200, "x" * 27])
def test_long_names_are_cut(name: str) -> None:
    assert shortened(name).endswith("…")
    assert len(shortened(name)) <= 26


def test_short_names_are_not_cut() -> None:
    assert shortened("x" * 26) == "x" * 26
    assert shortened("採" * 13) == "採" * 13


def emergency(number: int, target: str) -> Said:
    return "emergency", number, {"audits": (target,), "report_class": "danger", "reason": None}


def test_what_is_not_protected_stands_before_everything_else() -> None:
    written = rendered(made(classes=CLASSES))
    first = written.index("A report of class danger is not protected")
    assert first < written.index("Do you want to report something")
    assert "Reports of the other classes stay protected after such a visit." in written
    assert "yes, for reports of class serious or minor" in written


@pytest.mark.parametrize(
    ("settings", "figures"),
    [
        ({}, {"minor": "5 points in 100 (delta = 0.1), and", "serious": "14.7 points in 100 (delta = 0.2928), and"}),
        ({"mechanism": "tca", "horizon": 100}, {"minor": "(delta = 0.1).", "serious": "(delta = 0.2939)."}),
    ],
)
def test_each_class_has_its_figures(settings: dict[str, Any], figures: dict[str, str]) -> None:
    """Those of as many reports as the class weighs."""
    parameters = made(classes=CLASSES, **settings)
    written = rendered(parameters)
    for name, words in figures.items():
        statement = written.split(f"<p>Class {name}:")[1].split("</p>")[0]
        assert words in statement
    assert "Class danger: a report leads to a visit at once, and nothing is promised about it." in written
    assert "minor (counts once); serious (counts 3 times); danger (leads" in written


def test_an_emergency_is_not_called_an_order_and_limits_no_ordinary_report() -> None:
    parameters = made(classes=CLASSES)
    said = [drawn(1, A), emergency(2, B)]
    written = rendered(parameters, said)
    assert "in round 2, in an emergency" in written
    assert "visit in an emergency</li>" in written
    assert "ordered by hand<" not in written
    assert "yes, for reports of class serious or minor" in written
    state = replay(parameters, chained(parameters, [*said, override(2, C, independent=False)]))
    assert "It covers no report of class danger" in state.coverage.in_words(parameters.voice())
    assert "every ordinary report" not in state.coverage.in_words(parameters.voice())


def test_one_class_and_no_limit_are_not_mentioned() -> None:
    written = rendered(made())
    for word in ("Classes of reports", "Class ", "emergenc", "Floods", "ordinary reports", "Read this first"):
        assert word not in written
    assert "at most 7 reports about a target count in a round" in rendered(made(most_counted=7))
