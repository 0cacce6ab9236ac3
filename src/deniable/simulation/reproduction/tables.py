"""The settings of a reproduction, its tables, and how they are kept: a frozen dataclass is a row, its fields are
the columns.
"""

import csv
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from deniable.errors import DeniableError, check_whole
from deniable.simulation.experiments.closed_forms import Calibration, GapNeeded, NoiseGrowth
from deniable.simulation.experiments.dynamic import Dynamic, RunMean, RunningMean, Sensitivity
from deniable.simulation.experiments.static_sweep import CurvePoint, StaticPoint, StaticSweep

Row = TypeVar("Row")


@dataclass(frozen=True)
class Settings:
    """Of a whole reproduction."""

    static: StaticSweep
    dynamic: Dynamic
    sensitivity: Sensitivity
    horizons: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    pool_sizes: tuple[int, ...] = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
    """Numbers of targets for which the gap needed is computed."""
    quick: bool = False
    """Fewer runs and values than the paper's; the report says so."""

    @classmethod
    def make(cls, seed: int = 0, *, quick: bool = False) -> "Settings":
        """The paper's, with this seed; `quick` for a look in seconds, with fewer runs and values."""
        check_whole("seed", seed, least=0)
        base = Sensitivity().base
        if not quick:
            return cls(StaticSweep(seed=seed), Dynamic(seed=seed), Sensitivity(replace(base, seed=seed)))
        return cls(
            StaticSweep(n_targets=(5, 50), deltas=(0.10,), seed=seed),
            Dynamic(runs=12, seed=seed),
            Sensitivity(
                replace(base, n_targets=20, rounds=100, runs=4, seed=seed),
                n_targets=(5, 20),
                rounds=(50, 100),
                delta=(0.10, 0.50),
                lead=(0.2, 1.0),
                other=(0.2, 1.0),
            ),
            quick=True,
        )


@dataclass(frozen=True)
class Tables:
    """All that figures and report are made of."""

    settings: Settings
    calibration: list[Calibration]
    static: list[StaticPoint]
    curves: list[CurvePoint]
    noise: list[NoiseGrowth]
    gaps: list[GapNeeded]
    running: list[RunningMean]
    means: list[RunMean]
    sensitivity: list[RunMean]


CSV_ROWS: dict[str, type[Any]] = {
    "calibration": Calibration,
    "static": StaticPoint,
    "curves": CurvePoint,
    "noise": NoiseGrowth,
    "gaps": GapNeeded,
    "running": RunningMean,
    "means": RunMean,
    "sensitivity": RunMean,
}
"""Table -> its rows; the table `x` is in the file `x.csv`."""


def write_table(path: Path, rows: Sequence[Any]) -> None:
    """Every number with all its digits, so that the same rows are the same bytes and come back unchanged."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(rows[0]))
        writer.writerows(astuple(row) for row in rows)


def read_table(path: Path, row: type[Row]) -> list[Row]:
    """The rows that `write_table` wrote; columns are strings, whole numbers, numbers and yes or no."""
    kinds = {field.name: field.type for field in fields(row)}  # type: ignore[arg-type]
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != list(kinds):
            raise DeniableError(f"{path} must have the columns {', '.join(kinds)}; delete it to have it made again")
        return [row(**{name: _value(text, kinds[name]) for name, text in line.items()}) for line in reader]


def _value(text: str, kind: Any) -> Any:
    return text == "True" if kind is bool else kind(text)


def read_tables(folder: Path, settings: Settings) -> Tables:
    return Tables(settings, **{name: read_table(folder / f"{name}.csv", row) for name, row in CSV_ROWS.items()})
