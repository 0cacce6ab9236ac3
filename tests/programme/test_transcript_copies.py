"""A database older than a copy of its transcript does not go on."""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa
from tests.programme.offices import DAILY, TARGETS, Clock, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import backup, transcript_copies
from deniable.programme.programme import Programme
from deniable.programme.public.folder import TRANSCRIPT, read_head
from deniable.programme.secrets.keys import KeyFile, Passphrase
from deniable.programme.status import Closed
from deniable.programme.transaction import Transaction, stored_state
from deniable.programme.transcript.chain import canonical, parse_head
from deniable.programme.transcript.entries import End, Override
from deniable.programme.transcript_copies import KeyCopy, NotKeptError, StoredTranscript
from deniable.storage import files, tables


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
    saved = saved_database(office, tmp_path)
    office.close()
    put_back(office, saved)
    spoil(office.key.transcript)
    old = office.again()
    for step in (old.close_round, lambda: old.report({"Ash Mill": 1}), lambda: old.publish(tmp_path / "public")):
        with pytest.raises(DeniableError, match="copy of the transcript beside the key"):
            step()


def test_the_public_folder_does_not_replace_a_copy_that_is_missing(tmp_path: Path) -> None:
    """A draw is shown before it is published: a folder as old as the database shows nothing."""
    office = published_office(tmp_path)
    saved = saved_database(office, tmp_path)
    office.programme.report({"Ash Mill": 5})
    office.close()
    put_back(office, saved)
    office.key.transcript.unlink()  # the key came back without it
    old = office.again()
    for step in (old.close_round, lambda: old.report({"Ash Mill": 1}), lambda: old.publish(tmp_path / "public")):
        with pytest.raises(DeniableError, match="is missing"):
            step()
    assert old.recover(None, "the key was brought back without the copy").own()["complete"] is False


def test_a_key_is_the_same_by_every_link(tmp_path: Path) -> None:
    office = published_office(tmp_path)
    saved = saved_database(office, tmp_path)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "other.key").symlink_to(office.key.path)
    linked = KeyFile(tmp_path / "link" / "other.key")
    assert linked.transcript == office.key.transcript
    office.programme = Programme.open(office.database, linked, clock=office.clock)
    office.close()
    put_back(office, saved)
    with pytest.raises(DeniableError, match="old one"):
        office.again().close_round()


def test_an_old_database_is_of_no_use_with_an_old_key(tmp_path: Path) -> None:
    office = published_office(tmp_path)
    saved = saved_database(office, tmp_path)
    office.programme.rekey(KeyFile(tmp_path / "new.key"))
    assert (tmp_path / "new.key.transcript").exists()
    office.close()
    put_back(office, saved)
    for step in (office.again().close_round, lambda: office.again().recover(None, "the old key was found")):
        with pytest.raises(DeniableError, match="replaced by another"):
            step()


def test_a_forged_end_does_not_reach_the_copy(tmp_path: Path) -> None:
    """By a writer to the database without the key: the copy that shows the last draw would be lost."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    kept = office.key.transcript.read_bytes()
    with office.programme._access.store.writing() as connection:
        head = parse_head(connection.execute(sa.select(tables.standing.c.head)).scalar_one())
        state = stored_state(connection, office.programme.parameters)
        forged = End.following(state, reason="forged")
        line = forged.line()
        root = forged.after(state).tree.root.hex()
        added = {"number": 2, "round": forged.round, "line": line, "root": root}
        connection.execute(sa.insert(tables.entries), added)
        unsigned = canonical({"entries": 2, "root": root, "signature": head.signature})
        connection.execute(sa.update(tables.public_state), {"blob": forged.after(state).to_bytes()})
        connection.execute(sa.update(tables.standing), {"head": unsigned})
    for step in (office.again().keep_copy, office.again().check_kept):
        with pytest.raises(DeniableError, match="was changed"):
            step()
    assert office.key.transcript.read_bytes() == kept


def test_an_end_that_no_entry_tells_is_not_believed(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    with office.programme._access.store.writing() as connection:
        state = replace(stored_state(connection, office.programme.parameters), ended=True)
        connection.execute(sa.update(tables.public_state), {"blob": state.to_bytes()})
    with pytest.raises(DeniableError, match="no entry ends the programme"):
        office.again().keep_copy()


def test_no_recovery_from_a_folder_that_contradicts_the_one_that_is_recorded(tmp_path: Path) -> None:
    """Two databases were used, and the office names the folder of the other one, which is longer."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    decided: dict[str, Any] = {"reason": "why", "independent": True}
    recorded = office.programme.publish(tmp_path / "public")
    saved, first = saved_database(office, tmp_path), office.key.transcript.read_bytes()
    shutil.copytree(recorded, tmp_path / "first")

    def becomes(folder: str) -> None:
        shutil.rmtree(recorded)
        shutil.copytree(tmp_path / folder, recorded)

    office.programme.override(["Ash Mill"], **decided)
    office.programme.publish()
    shutil.copytree(recorded, tmp_path / "one")
    put_back(office, saved)
    office.key.transcript.write_bytes(first)
    becomes("first")
    for _ in range(2):
        office.again().override(["Birch Works"], **decided)
    office.again().publish()
    shutil.copytree(recorded, tmp_path / "other")
    put_back(office, saved)
    office.key.transcript.unlink()
    becomes("one")
    with pytest.raises(DeniableError, match="two databases"):
        office.again().recover(tmp_path / "other", "lost")
    shutil.rmtree(recorded)  # and so the check above can fail
    office.again().recover(tmp_path / "other", "lost")


