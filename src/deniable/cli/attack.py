"""`deniable attack`: what a strong adversary really gains from the audits, against what is proven."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from deniable.arrays import IntArray
from deniable.attack import (
    OWN_TARGET,
    BlackBox,
    Pair,
    View,
    find_worst,
    hard_pairs,
    moved_pairs,
    moved_report,
    play,
    report_at,
    rivals_needed,
    strongest,
)
from deniable.attack.bounds import check_failure_probability, check_games
from deniable.attack.pairs import STREAMS, moments
from deniable.cli.attack_configuration import Configuration, chosen, published
from deniable.cli.attack_output import Attack, draw_chart, show, to_json
from deniable.cli.groups import Command
from deniable.cli.new_files import check_new_file, create
from deniable.cli.options import (
    SEVERAL,
    AsJson,
    Audits,
    Chart,
    Cooldown,
    Forecast,
    MaxGap,
    Seed,
    SteadyForecast,
    WeightsFile,
    as_options,
    checked_rules,
    chosen_forecast,
    one_delta,
    several,
    shared,
)
from deniable.cli.scores import CONFIDENTIAL
from deniable.errors import DeniableError, check_whole
from deniable.mechanisms import MECHANISM_IDS
from deniable.mechanisms.forecasts import FORECASTS
from deniable.report_files import read_csv, read_weights
from deniable.simulation.figures import check_chart
from deniable.simulation.synthetic_streams import check_size
from deniable.streams import ReportStream

commands = typer.Typer(rich_markup_mode=None)

# Of streams by name, where no option says otherwise.
TARGETS, ROUNDS = 5, 30
# Statements about a mechanism that share the failure probability: worst stream, own target, half-way, moved.
STATEMENTS = 4


@commands.command(cls=Command)
def attack(
    context: typer.Context,
    *,
    mechanism: Annotated[list[str] | None, shared("--mechanism", f"{', '.join(MECHANISM_IDS)}. {SEVERAL}")] = None,
    delta: Annotated[list[str] | None, shared("--delta", "Not for greedy and uniform.")] = None,
    audits: Audits = 1,
    max_gap: MaxGap = None,
    cooldown: Cooldown = 0,
    weights: WeightsFile = None,
    forecast: Forecast = False,
    steady_forecast: SteadyForecast = False,
    public: Annotated[
        Path | None,
        shared(
            "--public",
            "The command verifies it first, and attacks its mechanism with its targets, audits a round, rules and "
            "weights. It replaces all options above, and --targets.",
            show_default=False,
        ),
    ] = None,
    targets: Annotated[int | None, shared("--targets", f"Default {TARGETS}.", show_default=False)] = None,
    rounds: Annotated[
        int | None,
        shared(
            "--rounds",
            f"The adversary watches this many; default {ROUNDS}. Mechanisms that need a horizon are calibrated for as "
            "many, except in a programme; with --max-gap counter auditing is calibrated for the gap.",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        str,
        shared(
            "--stream",
            f"Or by name: all, which tries every one of {', '.join(STREAMS)}; or one of these. They are the other "
            "reports; the one in question comes early, midway or late.",
            metavar="FILE|NAME",
        ),
    ] = "all",
    games: Annotated[int, typer.Option(metavar="N", help="Games that are played on the worst streams.")] = 10_000,
    failure_probability: Annotated[
        float, typer.Option(metavar="P", help="How often anything in the table's bounds may be wrong, below 1.")
    ] = 1e-3,
    seed: Seed = 0,
    chart: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Let a strong adversary guess whether a report was filed, and measure how often it is right.

    The adversary knows the mechanism, its public rules and weights, and every other report, and watches the audits. The
    command looks for the streams on which it does best, and then plays the game anew on these. The verdict names what
    was attacked.

    In --weights, targets have the names of the CSV file of --stream; in streams by name they are called 1, 2, ….

    \b
    Example: three mechanisms with the same promise, and their chart
      deniable attack --mechanism race,tca,rr --delta 0.1 --chart roc.png
    Example: race on the setting of the paper
      deniable attack --mechanism race --delta 0.1 --targets 50 --rounds 1000
    Example: two audits a round, every target's turn comes within 26 rounds
      deniable attack --mechanism race --delta 0.1 --targets 20 \\
          --audits 2 --max-gap 26 --forecast
    Example: a programme as it is published
      deniable attack --public public
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if chart is not None:
        check_chart(chart)
    level = one_delta(delta)
    check_games(games)
    check_whole("seed", seed, least=0)
    try:
        check_failure_probability(failure_probability)
    except DeniableError as error:
        raise DeniableError(as_options(str(error))) from None
    learnt = chosen_forecast(weights, forecast=forecast, steady_forecast=steady_forecast)
    if public is not None:
        _refuse_beside_public(context)
        configuration = published(public)
        reports = _reports(stream, configuration.targets, sized=rounds is not None)
        rounds = _watched(configuration, reports, rounds)
    elif mechanism is None:
        raise DeniableError("give --mechanism ID, or --public FOLDER to attack a programme as it is published")
    else:
        reports = _reports(stream, sized=targets is not None or rounds is not None)
        n_targets, rounds = _size(reports, targets, rounds)
        configuration = chosen(
            several(mechanism),
            n_targets,
            rounds,
            delta=level,
            audits=audits,
            rules=checked_rules(max_gap, cooldown, n_targets, audits),
            weights=FORECASTS[learnt] if learnt else _fixed_weights(weights, reports, n_targets),
        )
    if reports is not None and chart is not None:
        check_new_file("--chart", chart)
    pairs, moved = _pairs(configuration, stream, reports, rounds, seed)
    how = {"games": games, "failure_probability": failure_probability / (STATEMENTS * len(configuration.mechanisms))}
    with _progress(len(configuration.mechanisms) * (len(pairs) + len(moved) + 4)) as step:
        found = [
            _attack(name, configuration, pairs, moved, how, seed=seed, step=step) for name in configuration.mechanisms
        ]

    if chart is not None:
        if reports is not None:
            create(chart, confidential=True)
        draw_chart({one.mechanism_id: one.worst for one in found}, chart)
    about = {
        **configuration.to_dict(),
        "rounds": rounds,
        "games": games,
        "failure_probability": failure_probability,
        "seed": seed,
        "notes": [*([CONFIDENTIAL] if reports is not None else []), *configuration.notes],
    }
    if as_json:
        print(json.dumps({**about, "attacks": [to_json(one) for one in found]}, indent=1, allow_nan=False))
    else:
        show(about, found)


# What --public stands for.
SETTINGS = ("mechanism", "delta", "audits", "max_gap", "cooldown", "weights", "forecast", "steady_forecast", "targets")


def _refuse_beside_public(context: typer.Context) -> None:
    sources = {name: context.get_parameter_source(name) for name in SETTINGS}
    given = [f"--{name.replace('_', '-')}" for name, source in sources.items() if source and source.name != "DEFAULT"]
    if given:
        raise DeniableError(f"--public takes all settings from the programme: leave out {' and '.join(given)}")


def _reports(stream: str, targets: Sequence[str] | None = None, *, sized: bool) -> ReportStream | None:
    """Those of the file, where the stream is one. `targets` is the public list of them, where there is one."""
    if stream == "all" or stream in STREAMS:
        return None
    path = Path(stream)
    if not path.suffix:
        raise DeniableError(f"--stream must be all, {', '.join(STREAMS)} or a CSV file, got {stream!r}")
    if sized:
        raise DeniableError("--targets and --rounds are for streams by name; a file has its own targets and rounds")
    return read_csv(path, targets)


def _size(reports: ReportStream | None, targets: int | None, rounds: int | None) -> tuple[int, int]:
    """The number of targets and of rounds."""
    if reports is not None:
        return reports.n_targets, reports.n_rounds
    n_targets = check_whole("--targets", TARGETS if targets is None else targets, least=2)
    rounds = check_whole("--rounds", ROUNDS if rounds is None else rounds, least=1)
    check_size(n_targets, rounds)
    return n_targets, rounds


def _fixed_weights(path: Path | None, reports: ReportStream | None, n_targets: int) -> tuple[float, ...] | None:
    if path is None:
        return None
    return read_weights(path, [str(i + 1) for i in range(n_targets)] if reports is None else reports.targets)


def _watched(configuration: Configuration, reports: ReportStream | None, wanted: int | None) -> int:
    """The number of rounds, of which a programme's guarantee may cover only so many."""
    (mechanism,) = configuration.mechanisms.values()
    limit = mechanism.guarantee().horizon
    default = ROUNDS if limit is None else min(ROUNDS, limit)
    _, rounds = _size(reports, configuration.n_targets, default if wanted is None else wanted)
    if limit is not None and rounds > limit:
        raise DeniableError(
            f"the programme's guarantee covers {limit:,} rounds, but {rounds:,} are to be watched: give fewer with "
            "--rounds, or a shorter file"
        )
    return rounds


