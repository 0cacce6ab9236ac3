"""What the office does with its programme, and what the programme refuses."""

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.programme.insight import blobs_of, everything, lines_of, rows
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import backup, counting
from deniable.programme.calendar import system_clock
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.receipt import check_receipt, new_receipt
from deniable.programme.secrets.keys import KeyFile, Passphrase
from deniable.programme.secrets.vault import Kdf
from deniable.programme.transcript.replay import parse
from deniable.storage import tables
from deniable.storage.store import Store

NONE = dict.fromkeys(TARGETS, 0)


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return new_office(database, tmp_path)


def test_reports_are_counted_and_taken_back(office: Office) -> None:
    programme = office.programme
    receipt = programme.report({"Ash Mill": 3, "Birch Works": 1})
    programme.report({"Ash Mill": 1})
    assert programme.active_counts() == NONE | {"Ash Mill": 4, "Birch Works": 1}
    programme.withdraw(["Birch Works", "Ash Mill"], receipt.lower())
    assert programme.active_counts() == NONE | {"Ash Mill": 1}
    assert office.again().active_counts() == NONE | {"Ash Mill": 1}


def test_the_same_receipt_counts_once(office: Office) -> None:
    receipt = new_receipt()
    for _ in range(3):
        assert office.again().report({"Ash Mill": 2}, receipt) == receipt
    assert office.programme.active_counts() == NONE | {"Ash Mill": 2}
    office.programme.withdraw(["Ash Mill"], receipt)
    office.programme.report({"Ash Mill": 2}, receipt)
    assert office.programme.active_counts() == NONE


def test_a_push_counts_once_and_each_sender_has_names_of_its_own(office: Office) -> None:
    for sender in ("north", "south"):
        for _ in range(2):
            assert office.again().push(sender, "monday", {"Ash Mill": 2})
    assert office.programme.active_counts() == NONE | {"Ash Mill": 4}
    office.close()
    before = office.programme.active_counts()
    assert office.programme.push("north", "monday", {"Ash Mill": 2})
    assert office.programme.active_counts() == before


@pytest.mark.parametrize(
    ("reports", "says"),
    [
        ({"Elm Yard": 1}, "no target named Elm Yard takes part"),
        ({"Ash Mill": 0}, "reports must be whole numbers of at least 1"),
        ({"Ash Mill": -1}, "reports must be whole numbers of at least 1"),
        ({"Ash Mill": 1.5}, "reports must be whole numbers of at least 1"),
        ({"Ash Mill": True}, "reports must be whole numbers of at least 1"),
        ({"Ash Mill": "many"}, "reports must be whole numbers of at least 1"),
        ({"Ash Mill": 10**9 + 1}, "at most 1,000,000,000 reports about a target can be added at once"),
        ({"Ash Mill": 10**30}, "at most 1,000,000,000 reports about a target can be added at once"),
    ],
)
def test_reports_that_are_refused_change_nothing(office: Office, reports: Any, says: str) -> None:
    office.programme.report({"Ash Mill": 1, "Birch Works": 1})
    before = everything(office.database)
    with pytest.raises(DeniableError, match=says):
        office.programme.report(reports)
    assert everything(office.database) == before


def test_whoever_adds_reports_does_not_learn_how_many_there_are(office: Office) -> None:
    """Were a sum beyond the limit refused, the largest number that is accepted would tell the count."""
    office.programme.report({"Ash Mill": 7})
    office.programme.report({"Ash Mill": 10**9})
    assert office.programme.active_counts()["Ash Mill"] == 10**9
    office.programme.report({"Ash Mill": 1})
    assert office.close()[0] in TARGETS


def test_nothing_is_taken_back_but_what_the_receipt_is_for(office: Office) -> None:
    programme = office.programme
    receipt = programme.report({"Ash Mill": 2, "Birch Works": 1})
    programme.report({"Ash Mill": 5, "Birch Works": 5, "Cedar Bank": 5})
    before = everything(office.database)
    for one, other in ((["Cedar Bank"], receipt), (["Ash Mill", "Birch Works"], new_receipt())):
        with pytest.raises(DeniableError, match="nothing was taken back: check the receipt"):
            programme.withdraw(one, other)
    assert everything(office.database) == before


def _closed(office: Office) -> None:
    office.close()


def _ordered(office: Office) -> None:
    office.programme.override(["Ash Mill"], "an accident", independent=True)


def _taken_back(office: Office) -> None:
    """The test takes back the one report that is there."""


