"""`deniable attack`: what a strong adversary really gains from the audits, against what is proven."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from deniable.attack import OWN_TARGET, Pair, Result, View, find_worst, hard_pairs, moved_pairs, play, strongest
from deniable.attack.bounds import check_failure_probability, check_games
from deniable.attack.pairs import STREAMS, moments, moved_report, report_at
from deniable.cli.attack_chart import draw_chart
from deniable.cli.options import AsJson, DeltaOrNone, Mechanisms, Seed
from deniable.cli.scores import CONFIDENTIAL, check_new_file, create
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.mechanisms import Mechanism, calibrate
from deniable.report_files import read_csv
from deniable.simulation.figures import check_chart


@dataclass(frozen=True)
class Attack:
    """What was found about one mechanism."""

    mechanism_id: str
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


# Statements about a mechanism that share the failure probability: worst stream, own target, half-way, moved.
STATEMENTS = 4


def attack(
    *,
    mechanism: Mechanisms,
    delta: DeltaOrNone = None,
    targets: Annotated[
        int | None, typer.Option(metavar="N", show_default=False, help="Number of targets; default 5.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(metavar="N", show_default=False, help="Number of rounds; default 30.")
    ] = None,
    stream: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help=f"The other reports: all, which tries every one of {', '.join(STREAMS)}; one of these; or those in "
            "a CSV file. In each, the report in question comes early, midway or late.",
        ),
    ] = "all",
    games: Annotated[int, typer.Option(metavar="N", help="Games that are played on the worst streams.")] = 10_000,
    failure_probability: Annotated[
        float, typer.Option(metavar="P", help="How often anything in the table's bounds may be wrong, below 1.")
    ] = 1e-3,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the figure as well, into a .png or .svg file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a strong adversary guess whether a report was filed, and measure how often it is right.

    The adversary knows the mechanism and every other report, and watches the audits. The streams on which it does best
    are looked for; then the game is played on them anew.

    \b
    Example: three mechanisms with the same promise, and their figure
      deniable attack --mechanism race,tca,rr --delta 0.1 --out roc.png
    Example: race on the setting of the paper
      deniable attack --mechanism race --delta 0.1 --targets 50 --horizon 1000
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if out is not None:
        check_chart(out)
    if delta is not None:
        check_delta(delta)
    check_games(games)
    check_whole("seed", seed, least=0)
    check_failure_probability(failure_probability)
    pairs, moved, confidential = _pairs(stream, targets, horizon, seed)
    if confidential and out is not None:
        check_new_file("--out", out)
    names = [name for text in mechanism for name in text.split(",")]
    mechanisms = {name: calibrate(name, pairs[0].n_targets, delta, pairs[0].rounds) for name in names}
    how = {"games": games, "failure_probability": failure_probability / (STATEMENTS * len(mechanisms))}
    with _progress(len(names) * (len(pairs) + len(moved) + 4)) as step:
        found = [_attack(name, one, pairs, moved, how, seed=seed, step=step) for name, one in mechanisms.items()]

    if out is not None:
        if confidential:
            create(out, confidential=True)
        draw_chart({one.mechanism_id: one.worst for one in found}, out)
    about = {
        "targets": pairs[0].n_targets,
        "rounds": pairs[0].rounds,
        "delta": delta,
        "games": games,
        "failure_probability": failure_probability,
        "seed": seed,
        "notes": [CONFIDENTIAL] if confidential else [],
    }
    if as_json:
        print(json.dumps({**about, "attacks": [_as_json(one) for one in found]}, indent=1, allow_nan=False))
    else:
        _show(about, found)


def _pairs(
    stream: str, targets: int | None, horizon: int | None, seed: int
) -> tuple[Sequence[Pair], Sequence[Pair], bool]:
    """Pairs to try, pairs with a moved report, and whether they come from a file."""
    if stream == "all" or stream in STREAMS:
        size = 5 if targets is None else targets, 30 if horizon is None else horizon, seed
        wanted = [
            [pair for pair in pairs if stream in ("all", pair.name.rsplit(", ", 1)[0])]
            for pairs in (hard_pairs(*size), moved_pairs(*size))
        ]
        if not wanted[0]:
            raise DeniableError(f"--stream {stream!r} needs a horizon of at least 2 rounds")
        return wanted[0], wanted[1] or moved_pairs(*size)[:1], False
    path = Path(stream)
    if not path.suffix:
        raise DeniableError(f"--stream must be all, {', '.join(STREAMS)} or a CSV file, got {stream!r}")
    if targets is not None or horizon is not None:
        raise DeniableError("--targets and --horizon are for streams by name; a file has its own targets and rounds")
    counts = read_csv(path).counts
    busiest, quietest = int(counts.sum(axis=0).argmax()), int(counts.sum(axis=0).argmin())
    pairs = [
        report_at(f"{path.name}, {whom} target, {when}", counts, at, target)
        for whom, target in {"busiest": busiest, "quietest": quietest}.items()
        for when, at in moments(len(counts)).items()
    ]
    others = (quietest, busiest) if quietest != busiest else (0, 1)
    return pairs, [moved_report(f"{path.name}, moved report", counts, 0, others)], True


def _attack(
    name: str,
    mechanism: Mechanism[Any],
    pairs: Sequence[Pair],
    moved: Sequence[Pair],
    how: dict[str, Any],
    *,
    seed: int,
    step: Callable[[], None],
) -> Attack:
    # Games of their own for every statement.
    own_seed, prefix_seed, moved_seed = np.random.SeedSequence(seed).generate_state(3, np.uint64).tolist()
    worst, tried = find_worst(mechanism, pairs, **how, seed=seed, done=lambda _: step())
    step()
    pair = worst.pair
    half = View(rounds=pair.round + 1 + (pair.rounds - pair.round - 1) // 2)
    own = None
    if strongest(mechanism, pair, OWN_TARGET).name != "black box" or find_spec("sklearn"):
        own = play(mechanism, pair, view=OWN_TARGET, **how, seed=own_seed)
    step()
    prefix = play(mechanism, pair, view=half, **how, seed=prefix_seed)
    step()
    worst_moved, moved_tried = find_worst(mechanism, moved, **how, seed=moved_seed, done=lambda _: step())
    step()
    return Attack(name, worst, tried, own, prefix, worst_moved, moved_tried)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Attacking", total=total)
        yield lambda: bar.advance(task)


def _as_json(found: Attack) -> dict[str, Any]:
    return {
        "mechanism": found.mechanism_id,
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


def _show(about: dict[str, Any], found: Sequence[Attack]) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    for note in about["notes"]:
        console.print(f"{note}\n", style="yellow")
    console.print(
        f"{about['targets']:,} targets, {about['rounds']:,} rounds, {about['games']:,} games. Leak: how much more "
        "often the adversary says 'filed' when the report was filed than when it was not.\n"
    )
    leaks = [
        (
            one.mechanism_id,
            one.worst.pair.name,
            one.worst.adversary,
            _measured(one.worst),
            _down(one.worst.lower_bound, 3),
            _up(one.worst.guarantee.delta, 3),
            _verdict(one),
        )
        for one in found
    ]
    _table(("mechanism", "worst stream", "adversary", "leak", "at least", "proven", ""), leaks, left=(0, 1, 2, 6))
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
    console.print(f"\n{_legend(about['failure_probability'])}")


def _verdict(found: Attack) -> str:
    if found.broken:
        return "BROKEN"
    return "promises nothing" if found.worst.guarantee.delta == 1 else "not refuted"


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
    """What is at most so much, rounded up; but a delta of 0.1 + 1e-15 is 0.1 to a reader."""
    return f"{Decimal(f'{value:.9f}').quantize(Decimal(1).scaleb(-digits), ROUND_CEILING):,}"


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
