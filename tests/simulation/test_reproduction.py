"""The reproduction: its numbers are the paper's, its report says what they show, and what is finished is kept."""

import csv
import json
import re
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from scipy.special import stdtrit
from scipy.stats import nbinom
from tests.simulation.tiny import TINY, touch_figures

from deniable.errors import DeniableError
from deniable.simulation.experiments import PAPER_RR, Dynamic, Sensitivity, StaticSweep, dynamic, static_sweep
from deniable.simulation.reproduction import Claim, Reproduction, Settings, Tables, output_folder, report, reproduce
from deniable.simulation.reproduction.claim import DIFFERS, HOLDS, IN_PART, UNDECIDED
from deniable.simulation.reproduction.tables import CSV_ROWS, read_table, write_table
from deniable.utility import race_static_error


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(tmp_path_factory.mktemp("reproduction") / "out", Settings.make(quick=True), workers=1)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_folder, "draw_all", touch_figures)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Numbers


def test_the_table_of_noise_scales(quick: Reproduction) -> None:
    found = [
        (row["run_length"], row["delta"], f"{float(row['sigma']):.4f}", f"{float(row['p_rand']):.6f}")
        for row in rows(quick.folder, "calibration.csv")
    ]
    assert found == [
        ("100", "0.05", "12.6862", "0.999487"),
        ("100", "0.1", "6.3306", "0.998947"),
        ("100", "0.2", "3.1400", "0.997771"),
        ("1000", "0.05", "14.4078", "0.999949"),
        ("1000", "0.1", "7.1897", "0.999895"),
        ("1000", "0.2", "3.5661", "0.999777"),
    ]


def test_points_of_the_exact_curves(quick: Reproduction) -> None:
    exact = {
        (row["mechanism"], row["n_targets"], row["run_length"], row["gap"]): float(row["exact"])
        for row in rows(quick.folder, "static.csv")
    }
    assert exact["race", "5", "1000", "16"] == pytest.approx(race_static_error(16, 5, 1.3134668), rel=1e-6)
    assert exact["rr:paper", "50", "1000", "4"] == pytest.approx(0.98 * 0.9**0.001, rel=1e-9)
    assert exact["greedy", "5", "100", "1"] == 0
    # By another quadrature, with 2 kappa sigma**2 for the noise and sigma from the paper's table.
    assert exact["tca", "5", "1000", "32"] == pytest.approx(0.12057, abs=2e-5)
    assert exact["tca", "50", "1000", "32"] == pytest.approx(0.41736, abs=2e-5)
    assert exact["tca", "5", "100", "16"] == pytest.approx(0.32091, abs=2e-5)


def test_every_measured_rate_is_within_its_bar(quick: Reproduction) -> None:
    points = rows(quick.folder, "static.csv")
    assert len(points) == 2 * 2 * 6 * 9
    for row in points:
        assert row["within"] == "True"
        assert float(row["low"]) <= float(row["exact"]) <= float(row["high"])


def test_mean_deficits(quick: Reproduction) -> None:
    """Each of five misses its bar, of a t-distribution, with probability 1e-6."""
    known = {"greedy": 0.0, "race": 4.86, "tca": 12.0, PAPER_RR: 52.0, "uniform": 52.0}
    means = {row["mechanism"]: row for row in rows(quick.folder, "means.csv")}
    for name, value in known.items():
        bar = stdtrit(11, 1 - 5e-7) * float(means[name]["deficit_error"])
        assert abs(float(means[name]["deficit"]) - value) <= bar + 0.01 * value, name
    # The bars are narrow enough to see the order.
    race, tca, uniform = (float(means[name]["deficit"]) for name in ("race", "tca", "uniform"))
    assert 0 < race < 0.6 * tca < 0.36 * uniform


