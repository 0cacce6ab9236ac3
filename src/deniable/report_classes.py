"""Classes of reports: how much a report of each adds to its target's count; public, and fixed from the start.

A class must follow from what a report says, and never from what else was reported (docs/explanation/classes.md).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from deniable.errors import DeniableError, check_whole

VISIT = "visit"
"""In place of a weight: a report of this class leads to a visit at once, and counts in no draw."""
MOST_CLASSES = 16
LARGEST_WEIGHT = 100
_LONGEST_NAME = 40
_WEIGHT_APART = re.compile(rf"(?<=\S)[\s:]+([0-9]+|{VISIT})$")
"""A weight that was typed without the sign before it."""


@dataclass(frozen=True)
class ReportClass:
    """One class.

    >>> ReportClass("serious", 3).leads_to_visit, ReportClass("danger", None).leads_to_visit
    (False, True)
    """

    name: str
    weight: int | None
    """What a report adds to the count; None where it leads to a visit at once instead."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _is_name(self.name):
            raise DeniableError(
                "a class of reports must have a name of 1 to {longest_name} letters, digits, "
                "spaces and hyphens, got {name}",
                longest_name=_LONGEST_NAME,
                name=ascii(self.name),
            )
        if self.weight is None:
            return
        try:
            weight = check_whole("weight", self.weight, least=1)
        except DeniableError:
            weight = LARGEST_WEIGHT + 1
        if weight > LARGEST_WEIGHT:
            raise DeniableError(
                "the weight of class {name} must be a whole number from 1 to {largest_weight}, or "
                "{visit}, got {weight}",
                name=self.name,
                largest_weight=LARGEST_WEIGHT,
                visit=VISIT,
                weight=self.weight,
            )
        object.__setattr__(self, "weight", weight)

    @property
    def leads_to_visit(self) -> bool:
        return self.weight is None

    @property
    def written(self) -> str:
        """As `parsed` reads it.

        >>> ReportClass("serious", 3).written
        'serious=3'
        """
        return f"{self.name}={VISIT if self.weight is None else self.weight}"


def parsed(text: str) -> ReportClass:
    """A class as an option gives it.

    >>> parsed("serious=3"), parsed("danger=visit")
    (ReportClass(name='serious', weight=3), ReportClass(name='danger', weight=None))
    >>> parsed("minor=1.5")
    Traceback (most recent call last):
    deniable.errors.DeniableError: the weight of class minor must be a whole number from 1 to 100, or visit, got 1.5
    """
    name, equals, weight = text.rpartition("=")
    if not equals:
        raise DeniableError(
            "class {name} needs a weight: write {name}=1 if a report of this class counts once, {name}=3 if it counts "
            "three times, or {name}={visit} if it leads to a visit at once",
            name=_WEIGHT_APART.sub("", text),
            visit=VISIT,
        )
    if weight == VISIT:
        return ReportClass(name, None)
    return ReportClass(name, int(weight) if weight.isdecimal() else weight)  # type: ignore[arg-type]


def check_classes(classes: Iterable[ReportClass]) -> tuple[ReportClass, ...]:
    """All the classes of a programme: names of their own, and at least one that counts in the draw."""
    every = tuple(classes)
    seen = set[str]()
    for one in every:
        if one.name.lower() in seen:
            raise DeniableError("each class of reports must have its own name, got {name} twice", name=one.name)
        seen.add(one.name.lower())
    if len(every) > MOST_CLASSES:
        raise DeniableError(
            "there can be at most {most_classes} classes of reports, got {every}",
            most_classes=MOST_CLASSES,
            every=len(every),
        )
    if all(one.leads_to_visit for one in every):
        raise DeniableError("at least one class of reports must have a weight, so that it counts in the draw")
    return every


def named(classes: Iterable[ReportClass], name: str | None) -> ReportClass:
    """The class of this name; without a name the only one there is."""
    every = tuple(classes)
    if name is None and len(every) == 1:
        return every[0]
    names = ", ".join(one.name for one in every)
    if name is None:
        raise DeniableError("say the report's class: it must be one of {names}", names=names)
    for one in every:
        if one.name == name:
            return one
    raise DeniableError("there is no class of reports named {name}; it must be one of {names}", name=name, names=names)


def heaviest(classes: Iterable[ReportClass]) -> int:
    """The largest weight of those that count in the draw."""
    return max(one.weight for one in classes if one.weight is not None)


def _is_name(name: str) -> bool:
    plain = name.replace(" ", "").replace("-", "")
    return 1 <= len(name) <= _LONGEST_NAME and plain.isalnum() and name == name.strip()


ONE_CLASS = (ReportClass("report", 1),)
"""Where an office tells no classes apart."""
