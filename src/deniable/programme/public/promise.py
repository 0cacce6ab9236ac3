"""The promise to a person who considers a report: one text, which the public page, the console and paper share.

Its order is that of what matters to this person: what is not covered at all, what one report can give away, what a
report achieves, what is not protected, how to report, questions, and the exact figures for experts. While the promise
has lapsed, no sentence says that it holds now. It is a function of public facts alone. Sentences are whole, so that
they can be translated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from deniable.programme.calendar import day_in_words, rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.effect import Effect, effects
from deniable.programme.public.guarantee_wording import exact_figures, in_public_words
from deniable.programme.public.questions import Item, answers, limits, single_case
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import (
    RIGHT_BEFORE,
    SURE_BEFORE,
    filed_in,
    heaviest_class,
    in_hundred,
    is_capped,
    is_made,
    right_at_most,
    rows,
    sure_at_most,
)
from deniable.programme.transcript.coverage import either_class
from deniable.programme.transcript.office_details import OfficeDetails
from deniable.wording import count


@dataclass(frozen=True)
class Table:
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Fact(NamedTuple):
    name: str
    text: str
    link: str | None = None


@dataclass(frozen=True)
class Part:
    """One part of the promise, under a heading of its own: paragraphs, a table, a list, facts, and more paragraphs, as
    far as there are any.
    """

    id: str
    title: str
    before: tuple[str, ...] = ()
    table: Table | None = None
    items: tuple[Item, ...] = ()
    facts: tuple[Fact, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Warned:
    """What must be read before anything else."""

    title: str
    text: str
    is_lapse: bool = False
    is_grave: bool = False
    """Whether nothing is promised, as opposed to what concerns some reports only."""


@dataclass(frozen=True)
class Promise:
    warnings: tuple[Warned, ...]
    """Empty where there is nothing of the kind."""
    first: str
    """What one report changes, in one sentence or two; where nothing is promised now, that."""
    parts: tuple[Part, ...]
    """For a person who considers a report."""
    experts: Part
    holds: Item
    """Whether the promise holds now: in a few words, and what these leave out."""


def promise_of(parameters: Parameters, situation: Situation | None = None) -> Promise:
    """In this situation; by default before the first round."""
    now = Situation.at_start(parameters) if situation is None else situation
    return Promise(
        warnings=_warnings(parameters, now),
        first=_first(parameters, now),
        holds=_holds(parameters, now),
        parts=(
            _suspicion(parameters, now),
            _effect(parameters, now),
            Part("not-protected", "What is not protected", items=limits(parameters, now)),
            _contact(now.details),
            Part("questions", "Questions and answers", items=answers(parameters, now)),
        ),
        experts=Part("experts", "For experts: the exact figures", before=_exact(parameters, now)),
    )


def _warnings(parameters: Parameters, now: Situation) -> tuple[Warned, ...]:
    t, told = parameters.terms, []
    if now.is_over(parameters):
        told.append(Warned(
            "This programme has ended.",
            "There are no more draws, and a new report changes nothing here.",
        ))  # fmt: skip
    if now.coverage.lapses:
        told.append(_lapse(parameters, now))
    if parameters.visit_classes:
        told.append(Warned(
            f"A report of {either_class(parameters.visit_classes)} is not protected.",
            f"{_others(parameters, now)} The office visits at once after a report of "
            f"{either_class(parameters.visit_classes)}. The public record then names the {t.target} and the class of "
            "the report, and not the person. So anyone can see that there was such a report.",
        ))  # fmt: skip
    if now.is_paused:
        told.append(Warned(
            "Some reports do not count now.",
            "The office lost records and went on from a backup. Until it has sorted this out, reports from a hotline "
            "do not count, now or later. Ask the office before you report.",
        ))  # fmt: skip
    return tuple(told)


def _others(parameters: Parameters, now: Situation) -> str:
    if not is_made(parameters) or now.standing(parameters) == "lost":
        return "Other reports count in the draw."
    if now.standing(parameters) == "lapsed":
        return f"All other reports are protected from {now.since} on, whatever emergencies there are."
    return "All other reports are protected, whatever emergencies there are."


def _lapse(parameters: Parameters, now: Situation) -> Warned:
    t, standing, last = parameters.terms, now.standing(parameters), now.coverage.last
    assert last is not None
    why = in_public_words(f"The office {last.because}.", t)
    about = f"This is about every report of this programme, whatever {t.target} it was about."
    gone = f"So nothing is promised about reports made before {now.since}."
    made = "Have you reported already? Then nothing is promised about that report. Get advice if you are worried."
    if standing == "lost":
        title, text = "Nothing is promised about any report.", f"{why} {gone} No draw comes after that. {about}"
    elif standing == "lapsed":
        title = "Nothing is promised right now."
        gone = "So nothing is promised about reports made before then."
        text = f"Do not report before {now.since} if you need this protection. {why} {gone} {about} {made}"
    else:
        title = "The promise does not cover all reports."
        text = f"{why} {gone} {about} Reports made since then are covered."
    return Warned(title, text, is_lapse=True, is_grave=standing != "holds")


def _holds(parameters: Parameters, now: Situation) -> Item:
    standing = now.standing(parameters)
    visits = f"never for reports of {either_class(parameters.visit_classes)}" if parameters.visit_classes else ""
    if not is_made(parameters):
        return Item("no: there is none", "")
    if standing == "lost":
        return Item("no, for no report", "")
    if standing == "lapsed":
        return Item(f"no, not until {now.since}", visits)
    if now.coverage.lapses:
        return Item(f"yes, for reports made from {now.since} on", visits or "not for earlier ones")
    if visits:
        return Item("yes, for all ordinary reports", visits)
    return Item("yes, for all reports", "")


def _first(parameters: Parameters, now: Situation) -> str:
    t, standing = parameters.terms, now.standing(parameters)
    if not is_made(parameters):
        return (
            f"This programme promises nothing to you: the {t.audits} may show your boss that you reported. Do not rely "
            "on them to hide it."
        )
    if standing == "lost":
        return "This programme promises nothing about any report. There are no more draws for which it could."
    if standing == "lapsed":
        return f"Right now nothing is promised. Wait until {now.since} if you can."
    limit = _limit(parameters)
    return f"{limit} This is for reports made from {now.since} on." if now.coverage.lapses else limit


def _limit(parameters: Parameters) -> str:
    """Of one report: of the class that counts most first."""
    t, most = parameters.terms, heaviest_class(parameters)
    one = filed_in(parameters, most)
    assert one.audits is not None
    assert one.together is not None
    drawn = [each for each in parameters.classes if each.weight is not None]
    capped = is_capped(parameters)
    limit = (
        f"A boss who was 50 % sure that you reported can become at most {sure_at_most(one.audits)} sure by watching "
        f"the {t.audits}."
        if capped
        else "Without watching, a boss is right 50 times in 100 about whether you reported. With watching, it is at "
        f"most {right_at_most(one.together)} times in 100."
    )
    if len(drawn) == 1:
        return limit
    others = []
    for other in drawn:
        filed = filed_in(parameters, other)
        if other == most or filed.audits is None or filed.together is None:
            continue
        at_most = f"{sure_at_most(filed.audits)} sure" if capped else f"{right_at_most(filed.together)} times in 100"
        others.append(f"With class {other.name} it is at most {at_most}.")
    return f"{limit} This is for a report of class {most.name}, which counts most in the draw. {' '.join(others)}"


def _suspicion(parameters: Parameters, now: Situation) -> Part:
    t, capped, standing = parameters.terms, is_capped(parameters), now.standing(parameters)
    title = "Can your boss find out that you reported?"
    if standing == "lost":
        return Part("promise", title, before=(f"The {t.audits} may show it. Nothing is promised about any report.",))
    later = f"From {now.since} on: " if standing == "lapsed" else ""
    caption, starts, word = (
        ("how sure your boss can become, at most", SURE_BEFORE, "{} % sure before")
        if capped
        else ("how many guesses of 100 are right, at most, after watching", RIGHT_BEFORE, "Right without watching: {}")
    )
    if not is_made(parameters):
        table = Table(caption.capitalize(), _head(word, starts), rows(parameters))
        return Part("promise", title, table=table, after=("“No limit” means that your boss may become sure.",))
    table = Table(f"{later}{caption}" if later else caption.capitalize(), _head(word, starts), rows(parameters))
    watched = f"your boss sees every {t.audit} there ever was, knows how the draw works and knows every other report."
    before = (
        (
            "From then on the limits in this table are mathematically proven, as long as the office keeps to its "
            f"rules. From then on they hold even if {watched}",
        )
        if later
        else ("This is mathematically proven, as long as the office keeps to its rules. It holds even if " + watched,)
    )
    return Part(
        "promise",
        title,
        before=before,
        table=table,
        after=(
            "The numbers are rounded up. Your boss can also become less sure than before."
            if capped
            else single_case(parameters, lapsed=bool(later)),
            *_figures(parameters, capped=capped, lapsed=bool(later)),
            *_until(parameters, lapsed=bool(later)),
        ),
    )


def _head(word: str, starts: Sequence[Fraction]) -> tuple[str, ...]:
    return ("What you report", *(word.format(in_hundred(start)) for start in starts))


def _figures(parameters: Parameters, *, capped: bool, lapsed: bool) -> tuple[str, ...]:
    t, figures = parameters.terms, parameters.figures
    if figures is None:
        return ()
    published = (
        "Once a year the office also publishes how many reports came in. It blurs each number by chance, by about "
        f"{figures.deviation():,} up or down."
    )
    if not capped:
        return (f"{published} The table counts what these numbers tell as well.",)
    together = filed_in(parameters, heaviest_class(parameters)).together
    assert together is not None
    proven = "From then on this is proven for both together" if lapsed else "This is proven for both together"
    return (
        f"{published} The table is about the {t.audits} alone. {proven}: without watching, a boss is right 50 times in "
        f"100, and with watching, at most {right_at_most(together)} times in 100. In a few cases the yearly numbers "
        "may make your boss nearly sure.",
    )


def _until(parameters: Parameters, *, lapsed: bool) -> tuple[str, ...]:
    if parameters.horizon is None:
        return ()
    last = day_in_words(parameters.calendar.day(parameters.horizon)).words
    cover = "The limits cover all rounds from then on." if lapsed else "The limits cover them all."
    return (
        f"The programme has {parameters.horizon:,} rounds. {cover} The last draw is due on {last}. A report that still "
        "waits after it counts no more here.",
    )


def _exact(parameters: Parameters, now: Situation) -> tuple[str, ...]:
    if now.standing(parameters) == "lost":
        return ("No limit covers any report: the promise was lost, and no draw comes after that.",)
    if now.coverage.lapses:
        return (f"These figures are about reports made from {now.since} on.", *exact_figures(parameters))
    return exact_figures(parameters)


def _effect(parameters: Parameters, now: Situation) -> Part:
    t, title = parameters.terms, "What your report does"
    if now.is_over(parameters):
        return Part("effect", title, before=("Nothing: the programme has ended, and there are no more draws.",))
    if parameters.audits >= now.n_targets:
        return Part(
            "effect", title, before=(f"Every {t.target} is {t.audited} in every round, with reports and without.",)
        )
    before = (
        f"Your report makes it more likely that this {t.target} is {t.audited}. It counts in every draw until this "
        "happens.",
        f"No report forces {t.an_audit} in the next draw, and the draw also selects {t.targets} without any report. So "
        f"a draw never proves that there was a report. {t.an_audit.capitalize()} outside the draw may. The record "
        "marks it.",
    )
    told = effects(parameters, now.n_targets)
    table, after = None, []
    if told:
        table = _effects(parameters, now, told)
        after.append(
            "We calculated the chances and waits from the public rules; they are not a promise. "
            f"They are for the {now.n_targets:,} {t.targets} of today. Reports about others make the wait longer."
        )
    else:
        after.append("We cannot give a figure for how much more likely it is.")
    if parameters.most_counted is not None:
        most = count(parameters.most_counted, "report")
        each = " of each class" if len(parameters.classes) > 1 else ""
        after.append(f"At most {most}{each} about {t.a_target} count in one round.")
    if parameters.cooldown:
        rest = rounds_in_words(parameters.calendar, parameters.cooldown)
        after.append(
            f"After {t.an_audit} the {t.target} rests for {rest}, where that is possible. No draw selects it then."
        )
    if parameters.max_gap is None:
        after.append("It may be the next draw, and it may take long. No date is promised.")
    else:
        if told:
            after.append(f"The chance is smaller in a draw in which another {t.target} is due.")
        gap = rounds_in_words(parameters.calendar, parameters.max_gap)
        after.append(f"With or without reports, each {t.target} is selected at least once in {gap}. Skipped rounds do "
                     "not count.")  # fmt: skip
    return Part("effect", title, before=before, table=table, after=(" ".join(after),))


def _effects(parameters: Parameters, now: Situation, told: Sequence[Effect]) -> Table:
    """What a report does beside what it gives away, where anything is promised about that now."""
    head = ("Reports", "Chance in the next draw", "Wait, on average")
    cells = [(one.reports[0].upper() + one.reports[1:], one.chance, one.wait) for one in told]
    caption = f"While nothing is reported about any other {parameters.terms.target}"
    if now.standing(parameters) != "holds" or not is_made(parameters):
        return Table(caption, head, tuple(cells))
    risks = (f"at most {one.risk}" if one.risk.endswith("%") else one.risk or "–" for one in told)
    rows_ = tuple((*row, risk) for row, risk in zip(cells, risks, strict=True))
    return Table(caption, (*head, "A boss who was 50 % sure becomes"), rows_)


def _contact(details: OfficeDetails | None) -> Part:
    title, device = "How to report", "Use a device and a connection of your own, and not those at work."
    if details is None:
        asked = (
            "The office has not published here how to report. Look for its hotline on its own website, or ask a union "
            "or an advice centre. Do not ask at work."
        )
        return Part("contact", title, before=(f"{asked} {device}",))
    told = (
        Fact("Hotline", details.hotline or "", details.link),
        Fact("Contact", details.contact or ""),
        Fact("As of", day_in_words(date.fromisoformat(details.day)).words),
    )
    return Part("contact", title, before=(device,), facts=tuple(fact for fact in told if fact.text))