def test_the_running_mean_of_the_last_round_is_the_mean(quick: Reproduction) -> None:
    last = {row["mechanism"]: row for row in rows(quick.folder, "running.csv") if row["round"] == "1000"}
    for row in rows(quick.folder, "means.csv"):
        for metric in dynamic.METRICS:
            assert float(last[row["mechanism"]][metric]) == pytest.approx(float(row[metric]))


# The report


def test_the_report_holds_every_claim_with_its_figure(quick: Reproduction) -> None:
    text = (quick.folder / "REPORT.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \*\*", text, re.MULTILINE)]
    assert numbers == list(range(1, len(quick.claims) + 1))
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (quick.folder / target).is_file()
    assert "A quick look" in text
    assert "12 of its 12 numbers agree in every printed digit" in " ".join(text.split())


def test_the_report_has_the_least_lead_beside_those_of_race_and_counter_auditing(quick: Reproduction) -> None:
    assert "\n| 50 | 24 | 26 | 53 |\n" in (quick.folder / "REPORT.md").read_text(encoding="utf-8")


def test_the_verdicts(quick: Reproduction) -> None:
    verdicts = {claim.source: claim.verdict for claim in quick.claims}
    assert DIFFERS not in verdicts.values()
    assert verdicts["app:tab:calibrated_noise_scales"] == HOLDS
    assert verdicts["fig:exp2_running_avg_deficit"] == HOLDS
    assert verdicts["sec:experiments, app:subsec:experimenta"] == IN_PART  # randomized response is short-changed
    assert verdicts["abstract, lem:tca-sensitivity"] == IN_PART
    assert verdicts["prop:privacy_reduction, rem:tca-opt"] == IN_PART  # not every counter plugs in


@pytest.mark.parametrize(
    ("where", "change", "source"),
    [
        ("calibration", {"sigma": 7.0}, "app:tab:calibrated_noise_scales"),
        ("static tca", {"within": False}, "app:tab:experimental_parameters"),
        ("static tca", {"exact": 0.5}, "sec:experiments, fig:exp1_misselection_vs_gap_c5"),
        ("static tca", {"exact": 1.0}, "thm:utility, rem:tight, app:sec:operationalization"),
        ("static rr", {"exact": 0.1}, "thm:RR_tradeoff, rem:RR_tightness"),
        ("means greedy", {"deficit": 0.1}, "app:prop:greedy_utility, app:dynamic_utility_experiment"),
        ("means tca", {"deficit": 40.0}, "fig:exp2_running_avg_deficit"),
        (f"means {PAPER_RR}", {"deficit": 5.0}, "app:dynamic_utility_experiment, sec:rand_response"),
        ("means counter:tree", {"deficit": 2.0}, "prop:privacy_reduction, rem:tca-opt"),
        ("means uniform", {"first_audit": 200.0}, "app:prop:random_utility"),
        ("means uniform", {"first_audit": 5.0}, "app:prop:random_utility"),
        ("noise toeplitz", {"sigma": 50.0}, "abstract, lem:tca-sensitivity"),
        ("noise blt", {"noise_std": 1.0}, "prop:privacy_reduction, rem:tca-opt"),
        ("static tca", {"exact": 1.0}, "app:rem:sufficient"),
        (f"static {PAPER_RR}", {"exact": 0.979}, "sec:experiments, app:subsec:experimenta"),
        ("static tca", {"exact": 0.02}, "app:sec:additional_results"),
        ("gaps", {"tca": 100.0}, "app:subsec:experimenta"),
        ("means tca", {"deficit": 40.0}, "sec:experiments"),
    ],
)
def test_a_claim_that_the_numbers_contradict_differs(
    quick: Reproduction, where: str, change: dict[str, Any], source: str
) -> None:
    """Negative control: one number changed in the tables, and the verdict changes."""
    assert DIFFERS not in verdicts_of(report.claims(quick.tables), source)
    assert DIFFERS in verdicts_of(report.claims(planted(quick.tables, where, change)), source)


