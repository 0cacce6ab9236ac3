"""How `deniable attack` tells what it found: what was attacked, with which result, as tables, JSON and a chart."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from deniable.attack import BlackBox, Result
from deniable.rounding import rounded_up
from deniable.simulation.figures import MECHANISM_COLOURS, new_figure, save_figure
from deniable.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Attack:
    """What was found about one mechanism."""

    mechanism_id: str
    attacked: str
    """The mechanism with its targets, audits a round, rules and weights, in words."""
    worst: Result
    tried: Sequence[Result]
    own_target: Result | None
    """The same pair, where the adversary sees the audits of its own target alone; None without scikit-learn."""
    prefix: Result
    """The same pair, watched only half-way from the report to the end."""
    moved: Result
    """Exactly one of two people filed: the worst such pair."""
    moved_tried: Sequence[Result]

    @property
    def broken(self) -> bool:
        """Whether any of these games refutes what is proven."""
        own = () if self.own_target is None else (self.own_target,)
        every = (self.worst, *self.tried, *own, self.prefix, self.moved, *self.moved_tried)
        return any(result.flagged for result in every)

    @property
    def verdict(self) -> str:
        if self.broken:
            return "BROKEN"
        if self.worst.guarantee.delta == 1:
            return "promises nothing"
        return "not refuted by the weaker adversary" if self._weak else "not refuted"

    @property
    def in_words(self) -> str:
        """The verdict with what it is about, and how little it says where only a black box played."""
        told = f"{self.verdict}: {self.attacked}."
        return f"{told} {WEAKER}" if self._weak and not self.broken else told

    @property
    def _weak(self) -> bool:
        return self.worst.adversary == BlackBox.name


WEAKER = (
    "Its likelihoods are not known, so a black box attacked it: a classifier that learns from games. It finds less "
    "than there is, and a better adversary may gain more."
)


def to_json(found: Attack) -> dict[str, Any]:
    return {
        "mechanism": found.mechanism_id,
        "attacked": found.attacked,
        "verdict": found.verdict,
        "broken": found.broken,
        "worst": _result(found.worst),
        "tried": [_result(result, roc=False) for result in found.tried],
        "own_target": _result(found.own_target, roc=False) if found.own_target else None,
        "prefix": _result(found.prefix, roc=False),
        "moved_report": _result(found.moved, roc=False),
        "moved_reports_tried": [_result(result, roc=False) for result in found.moved_tried],
    }


def _result(result: Result, *, roc: bool = True) -> dict[str, Any]:
    fpr, tpr = result.roc
    return {
        "stream": result.pair.name,
        "report": {"round": result.pair.round + 1, "target": result.pair.target + 1},
        "adversary": result.adversary,
        "sees": result.view.name,
        "games": result.games,
        "failure_probability": result.failure_probability,
        "leak": max(0.0, result.leak.value),
        "standard_error": result.leak.standard_error,
        "exact": result.exact,
        "advantage": max(0.0, result.advantage),
        "tpr": result.event.tpr,
        "fpr": result.event.fpr,
        "lower_bound": result.lower_bound,
        "largest_ratio": _finite(result.largest_ratio),
        "largest_ratio_unlimited": result.largest_ratio == math.inf,
        "odds_at_least": result.telling.odds_at_least,
        "proven": result.guarantee.to_dict(),
        "flagged": result.flagged,
        **({"roc": {"fpr": fpr.tolist(), "tpr": tpr.tolist()}} if roc else {}),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def show(about: Mapping[str, Any], found: Sequence[Attack]) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    for note in about["notes"]:
        console.print(f"{note}\n", style="yellow")
    if about["programme"] is not None:
        console.print(f"The programme {about['programme']['name']}, whose public folder was verified.")
    console.print(
        f"{about['targets']:,} targets, {count(about['rounds'], 'round')}, {about['games']:,} games. Leak: how "
        "much more often the adversary says 'filed' when the report was filed than when it was not.\n"
    )
    leaks = [
        (
            one.mechanism_id,
            one.worst.pair.name,
            one.worst.adversary,
            _measured(one.worst),
            _down(one.worst.lower_bound, 3),
            _up(one.worst.guarantee.delta, 3),
        )
        for one in found
    ]
    _table(("mechanism", "worst stream", "adversary", "leak", "at least", "proven"), leaks, left=(0, 1, 2))
    console.print()
    others = [
        (
            one.mechanism_id,
            _odds(one.worst),
            _factor(one.worst.guarantee.likelihood_cap, _up),
            "-" if one.own_target is None else _measured(one.own_target),
            _measured(one.prefix),
            _measured(one.moved),
            _up(one.moved.guarantee.delta, 3),
        )
        for one in found
    ]
    _table(("mechanism", "odds ×", "proven", "own target", "half-way", "moved", "proven"), others, left=(0,))
    console.print()
    for one in found:
        console.print(one.in_words, style="bold red" if one.broken else None)
    console.print(f"\n{_legend(about['failure_probability'])}")


def _measured(result: Result) -> str:
    if result.exact:
        return f"{result.leak.value:.3f}"
    return f"{max(0.0, result.leak.value):.3f} ± {result.leak.standard_error:.3f}"


def _odds(result: Result) -> str:
    if result.largest_ratio is None:
        return f"≥ {_factor(max(1.0, result.telling.odds_at_least), _down)}"
    return _factor(result.largest_ratio, _down)


def _factor(odds: float, rounded: Callable[[float, int], str]) -> str:
    if math.isinf(odds):
        return "no limit"
    if odds >= 1e6:
        return f"{odds:.0e}"
    return rounded(odds, 0 if odds >= 100 else 2)


def _down(value: float, digits: int) -> str:
    """What is at least so much, rounded down."""
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR):,}"


def _up(value: float, digits: int) -> str:
    """What is at most so much, rounded up."""
    return rounded_up(value, places=digits)


def _legend(failure_probability: float) -> str:
    return (
        "leak: TPR - FPR of the adversary's test, ± one standard error; without ± it is exact. Half of it is what "
        "watching adds to the chance of a right guess. at least: the best test has a leak of at least this. proven: "
        "the limit that the mechanism promises. BROKEN: the games refute it, on any of the streams that were tried or "
        "in any column. All that stands here as a bound or as BROKEN is wrong with probability "
        f"{failure_probability:g} at most, taken together. odds ×: by how much the most telling course of the audits "
        "multiplied the odds that the report was filed, in any game; ≥: of a test. own target: the leak where the "
        "adversary sees only the audits of its own target, and has mostly to learn from games what they mean, so that "
        "a better one may gain more; half-way: where it stops watching half-way from the report to the end; moved: "
        "where it knows that exactly one of two people filed, about different targets, and the limit is twice as "
        "high. These are the worst streams that were found: others may leak more, but never more than is proven, if "
        "the proof holds."
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> None:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for i, heading in enumerate(headings):
        grid.add_column(heading, justify="left" if i in left else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    Console(markup=False, emoji=False, highlight=False, width=max(120, Console().width)).print(grid)


# Chart


def draw_chart(results: Mapping[str, Result], path: Path) -> None:
    """Each mechanism's measured ROC under its proven curve and the line FPR + delta."""
    figure = new_figure(3.0 * len(results) + 0.4, 5.6)
    rates, gains = figure.subplots(2, len(results), squeeze=False, sharex=True, height_ratios=(3, 2))
    for i, (name, result) in enumerate(results.items()):
        _rates(rates[i], name, result)
        _gains(gains[i], name, result)
        for axes in (rates[i], gains[i]):
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(labelsize=8)
            axes.grid(color="#e5e5e5", linewidth=0.6)
            axes.set_axisbelow(True)
        gains[i].set_xlabel("FPR: said “filed”, wrongly", fontsize=8)
    rates[0].set_ylabel("TPR: said “filed”, rightly", fontsize=8)
    gains[0].set_ylabel("TPR − FPR", fontsize=8)
    save_figure(figure, path)


