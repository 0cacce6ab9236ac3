"""`deniable reproduce`: what it prints and what it refuses; the numbers are tested with the reproduction itself."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.running import Run, assert_refused
from tests.simulation.tiny import TINY, touch_figures

from deniable.simulation.reproduction import Settings, output_folder


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """A reproduction in a moment; returns what was asked for."""
    asked = []

    def make(seed: int = 0, *, quick: bool = False) -> Settings:
        asked.append((seed, quick))
        return TINY

    monkeypatch.setattr(Settings, "make", make)
    monkeypatch.setattr(output_folder, "draw_all", touch_figures)
    return asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "missing option '--out'"),
        (["--out", "no/where"], "cannot write into no/where: no is not a folder"),
        (["--out", "out", "--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
        (["--out", "out", "--seed", "x"], "--seed"),
        (["--out", "out", "--workers", "0"], "workers must be a whole number of at least 1, got 0"),
        (["--out", "out", "--workers", "two"], "--workers"),
        (["--out", "out", "--slow"], "no such option: --slow"),
        (["--out", "out", "more"], "see deniable reproduce --help"),
    ],
)
def test_bad_input(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run("reproduce", *options), message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("tiny")
def test_a_file_is_no_folder(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert_refused(run("reproduce", "--out", path), f"cannot write into {path}: {path} is not a folder")


def test_what_is_shown(run: Run, tmp_path: Path, tiny: list[tuple[int, bool]]) -> None:
    out = tmp_path / "out"
    first = run("reproduce", "--out", out, "--quick", "--seed", "7", "--workers", "1")
    assert (first.code, first.err) == (0, "")
    assert tiny[0] == (7, True)
    assert "claims of the paper: " in first.out
    assert f"are in {out}" in first.out.replace("\n", " ") or str(out) in first.out.replace("\n", "")
    assert (out / "REPORT.md").is_file()
    tiny.clear()
    again = run("reproduce", "--out", out, "--workers", "1")
    assert "Everything was there already." in " ".join(again.out.split())
    assert tiny[0] == (0, False)


@pytest.mark.usefixtures("tiny")
def test_a_quick_look_does_not_replace_a_full_reproduction(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert run("reproduce", "--out", out, "--workers", "1").code == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    monkeypatch.setattr(Settings, "make", lambda _, *, quick: replace(TINY, quick=quick))
    refused = run("reproduce", "--out", out, "--quick", "--workers", "1")
    assert_refused(refused, f"{out} holds a full reproduction; give another folder for --quick")
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    other = tmp_path / "other"
    assert run("reproduce", "--out", other, "--quick", "--workers", "1").code == 0
    assert run("reproduce", "--out", other, "--workers", "1").code == 0  # a full one replaces a quick look


@pytest.mark.usefixtures("tiny")
def test_json(run: Run, tmp_path: Path) -> None:
    shown = run("reproduce", "--out", tmp_path / "out", "--workers", "1", "--json")
    document = json.loads(shown.out)
    assert set(document) == {"folder", "made", "claims", "means"}
    assert {row["mechanism"] for row in document["means"]} >= {"greedy", "race", "tca", "rr", "rr:paper", "uniform"}
    assert all(claim["verdict"] and claim["finding"] for claim in document["claims"])


@pytest.mark.usefixtures("tiny")
def test_a_cluster_that_does_not_answer(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("deniable.simulation.parallel.CONNECT_SECONDS", 0.2)
    result = run("reproduce", "--out", tmp_path / "out", "--cluster", "tcp://127.0.0.1:9")
    assert result.code == 2
    assert "there must be a Dask scheduler at tcp://127.0.0.1:9, but none answers" in result.err
