"""What the form of a plan says, as `Parameters` takes it, and all that is wrong with it at once."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import date, time
from fractions import Fraction
from functools import partial
from typing import Any

from deniable.console.pages.field_errors import FieldError, about, field_of
from deniable.console.pages.plan_form import PlanForm, advantage_of, decimal_of, rounds, whole
from deniable.errors import DeniableError
from deniable.languages.language import AUDIT_TERMS, Terms, usable_languages
from deniable.mechanisms.forecasts import FORECASTS
from deniable.message import noted_count, why_not
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Calendar
from deniable.programme.names import check_name, check_not_reports, check_targets
from deniable.programme.parameters import MOST_BY_ONE_PERSON, MOST_HIDDEN
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import check_chain
from deniable.programme.randomness.source import LEAST_MINUTES, MOST_DAYS, MOST_MINUTES, Dice, Drand, Source
from deniable.programme.secrets.sealed_inputs import check_recipient
from deniable.promptness import Deadline
from deniable.report_classes import ONE_CLASS, ReportClass, check_classes, heaviest, parsed
from deniable.rules import Rules

LONGEST_ROUND = 9999


@dataclass(frozen=True)
class Reading:
    """What a form says."""

    settings: dict[str, Any]
    """The choices as `Parameters` takes them; without those that have mistakes."""
    deadline: Deadline | None
    """By which a visit should come; none where none was typed."""
    mistakes: tuple[DeniableError, ...]
    """All of them, in the order of the page."""


def read_form(form: PlanForm) -> Reading:
    read: dict[str, Any] = {}
    mistakes: list[DeniableError] = []
    for name, needed, reader in _STEPS:
        if read.keys() >= {*needed}:
            try:
                read[name] = reader(form, **{one: read[one] for one in needed})
            except DeniableError as error:
                mistakes.append(error)
    order = ["", *(one.name for one in fields(PlanForm))]
    mistakes.sort(key=lambda error: order.index(field_of(error)))
    settings = {name: read[name] for name in _SETTINGS if name in read}
    return Reading(settings, read.get("deadline"), tuple(mistakes))


def settings_of(form: PlanForm) -> dict[str, Any]:
    """The choices as `Parameters` takes them; refused where the form has a mistake."""
    reading = read_form(form)
    for mistake in reading.mistakes:
        raise mistake
    return reading.settings


def _name(form: PlanForm) -> str:
    if not form.name.strip():
        raise FieldError("name", "give the programme a name, such as Site visits")
    with about("name"):
        return check_name(why_not("the programme's name"), form.name.strip())


def _targets(form: PlanForm) -> tuple[str, ...]:
    targets = tuple(name.strip() for name in form.targets.splitlines() if name.strip())
    if len(targets) < 2:
        raise FieldError("targets", "name at least two targets, one a line")
    with about("targets"):
        check_not_reports(targets)
        return check_targets(targets)


def _mechanism(form: PlanForm) -> str:
    if form.mechanism not in ("race", "tca"):
        raise FieldError("mechanism", "choose how targets are chosen: race or counter auditing")
    return form.mechanism


def _check_audits(_: PlanForm, *, targets: tuple[str, ...], audits: int) -> None:
    if audits > len(targets):
        raise FieldError(
            "audits", "audits a round must be at most the number of targets, {number}", number=len(targets)
        )


def _check_gap(_: PlanForm, *, targets: tuple[str, ...], audits: int, max_gap: int | None) -> None:
    if max_gap is not None and max_gap * audits < len(targets):
        least = noted_count("{number} round", "{number} rounds", -(-len(targets) // audits))
        told = noted_count(
            "the longest gap must be at least {least}: in fewer, {number} audit a round cannot reach all {all} targets",
            "the longest gap must be at least {least}: in fewer, {number} audits a round cannot reach all {all} "
            "targets",
            audits,
            least=least,
            all=len(targets),
        )
        raise FieldError("max_gap", told)


def _people(form: PlanForm) -> int:
    people = whole(form, "reports_per_person")
    if people > MOST_BY_ONE_PERSON:
        raise FieldError(
            "reports_per_person",
            "reports by one person must be at most {most_by_one_person}",
            most_by_one_person=MOST_BY_ONE_PERSON,
        )
    return people


def _reveal_after(form: PlanForm, *, horizon: int | None) -> int:
    hidden = whole(form, "reveal_after", least=0)
    if hidden > MOST_HIDDEN:
        raise FieldError(
            "reveal_after", "rounds until names are public must be at most {most_hidden}", most_hidden=MOST_HIDDEN
        )
    if horizon is not None and hidden >= horizon:
        told = noted_count(
            "rounds until names are public must be fewer than the horizon of {number} round: otherwise no name is "
            "public before the last draw",
            "rounds until names are public must be fewer than the horizon of {number} rounds: otherwise no name is "
            "public before the last draw",
            horizon,
        )
        raise FieldError("reveal_after", told)
    return hidden


def _weights(form: PlanForm, *, mechanism: str) -> str | None:
    if form.weights not in FORECASTS:
        return None
    if mechanism != "race":
        raise FieldError(
            "weights",
            "a forecast is for race alone: choose race as the way of choosing, or targets that are all equally likely",
        )
    return form.weights


def _terms(form: PlanForm) -> Terms:
    with about("audit_term" if form.audit_term not in AUDIT_TERMS else "target_term"):
        return Terms(form.audit_term, form.target_term)


def _languages(form: PlanForm) -> tuple[str, ...]:
    """That of the first page, English without a choice, and those ticked besides."""
    first = form.first_language or "en"
    with about("first_language"):
        return usable_languages((first, *(code for code in form.languages.split() if code != first)))


def _oversight(form: PlanForm) -> str | None:
    typed = form.oversight.strip()
    if not typed:
        return None
    try:
        check_recipient(typed)
    except DeniableError:
        raise FieldError(
            "oversight", "the key of an oversight body must be an age recipient, age1 and 58 more characters"
        ) from None
    return typed


def _classes(form: PlanForm) -> tuple[ReportClass, ...]:
    lines = [line.strip() for line in form.classes.splitlines() if line.strip()]
    with about("classes"):
        return check_classes(map(parsed, lines)) if lines else ONE_CLASS


def _kind(form: PlanForm) -> str:
    if form.randomness not in ("none", "drand", "dice", "lottery"):
        raise FieldError("randomness", "choose where the random numbers come from")
    return form.randomness


def _minutes(form: PlanForm, *, kind: str) -> int | None:
    """None without a public value."""
    minutes = None if kind == "none" else whole(form, "minutes", LEAST_MINUTES)
    if minutes is not None and minutes > MOST_MINUTES:
        raise FieldError(
            "minutes", "minutes until the public value can be at most {most_minutes}", most_minutes=MOST_MINUTES
        )
    return minutes


def _days(form: PlanForm, *, kind: str) -> int | None:
    """None without a public value."""
    days = None if kind == "none" else whole(form, "days")
    if days is not None and days > MOST_DAYS:
        raise FieldError(
            "days", "days that a round waits for its public value can be at most {most_days}", most_days=MOST_DAYS
        )
    return days


def _place(form: PlanForm, *, kind: str) -> str:
    if kind in ("dice", "lottery") and not form.place:
        raise FieldError("place", "say where people can watch the throw, or which lottery it is")
    return form.place


def _numbers(form: PlanForm, *, kind: str) -> int:
    return whole(form, "numbers") if kind == "lottery" else 1


def _highest(form: PlanForm, *, kind: str) -> int | None:
    if kind not in ("dice", "lottery"):
        return None
    return whole(form, "sides" if kind == "dice" else "of", least=2)


def _throws(_: PlanForm, *, kind: str, numbers: int, highest: int | None) -> Throws | None:
    if highest is None:
        return None
    with about("sides" if kind == "dice" else "numbers"):
        return Throws(numbers, highest)


def _source(
    _: PlanForm, *, minutes: int | None, days: int | None, place: str, throws: Throws | None, calendar: Calendar
) -> Source | None:
    """Of the public values. drand's beacons must be such that this machine can check them, from the first round on."""
    if minutes is None or days is None:
        return None
    if throws is None:
        with about("randomness"):
            source = Drand(minutes=minutes, days=days)
            check_chain(source.chain)
            source.value_at(calendar.due(1), calendar.due(1))
            return source
    with about("place"):
        return Dice(place, throws, minutes, days)


