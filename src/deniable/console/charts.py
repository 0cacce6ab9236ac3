"""The charts of the plan: how often a leader is passed over, how long a target waits, what watching gives away.

All of them are calculated, by `deniable.promptness` and from the guarantee; nothing is simulated here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle
from typing import Any

from deniable.calibration import product_above
from deniable.guarantee import Guarantee
from deniable.languages.terms import DEFAULT_TERMS, Terms
from deniable.mechanisms import Mechanism, Race, UniformRandom
from deniable.promptness import (
    OFF,
    OFF_AT_WORST,
    QuietWait,
    is_bound,
    lead_needed,
    passed_over,
    quiet_waits,
)
from deniable.rounding import float_above, rounded_up
from deniable.rules import NO_RULES
from deniable.wording import count

# The drawing, in pixels where nothing is scaled: as wide as a phone.
WIDTH, HEIGHT = 300, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 10, 28, 42
POINTS = 80
TICKS = 5

LEAST_REACH = 10
MOST_REACH = 5000
IN_FIGURES = (1, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000)
"""The numbers of reports in the tables, as far as a chart reaches."""
DRAWN = 12
"""Points of a line of waits, about, besides those in figures."""


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
    """The same in figures."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    floor: int = HEIGHT - BOTTOM


@dataclass(frozen=True)
class _Curve:
    kind: str
    label: str
    at: Mapping[int, float]
    """What is drawn: x to y."""
    shown: Callable[[int], str]
    """What stands in the table for x."""


def plan_charts(
    mechanism: Mechanism[Any],
    guarantee: Guarantee,
    audits: int,
    other: Mechanism[Any] | None = None,
    terms: Terms = DEFAULT_TERMS,
) -> tuple[Chart, ...]:
    """For the chosen mechanism, beside another at the same promise. `guarantee` is that about a person."""
    waiting = waits(mechanism, audits, other, terms)
    return (
        errors(mechanism, audits, other, terms),
        *(() if waiting is None else (waiting,)),
        tradeoff(guarantee, terms),
    )


