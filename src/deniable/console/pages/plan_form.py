"""The form of a plan: the choices as they are typed, and as `Parameters` takes them."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from datetime import date, time
from fractions import Fraction
from typing import Any

from deniable.errors import MAX_REPORTS, DeniableError
from deniable.mechanisms.forecasts import FORECASTS
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Calendar
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import check_chain
from deniable.programme.randomness.source import Dice, Drand, Source
from deniable.promptness import Deadline
from deniable.report_classes import ONE_CLASS, check_classes, heaviest, parsed
from deniable.rules import MAX_GAP
from deniable.wording import count

LONGEST_ROUND = 9999


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
    zone: str = "UTC"
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

    @property
    def fingerprint(self) -> str:
        """By which the plan that is begun is known to be the one that was looked at."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()


def settings_of(form: PlanForm) -> dict[str, Any]:
    """The choices as `Parameters` takes them."""
    targets = tuple(name.strip() for name in form.targets.splitlines() if name.strip())
    if not form.name.strip():
        raise DeniableError("give the programme a name")
    if len(targets) < 2:
        raise DeniableError("name at least two targets, one a line")
    if form.mechanism not in ("race", "tca"):
        raise DeniableError("choose race or counter auditing")
    horizon, max_gap = _optional("horizon", form.horizon), _optional("longest gap", form.max_gap)
    lines = [line.strip() for line in form.classes.splitlines() if line.strip()]
    classes = check_classes(map(parsed, lines)) if lines else ONE_CLASS
    audits, people = _whole("audits a round", form.audits), _whole("reports by one person", form.reports_per_person)
    if audits > len(targets):
        raise DeniableError(f"audits a round must be at most the number of targets, {len(targets):,}")
    if max_gap is not None and max_gap * audits < len(targets):
        raise DeniableError(
            f"the longest gap must be at least {count(-(-len(targets) // audits), 'round')}: in fewer, "
            f"{count(audits, 'audit')} a round cannot reach all {len(targets):,} targets"
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
        "cooldown": _whole("rest after an audit", form.cooldown, least=0),
        "weights": form.weights if form.weights in FORECASTS else None,
        "calendar": calendar,
        "oversight": form.oversight or None,
        "reveal_after": _whole("rounds until names are public", form.reveal_after, least=0),
        "classes": classes,
        "most_counted": _whole("most reports that count", form.most_counted) if form.most_counted else None,
        "randomness": _source(form, calendar),
    }


def _source(form: PlanForm, calendar: Calendar) -> Source | None:
    """Of the public values. drand's beacons must be such that this machine can check them, from the first round on."""
    if form.randomness == "none":
        return None
    if form.randomness not in ("drand", "dice", "lottery"):
        raise DeniableError("choose where the random numbers come from")
    minutes = _whole("minutes until the public value", form.minutes)
    days = _whole("days that a round waits for its public value", form.days)
    if form.randomness == "drand":
        source = Drand(minutes=minutes, days=days)
        check_chain(source.chain)
        source.value_at(calendar.due(1), calendar.due(1))
        return source
    if not form.place:
        raise DeniableError("say where people can watch the throw, or which lottery it is")
    if form.randomness == "dice":
        return Dice(form.place, Throws(of=_whole("sides of the die", form.sides, least=2)), minutes, days)
    highest = _whole("the highest number of the lottery", form.of, least=2)
    return Dice(form.place, Throws(_whole("numbers in a drawing", form.numbers), highest), minutes, days)


def _bound(mechanism: str, horizon: int | None, max_gap: int | None) -> int | None:
    """The rounds that the noise of counter auditing must cover."""
    if mechanism == "race":
        if horizon is not None:
            raise DeniableError("leave the horizon empty: race holds however long the programme runs")
        return None
    if horizon is not None and max_gap is not None:
        raise DeniableError("give either a horizon or a longest gap, not both: with a longest gap there is no horizon")
    if horizon is None and max_gap is None:
        raise DeniableError("counter auditing needs a horizon or a longest gap")
    return max_gap if horizon is None else horizon


def _delta(form: PlanForm, reports: int, bound: int | None) -> float:
    advantage = _advantage(form.points)
    if reports > MAX_REPORTS:
        raise DeniableError(f"reports by one person must be at most {MAX_REPORTS:,}")
    try:
        return delta_for(advantage, reports, form.mechanism, bound)
    except DeniableError:
        raise DeniableError(
            "this promise is too strict to be kept; allow more points, fewer reports by one person, or smaller weights"
        ) from None


def deadline_of(form: PlanForm) -> Deadline | None:
    """By which a visit should come; none where none was typed."""
    if not form.deadline:
        return None
    if not re.fullmatch(r"[0-9]{1,2}([.,][0-9]{1,6})?", form.probability) or not _decimal(form.probability):
        raise DeniableError("how often a visit must come in time is a number above 0 and below 100, such as 90")
    rounds = _optional("deadline", form.deadline)
    assert rounds is not None
    return Deadline(rounds, float(Fraction(form.probability.replace(",", ".")) / 100))


def _advantage(points: str) -> float:
    if not re.fullmatch(r"[0-9]{1,2}([.,][0-9]{1,6})?", points) or not 0 < (value := _decimal(points)) < 50:
        raise DeniableError("the points must be a number above 0 and below 50, such as 5")
    return value / 100


def _decimal(typed: str) -> float:
    return float(typed.replace(",", "."))


def _whole(label: str, typed: str, least: int = 1) -> int:
    if not re.fullmatch("[0-9]{1,9}", typed) or int(typed) < least:
        raise DeniableError(f"{label} must be a whole number of at least {least}")
    return int(typed)


def _optional(label: str, typed: str) -> int | None:
    """In rounds."""
    value = _whole(label, typed) if typed else None
    if value is not None and value > MAX_GAP:
        raise DeniableError(f"{label} must be at most {MAX_GAP:,} rounds")
    return value


def _calendar(form: PlanForm) -> Calendar:
    try:
        start, at = date.fromisoformat(form.start), time.fromisoformat(form.time)
    except ValueError:
        raise DeniableError("the first day and the time of day must be given") from None
    length = _whole("how long a round lasts", form.length)
    if length > LONGEST_ROUND or form.unit not in ("D", "W", "M"):
        raise DeniableError(f"a round lasts 1 to {LONGEST_ROUND:,} days, weeks or months")
    return Calendar(start, f"{length}{form.unit}", form.zone, at)