def _bound(_: PlanForm, *, mechanism: str, horizon: int | None, max_gap: int | None) -> int | None:
    """The rounds that the noise of counter auditing must cover."""
    if mechanism == "race":
        if horizon is not None:
            raise FieldError("horizon", "leave the horizon empty: race holds however long the programme runs")
        return None
    if horizon is not None and max_gap is not None:
        raise FieldError(
            "horizon", "give either a horizon or a longest gap, not both: with a longest gap there is no horizon"
        )
    if horizon is None and max_gap is None:
        raise FieldError("horizon", "counter auditing needs a horizon or a longest gap")
    return max_gap if horizon is None else horizon


def _delta(
    form: PlanForm, *, advantage: float, reports_per_person: int, classes: tuple[ReportClass, ...], bound: int | None
) -> float:
    return delta_for(advantage, reports_per_person * heaviest(classes), form.mechanism, bound)


def _probability(form: PlanForm) -> float | None:
    if not form.deadline:
        return None
    if not re.fullmatch(r"[0-9]{1,2}([.,][0-9]{1,6})?", form.probability) or not decimal_of(form.probability):
        raise FieldError("probability", "so many times in 100 must be a number above 0 and below 100, such as 90")
    return float(Fraction(form.probability.replace(",", ".")) / 100)


