"""The form of a plan: the choices as they are typed, and their numbers."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, fields

from deniable.console.pages.field_errors import FieldError
from deniable.languages.language import DEFAULT_TERMS
from deniable.message import noted
from deniable.rules import MAX_GAP


@dataclass(frozen=True)
class PlanForm:
    """The choices as they were typed, in the order of the page."""

    name: str = ""
    targets: str = ""
    start: str = ""
    time: str = "09:00"
    length: str = "1"
    unit: str = "W"
    zone: str = ""
    first_language: str = "en"
    languages: str = ""
    """Codes of further ones, with spaces between them."""
    audits: str = "1"
    max_gap: str = ""
    cooldown: str = "0"
    points: str = "5"
    reports_per_person: str = "3"
    classes: str = ""
    most_counted: str = ""
    audit_term: str = DEFAULT_TERMS.audit
    target_term: str = DEFAULT_TERMS.target
    reveal_after: str = "0"
    randomness: str = "none"
    sides: str = "6"
    numbers: str = "6"
    of: str = "49"
    place: str = ""
    minutes: str = "60"
    days: str = "7"
    oversight: str = ""
    mechanism: str = "race"
    horizon: str = ""
    weights: str = "equal"
    deadline: str = ""
    probability: str = "90"

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


def advantage_of(form: PlanForm) -> float:
    """What watching may add to the chance of a right guess."""
    typed = form.points
    if not re.fullmatch(r"[0-9]{1,2}([.,][0-9]{1,6})?", typed) or not 0 < (value := decimal_of(typed)) < 50:
        raise FieldError("points", "the points must be a number above 0 and below 50, such as 5")
    return value / 100


def decimal_of(typed: str) -> float:
    """With a point or a comma."""
    return float(typed.replace(",", "."))


NOT_WHOLE = {
    "horizon": noted("horizon must be a whole number of at least {least}"),
    "max_gap": noted("longest gap must be a whole number of at least {least}"),
    "audits": noted("audits a round must be a whole number of at least {least}"),
    "reports_per_person": noted("reports by one person must be a whole number of at least {least}"),
    "cooldown": noted("rest after an audit must be a whole number of at least {least}"),
    "reveal_after": noted("rounds until names are public must be a whole number of at least {least}"),
    "most_counted": noted("most reports that count must be a whole number of at least {least}"),
    "minutes": noted("minutes until the public value must be a whole number of at least {least}"),
    "days": noted("days that a round waits for its public value must be a whole number of at least {least}"),
    "sides": noted("sides of the die must be a whole number of at least {least}"),
    "of": noted("the highest number of the lottery must be a whole number of at least {least}"),
    "numbers": noted("numbers in a drawing must be a whole number of at least {least}"),
    "deadline": noted("deadline must be a whole number of at least {least}"),
    "length": noted("how long a round lasts must be a whole number of at least {least}"),
}
TOO_LONG = {
    "horizon": noted("horizon must be at most {most} rounds"),
    "max_gap": noted("longest gap must be at most {most} rounds"),
    "deadline": noted("deadline must be at most {most} rounds"),
}


def whole(form: PlanForm, name: str, least: int = 1) -> int:
    typed = getattr(form, name)
    if not re.fullmatch("[0-9]{1,9}", typed) or int(typed) < least:
        raise FieldError(name, NOT_WHOLE[name], least=least)
    return int(typed)


def rounds(form: PlanForm, name: str) -> int | None:
    """None where nothing was typed."""
    value = whole(form, name) if getattr(form, name) else None
    if value is not None and value > MAX_GAP:
        raise FieldError(name, TOO_LONG[name], most=MAX_GAP)
    return value
