"""The rules of a programme in words: each public parameter, and what it means."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deniable.languages.language import language
from deniable.languages.voice import Voice
from deniable.programme.calendar import Calendar, rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.frozen_rounds import randomness_rule
from deniable.programme.public.guarantee_wording import class_in_words, figures_rule, flood_cap, level

MOST_WEIGHTS = 250
"""That are told one by one."""


class Fact(NamedTuple):
    id: str
    """The same in every language."""
    name: str
    text: str

    @property
    def is_hash(self) -> bool:
        return self.id in ("programme", "key")


def facts_of(parameters: Parameters, say: Voice) -> tuple[Fact, ...]:
    """The public parameters, each with what it means."""
    return tuple(fact for fact in _facts(parameters, say) if fact.text)


def _facts(parameters: Parameters, say: Voice) -> Iterator[Fact]:
    calendar = parameters.calendar
    yield Fact("rounds", say("Rounds"), _rounds(parameters, say))
    yield Fact("audits", say("{Audits} a round"), say.number(parameters.audits))
    yield Fact("names", say("Names of those selected"), _names(parameters, say))
    yield Fact("mechanism", say("How {targets} are chosen"), _mechanism(parameters, say))
    yield Fact("randomness", say("Random numbers"), randomness_rule(parameters, say))
    yield Fact("level", say("Privacy level of one report"), say("delta = {level}", level=level(parameters, say)))
    yield Fact("person", say("Reports by one person"), _reports_per_person(parameters, say))
    classes = parameters.classes if len(parameters.classes) > 1 else ()
    yield Fact(
        "classes",
        say("Classes of reports"),
        say.language.locale.semicolon.join(class_in_words(one, say) for one in classes),
    )
    yield Fact("floods", say("Floods of reports"), flood_cap(parameters, say))
    horizon = rounds_in_words(calendar, parameters.horizon, say) if parameters.horizon else ""
    yield Fact("horizon", say("Horizon"), horizon)
    yield Fact("gap", say("Longest gap"), _longest_gap(parameters, say))
    yield Fact("rest", say("Rest after {an_audit}"), _rest(parameters, say))
    yield Fact("weights", say("Weights"), _weights(parameters, say))
    yield Fact("figures", say("Yearly numbers"), figures_rule(parameters, say))
    yield Fact("oversight", say("Oversight"), _oversight(parameters, say))
    yield Fact("languages", say("Languages of the public page"), _languages(parameters, say))
    yield Fact("programme", say("Programme"), parameters.programme)
    yield Fact("key", say("Public key (Ed25519)"), parameters.public_key)


def _rounds(parameters: Parameters, say: Voice) -> str:
    calendar = parameters.calendar
    return say(
        "{every}, at {time} ({zone} time), counted from {day}. A round closes at its time whatever reports came in",
        every=every_period(calendar, say),
        time=say.digits(f"{calendar.time:%H:%M}"),
        zone=calendar.zone,
        day=say.day(calendar.start),
    )


def _names(parameters: Parameters, say: Voice) -> str:
    if not parameters.reveal_after:
        return ""
    return say.counted(
        "public {number} round after the draw, whatever happened since. Until then the record has a fingerprint that "
        "fixes them",
        "public {number} rounds after the draw, whatever happened since. Until then the record has a fingerprint that "
        "fixes them",
        parameters.reveal_after,
    )


def _mechanism(parameters: Parameters, say: Voice) -> str:
    if parameters.mechanism == "race":
        return say(
            "race: chance decides, and each report that waits makes its {target} somewhat more likely to be drawn"
        )
    return say(
        "counter auditing (tca): chance is added to the number of reports that wait about each {target}, and the "
        "largest result is drawn"
    )


def _reports_per_person(parameters: Parameters, say: Voice) -> str:
    if len(parameters.classes) > 1:
        return say.counted(
            "the exact figures of the promise are about {number} report of the heaviest class",
            "the exact figures of the promise are about {number} reports of the heaviest class",
            parameters.reports_per_person,
        )
    return say.counted(
        "the exact figures of the promise are about {number} report",
        "the exact figures of the promise are about {number} reports",
        parameters.reports_per_person,
    )


def _longest_gap(parameters: Parameters, say: Voice) -> str:
    if parameters.max_gap is None:
        return say("none: {a_target} may go without {an_audit} for a long time")
    return say(
        "every {target} is {audited} at least once in {rounds}; skipped rounds do not count",
        rounds=rounds_in_words(parameters.calendar, parameters.max_gap, say),
    )


def _rest(parameters: Parameters, say: Voice) -> str:
    if not parameters.cooldown:
        return say("none: {a_target} may be {audited} twice in a row")
    rounds = rounds_in_words(parameters.calendar, parameters.cooldown, say)
    return say("{rounds}, where that is possible", rounds=rounds)


def _weights(parameters: Parameters, say: Voice) -> str:
    if parameters.weights is None:
        return ""
    if parameters.weights == "forecast":
        return say("a forecast from past {audits}, which are public")
    if isinstance(parameters.weights, str):
        return say("a forecast from past {audits}, which are public, for rates of reports that never change")
    return _fixed_weights(parameters.targets, parameters.weights, say)


def _fixed_weights(targets: Sequence[str], weights: Sequence[float], say: Voice) -> str:
    shown = zip(targets[:MOST_WEIGHTS], weights, strict=False)
    some = say.language.locale.semicolon.join(f"{name} {say.figure(f'{weight:g}')}" for name, weight in shown)
    if len(targets) <= MOST_WEIGHTS:
        return say("fixed by the office at the start: {weights}", weights=some)
    return say.counted(
        "fixed by the office at the start: {weights}; and that of {number} other, which programme.json has",
        "fixed by the office at the start: {weights}; and those of {number} others, which programme.json has",
        len(targets) - MOST_WEIGHTS,
        weights=some,
    )


def _oversight(parameters: Parameters, say: Voice) -> str:
    if parameters.oversight is None:
        return say("no oversight body can repeat the draws")
    return say("an oversight body can repeat every draw; its key is {key}", key=parameters.oversight)


def _languages(parameters: Parameters, say: Voice) -> str:
    """Each by its own name; nothing where there is English alone."""
    if parameters.languages == ("en",):
        return ""
    return say.language.locale.semicolon.join(language(code).locale.name for code in parameters.languages)


def every_period(calendar: Calendar, say: Voice) -> str:
    """How often there is a draw.

    >>> from datetime import date
    >>> from deniable.languages.voice import plain
    >>> [every_period(Calendar(date(2026, 1, 5), period, "UTC"), plain()) for period in ("1W", "2M")]
    ['every week', 'every 2 months']
    """
    if calendar.unit == "D":
        return say.counted("every day", "every {number} days", calendar.units)
    if calendar.unit == "W":
        return say.counted("every week", "every {number} weeks", calendar.units)
    return say.counted("every month", "every {number} months", calendar.units)
