"""What a deadline takes, in plain sentences: what is meant to be enough is rounded down, its cost is rounded up."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from deniable.languages.voice import Voice
from deniable.mechanisms import Mechanism
from deniable.promptness.deadlines import (
    Cost,
    Deadline,
    audits_for_certainty,
    audits_needed,
    cost,
    least_audits,
    least_visited_anyway,
)
from deniable.rounding import rounded_up


def deadline_in_words(
    mechanism: Mechanism[Any],
    name: str,
    deadline: Deadline,
    audits: int,
    say: Voice,
    *,
    days: str = "",
    with_delta: bool = True,
) -> tuple[str, ...]:
    """The answer in plain sentences, for a programme with so many audits a round; `days` is how long the deadline is by
    a calendar, or empty, and `name` is how the mechanism is called. What is about delta can be left out.
    """
    rules, number = mechanism.rules, deadline.rounds
    within = (
        say.counted("{number} round ({length})", "{number} rounds ({length})", number, length=days)
        if days
        else say.counted("{number} round", "{number} rounds", number)
    )
    if rules.max_gap is not None and rules.max_gap <= number:
        return (
            say.counted(
                "The longest gap of {number} round makes a visit within {within} certain, with a report and without "
                "one.",
                "The longest gap of {number} rounds makes a visit within {within} certain, with a report and without "
                "one.",
                rules.max_gap,
                within=within,
            ),
        )
    limits, now = _limits(mechanism, deadline, within, say)[not with_delta :], cost(mechanism, deadline, audits)
    if now is None:
        told = say(
            "How probable a visit within {within} is cannot be calculated for {mechanism}; it can be simulated.",
            within=within,
            mechanism=name,
        )
        return (told, *limits)
    return (
        _enough(mechanism, name, deadline, within, say),
        _today(now, audits, say) + (f" {_forced(now, say)}" if with_delta and now.anyway.kind != "at least" else ""),
        *limits,
        _scope(is_in_the_long_run=rules.max_gap is not None, say=say),
    )


def _enough(mechanism: Mechanism[Any], name: str, deadline: Deadline, within: str, say: Voice) -> str:
    needed = audits_needed(mechanism, deadline)
    asked = say.figure(f"{(Decimal(repr(deadline.probability)) * 100).normalize():f}")
    if needed is None:
        return say(
            "With {mechanism}, no number of {audits} a round that its promise covers lets one report lead to a visit "
            "within {within} in at least {asked} cases of 100.",
            mechanism=name,
            within=within,
            asked=asked,
        )
    then = cost(mechanism, deadline, needed)
    assert then is not None
    told = {
        "within": within,
        "asked": asked,
        "visited": say.figure(of_100(then.visited.low)),
        "anyway": _anyway(then, say),
    }
    if then.anyway.kind == "at least":
        return say.counted(
            "For one report to lead to a visit within {within} in at least {asked} cases of 100, you need {number} "
            "{audit} a round. Then the visit comes in at least {visited} cases of 100 after one report, and in at "
            "least {anyway} without any.",
            "For one report to lead to a visit within {within} in at least {asked} cases of 100, you need {number} "
            "{audits} a round. Then the visit comes in at least {visited} cases of 100 after one report, and in at "
            "least {anyway} without any.",
            needed,
            **told,
        )
    if "about" in (then.visited.kind, then.anyway.kind):
        return say.counted(
            "For one report to lead to a visit within {within} in about {asked} cases of 100, you need about {number} "
            "{audit} a round. Then the visit comes in about {visited} cases of 100 after one report, and in about "
            "{anyway} without any.",
            "For one report to lead to a visit within {within} in about {asked} cases of 100, you need about {number} "
            "{audits} a round. Then the visit comes in about {visited} cases of 100 after one report, and in about "
            "{anyway} without any.",
            needed,
            **told,
        )
    return say.counted(
        "For one report to lead to a visit within {within} in at least {asked} cases of 100, you need {number} {audit} "
        "a round. Then the visit comes in {visited} cases of 100 after one report, and in {anyway} without any.",
        "For one report to lead to a visit within {within} in at least {asked} cases of 100, you need {number} "
        "{audits} a round. Then the visit comes in {visited} cases of 100 after one report, and in {anyway} without "
        "any.",
        needed,
        **told,
    )


def _today(now: Cost, audits: int, say: Voice) -> str:
    """With as many audits a round as there are."""
    visited, anyway = say.figure(of_100(now.visited.low)), _anyway(now, say)
    if now.visited.kind == "at least":
        return say.counted(
            "With {number} {audit} a round it is at least {visited} cases of 100, against at least {anyway} without "
            "any report.",
            "With {number} {audits} a round it is at least {visited} cases of 100, against at least {anyway} without "
            "any report.",
            audits,
            visited=visited,
            anyway=anyway,
        )
    if now.visited.kind == "about":
        return say.counted(
            "With {number} {audit} a round it is about {visited} cases of 100, against about {anyway} without any "
            "report.",
            "With {number} {audits} a round it is about {visited} cases of 100, against about {anyway} without any "
            "report.",
            audits,
            visited=visited,
            anyway=anyway,
        )
    return say.counted(
        "With {number} {audit} a round it is {visited} cases of 100, against {anyway} without any report.",
        "With {number} {audits} a round it is {visited} cases of 100, against {anyway} without any report.",
        audits,
        visited=visited,
        anyway=anyway,
    )


def _forced(now: Cost, say: Voice) -> str:
    delta = say.figure(of_100(Fraction(now.forced_delta) / 100, 3))
    if now.anyway.kind == "about":
        return say("A report that made the visit certain would then force delta up to about {delta}.", delta=delta)
    return say("A report that made the visit certain would then force delta up to at least {delta}.", delta=delta)


def _limits(mechanism: Mechanism[Any], deadline: Deadline, within: str, say: Voice) -> tuple[str, str]:
    """What holds whatever the mechanism; the first is about delta."""
    C, delta = mechanism.n_targets, mechanism.guarantee().delta
    gap = say.counted("{number} round", "{number} rounds", deadline.rounds)
    return (
        say.counted(
            "Whatever the mechanism, at delta = {delta} at least {share} {targets} of 100 have to be visited within "
            "{within} without any report, which takes at least {number} {audit} a round.",
            "Whatever the mechanism, at delta = {delta} at least {share} {targets} of 100 have to be visited within "
            "{within} without any report, which takes at least {number} {audits} a round.",
            least_audits(C, deadline, delta),
            delta=say.figure(rounded_up(delta, digits=4)),
            share=say.figure(of_100(least_visited_anyway(deadline, delta))),
            within=within,
        ),
        say.counted(
            "A longest gap of {gap} makes the visit certain at no cost to the promise, because it comes with or "
            "without a report: that takes at least {number} {audit} a round.",
            "A longest gap of {gap} makes the visit certain at no cost to the promise, because it comes with or "
            "without a report: that takes at least {number} {audits} a round.",
            audits_for_certainty(C, deadline),
            gap=gap,
        ),
    )


def _scope(is_in_the_long_run: bool, say: Voice) -> str:
    """What the figures are about."""
    others = say("Reports about others make a visit less probable.")
    figures = (
        say(
            "These figures count from the round in which the report comes in. They are for {a_target} that was "
            "{audited} just before, and about which there is no other report, while no other {target} has any, in the "
            "long run."
        )
        if is_in_the_long_run
        else say(
            "These figures count from the round in which the report comes in. They are for {a_target} that was "
            "{audited} just before, and about which there is no other report, while no other {target} has any."
        )
    )
    return f"{figures} {others}"


def of_100(share: float | Fraction, places: int = 1) -> str:
    """A share in 100, rounded down: '92.3', '100'."""
    return f"{math.floor(Fraction(share) * 100 * 10**places) / 10**places:.{places}f}".removesuffix("." + "0" * places)


def _anyway(cost: Cost, say: Voice) -> str:
    """In 100, without any report: rounded up, but a lower limit down."""
    low, high, is_lower_limit = cost.anyway.low, cost.anyway.high, cost.anyway.kind == "at least"
    return say.figure(of_100(low) if is_lower_limit else rounded_up(high, 100, places=1).removesuffix(".0"))
