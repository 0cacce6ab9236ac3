"""What a report achieves: the chance that the next draw selects its target, and the wait until it is selected.

Calculated from the public rules for a quiet time, in which nothing is reported about any other target.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deniable.languages.voice import Voice
from deniable.mechanisms.race import Race
from deniable.programme.calendar import Calendar, in_tenths, rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import Filed, filed_in, filed_in_words, sure_at_most
from deniable.promptness import QuietWait, passed_over, quick_waits

REPORTS = (1, 3, 10)
"""The numbers of reports for which it is told, where there is one class."""


@dataclass(frozen=True)
class Effect:
    """Of so many reports about one target."""

    reports: str
    chance: str
    """In one draw, at least: '26 in 1,000'."""
    wait: str
    """On average, from the reports to the draw that selects their target: 'about 38 weeks'."""
    risk: str
    """How sure a boss who was 50 % sure can become, if one person filed these reports: 'at most 57 %'."""


def effects(parameters: Parameters, now: Situation, say: Voice) -> tuple[Effect, ...]:
    """First without any report, then with some; nothing where there is no formula: for counter auditing, and for draws
    with weights.
    """
    if parameters.mechanism != "race" or parameters.weights is not None:
        return ()
    race, audits, filed = replace(parameters.built(), n_targets=now.n_targets), parameters.audits, _filed(parameters)
    assert isinstance(race, Race)
    waits = quick_waits(race, audits, (0, *(one.reports * (one.one.weight or 1) for one in filed)))
    assert waits is not None
    chances = chances_in_words([1 - passed_over(race, wait.reports, audits, _others(now)) for wait in waits], say)
    labels = [say("No report"), *(filed_in_words(parameters, one, say) for one in filed)]
    risks = ["–", *(_risk(one, say) for one in filed)]
    return tuple(
        Effect(label, chance, wait_in_words(parameters.calendar, wait, say), risk)
        for label, chance, wait, risk in zip(labels, chances, waits, risks, strict=True)
    )


def _others(now: Situation) -> int:
    """How many others the next draw may select, if it may select the target itself: in the first rounds, and after a
    target left, fewer rest than later. Where all rest, the rest is cut short.
    """
    return now.n_targets - 1 - (now.resting if now.resting < now.n_targets else 0)


def circumstances(parameters: Parameters, n_targets: int, is_told: bool, say: Voice) -> Iterator[str]:
    """What the figures are about, where there are any, and what the rules do besides."""
    if is_told:
        yield say("We calculated the chances and waits from the public rules; they are not a promise.")
        yield say.counted(
            "They are for the {number} {target} of today.", "They are for the {number} {targets} of today.",
            n_targets,
        )  # fmt: skip
        yield say("Reports about others make the wait longer, and so do late draws.")
    else:
        quiet = QuietWait(0, n_targets / parameters.audits, "exact")
        yield say(
            "On average over all {targets}, each is drawn once in {wait}.",
            wait=wait_in_words(parameters.calendar, quiet, say),
        )
        yield say("Your report can only shorten the wait, never make it longer.")
        yield say("We cannot say by how much: that depends on the other reports, and these are secret.")
    if parameters.most_counted is not None and len(parameters.classes) > 1:
        yield say.counted(
            "At most {number} report of each class about {a_target} counts in one round.",
            "At most {number} reports of each class about {a_target} count in one round.",
            parameters.most_counted,
        )
    elif parameters.most_counted is not None:
        yield say.counted(
            "At most {number} report about {a_target} counts in one round.",
            "At most {number} reports about {a_target} count in one round.",
            parameters.most_counted,
        )
    if parameters.cooldown:
        yield say(
            "After {an_audit} the {target} rests for {rounds}, where that is possible. No draw selects it then.",
            rounds=rounds_in_words(parameters.calendar, parameters.cooldown, say),
        )
    if parameters.max_gap is None:
        yield say("It may be the next draw, and it may take long. No date is promised.")
        return
    if is_told:
        yield say("The chance is smaller in a draw that must select another {target} by the next rule.")
    yield say(
        "With or without reports, each {target} is selected at least once in {rounds}. Skipped rounds do not count.",
        rounds=rounds_in_words(parameters.calendar, parameters.max_gap, say),
    )


def chances_in_words(chances: Sequence[float], say: Voice) -> list[str]:
    """Rounded down, and all of them out of the same number, with two digits at least.

    >>> from deniable.languages.voice import plain
    >>> chances_in_words([0.02, 0.0262, 0.2381], plain()), chances_in_words([0.5, 1.0], plain())
    (['20 in 1,000', '26 in 1,000', '238 in 1,000'], ['50 in 100', '100 in 100'])
    """
    of = 100
    while min(chances) * of < 20 - _ROUNDING:
        of *= 10
    return [say("{chance} in {of}", chance=math.floor(chance * of + _ROUNDING), of=of) for chance in chances]


def wait_in_words(calendar: Calendar, wait: QuietWait, say: Voice) -> str:
    """For all that people read about one: in the unit of the calendar, or in years from one year on; rounded up.

    >>> from datetime import date
    >>> from deniable.languages.voice import plain
    >>> weekly, monthly, daily = (Calendar(date(2026, 1, 5), period, "UTC") for period in ("1W", "2M", "1D"))
    >>> [wait_in_words(weekly, QuietWait(3, rounds, "exact"), plain()) for rounds in (38, 4.15, 1)]
    ['about 38 weeks', 'about 4.2 weeks', 'about 1 week']
    >>> [wait_in_words(weekly, QuietWait(3, rounds, "exact"), plain()) for rounds in (52.2, 240)]
    ['about 1.1 years', 'about 4.7 years']
    >>> [wait_in_words(each, QuietWait(3, 3.3, "exact"), plain()) for each in (monthly, daily)]
    ['about 6.6 months', 'about 3.3 days']
    >>> wait_in_words(weekly, QuietWait(3, 4.04, "at most"), plain())
    'at most 4.1 weeks'
    """
    unit, number = calendar.in_units(wait.rounds)
    figure = in_tenths(number)
    in_words = _limit_in_words if wait.kind == "at most" else _length_in_words
    return in_words(unit, say.plural_of(figure), say.figure(figure), say)


def _length_in_words(unit: str, number: int, figure: str, say: Voice) -> str:
    if unit == "D":
        return say.counted("about {figure} day", "about {figure} days", number, figure=figure)
    if unit == "W":
        return say.counted("about {figure} week", "about {figure} weeks", number, figure=figure)
    if unit == "M":
        return say.counted("about {figure} month", "about {figure} months", number, figure=figure)
    return say.counted("about {figure} year", "about {figure} years", number, figure=figure)


def _limit_in_words(unit: str, number: int, figure: str, say: Voice) -> str:
    if unit == "D":
        return say.counted("at most {figure} day", "at most {figure} days", number, figure=figure)
    if unit == "W":
        return say.counted("at most {figure} week", "at most {figure} weeks", number, figure=figure)
    if unit == "M":
        return say.counted("at most {figure} month", "at most {figure} months", number, figure=figure)
    return say.counted("at most {figure} year", "at most {figure} years", number, figure=figure)


_ROUNDING = 1e-9
"""More than floating point comes to."""


def _filed(parameters: Parameters) -> list[Filed]:
    """What is told: one report of each class, or some reports in one round."""
    if len(parameters.classes) > 1:
        return [filed_in(parameters, one) for one in parameters.classes if one.weight is not None]
    most = parameters.most_counted or max(REPORTS)
    return [filed_in(parameters, parameters.classes[0], number) for number in REPORTS if number <= most]


def _risk(filed: Filed, say: Voice) -> str:
    assert filed.guarantee is not None
    sure = sure_at_most(filed.guarantee)
    return say("no limit") if sure is None else say("at most {sure} %", sure=say.figure(sure))
