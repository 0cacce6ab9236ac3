"""How sure a boss who watches can become that a person reported: the first part of the promise, in figures and words.

Every figure is a proven upper bound and rounded up (docs/explanation/how-sure.md).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.class_guarantees import guarantee_of_mix
from deniable.guarantee import Guarantee
from deniable.programme.parameters import Parameters
from deniable.report_classes import ReportClass, heaviest
from deniable.rounding import rounded_up
from deniable.wording import count

SURE_BEFORE = (Fraction(20, 100), Fraction(50, 100), Fraction(80, 100))
"""That a person reported: what the table starts from where there is a likelihood cap."""
RIGHT_BEFORE = (Fraction(50, 100), Fraction(80, 100), Fraction(95, 100))
"""How often a guess is right: what it starts from where there is none."""
USUAL = (1, 2, 3)
"""Numbers of reports in the table."""
HALF = Fraction(1, 2)
NO_LIMIT = "no limit"
NINEFOLD = 9
"""What makes odds of 50 : 50 odds of 90 : 10."""


@dataclass(frozen=True)
class Filed:
    """Some reports of one person, and what the audits can show of them at most; None where a visit shows them."""

    label: str
    audits: Guarantee | None
    """By the audits alone."""
    together: Guarantee | None
    """By all that is published: the audits and the yearly figures."""


def in_hundred(share: Fraction) -> str:
    """A share of 100, rounded up to a whole number; above 99 with as many places as keep it below 100.

    >>> in_hundred(Fraction(561, 1000)), in_hundred(Fraction(9991, 10000)), in_hundred(Fraction(1))
    ('57', '99.91', '100')
    """
    places = 0
    while (shown := rounded_up(share, 100, places=places)).startswith("100") and share < 1:
        places += 1
    return shown


def reports_in_words(number: int) -> str:
    """'one report', 'three reports', '12 reports'."""
    names = {1: "one report", 2: "two reports", 3: "three reports", 10: "ten reports"}
    return names.get(number) or count(number, "report")


def heaviest_class(parameters: Parameters) -> ReportClass:
    """Of those in the draw: what is promised about it is promised about each."""
    return next(one for one in parameters.classes if one.weight == heaviest(parameters.classes))


def filed_in(parameters: Parameters, one: ReportClass, reports: int = 1) -> Filed:
    label = reports_in_words(reports)
    if len(parameters.classes) > 1:
        label = f"{label} of class {one.name}"
    audits = guarantee_of_mix(parameters.built(), parameters.classes, {one.name: reports})
    return Filed(label, audits, parameters.guarantee_of(one, reports))


def all_filed(parameters: Parameters) -> tuple[Filed, ...]:
    """The rows of the table: one report of each class, or a few reports, and as many as the programme's rules name."""
    promised, most = parameters.reports_per_person, heaviest_class(parameters)
    if len(parameters.classes) > 1:
        single = [filed_in(parameters, one) for one in parameters.classes]
        return (*single, filed_in(parameters, most, max(2, promised)))
    return tuple(filed_in(parameters, most, number) for number in sorted({*USUAL, promised}))


def is_capped(parameters: Parameters) -> bool:
    """Whether the audits, the yearly figures left aside, have a limit in each single case."""
    one = filed_in(parameters, heaviest_class(parameters)).audits
    return one is not None and not math.isinf(one.likelihood_cap)


def promises_little(guarantee: Guarantee) -> bool:
    """Whether no limit is worth telling."""
    return not guarantee.has_cap if not math.isinf(guarantee.likelihood_cap) else guarantee.delta == 1


def is_made(parameters: Parameters) -> bool:
    """Whether there is a limit for one report of each class in the draw."""
    one = filed_in(parameters, heaviest_class(parameters))
    shown = one.audits if is_capped(parameters) else one.together
    return shown is not None and not promises_little(shown)


def sure_at_most(guarantee: Guarantee, before: Fraction = HALF) -> str:
    """In a programme with a cap: '57 %'."""
    return f"{in_hundred(guarantee.posterior(before))} %" if guarantee.has_cap else NO_LIMIT


def right_at_most(guarantee: Guarantee, before: Fraction = HALF) -> str:
    """How often, in 100, a guess is right at most: '55'."""
    return in_hundred(guarantee.right_guesses(before)) if guarantee.delta < 1 else NO_LIMIT


def nearly_sure(guarantee: Guarantee) -> str | None:
    """How often, in 100 cases in which the reports were filed, a boss who was 50 % sure becomes 90 % sure or more, at
    most; None where nothing is excluded.

    Where the odds grow ninefold or more, the transcript is at least nine times as probable with the reports as without
    them, and the two probabilities differ by delta at most (docs/explanation/how-sure.md).
    """
    often = Fraction(guarantee.delta) * NINEFOLD / (NINEFOLD - 1)
    return None if often >= 1 else in_hundred(often)


def rows(parameters: Parameters) -> tuple[tuple[str, ...], ...]:
    """Of the table: what is filed, and the limit for each start; one cell where there is no protection at all."""
    capped = is_capped(parameters)
    starts = SURE_BEFORE if capped else RIGHT_BEFORE
    limit = sure_at_most if capped else right_at_most
    told = []
    for one in all_filed(parameters):
        shown = one.audits if capped else one.together
        cells = ["not protected"] if shown is None else [limit(shown, start) for start in starts]
        told.append((one.label[0].upper() + one.label[1:], *cells))
    return tuple(told)