def verdicts_of(found: list[Claim], source: str) -> list[str]:
    return [claim.verdict for claim in found if claim.source == source]


def planted(tables: Tables, where: str, change: dict[str, Any]) -> Tables:
    """With a change in the last line of a table that has these names in it."""
    table, *names = where.split()
    lines = list(getattr(tables, table))
    at = max(i for i, line in enumerate(lines) if set(names) <= set(vars(line).values()))
    lines[at] = replace(lines[at], **change)
    changed: dict[str, Any] = {table: lines}
    return replace(tables, **changed)


def test_an_advantage_that_shrinks_with_the_targets_differs(quick: Reproduction) -> None:
    """Negative control: TCA as bad as uniform where there are many targets."""
    static = [replace(p, exact=0.98) if (p.mechanism, p.n_targets) == ("tca", 50) else p for p in quick.tables.static]
    found = report.claims(replace(quick.tables, static=static))
    assert verdicts_of(found, "sec:experiments") == [DIFFERS, IN_PART]


def test_every_gain_counts_and_not_only_the_largest(quick: Reproduction) -> None:
    """Negative control: a gain above a small delta is found beside a larger one that a large delta allows."""
    static = list(quick.tables.static)
    at = [i for i, p in enumerate(static) if p.mechanism == PAPER_RR and p.n_targets == 5 and p.gap]
    static[at[0]] = replace(static[at[0]], delta=0.01, exact=0.75)
    static[at[1]] = replace(static[at[1]], delta=0.2, exact=0.65)
    found = report.claims(replace(quick.tables, static=static))
    assert verdicts_of(found, "thm:RR_tradeoff, rem:RR_tightness") == [DIFFERS]


def test_a_finding_tells_what_was_counted(quick: Reproduction) -> None:
    tables = planted(quick.tables, f"static {PAPER_RR}", {"exact": 0.979})
    (finding,) = (c.finding for c in report.claims(tables) if c.statement.startswith("Randomized response does not"))
    assert "in 3 of 4 combinations" in finding
    (finding,) = (
        c.finding
        for c in report.claims(planted(quick.tables, "means counter:tree", {"deficit": 2.0}))
        if c.source == "prop:privacy_reduction, rem:tca-opt"
    )
    assert "Tree is measurably better" in finding


@pytest.mark.parametrize(
    ("deficit", "error", "verdict"),
    [(52.0, 0.5, HOLDS), (52.0, 9.0, UNDECIDED), (58.0, 0.5, DIFFERS)],
)
def test_close_to_uniform_needs_a_small_error_too(
    quick: Reproduction, deficit: float, error: float, verdict: str
) -> None:
    """A difference that is not measurable is no proof that there is none."""
    tables = planted(quick.tables, "means uniform", {"deficit": 51.0, "deficit_error": 0.5})
    tables = planted(tables, f"means {PAPER_RR}", {"deficit": deficit, "deficit_error": error})
    assert verdicts_of(report.claims(tables), "app:dynamic_utility_experiment, sec:rand_response") == [verdict]


@pytest.mark.parametrize(("wait", "verdict"), [(22.0, DIFFERS), (32.0, HOLDS), (80.0, DIFFERS)])
def test_the_wait_of_uniform_auditing_has_the_law_of_geometric_waits(
    quick: Reproduction, wait: float, verdict: str
) -> None:
    """The verdict is that of the negative binomial distribution, which is skewed."""
    waits = nbinom(100, 1 / 50, loc=100)  # the sum of 100 geometric waits
    likely = min(waits.cdf(100 * wait), waits.sf(100 * wait - 1)) >= 5e-7
    assert likely == (verdict == HOLDS)
    tables = planted(quick.tables, "means uniform", {"runs": 100, "first_audit": wait})
    assert verdicts_of(report.claims(tables), "app:prop:random_utility") == [verdict]


# Figures


