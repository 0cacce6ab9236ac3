"""`deniable audit`: a whole report stream in, the transcript and the guarantee out."""

import csv
import io
import json
import math
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, cast

import numpy as np
import typer
from rich.columns import Columns
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from deniable.arrays import IntArray
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.mechanisms import MECHANISM_IDS, Mechanism, calibrate
from deniable.noise import Noise, SystemNoise
from deniable.run import AuditRun
from deniable.simulation import SimulationNoise
from deniable.streams import ReportStream, active_counts, deficit, misselected, read_csv, read_targets, resolved

NEEDS_NO_DELTA = ("greedy", "uniform")
PUBLIC_FILES = ("transcript.csv", "guarantee.json", "guarantee.txt")

GREEDY = "WARNING: greedy auditing protects nobody: whoever watches its audits can find out who was reported, and when."
SIMULATION = (
    "SIMULATION: drawn with simulated noise from the seed {seed}. "
    "No audit programme may use this transcript, and the guarantee does not hold for it."
)
ASSUMED_PUBLIC = (
    "note: the list of targets and the calendar were read off the reports and are assumed to be public; "
    "give them with --targets FILE and --rounds N."
)


def audit(
    reports: Annotated[
        Path,
        typer.Argument(
            metavar="REPORTS",
            show_default=False,
            help="CSV file with the columns date,target,reports or round,target,reports, or with one column a target.",
        ),
    ],
    *,
    mechanism: Annotated[str, typer.Option(metavar="ID", help=f"How targets are chosen: {', '.join(MECHANISM_IDS)}.")],
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="DELTA",
            help="Privacy level of one report, in (0, 1): watching the audits improves a guess whether it was filed "
            "by at most DELTA / 2. Required, except for greedy and uniform.",
        ),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The public list of targets, one name a line; without it, those in REPORTS."),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Rounds that the guarantee must cover; counter auditing covers the rounds of the stream by default, "
            "and race covers any number.",
        ),
    ] = None,
    period: Annotated[
        str, typer.Option(metavar="PERIOD", help="Length of a round where REPORTS has dates: 1D, 7D, 2W, ….")
    ] = "1D",
    rounds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of rounds, where the last ones had no report and REPORTS ends early."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write transcript.csv, guarantee.json and guarantee.txt, all public, into this folder; existing "
            "files are never overwritten.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False,
    simulation: Annotated[
        bool, typer.Option("--simulation", help="Draw repeatable, simulated noise, for studies only.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the simulated noise, 0 by default; needs --simulation.")
    ] = None,
) -> None:
    """Draw the audits of a whole report stream, one a round.

    Prints the transcript and the guarantee, which are public, and a summary, which is confidential. The audits
    are drawn afresh each time, from the operating system's entropy: run it once, and publish that transcript.

    \b
    Example: a year of weekly rounds, with the public files in the folder 2025
      deniable audit reports.csv --targets targets.txt --period 7D \\
          --mechanism race --delta 0.1 --out 2025
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if seed is not None and not simulation:
        raise DeniableError("--seed needs --simulation: the audits of a programme must not be repeatable")
    if simulation:
        seed = check_whole("seed", seed or 0, least=0)
    if delta is not None:
        check_delta(delta)
    elif mechanism in MECHANISM_IDS and mechanism not in NEEDS_NO_DELTA:
        raise DeniableError(f"--delta is missing: {mechanism} needs a privacy level in (0, 1), such as 0.1")
    if out is not None:
        _refuse_existing(out)

    stream = read_csv(reports, None if targets is None else read_targets(targets), period, rounds)
    calibrated = _calibrate(mechanism, stream, delta, horizon)
    noise = SystemNoise() if seed is None else SimulationNoise(seed)
    drawn = Drawn(mechanism, calibrated, stream, _draw(calibrated, stream, noise), seed)

    if out is not None:
        _write_new(out, _public_files(drawn))
    remarks = [*_warnings(drawn), *([ASSUMED_PUBLIC] if targets is None else [])]
    if as_json:
        print(json.dumps({**_public(drawn), "confidential": _summary(drawn)}, indent=1, allow_nan=False))
        for remark in remarks:
            print(remark, file=sys.stderr)
    else:
        _show(drawn, period, remarks)


@dataclass(frozen=True)
class Drawn:
    """A finished draw. Only the counts in the stream are confidential."""

    mechanism_id: str
    mechanism: Mechanism[Any]
    stream: ReportStream
    audits: IntArray
    """(T,)"""
    seed: int | None
    """Of the simulated noise; None where the audits are real."""

    @property
    def transcript(self) -> list[tuple[str, str]]:
        """Round and audited target, by name."""
        return [(label, self.stream.targets[c]) for label, c in zip(self.stream.rounds, self.audits, strict=True)]


def _calibrate(mechanism_id: str, stream: ReportStream, delta: float | None, horizon: int | None) -> Mechanism[Any]:
    if horizon is not None and check_whole("horizon", horizon, least=1) < stream.n_rounds:
        raise DeniableError(f"horizon must cover every round of the stream, got {horizon} for {stream.n_rounds} rounds")
    if horizon is None and mechanism_id.startswith(("tca", "counter:")):
        horizon = stream.n_rounds
    return calibrate(mechanism_id, stream.n_targets, math.nan if delta is None else delta, horizon)


def _draw(mechanism: Mechanism[Any], stream: ReportStream, noise: Noise) -> IntArray:
    run = AuditRun(mechanism, noise)
    console = Console(stderr=True)
    rows = track(stream.counts, "Drawing", console=console, transient=True, disable=not console.is_terminal)
    return np.array([run.step(row) for row in rows], dtype=np.int64)


def _warnings(drawn: Drawn) -> list[str]:
    simulated = [] if drawn.seed is None else [SIMULATION.format(seed=drawn.seed)]
    return simulated + ([GREEDY] if drawn.mechanism_id == "greedy" else [])


def _public(drawn: Drawn) -> dict[str, Any]:
    """A function of public parameters and audits alone: no count, no path, no time of day."""
    return {
        "transcript": [{"round": label, "target": target} for label, target in drawn.transcript],
        "guarantee": drawn.mechanism.guarantee().to_dict(),
        "mechanism": {"id": drawn.mechanism_id, **asdict(cast(Any, drawn.mechanism))},
        "simulation": drawn.seed is not None,
    }


def _summary(drawn: Drawn) -> dict[str, Any]:
    """Confidential: computed from the counts."""
    counts, audits = drawn.stream.counts, drawn.audits
    active = active_counts(counts, audits)
    filed, done = int(counts.sum()), int(resolved(active, audits).sum())
    return {
        "reports": filed,
        "reports_resolved": done,
        "share_resolved": done / filed if filed else None,
        "mean_deficit": float(deficit(active, audits).mean()),
        "rounds_with_leader_audited": int((~misselected(active, audits)).sum()),
    }


# Files


def _public_files(drawn: Drawn) -> dict[str, str]:
    public = _public(drawn)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerows([("round", "target"), *drawn.transcript])
    figures = {key: public[key] for key in ("guarantee", "mechanism", "simulation")}
    words = [*_warnings(drawn), drawn.mechanism.guarantee().in_words()]
    texts = (
        table.getvalue(),
        json.dumps(figures, indent=1, allow_nan=False) + "\n",
        "\n\n".join(textwrap.fill(text, 80) for text in words) + "\n",
    )
    return dict(zip(PUBLIC_FILES, texts, strict=True))


def _refuse_existing(folder: Path) -> None:
    for name in PUBLIC_FILES:
        if os.path.lexists(folder / name):
            raise DeniableError(
                f"{folder / name} exists, and a transcript is drawn only once: choose another folder for --out"
            )


def _write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write all the files or none, and never over an existing one."""
    undo: list[Callable[[], None]] = []
    try:
        if not folder.is_dir():
            folder.mkdir()
            undo.append(folder.rmdir)
        for name in files:
            (folder / name).touch(exist_ok=False)  # claimed: of two draws at the same time, one is refused
            undo.append((folder / name).unlink)
        with TemporaryDirectory(dir=folder, prefix=".") as temporary:
            written = [(Path(temporary, name), folder / name, text) for name, text in files.items()]
            for path, _, text in written:
                path.write_text(text, encoding="utf-8", newline="")
            for path, final, _ in written:
                path.replace(final)
    except BaseException as error:
        for step in reversed(undo):
            with suppress(OSError):
                step()
        if isinstance(error, OSError):
            raise DeniableError(f"cannot write into {folder}: {error.strerror}") from None
        raise


