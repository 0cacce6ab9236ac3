"""How sure a boss who watches can become that a person reported: the first part of the promise, in figures.

Every figure is a proven upper bound and rounded up (docs/explanation/how-sure.md).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.guarantee import Guarantee
from deniable.languages.voice import Voice
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.report_classes import ReportClass, heaviest
from deniable.rounding import rounded_up

SURE_BEFORE = (Fraction(20, 100), Fraction(50, 100), Fraction(80, 100))
"""That a person reported: what the table starts from where there is a likelihood cap."""
RIGHT_BEFORE = (Fraction(50, 100), Fraction(80, 100), Fraction(95, 100))
"""How often a guess is right: what it starts from where there is none."""
HARDLY_SURE = Fraction(5, 100)
"""The suspicion of most bosses, told beside the table."""
USUAL = (1, 2, 3)
"""Numbers of reports in the table."""
HALF = Fraction(1, 2)
NINEFOLD = 9
"""What makes odds of 50 : 50 odds of 90 : 10."""
RATIOS = tuple(Fraction(quarters, 4) for quarters in range(4, 4 * NINEFOLD))
"""From 1 to almost `NINEFOLD`: with which the bound of `nearly_sure` is tried."""


@dataclass(frozen=True)
class Filed:
    """Some reports of one person, and what is promised about them; None where a visit shows them."""

    one: ReportClass
    reports: int
    guarantee: Guarantee | None
    """Of all that is published, the audits and the yearly figures."""


def in_hundred(share: Fraction) -> str:
    """A share of 100, rounded up to a whole number; above 99 with as many places as keep it below 100.

    >>> in_hundred(Fraction(561, 1000)), in_hundred(Fraction(9991, 10000)), in_hundred(Fraction(1))
    ('57', '99.91', '100')
    """
    places = 0
    while (shown := rounded_up(share, 100, places=places)).startswith("100") and share < 1:
        places += 1
    return shown


def reports_in_words(number: int, say: Voice) -> str:
    """'One report', 'Three reports', '12 reports'."""
    if number == 1:
        return say("One report")
    if number == 2:
        return say("Two reports")
    if number == 3:
        return say("Three reports")
    if number == 10:
        return say("Ten reports")
    return say.counted("{number} report", "{number} reports", number)


def reports_of_class(number: int, name: str, say: Voice) -> str:
    """'One report of class serious'."""
    if number == 1:
        return say("One report of class {name}", name=name)
    if number == 2:
        return say("Two reports of class {name}", name=name)
    if number == 3:
        return say("Three reports of class {name}", name=name)
    return say.counted("{number} report of class {name}", "{number} reports of class {name}", number, name=name)


def filed_in_words(parameters: Parameters, filed: Filed, say: Voice) -> str:
    """At the head of a row."""
    if len(parameters.classes) > 1:
        return reports_of_class(filed.reports, filed.one.name, say)
    return reports_in_words(filed.reports, say)


def heaviest_class(parameters: Parameters) -> ReportClass:
    """Of those in the draw: what is promised about it is promised about each."""
    return drawn_classes(parameters)[0]


def drawn_classes(parameters: Parameters) -> list[ReportClass]:
    """Those in the draw, the one that counts most first."""
    most = heaviest(parameters.classes)
    drawn = [one for one in parameters.classes if one.weight is not None]
    return sorted(drawn, key=lambda one: one.weight != most)


def filed_in(parameters: Parameters, one: ReportClass, reports: int = 1) -> Filed:
    return Filed(one, reports, parameters.guarantee_of(one, reports))


def all_filed(parameters: Parameters) -> tuple[Filed, ...]:
    """The rows of the table: one report of each class, or a few reports, and as many as the programme's rules name."""
    promised, most = parameters.reports_per_person, heaviest_class(parameters)
    if len(parameters.classes) > 1:
        single = [filed_in(parameters, one) for one in parameters.classes]
        return (*single, *(filed_in(parameters, most, number) for number in sorted({2, max(2, promised)})))
    return tuple(filed_in(parameters, most, number) for number in sorted({*USUAL, promised}))


def is_capped(parameters: Parameters) -> bool:
    """Whether there is a limit in each single case: never where yearly figures are published."""
    one = filed_in(parameters, heaviest_class(parameters)).guarantee
    return one is not None and not math.isinf(one.likelihood_cap)


