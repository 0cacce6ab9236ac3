"""The charts of the plan: how often a leader is passed over, how long a target waits, what watching gives away.

All of them are calculated, by `deniable.promptness` and from the guarantee; nothing is simulated here.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle
from typing import Any

from deniable.calibration import product_above
from deniable.guarantee import Guarantee
from deniable.languages.voice import Voice
from deniable.mechanisms import Mechanism, Race, UniformRandom
from deniable.promptness import (
    OFF,
    OFF_AT_WORST,
    QuietWait,
    bounds_lead,
    is_bound,
    lead_needed,
    passed_over,
    quiet_waits,
)
from deniable.promptness.waits import Kind
from deniable.rounding import float_above, rounded_up
from deniable.rules import Rules

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
    mechanism: Mechanism[Any], guarantee: Guarantee, audits: int, other: Mechanism[Any] | None, say: Voice
) -> tuple[Chart, ...]:
    """For the chosen mechanism, beside another at the same promise. `guarantee` is that about a person."""
    waiting = waits(mechanism, audits, other, say)
    return (
        errors(mechanism, audits, other, say),
        *(() if waiting is None else (waiting,)),
        tradeoff(guarantee, say),
    )


def errors(mechanism: Mechanism[Any], audits: int, other: Mechanism[Any] | None, say: Voice) -> Chart:
    """How often the target with the most reports is not audited, against its lead."""
    other = other if other is not None and bounds_lead(other, audits) else None
    reach = _reach(mechanism, audits)
    drawn = sorted({reach * i // POINTS for i in range(POINTS + 1)} | set(_in_figures(reach)))

    def curve(kind: str, built: Mechanism[Any]) -> _Curve:
        at = {lead: 100 * passed_over(built, lead, audits) for lead in drawn}
        is_limit = is_bound(built, audits)
        label = _label(built, "at most" if is_limit else "exact", say)
        return _Curve(kind, label, at, lambda lead: _figure(at[lead], say, is_limit))

    kinds: list[Kind] = [
        "at most" if is_bound(built, audits) else "exact" for built in (mechanism, other) if built is not None
    ]
    about = say(
        "Rounds in 100 in which the {target} with the most reports is not {audited} at once, while no other {target} "
        "has any."
    )
    return _chart(
        id_="errors",
        title=say("How often the leader is passed over"),
        note=" ".join([about, *_left_aside(mechanism.rules, say), _how_sure(mechanism, kinds, say)]),
        x_label=say("reports about the {target}"),
        y_label=say("rounds in 100"),
        column=say("reports"),
        curves=[
            curve("chosen", mechanism),
            *([] if other is None else [curve("other", other)]),
            curve("plain", UniformRandom(mechanism.n_targets, rules=mechanism.rules)),
        ],
        figures=_in_figures(reach),
        right=reach,
        top=100,
        say=say,
    )


def _left_aside(rules: Rules, say: Voice) -> Iterator[str]:
    """Which audits the chart does not count."""
    if rules.max_gap is not None and rules.cooldown:
        yield say("{Audits} that the rest or the longest gap decides are not counted.")
    elif rules.max_gap is not None:
        yield say("{Audits} that the longest gap decides are not counted.")
    elif rules.cooldown:
        yield say("{Audits} that the rest decides are not counted.")


def waits(mechanism: Mechanism[Any], audits: int, other: Mechanism[Any] | None, say: Voice) -> Chart | None:
    """How long a target with so many reports waits for its audit while the others have none; None where that cannot be
    calculated.
    """
    reach, rules = _reach(mechanism, audits), mechanism.rules
    asked = tuple(sorted({0, reach, *range(0, reach, math.ceil(reach / DRAWN)), *_in_figures(reach)}))
    chosen = quiet_waits(mechanism, audits, asked)
    lots = UniformRandom(mechanism.n_targets, rules=rules)
    by_lot = quiet_waits(lots, audits, (0,))
    beside = None if other is None else quiet_waits(other, audits, asked)
    if chosen is None or by_lot is None:
        return None
    always = by_lot[0]
    kinds = [found[0].kind for found in (chosen, beside) if found is not None]
    note = [
        say(
            "Rounds from the reports to the {audit}, on average, while no other {target} has any reports; 1 is the "
            "round in which they come in."
        )
    ]
    if rules.max_gap is not None:
        note.append(
            say.counted(
                "No wait is longer than {number} round.", "No wait is longer than {number} rounds.", rules.max_gap
            )
        )
    return _chart(
        id_="waits",
        title=say("How long {a_target} waits"),
        note=" ".join([*note, _how_sure(mechanism, kinds, say)]),
        x_label=say("reports about the {target}"),
        y_label=say("rounds"),
        column=say("reports"),
        curves=[
            _waiting("chosen", mechanism, chosen, say),
            *([] if other is None or beside is None else [_waiting("other", other, beside, say)]),
            _Curve(
                "plain",
                _label(lots, "exact", say),
                {0: always.rounds, reach: always.rounds},
                lambda _: _rounds(always, say),
            ),
        ],
        figures=_in_figures(reach),
        right=reach,
        top=max(wait.rounds for wait in (always, *chosen, *(beside or ()))),
        say=say,
    )


def _waiting(kind: str, mechanism: Mechanism[Any], found: Sequence[QuietWait], say: Voice) -> _Curve:
    of = {wait.reports: wait for wait in found}
    label = _label(mechanism, found[0].kind, say)
    return _Curve(kind, label, {n: wait.rounds for n, wait in of.items()}, lambda n: _rounds(of[n], say))


def _how_sure(mechanism: Mechanism[Any], kinds: Sequence[Kind], say: Voice) -> str:
    """What kind of statements the lines are, the chosen mechanism's first."""
    if isinstance(mechanism, Race) and mechanism.weights is not None:
        return say("Right only if all {targets} are equally likely before any report, which they are not here.")
    said = {
        "exact": say("The figures are exact."),
        "at most": say("What is marked at most is a proven limit: the true figure may be much smaller."),
        "about": say(
            "What is marked about is an estimate, off by up to {off} %, or up to {at_worst} % where the longest gap is "
            "nearly the least possible.",
            off=OFF,
            at_worst=OFF_AT_WORST,
        ),
    }
    if kinds[0] == "exact" and set(kinds) != {"exact"}:
        said["exact"] = say("The figures without a mark are exact.")
    return " ".join(said[kind] for kind in dict.fromkeys(kinds))