def _deadline(
    _: PlanForm,
    *,
    within: int | None,
    probability: float | None,
    horizon: int | None,
    max_gap: int | None,
    cooldown: int,
) -> Deadline | None:
    if within is None or probability is None:
        return None
    deadline = Deadline(within, probability)
    with about("deadline"):
        deadline.check_rules(Rules(max_gap, cooldown), horizon)
    return deadline


_ANY_CALENDAR = Calendar(date(2026, 1, 1), "1D", "UTC")
"""On which each part of another is checked apart from the others."""


def _start(form: PlanForm) -> date:
    try:
        return replace(_ANY_CALENDAR, start=date.fromisoformat(form.start)).start
    except ValueError:
        raise FieldError("start", "give the first day of round 1, written as 2026-01-31") from None


def _time(form: PlanForm) -> time:
    try:
        return replace(_ANY_CALENDAR, time=time.fromisoformat(form.time)).time
    except ValueError:
        raise FieldError("time", "give the time of day at which rounds close, written as 09:00") from None


def _period(form: PlanForm) -> str:
    length = whole(form, "length")
    if length > LONGEST_ROUND or form.unit not in ("D", "W", "M"):
        raise FieldError(
            "length", "a round lasts 1 to {longest_round} days, weeks or months", longest_round=LONGEST_ROUND
        )
    return f"{length}{form.unit}"


def _zone(form: PlanForm) -> str:
    if not form.zone:
        raise FieldError("zone", "choose the time zone of your office, such as Europe/Berlin")
    try:
        return replace(_ANY_CALENDAR, zone=form.zone).zone
    except DeniableError:
        raise FieldError("zone", "this is no time zone; choose one from the list, such as Europe/Berlin") from None


_STEPS: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    ("name", (), _name),
    ("targets", (), _targets),
    ("start", (), _start),
    ("time", (), _time),
    ("period", (), _period),
    ("zone", (), _zone),
    ("calendar", ("start", "period", "zone", "time"), lambda _, **parts: Calendar(**parts)),
    ("audits", (), partial(whole, name="audits")),
    ("audits that fit", ("targets", "audits"), _check_audits),
    ("max_gap", (), partial(rounds, name="max_gap")),
    ("gap that fits", ("targets", "audits", "max_gap"), _check_gap),
    ("cooldown", (), partial(whole, name="cooldown", least=0)),
    ("advantage", (), advantage_of),
    ("reports_per_person", (), _people),
    ("classes", (), _classes),
    ("most_counted", (), lambda form: whole(form, "most_counted") if form.most_counted else None),
    ("mechanism", (), _mechanism),
    ("horizon", (), partial(rounds, name="horizon")),
    ("bound", ("mechanism", "horizon", "max_gap"), _bound),
    ("delta", ("advantage", "reports_per_person", "classes", "bound"), _delta),
    ("weights", ("mechanism",), _weights),
    ("reveal_after", ("horizon",), _reveal_after),
    ("kind", (), _kind),
    ("minutes", ("kind",), _minutes),
    ("days", ("kind",), _days),
    ("place", ("kind",), _place),
    ("numbers", ("kind",), _numbers),
    ("highest", ("kind",), _highest),
    ("throws", ("kind", "numbers", "highest"), _throws),
    ("randomness", ("minutes", "days", "place", "throws", "calendar"), _source),
    ("oversight", (), _oversight),
    ("terms", (), _terms),
    ("languages", (), _languages),
    ("within", (), partial(rounds, name="deadline")),
    ("probability", (), _probability),
    ("deadline", ("within", "probability", "horizon", "max_gap", "cooldown"), _deadline),
)
"""What is read, from what was read before, and how."""
_SETTINGS = (
    "name", "targets", "mechanism", "delta", "horizon", "reports_per_person", "audits", "max_gap", "cooldown",
    "weights", "calendar", "oversight", "reveal_after", "classes", "most_counted", "randomness", "terms",
    "languages",
)  # fmt: skip
