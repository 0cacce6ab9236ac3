"""What to think over before a plan is begun: a weak promise, draws close to lots, rules that leave little freedom."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from deniable.languages.voice import Voice
from deniable.mechanisms import Mechanism
from deniable.programme.parameters import Parameters
from deniable.programme.public.guarantee_wording import LITTLE, coin
from deniable.programme.public.suspicion import per_cent, sure_at_most
from deniable.promptness import (
    FEW_REPORTS,
    chance_of_visit,
    decided_by_gap,
    in_per_cent,
    is_bound,
    is_like_lots,
    keeps_rest,
)
from deniable.rules import Rules

MANY = FEW_REPORTS[-1]
MOSTLY = 0.5
"""Where rules decide this share of the audits, or keep this share of the targets out, they leave little freedom."""


@dataclass(frozen=True)
class Doubt:
    """Why to think a plan over."""

    short: str
    warning: str
    """With what to do about it."""
    fields: tuple[str, ...]
    """Of the form, where to do it."""


def doubts(parameters: Parameters, say: Voice) -> tuple[Doubt, ...]:
    """What to think over before the plan is begun."""
    return tuple(_doubts(parameters, say))


_PROMISE = ("points", "reports_per_person")


def _doubts(parameters: Parameters, say: Voice) -> Iterator[Doubt]:
    guarantee = parameters.guarantee()
    if guarantee.delta > LITTLE:
        told = (
            say("This promise is weak: the {audits} hide little."),
            say(
                "A boss who was 50 % sure that a person reported can become {sure} sure.",
                sure=per_cent(sure_at_most(guarantee), say),
            )
            if guarantee.has_cap
            else coin(parameters, say),
            say("Allow fewer points, or fewer reports by one person."),
        )
        yield Doubt(say("weak promise"), " ".join(told), _PROMISE)
    if parameters.audits == len(parameters.targets):
        yield Doubt(
            say("reports change nothing"),
            say(
                "Every {target} is {audited} in every round, so reports change nothing. Choose fewer {audits} a round."
            ),
            ("audits",),
        )
        return
    for doubt in _like_lots(parameters.built(), parameters.audits, counted_reports(parameters, MANY), say):
        yield _with_classes(doubt, say) if _has_heavy_class(parameters) else doubt
    yield from _little_freedom(len(parameters.targets), parameters.audits, parameters.rules, say)


def _like_lots(mechanism: Mechanism[Any], audits: int, most: int, say: Voice) -> Iterator[Doubt]:
    if not is_like_lots(mechanism, audits, most):
        return
    if is_bound(mechanism, audits):
        yield Doubt(
            say("may be close to drawing lots"),
            say(
                "This plan may be close to drawing lots: nothing proves that {many} reports about one {target} make a "
                "visit at the next draw much more likely. To let reports count more, allow more points or fewer "
                "reports by one person.",
                many=MANY,
            ),
            _PROMISE,
        )
        return
    without, with_many = (visit_in_per_cent(mechanism, n, audits, say) for n in (0, most))
    yield Doubt(
        say("close to drawing lots"),
        say(
            "This plan is close to drawing lots: reports hardly change who is {audited}. {many} reports about one "
            "{target} raise its chance at the next draw from {without} only to {with_many}. To let reports count more, "
            "allow more points or fewer reports by one person.",
            many=MANY,
            without=without,
            with_many=with_many,
        ),
        _PROMISE,
    )


def _has_heavy_class(parameters: Parameters) -> bool:
    """Whether a class counts more than another, for which chance must hide more."""
    return len({one.weight for one in parameters.classes if one.weight is not None}) > 1


def _with_classes(doubt: Doubt, say: Voice) -> Doubt:
    lighter = say("A smaller weight for your heaviest class helps as well.")
    return replace(doubt, warning=f"{doubt.warning} {lighter}", fields=(*doubt.fields, "classes"))


def _little_freedom(C: int, audits: int, rules: Rules, say: Voice) -> Iterator[Doubt]:
    share, resting = decided_by_gap(C, audits, rules), rules.cooldown * audits
    if share >= MOSTLY:
        yield Doubt(
            say("the longest gap decides most {audits}"),
            say(
                "The longest gap leaves the draw little freedom. Up to {share} of 100 {audits} go to {targets} whose "
                "longest gap is over, whatever was reported. Choose a longer gap or more {audits} a round.",
                share=math.ceil(100 * share - 1e-9),
            ),
            ("max_gap", "audits"),
        )
    if not keeps_rest(C, audits, rules):
        rest = say.counted("{number} round", "{number} rounds", rules.cooldown)
        yield Doubt(
            say("the rest ends early at times"),
            say.counted(
                "A rest of {rest} is too long for {all} {targets} with {number} {audit} a round: it ends early where "
                "no other {target} is left. Choose a shorter rest.",
                "A rest of {rest} is too long for {all} {targets} with {number} {audits} a round: it ends early where "
                "no other {target} is left. Choose a shorter rest.",
                audits,
                rest=rest,
                all=C,
            ),
            ("cooldown",),
        )
    elif resting >= MOSTLY * C:
        yield Doubt(
            say("most {targets} rest"),
            say(
                "The rest leaves the draw little freedom. At any time {resting} of {all} {targets} rest, and the draw "
                "chooses among the other {others}. Choose a shorter rest.",
                resting=resting,
                all=C,
                others=C - resting,
            ),
            ("cooldown",),
        )


def visit_in_per_cent(built: Mechanism[Any], reports: int, audits: int, say: Voice) -> str:
    figure = in_per_cent(chance_of_visit(built, reports, audits)).removesuffix(" %")
    return per_cent(figure, say)


def counted_reports(parameters: Parameters, reports: int) -> int:
    """What so many reports in one round come to in the draw; of several classes, of one that counts once."""
    weight = (parameters.classes[0].weight or 1) if len(parameters.classes) == 1 else 1
    return weight * min(reports, parameters.most_counted or reports)