@pytest.mark.parametrize("since", [_closed, _ordered, _taken_back])
def test_a_receipt_takes_back_no_report_of_another_person(office: Office, since: Callable[[Office], None]) -> None:
    programme = office.programme
    receipt = programme.report({"Ash Mill": 1})
    if since is _taken_back:
        programme.withdraw(["Ash Mill"], receipt)
    since(office)
    programme.report({"Ash Mill": 1})
    before = programme.active_counts()
    with pytest.raises(DeniableError, match="nothing was taken back"):
        programme.withdraw(["Ash Mill"], receipt)
    assert programme.active_counts() == before


@pytest.mark.parametrize("typed", ["", "ABCD", "ABCD-EFGH-2345-WXY1", "ABCD-EFGH-2345-WXYZ-"])
def test_a_receipt_that_is_none(office: Office, typed: str) -> None:
    if typed.endswith("-"):
        assert check_receipt(typed) == typed[:-1]
        return
    with pytest.raises(DeniableError, match="a receipt has 16 letters and digits"):
        office.programme.withdraw(["Ash Mill"], typed)


def test_an_audit_ends_the_run_of_the_audited(office: Office) -> None:
    programme = office.programme
    for _ in range(6):
        programme.report({"Ash Mill": 2, "Dogwood Clinic": 1})
        before = programme.active_counts()
        (audited,) = office.close()
        assert programme.active_counts() == before | {audited: 0}


def test_a_round_is_closed_when_it_is_due_and_not_before(office: Office) -> None:
    programme, due = office.programme, office.programme.status().due
    office.clock.now = due - timedelta(seconds=1)
    before = everything(office.database)
    deeds: list[Callable[[], object]] = [programme.close_round, lambda: programme.skip("holiday", independent=True)]
    for deed in deeds:
        with pytest.raises(
            DeniableError, match=r"round 1 is due at 2026-01-06 00:00 UTC and must not be closed before"
        ):
            deed()
    assert everything(office.database) == before
    office.clock.now = due
    closed = programme.close_round()
    assert (closed.round, closed.already) == (1, False)
    assert programme.status().open_round == 2


def test_a_round_that_was_closed_is_told_as_it_was(office: Office) -> None:
    audits = [office.close() for _ in range(4)]
    office.clock.tomorrow()
    skipped = office.programme.skip("holiday", independent=True)
    for number, audited in enumerate([*audits, skipped.audits], start=1):
        again = office.programme.close_round(number)
        assert (again.round, again.audits, again.already) == (number, audited, True)
    with pytest.raises(DeniableError, match="round 6 must be closed before round 7"):
        office.programme.close_round(7)
    with pytest.raises(DeniableError, match="round must be a whole number of at least 1, got 0"):
        office.programme.close_round(0)


def test_what_a_closed_round_came_to_is_looked_up_without_writing(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    audits = office.close()
    office.programme.report({"Ash Mill": 3})
    before = everything(office.database)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "writing", lambda *_: pytest.fail("it writes"))
        looked = office.programme.closed_round(1)
        with pytest.raises(pytest.fail.Exception):  # the check can fail
            office.programme.close_round(1)
    assert (looked.round, looked.audits, looked.already) == (1, audits, True)
    assert everything(office.database) == before
    assert looked == office.programme.close_round(1)


def test_a_round_that_is_closed_late_says_so(office: Office) -> None:
    office.clock.now = office.programme.status().due + timedelta(days=3, hours=1)
    office.programme.close_round(reason="the server was flooded")
    office.programme.close_round()
    entries = [parse(line) for line in lines_of(office.database)]
    assert [(entry.own()["late"], entry.own()["reason"]) for entry in entries] == [
        (3, "the server was flooded"),
        (2, "no reason was given"),
    ]
    assert office.programme.status().overdue == 2


def test_a_round_in_time_keeps_no_reason(office: Office) -> None:
    office.clock.now = office.programme.status().due
    office.programme.close_round(reason="nothing of interest")
    assert parse(lines_of(office.database)[0]).own()["reason"] is None


def test_a_skipped_round_keeps_its_reports(office: Office) -> None:
    programme = office.programme
    receipt = programme.report({"Ash Mill": 2})
    programme.report({"Ash Mill": 1})
    office.clock.tomorrow()
    closed = programme.skip("holiday", independent=True)
    assert (closed.round, closed.audits) == (1, ())
    assert programme.active_counts() == NONE | {"Ash Mill": 3}
    programme.withdraw(["Ash Mill"], receipt)  # they are reports of the open round now
    assert programme.active_counts() == NONE | {"Ash Mill": 1}
    assert office.close()


