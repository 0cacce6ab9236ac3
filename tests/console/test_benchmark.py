"""The console's benchmark runs, at a tiny size; nothing is said about time."""

import re
from contextlib import nullcontext

import pytest
from benchmarks import console


@pytest.mark.long
def test_console(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "postgres", lambda _: nullcontext())
    console.main(["--targets", "5", "--rounds", "3", "--people", "10", "--requests", "5", "--times", "2"])
    out = capsys.readouterr().out
    assert len(re.findall(r"^\| (?:operator|importer) \| .* \| \d+\.\d\d\d \|$", out, re.MULTILINE)) == 9
    found = re.search(r"^\| SQLite \| 50 \| 0 \| .* \| (\d+) / (\d+) \|$", out, re.MULTILINE)
    assert found is not None
    assert found[1] == found[2]
    assert "PostgreSQL is not installed here" in out
