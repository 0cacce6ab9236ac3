"""The benchmarks run, at tiny sizes; nothing is said about time."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from benchmarks import console, counters, drand, engine, forecast, programme, race, start_up, watcher
from tests.docs.blocks import DOCS


def test_counters(capsys: pytest.CaptureFixture[str]) -> None:
    counters.main(["--targets", "20", "--rounds", "30", "--repeats", "1"])
    out = capsys.readouterr().out
    assert out.count("| deniable, whole rounds, ") == 2
    assert re.search(r"^\| 30 \| \d+\.\d\d \|$", out, re.MULTILINE)


def test_counters_without_jax_privacy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    counters.main(["--targets", "20", "--rounds", "30", "--repeats", "1"])
    assert capsys.readouterr().out.startswith("jax_privacy is not installed")


def test_race(capsys: pytest.CaptureFixture[str]) -> None:
    race.main(["--targets", "20", "40", "--reports", "2", "--rounds", "5", "--dense-rounds", "2"])
    rows = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\| (20|40) \|", line)]
    assert len(rows) == 2
    assert all(row.count("x |") == 2 for row in rows)


def test_forecast(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figures = r"(?: \d+\.\d\d / \d+\.\d\d / \d+\.\d\d \|){3} \d+\.\d{3} \|$"
    name, source = next(reversed(forecast.shipped().items()))
    assert re.search(
        rf"^the console's demonstration \|{figures}", " | ".join(forecast.row(name, source, rounds=200)) + " |"
    )
    reports = tmp_path / "reports.csv"
    reports.write_text("date,target,reports\n2024-01-01,A,1\n2024-01-02,B,2\n2024-01-20,C,3\n", encoding="utf-8")
    forecast.main(["--stream", str(reports), "--period", "7D", "--rounds", "60"])
    assert re.search(rf"^\| reports.csv, 7D \|{figures}", capsys.readouterr().out, re.MULTILINE)


def test_engine(capsys: pytest.CaptureFixture[str]) -> None:
    engine.main(["--runs", "3", "--rounds", "20", "--targets", "4"])
    assert re.search(r"the engine is \d+\.\d times as fast", capsys.readouterr().out)


def test_programme(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme, "postgres", lambda _: nullcontext())
    short = ["--targets", "5", "--rounds", "4", "--reports", "2", "--batch", "9", "--ends", "2"]
    programme.main(["--only", "long", *short])
    out = capsys.readouterr().out
    numbers = r"[\d,.]+ \| \d+\.\d \| \d+\.\d \| \d+\.\d\d x (\| \d+\.\d\d ){3}\| \d+\.\d"
    assert re.search(rf"^\| SQLite \| {numbers} \|$", out, re.MULTILINE)
    assert "PostgreSQL is not installed here" in out


def test_programme_with_many_targets(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme, "postgres", lambda _: nullcontext())
    programme.main(["--only", "large", "--sizes", "5", "10", "--one-by-one", "3"])
    rows = re.findall(
        r"^\| SQLite \| (?:5|10) \| \d+\.\d \| \d+\.\d\d x (?:\| \d+\.\d\d ){2}\|$", capsys.readouterr().out, re.M
    )
    assert len(rows) == 2


@pytest.mark.long
def test_pushes(capsys: pytest.CaptureFixture[str]) -> None:
    programme.main(["--only", "pushes", "--sizes", "10", "--pushes", "40", "--connections", "20"])
    assert "; 40 counted; " in capsys.readouterr().out


@pytest.mark.long
def test_watcher(capsys: pytest.CaptureFixture[str]) -> None:
    """With the control: every report is seen where it is written at once."""
    watcher.main(["--targets", "20", "--seconds", "24", "--database", "sqlite"])
    rows = capsys.readouterr().out.splitlines()
    compared = [row.split("|") for row in rows if "database: content" in row]
    assert len(compared) == 2  # with nothing, and with a page
    for content in compared:
        now, before = float(content[4]), float(content[5])
        assert now < before > 0.8, content  # so few seconds leave much to chance while other tests run beside it


def test_the_page_has_the_watchers_standard_errors() -> None:
    page = " ".join((DOCS / "explanation" / "silent.md").read_text(encoding="utf-8").split())
    assert "`python -m benchmarks.watcher --seconds 600`" in page
    database, requests = watcher.standard_errors(600)
    assert f"is {database:.3f} for the database and {requests:.3f} for requests" in page


def test_what_tells_most_is_the_watchers_row() -> None:
    """And not what tells least."""
    now = {"size: report or page": 0.5, "rows: report or page": 0.86, "rows: report or nothing": 0.93}
    row = watcher.most_telling(
        "here", now, {"size: report or page": 1.0, "rows: report or page": 0.7}, "report or page"
    )
    assert (row.what, row.ours, row.theirs) == ("a watcher, here, report or page: rows", 0.86, 1.0)
    assert row.peer.endswith("size")


@pytest.mark.long
def test_console(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "postgres", lambda _: nullcontext())
    console.main(["--targets", "5", "--rounds", "3", "--people", "10", "--requests", "5", "--times", "2"])
    out = capsys.readouterr().out
    assert len(re.findall(r"^\| (?:operator|importer) \| .* \| \d+\.\d\d\d \|$", out, re.MULTILINE)) == 9
    found = re.search(r"^\| SQLite \| 10 \| 50 \| 0 \| .* \| (\d+) / (\d+) \|$", out, re.MULTILINE)
    assert found is not None
    assert found[1] == found[2]
    assert "PostgreSQL is not installed here" in out


def test_drand(capsys: pytest.CaptureFixture[str]) -> None:
    drand.main(["--beacons", "3", "--one-by-one", "2"])
    out = capsys.readouterr().out
    assert len(re.findall(r"^\| (?:in one batch|one after the other) (?:\| \d+\.\d ){3}x \|$", out, re.MULTILINE)) == 2


def test_start_up(capsys: pytest.CaptureFixture[str]) -> None:
    start_up.main(["--repeats", "1"])
    assert re.search(r"^\| `import deniable` \| \d+ \| \d+\.\d\d x \|$", capsys.readouterr().out, re.MULTILINE)
