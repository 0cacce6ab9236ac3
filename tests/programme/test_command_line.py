"""The commands of a programme on both databases; what else they do is tested with tests/cli."""

from pathlib import Path

import pytest
from tests.cli.conftest import desk, run  # noqa: F401  # fixtures
from tests.cli.programmes import SETTINGS, Desk
from tests.cli.running import assert_refused


def test_a_backup_moves_between_databases(desk: Desk, database: str, tmp_path: Path) -> None:  # noqa: F811
    desk.init("--database", database, "--key", "office.key")
    desk.done("report", "Ash Mill", 2, "--database", database, "--key", "office.key")
    assert desk.json("backup", "monday", "--database", database) == {"backup": str(tmp_path / "monday")}
    assert_refused(desk("backup", "monday", "--database", database), "never overwritten")
    assert_refused(desk("restore", "monday", "--never-published", "--database", database), "already")
    out = desk.done("restore", "monday", "--never-published", "--database", "new.db")
    assert out.startswith("The programme Site visits is restored as it was when round 1 was open.")
    assert "deniable programme recover --public FOLDER" in out
    there = desk.json("status", "--show-counts", "--database", "new.db", "--key", "office.key")
    assert there["confidential"]["active_counts"]["Ash Mill"] == 2


def test_a_programme_in_postgresql(desk: Desk, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("DENIABLE_DATABASE", postgres)
    monkeypatch.setenv("DENIABLE_KEY", "office.key")
    desk.init()
    desk.done("report", "Ash Mill", 2)
    drawn = desk.close()
    assert desk.json("close-round") == drawn | {"already": True}
    desk.done("publish", "--public", "public")
    assert desk.json("verify", "public")["rounds"] == 1
    assert_refused(desk("init", "targets.txt", *SETTINGS, "--key", "other.key"), "already")
    assert not Path("other.key").exists()
