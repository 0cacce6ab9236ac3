"""How much a guarantee leaves to be seen, in the words of everybody who reads a programme's pages."""

import math

from deniable.guarantee import Guarantee, points, points_above_half
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.coverage import either_class
from deniable.report_classes import ReportClass
from deniable.rounding import float_above, rounded_up
from deniable.wording import count

LITTLE = 0.3
"""Up to this delta the audits give little away: a guess improves by at most 15 points in 100. Above it `init` warns."""
A_GOOD_DEAL = 0.7
"""Up to this delta they can give a good deal away; above it, nearly everything."""


def given_away(delta: float) -> str:
    """What the audits give away of whether a report was filed: the end of a sentence on how targets are drawn.

    >>> given_away(0.1)
    'so that the audits give little away'
    """
    if delta <= LITTLE:
        return "so that the audits give little away"
    if delta <= A_GOOD_DEAL:
        return "yet the audits can give a good deal away"
    return "yet the audits can give nearly everything away" if delta < 1 else "yet the audits can give everything away"


def level(parameters: Parameters) -> str:
    """The delta of one report, whatever number of reports the programme's guarantee speaks of: rounded up; where there
    are several classes, that of each.
    """
    levels = [
        (one.name, rounded_up(promise.delta, digits=4))
        for one in parameters.classes
        if (promise := parameters.guarantee_of(one)) is not None
    ]
    return levels[0][1] if len(parameters.classes) == 1 else ", ".join(f"{delta} ({name})" for name, delta in levels)


def at_most(guarantee: Guarantee) -> str:
    """The number, for those who read no further."""
    return f"at most {points(guarantee.delta)}"


def coin(parameters: Parameters) -> str:
    """The same number as somebody who knows no statistics may picture it."""
    seen = "watching every audit" + (" and reading the yearly figures" if parameters.figures else "")
    return (
        "So somebody who could only toss a coin, and would be right 50 times in 100, is right at most "
        f"{points_above_half(parameters.guarantee().delta)} times in 100 after {seen}."
    )


def promise(parameters: Parameters) -> str:
    """What the programme promises, in one paragraph; where it publishes yearly figures, about both together."""
    figures, audits = parameters.figures, parameters.guarantee_of_audits()
    if figures is None:
        return audits.in_words()
    added = points(float_above(figures.delta(parameters.reports_per_person)))
    own = "your report is" if parameters.reports_per_person == 1 else "each of your reports is"
    return parameters.guarantee().in_words(
        "every audit and reads the yearly figures",
        "the audits and the yearly figures",
        [
            "Once a year the office publishes how many reports came in, with random noise of "
            f"± {figures.deviation():,} in each number; {own} in the figures of one year only, "
            f"and the limit above includes at most {added} for that.",
            *_single_cases(audits.likelihood_cap),
        ],
    )


def _single_cases(cap: float) -> list[str]:
    """What the audits alone are limited by, and both together are not."""
    if math.isinf(cap):
        return []
    return [
        "For the audits alone there is a limit in single cases as well: with the same yearly figures, no sequence of "
        f"audits is more than {rounded_up(cap)} times as likely if you filed as it would be if you had not, everything "
        "else equal.",
        "For the yearly figures there is none: numbers that are rare in any event may be many times as likely with a "
        "report as without it, and the limit above says how often that happens at most.",
    ]


def figures_rule(parameters: Parameters) -> str:
    """How the yearly figures are made, and what they cost; empty where there are none."""
    figures, classes = parameters.figures, len(parameters.classes)
    if figures is None:
        return ""
    apart = f", and of each class with ± {figures.deviation():,}" if classes > 1 else ""
    return (
        "after the last round due in a calendar year, the number of reports counted since the last time is published "
        f"with random noise of ± {figures.deviation(classes):,}{apart} (standard deviations); the promise above "
        f"includes what that tells about one report, delta = {rounded_up(figures.delta(), digits=4)}"
    )


NO_CAP = (
    "There is no limit for single cases: a sequence of audits that is rare in any event may be many times as likely "
    "with your report as without it, and somebody who happens to see such a one may become nearly certain. The number "
    "above limits how often that happens."
)
"""For a guarantee without a likelihood cap, such as that of counter auditing."""

OVERSIGHT = (
    "This programme has an oversight body, which the rules of the programme name. It can read how many reports there "
    "were about each target in every round, also after the office has deleted them, for as long as it keeps its key. "
    "The promise trusts it as it trusts the office."
)
"""For a programme that has one."""


def class_in_words(one: ReportClass) -> str:
    """A class and what a report of it does, for the person who chooses it.

    >>> [class_in_words(ReportClass(name, weight)) for name, weight in (("minor", 1), ("serious", 3), ("danger", None))]
    ['minor (counts once)', 'serious (counts three times)', 'danger (leads to a visit at once; not protected)']
    """
    does = "leads to a visit at once; not protected" if one.weight is None else f"counts {_times(one.weight)}"
    return f"{one.name} ({does})"


def visit_warning(parameters: Parameters) -> str:
    """What must be read before anything else where reports of a class lead to a visit; otherwise empty."""
    if not parameters.visit_classes:
        return ""
    return (
        f"Read this first: a report of {either_class(parameters.visit_classes)} is not protected. It leads to a visit "
        "at once, outside the draw, and the public record names the target and the class of the report: anyone can see "
        "that such a report was filed. Only reports of this kind lose the promise. All other reports keep it, whatever "
        "emergencies there are."
    )


def class_statements(parameters: Parameters) -> tuple[str, ...]:
    """What is promised about one report of each class; nothing where there is one class only."""
    if len(parameters.classes) == 1:
        return ()
    return tuple(_statement(parameters, one) for one in parameters.classes)


def flood_cap(parameters: Parameters) -> str:
    """What is done against floods of reports; empty where nothing is.

    The sentence is the end of one that begins with a name.
    """
    if parameters.most_counted is None:
        return ""
    each = "of each class " if len(parameters.classes) > 1 else ""
    return (
        f"{each}at most {count(parameters.most_counted, 'report')} about a target count in a round; further ones "
        "change nothing"
    )


def _statement(parameters: Parameters, one: ReportClass) -> str:
    promise = parameters.guarantee_of(one)
    if one.weight is None or promise is None:
        return f"Class {one.name}: a report leads to a visit at once, and nothing is promised about it."
    if promise.promises_nothing:
        return f"Class {one.name}: a report counts {_times(one.weight)}, and nothing is promised about it."
    with_figures = ", with the yearly figures," if parameters.figures else ""
    cap = (
        f", and no sequence of audits is more than {rounded_up(promise.likelihood_cap)} times as likely with it as "
        "without it"
        if promise.has_cap
        else ""
    )
    return (
        f"Class {one.name}: a report counts {_times(one.weight)}. Watching{with_figures} improves a guess about one "
        f"such report by {at_most(promise)} (delta = {rounded_up(promise.delta, digits=4)}){cap}."
    )


def _times(number: int) -> str:
    few = ("once", "twice", "three times", "four times", "five times", "six times", "seven times", "eight times",
           "nine times", "ten times")  # fmt: skip
    return few[number - 1] if number <= len(few) else f"{number:,} times"