def test_an_override_deletes_the_reports_of_the_audited(office: Office) -> None:
    programme = office.programme
    programme.import_reports("hotline", [("1", "Ash Mill"), ("2", "Birch Works")])
    programme.report({"Ash Mill": 5, "Cedar Bank": 1})
    entry = programme.override(["Ash Mill"], "an accident", independent=True)
    assert (entry.kind, entry.round, entry.own()["audits"]) == ("override", 1, ("Ash Mill",))
    assert programme.active_counts() == NONE | {"Birch Works": 1, "Cedar Bank": 1}
    assert programme.status().open_round == 1
    assert programme.import_reports("hotline", [("1", "Ash Mill"), ("2", "Birch Works")]) == 0
    assert programme.status().coverage.holds_from == 1
    programme.override(["Birch Works"], "a hint", independent=False)
    assert programme.status().coverage.holds_from == 2
    assert office.close()


DECISIONS: dict[str, Callable[[Programme, str], object]] = {
    "override": lambda programme, _: programme.override(["Ash Mill"], "a hint", independent=False),
    "targets": lambda programme, _: programme.change_targets("a hint", independent=False, add=["Elm Yard"]),
    "not-carried-out": lambda programme, audited: programme.not_carried_out(1, audited, "a hint", independent=False),
    "skip": lambda programme, _: programme.skip("a hint", independent=False),
}


@pytest.mark.parametrize("kind", DECISIONS)
def test_a_decision_while_a_round_is_overdue_may_have_come_of_reports_filed_since(office: Office, kind: str) -> None:
    """Round 2 is open, but by the calendar, and for those who report, it is round 3."""
    programme = office.programme
    (audited,) = office.close()
    office.clock.now = programme.parameters.calendar.opens(3) + timedelta(hours=1)
    programme.report({"Ash Mill": 1})
    assert (programme.status().open_round, programme.status().overdue) == (2, 1)
    DECISIONS[kind](programme, audited)
    entry = parse(lines_of(office.database)[-1])
    assert (entry.kind, entry.round, entry.own()["during"]) == (kind, 2, 3)
    assert programme.status().coverage.holds_from == 4
    assert "filed in round 3 or earlier" in programme.status().coverage.in_words(programme.parameters.voice())


@pytest.mark.parametrize("day", [-400, 0])
def test_a_decision_is_made_in_the_open_round_at_the_earliest(office: Office, day: int) -> None:
    """Before the calendar begins, or with a clock that was set back."""
    office.close()
    office.clock.now += timedelta(days=day)
    entry = office.programme.override(["Ash Mill"], "a hint", independent=False)
    assert (entry.round, entry.own()["during"]) == (2, 2)


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        (
            lambda p: p.override(["Elm Yard"], "why", independent=True),
            "no target named|there is no target",
        ),
        (lambda p: p.override([], "why", independent=True), "audits must be a list of one or more"),
        (lambda p: p.override(["Ash Mill", "Ash Mill"], "why", independent=True), "has a name twice"),
        (lambda p: p.override(["Ash Mill"], "", independent=True), "write the reason: at most 500 characters"),
        (lambda p: p.change_targets("why", independent=True), "add or remove"),
        (lambda p: p.change_targets("why", independent=True, add=["Ash Mill"]), "Ash Mill takes part already"),
        (
            lambda p: p.change_targets("why", independent=True, add=["2026-01-05,Ash Mill,2", "2026-01-05,Birch,1"]),
            "this is a file of reports",
        ),
        (
            lambda p: p.change_targets("why", independent=True, remove=["Elm Yard"]),
            "no target named",
        ),
        (
            lambda p: p.change_targets("why", independent=True, remove=TARGETS[:3]),
            "targets left must be at least 2|at least two",
        ),
        (lambda p: p.not_carried_out(1, "Ash Mill", "locked", independent=True), "in round 1 is open"),
        (lambda p: p.end(""), "write the reason"),
        (lambda p: p.import_reports("", []), "hotline's name"),
        (lambda p: p.resume_imports("why"), "not paused"),
        (lambda p: p.publish(), "name the folder to publish into the first time"),
    ],
)
def test_what_is_refused_changes_nothing(office: Office, deed: Callable[[Programme], object], says: str) -> None:
    office.programme.report({"Ash Mill": 1})
    before = everything(office.database)
    with pytest.raises(DeniableError, match=says):
        deed(office.programme)
    assert everything(office.database) == before


