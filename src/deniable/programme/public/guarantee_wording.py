"""The guarantee in precise sentences and figures, for readers who want them exactly."""

import math

from deniable.guarantee import Guarantee, points, points_above_half
from deniable.languages.voice import Voice
from deniable.programme.parameters import Parameters
from deniable.report_classes import ReportClass
from deniable.rounding import float_above, rounded_up

LITTLE = 0.3
"""Up to this delta the audits give little away: a guess improves by at most 15 points in 100. Above it `init` warns."""


def level(parameters: Parameters, say: Voice) -> str:
    """The delta of one report, whatever number of reports the programme's guarantee speaks of: rounded up; where there
    are several classes, that of each.
    """
    levels = [
        (one.name, say.figure(rounded_up(promise.delta, digits=4)))
        for one in parameters.classes
        if (promise := parameters.guarantee_of(one)) is not None
    ]
    if len(parameters.classes) == 1:
        return levels[0][1]
    return say.all_of([say("{delta} ({name})", delta=delta, name=name) for name, delta in levels])


def coin(parameters: Parameters, say: Voice) -> str:
    """The limit of the whole promise, for a reader to picture."""
    right = say.figure(points_above_half(parameters.guarantee().delta))
    if parameters.figures:
        return say(
            "Someone who could only toss a coin, and would be right 50 times in 100, is right at most {right} times in "
            "100 after watching every {audit} and reading the yearly numbers.",
            right=right,
        )
    return say(
        "Someone who could only toss a coin, and would be right 50 times in 100, is right at most {right} times in 100 "
        "after watching every {audit}.",
        right=right,
    )


def exact_figures(parameters: Parameters, say: Voice, *, ended: bool = False) -> tuple[str, ...]:
    """What the programme promises, in precise sentences; where it publishes yearly figures, about both together.
    When it ends is not said once it has `ended`.
    """
    guarantee = parameters.guarantee()
    said = guarantee.statements(say, with_figures=parameters.figures is not None)
    if not guarantee.promises_nothing:
        said += [coin(parameters, say), *_yearly(parameters, say)]
        if math.isinf(parameters.guarantee_of_audits().likelihood_cap):
            said.append(_no_cap(say))
        if parameters.horizon is not None and not ended:
            said.append(
                say.counted(
                    "The programme ends after {number} round.",
                    "The programme ends after {number} rounds.",
                    parameters.horizon,
                )
            )
    delta = say("The delta of one report is {delta}.", delta=level(parameters, say))
    return (*said, *class_statements(parameters, say), delta)


def _no_cap(say: Voice) -> str:
    """For a guarantee without a likelihood cap, such as that of counter auditing."""
    return say(
        "There is no limit for single cases: a sequence of {audits} that is rare in any event may be many times as "
        "likely with your report as without it, and someone who happens to see one may become nearly certain. The "
        "limit above says how often that happens at most."
    )


def _yearly(parameters: Parameters, say: Voice) -> list[str]:
    figures = parameters.figures
    if figures is None:
        return []
    added = points(float_above(figures.delta(parameters.reports_per_person)), say)
    published = say.counted(
        "Once a year the office publishes how many reports came in, with random noise of ± {deviation} in each number; "
        "your report is in the numbers of one year only, and the limit above includes at most {points} for that.",
        "Once a year the office publishes how many reports came in, with random noise of ± {deviation} in each number; "
        "each of your reports is in the numbers of one year only, and the limit above includes at most {points} for "
        "that.",
        parameters.reports_per_person,
        deviation=figures.deviation(),
        points=added,
    )
    return [published, *_single_cases(parameters.guarantee_of_audits().likelihood_cap, say)]


def _single_cases(cap: float, say: Voice) -> list[str]:
    """What the audits alone are limited by, and both together are not."""
    if math.isinf(cap):
        return []
    return [
        say(
            "For the {audits} alone there is a limit in single cases as well: with the same random noise in the "
            "yearly numbers, and if these numbers change nothing about what other people report, no sequence of "
            "{audits} is more than {factor} times as likely if you filed as it would be if you had not, everything "
            "else equal.",
            factor=say.figure(rounded_up(cap)),
        ),
        say(
            "For the yearly numbers there is none: numbers that are rare in any event may be many times as likely with "
            "a report as without it, and the limit above says how often that happens at most."
        ),
    ]


