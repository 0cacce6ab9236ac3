"""What a report achieves: the chance that the next draw selects its target, and the wait until it is selected.

Calculated from the public rules for a quiet time, in which nothing is reported about any other target.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deniable.languages.voice import Voice
from deniable.mechanisms.race import Race
from deniable.programme.calendar import Calendar, rounds_in_words
from deniable.programme.parameters import Parameters
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
    """On average, from the reports to the draw that selects their target: 'about 266 days (38 rounds)'."""
    risk: str
    """How sure a boss who was 50 % sure can become, if one person filed these reports: 'at most 57 %'."""


def effects(parameters: Parameters, n_targets: int, say: Voice) -> tuple[Effect, ...]:
    """First without any report, then with some; nothing where there is no formula: for counter auditing, and for draws
    with weights.
    """
    if parameters.mechanism != "race" or parameters.weights is not None:
        return ()
    race, audits, filed = replace(parameters.built(), n_targets=n_targets), parameters.audits, _filed(parameters)
    assert isinstance(race, Race)
    waits = quick_waits(race, audits, (0, *(one.reports * (one.one.weight or 1) for one in filed)))
    assert waits is not None
    chances = chances_in_words([1 - passed_over(race, wait.reports, audits) for wait in waits], say)
    labels = [say("No report"), *(filed_in_words(parameters, one, say) for one in filed)]
    risks = ["–", *(_risk(one, say) for one in filed)]
    return tuple(
        Effect(label, chance, wait_in_words(parameters.calendar, wait, say), risk)
        for label, chance, wait, risk in zip(labels, chances, waits, risks, strict=True)
    )


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
        yield say("Your report can only shorten the wait, never make it longer.")
        yield say("We cannot give a figure for how much more likely it is.")
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
        yield say("The chance is smaller in a draw in which another {target} is due.")
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
    """For all that people read about one: days first, or years from one year on, since people live by them. All are
    rounded up.

    >>> from datetime import date
    >>> from deniable.languages.voice import plain
    >>> weekly = Calendar(date(2026, 1, 5), "1W", "UTC")
    >>> [wait_in_words(weekly, QuietWait(3, rounds, "exact"), plain()) for rounds in (38, 4.15, 1)]
    ['about 266 days (38 rounds)', 'about 30 days (4.2 rounds)', 'about 7 days (1 round)']
    >>> [wait_in_words(weekly, QuietWait(3, rounds, "exact"), plain()) for rounds in (52.2, 240)]
    ['about 1.1 years (52.2 rounds)', 'about 4.7 years (240 rounds)']
    >>> wait_in_words(Calendar(date(2026, 1, 5), "1M", "UTC"), QuietWait(3, 12, "exact"), plain())
    'about 1 year (12 rounds)'
    >>> wait_in_words(weekly, QuietWait(3, 4.04, "at most"), plain())
    'at most 29 days (4.1 rounds)'
    """
    days, figure = calendar.days(wait.rounds), _in_tenths(wait.rounds)
    rounds = say.counted("{figure} round", "{figure} rounds", say.plural_of(figure), figure=say.figure(figure))
    if (years := calendar.years(wait.rounds)) >= 1:
        return _years_in_words(_in_tenths(years), wait, rounds, say)
    if wait.kind == "at most":
        return say.counted("at most {number} day ({rounds})", "at most {number} days ({rounds})", days, rounds=rounds)
    return say.counted("about {number} day ({rounds})", "about {number} days ({rounds})", days, rounds=rounds)


def _years_in_words(years: str, wait: QuietWait, rounds: str, say: Voice) -> str:
    number, figure = say.plural_of(years), say.figure(years)
    if wait.kind == "at most":
        return say.counted(
            "at most {figure} year ({rounds})",
            "at most {figure} years ({rounds})",
            number,
            figure=figure,
            rounds=rounds,
        )
    return say.counted(
        "about {figure} year ({rounds})", "about {figure} years ({rounds})", number, figure=figure, rounds=rounds
    )


def _in_tenths(number: float) -> str:
    """Rounded up: '4.2'; from 100 on whole."""
    tenths = math.ceil(10 * number - _ROUNDING) / 10
    return f"{tenths:,.1f}".removesuffix(".0") if tenths < 100 else f"{math.ceil(tenths):,}"


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