def test_targets_join_and_leave(office: Office) -> None:
    programme = office.programme
    programme.report({"Ash Mill": 2, "Birch Works": 1})
    programme.change_targets("a merger", independent=True, add=["Elm Yard", "Fir Hall"], remove=["Ash Mill"])
    assert programme.status().targets == (*TARGETS[1:], "Elm Yard", "Fir Hall")
    programme.report({"Fir Hall": 4})
    with pytest.raises(DeniableError, match="no target named Ash Mill takes part"):
        programme.report({"Ash Mill": 1})
    assert programme.active_counts() == {
        "Birch Works": 1,
        "Cedar Bank": 0,
        "Dogwood Clinic": 0,
        "Elm Yard": 0,
        "Fir Hall": 4,
    }
    drawn = {office.close()[0] for _ in range(40)}
    assert "Ash Mill" not in drawn
    assert drawn & {"Elm Yard", "Fir Hall"}  # fails with probability below 1e-8 (two of five, 40 times)


def test_all_targets_are_exchanged_at_once(office: Office) -> None:
    """How many are left counts after those that join."""
    office.programme.change_targets("a reform", independent=True, add=["Elm Yard", "Fir Hall"], remove=TARGETS)
    assert office.programme.status().targets == ("Elm Yard", "Fir Hall")
    assert office.close()[0] in {"Elm Yard", "Fir Hall"}


def test_an_audit_that_was_not_carried_out_stays_drawn(office: Office) -> None:
    office.programme.report({"Ash Mill": 3})
    (audited,) = office.close()
    entry = office.programme.not_carried_out(1, audited, "the building was locked", independent=False)
    assert entry.own()["of"] == 1
    assert office.programme.active_counts()[audited] == 0
    assert office.programme.status().coverage.holds_from == 3
    assert office.close()


def test_imports_count_each_report_once(office: Office) -> None:
    programme = office.programme
    export = [(str(number), TARGETS[number % 4]) for number in range(1, 9)]
    assert programme.import_reports("hotline", export, dry_run=True) == 8
    assert programme.active_counts() == NONE
    assert programme.import_reports("hotline", export[:5]) == 5
    assert programme.import_reports("hotline", export) == 3
    assert office.again().import_reports("hotline", export) == 0
    assert programme.import_reports("letters", export[:2]) == 2
    before = programme.active_counts()
    (audited,) = office.close()
    assert programme.active_counts() == before | {audited: 0}
    assert programme.import_reports("hotline", export) == 0
    assert programme.import_reports("hotline", [*export, ("9", audited)]) == 1
    assert programme.active_counts()[audited] == 1


def test_the_public_half_works_without_the_key(office: Office, tmp_path: Path) -> None:
    office.programme.publish(tmp_path / "public")
    office.close()
    public = Programme.open(office.database)
    assert public.status().entries == 1
    public.publish()
    public.backup(tmp_path / "backup")
    assert verify(tmp_path / "public", now=office.clock.now).rounds == 1
    assert public.status().published == 1
    elsewhere = lambda: public.publish(tmp_path / "elsewhere")  # noqa: E731
    for deed in (public.close_round, public.active_counts, lambda: public.report({"Ash Mill": 1}), elsewhere):
        with pytest.raises(DeniableError, match="this needs the programme's key; give its key file or its passphrase"):
            deed()