def _pairs(
    configuration: Configuration, stream: str, reports: ReportStream | None, rounds: int, seed: int
) -> tuple[Sequence[Pair], Sequence[Pair]]:
    """Pairs to try, and pairs with a moved report."""
    if reports is not None:
        return _pairs_of_file(Path(stream).name, reports.counts, configuration.extremes)
    n_targets, audits = configuration.n_targets, configuration.audits
    size = n_targets, rounds, seed
    rivals = rivals_needed(n_targets, audits, configuration.rules.cooldown)
    # A light target waits longer, a heavy one shows more in a round: where weights differ, both are tried.
    reported = {f", {which}": target for which, target in configuration.extremes.items()} or {"": 0}
    tried, moved = (
        [
            replace(pair, name=f"{pair.name}{which}")
            for which, target in reported.items()
            for pair in pairs(*size, rivals=rivals, target=target)
            if stream in ("all", pair.name.split(", ")[0])
        ]
        for pairs in (hard_pairs, moved_pairs)
    )
    if not tried:
        raise DeniableError(f"--stream {stream!r} needs at least 2 --rounds")
    return tried, moved or moved_pairs(*size, rivals=rivals)[:1]


def _pairs_of_file(name: str, counts: IntArray, extremes: Mapping[str, int]) -> tuple[Sequence[Pair], Sequence[Pair]]:
    busiest, quietest = int(counts.sum(axis=0).argmax()), int(counts.sum(axis=0).argmin())
    pairs = [
        report_at(f"{name}, {whom} target, {when}", counts, at, target)
        for whom, target in {"busiest": busiest, "quietest": quietest, **extremes}.items()
        for when, at in moments(len(counts)).items()
    ]
    others = (quietest, busiest) if quietest != busiest else (0, 1)
    return pairs, [moved_report(f"{name}, moved report", counts, 0, others)]


