"""Every sentence of the promise is said by the voice, as a whole: in a language of brackets nothing stays outside."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.languages.pseudo import ACCENTED, Accented, pseudo
from tests.programme.public.published import made
from tests.programme.public.test_promise import KINDS, lapsed

from deniable.languages.language import english
from deniable.languages.voice import Voice
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public import visit_chances
from deniable.programme.public.guarantee_wording import class_in_words, figures_rule, flood_cap, level
from deniable.programme.public.promise import Part, Promise, promise_of
from deniable.programme.public.situation import Situation
from deniable.programme.transcript.coverage import Coverage
from deniable.programme.transcript.fields import OfficeDetails
from deniable.promptness import QuietWait

MORE = KINDS | {
    "counters, several": {"mechanism": "tca", "horizon": 1, "reports_per_person": 4, "delta": 0.05},
    "counters, weak": {"mechanism": "tca", "horizon": 9, "reports_per_person": 12, "delta": 0.6},
    "classes, several": {"classes": KINDS["classes"]["classes"], "reports_per_person": 4, "most_counted": 1},
    "classes, figures": {"classes": KINDS["classes"]["classes"], "yearly_figures_delta": 0.02},
    "classes, nothing": {"classes": KINDS["classes"]["classes"], "delta": 0.999999},
    "figures, several": {"yearly_figures_delta": 0.02, "reports_per_person": 4},
    "months": {"delta": 0.6, "calendar": Calendar(made().calendar.start, "1M", "Europe/Berlin")},
}
WORD = re.compile(r"[^\W\d_]+")
CONTACT = OfficeDetails("7", "https://1.2.3.4", "2026-01-07")
REASON = re.compile(r"The office ordered \w+ by hand \(entry 9\)\. It did not declare that no report was the reason\.")
"""What an entry of the record says."""


def situations(parameters: Parameters) -> Iterator[Situation | None]:
    yield None
    yield lapsed(parameters)
    yield lapsed(parameters, 7)
    yield lapsed(parameters, ended=True)
    coverage = Coverage(parameters.calendar, visit_classes=parameters.visit_classes)
    yield Situation(coverage, 3, len(parameters.targets), details=CONTACT)


def texts(promise: Promise) -> Iterator[str]:
    """All that a reader sees."""
    yield from (promise.first, promise.lead, promise.holds.title, promise.holds.text)
    for warned in promise.warnings:
        yield from (warned.title, REASON.sub("", warned.text))
    for part in (*promise.parts, promise.experts):
        yield from _of(part)


def _of(part: Part) -> Iterator[str]:
    yield from (part.title, *part.before, *part.after)
    if part.table is not None:
        yield part.table.caption
        yield from (cell for row in (part.table.head, *part.table.rows) for cell in row)
    for item in part.items:
        yield from (item.title, item.text, *item.cases)
    for fact in part.facts:
        yield fact.name
        if fact.link is None:
            yield fact.text.removeprefix(CONTACT.contact or "")


def of_rules(parameters: Parameters, say: Voice) -> Iterator[str]:
    """What the rules of the programme say of it."""
    yield from (figures_rule(parameters, say), flood_cap(parameters, say), level(parameters, say))
    yield from (class_in_words(one, say) for one in parameters.classes)


def unsaid(text: str, parameters: Parameters) -> list[str]:
    """Words that stand outside all brackets, and words without accents within them that are neither names nor forms of
    the terms: parts that were glued into a sentence.
    """
    outside = text
    while (inner := re.sub(r"\[[^\[\]]*\]", "", outside)) != outside:
        outside = inner
    locale, forms = english().locale, english().forms
    days = {*map(str.lower, (*locale.months, *locale.weekdays)), "and", "or"}
    names = " ".join((
        *forms["audit"][parameters.terms.audit].values(), *forms["target"][parameters.terms.target].values(),
        *(one.name for one in parameters.classes), parameters.calendar.zone,
    ))  # fmt: skip
    known = days.union(WORD.findall(names.lower()))
    glued = [word for word in WORD.findall(text) if word != word.translate(ACCENTED) and word.lower() not in known]
    return [word for word in WORD.findall(outside) if word.lower() not in days] + glued


def found(parameters: Parameters, say: Voice) -> list[str]:
    return [
        f"{word}: {text}"
        for situation in situations(parameters)
        for text in (*texts(promise_of(parameters, situation, say)), *of_rules(parameters, say))
        for word in unsaid(text, parameters)
    ]


@pytest.mark.parametrize("kind", MORE)
def test_every_sentence_is_said(kind: str) -> None:
    parameters = made(**MORE[kind])
    assert found(parameters, Voice(pseudo(), parameters.terms)) == []


class Without(Accented):
    """Does not have the sentences that begin like this."""

    def __init__(self, start: str) -> None:
        self.start = start

    def __getitem__(self, text: str) -> tuple[str, ...]:
        if text.startswith(self.start):
            raise KeyError(text)
        return super().__getitem__(text)


@pytest.mark.parametrize(
    "start", ["The more often", "One report", "no limit", "How sure your boss", "Suppose someone", "at most {sure}"]
)
def test_a_sentence_that_is_not_said_is_found(start: str) -> None:
    """Negative control: one sentence stays in English."""
    parameters = made(**KINDS["rules"] | {"reports_per_person": 60})
    say = Voice(replace(pseudo(), sentences=Without(start)), parameters.terms)
    assert found(parameters, say) != []


def test_a_part_that_is_glued_into_a_sentence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""

    def glued(calendar: Calendar, wait: QuietWait, say: Voice) -> str:
        return say("about {days} ({rounds})", days=calendar.days(wait.rounds), rounds=f"{wait.figure} rounds")

    parameters = made(**KINDS["race"])
    monkeypatch.setattr(visit_chances, "wait_in_words", glued)
    assert {one.partition(":")[0] for one in found(parameters, Voice(pseudo(), parameters.terms))} == {"rounds"}