def test_a_wrong_key(office: Office, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = new_office(str(tmp_path / "second.db"), tmp_path / "second")
    before = everything(office.database)
    with pytest.raises(DeniableError, match="this is not the key of the programme in database"):
        Programme.open(office.database, second.key)
    with pytest.raises(DeniableError, match=r"there is no key file .*; nothing secret can be read without it"):
        Programme.open(office.database, KeyFile(tmp_path / "lost.key"))
    with pytest.raises(DeniableError, match="this programme is locked with a key file, not with a passphrase"):
        Programme.open(office.database, Passphrase("correct horse battery"))
    office.key.path.chmod(0o644)
    with pytest.raises(DeniableError, match=r"must be closed to other users; run: chmod 600 .*programme\.key"):
        office.again()
    office.key.path.chmod(0o600)
    office.key.path.write_bytes(b"deniable-key/1 nonsense\n")
    with pytest.raises(DeniableError, match="is not a key file of deniable, or it was changed"):
        office.again()
    assert everything(office.database) == before


def test_a_passphrase_as_key(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kdf = Kdf("00" * 16)
    monkeypatch.setattr(Kdf, "new", lambda: kdf)
    settings = new_office(str(tmp_path / "other.db"), tmp_path).programme.parameters
    chosen = {name: getattr(settings, name) for name in ("name", "targets", "mechanism", "delta", "calendar")}
    phrase = Passphrase("correct horse battery")
    Programme.create(database, phrase, **chosen).report({"Ash Mill": 2})
    assert Programme.open(database, Passphrase("correct horse battery")).active_counts()["Ash Mill"] == 2
    with pytest.raises(DeniableError, match="this is not the key of the programme in database"):
        Programme.open(database, Passphrase("correct horse batteries"))
    with pytest.raises(DeniableError, match="this programme is locked with a passphrase, not with a key file"):
        Programme.open(database, KeyFile(tmp_path / "programme.key"))
    assert "correct" not in repr(phrase)


def test_a_key_file_that_exists_is_never_taken_for_a_new_programme(office: Office, tmp_path: Path) -> None:
    key = office.key.path.read_bytes()
    with pytest.raises(DeniableError, match="exists already; a key file is never overwritten"):
        new_office(str(tmp_path / "second.db"), tmp_path)
    assert office.key.path.read_bytes() == key
    assert not (tmp_path / "second.db").exists()


def test_a_new_key(office: Office, tmp_path: Path) -> None:
    programme = office.programme
    programme.report({"Ash Mill": 2})
    programme.import_reports("hotline", [("1", "Ash Mill")])
    before = blobs_of(office.database)
    programme.rekey(KeyFile(tmp_path / "new.key"))
    after = blobs_of(office.database)
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())
    assert stat.S_IMODE((tmp_path / "new.key").stat().st_mode) == 0o600
    with pytest.raises(DeniableError, match="this is not the key of the programme"):
        office.again()
    again = Programme.open(office.database, KeyFile(tmp_path / "new.key"), clock=office.clock)
    assert again.active_counts() == programme.active_counts() == NONE | {"Ash Mill": 3}
    assert again.import_reports("hotline", [("1", "Ash Mill")]) == 0  # the hashes are still known
    office.clock.tomorrow()
    assert again.close_round().audits


def test_a_new_key_that_cannot_be_made_changes_nothing(office: Office) -> None:
    before = everything(office.database)
    with pytest.raises(DeniableError, match="exists already; a key file is never overwritten"):
        office.programme.rekey(office.key)
    assert everything(office.database) == before
    assert office.again().active_counts() == NONE


def test_the_end(office: Office, tmp_path: Path) -> None:
    programme = office.programme
    programme.report({"Ash Mill": 2})
    office.close()
    new = programme.end("the law was repealed")
    assert (new.entry.kind, new.visits) == ("end", ())
    assert set(blobs_of(office.database)) <= {"check"}
    assert programme.status().ended
    assert programme.status().overdue == 0
    for deed in (programme.close_round, programme.active_counts, lambda: programme.end("again")):
        with pytest.raises(DeniableError, match="the programme has ended, and its secrets are destroyed"):
            deed()
    with pytest.raises(DeniableError, match="the programme has ended"):
        office.again().report({"Ash Mill": 1})
    report = verify(Programme.open(office.database).publish(tmp_path / "public"), now=office.clock.now)
    assert report.ended


def test_the_clock_on_the_wall() -> None:
    assert system_clock().tzinfo is not None


# A database that is older than what was published.


@pytest.fixture
def rolled_back(office: Office, tmp_path: Path) -> Office:
    """The office after its disk broke: a backup from round 2 is back, and five rounds are published."""
    programme = office.programme
    programme.report({"Ash Mill": 2, "Birch Works": 2, "Cedar Bank": 2, "Dogwood Clinic": 2})
    programme.import_reports("hotline", [("1", "Ash Mill")])
    office.close()
    programme.publish(tmp_path / "public")
    programme.report({"Cedar Bank": 3})
    programme.backup(tmp_path / "backup")
    for _ in range(4):
        office.close()
    programme.import_reports("hotline", [("1", "Ash Mill"), ("2", "Birch Works")])
    programme.publish()
    return restored(office, tmp_path, tmp_path / "backup")


def restored(office: Office, tmp_path: Path, path: Path) -> Office:
    database = str(tmp_path / f"{path.name} restored.db")
    backup.restore(path, database)
    programme = Programme.open(database, office.key, clock=office.clock)
    return Office(database, office.key, office.clock, programme)


def test_a_database_behind_its_publication_draws_nothing(rolled_back: Office, tmp_path: Path) -> None:
    programme = rolled_back.programme
    rolled_back.clock.tomorrow()
    before = everything(rolled_back.database)
    deeds: list[Callable[[], object]] = [
        programme.close_round,
        lambda: programme.skip("holiday", independent=True),
        lambda: programme.override(["Ash Mill"], "accident", independent=True),
        lambda: programme.change_targets("growth", independent=True, add=["Elm Yard"]),
        lambda: programme.not_carried_out(1, "Ash Mill", "locked", independent=True),
        lambda: programme.carried_out(1, "Ash Mill", date(2026, 1, 6)),
        lambda: programme.rename_target("Ash Mill", "Ash Works", "sold", independent=True),
        lambda: programme.tell_details("Room 7", None),
        lambda: programme.end("over"),
        lambda: programme.report({"Ash Mill": 1}),
        lambda: programme.withdraw(["Ash Mill"], new_receipt()),
        lambda: programme.push("north", "monday", {"Ash Mill": 1}),
        lambda: programme.import_reports("hotline", [("1", "Ash Mill")]),
        lambda: programme.resume_imports("why"),
        programme.publish,
        lambda: programme.publish(tmp_path / "another folder"),
    ]
    for deed in deeds:
        with pytest.raises(DeniableError, match=r"has more entries \(5\) than the database \(1\)"):
            deed()
    assert everything(rolled_back.database) == before


def test_a_lost_folder_stops_the_programme_until_somebody_says_so(office: Office, tmp_path: Path) -> None:
    """Otherwise an old copy of the database, published elsewhere, would draw its rounds again."""
    office.close()
    office.programme.publish(tmp_path / "public").rename(tmp_path / "moved")
    office.clock.tomorrow()
    for deed in (office.programme.close_round, lambda: office.programme.publish(tmp_path / "new")):
        with pytest.raises(DeniableError, match="put it back, from a copy if need be"):
            deed()
    office.programme.report({"Ash Mill": 1})  # reports are taken in all the same
    office.programme.publish(tmp_path / "new", lost=True)
    office.programme.close_round()
    office.programme.publish(tmp_path / "elsewhere")


def _forge(transcript: Path) -> None:
    *lines, _ = transcript.read_text(encoding="ascii").splitlines()
    forged = '{"entries":999,"root":"' + "0" * 64 + '","signature":"' + "0" * 128 + '"}'
    transcript.write_text("\n".join([*lines, forged, ""]), encoding="ascii")


def _pipe(transcript: Path) -> None:
    transcript.unlink()
    os.mkfifo(transcript)


def _link(transcript: Path) -> None:
    transcript.unlink()
    transcript.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("deed", "says"),
    [(_forge, "was altered: .*signed"), (_pipe, "must be an ordinary file"), (_link, "cannot read what was")],
)
def test_what_others_put_into_the_public_folder(
    office: Office, tmp_path: Path, deed: Callable[[Path], None], says: str
) -> None:
    """It neither holds the office up nor misleads it, and reports are taken in all the same."""
    office.close()
    transcript = office.programme.publish(tmp_path / "public") / "transcript.jsonl"
    kept = transcript.read_bytes()
    deed(transcript)
    office.clock.tomorrow()
    with pytest.raises(DeniableError, match=says):
        office.programme.close_round()
    transcript.unlink()
    transcript.write_bytes(kept)
    office.programme.close_round()