# Text


def _show(drawn: Drawn, period: str, remarks: Sequence[str]) -> None:
    # Target names are data: no markup, no emoji, no colour for what looks like a number.
    console = Console(markup=False, emoji=False, highlight=False)
    for remark in remarks:
        console.print(f"{remark}\n", style="yellow" if remark is ASSUMED_PUBLIC else "bold red")
    console.print(_header(drawn, period))
    console.print("\nGuarantee (public)", style="bold")
    console.print(drawn.mechanism.guarantee().in_words())
    console.print("\nTranscript (public): round and audited target", style="bold")
    width = max(map(len, drawn.stream.rounds))
    entries = [Text(f"{label:>{width}}  {target}", overflow="fold") for label, target in drawn.transcript]
    in_columns = Columns(entries, column_first=True, equal=True, padding=(0, 3))
    console.print(in_columns if console.is_terminal else Text("\n").join(entries), soft_wrap=not console.is_terminal)
    console.print("\nSummary (confidential: do not publish)", style="bold red")
    console.print(_summary_table(drawn))


def _header(drawn: Drawn, period: str) -> Table:
    rounds = drawn.stream.rounds
    dates = "" if rounds[0] == "1" else f" of {period}, the first from {rounds[0]}, the last from {rounds[-1]}"
    return _table(
        {
            "mechanism": drawn.mechanism_id,
            "targets": f"{drawn.stream.n_targets:,}",
            "rounds": f"{len(rounds):,}{dates}",
        }
    )


def _summary_table(drawn: Drawn) -> Table:
    summary = _summary(drawn)
    share = "" if summary["share_resolved"] is None else f" ({summary['share_resolved']:.1%})"
    return _table(
        {
            "reports resolved": f"{summary['reports_resolved']:,} of {summary['reports']:,}{share}",
            "mean deficit": f"{summary['mean_deficit']:.2f} reports",
            "rounds in which a leader was audited": f"{summary['rounds_with_leader_audited']:,}"
            f" of {drawn.stream.n_rounds:,}",
        }
    )


def _table(rows: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(name, value)
    return table