def tradeoff(guarantee: Guarantee, say: Voice) -> Chart:
    """The highest share of rightly suspected people at every share of wrongly suspected ones."""
    watching = {x: product_above(100, guarantee.tradeoff(float_above(Fraction(x, 100)))) for x in range(101)}
    limit = say(
        "Of 100 who did, they are right about at most so many if, of 100 who did not, they are wrong about so many. "
        "This is a proven limit."
    )
    return _chart(
        id_="tradeoff",
        title=say("What watching gives away"),
        note=f"{_suspected(guarantee, say)} {limit}",
        x_label=say("wrongly suspected, of 100"),
        y_label=say("rightly suspected, of 100"),
        column=say("wrongly suspected, of 100"),
        curves=[
            _Curve(
                "chosen",
                say("watching the {audits}, at most"),
                watching,
                lambda x: _figure(watching[x], say, up=True),
            ),
            _Curve("plain", say("guessing alone"), {0: 0.0, 100: 100.0}, lambda x: _figure(float(x), say)),
        ],
        figures=(0, 1, 5, 10, 20, 40, 60, 80, 100),
        right=100,
        top=100,
        say=say,
    )


def _suspected(guarantee: Guarantee, say: Voice) -> str:
    if guarantee.of_class:
        return say.counted(
            "An observer suspects people of having filed a report of class {name}.",
            "An observer suspects people of having filed {number} reports of class {name}.",
            guarantee.reports,
            name=guarantee.of_class,
        )
    return say.counted(
        "An observer suspects people of having filed a report.",
        "An observer suspects people of having filed {number} reports.",
        guarantee.reports,
    )


def _label(mechanism: Mechanism[Any], kind: Kind, say: Voice) -> str:
    """Of a line: how targets are chosen, and what kind of statement the line is."""
    if isinstance(mechanism, UniformRandom):
        return say("drawing lots, at most") if kind == "at most" else say("drawing lots")
    if isinstance(mechanism, Race):
        return _marked(
            kind,
            say("weighted by reports (race)"),
            say("weighted by reports (race), at most"),
            say("weighted by reports (race), about"),
        )
    horizon = mechanism.guarantee().horizon
    if horizon is None:
        return _marked(kind, say("counter auditing"), say("counter auditing, at most"), say("counter auditing, about"))
    return _marked(
        kind,
        say.counted("counter auditing, {number} round", "counter auditing, {number} rounds", horizon),
        say.counted("counter auditing, {number} round, at most", "counter auditing, {number} rounds, at most", horizon),
        say.counted("counter auditing, {number} round, about", "counter auditing, {number} rounds, about", horizon),
    )


def _marked(kind: Kind, exact: str, at_most: str, about: str) -> str:
    return {"exact": exact, "at most": at_most, "about": about}[kind]


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
    column: str,
    curves: Sequence[_Curve],
    figures: Sequence[int],
    right: int,
    top: float,
    say: Voice,
) -> Chart:
    """`column` stands above the numbers of the horizontal axis in the table."""
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
        x_ticks=tuple(Tick(across(x), say.number(x)) for x in x_at),
        y_ticks=tuple(Tick(down(y), say.number(y)) for y in y_at),
        lines=tuple(
            Line(curve.kind, curve.label, " ".join(f"{across(x)},{down(y)}" for x, y in sorted(curve.at.items())))
            for curve in curves
        ),
        columns=(column, *(curve.label for curve in curves)),
        rows=tuple((say.number(x), *(curve.shown(x) for curve in curves)) for x in figures),
    )


def _step(longest: float) -> int:
    """The smallest 1, 2 or 5 times a power of ten that covers `longest` in TICKS steps."""
    step, factors = 1, cycle((2, 2.5, 2))  # 1, 2, 5, 10, 20, ...
    while longest > TICKS * step:
        step = int(step * next(factors))
    return step


def _pixels(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _figure(value: float, say: Voice, up: bool = False) -> str:
    """Rounded as a reader needs it: '0.4', '12', '100'; a limit is rounded up."""
    if up:
        return say.figure(rounded_up(value, places=1 if value <= 9.9 else 0))
    return say.figure(f"{value:.1f}" if value < 9.95 else f"{value:,.0f}")


def _rounds(wait: QuietWait, say: Voice) -> str:
    """In the table: '38', '≤ 17', '~ 3.1'."""
    return f"{_SIGNS[wait.kind]}{say.figure(wait.figure)}"


_SIGNS: Mapping[Kind, str] = {"exact": "", "at most": "≤ ", "about": "~ "}
