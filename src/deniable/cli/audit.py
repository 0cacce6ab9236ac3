"""`deniable audit`: a whole report stream in, the transcript and the promise out."""

import csv
import io
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.columns import Columns
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from deniable import class_guarantees
from deniable.arrays import BoolArray, IntArray
from deniable.cli.groups import Command
from deniable.cli.new_files import check_folder, write_new
from deniable.cli.options import (
    AsJson,
    Audits,
    Classes,
    Cooldown,
    MaxGap,
    MostCounted,
    StreamFile,
    checked_horizon,
    checked_most_counted,
    checked_rules,
    chosen_classes,
    one_delta,
    rules_in_words,
    shared,
)
from deniable.counters import GaussianCounter
from deniable.counters.gaussian import GRID_BITS
from deniable.errors import DeniableError, check_whole
from deniable.guarantee import Guarantee
from deniable.mechanisms import MECHANISM_IDS, NEEDS, Mechanism, calibrate
from deniable.noise import Noise, SystemNoise
from deniable.report_classes import ONE_CLASS, ReportClass
from deniable.report_files import read_classed_csv, read_targets
from deniable.rules import Rules
from deniable.run import AuditRun
from deniable.simulation.noise import SimulationNoise
from deniable.streams import ReportStream, active_counts, deficit, misselected, resolved

commands = typer.Typer(rich_markup_mode=None)

FILES = ("transcript.csv", "guarantee.json", "guarantee.txt")
SIMULATED_FILES = ("simulated-transcript.csv", *FILES[1:])

GREEDY = "WARNING: greedy auditing protects no one: an observer of its audits can find out who was reported, and when."
SIMULATION = (
    "SIMULATION: drawn with simulated noise from the seed {seed}. "
    "No audit programme may use this transcript, and no guarantee holds for it."
)
READ_OFF = (
    "note: read off the reports: {what}. The guarantee holds only if this does not depend on reports; "
    "better give {options}."
)
READ_OFF_PUBLIC = (
    "public files must not depend on what was read off the reports ({what}): "
    "give {options}, or --assume-public if it is public anyway"
)