def test_a_restored_database_can_be_told_what_was_published(office: Office, tmp_path: Path) -> None:
    office.programme.backup(tmp_path / "backup")  # before the first publication
    office.close()
    public = office.programme.publish(tmp_path / "public")
    office.key.transcript.unlink()
    backup.restore(tmp_path / "backup", str(tmp_path / "restored.db"), public, office.key)
    other = Programme.open(str(tmp_path / "restored.db"), office.key, clock=office.clock)
    with pytest.raises(DeniableError, match="the database is an old one"):
        other.close_round()


def test_two_stories(office: Office, tmp_path: Path) -> None:
    """Two copies of the database that both go on, each with its own copy of the key: the second is stopped."""
    office.close()
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "backup")
    (tmp_path / "elsewhere").mkdir()
    key = KeyFile(Path(shutil.copy(office.key.path, tmp_path / "elsewhere")))
    other = restored(replace(office, key=key), tmp_path, tmp_path / "backup")
    other.programme.recover(tmp_path / "public", "the disk broke")
    other.close()  # nothing was published since
    office.close()
    office.programme.publish()
    other.clock.tomorrow()
    with pytest.raises(DeniableError, match="two databases of this programme were used"):
        other.programme.close_round()
    with pytest.raises(DeniableError, match="two databases of this programme were used"):
        other.programme.publish()


