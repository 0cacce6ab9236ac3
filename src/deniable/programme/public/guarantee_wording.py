"""The guarantee in precise sentences and figures, for readers who want them exactly."""

import math
import re
from collections.abc import Collection

from deniable.guarantee import points, points_above_half
from deniable.programme.parameters import Parameters
from deniable.programme.terms import DEFAULT_TERMS, Terms
from deniable.report_classes import ReportClass
from deniable.rounding import float_above, rounded_up
from deniable.wording import count

LITTLE = 0.3
"""Up to this delta the audits give little away: a guess improves by at most 15 points in 100. Above it `init` warns."""


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


def coin(parameters: Parameters) -> str:
    """The limit of the whole promise, for a reader to picture."""
    seen = f"watching every {parameters.terms.audit}" + (
        " and reading the yearly figures" if parameters.figures else ""
    )
    return (
        "Someone who could only toss a coin, and would be right 50 times in 100, is right at most "
        f"{points_above_half(parameters.guarantee().delta)} times in 100 after {seen}."
    )


def in_public_words(text: str, terms: Terms, kept: Collection[str] = ()) -> str:
    """A sentence of the transcript in the words of the public page: the office's for audits and targets, and "promise";
    `kept` are names and quotations in it, which stay as they are.

    >>> in_public_words("The audit of Audit Ltd, a target. The guarantee covers it.", Terms("visit", "site"))
    'The visit to Audit Ltd, a site. The promise covers it.'
    >>> in_public_words("the audit of our target", Terms("visit", "site"), ["our target"])
    'the visit to our target'
    """
    if not text:
        return text
    spoken = {
        "audit of": "visit to" if terms.audit == "visit" else f"{terms.audit} of",
        "an audit": terms.an_audit, "audits": terms.audits, "audited": terms.audited, "audit": terms.audit,
        "a target": terms.a_target, "targets": terms.targets, "target": terms.target, "guarantee": "promise",
    }  # fmt: skip
    names = [re.escape(name) for name in sorted(kept, key=len, reverse=True) if name]
    pattern = "|".join([*names, *(rf"\b{word}\b" for word in spoken)])
    return re.sub(pattern, lambda found: found[0] if found[0] in kept else spoken[found[0]], text)


def exact_figures(parameters: Parameters) -> tuple[str, ...]:
    """What the programme promises, in precise sentences; where it publishes yearly figures, about both together."""
    guarantee, terms, said = parameters.guarantee(), parameters.terms, []
    if terms != DEFAULT_TERMS:
        said.append(
            f"Experts say audit and target: here {terms.an_audit} is an audit, and {terms.a_target} is a target."
        )
    said += guarantee.statements("every audit and reads the yearly figures" if parameters.figures else "every audit")
    if not guarantee.promises_nothing:
        said += [coin(parameters), *_yearly(parameters)]
        if math.isinf(parameters.guarantee_of_audits().likelihood_cap):
            said.append(NO_CAP)
        if parameters.horizon is not None:
            said.append(f"There are no later rounds: the programme has {count(parameters.horizon, 'round')}.")
    return (*said, *class_statements(parameters), f"The delta of one report is {level(parameters)}.")


def _yearly(parameters: Parameters) -> list[str]:
    figures = parameters.figures
    if figures is None:
        return []
    added = points(float_above(figures.delta(parameters.reports_per_person)))
    own = "your report is" if parameters.reports_per_person == 1 else "each of your reports is"
    return [
        "Once a year the office publishes how many reports came in, with random noise of "
        f"± {figures.deviation():,} in each number; {own} in the figures of one year only, "
        f"and the limit above includes at most {added} for that.",
        *_single_cases(parameters.guarantee_of_audits().likelihood_cap),
    ]


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
    "with your report as without it, and someone who happens to see one may become nearly certain. The limit "
    "above says how often that happens at most."
)
"""For a guarantee without a likelihood cap, such as that of counter auditing."""


def class_in_words(one: ReportClass) -> str:
    """A class and what a report of it does, for the person who chooses it.

    >>> [class_in_words(ReportClass(name, weight)) for name, weight in (("minor", 1), ("serious", 3), ("danger", None))]
    ['minor (counts once)', 'serious (counts three times)', 'danger (leads to a visit at once; not protected)']
    """
    does = "leads to a visit at once; not protected" if one.weight is None else f"counts {_times(one.weight)}"
    return f"{one.name} ({does})"


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
        f"{each}at most {count(parameters.most_counted, 'report')} about {parameters.terms.a_target} count in a round; "
        "further ones change nothing"
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
        f"such report by at most {points(promise.delta)} (delta = {rounded_up(promise.delta, digits=4)}){cap}."
    )


def _times(number: int) -> str:
    few = ("once", "twice", "three times", "four times", "five times", "six times", "seven times", "eight times",
           "nine times", "ten times")  # fmt: skip
    return few[number - 1] if number <= len(few) else f"{number:,} times"