def _rates(axes: "Axes", name: str, result: Result) -> None:
    grid = np.linspace(0, 1, 401)
    delta = result.guarantee.delta
    axes.plot(grid, grid, color="#999999", linewidth=0.8)
    axes.plot(grid, np.minimum(1, grid + delta), color="#444444", linewidth=1, linestyle=":", label="FPR + delta")
    axes.plot(grid, result.guarantee.tradeoff(grid), color="#444444", linewidth=1, linestyle="--", label="proven")
    axes.plot(*result.roc, color=_colour(name), linewidth=1.8, label="measured")
    axes.plot(result.event.fpr_at_most, result.event.tpr_at_least, "o", color=_colour(name), markersize=4,
              label="at least")  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_title(f"{name}: {result.pair.name}", loc="left", fontsize=9)
    axes.legend(loc="lower right", fontsize=7, frameon=False)


def _gains(axes: "Axes", name: str, result: Result) -> None:
    """The same above the diagonal, where a small delta shows."""
    grid = np.linspace(0, 1, 401)
    delta = result.guarantee.delta
    fpr, tpr = result.roc
    axes.plot(grid, np.minimum(1, grid + delta) - grid, color="#444444", linewidth=1, linestyle=":")
    axes.plot(grid, result.guarantee.tradeoff(grid) - grid, color="#444444", linewidth=1, linestyle="--")
    axes.plot(fpr, tpr - fpr, color=_colour(name), linewidth=1.8)
    axes.set_ylim(min(0.0, 1.1 * float((tpr - fpr).min())), 1.25 * max(0.02, delta, float((tpr - fpr).max())))


def _colour(name: str) -> str:
    return MECHANISM_COLOURS[name]
