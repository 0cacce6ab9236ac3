"""What a mechanism promises for reports of each class, and for one person's mix of them, in figures and in words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deniable.errors import DeniableError, check_whole
from deniable.guarantee import Guarantee, points
from deniable.languages.voice import plain
from deniable.mechanisms.base import Mechanism
from deniable.report_classes import ReportClass, heaviest, named
from deniable.rounding import rounded_up


def guarantee_of_mix(
    mechanism: Mechanism[Any], classes: Sequence[ReportClass], reports: Mapping[str, int]
) -> Guarantee | None:
    """About one person's reports, so many of each class, all taken together; None if one of them leads to a visit.

    >>> from deniable.mechanisms import Race
    >>> classes = ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None)
    >>> race = Race.calibrate(n_targets=50, delta=0.1)
    >>> mix = guarantee_of_mix(race, classes, {"minor": 2, "serious": 1})
    >>> mix.filed, mix == race.guarantee_for([1, 1, 3])
    ('3 reports (2 of class minor and 1 of class serious)', False)
    >>> mix.curve == race.guarantee_for([1, 1, 3]).curve
    True
    """
    numbers = {named(classes, name): check_whole("reports", number, least=0) for name, number in reports.items()}
    filed = {one: number for one, number in numbers.items() if number}
    if not filed:
        raise DeniableError("a mix must have at least one report")
    weights = [one.weight for one, number in filed.items() for _ in range(number)]
    if None in weights:
        return None
    together = mechanism.guarantee_for([weight for weight in weights if weight is not None])
    if len(classes) == 1 and classes[0].weight == 1:
        return together
    if len(filed) == 1:
        return replace(together, kind="", of_class=next(iter(filed)).name)
    mixed = _and([f"{number} of class {one.name}" for one, number in filed.items()])
    return replace(together, kind=f"({mixed})")


def guarantees_by_class(mechanism: Mechanism[Any], classes: Sequence[ReportClass]) -> dict[str, Guarantee | None]:
    """About one report of each class, by the class's name; None where it leads to a visit, which shows it.

    >>> from deniable.mechanisms import Race
    >>> classes = ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None)
    >>> found = guarantees_by_class(Race.calibrate(n_targets=50, delta=0.1), classes)
    >>> {name: one and round(one.delta, 3) for name, one in found.items()}
    {'minor': 0.1, 'serious': 0.293, 'danger': None}
    """
    return {one.name: guarantee_of_mix(mechanism, classes, {one.name: 1}) for one in classes}


def guarantee_of_heaviest(mechanism: Mechanism[Any], classes: Sequence[ReportClass], reports: int = 1) -> Guarantee:
    """About so many reports of one person, of the class with the largest weight. It holds for lighter reports too."""
    name = next(one.name for one in classes if one.weight == heaviest(classes))
    found = guarantee_of_mix(mechanism, classes, {name: reports})
    assert found is not None
    return found


def sentences(mechanism: Mechanism[Any], classes: Sequence[ReportClass]) -> list[str]:
    """One sentence or two for each class, in plain words, and one for a person who files several reports.

    Nothing where there is one class alone: `Guarantee.in_words` says it all.

    >>> from deniable.mechanisms import Race
    >>> classes = ReportClass("serious", 3), ReportClass("danger", None)
    >>> print(*sentences(Race.calibrate(n_targets=50, delta=0.1), classes))
    A report of class serious: watching improves a guess whether you filed it by at most 14.7 points in 100, and no
    sequence of audits is more than 2.27 times as likely if you filed it as it would be if you had not.
    A report of class danger is not protected: it leads to a visit at once, and the visit shows it. All other reports
    keep their promise.
    """
    if len(classes) == 1:
        return []
    found = guarantees_by_class(mechanism, classes)
    said = [_of_class(name, guarantee) for name, guarantee in found.items()]
    counting = [name for name, guarantee in found.items() if guarantee is not None]
    together = guarantee_of_mix(mechanism, classes, dict.fromkeys(counting, 1))
    if len(counting) > 1 and together is not None and together.delta > 0:
        said.append(
            "If you file several reports, the limit for them taken together is higher: with one of each of the "
            f"classes {_and(counting)}, {_limit(together, 'them')}."
        )
    return said


def as_json(mechanism: Mechanism[Any], classes: Sequence[ReportClass]) -> list[dict[str, Any]]:
    """The public figures of each class, ready for JSON; `guarantee` is None where a report leads to a visit."""
    found = guarantees_by_class(mechanism, classes)
    return [
        {
            "class": one.name,
            "weight": one.weight,
            "guarantee": None if (guarantee := found[one.name]) is None else guarantee.to_dict(),
        }
        for one in classes
    ]


def _of_class(name: str, guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return (
            f"A report of class {name} is not protected: it leads to a visit at once, and the visit shows it. "
            "All other reports keep their promise."
        )
    return f"A report of class {name}: {_limit(guarantee, 'it')}."


def _limit(guarantee: Guarantee, it: str) -> str:
    if guarantee.delta == 0:
        return f"the audits do not depend on {it} at all"
    if guarantee.promises_nothing:
        return "nothing is promised"
    odds = (
        f", and no sequence of audits is more than {rounded_up(guarantee.likelihood_cap)} times as likely if you filed "
        f"{it} as it would be if you had not"
        if guarantee.has_cap
        else ""
    )
    return f"watching improves a guess whether you filed {it} by at most {points(guarantee.delta, plain())}{odds}"


def _and(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
