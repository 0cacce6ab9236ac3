"""How sure a boss who watches can become that a person reported, in whole sentences: what stands around the table."""

from collections.abc import Callable
from decimal import Decimal

from deniable.guarantee import Guarantee
from deniable.languages.voice import Voice
from deniable.programme.calendar import day_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import (
    drawn_classes,
    is_capped,
    is_made,
    nearly_sure_after,
    right_at_most,
    sure_at_most,
)
from deniable.report_classes import ReportClass

MOST = 50
"""In more cases of 100 than that, what may happen is no exception."""


def limit_of_one(parameters: Parameters, now: Situation, say: Voice) -> str:
    """Of one report, for each class in the draw: how sure a boss can become by watching, where there is a limit;
    otherwise how often a guess is right.
    """
    return _sure_by_watching(parameters, now, say) if is_capped(parameters) else _right_guesses(parameters, say)


def _sure_by_watching(parameters: Parameters, now: Situation, say: Voice) -> str:
    """How sure a boss can become by the audits, at most, in 100; the class that counts most comes first."""

    def at_most(one: ReportClass) -> str:
        return _figure(parameters, one, sure_at_most, say)

    most, *others = drawn_classes(parameters)
    limit = (
        say(
            "If you reported once, a boss who was 50 % sure of it can become at most {sure} % sure by watching the "
            "{audits}.",
            sure=at_most(most),
        )
        if now.is_past
        else say(
            "If you report once, a boss who was 50 % sure that you reported can become at most {sure} % sure by "
            "watching the {audits}.",
            sure=at_most(most),
        )
    )
    return " ".join((
        limit,
        *of_the_first(parameters, say),
        *(say("With class {name} it is at most {sure} % sure.", name=one.name, sure=at_most(one)) for one in others),
        *_not_of_visits(parameters, say),
    ))  # fmt: skip


def _right_guesses(parameters: Parameters, say: Voice) -> str:
    """How often a guess is right after watching, at most, in 100; the class that counts most comes first."""

    def at_most(one: ReportClass) -> str:
        return _figure(parameters, one, right_at_most, say)

    most, *others = drawn_classes(parameters)
    watching = (
        say("After watching the {audits}, the guess is right at most {right} times in 100.", right=at_most(most))
        if parameters.figures is None
        else say(
            "After watching the {audits} and reading how many reports came in each year, the guess is right at most "
            "{right} times in 100.",
            right=at_most(most),
        )
    )
    return " ".join((
        say("Suppose your boss has no idea whether you reported once or not at all. A guess is then right 50 times in "
            "100."),
        watching,
        *of_the_first(parameters, say),
        *(say("With class {name} it is at most {right} times in 100.", name=one.name, right=at_most(one))
          for one in others),
        *_not_of_visits(parameters, say),
    ))  # fmt: skip


def _figure(parameters: Parameters, one: ReportClass, limit: Callable[[Guarantee], str | None], say: Voice) -> str:
    """Of one report of this class, about which something is promised."""
    guarantee = parameters.guarantee_of(one)
    assert guarantee is not None
    stated = limit(guarantee)
    assert stated is not None
    return say.figure(stated)