def _attack(
    name: str,
    configuration: Configuration,
    pairs: Sequence[Pair],
    moved: Sequence[Pair],
    how: dict[str, Any],
    *,
    seed: int,
    step: Callable[[], None],
) -> Attack:
    mechanism, audits = configuration.mechanisms[name], configuration.audits
    how = {**how, "audits": audits}
    # Games of their own for every statement.
    own_seed, prefix_seed, moved_seed = np.random.SeedSequence(seed).generate_state(3, np.uint64).tolist()
    worst, tried = find_worst(mechanism, pairs, **how, seed=seed, done=lambda _: step())
    step()
    pair = worst.pair
    half = View(rounds=pair.round + 1 + (pair.rounds - pair.round - 1) // 2)
    own = None
    if strongest(mechanism, pair, OWN_TARGET, audits).name != BlackBox.name or find_spec("sklearn"):
        own = play(mechanism, pair, view=OWN_TARGET, **how, seed=own_seed)
    step()
    prefix = play(mechanism, pair, view=half, **how, seed=prefix_seed)
    step()
    worst_moved, moved_tried = find_worst(mechanism, moved, **how, seed=moved_seed, done=lambda _: step())
    step()
    return Attack(name, configuration.described(name), worst, tried, own, prefix, worst_moved, moved_tried)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Attacking", total=total)
        yield lambda: bar.advance(task)
