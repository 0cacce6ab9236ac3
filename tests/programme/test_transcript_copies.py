"""A database older than a copy of its transcript does not go on."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.programme.offices import new_office

from deniable.errors import DeniableError
from deniable.programme import backup
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript_copies import KeyCopy


def test_a_new_key_makes_an_old_database_no_newer(tmp_path: Path) -> None:
    """The copy beside the new key would be as old as the database, and a round could be drawn again."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "backup")
    office.close()
    backup.restore(tmp_path / "backup", str(tmp_path / "restored.db"))
    restored = Programme.open(str(tmp_path / "restored.db"), office.key, clock=office.clock)
    for step in (lambda: restored.rekey(KeyFile(tmp_path / "new.key")), restored.close_round):
        with pytest.raises(DeniableError, match="old one"):
            step()
    assert not (tmp_path / "new.key").exists()


def _gone(copy: Path) -> None:
    copy.unlink()


def _dangling(copy: Path) -> None:
    copy.unlink()
    copy.symlink_to("nowhere")


def _empty(copy: Path) -> None:
    copy.write_bytes(b"")


@pytest.mark.parametrize("spoil", [_gone, _dangling, _empty])
def test_a_copy_that_is_missing_or_broken_stops_an_old_database(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Otherwise an attacker who puts back the database would take away the copy, too."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.close()
    shutil.copy(office.database, tmp_path / "old.db")
    office.programme = office.again()
    office.close()
    office.programme.close()
    for file in tmp_path.glob("programme.db*"):
        file.unlink()
    shutil.copy(tmp_path / "old.db", office.database)
    spoil(office.key.transcript)
    old = office.again()
    for step in (old.close_round, lambda: old.report({"Ash Mill": 1}), lambda: old.publish(tmp_path / "public")):
        with pytest.raises(DeniableError, match="copy of the transcript beside the key"):
            step()


def test_a_missing_copy_does_not_matter_where_the_public_folder_has_every_entry(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    office.programme.publish(tmp_path / "public")
    office.key.transcript.unlink()
    office.close()
    assert KeyCopy(office.key.transcript).head() is not None


def test_a_programme_goes_on_in_public_when_its_copy_is_lost(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    office.key.transcript.unlink()
    entry = office.programme.recover(None, "the key was brought back without the copy")
    assert entry.own()["paused"]
    office.close()
    with pytest.raises(DeniableError, match="nothing is lost"):
        office.programme.recover(None, "again")


def test_a_round_that_another_process_closed_is_shown_when_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process ends between its commit and its copy."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    other = office.again()
    monkeypatch.setattr(other, "_write_copy", lambda: None)
    office.clock.tomorrow()
    other.close_round()
    assert KeyCopy(office.key.transcript).entries(other.parameters) == 0
    office.programme.close_round(1)
    assert KeyCopy(office.key.transcript).entries(other.parameters) == 1
