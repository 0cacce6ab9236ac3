"""All that entries say is said by a voice: in any language, and with the words that the office chose."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.languages.pseudo import pseudo
from tests.programme.public.published import NAMES, chained, drawn_with, frozen, made
from tests.programme.transcript.test_entries import SAMPLES, sample

from deniable.languages.language import Terms, english
from deniable.languages.voice import Voice, plain
from deniable.programme.public.frozen_rounds import FrozenRound, frozen_rounds, randomness_rule
from deniable.programme.public.page import events_of
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import QUICKNET
from deniable.programme.randomness.source import Dice, Drand, Source
from deniable.programme.transcript.closings import NOT_THE_TIME
from deniable.programme.transcript.coverage import Coverage
from deniable.programme.transcript.decision import consequence
from deniable.programme.transcript.entries import KINDS, End
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.state import PublicState

A, B, *_ = NAMES
CALENDAR = made().calendar
VISITS = Voice(english(), Terms("visit", "site"))
PSEUDO = Voice(pseudo(), Terms("visit", "site"))
OTHERS: dict[str, tuple[dict[str, Any], ...]] = {
    "round": ({"late": 0}, {"audits": [A, B]}),
    "freeze": ({"beacon": None}, {"late": 0}),
    "drawn": ({"value": None, "time": None}, {"value": "ab" * 48, "time": None}),
    "drawn hidden": ({"value": None, "time": None}, {"value": "ab" * 48, "time": None}),
    "skip": ({"late": 1}, {"late": 2}, {"independent": False}),
    "override": ({"independent": False}, {"independent": False, "audits": [A, B]}),
    "targets": ({"added": []}, {"removed": []}, {"independent": False}),
    "renamed": ({"independent": False},),
    "not-carried-out": ({"independent": False},),
    "details": ({"contact": None}, {"hotline": None}),
    "recovery": ({"complete": False, "inputs_lost": True}, {"paused": False}),
    "figures": ({"complete": False}, {"reports": [["report", 1]], "in_all": 1}),
}
"""What a kind says besides its sample."""
VALUES = {"Europe", "Berlin", "UTC", "January", "Room", "https", "hotline", "example", "org", "danger", "fire", "minor",
          "serious", "and", "or", "Emden", "North", "Town", "hall", *re.findall(r"\w+", " ".join(NAMES)),
          *PSEUDO.language.locale.months, *PSEUDO.language.locale.weekdays}  # fmt: skip
"""What others wrote, days and lists."""
every_kind = pytest.mark.parametrize("kind", KINDS)


def samples(kind: str) -> list[Entry]:
    return [sample(kind), *(sample(kind, **fields) for fields in OTHERS.get(kind, ()))]


def sayings(entry: Entry, say: Voice) -> Iterator[str]:
    """All that an entry says of itself."""
    yield from (entry.deed(say), entry.heading(say), entry.effect(CALENDAR, say))
    if entry.kind != "details":  # that is a day
        yield entry.made(CALENDAR, say)
    if entry.lapse is not None:
        yield say(entry.lapse.because)
        yield Coverage(CALENDAR, (entry.lapse, entry.lapse._replace(entry=99)), ("danger", "fire")).in_words(say)
    if hasattr(entry, "follow"):
        yield entry.follow(CALENDAR, say)


def unsaid(text: str) -> list[str]:
    """What no voice said: what stands outside of all sentences, and plain words that are no value in one."""
    outside, depth = "", 0
    for letter in text:
        depth -= letter == "]"
        outside += letter if not depth and letter != "]" else ""
        depth += letter == "["
    forms = {word for form in PSEUDO._forms.values() for word in form.split()}
    plainly = {word for word in re.findall(r"[^\W\d_]{2,}", text) if re.search("[aceinosuy]", word)}
    return [*re.findall(r"[^\s\[\]]+", outside), *sorted(plainly - VALUES - forms)]


@every_kind
def test_every_sentence_of_an_entry_can_be_translated(kind: str) -> None:
    for entry in samples(kind):
        for text in sayings(entry, PSEUDO):
            assert not unsaid(text), text


@pytest.mark.parametrize(
    "planted",
    ["The programme ended", PSEUDO("The round was skipped") + ", late", PSEUDO("Drawn {how}.", how="with numbers")],
)
def test_the_check_finds_words_that_no_voice_said(planted: str) -> None:
    assert unsaid(planted)


def test_the_check_looks_at_what_an_entry_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(End, "heading", lambda _, say: f"{say('The programme ended')} for good")
    assert [unsaid(text) for text in sayings(sample("end"), PSEUDO) if unsaid(text)] == [["for", "good", "for", "good"]]


@every_kind
def test_an_entry_says_visit_and_site_where_the_office_does(kind: str) -> None:
    for entry in samples(kind):
        for text in sayings(entry, VISITS):
            assert not re.search(r"\b(audit|target|guarantee)", text, re.IGNORECASE), text


def test_other_words_are_found_where_the_office_says_audit_and_target() -> None:
    texts = [text for kind in SAMPLES for entry in samples(kind) for text in sayings(entry, plain())]
    assert sum("audit" in text for text in texts) > 10
    assert sum("target" in text for text in texts) > 10
    assert not any("guarantee" in text for text in texts)


@pytest.mark.parametrize("classes", [(), ("danger",), ("danger", "fire")])
def test_what_is_covered_can_be_translated(classes: tuple[str, ...]) -> None:
    assert not unsaid(Coverage(CALENDAR, (), classes).in_words(PSEUDO))
    assert not unsaid(consequence(PublicState.start(made()), 3, PSEUDO).words)
    assert not unsaid(PSEUDO(NOT_THE_TIME))


def said_of(one: FrozenRound) -> list[str]:
    return [one.awaited, one.now, one.sentence, one.heading, one.value_name]


OWN = replace(QUICKNET, hash="ab" * 32)


@pytest.mark.parametrize("source", [None, Drand(), Drand(OWN), Dice("Town hall"), Dice("Town hall", Throws(60, 120))])
def test_frozen_rounds_can_be_translated(source: Source | None) -> None:
    parameters = made(randomness=source)
    rule = randomness_rule(parameters, PSEUDO).replace(OWN.hash, "").replace(QUICKNET.hash, "")
    assert not unsaid(rule)
    if source is None:
        return
    is_dice = isinstance(source, Dice)
    draw = drawn_with(1, "1 2 3" if is_dice else "ab" * 48, A, **({"time": "2026-01-12T00:05:00Z"} if is_dice else {}))
    ended = ("end", 2, {"reason": "by law"})
    for said in ([draw], [drawn_with(1, None, A, reason="no network")], [ended], []):
        (one,) = frozen_rounds(parameters, chained(parameters, [frozen(1, parameters), *said]), PSEUDO).values()
        for text in said_of(one):
            assert not unsaid(text), text


def test_a_row_says_on_which_day_an_entry_was_made() -> None:
    """As far as the record tells: never at what time."""
    parameters = made()
    order = {"audits": [A], "reason": "a fire", "independent": True, "during": 7}
    (event,) = events_of(parameters, chained(parameters, [("override", 1, order)]), plain())
    assert (event.due, event.made) == (None, "between 16 February 2026 and 23 February 2026, while round 1 was overdue")
    (event,) = events_of(parameters, chained(parameters, [("override", 1, order | {"during": 1})]), plain())
    assert event.made == "while round 1 was open (due on 12 January 2026)"
    assert sample("emergency").made(CALENDAR, plain()) == "while round 1 was open (due on 12 January 2026)"
    assert sample("details").made(CALENDAR, plain()) == "5 January 2026"
    for kind in KINDS:
        assert not re.search(r"\d:\d", sample(kind).made(CALENDAR, plain()))