def test_a_recovery(rolled_back: Office, tmp_path: Path) -> None:
    programme, public = rolled_back.programme, tmp_path / "public"
    published = (public / "transcript.jsonl").read_text().splitlines()[:-1]
    with pytest.raises(DeniableError, match="the database is an old one"):
        programme.active_counts()
    with programme._access.looking() as transaction:
        before = counting.active(transaction)
    entry = programme.recover(public, "the disk broke")
    assert (entry.kind, entry.round, entry.own()["lost"]) == ("recovery", 6, 2)
    assert lines_of(rolled_back.database)[:-1] == published
    audited = {name for line in published[1:] for name in parse(line).own()["audits"]}
    assert programme.active_counts() == before | dict.fromkeys(audited, 0)
    rolled_back.close()
    programme.publish()
    report = verify(public, now=rolled_back.clock.now)
    assert (report.rounds, report.entries) == (6, 7)
    with pytest.raises(DeniableError, match="nothing is lost"):
        programme.recover(public, "once more")


EXPORT = [("1", "Ash Mill"), ("2", "Birch Works"), ("3", "Ash Mill")]


@pytest.mark.parametrize("first", [[], EXPORT[:1], EXPORT])
def test_after_a_recovery_nothing_counts_twice_whatever_comes_first(
    rolled_back: Office, tmp_path: Path, first: list[tuple[str, str]]
) -> None:
    """What an export brings may have been counted in the lost rounds."""
    programme = rolled_back.programme
    programme.recover(tmp_path / "public", "the disk broke")
    before = programme.active_counts()
    assert programme.status().is_paused
    assert programme.import_reports("hotline", first) == 0
    assert programme.import_reports("hotline", EXPORT) == 0
    assert programme.import_reports("a new hotline", EXPORT) == 0
    assert not programme.push("north", "monday", {"Ash Mill": 1})
    assert programme.active_counts() == before
    receipt = programme.report({"Ash Mill": 1})  # the receipt is new, so nobody entered this before
    assert programme.active_counts() == before | {"Ash Mill": before["Ash Mill"] + 1}
    programme.withdraw(["Ash Mill"], receipt)
    entry = programme.resume_imports("every hotline's export was imported once")
    assert (entry.kind, programme.status().is_paused) == ("resumption", False)
    assert programme.import_reports("hotline", [*EXPORT, ("4", "Ash Mill")]) == 1
    assert programme.push("north", "monday", {"Ash Mill": 1})
    assert programme.active_counts() == before | {"Ash Mill": before["Ash Mill"] + 1}
    rolled_back.close()
    programme.publish()
    assert verify(tmp_path / "public", now=rolled_back.clock.now).entries == 8


def test_after_a_recovery_reports_without_a_target_do_not_count_twice_either(
    rolled_back: Office, tmp_path: Path
) -> None:
    """Their channel had a target once, and may have one again."""
    programme = rolled_back.programme
    programme.recover(tmp_path / "public", "the disk broke")
    assert programme.import_reports("hotline", [("7", None), ("8", "Elm Yard"), ("9", "Ash Mill")]) == 0
    programme.resume_imports("every hotline's export was imported once")
    programme.change_targets("new", independent=True, add=["Elm Yard"])
    assert programme.import_reports("hotline", [("7", "Elm Yard"), ("8", "Elm Yard"), ("9", "Ash Mill")]) == 0
    assert programme.import_reports("hotline", [("10", None), ("11", "Fir Yard")]) == 0
    assert programme.import_reports("hotline", [("10", "Ash Mill"), ("11", "Elm Yard")]) == 2


def test_a_recovery_from_the_copy_beside_the_key(office: Office, tmp_path: Path) -> None:
    """The audit was shown, and the disk was lost before anything was published."""
    office.programme.backup(tmp_path / "backup")
    audited = office.close()
    backup.restore(tmp_path / "backup", str(tmp_path / "restored.db"), never_published=True)
    programme = Programme.open(str(tmp_path / "restored.db"), office.key, clock=office.clock)
    with pytest.raises(DeniableError, match="the database is an old one"):
        programme.close_round()
    programme.recover(None, "the disk broke")
    assert programme.close_round(1).audits == audited


def test_a_recovery_knows_where_the_programme_was_published(rolled_back: Office) -> None:
    entry = rolled_back.programme.recover(None, "the disk broke")
    assert (entry.kind, entry.number) == ("recovery", 6)


