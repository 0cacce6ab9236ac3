"""The charts of the plan: how often a leader is missed, how long a target waits, what watching gives away.

All of them are closed forms; nothing is simulated here. They leave the public rules aside, and take all other targets
to be without reports and of equal weight.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from deniable.counters import GaussianCounter
from deniable.guarantee import Guarantee
from deniable.mechanisms import CounterAuditing, Mechanism, Race
from deniable.utility import (
    operational_gap_needed,
    race_gap_needed,
    static_error,
    uniform_error,
)

# The drawing, in pixels where nothing is scaled: as wide as a phone.
WIDTH, HEIGHT = 300, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 10, 28, 42
POINTS = 80
TICKS = 5

ERROR = 0.05
"""The charts reach a little further than where a leader is missed this rarely."""
LEAST_REACH = 10
MOST_REACH = 5000


@dataclass(frozen=True)
class Line:
    """`kind` decides how it is drawn: `chosen`, `other` or `plain` (without any mechanism)."""

    kind: str
    label: str
    points: str


@dataclass(frozen=True)
class Tick:
    at: str
    label: str


@dataclass(frozen=True)
class Chart:
    id: str
    title: str
    note: str
    """How to read it, and what kind of statement it is."""
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The same in figures: a row for every tick on the x axis."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    floor: int = HEIGHT - BOTTOM


@dataclass(frozen=True)
class _Curve:
    kind: str
    label: str
    at: Callable[[float], float]
    limit: bool = False
    """Whether it is a limit, whose figures are rounded up."""


def plan_charts(
    mechanism: Mechanism[Any], guarantee: Guarantee, audits: int, other: Mechanism[Any] | None = None
) -> tuple[Chart, Chart, Chart]:
    """For the chosen mechanism, beside another at the same promise. `guarantee` is that about a person."""
    return errors(mechanism, audits, other), waits(mechanism, audits, other), tradeoff(guarantee)


def errors(mechanism: Mechanism[Any], audits: int, other: Mechanism[Any] | None = None) -> Chart:
    """How often the target with the most reports is not audited, against its lead."""
    reach = _reach(mechanism)
    by_lot = 100 * uniform_error(mechanism.n_targets, audits)
    curves = [
        *_of_mechanisms(mechanism, other, lambda built, lead: 100 * missed(built, lead, audits)),
        _Curve("plain", "drawing lots", lambda _: by_lot),
    ]
    return _chart(
        id_="errors",
        title="How often the leader is missed",
        note="Rounds in 100 in which the target with the most reports is not audited, while all others have equally "
        f"many reports. {_KINDS[_kind(mechanism)]}",
        x_label="lead over all others, in reports",
        y_label="rounds in 100",
        curves=curves,
        right=reach,
        top=100,
    )


def waits(mechanism: Mechanism[Any], audits: int, other: Mechanism[Any] | None = None) -> Chart:
    """How long a target with so many reports waits for its audit while the others are quiet."""
    reach, by_lot = _reach(mechanism), mechanism.n_targets / audits
    curves = [
        *_of_mechanisms(mechanism, other, lambda built, reports: wait(built, reports, audits)),
        _Curve("plain", "drawing lots", lambda _: by_lot),
    ]
    return _chart(
        id_="waits",
        title="How long a target waits",
        note="Rounds until a target with so many reports is audited, on average, while no other target has any. "
        f"{_KINDS[_kind(mechanism)]}",
        x_label="reports about the target",
        y_label="rounds",
        curves=curves,
        right=reach,
        top=by_lot,
    )


def tradeoff(guarantee: Guarantee) -> Chart:
    """The highest share of rightly suspected people at every share of wrongly suspected ones."""
    one = guarantee.reports == 1
    filed = "a report" if one else f"{guarantee.reports:,} reports"
    curves = [
        _Curve(
            "chosen",
            "watching the audits, at most",
            lambda wrongly: 100 * guarantee.tradeoff(wrongly / 100),
            limit=True,
        ),
        _Curve("plain", "guessing alone", lambda wrongly: wrongly),
    ]
    return _chart(
        id_="tradeoff",
        title="What watching gives away",
        note=f"Somebody who watches suspects people of having filed {filed}. Of 100 who did, they are right about at "
        "most so many if, of 100 who did not, they are wrong about so many. This is a proven limit.",
        x_label="wrongly suspected, of 100",
        y_label="rightly suspected, of 100",
        curves=curves,
        right=100,
        top=100,
    )


def missed(mechanism: Mechanism[Any], lead: float, audits: int) -> float:
    """P[a target that is `lead` reports ahead of all others, which are even, is not among the audits of a round].

    Exact for race: in draw j the leader has the weight rho**lead against the C - 1 - j others left, 1 each. For
    counter auditing it is that of one audit a round with the noise of the longest run, which further audits can only
    lower.
    """
    C = mechanism.n_targets
    match mechanism:
        case Race():
            lead = min(lead, mechanism.growth.longest)
            ahead = math.exp(min(lead * math.log(mechanism.rho), 700.0))
            return math.prod((C - 1 - j) / (C - 1 - j + ahead) for j in range(audits))
        case CounterAuditing():
            assert isinstance(mechanism.counter, GaussianCounter)
            # A leader is preferred, so it is missed no more often than by lot.
            return min(static_error(lead, C, mechanism.counter.max_error), uniform_error(C, audits))
    raise TypeError(type(mechanism).__name__)


def wait(mechanism: Mechanism[Any], reports: float, audits: int) -> float:
    """The mean number of rounds until the target is audited, the audited one included: 1 / (1 - missed).

    Rounds are alike and independent with race, where this is exact (a geometric waiting time); with counter auditing
    they are not, and it is a guide.
    """
    return 1 / (1 - missed(mechanism, reports, audits))


_KINDS = {
    "race": "Exact for race.",
    "tca": "For counter auditing a guide, with the noise of the longest run.",
}


def _kind(mechanism: Mechanism[Any]) -> str:
    return "race" if isinstance(mechanism, Race) else "tca"


def _name(mechanism: Mechanism[Any]) -> str:
    if isinstance(mechanism, Race):
        return "race"
    horizon = mechanism.guarantee().horizon
    return f"counter auditing{'' if horizon is None else f', {horizon:,} rounds'}"


def _of_mechanisms(
    mechanism: Mechanism[Any], other: Mechanism[Any] | None, value: Callable[[Mechanism[Any], float], float]
) -> list[_Curve]:
    chosen = _Curve("chosen", _name(mechanism), lambda x: value(mechanism, x))
    if other is None:
        return [chosen]
    return [chosen, _Curve("other", _name(other), lambda x: value(other, x))]


def lead_needed(mechanism: Mechanism[Any]) -> float | None:
    """The lead, in reports, from which on a leader is missed in at most ERROR of the rounds; a bound with counter
    auditing. None where no lead is enough.
    """
    C = mechanism.n_targets
    if isinstance(mechanism, Race):
        lead = race_gap_needed(ERROR, C, mechanism.rho)
        return lead if lead <= mechanism.growth.longest else None
    assert isinstance(mechanism, CounterAuditing)
    assert isinstance(mechanism.counter, GaussianCounter)
    return operational_gap_needed(ERROR, C, mechanism.counter.max_error)


def _reach(mechanism: Mechanism[Any]) -> int:
    """The largest lead worth drawing: where the leader is hardly ever missed, to a round number."""
    needed = lead_needed(mechanism)
    wanted = MOST_REACH if needed is None else min(MOST_REACH, max(LEAST_REACH, 1.2 * needed))
    return TICKS * _step(wanted)


def _chart(
    *,
    id_: str,
    title: str,
    note: str,
    x_label: str,
    y_label: str,
    curves: Sequence[_Curve],
    right: float,
    top: float,
) -> Chart:
    x_step, y_step = _step(right), _step(top)
    top = y_step * math.ceil(top / y_step)
    x_at = [x_step * i for i in range(int(right // x_step) + 1)]
    y_at = [y_step * i for i in range(int(top // y_step) + 1)]

    def across(x: float) -> str:
        return _pixels(LEFT + x / right * (WIDTH - LEFT - RIGHT))

    def down(y: float) -> str:
        return _pixels(HEIGHT - BOTTOM - min(y, top) / top * (HEIGHT - TOP - BOTTOM))

    return Chart(
        id=id_,
        title=title,
        note=note,
        x_label=x_label,
        y_label=y_label,
        x_ticks=tuple(Tick(across(x), f"{x:,}") for x in x_at),
        y_ticks=tuple(Tick(down(y), f"{y:,}") for y in y_at),
        lines=tuple(
            Line(
                curve.kind,
                curve.label,
                " ".join(f"{across(x)},{down(curve.at(x))}" for x in (right * i / POINTS for i in range(POINTS + 1))),
            )
            for curve in curves
        ),
        columns=(x_label, *(curve.label for curve in curves)),
        rows=tuple((f"{x:,}", *(_figure(curve.at(x), curve.limit) for curve in curves)) for x in x_at),
    )


def _step(longest: float) -> int:
    """The smallest 1, 2 or 5 times a power of ten that covers `longest` in TICKS steps."""
    step, factors = 1, cycle((2, 2.5, 2))  # 1, 2, 5, 10, 20, ...
    while longest > TICKS * step:
        step = int(step * next(factors))
    return step


def _pixels(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _figure(value: float, up: bool = False) -> str:
    """Rounded as a reader needs it: '0.4', '12', '1,250'."""
    scale = 10 if value < 10 else 1
    rounded = (math.ceil(round(value * scale, 6)) if up else round(value * scale)) / scale
    return f"{rounded:.1f}" if rounded < 10 else f"{rounded:,.0f}"
