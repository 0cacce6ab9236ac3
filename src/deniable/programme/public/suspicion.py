"""How sure a boss who watches can become that a person reported: the first part of the promise, in figures and words.

Every figure is a proven upper bound and rounded up (docs/explanation/how-sure.md).
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deniable.guarantee import Guarantee
from deniable.languages.voice import Voice
from deniable.programme.calendar import day_in_words
from deniable.programme.parameters import Parameters
from deniable.report_classes import ReportClass, heaviest
from deniable.rounding import rounded_up

SURE_BEFORE = (Fraction(20, 100), Fraction(50, 100), Fraction(80, 100))
"""That a person reported: what the table starts from where there is a likelihood cap."""
RIGHT_BEFORE = (Fraction(50, 100), Fraction(80, 100), Fraction(95, 100))
"""How often a guess is right: what it starts from where there is none."""
USUAL = (1, 2, 3)
"""Numbers of reports in the table."""
HALF = Fraction(1, 2)
NINEFOLD = 9
"""What makes odds of 50 : 50 odds of 90 : 10."""
MOST = 50
"""In more cases of 100 than that, what may happen is no exception."""


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
    return next(one for one in parameters.classes if one.weight == heaviest(parameters.classes))


def filed_in(parameters: Parameters, one: ReportClass, reports: int = 1) -> Filed:
    return Filed(one, reports, parameters.guarantee_of(one, reports))


def all_filed(parameters: Parameters) -> tuple[Filed, ...]:
    """The rows of the table: one report of each class, or a few reports, and as many as the programme's rules name."""
    promised, most = parameters.reports_per_person, heaviest_class(parameters)
    if len(parameters.classes) > 1:
        single = [filed_in(parameters, one) for one in parameters.classes]
        return (*single, filed_in(parameters, most, max(2, promised)))
    return tuple(filed_in(parameters, most, number) for number in sorted({*USUAL, promised}))


def is_capped(parameters: Parameters) -> bool:
    """Whether there is a limit in each single case: never where yearly figures are published."""
    one = filed_in(parameters, heaviest_class(parameters)).guarantee
    return one is not None and not math.isinf(one.likelihood_cap)


def audits_are_capped(parameters: Parameters) -> bool:
    """Whether there is one for the audits alone, whatever the yearly figures tell."""
    return not math.isinf(parameters.guarantee_of_audits().likelihood_cap)


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


def nearly_sure(guarantee: Guarantee, cap: float = math.inf, figures: Fraction = Fraction(0)) -> str | None:
    """How often, in 100 cases in which the reports were filed, a boss who was 50 % sure becomes 90 % sure or more, at
    most; None where nothing is excluded.

    Where the odds grow ninefold or more, the transcript is at least nine times as probable with the reports as without
    them, and the two probabilities differ by delta at most; where the audits have a likelihood cap, the first one is at
    most the cap times the second, and the delta of the figures (docs/explanation/how-sure.md).
    """
    often = Fraction(guarantee.delta) * NINEFOLD / (NINEFOLD - 1)
    if cap < NINEFOLD:
        often = min(often, figures * NINEFOLD / (NINEFOLD - Fraction(cap)))
    return None if often >= 1 else in_hundred(often)


def nearly_sure_after(parameters: Parameters, reports: int) -> str | None:
    """The same after so many reports of the class that counts most."""
    most = heaviest_class(parameters)
    guarantee, audits = parameters.guarantee_of(most, reports), parameters.guarantee_of(most, reports, audits_only=True)
    assert guarantee is not None
    assert audits is not None
    figures = Fraction(0) if parameters.figures is None else Fraction(parameters.figures.delta(reports))
    return nearly_sure(guarantee, audits.likelihood_cap, figures)


def single_case(parameters: Parameters, lapsed: bool, ended: bool, say: Voice) -> str:
    """What holds in most single cases, where there is no likelihood cap; from then on, while the promise has lapsed."""
    by_audits = not audits_are_capped(parameters)
    most = _mostly_unsure_after(parameters, 1, say)
    if most is None:
        return (
            say("The {audits} may even make your boss nearly sure.")
            if by_audits
            else say("The yearly numbers may even make your boss nearly sure.")
        )
    once = _once(parameters, most, lapsed, ended, say)
    if not lapsed:
        proven = say("That much is proven, and it may be more.")
        once = f"{once} {proven}"
    others = (
        say("In the other cases the {audits} may make your boss nearly sure.")
        if by_audits
        else say("In the other cases the yearly numbers may make your boss nearly sure.")
    )
    if (promised := parameters.reports_per_person) == 1:
        return f"{once} {others}"
    most = _mostly_unsure_after(parameters, promised, say)
    repeated = (
        say.counted(
            "With {number} report there is no such limit.", "With {number} reports there is no such limit.", promised
        )
        if most is None
        else say.counted(
            "With up to {number} report, a boss who was 50 % sure stays less than 90 % sure in at least {most} cases "
            "of 100.",
            "With up to {number} reports, a boss who was 50 % sure stays less than 90 % sure in at least {most} cases "
            "of 100.",
            promised,
            most=most,
        )
    )
    return f"{once} {others} {repeated}"