def promises_little(guarantee: Guarantee) -> bool:
    """Whether no limit is worth telling."""
    return not guarantee.has_cap if not math.isinf(guarantee.likelihood_cap) else guarantee.delta == 1


def is_made(parameters: Parameters) -> bool:
    """Whether there is a limit for one report of each class in the draw."""
    one = filed_in(parameters, heaviest_class(parameters)).guarantee
    return one is not None and not promises_little(one)


def sure_at_most(guarantee: Guarantee, before: Fraction = HALF) -> str | None:
    """In a programme with a cap, how sure a boss can become, in 100: '57'; None where there is no limit."""
    return in_hundred(guarantee.posterior(before)) if guarantee.has_cap else None


def right_at_most(guarantee: Guarantee, before: Fraction = HALF) -> str | None:
    """How often, in 100, a guess is right at most: '55'; None where there is no limit."""
    return in_hundred(guarantee.right_guesses(before)) if guarantee.delta < 1 else None


def nearly_sure(audits: Guarantee, figures: Fraction = Fraction(0)) -> str | None:
    """How often, in 100 cases in which the reports were filed, a boss who was 50 % sure becomes 90 % sure or more, at
    most; None where nothing is excluded. `figures` is the delta of the yearly figures.

    Where the odds grow ninefold or more, what is published is at least nine times as probable with the reports as
    without them; and for every ratio, it is at most that often as probable, and the two deltas more. The best of some
    ratios is stated (docs/explanation/how-sure.md).
    """
    cap = audits.likelihood_cap
    often = min(
        (Fraction(audits.delta_at(_log_below(ratio), accusing=True)) + figures) * NINEFOLD / (NINEFOLD - ratio)
        for ratio in ((*RATIOS, Fraction(cap)) if cap < NINEFOLD else RATIOS)
    )
    return None if often >= 1 else in_hundred(often)


def _log_below(ratio: Fraction) -> float:
    return max(0.0, math.log(ratio) - 1e-12)


def nearly_sure_after(parameters: Parameters, reports: int) -> str | None:
    """`nearly_sure` after so many reports of the class that counts most."""
    audits = parameters.guarantee_of(heaviest_class(parameters), reports, audits_only=True)
    assert audits is not None
    return nearly_sure(audits, Fraction(0) if parameters.figures is None else parameters.figures.delta(reports))


def rows(parameters: Parameters, say: Voice) -> tuple[tuple[str, ...], ...]:
    """Of the table: what is filed, and the limit for each start; one cell where there is no protection at all."""
    capped, told = is_capped(parameters), []
    for one in all_filed(parameters):
        if one.guarantee is None:
            cells = [say("not protected")]
        elif capped:
            cells = [per_cent(sure_at_most(one.guarantee, start), say) for start in SURE_BEFORE]
        else:
            cells = [_out_of_100(right_at_most(one.guarantee, start), say) for start in RIGHT_BEFORE]
        told.append((filed_in_words(parameters, one, say), *cells))
    return tuple(told)


def per_cent(sure: str | None, say: Voice) -> str:
    """A cell: '57 %'."""
    return say("no limit") if sure is None else say("{sure} %", sure=say.figure(sure))


def _out_of_100(right: str | None, say: Voice) -> str:
    return say("no limit") if right is None else say.figure(right)


def caption(parameters: Parameters, now: Situation, say: Voice) -> str:
    """Of the table, with the day from which on it holds, where it does not hold now."""
    capped = is_capped(parameters)
    if now.standing(parameters) != "lapsed":
        return (
            say("How sure your boss can become, at most")
            if capped
            else say("How many guesses of 100 are right, at most, after watching")
        )
    since = now.since(say)
    if capped:
        return say("From {since} on: how sure your boss can become, at most", since=since)
    return say("From {since} on: how many guesses of 100 are right, at most, after watching", since=since)


def head(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """Of the table's columns."""
    starts = (
        [say("{sure} % sure before", sure=say.figure(in_hundred(start))) for start in SURE_BEFORE]
        if is_capped(parameters)
        else [say("{right} right without watching", right=say.figure(in_hundred(start))) for start in RIGHT_BEFORE]
    )
    return (say("Reports") if now.is_past else say("What you report"), *starts)