def test_the_figures_are_pictures(quick: Reproduction) -> None:
    names = {path.stem for path in quick.folder.glob("*.png")}
    assert names == {"figure_1", "static_C5", "static_C50", "dynamic", "sensitivity", "growth"}
    for name in names:
        assert (quick.folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (quick.folder / f"{name}.svg").read_text(encoding="utf-8")[:1000]


# What is kept


def test_nothing_is_made_twice(quick: Reproduction, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("made again")

    before = {path: path.read_bytes() for path in quick.folder.iterdir()}
    monkeypatch.setattr(static_sweep, "score", refuse)
    monkeypatch.setattr(dynamic, "run_all", refuse)
    monkeypatch.setattr(output_folder, "draw_all", refuse)
    assert quick.made == ["closed forms", "experiment 1", "experiment 2", "other settings", "figures"]
    again = reproduce(quick.folder, Settings.make(quick=True))
    assert again.made == []
    assert again.tables == quick.tables
    assert {path: path.read_bytes() for path in quick.folder.iterdir()} == before


@pytest.mark.usefixtures("no_figures")
def test_an_interrupted_reproduction_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = reproduce(tmp_path / "whole", TINY, workers=1)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(dynamic, "run_all", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reproduce(out, TINY, workers=1)
    assert {path.name for path in out.iterdir()} == {
        "manifest.json", "calibration.csv", "noise.csv", "gaps.csv", "static.csv", "curves.csv",
    }  # fmt: skip
    resumed = reproduce(out, TINY, workers=1)
    assert resumed.made == ["experiment 2", "other settings", "figures"]
    for path in whole.folder.iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes()  # the same seed, the same bytes


@pytest.mark.usefixtures("no_figures")
def test_what_was_changed_or_has_other_settings_is_made_again(tmp_path: Path) -> None:
    first = reproduce(tmp_path, TINY, workers=1)
    means = (tmp_path / "means.csv").read_bytes()
    (tmp_path / "means.csv").write_bytes(means + b"x")
    (tmp_path / "curves.csv").unlink()
    assert reproduce(tmp_path, TINY, workers=1).made == ["experiment 1", "experiment 2"]
    assert (tmp_path / "means.csv").read_bytes() == means
    (tmp_path / "manifest.json").write_text("not JSON", encoding="utf-8")
    assert reproduce(tmp_path, TINY, workers=1).made == first.made
    other = replace(TINY, dynamic=replace(TINY.dynamic, seed=1))
    assert reproduce(tmp_path, other, workers=1).made == ["experiment 2", "figures"]
    assert (tmp_path / "means.csv").read_bytes() != means
    assert set(manifest_of(tmp_path)) == {"reproduction", *first.made}


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_the_manifest_tells_settings_and_versions(quick: Reproduction) -> None:
    manifest = manifest_of(quick.folder)
    assert manifest["reproduction"] == {"command": "deniable reproduce --quick --seed 0", "seed": 0, "quick": True}
    experiment = manifest["experiment 2"]
    assert (experiment["settings"]["runs"], experiment["settings"]["seed"]) == (12, 0)
    for name in quick.made:
        versions = manifest[name]["versions"]
        assert versions.pop("revision") == output_folder.REVISION
        assert versions == {name: version(name) for name in ("deniable", "numba", "numpy", "scipy")}


def test_the_report_begins_with_how_it_was_made(quick: Reproduction) -> None:
    lines = (quick.folder / "REPORT.md").read_text(encoding="utf-8").splitlines()
    assert lines[2] == f"Made by `deniable reproduce --quick --seed 0`, deniable {version('deniable')}, seed 0."
    assert report.command(Settings.make(seed=7)) == "deniable reproduce --seed 7"
    assert not report.command(TINY).startswith("deniable reproduce")  # no command makes these settings


@pytest.mark.usefixtures("no_figures")
def test_nothing_is_left_that_belongs_to_other_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    reproduce(tmp_path, TINY, workers=1)
    other = replace(TINY, static=replace(TINY.static, seed=1), dynamic=replace(TINY.dynamic, seed=1))
    with monkeypatch.context() as patch:
        patch.setattr(dynamic, "run_all", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reproduce(tmp_path, other, workers=1)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"manifest.json", *(f"{name}.csv" for name in CSV_ROWS)}
    reproduce(tmp_path, other, workers=1)
    assert {path.name for path in tmp_path.iterdir()} >= {"REPORT.md", "static_C5.png"}
    fewer = replace(other, static=replace(other.static, n_targets=(4,)))
    assert reproduce(tmp_path, fewer, workers=1).made == ["experiment 1", "figures"]
    assert {path.name for path in tmp_path.glob("static_*.png")} == {"static_C4.png"}


@pytest.mark.usefixtures("no_figures")
def test_a_manifest_cannot_delete_what_is_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    out = tmp_path / "out"
    reproduce(out, TINY, workers=1)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    manifest["figures"]["files"] |= {"../mine": "x", str(tmp_path / "mine"): "x"}
    manifest["figures"]["settings"] = "x"
    (out / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert reproduce(out, TINY, workers=1).made == ["figures"]
    assert (tmp_path / "mine").is_file()


@pytest.mark.usefixtures("no_figures")
def test_other_code_makes_everything_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = reproduce(tmp_path, TINY, workers=1).made
    with monkeypatch.context() as patch:
        patch.setattr(output_folder, "REVISION", output_folder.REVISION + 1)
        assert reproduce(tmp_path, TINY, workers=1).made == made
    reproduce(tmp_path, TINY, workers=1)
    monkeypatch.setattr(output_folder, "version", lambda name: "0" if name == "numba" else version(name))
    assert reproduce(tmp_path, TINY, workers=1).made == made


def test_what_is_no_file_error_is_not_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TimeoutError("the cluster is gone")

    monkeypatch.setattr(dynamic, "run_all", fail)
    with pytest.raises(TimeoutError, match="the cluster is gone"):
        reproduce(tmp_path, TINY, workers=1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output_folder, "write_table", full)
    with pytest.raises(DeniableError, match=r"cannot write into .*: the disk is full"):
        reproduce(tmp_path / "out", TINY, workers=1)


@pytest.mark.usefixtures("no_figures")
def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    reproduce(tmp_path, TINY, workers=1, progress=lambda *step: told.append(step))
    assert told[-1] == ("other settings", 2, 2)
    assert ("experiment 2", 10, 10) in told


def test_the_seed_decides() -> None:
    first, same, other = (Settings.make(seed, quick=True) for seed in (0, 0, 7))
    assert first == same != other
    assert other.static.seed == other.dynamic.seed == other.sensitivity.base.seed == 7
    assert Settings.make() == Settings(StaticSweep(), Dynamic(), Sensitivity())
    assert first.quick
    assert not Settings.make().quick


# What is refused


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(DeniableError, match=re.escape("pip install -c constraints.txt '.[research]'")):
        reproduce(tmp_path / "out", TINY)
    assert list(tmp_path.iterdir()) == []


def test_without_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DeniableError, match=re.escape("pip install -c constraints.txt '.[research]'")):
        reproduce(tmp_path / "out", TINY, cluster="tcp://127.0.0.1:9")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "out", tmp_path / "no" / "where"):
        with pytest.raises(DeniableError, match="is not a folder"):
            reproduce(out, TINY)


def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    points = static_sweep.score(TINY.static)
    write_table(tmp_path / "points.csv", points)
    assert read_table(tmp_path / "points.csv", static_sweep.StaticPoint) == points
    with pytest.raises(
        DeniableError, match="must have the columns mechanism, n_targets, run_length, delta, gap, exact"
    ):
        read_table(tmp_path / "points.csv", static_sweep.CurvePoint)
