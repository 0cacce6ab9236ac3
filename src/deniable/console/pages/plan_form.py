"""The form of a plan: the choices as they are typed, and as `Parameters` takes them."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import date, time
from fractions import Fraction
from typing import Any

from deniable.errors import MAX_REPORTS, DeniableError
from deniable.mechanisms.forecasts import FORECASTS
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Calendar
from deniable.programme.names import check_targets
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import check_chain
from deniable.programme.randomness.source import LEAST_MINUTES, MOST_DAYS, MOST_MINUTES, Dice, Drand, Source
from deniable.programme.secrets.sealed_inputs import check_recipient
from deniable.programme.terms import AUDIT_FORMS, DEFAULT_TERMS, Terms
from deniable.promptness import Deadline
from deniable.report_classes import ONE_CLASS, ReportClass, check_classes, heaviest, parsed
from deniable.rules import MAX_GAP
from deniable.wording import count

LONGEST_ROUND = 9999


class FieldError(DeniableError):
    """FieldError(field, sentence): what is wrong with one field of the form."""

    @property
    def field(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return str(self.args[1])


@contextmanager
def _about(field: str) -> Iterator[None]:
    """What is refused inside is wrong with this field."""
    try:
        yield
    except FieldError:
        raise
    except DeniableError as error:
        raise FieldError(field, str(error)) from None


@dataclass(frozen=True)
class PlanForm:
    """The choices as they were typed."""

    name: str = ""
    targets: str = ""
    points: str = "5"
    reports_per_person: str = "3"
    mechanism: str = "race"
    audits: str = "1"
    horizon: str = ""
    max_gap: str = ""
    cooldown: str = "0"
    reveal_after: str = "0"
    weights: str = "equal"
    start: str = ""
    time: str = "09:00"
    length: str = "1"
    unit: str = "W"
    zone: str = ""
    oversight: str = ""
    deadline: str = ""
    probability: str = "90"
    classes: str = ""
    most_counted: str = ""
    randomness: str = "none"
    minutes: str = "60"
    place: str = ""
    sides: str = "6"
    numbers: str = "6"
    of: str = "49"
    days: str = "7"
    audit_term: str = DEFAULT_TERMS.audit
    target_term: str = DEFAULT_TERMS.target

    @property
    def fingerprint(self) -> str:
        """By which the plan that is begun is known to be the one that was looked at; browsers end lines in their own
        way.
        """
        typed = {name: value.splitlines() for name, value in asdict(self).items()}
        return hashlib.sha256(json.dumps(typed).encode()).hexdigest()

    @property
    def has_more(self) -> bool:
        """Whether a choice was made that most offices leave as it is."""
        return any(getattr(self, one.name) != one.default for one in fields(self) if one.name in MORE)


MORE = (
    "mechanism", "horizon", "weights", "reveal_after", "classes", "most_counted", "randomness", "minutes", "place",
    "sides", "numbers", "of", "days", "oversight", "deadline", "probability", "audit_term", "target_term",
)  # fmt: skip
"""The fields under "More choices"."""


def settings_of(form: PlanForm) -> dict[str, Any]:
    """The choices as `Parameters` takes them."""
    targets = tuple(name.strip() for name in form.targets.splitlines() if name.strip())
    if not form.name.strip():
        raise FieldError("name", "give the programme a name, such as Site visits")
    if len(targets) < 2:
        raise FieldError("targets", "name at least two targets, one a line")
    with _about("targets"):
        check_targets(targets)
    if form.mechanism not in ("race", "tca"):
        raise FieldError("mechanism", "choose race or counter auditing")
    horizon, max_gap = _rounds(form, "horizon"), _rounds(form, "max_gap")
    classes = _classes(form.classes)
    audits, people = _whole(form, "audits"), _whole(form, "reports_per_person")
    if audits > len(targets):
        raise FieldError("audits", f"audits a round must be at most the number of targets, {len(targets):,}")
    if max_gap is not None and max_gap * audits < len(targets):
        raise FieldError(
            "max_gap",
            f"the longest gap must be at least {count(-(-len(targets) // audits), 'round')}: in fewer, "
            f"{count(audits, 'audit')} a round cannot reach all {len(targets):,} targets",
        )
    calendar = _calendar(form)
    return {
        "name": form.name.strip(),
        "targets": targets,
        "mechanism": form.mechanism,
        "delta": _delta(form, people * heaviest(classes), _bound(form.mechanism, horizon, max_gap)),
        "horizon": horizon,
        "reports_per_person": people,
        "audits": audits,
        "max_gap": max_gap,
        "cooldown": _whole(form, "cooldown", least=0),
        "weights": form.weights if form.weights in FORECASTS else None,
        "calendar": calendar,
        "oversight": _oversight(form.oversight.strip()),
        "reveal_after": _whole(form, "reveal_after", least=0),
        "classes": classes,
        "most_counted": _whole(form, "most_counted") if form.most_counted else None,
        "randomness": _source(form, calendar),
        "terms": _terms(form),
    }


def _terms(form: PlanForm) -> Terms:
    with _about("audit_term" if form.audit_term not in AUDIT_FORMS else "target_term"):
        return Terms(form.audit_term, form.target_term)


def _oversight(typed: str) -> str | None:
    if not typed:
        return None
    try:
        check_recipient(typed)
    except DeniableError:
        raise FieldError(
            "oversight", "the key of an oversight body must be an age recipient, age1 and 58 more characters"
        ) from None
    return typed


def _classes(typed: str) -> tuple[ReportClass, ...]:
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    with _about("classes"):
        return check_classes(map(parsed, lines)) if lines else ONE_CLASS


def _source(form: PlanForm, calendar: Calendar) -> Source | None:
    """Of the public values. drand's beacons must be such that this machine can check them, from the first round on."""
    if form.randomness == "none":
        return None
    if form.randomness not in ("drand", "dice", "lottery"):
        raise FieldError("randomness", "choose where the random numbers come from")
    minutes, days = _whole(form, "minutes", LEAST_MINUTES), _whole(form, "days")
    if minutes > MOST_MINUTES:
        raise FieldError("minutes", f"{_LABELS['minutes']} can be at most {MOST_MINUTES:,}")
    if days > MOST_DAYS:
        raise FieldError("days", f"{_LABELS['days']} can be at most {MOST_DAYS:,}")
    if form.randomness == "drand":
        with _about("randomness"):
            source = Drand(minutes=minutes, days=days)
            check_chain(source.chain)
            source.value_at(calendar.due(1), calendar.due(1))
            return source
    if not form.place:
        raise FieldError("place", "say where people can watch the throw, or which lottery it is")
    if form.randomness == "dice":
        with _about("sides"):
            throws = Throws(of=_whole(form, "sides", least=2))
    else:
        with _about("numbers"):
            throws = Throws(_whole(form, "numbers"), _whole(form, "of", least=2))
    with _about("place"):
        return Dice(form.place, throws, minutes, days)


