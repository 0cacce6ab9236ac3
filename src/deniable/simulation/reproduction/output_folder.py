"""Every table and figure of the paper, and ours beside them, into one folder.

The folder holds a CSV file for every table, figures drawn from those files, REPORT.md and manifest.json, which says
for every part with which settings and versions it was made. A part that is finished is not made again, so that a
reproduction that was interrupted goes on where it stopped.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deniable.errors import DeniableError, why
from deniable.simulation.experiments import StaticSweep, dynamic, static_sweep
from deniable.simulation.experiments.closed_forms import calibrations, gaps_needed, noise_growth
from deniable.simulation.figures import new_figure
from deniable.simulation.parallel import RUNS_A_TASK, check_dask
from deniable.simulation.reproduction.claim import Claim
from deniable.simulation.reproduction.figures import draw_all, figure_names
from deniable.simulation.reproduction.report import claims, command, report
from deniable.simulation.reproduction.tables import CSV_ROWS, Settings, Tables, read_tables, write_table

MANIFEST = "manifest.json"
ASKED = "reproduction"
"""The manifest's entry for what was asked for; the others are for the parts."""
REPORT = "REPORT.md"
FIGURES = "figures"
REVISION = 1
"""Raise it by hand whenever a change to the code changes a number: what older code made is then made again."""
COMPUTED_BY = ("deniable", "numba", "numpy", "scipy")
"""Packages on whose versions the numbers may depend."""

Progress = Callable[[str, int, int], None]
"""Called with the name of a part, how many of its tasks are done, and how many there are."""


@dataclass(frozen=True)
class Part:
    """Files that are made together, from settings that tell them apart from all others."""

    name: str
    settings: dict[str, Any]
    """Ready for JSON."""
    files: tuple[str, ...]
    make: Callable[[], Callable[[Path], None]]
    """Does the work; what it returns writes the files into a folder."""


@dataclass(frozen=True)
class Reproduction:
    folder: Path
    tables: Tables
    claims: list[Claim]
    made: list[str]
    """The parts made this time; the others were there already."""


