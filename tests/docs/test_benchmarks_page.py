"""The page of benchmarks says what was run, where and for how long, and leaves nothing out without saying so."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from benchmarks.rows import Row
from scripts import bench
from tests.docs.blocks import ROOT

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
WHOLE = [bench.Ran(name, [Row(f"what {name} does", 2.0, "a peer", 8.0, "ms")], 30.0) for name in bench.SETTINGS]


def test_a_row_is_a_ratio_against_a_peer() -> None:
    page = bench.page(WHOLE, NOON, "On a machine.")
    assert "| what race does, ms | 2.00 | a peer | 8.00 | 0.250 x |" in page
    assert page.count("\n| what ") == len(bench.SETTINGS) + 1  # and the head
    assert "5 January 2026, 12:00 UTC" in page
    assert "On a machine." in page
    assert "`python -m benchmarks.watcher --targets 1000 --seconds 120`, 30 s" in page
    assert "This is a part" not in page


def test_figures_have_three_digits() -> None:
    told = [bench.figure(value) for value in (0.00593, 0.987, 2.0, 12.34, 123.4, 196958.0)]
    assert told == ["0.00593", "0.987", "2.00", "12.3", "123", "197,000"]


def test_a_part_says_so() -> None:
    assert "**This is a part.** Not run: start_up" in bench.page(WHOLE[1:], NOON, "")


def test_a_failure_is_told_and_is_no_row() -> None:
    failed = WHOLE[0]._replace(rows=[], failed="SystemExit: errors")
    page = bench.page([failed, *WHOLE[1:]], NOON, "")
    assert f"**{failed.name} did not finish**" in page
    assert f"what {failed.name} does" not in page


def test_every_benchmark_has_its_setting() -> None:
    files = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert files == {*bench.SETTINGS, "rows", "server"}


def test_one_is_run_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own."""
    monkeypatch.setitem(bench.SETTINGS, "drand", bench.Setting("--beacons 3 --one-by-one 2", ""))
    ran = bench.run("drand")
    assert not ran.failed
    assert ran.rows[0].unit == "ms a beacon"
    monkeypatch.setattr(bench, "run", lambda name: ran._replace(name=name))
    assert bench.main(["drand", "--out", str(tmp_path / "page.md")]) == 0
    assert "drand's beacons checked in one batch" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_one_that_fails_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.SETTINGS, "drand", bench.Setting("--coffee", ""))
    assert bench.run("drand").failed
    assert bench.main(["drand", "--out", str(tmp_path / "page.md")]) == 1


def test_one_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["coffee"])
    assert "there is no benchmark coffee" in capsys.readouterr().err


def test_the_machine_is_named() -> None:
    assert all(word in bench.machine() for word in ("cores", "GiB", "Python 3.", "SQLite 3."))