def figures_rule(parameters: Parameters, say: Voice) -> str:
    """How the yearly figures are made, and what they cost; empty where there are none."""
    figures, classes = parameters.figures, len(parameters.classes)
    if figures is None:
        return ""
    delta = say.figure(rounded_up(figures.delta(), digits=4))
    if classes == 1:
        return say(
            "after the last round due in a calendar year, the number of reports counted since the last time is "
            "published with random noise of ± {deviation} (standard deviations); the promise above includes what that "
            "tells about one report, delta = {delta}",
            deviation=figures.deviation(),
            delta=delta,
        )
    return say(
        "after the last round due in a calendar year, the number of reports counted since the last time is published "
        "with random noise of ± {deviation}, and of each class with ± {each} (standard deviations); the promise above "
        "includes what that tells about one report, delta = {delta}",
        deviation=figures.deviation(classes),
        each=figures.deviation(),
        delta=delta,
    )


def class_in_words(one: ReportClass, say: Voice) -> str:
    """A class and what a report of it does, for the person who chooses it.

    >>> from deniable.languages.voice import plain
    >>> classes = ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None)
    >>> [class_in_words(one, plain()) for one in classes]
    ['minor (counts once)', 'serious (counts 3 times)', 'danger (leads to a visit at once; not protected)']
    """
    if one.weight is None:
        return say("{name} (leads to a visit at once; not protected)", name=one.name)
    return say.counted("{name} (counts once)", "{name} (counts {number} times)", one.weight, name=one.name)


def classes_in_words(parameters: Parameters, say: Voice) -> str:
    """What a person who reports must know of the classes, where there are several."""
    classes = say.one_of([class_in_words(one, say) for one in parameters.classes])
    each = say("Each report has a class, which says how much it counts in the draw: {classes}.", classes=classes)
    return f"{each} {who_chooses(say)}"


def who_chooses(say: Voice) -> str:
    """Who chooses a report's class."""
    return say(
        "The people who take your report, at the hotline or in the office, choose the class by what you write. Ask "
        "them what each class means, and tell them which one you want."
    )


def class_statements(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """What is promised about one report of each class; nothing where there is one class only."""
    if len(parameters.classes) == 1:
        return ()
    return tuple(_statement(parameters, one, say) for one in parameters.classes)


def flood_cap(parameters: Parameters, say: Voice) -> str:
    """What is done against floods of reports; empty where nothing is."""
    if parameters.most_counted is None:
        return ""
    if len(parameters.classes) > 1:
        return say.counted(
            "of each class at most {number} report about {a_target} counts in a round; further ones change nothing",
            "of each class at most {number} reports about {a_target} count in a round; further ones change nothing",
            parameters.most_counted,
        )
    return say.counted(
        "at most {number} report about {a_target} counts in a round; further ones change nothing",
        "at most {number} reports about {a_target} count in a round; further ones change nothing",
        parameters.most_counted,
    )


def _statement(parameters: Parameters, one: ReportClass, say: Voice) -> str:
    promise = parameters.guarantee_of(one)
    if one.weight is None or promise is None:
        return say("Class {name}: a report leads to a visit at once, and nothing is promised about it.", name=one.name)
    if promise.promises_nothing:
        return say.counted(
            "Class {name}: a report counts once, and nothing is promised about it.",
            "Class {name}: a report counts {number} times, and nothing is promised about it.",
            one.weight,
            name=one.name,
        )
    counts = say.counted(
        "Class {name}: a report counts once.", "Class {name}: a report counts {number} times.", one.weight,
        name=one.name,
    )  # fmt: skip
    return f"{counts} {_limit(promise, parameters.figures is not None, say)}"


def _limit(promise: Guarantee, with_figures: bool, say: Voice) -> str:
    """Of one report of a class."""
    gain, delta = points(promise.delta, say), say.figure(rounded_up(promise.delta, digits=4))
    if with_figures:
        return say(
            "Watching, with the yearly numbers, improves a guess about one such report by at most {points} (delta = "
            "{delta}).",
            points=gain,
            delta=delta,
        )
    if promise.has_cap:
        return say(
            "Watching improves a guess about one such report by at most {points} (delta = {delta}), and no sequence of "
            "{audits} is more than {factor} times as likely with it as without it.",
            points=gain,
            delta=delta,
            factor=say.figure(rounded_up(promise.likelihood_cap)),
        )
    return say(
        "Watching improves a guess about one such report by at most {points} (delta = {delta}).",
        points=gain,
        delta=delta,
    )
