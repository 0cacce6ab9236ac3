"""`deniable simulate`: how well mechanisms follow the reports of generated or replayed streams."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from deniable import class_guarantees
from deniable.cli import scores as shown
from deniable.cli.groups import Command
from deniable.cli.new_files import check_new_file
from deniable.cli.options import (
    SEVERAL,
    AsJson,
    Audits,
    Classes,
    Cluster,
    Cooldown,
    MaxGap,
    MostCounted,
    Seed,
    Workers,
    checked_horizon,
    checked_most_counted,
    checked_rules,
    chosen_classes,
    deltas,
    several,
    shared,
)
from deniable.errors import DeniableError, check_whole
from deniable.mechanisms import MECHANISM_IDS, NEEDS
from deniable.report_classes import ReportClass
from deniable.report_files import read_classed_csv, read_targets
from deniable.rounding import rounded_up
from deniable.simulation import synthetic_streams
from deniable.simulation.evaluation import Replay, Score, Study, score
from deniable.streams import ReportStream
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)

ROUNDS = 1000
"""Of generated reports, where no option says otherwise."""


class Scenario(StrEnum):
    """How the generated reports come in."""

    STEADY = "steady"
    BURSTY = "bursty"
    TRENDING = "trending"
    TURNS_BAD = "turns-bad"


@commands.command(cls=Command)
def simulate(
    *,
    mechanism: Annotated[list[str], shared("--mechanism", f"{', '.join(MECHANISM_IDS)}. {SEVERAL}")],
    delta: Annotated[list[str] | None, shared("--delta", f"Not for greedy and uniform. {SEVERAL}")] = None,
    targets: Annotated[int | None, shared("--targets", "For generated reports.")] = None,
    rounds: Annotated[
        int | None,
        shared("--rounds", f"For generated reports; default {ROUNDS}.", show_default=False),
    ] = None,
    horizon: Annotated[int | None, shared("--horizon", "By default the number of rounds.", show_default=False)] = None,
    scenario: Annotated[
        Scenario,
        typer.Option(
            help="Generated reports: steady rates; in bursts of ten on average; rates that triple for every second "
            "target and fall to a third for the others; or one target that turns bad half-way.",
        ),
    ] = Scenario.STEADY,
    rates: Annotated[
        str,
        typer.Option(
            metavar="LEAD,OTHER",
            help="Mean reports a round of the first target and of every other one. With turns-bad, the first target "
            "has OTHER as well until it turns bad.",
        ),
    ] = "1.0,0.2",
    stream: Annotated[
        Path | None, shared("--stream", "They are replayed in every run, instead of generated ones.")
    ] = None,
    target_list: Annotated[Path | None, shared("--target-list", "By default the targets in --stream.")] = None,
    period: Annotated[str, shared("--period", "Only if --stream has dates.")] = "1D",
    runs: Annotated[int, shared("--runs")] = 100,
    audits: Audits = 1,
    max_gap: MaxGap = None,
    cooldown: Cooldown = 0,
    classes: Classes = None,
    most_counted: MostCounted = None,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Annotated[Path | None, shared("--out", "a new CSV file, for the table.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well mechanisms follow the reports, on generated or replayed streams.

    Every mechanism gets the same streams. The noise is simulated, so nothing here is a transcript to publish.

    \b
    Example: counter auditing and race on the setting of the paper
      deniable simulate --mechanism tca,race --delta 0.1 \\
          --targets 50 --rounds 1000 --runs 100
    Example: how soon a target that turns bad is audited
      deniable simulate --mechanism race --delta 0.1 --targets 50 \\
          --scenario turns-bad
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if out is not None:
        check_new_file("--out", out)
    levels: list[float | None] = [*deltas(delta)] or [None]
    told_apart = _without_visits(chosen_classes(classes))
    if stream is None:
        if target_list is not None or period != "1D":
            raise DeniableError("--target-list and --period are for --stream")
        if classes or most_counted is not None:
            raise DeniableError("--class and --most-counted are for --stream: generated reports are all alike")
        if targets is None:
            raise DeniableError("give --targets, the number of targets, or --stream, a file with reports")
        study, about = _generated(scenario, rates, targets, ROUNDS if rounds is None else rounds, horizon)
    else:
        if targets is not None or rounds is not None or rates != "1.0,0.2" or scenario is not Scenario.STEADY:
            raise DeniableError(
                "--targets, --rounds, --rates and --scenario are for generated reports, not for --stream"
            )
        if cluster is not None:
            raise DeniableError("the reports of --stream do not leave this machine: use --workers, not --cluster")
        listed = None if target_list is None else read_targets(target_list)
        counts = read_classed_csv(stream, told_apart, listed, period=period).to_stream(
            checked_most_counted(most_counted)
        )
        study, about = _replayed(stream, counts, horizon)
    rules = checked_rules(max_gap, cooldown, study.n_targets, audits)
    study = replace(study, rules=rules, audits=audits)
    wanted = [
        (name, level) for name in several(mechanism) for level in (levels[:1] if NEEDS.get(name) == () else levels)
    ]
    with shown.progress() as done:
        scores = score(study, wanted, runs, seed, cluster=cluster, workers=workers, done=done)

    if out is not None:
        shown.write_csv(out, [({}, each) for each in scores], confidential=stream is not None)
    notes = [] if stream is None else [shown.CONFIDENTIAL, shown.CHOICE]
    about |= {"horizon": study.horizon, "audits": audits, "rules": asdict(rules), "runs": runs, "seed": seed}
    by_class = [_deltas_by_class(study, each, told_apart) for each in scores] if told_apart else [None] * len(scores)
    if as_json:
        figures = [
            {**shown.as_json(each), **({} if by is None else {"delta_by_class": by})}
            for each, by in zip(scores, by_class, strict=True)
        ]
        document = {**about, "notes": notes, "scores": figures}
        print(json.dumps(document, indent=1, allow_nan=False))
    else:
        _show(about, notes, scores, by_class)


def _without_visits(classes: tuple[ReportClass, ...] | None) -> tuple[ReportClass, ...] | None:
    for one in classes or ():
        if one.leads_to_visit:
            raise DeniableError(
                f"simulate is about the draw, in which reports of class {one.name} do not take part: leave the class "
                "and its reports out, or see deniable audit --simulation, which orders the visits"
            )
    return classes


def _deltas_by_class(study: Study, each: Score, classes: Sequence[ReportClass]) -> dict[str, float]:
    mechanism = study.mechanism(each.mechanism_id, each.delta)
    found = class_guarantees.guarantees_by_class(mechanism, classes)
    return {name: one.delta for name, one in found.items() if one is not None}


def _generated(
    scenario: Scenario, rates: str, n_targets: int, rounds: int, horizon: int | None
) -> tuple[Study, dict[str, Any]]:
    try:
        lead, other = pair = [float(part) for part in rates.split(",")]
    except ValueError:
        raise DeniableError(f"--rates must be two numbers with a comma between them, LEAD,OTHER, got {rates}") from None
    per_target = synthetic_streams.lead_rates(check_whole("--targets", n_targets, least=2), lead, other)
    check_whole("--rounds", rounds, least=1)
    turned_bad = None
    match scenario:
        case Scenario.STEADY:
            source = partial(synthetic_streams.poisson, per_target, rounds)
        case Scenario.BURSTY:
            source = partial(synthetic_streams.bursty, per_target, rounds)
        case Scenario.TRENDING:
            source = partial(synthetic_streams.trending, per_target, rounds)
        case Scenario.TURNS_BAD:
            turned_bad = (0, rounds // 2)
            source = partial(
                synthetic_streams.turns_bad, np.full(n_targets, other), rounds, since=turned_bad[1], rate=lead
            )
    about = {"scenario": str(scenario), "rates": pair, "targets": n_targets, "rounds": rounds}
    return Study(source, n_targets, _covered(horizon, rounds), turned_bad=turned_bad), about


def _replayed(path: Path, stream: ReportStream, horizon: int | None) -> tuple[Study, dict[str, Any]]:
    about = {"stream": path.name, "targets": stream.n_targets, "rounds": stream.n_rounds}
    return Study(Replay(stream.counts), stream.n_targets, _covered(horizon, stream.n_rounds)), about


def _covered(horizon: int | None, rounds: int) -> int:
    """The rounds that the guarantee covers."""
    return checked_horizon(horizon, rounds) or rounds


def _show(
    about: dict[str, Any], notes: Sequence[str], scores: Sequence[Score], by_class: Sequence[dict[str, float] | None]
) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    for note in notes:
        console.print(f"{note}\n", style="yellow")
    if "stream" in about:
        reports = f"the reports of {about['stream']}"
    else:
        lead, other = about["rates"]
        reports = f"{about['scenario']} reports at {lead:g} and {other:g} a round"
    audits = count(about["audits"], "audit")
    console.print(f"{about['targets']:,} targets, {count(about['rounds'], 'round')}, {audits} a round, {reports}.\n")
    shown.print_table(scores)
    for each, deltas_of in zip(scores, by_class, strict=True):
        if deltas_of is not None:
            level = "" if each.delta is None else f" at {each.delta:g}"
            said = ", ".join(f"{name} {rounded_up(delta)}" for name, delta in deltas_of.items())
            console.print(f"\ndelta of a report by class, {each.mechanism_id}{level}: {said}")
    console.print(f"\n{shown.legend(scores, about['runs'])}")