@commands.command(cls=Command)
def audit(
    file: StreamFile,
    *,
    mechanism: Annotated[str, shared("--mechanism", f"{', '.join(MECHANISM_IDS)}.")],
    delta: Annotated[list[str] | None, shared("--delta", "Required, except for greedy and uniform.")] = None,
    target_list: Annotated[Path | None, shared("--target-list", "By default the targets in STREAM.")] = None,
    rounds: Annotated[int | None, shared("--rounds", "By default up to the last one in STREAM.")] = None,
    start: Annotated[
        str | None, shared("--start", "Only if STREAM has dates; by default the first date there.")
    ] = None,
    period: Annotated[str, shared("--period", "Only if STREAM has dates.")] = "1D",
    horizon: Annotated[
        int | None,
        shared(
            "--horizon",
            "For counter auditing by default the number of rounds, or any number if you give --max-gap. Race covers "
            "any number.",
        ),
    ] = None,
    audits: Audits = 1,
    max_gap: MaxGap = None,
    cooldown: Cooldown = 0,
    classes: Classes = None,
    most_counted: MostCounted = None,
    out: Annotated[
        Path | None,
        shared(
            "--out",
            "a folder, for transcript.csv, guarantee.json and guarantee.txt, all public; existing files are never "
            "overwritten. Needs --target-list, --rounds and, with dates, --start.",
        ),
    ] = None,
    assume_public: Annotated[
        bool,
        typer.Option(
            "--assume-public",
            help="State that the targets and the calendar in STREAM do not depend on reports, so that --out needs "
            "no more than the file.",
        ),
    ] = False,
    as_json: AsJson = False,
    simulation: Annotated[
        bool, typer.Option("--simulation", help="Draw repeatable, simulated noise, for studies only.")
    ] = False,
    seed: Annotated[int | None, shared("--seed", "Of the simulated noise, 0 by default; needs --simulation.")] = None,
) -> None:
    """Draw the audits of a whole report stream, one a round or several.

    Prints the transcript and the promise, which are public, and a summary, which is confidential. The audits
    are drawn afresh each time, from the operating system's entropy: run it once, and publish that transcript.

    The guarantee is about the audits. Who can be audited, from when and for how many rounds is public, so it must
    not depend on reports: give it, rather than have it read off them.

    \b
    Example: a year of weekly rounds, with the public files in the folder 2025
      deniable audit reports.csv --target-list targets.txt \\
          --start 2025-01-06 --period 7D --rounds 52 \\
          --mechanism race --delta 0.1 --out 2025
    Example: two audits a round, every target's turn comes within 26 rounds
      deniable audit reports.csv --mechanism race --delta 0.1 \\
          --audits 2 --max-gap 26
    Example: serious reports count three times, and danger leads to a visit
      deniable audit reports.csv --mechanism race --delta 0.1 \\
          --class minor=1 --class serious=3 --class danger=visit
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if seed is not None and not simulation:
        raise DeniableError("--seed needs --simulation: the audits of a programme must not be repeatable")
    if simulation:
        seed = check_whole("seed", seed or 0, least=0)
    names = SIMULATED_FILES if simulation else FILES
    if out is not None:
        check_folder(out, names)

    listed = None if target_list is None else read_targets(target_list)
    told_apart, most_counted = chosen_classes(classes), checked_most_counted(most_counted)
    classed = read_classed_csv(file, told_apart, listed, period=period, rounds=rounds, start=start)
    stream = classed.to_stream(most_counted)
    rules = checked_rules(max_gap, cooldown, stream.n_targets, audits)
    certified = " and the horizon" if _horizon_is_read_off(mechanism, horizon, rules) else ""
    read_off = {
        "the list of targets": target_list is None and "--target-list FILE",
        f"the number of rounds{certified}": rounds is None and "--rounds N",
        "the first day": start is None and stream.is_dated and "--start YYYY-MM-DD",
    }
    unstated = {} if assume_public else {what: option for what, option in read_off.items() if option}
    if out is not None and unstated:
        raise DeniableError(_told(READ_OFF_PUBLIC, unstated))
    calibrated = _calibrate(mechanism, stream, one_delta(delta), horizon, rules)
    calibrated.check_round(0, stream.n_targets, audits)
    noise = SystemNoise() if seed is None else SimulationNoise(seed)
    visits = classed.visits
    audited = _draw(calibrated, stream, visits, noise, audits)
    drawn = Drawn(mechanism, calibrated, stream, audited, seed, told_apart or (), visits, most_counted)

    if out is not None:
        write_new(out, dict(zip(names, _texts(drawn), strict=True)))
    notes = [_told(READ_OFF, unstated)] if unstated else []
    if as_json:
        print(json.dumps({**_public(drawn), "confidential": _summary(drawn)}, indent=1, allow_nan=False))
        for remark in [*_warnings(drawn), *notes]:
            print(remark, file=sys.stderr)
    else:
        _show(drawn, period.upper(), notes)


def _told(message: str, unstated: Mapping[str, str]) -> str:
    return message.format(what=", ".join(unstated), options=", ".join(unstated.values()))


@dataclass(frozen=True)
class Drawn:
    """A finished draw. Only the counts in the stream are confidential."""

    mechanism_id: str
    mechanism: Mechanism[Any]
    stream: ReportStream
    audits: IntArray
    """(T, audits a round), in the order drawn."""
    seed: int | None
    """Of the simulated noise; None where the audits are real."""
    classes: tuple[ReportClass, ...]
    """Of reports; none where they are not told apart."""
    visits: BoolArray
    """(T, C): ordered before the draw of each round, because of reports that lead to a visit."""
    most_counted: int | None

    @property
    def has_visits(self) -> bool:
        return any(one.leads_to_visit for one in self.classes)

    @property
    def transcript(self) -> list[tuple[str, str, str]]:
        """Round, audited target by name, and how it came to it: a visit, or drawn; a line for each audit."""
        rounds = zip(self.stream.rounds, self.visits, self.audits, strict=True)
        return [
            (label, self.stream.targets[c], how)
            for label, visits, audited in rounds
            for how, those in (("visit", np.flatnonzero(visits)), ("drawn", audited))
            for c in those
        ]

    @property
    def guarantee(self) -> Guarantee:
        """Of one report; of the heaviest class where there are several, which holds for the others too."""
        return class_guarantees.guarantee_of_heaviest(self.mechanism, self.classes or ONE_CLASS)

    @property
    def promise(self) -> list[str]:
        """The guarantee in words, and what it is for each class."""
        return [self.guarantee.in_words(), *class_guarantees.sentences(self.mechanism, self.classes or ONE_CLASS)]


def _horizon_is_read_off(mechanism_id: str, horizon: int | None, rules: Rules) -> bool:
    """Whether the horizon that the mechanism needs is the number of rounds; a max_gap will do for one."""
    return horizon is None and rules.max_gap is None and "horizon" in NEEDS.get(mechanism_id, ())


def _calibrate(
    mechanism_id: str, stream: ReportStream, delta: float | None, horizon: int | None, rules: Rules
) -> Mechanism[Any]:
    horizon = checked_horizon(horizon, stream.n_rounds)
    if _horizon_is_read_off(mechanism_id, horizon, rules):
        horizon = stream.n_rounds
    return calibrate(mechanism_id, stream.n_targets, delta, horizon, rules=rules)


def _draw(mechanism: Mechanism[Any], stream: ReportStream, visits: BoolArray, noise: Noise, audits: int) -> IntArray:
    run = AuditRun(mechanism, noise)
    console = Console(stderr=True)
    drawn = []
    for t in track(range(stream.n_rounds), "Drawing", console=console, transient=True, disable=not console.is_terminal):
        if visits[t].any():
            run.order(np.flatnonzero(visits[t]).tolist())
        drawn.append(run.select(stream.counts[t], audits))
    return np.array(drawn, dtype=np.int64)


def _warnings(drawn: Drawn) -> list[str]:
    simulated = [] if drawn.seed is None else [SIMULATION.format(seed=drawn.seed)]
    return simulated + ([GREEDY] if drawn.mechanism_id == "greedy" else [])


def _public(drawn: Drawn) -> dict[str, Any]:
    """A function of audits, targets, calendar and public parameters alone: no count, no path, no time of day."""
    rows = [dict(zip(_columns(drawn), row, strict=False)) for row in drawn.transcript]
    told_apart = {"classes": class_guarantees.as_json(drawn.mechanism, drawn.classes)} if drawn.classes else {}
    return {
        "transcript": rows,
        "guarantee": drawn.guarantee.to_dict() if drawn.seed is None else None,
        **(told_apart if drawn.seed is None else {}),
        **({} if drawn.most_counted is None else {"most_counted": drawn.most_counted}),
        "mechanism": {"id": drawn.mechanism_id, **_parameters(drawn.mechanism)},
        "audits": drawn.audits.shape[1],
        "simulation": drawn.seed is not None,
    }


def _columns(drawn: Drawn) -> tuple[str, ...]:
    return ("round", "target", *(("how",) if drawn.has_visits else ()))


def _parameters(part: Any) -> Any:
    """The public fields of a mechanism, its rules and its counter, for JSON, with the noise of a counter in reports.

    The exact variance is in digits, because many readers of JSON take numbers for doubles.
    """
    if not is_dataclass(part):
        return part
    values = {field.name: _parameters(getattr(part, field.name)) for field in fields(part)}
    if isinstance(part, GaussianCounter):
        values |= {"variance": str(part.variance), "variance_unit": f"4**-{GRID_BITS}", "sigma": part.sigma}
    return values


def _summary(drawn: Drawn) -> dict[str, Any]:
    """Confidential: computed from the counts."""
    counts, audits = drawn.stream.counts, drawn.audits
    active = active_counts(counts, audits, audits.shape[1], drawn.visits)
    left = active.copy()
    np.put_along_axis(left, audits, 0, axis=1)
    visited = int(left[:-1][drawn.visits[1:]].sum())
    filed, done = int(counts.sum()), int(resolved(active, audits).sum()) + visited
    return {
        "reports": filed,
        "reports_resolved": done,
        "share_resolved": done / filed if filed else None,
        "mean_deficit": float(deficit(active, audits).mean()),
        "rounds_with_leader_audited": int((~misselected(active, audits)).sum()),
    }


# Files


def _texts(drawn: Drawn) -> tuple[str, str, str]:
    """The transcript as CSV, the figures as JSON, the guarantee in words."""
    public = _public(drawn)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    columns = _columns(drawn)
    writer.writerows([columns, *(row[: len(columns)] for row in drawn.transcript)])
    figures = {key: value for key, value in public.items() if key != "transcript"}
    words = [*_warnings(drawn), *(drawn.promise if drawn.seed is None else [])]
    return (
        table.getvalue(),
        json.dumps(figures, indent=1, allow_nan=False) + "\n",
        "\n\n".join(textwrap.fill(text, 80) for text in words) + "\n",
    )


# Text


def _show(drawn: Drawn, period: str, notes: Sequence[str]) -> None:
    # Target names are data: no markup, no emoji, no colour for what looks like a number.
    console = Console(markup=False, emoji=False, highlight=False)
    for warning in _warnings(drawn):
        console.print(f"{warning}\n", style="bold red")
    for note in notes:
        console.print(f"{note}\n", style="yellow")
    console.print(_header(drawn, period))
    real = drawn.seed is None
    console.print(f"\nPromise ({'public' if real else 'of audits drawn for real, not of these'})", style="bold")
    if in_short := drawn.guarantee.in_short():
        console.print(in_short)
        console.print("\nThe exact figures", style="bold")
    console.print("\n".join(drawn.promise))
    shown = "round and audited target" + (", and a word on every visit ordered at once" if drawn.has_visits else "")
    console.print(f"\nTranscript ({'public' if real else 'simulated'}): {shown}", style="bold")
    width = max(map(len, drawn.stream.rounds))
    entries = [
        Text(f"{label:>{width}}  {target}{'  (visit, not drawn)' if how == 'visit' else ''}", overflow="fold")
        for label, target, how in drawn.transcript
    ]
    in_columns = Columns(entries, column_first=True, equal=True, padding=(0, 3))
    console.print(in_columns if console.is_terminal else Text("\n").join(entries), soft_wrap=not console.is_terminal)
    console.print("\nSummary (confidential: do not publish)", style="bold red")
    console.print(_summary_table(drawn))


def _header(drawn: Drawn, period: str) -> Table:
    rounds = drawn.stream.rounds
    dates = f" of {period}, the first from {rounds[0]}, the last from {rounds[-1]}" if drawn.stream.is_dated else ""
    return _table(
        {
            "mechanism": drawn.mechanism_id,
            "targets": f"{drawn.stream.n_targets:,}",
            "rounds": f"{len(rounds):,}{dates}",
            **({"audits a round": f"{drawn.audits.shape[1]:,}"} if drawn.audits.shape[1] > 1 else {}),
            **({"classes": ", ".join(one.written for one in drawn.classes)} if drawn.classes else {}),
            **(
                {}
                if drawn.most_counted is None
                else {"most counted": f"{drawn.most_counted:,} a target, class and round"}
            ),
            **({"rules": ", ".join(rules)} if (rules := rules_in_words(drawn.mechanism.rules)) else {}),
        }
    )


def _summary_table(drawn: Drawn) -> Table:
    summary = _summary(drawn)
    what = "weight of reports resolved" if drawn.classes else "reports resolved"
    share = "" if summary["share_resolved"] is None else f" ({summary['share_resolved']:.1%})"
    return _table(
        {
            what: f"{summary['reports_resolved']:,} of {summary['reports']:,}{share}",
            "mean deficit": f"{summary['mean_deficit']:.2f}{'' if drawn.classes else ' reports'}",
            "rounds in which a leader was audited": f"{summary['rounds_with_leader_audited']:,}"
            f" of {drawn.stream.n_rounds:,}",
        }
    )


def _table(rows: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(name, value)
    return table