def test_a_recovery_from_an_old_copy_of_the_public_folder_changes_nothing(
    rolled_back: Office, office: Office, tmp_path: Path
) -> None:
    """Its entry would have the number of one that is published."""
    shutil.copytree(tmp_path / "public", tmp_path / "old")
    office.close()
    office.programme.publish()
    office.key.transcript.unlink()
    before = everything(rolled_back.database)
    with pytest.raises(DeniableError, match="has more entries"):
        rolled_back.programme.recover(tmp_path / "old", "the disk broke")
    assert everything(rolled_back.database) == before
    assert rolled_back.programme.recover(None, "the disk broke").number == 7


def test_a_recovery_with_tca_forgets_everything(database: str, tmp_path: Path) -> None:
    """The noise of the lost rounds is lost, and with it what kept their reports apart."""
    office = new_office(database, tmp_path, mechanism="tca", horizon=50)
    office.programme.publish(tmp_path / "public")
    office.programme.report({"Ash Mill": 2, "Birch Works": 2})
    office.close()
    office.programme.report({"Cedar Bank": 3})
    office.programme.backup(tmp_path / "backup")
    office.close()
    office.programme.publish()
    again = restored(office, tmp_path, tmp_path / "backup")
    again.programme.recover(tmp_path / "public", "the disk broke")
    assert again.programme.active_counts() == NONE
    again.close()
    again.programme.publish()
    assert verify(tmp_path / "public", now=again.clock.now).rounds == 3


def test_a_recovery_follows_every_kind_of_entry(office: Office, tmp_path: Path) -> None:
    programme = office.programme
    programme.report(dict.fromkeys(TARGETS, 2))
    programme.publish(tmp_path / "public")
    programme.backup(tmp_path / "backup")
    programme.override(["Ash Mill"], "accident", independent=False)
    programme.change_targets("a merger", independent=True, add=["Elm Yard"], remove=["Birch Works"])
    office.clock.tomorrow()
    programme.skip("holiday", independent=True)
    (audited,) = office.close()
    programme.not_carried_out(2, audited, "locked", independent=True)
    programme.publish()
    again = restored(office, tmp_path, tmp_path / "backup")
    again.programme.recover(tmp_path / "public", "the disk broke")
    assert again.programme.status().targets == ("Ash Mill", "Cedar Bank", "Dogwood Clinic", "Elm Yard")
    expected = {"Ash Mill": 0, "Cedar Bank": 2, "Dogwood Clinic": 2, "Elm Yard": 0} | {audited: 0}
    assert again.programme.active_counts() == expected
    again.programme.publish()
    assert verify(tmp_path / "public", now=again.clock.now).coverage == programme.status().coverage
    assert again.close()


def test_a_recovery_from_another_programmes_folder(rolled_back: Office, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = new_office(str(tmp_path / "second.db"), tmp_path / "second")
    for _ in range(3):
        second.close()
    second.programme.publish(tmp_path / "second" / "public")
    before = everything(rolled_back.database)
    with pytest.raises(DeniableError, match="is another programme"):
        rolled_back.programme.recover(tmp_path / "second" / "public", "the disk broke")
    assert everything(rolled_back.database) == before


def test_what_has_ended_stays_ended(rolled_back: Office, office: Office, tmp_path: Path) -> None:
    office.programme.end("over")
    office.programme.publish()
    with pytest.raises(DeniableError, match="the programme has ended, and nothing can come after its end"):
        rolled_back.programme.recover(tmp_path / "public", "the disk broke")


def test_what_is_published_is_remembered(office: Office, tmp_path: Path) -> None:
    office.programme.publish(tmp_path / "public")
    assert office.programme.status().folder == tmp_path / "public"
    office.close()
    assert (office.programme.status().published, office.programme.status().entries) == (0, 1)
    assert office.programme.publish() == tmp_path / "public"
    assert office.again().status().published == 1
    (row,) = rows(office.database, tables.standing)
    assert row["folder"] == str(tmp_path / "public")


def test_several_audits_a_round(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path, audits=3)
    office.programme.report(dict.fromkeys(TARGETS, 1))
    audited = office.close()
    assert len(set(audited)) == 3
    assert office.programme.active_counts() == {name: int(name not in audited) for name in TARGETS}


def test_a_programme_that_was_not_made_leaves_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: sa.Connection, *__: object) -> None:
        raise DeniableError("the disk is full")

    monkeypatch.setattr(Store, "_check_empty", fails)
    with pytest.raises(DeniableError, match="the disk is full"):
        new_office(str(tmp_path / "programme.db"), tmp_path)
    assert list(tmp_path.iterdir()) == []