def of_the_first(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """That a limit is for the class that counts most, where others are in the draw."""
    most, *others = drawn_classes(parameters)
    if not others:
        return ()
    return (say("This is for a report of class {name}, which counts most in the draw.", name=most.name),)


def _not_of_visits(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """That no limit is for a report that leads to a visit, where there is such a class."""
    if not parameters.visit_classes:
        return ()
    classes = say.one_of(parameters.visit_classes)
    return (say("This does not apply to a report of class {classes}, which is not protected.", classes=classes),)


def single_case(parameters: Parameters, now: Situation, say: Voice) -> str:
    """What holds in most single cases, where there is no likelihood cap; from then on, while the promise has lapsed."""
    often = _seldom_nearly_sure(parameters, 1)
    if often is None:
        return say("Your boss may even become nearly sure.")
    told = (_one_report(parameters, now, often, say), *_not_of_visits(parameters, say))
    return " ".join((*told, *with_several(parameters, say)))


def with_several(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """The same of as many reports as the programme's rules name, where they name several."""
    promised = parameters.reports_per_person
    if promised == 1:
        return ()
    often = _seldom_nearly_sure(parameters, promised)
    most = "" if often is None else _others(often, say)
    return (
        say.counted(
            "With {number} report there is no limit on how often your boss becomes nearly sure.",
            "With {number} reports there is no limit on how often your boss becomes nearly sure.",
            promised,
        )
        if often is None
        else say.counted(
            "With up to {number} report, a boss who was 50 % sure stays less than 90 % sure in at least {most} cases "
            "of 100.",
            "With up to {number} reports, a boss who was 50 % sure stays less than 90 % sure in at least {most} cases "
            "of 100.",
            promised,
            most=most,
        ),
    )


def in_most_cases(parameters: Parameters, now: Situation, say: Voice) -> str:
    """What holds of one report, where the promise holds and there is no likelihood cap; else empty."""
    often = None if is_capped(parameters) else _seldom_nearly_sure(parameters, 1)
    if often is None or not is_made(parameters) or now.standing(parameters) != "holds":
        return ""
    return " ".join((_one_report(parameters, now, often, say), *_not_of_visits(parameters, say)))


def _one_report(parameters: Parameters, now: Situation, often: str, say: Voice) -> str:
    others = say("In the other cases, at most {few} of 100, your boss may become nearly sure.", few=say.figure(often))
    return f"{_once(parameters, now, _others(often, say), say)} {others}"


def _once(parameters: Parameters, now: Situation, most: str, say: Voice) -> str:
    """After one report."""
    if now.standing(parameters) == "lapsed":
        return say(
            "From then on, if you report once, a boss who was 50 % sure of it stays less than 90 % sure in at least "
            "{most} cases of 100.",
            most=most,
        )
    if now.is_past:
        return say(
            "If you reported once, a boss who was 50 % sure of it stays less than 90 % sure in at least {most} cases "
            "of 100.",
            most=most,
        )
    return say(
        "If you report once, a boss who was 50 % sure of it stays less than 90 % sure in at least {most} cases of 100.",
        most=most,
    )


def _seldom_nearly_sure(parameters: Parameters, reports: int) -> str | None:
    """`nearly_sure_after`; None where these are not the exception."""
    often = nearly_sure_after(parameters, reports)
    return None if often is None or Decimal(often) > MOST else often


def rare_case(parameters: Parameters, now: Situation, say: Voice) -> str:
    """That a single case may have no limit, where the promise holds, and `single_case` says how often; else empty."""
    holds = is_made(parameters) and now.standing(parameters) == "holds"
    if not holds or is_capped(parameters) or _seldom_nearly_sure(parameters, 1) is None:
        return ""
    if parameters.figures is None:
        return say("Now and then a series of draws may point to a report. The limit above says how often, at most.")
    return say(
        "Now and then a series of draws or a yearly number may point to a report. The limit above says how often, at "
        "most."
    )


def _others(often: str, say: Voice) -> str:
    """The other cases of 100."""
    return say.figure(str(100 - Decimal(often)))


def all_cases(say: Voice) -> str:
    """Beside limits that a single case may exceed."""
    return say("These limits are for all cases together, not for each single case.")


def yearly_numbers(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """What the yearly figures are, where there are any."""
    figures = parameters.figures
    if figures is None:
        return ()
    deviation = figures.deviation(len(parameters.classes))
    if len(parameters.classes) > 1:
        return (_numbers_of_classes(now, figures.deviation(), deviation, say),)
    if now.is_past:
        return (
            say(
                "Once a year the office also published how many reports came in, from everyone together. Your report "
                "changed this number by 1. Chance changed it, too: mostly by up to {deviation}, rarely by more than "
                "twice that.",
                deviation=deviation,
            ),
        )
    return (
        say(
            "Once a year the office also publishes how many reports came in, from everyone together. Your report "
            "changes this number by 1. Chance changes it, too: mostly by up to {deviation}, rarely by more than twice "
            "that.",
            deviation=deviation,
        ),
    )


def _numbers_of_classes(now: Situation, each: int, deviation: int, say: Voice) -> str:
    if now.is_past:
        return say(
            "Once a year the office also published how many reports of each class came in, and how many in all, from "
            "everyone together. Your report changed the number of its class and the number of all by 1. Chance changed "
            "them, too: the number of a class mostly by up to {each}, the number of all mostly by up to {deviation}, "
            "and each rarely by more than twice that.",
            each=each,
            deviation=deviation,
        )
    return say(
        "Once a year the office also publishes how many reports of each class came in, and how many in all, from "
        "everyone together. Your report changes the number of its class and the number of all by 1. Chance changes "
        "them, too: the number of a class mostly by up to {each}, the number of all mostly by up to {deviation}, and "
        "each rarely by more than twice that.",
        each=each,
        deviation=deviation,
    )


def until(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """When the programme ends, where it is to end and has a draw before that."""
    if parameters.horizon is None or now.is_over(parameters):
        return ()
    last = day_in_words(parameters.calendar.day(parameters.horizon), say).words
    if now.standing(parameters) == "lapsed":
        return (
            say.counted(
                "The programme has {number} round. The limits cover all rounds from then on. The last draw is due on "
                "{last}. A report that still waits after it counts no more here.",
                "The programme has {number} rounds. The limits cover all rounds from then on. The last draw is due on "
                "{last}. A report that still waits after it counts no more here.",
                parameters.horizon,
                last=last,
            ),
        )
    return (
        say.counted(
            "The programme has {number} round. The limits cover it. The last draw is due on {last}. A report that "
            "still waits after it counts no more here.",
            "The programme has {number} rounds. The limits cover them all. The last draw is due on {last}. A report "
            "that still waits after it counts no more here.",
            parameters.horizon,
            last=last,
        ),
    )