def _bound(mechanism: str, horizon: int | None, max_gap: int | None) -> int | None:
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


def _delta(form: PlanForm, reports: int, bound: int | None) -> float:
    advantage = advantage_of(form)
    if reports > MAX_REPORTS:
        raise FieldError("reports_per_person", f"reports by one person must be at most {MAX_REPORTS:,}")
    try:
        return delta_for(advantage, reports, form.mechanism, bound)
    except DeniableError:
        raise FieldError(
            "points",
            "this promise is too strict to be kept; allow more points, fewer reports by one person, or smaller weights",
        ) from None


def deadline_of(form: PlanForm) -> Deadline | None:
    """By which a visit should come; none where none was typed."""
    if not form.deadline:
        return None
    if not re.fullmatch(r"[0-9]{1,2}([.,][0-9]{1,6})?", form.probability) or not decimal_of(form.probability):
        raise FieldError(
            "probability", "how often a visit must come in time is a number above 0 and below 100, such as 90"
        )
    rounds = _rounds(form, "deadline")
    assert rounds is not None
    return Deadline(rounds, float(Fraction(form.probability.replace(",", ".")) / 100))


def advantage_of(form: PlanForm) -> float:
    """What watching may add to the chance of a right guess."""
    typed = form.points
    if not re.fullmatch(r"[0-9]{1,2}([.,][0-9]{1,6})?", typed) or not 0 < (value := decimal_of(typed)) < 50:
        raise FieldError("points", "the points must be a number above 0 and below 50, such as 5")
    return value / 100


def decimal_of(typed: str) -> float:
    """With a point or a comma."""
    return float(typed.replace(",", "."))


_LABELS = {
    "horizon": "horizon",
    "max_gap": "longest gap",
    "audits": "audits a round",
    "reports_per_person": "reports by one person",
    "cooldown": "rest after an audit",
    "reveal_after": "rounds until names are public",
    "most_counted": "most reports that count",
    "minutes": "minutes until the public value",
    "days": "days that a round waits for its public value",
    "sides": "sides of the die",
    "of": "the highest number of the lottery",
    "numbers": "numbers in a drawing",
    "deadline": "deadline",
    "length": "how long a round lasts",
}


def _whole(form: PlanForm, name: str, least: int = 1) -> int:
    typed = getattr(form, name)
    if not re.fullmatch("[0-9]{1,9}", typed) or int(typed) < least:
        raise FieldError(name, f"{_LABELS[name]} must be a whole number of at least {least}")
    return int(typed)


def _rounds(form: PlanForm, name: str) -> int | None:
    """None where nothing was typed."""
    value = _whole(form, name) if getattr(form, name) else None
    if value is not None and value > MAX_GAP:
        raise FieldError(name, f"{_LABELS[name]} must be at most {MAX_GAP:,} rounds")
    return value


def _calendar(form: PlanForm) -> Calendar:
    try:
        start = date.fromisoformat(form.start)
    except ValueError:
        raise FieldError("start", "give the first day of round 1, written as 2026-01-31") from None
    try:
        at = time.fromisoformat(form.time)
    except ValueError:
        raise FieldError("time", "give the time of day at which rounds close, written as 09:00") from None
    length = _whole(form, "length")
    if length > LONGEST_ROUND or form.unit not in ("D", "W", "M"):
        raise FieldError("length", f"a round lasts 1 to {LONGEST_ROUND:,} days, weeks or months")
    if not form.zone:
        raise FieldError("zone", "choose the time zone of your office, such as Europe/Berlin")
    with _about("zone"):
        return Calendar(start, f"{length}{form.unit}", form.zone, at)


def field_of(error: DeniableError) -> str:
    """The field that an error is about; empty where that is not known."""
    if isinstance(error, FieldError):
        return error.field
    return next((field for words, field in _BEGINNINGS.items() if str(error).startswith(words)), "")


_BEGINNINGS = {
    "the programme's name": "name",
    "reports_per_person": "reports_per_person",
    "weights": "weights",
    "reveal_after": "reveal_after",
    "oversight": "oversight",
    "deadline": "deadline",
}
"""Of what `Parameters` and `Deadline` refuse, by the fields that it is about."""