def test_no_recovery_over_a_copy_that_contradicts(tmp_path: Path) -> None:
    """Two databases were used, and what one of them drew must not disappear."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    saved, first = saved_database(office, tmp_path), office.key.transcript.read_bytes()
    decided: dict[str, Any] = {"reason": "why", "independent": True}
    office.programme.override(["Ash Mill"], **decided)
    office.programme.backup(tmp_path / "backup")
    put_back(office, saved)
    office.key.transcript.write_bytes(first)
    office.again().override(["Birch Works"], **decided)
    kept = office.key.transcript.read_bytes()
    with pytest.raises(DeniableError, match="two databases"):
        restored(office, tmp_path).recover(None, "lost")
    assert office.key.transcript.read_bytes() == kept


def test_a_key_file_after_a_passphrase_leaves_the_folder_in_use(tmp_path: Path) -> None:
    """A file of the database from before compares itself with the public folder alone."""
    clock, database, passphrase = Clock(), str(tmp_path / "programme.db"), Passphrase("correct horse battery")
    settings: dict[str, Any] = {"name": "Test", "targets": TARGETS, "mechanism": "race", "delta": 0.1}
    programme = Programme.create(database, passphrase, clock=clock, calendar=DAILY, **settings)
    programme.publish(tmp_path / "public")
    programme.close()
    shutil.copy(database, tmp_path / "old.db")
    programme = Programme.open(database, passphrase, clock=clock)
    for key in ("one.key", "two.key"):
        programme.rekey(KeyFile(tmp_path / key))
    clock.tomorrow()
    programme.close_round()
    assert read_head(tmp_path / "two.key.transcript") == read_head(tmp_path / "public" / TRANSCRIPT)
    with pytest.raises(DeniableError, match="old one"):
        Programme.open(str(tmp_path / "old.db"), passphrase, clock=clock).close_round()


def test_a_copy_that_is_there_is_compared_whatever_the_database_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key's folder could not be written to when the programme began, and could be since a recovery."""
    with monkeypatch.context() as patched:
        patched.setattr(KeyCopy, "write", lambda *_: False)
        office = published_office(tmp_path)
        saved = saved_database(office, tmp_path)
    shutil.copytree(tmp_path / "public", tmp_path / "old-public")
    office.programme.backup(tmp_path / "backup")
    moved = restored(office, tmp_path)
    moved.recover(tmp_path / "public", "moved")
    assert office.key.transcript.exists()
    assert read_head(tmp_path / "public" / TRANSCRIPT).entries == moved.status().entries
    put_back(office, saved)
    shutil.rmtree(tmp_path / "public")
    (tmp_path / "old-public").rename(tmp_path / "public")
    with pytest.raises(DeniableError, match=r"beside the key.*old one"):
        office.again().report({"Ash Mill": 1})