def reproduce(
    folder: Path,
    settings: Settings,
    *,
    cluster: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Make what is not there yet, and the report anew. A quick look does not replace a full reproduction."""
    new_figure(1, 1)  # a missing Matplotlib is told before the long work
    if cluster is not None:
        check_dask()
    _check_out(folder)
    tell = progress or _ignore
    manifest = _read_manifest(folder)
    if settings.quick and _is_full(manifest):
        raise DeniableError(
            f"{folder} holds a full reproduction; give another folder for --quick, which would replace it"
        )
    manifest[ASKED] = {"command": command(settings), "seed": settings.dynamic.seed, "quick": settings.quick}
    made = []
    with _files(f"write into {folder}"):
        folder.mkdir(exist_ok=True)
    for part in _table_parts(settings, cluster, workers, tell):
        made += _ensure(folder, manifest, part)
    with _files(f"read {folder}"):
        tables = read_tables(folder, settings)
        drawn_from = {name: _digest(folder / f"{name}.csv") for name in CSV_ROWS}

    def draw(to: Path) -> None:
        draw_all(tables, to, lambda n, of: tell(FIGURES, n, of))

    figures = Part(FIGURES, {"drawn_from": drawn_from}, tuple(figure_names(tables)), lambda: draw)
    made += _ensure(folder, manifest, figures)
    found = claims(tables)
    text = report(tables, found)
    with _files(f"write into {folder}"):
        _write_whole(folder / REPORT, text)
    return Reproduction(folder, tables, found, made)


def _check_out(folder: Path) -> None:
    """Refuse, before the long work, a folder that cannot be made or is none."""
    existing = folder if folder.exists() or folder.is_symlink() else folder.parent
    if not existing.is_dir():
        raise DeniableError(f"cannot write into {folder}: {existing} is not a folder")


def _table_parts(settings: Settings, cluster: str | None, workers: int | None, tell: Progress) -> Sequence[Part]:
    static, base = settings.static, settings.dynamic
    run_length, delta = max(static.run_lengths), base.delta

    def closed_forms() -> Callable[[Path], None]:
        # Not the settings' run lengths and deltas: the paper's table costs nothing, so it is always whole.
        whole = StaticSweep()
        return _writer(
            calibration=calibrations(whole.run_lengths, whole.deltas, base.n_targets),
            noise=noise_growth(settings.horizons, delta),
            gaps=gaps_needed(settings.pool_sizes, delta, run_length),
        )

    def sweep() -> Callable[[Path], None]:
        return _writer(static=static_sweep.score(static), curves=static_sweep.curves(static))

    def runs() -> Callable[[Path], None]:
        total = len(dynamic.tasks_of(base))
        running, means = dynamic.score(
            base, cluster=cluster, workers=workers, done=lambda n: tell("experiment 2", n, total)
        )
        return _writer(running=running, means=means)

    def varied() -> Callable[[Path], None]:
        total = len(dynamic.sensitivity_tasks(settings.sensitivity))
        rows = dynamic.score_sensitivity(
            settings.sensitivity, cluster=cluster, workers=workers, done=lambda n: tell("other settings", n, total)
        )
        return _writer(sensitivity=rows)

    return [
        Part(
            "closed forms",
            {
                "horizons": settings.horizons,
                "pool_sizes": settings.pool_sizes,
                "run_length": run_length,
                "delta": delta,
                "n_targets": base.n_targets,
            },
            ("calibration.csv", "noise.csv", "gaps.csv"),
            closed_forms,
        ),
        Part("experiment 1", asdict(static), ("static.csv", "curves.csv"), sweep),
        Part("experiment 2", asdict(base) | {"runs_a_task": RUNS_A_TASK}, ("running.csv", "means.csv"), runs),
        Part(
            "other settings",
            asdict(settings.sensitivity) | {"runs_a_task": RUNS_A_TASK},
            ("sensitivity.csv",),
            varied,
        ),
    ]


def _writer(**tables: Sequence[Any]) -> Callable[[Path], None]:
    def write(to: Path) -> None:
        for name, rows in tables.items():
            write_table(to / f"{name}.csv", rows)

    return write


def _ensure(folder: Path, manifest: dict[str, Any], part: Part) -> list[str]:
    """Make the part unless it is there, made with the same settings and unchanged since; returns what was made."""
    made_with = {
        "settings": json.loads(json.dumps(part.settings)),  # as it will be read: lists for tuples
        "versions": {name: version(name) for name in COMPUTED_BY} | {"revision": REVISION},
    }
    old = _entry_files(manifest, part.name)
    with _files(f"read {folder}"):
        if old == _digests(folder, part) and {**made_with, "files": old} == manifest[part.name]:
            return []
    # Into a folder of its own first: an interrupted part leaves nothing that looks finished. Nor is a report left, or
    # a figure, that belongs to other tables than those beside it.
    with _files(f"write into {folder}"):
        (folder / REPORT).unlink(missing_ok=True)
        temporary = TemporaryDirectory(dir=folder, prefix=".", ignore_cleanup_errors=True)
    with temporary:
        made = Path(temporary.name)
        write = part.make()
        with _files(f"write into {folder}"):
            write(made)
            new = _digests(made, part)
            stale = set(old) - set(new)
            if new != old:
                stale |= set(_entry_files(manifest, FIGURES)) - set(new)
            for name in stale:
                (folder / name).unlink(missing_ok=True)
            for name in part.files:
                (made / name).replace(folder / name)
            manifest[part.name] = {**made_with, "files": new}
            _write_whole(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    return [part.name]


def _entry_files(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    """The files of a part, by the manifest, with their digests; only names of this very folder."""
    entry = manifest.get(name)
    files = entry.get("files") if isinstance(entry, dict) else None
    return (
        {file: digest for file, digest in files.items() if Path(file).name == file} if isinstance(files, dict) else {}
    )


def _write_whole(path: Path, text: str) -> None:
    """A reader finds the old file or the new one, never half of it."""
    written = path.with_name(f".{path.name}")
    written.write_text(text, encoding="utf-8", newline="\n")
    written.replace(path)


@contextmanager
def _files(what: str) -> Iterator[None]:
    """Around what reads or writes files and nothing else: a cluster's errors are not the folder's."""
    try:
        yield
    except OSError as error:
        raise DeniableError(f"cannot {what}: {why(error)}") from None


def _read_manifest(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(manifest, dict):
            return manifest
    return {}  # none yet, or a broken one: everything is made again


def _is_full(manifest: dict[str, Any]) -> bool:
    """Whether the folder holds a reproduction with the paper's numbers of runs, or a part of one."""
    asked = manifest.get(ASKED)
    return isinstance(asked, dict) and asked.get("quick") is False


def _digests(folder: Path, part: Part) -> dict[str, str | None]:
    return {name: _digest(folder / name) if (folder / name).is_file() else None for name in part.files}


def _digest(path: Path) -> str:
    return _hash(path.read_bytes())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _ignore(part: str, done: int, total: int) -> None:
    pass
