"""However often, when and in whatever crash an export is imported, each of its reports counts once."""

import os
import signal
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from tests.programme.offices import TARGETS, Clock, Office, new_office

from deniable.errors import DeniableError
from deniable.programme.imports import imported_reports
from deniable.programme.programme import Programme
from deniable.programme.transaction import Transaction

EXPORT = [(f"report {number}", TARGETS[number % 2]) for number in range(1, 41)]


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return new_office(database, tmp_path)


def test_an_export_counts_once_before_and_after_an_audit(office: Office) -> None:
    programme = office.programme
    assert programme.import_reports("hotline", EXPORT) == 40
    assert programme.import_reports("hotline", EXPORT) == 0
    (audited,) = office.close()
    counts = programme.active_counts()
    assert counts[audited] == 0
    assert programme.import_reports("hotline", EXPORT) == 0
    assert programme.import_reports("hotline", [*EXPORT, ("report 41", audited)]) == 1
    assert programme.active_counts() == counts | {audited: 1}


def code_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, target: str, rounds: int = 0, id_: str = "report 1"
) -> bytes:
    """All that stays known of a report, in an office whose random numbers are zeros."""
    monkeypatch.setattr(Transaction, "hashing_key", bytes(32))
    monkeypatch.setattr(imported_reports, "secrets", SimpleNamespace(randbelow=lambda _: 0, token_bytes=bytes))
    folder.mkdir()
    office = new_office(str(folder / "programme.db"), folder)
    for _ in range(rounds):
        office.close()
    assert office.programme.import_reports("hotline", [(id_, target)]) == 1
    office.count()
    with office.programme._access.looking() as transaction:
        return transaction.known("hotline").pack(0)


def test_the_code_of_a_report_does_not_tell_its_target_nor_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ash, birch = TARGETS[:2]
    code = code_of(tmp_path / "ash", monkeypatch, ash)
    assert code_of(tmp_path / "birch", monkeypatch, birch) == code
    assert code_of(tmp_path / "two rounds later", monkeypatch, ash, rounds=2) == code
    assert code_of(tmp_path / "another report", monkeypatch, ash, id_="report 2") != code  # it can differ


def test_a_shrunken_export_changes_nothing(office: Office) -> None:
    office.programme.import_reports("hotline", EXPORT)
    office.close()
    counts = office.programme.active_counts()
    assert office.programme.import_reports("hotline", EXPORT[30:]) == 0
    assert office.programme.active_counts() == counts


def test_the_same_ids_from_another_source_are_other_reports(office: Office) -> None:
    office.programme.import_reports("hotline", EXPORT)
    assert office.programme.import_reports("letters", EXPORT[:5]) == 5


def test_a_dry_run_changes_nothing(office: Office) -> None:
    assert office.programme.import_reports("hotline", EXPORT, dry_run=True) == 40
    assert office.programme.import_reports("hotline", EXPORT, dry_run=True) == 40
    assert set(office.programme.active_counts().values()) == {0}


def test_what_is_not_to_count_never_counts(office: Office) -> None:
    programme = office.programme
    assert programme.import_reports("hotline", EXPORT, count=False, dry_run=True) == 0
    assert programme.import_reports("hotline", EXPORT, dry_run=True) == 40
    assert programme.import_reports("hotline", EXPORT, count=False) == 0
    assert programme.import_reports("hotline", [*EXPORT, ("report 41", TARGETS[0])]) == 1
    assert programme.active_counts() == dict.fromkeys(TARGETS, 0) | {TARGETS[0]: 1}


def test_a_row_about_no_target_waits_and_holds_back_no_other(office: Office) -> None:
    rows = [("report 41", "Elm Yard"), *EXPORT]
    assert office.programme.import_reports("hotline", rows) == 40
    office.programme.change_targets("new", independent=True, add=["Elm Yard"])
    assert office.programme.import_reports("hotline", rows) == 1


@pytest.mark.parametrize("source", ["", "x" * 101, "hot\nline"])
def test_a_source_has_a_name(office: Office, source: str) -> None:
    with pytest.raises(DeniableError, match="hotline's name"):
        office.programme.import_reports(source, EXPORT)


def test_a_change_of_key_does_not_forget_what_was_counted(office: Office, tmp_path: Path) -> None:
    office.programme.import_reports("hotline", EXPORT)
    office.programme.rekey(type(office.key)(tmp_path / "new.key"))
    assert office.programme.import_reports("hotline", EXPORT) == 0


def test_reports_stay_known_whatever_ended_their_run(office: Office) -> None:
    programme = office.programme
    programme.import_reports("hotline", EXPORT)
    programme.override([TARGETS[0]], "a court order", independent=True)
    programme.change_targets("closed down", independent=True, remove=[TARGETS[1]])
    assert programme.import_reports("hotline", [(name, TARGETS[0]) for name, _ in EXPORT]) == 0


def _import_for_ever(database: str, key: object, now: object, line: Connection) -> None:
    office = Programme.open(database, key, clock=Clock(now))  # type: ignore[arg-type]
    line.send("ready")
    while True:
        office.import_reports("hotline", EXPORT)
        line.send("imported")


def test_kill_9_during_an_import_counts_nothing_twice(office: Office) -> None:
    """Whatever was cut off, importing again gives every report once: before an audit and after one."""
    fork, random = get_context("fork"), Random(0)
    for _ in range(6):
        office.programme.close()
        mine, theirs = fork.Pipe()
        child = fork.Process(target=_import_for_ever, args=(office.database, office.key, office.clock.now, theirs))
        child.start()
        assert mine.recv() == "ready"
        mine.poll(random.uniform(0, 0.03))
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
    office.programme.import_reports("hotline", EXPORT)
    assert office.programme.active_counts() == {name: 20 if name in TARGETS[:2] else 0 for name in TARGETS}
    (audited,) = office.close()
    assert office.programme.import_reports("hotline", EXPORT) == 0
    assert office.programme.active_counts()[audited] == 0