def test_no_new_key_while_the_old_copy_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    monkeypatch.setattr(transcript_copies, "replace_file", unwritable)
    with pytest.raises(DeniableError, match="cannot be replaced"):
        office.programme.rekey(KeyFile(tmp_path / "new.key"))
    assert not (tmp_path / "new.key").exists()
    monkeypatch.undo()
    office.again().report({"Ash Mill": 1})


def test_the_old_copy_is_replaced_before_the_new_key_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no database goes on with the old key in between; if the change fails, the copy is back."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    kept, seen = office.key.transcript.read_bytes(), []

    def fail(*_: object) -> None:
        seen.append(office.key.transcript.read_bytes())
        raise KeyboardInterrupt

    monkeypatch.setattr(Transaction, "finish", fail)
    with pytest.raises(KeyboardInterrupt):
        office.programme.rekey(KeyFile(tmp_path / "new.key"))
    monkeypatch.undo()
    assert seen != [kept]
    assert office.key.transcript.read_bytes() == kept
    office.again().report({"Ash Mill": 1})


def test_a_lock_that_another_process_holds_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    monkeypatch.setattr(transcript_copies, "PATIENCE", 0)
    with files.locked(office.key.path, 0), pytest.raises(DeniableError, match="another process"):
        office.close()
    office.close()


def test_nothing_is_drawn_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(DeniableError, match="has locks"):
        office.close()
    assert office.programme.status().entries == 0


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_key_in_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_moved: bool
) -> None:
    """Where none was ever kept beside it the public folder serves; where one was, it is missing."""
    with monkeypatch.context() as patched:
        if not is_moved:
            patched.setattr(KeyCopy, "write", lambda *_: False)
        office = published_office(tmp_path)
    monkeypatch.setattr(KeyCopy, "write", lambda *_: False)
    office.key.transcript.unlink(missing_ok=True)
    if is_moved:
        with pytest.raises(DeniableError, match="is missing"):
            office.close()
        return
    office.close()
    assert office.programme.status().published == office.programme.status().entries