def _once(parameters: Parameters, most: str, lapsed: bool, ended: bool, say: Voice) -> str:
    """After one report; where the audits alone have a likelihood cap, what these tell at most comes first."""
    if lapsed:
        return say(
            "From then on, if you report once and your boss was 50 % sure, your boss stays less than 90 % sure in at "
            "least {most} cases of 100.",
            most=most,
        )
    audits = parameters.guarantee_of(heaviest_class(parameters), audits_only=True)
    assert audits is not None
    if (sure := sure_at_most(audits)) is not None:
        with_numbers = say(
            "With the yearly numbers as well, such a boss stays less than 90 % sure in at least {most} cases of 100.",
            most=most,
        )
        return f"{sure_by_watching(say.figure(sure), ended, say)} {with_numbers}"
    if ended:
        return say(
            "If you reported once and your boss was 50 % sure, your boss stays less than 90 % sure in at least {most} "
            "cases of 100.",
            most=most,
        )
    return say(
        "If you report once and your boss was 50 % sure, your boss stays less than 90 % sure in at least {most} cases "
        "of 100.",
        most=most,
    )


def sure_by_watching(sure: str, ended: bool, say: Voice) -> str:
    """How sure a boss can become by the audits, at most, in 100."""
    if ended:
        return say(
            "If you reported once, a boss who was 50 % sure of it can become at most {sure} % sure by watching the "
            "{audits}.",
            sure=sure,
        )
    return say(
        "If you report once, a boss who was 50 % sure that you reported can become at most {sure} % sure by watching "
        "the {audits}.",
        sure=sure,
    )


def _mostly_unsure_after(parameters: Parameters, reports: int, say: Voice) -> str | None:
    """In how many cases of 100 a boss who was 50 % sure stays less than 90 % sure, at least, rounded down; None where
    these are not most cases.
    """
    often = nearly_sure_after(parameters, reports)
    return None if often is None or Decimal(often) > MOST else say.figure(str(100 - Decimal(often)))


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


def caption(capped: bool, since: str | None, say: Voice) -> str:
    """Of the table; `since` is the day from which on it holds, where it does not hold now."""
    if capped and since is None:
        return say("How sure your boss can become, at most")
    if capped:
        return say("From {since} on: how sure your boss can become, at most", since=since)
    if since is None:
        return say("How many guesses of 100 are right, at most, after watching")
    return say("From {since} on: how many guesses of 100 are right, at most, after watching", since=since)


def head(capped: bool, say: Voice) -> tuple[str, ...]:
    """Of the table's columns."""
    starts = (
        [say("{sure} % sure before", sure=say.figure(in_hundred(start))) for start in SURE_BEFORE]
        if capped
        else [say("{right} right without watching", right=say.figure(in_hundred(start))) for start in RIGHT_BEFORE]
    )
    return (say("What you report"), *starts)


def with_figures(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """That the yearly figures are in the limits, where there are any."""
    figures = parameters.figures
    if figures is None:
        return ()
    published = say(
        "Once a year the office also publishes how many reports came in, from everyone together. Your report changes "
        "this number by 1. Chance changes it, too: mostly by up to {deviation}, rarely by more than twice that.",
        deviation=figures.deviation(),
    )
    return (" ".join((published, say("The table counts what these numbers tell as well."))),)


def until(parameters: Parameters, lapsed: bool, say: Voice) -> tuple[str, ...]:
    """When the programme ends, where it does."""
    if parameters.horizon is None:
        return ()
    last = day_in_words(parameters.calendar.day(parameters.horizon), say).words
    if lapsed:
        return (
            say.counted(
                "The programme has {number} round. The limits cover all rounds from then on. The last draw is due on "
                "{last}. A report that still waits after it counts no more here.",
                "The programme has {number} rounds. The limits cover all rounds from then on. The last draw is due on "
                "{last}. A report that still waits after it counts no more here.",
                parameters.horizon,
                last=last,
            ),
        )
    return (
        say.counted(
            "The programme has {number} round. The limits cover it. The last draw is due on {last}. A report that "
            "still waits after it counts no more here.",
            "The programme has {number} rounds. The limits cover them all. The last draw is due on {last}. A report "
            "that still waits after it counts no more here.",
            parameters.horizon,
            last=last,
        ),
    )