def errors(
    mechanism: Mechanism[Any], audits: int, other: Mechanism[Any] | None = None, terms: Terms = DEFAULT_TERMS
) -> Chart:
    """How often the target with the most reports is not audited, against its lead."""
    reach = _reach(mechanism, audits)
    drawn = sorted({reach * i // POINTS for i in range(POINTS + 1)} | set(_in_figures(reach)))

    def curve(kind: str, label: str, built: Mechanism[Any]) -> _Curve:
        at = {lead: 100 * passed_over(built, lead, audits) for lead in drawn}
        is_limit = is_bound(built, audits)
        return _Curve(kind, label + (", at most" if is_limit else ""), at, lambda lead: _figure(at[lead], is_limit))

    rules = mechanism.rules
    kinds = ["at most" if is_bound(built, audits) else "exact" for built in (mechanism, other) if built is not None]
    decided = f" {terms.audits.capitalize()} that the rest or the longest gap decides are not counted."
    aside = "" if rules == NO_RULES else decided
    return _chart(
        id_="errors",
        title="How often the leader is passed over",
        note=f"Rounds in 100 in which the {terms.target} with the most reports is not {terms.audited} at once, while "
        f"no other {terms.target} has any.{aside} {_how_sure(mechanism, kinds, terms)}",
        x_label=f"reports about the {terms.target}",
        y_label="rounds in 100",
        curves=[
            curve("chosen", _name(mechanism), mechanism),
            *([] if other is None else [curve("other", _name(other), other)]),
            curve("plain", "drawing lots", UniformRandom(mechanism.n_targets, rules=rules)),
        ],
        figures=_in_figures(reach),
        right=reach,
        top=100,
    )


def waits(
    mechanism: Mechanism[Any], audits: int, other: Mechanism[Any] | None = None, terms: Terms = DEFAULT_TERMS
) -> Chart | None:
    """How long a target with so many reports waits for its audit while the others have none; None where that cannot be
    calculated.
    """
    reach, rules = _reach(mechanism, audits), mechanism.rules
    asked = tuple(sorted({0, reach, *range(0, reach, math.ceil(reach / DRAWN)), *_in_figures(reach)}))
    chosen = quiet_waits(mechanism, audits, asked)
    by_lot = quiet_waits(UniformRandom(mechanism.n_targets, rules=rules), audits, (0,))
    beside = None if other is None else quiet_waits(other, audits, asked)
    if chosen is None or by_lot is None:
        return None
    lots = by_lot[0]
    kinds = [found[0].kind for found in (chosen, beside) if found is not None]
    longest = "" if rules.max_gap is None else f" No wait is longer than {count(rules.max_gap, 'round')}."
    return _chart(
        id_="waits",
        title=f"How long {terms.a_target} waits",
        note=f"Rounds from the reports to the {terms.audit}, on average, while no other {terms.target} has any "
        f"reports; 1 is the round in which they come in.{longest} {_how_sure(mechanism, kinds, terms)}",
        x_label=f"reports about the {terms.target}",
        y_label="rounds",
        curves=[
            _waiting("chosen", _name(mechanism), chosen),
            *([] if other is None or beside is None else [_waiting("other", _name(other), beside)]),
            _Curve("plain", "drawing lots", {0: lots.rounds, reach: lots.rounds}, lambda _: str(lots)),
        ],
        figures=_in_figures(reach),
        right=reach,
        top=max(wait.rounds for wait in (lots, *chosen, *(beside or ()))),
    )


def _waiting(kind: str, label: str, found: Sequence[QuietWait]) -> _Curve:
    of = {wait.reports: wait for wait in found}
    sign = {"exact": "", "at most": ", at most", "about": ", about"}[found[0].kind]
    return _Curve(kind, label + sign, {n: wait.rounds for n, wait in of.items()}, lambda n: str(of[n]))


def _how_sure(mechanism: Mechanism[Any], kinds: Sequence[str], terms: Terms) -> str:
    """What kind of statements the lines are, the chosen mechanism's first."""
    if isinstance(mechanism, Race) and mechanism.weights is not None:
        return f"Right only if all {terms.targets} are equally likely before any report, which they are not here."
    said = {
        "exact": "The figures are exact.",
        "at most": "What is marked at most is a proven limit: the true figure may be much smaller.",
        "about": f"What is marked about is an estimate, off by up to {OFF} %, or up to {OFF_AT_WORST} % where the "
        "longest gap is nearly the least possible.",
    }
    if kinds[0] == "exact" and set(kinds) != {"exact"}:
        said["exact"] = "The figures without a mark are exact."
    return " ".join(said[kind] for kind in dict.fromkeys(kinds))


def tradeoff(guarantee: Guarantee, terms: Terms = DEFAULT_TERMS) -> Chart:
    """The highest share of rightly suspected people at every share of wrongly suspected ones."""
    watching = {x: product_above(100, guarantee.tradeoff(float_above(Fraction(x, 100)))) for x in range(101)}
    return _chart(
        id_="tradeoff",
        title="What watching gives away",
        note=f"An observer suspects people of having filed {guarantee.filed}. Of 100 who did, they are "
        "right about at most so many if, of 100 who did not, they are wrong about so many. This is a proven limit.",
        x_label="wrongly suspected, of 100",
        y_label="rightly suspected, of 100",
        curves=[
            _Curve(
                "chosen", f"watching the {terms.audits}, at most", watching, lambda x: _figure(watching[x], up=True)
            ),
            _Curve("plain", "guessing alone", {0: 0.0, 100: 100.0}, lambda x: _figure(float(x))),
        ],
        figures=(0, 1, 5, 10, 20, 40, 60, 80, 100),
        right=100,
        top=100,
    )


def _name(mechanism: Mechanism[Any]) -> str:
    if isinstance(mechanism, Race):
        return "race"
    horizon = mechanism.guarantee().horizon
    return f"counter auditing{'' if horizon is None else f', {horizon:,} rounds'}"


def _reach(mechanism: Mechanism[Any], audits: int) -> int:
    """The largest lead worth drawing: where the leader is hardly ever passed over, to a round number."""
    needed = lead_needed(mechanism, audits)
    wanted = MOST_REACH if needed is None else min(MOST_REACH, max(LEAST_REACH, 1.2 * needed))
    return TICKS * _step(wanted)


def _in_figures(reach: int) -> tuple[int, ...]:
    return tuple(n for n in IN_FIGURES if n <= reach)


def _chart(
    *,
    id_: str,
    title: str,
    note: str,
    x_label: str,
    y_label: str,
    curves: Sequence[_Curve],
    figures: Sequence[int],
    right: int,
    top: float,
) -> Chart:
    x_step, y_step = _step(right), _step(top)
    top = y_step * math.ceil(top / y_step)
    x_at = range(0, right + 1, x_step)
    y_at = range(0, int(top) + 1, y_step)

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
            Line(curve.kind, curve.label, " ".join(f"{across(x)},{down(y)}" for x, y in sorted(curve.at.items())))
            for curve in curves
        ),
        columns=(x_label.partition(" about ")[0], *(curve.label for curve in curves)),
        rows=tuple((f"{x:,}", *(curve.shown(x) for curve in curves)) for x in figures),
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
    """Rounded as a reader needs it: '0.4', '12', '100'; a limit is rounded up."""
    if up:
        return rounded_up(value, places=1 if value <= 9.9 else 0)
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"