def test_a_programme_goes_on_in_public_when_its_copy_is_lost(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    office.key.transcript.unlink()
    entry = office.programme.recover(None, "the key was brought back without the copy")
    assert (entry.own()["paused"], entry.own()["complete"]) == (True, False)
    office.close()
    with pytest.raises(DeniableError, match="nothing is lost"):
        office.programme.recover(None, "again")


def restored(office: Office, tmp_path: Path) -> Programme:
    backup.restore(tmp_path / "backup", str(tmp_path / "restored.db"), never_published=True)
    return Programme.open(str(tmp_path / "restored.db"), office.key, clock=office.clock)


def test_copies_show_everything_only_if_nothing_can_be_missing(tmp_path: Path) -> None:
    """A copy that was saved with the key looks like the one that is kept, and may lack the last draw."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    office.programme.backup(tmp_path / "backup")
    entry = restored(office, tmp_path).recover(None, "moved before a round was due")
    assert (entry.own()["paused"], entry.own()["complete"]) == (False, True)


@pytest.mark.parametrize("is_old", [True, False])
def test_a_copy_from_a_safe_place_may_lack_a_draw(tmp_path: Path, is_old: bool) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    first = office.key.transcript.read_bytes()
    office.close()
    office.programme.backup(tmp_path / "backup")
    kept = office.key.transcript.read_bytes()
    if not is_old:  # it has all that the backup has, but another round was due since
        office.close()
    office.key.transcript.write_bytes(first if is_old else kept)
    entry = restored(office, tmp_path).recover(None, "all was lost")
    assert (entry.own()["paused"], entry.own()["complete"]) == (True, False)


def test_after_the_last_round_no_draw_can_be_missing_however_late_it_is(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path, mechanism="tca", horizon=2)
    office.close()
    office.close()
    office.programme.backup(tmp_path / "backup")
    office.clock.now += timedelta(days=9)
    entry = restored(office, tmp_path).recover(None, "moved after the last round")
    assert (entry.own()["paused"], entry.own()["complete"]) == (False, True)


def test_two_databases_do_not_both_show_a_draw(tmp_path: Path) -> None:
    """The other draws between this one's draw and its copy: it waits, and then it is refused."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    saved = saved_database(office, tmp_path)
    shutil.copy(saved, tmp_path / "other.db")
    other = Programme.open(str(tmp_path / "other.db"), office.key, clock=office.clock)
    other.report({"Ash Mill": 9})
    office.clock.tomorrow()
    begun, scrub = Event(), office.programme._access.store.scrub
    later: list[Future[Closed]] = []

    def close() -> Closed:
        begun.set()
        return other.close_round()

    with ThreadPoolExecutor(1) as pool:

        def meanwhile() -> None:
            if not later:
                later.append(pool.submit(close))
                begun.wait()
            scrub()

        office.programme._access.store.scrub = meanwhile  # type: ignore[method-assign]
        office.programme.close_round()
        with pytest.raises(DeniableError, match="more entries"):
            later[0].result()


def test_a_copy_of_another_draw_is_not_taken_for_this_one(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    saved = saved_database(office, tmp_path)
    first = office.key.transcript.read_bytes()
    office.close()
    drawn = office.key.transcript.read_bytes()
    put_back(office, saved)
    office.key.transcript.write_bytes(first)
    office.programme = office.again()
    with office.programme._access.writing() as transaction:
        decided = {"reason": "why", "independent": True, "during": 1}
        transaction.append(Override.following(transaction.state, audits=["Ash Mill"], **decided))
        transcript = StoredTranscript.of(transaction)
        office.key.transcript.write_bytes(drawn)
        with pytest.raises(DeniableError, match="two databases"):
            KeyCopy(office.key.transcript).write(transcript)


def test_nothing_is_drawn_that_could_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the copy is up to date and its folder says that it can be written to."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    monkeypatch.setattr(transcript_copies, "replace_file", unwritable)
    with pytest.raises(DeniableError, match="kept outside the database") as refused:
        office.close()
    assert not isinstance(refused.value, NotKeptError)
    assert office.programme.status().entries == 0


def unwritable(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_what_no_copy_has_does_not_leave_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    office = new_office(str(tmp_path / "programme.db"), tmp_path, oversight=recipient)
    receipt = office.programme.report({"Ash Mill": 1})
    keyless = Programme.open(office.database, clock=office.clock)
    ways: list[Callable[[], object]] = [
        lambda: office.programme.backup(tmp_path / "backup"),
        lambda: keyless.backup(tmp_path / "backup"),
        office.programme.seals,
        keyless.seals,
        office.programme.active_counts,
        lambda: office.programme.withdraw(["Ash Mill"], receipt),
    ]
    with monkeypatch.context() as patched:
        scrub = office.programme._access.store.scrub

        def fail_from_now_on() -> None:
            patched.setattr(transcript_copies, "replace_file", unwritable)
            scrub()

        patched.setattr(office.programme._access.store, "scrub", fail_from_now_on)
        with pytest.raises(NotKeptError):
            office.close()
        for way in ways:
            with pytest.raises(DeniableError):
                way()
        assert not list(tmp_path.glob("backup*"))
    with pytest.raises(NotKeptError):
        keyless.seals([office.key.path])
    office.programme.seals()
    assert len(keyless.seals([office.key.path])) == 1
    keyless.backup(tmp_path / "backup", [office.key.path])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_copy_belongs_to_the_owner_of_the_key(tmp_path: Path) -> None:
    """Or else a command of root's would lock out the office's service."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    os.chown(office.key.path, 12345, 12345)
    office.close()
    assert (office.key.transcript.stat().st_uid, office.key.transcript.stat().st_gid) == (12345, 12345)


def published_office(tmp_path: Path) -> Office:
    """One round was published."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.publish(tmp_path / "public")
    office.close()
    office.programme.publish()
    return office


def saved_database(office: Office, tmp_path: Path) -> Path:
    office.programme.close()
    shutil.copy(office.database, tmp_path / "old.db")
    office.programme = office.again()
    return tmp_path / "old.db"


def put_back(office: Office, saved: Path) -> None:
    office.programme.close()
    for file in Path(office.database).parent.glob("programme.db*"):
        file.unlink()
    shutil.copy(saved, office.database)


def test_a_round_that_another_process_closed_is_shown_when_it_is_copied(tmp_path: Path) -> None:
    """The other process ends between its commit and its copy."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    other = office.again()
    before = office.key.transcript.read_bytes()
    office.clock.tomorrow()
    other.close_round()
    office.key.transcript.write_bytes(before)
    office.programme.close_round(1)
    assert read_head(office.key.transcript).entries == 1
