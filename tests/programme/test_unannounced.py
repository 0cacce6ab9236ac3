"""A programme with unannounced visits, as its office drives it: names follow whatever happens, and not before."""

import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.programme.insight import everything, lines_of
from tests.programme.offices import TARGETS, Clock, Office, make_tables_at_once, new_office
from tests.programme.public.published import lines_in

from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.programme import backup, rounds
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.secrets import frozen
from deniable.programme.secrets.capsules import Selected
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript import closings
from deniable.programme.transcript.hidden import capsule_digits, names_commitment
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.unannounced import Reveal, Selection


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return new_office(str(tmp_path / "programme.db"), tmp_path, reveal_after=2, cooldown=1, max_gap=6)


def names_in(folder: Path) -> dict[int, tuple[str, ...]]:
    """The names that are public, by round; the folder is checked."""
    verify(folder)
    entries = [parse(line) for line in lines_in(folder)]
    return {entry.of: entry.audits for entry in entries if isinstance(entry, Reveal)}


def test_the_office_knows_the_names_and_the_public_two_rounds_later(office: Office, tmp_path: Path) -> None:
    public, drawn = tmp_path / "public", dict[int, tuple[str, ...]]()
    for number in range(1, 7):
        office.programme.report({TARGETS[0]: 3})
        drawn[number] = office.close()
        office.programme.publish(public)
        assert names_in(public) == {one: drawn[one] for one in range(1, number - 1)}
        secret = office.programme.not_public_yet()
        assert {one.round: one.audits for one in secret} == {one: drawn[one] for one in drawn if one >= number - 1}
        assert [one.secret_until for one in secret] == [one.round + 2 for one in secret]
    again = office.programme.close_round(6)
    assert (again.audits, again.already, again.secret_until) == (drawn[6], True, 8)
    assert office.again().close_round(2).audits == drawn[2]
    assert office.programme.close_round(2).secret_until is None


def test_a_skip_reveals_and_the_end_reveals_all(office: Office, tmp_path: Path) -> None:
    drawn = {1: office.close(), 2: office.close()}
    receipt = office.programme.report(dict.fromkeys(TARGETS, 1))
    office.clock.now = office.programme.parameters.calendar.due(3)
    office.programme.skip("a public holiday", independent=True)
    public = office.programme.publish(tmp_path / "public")
    assert names_in(public) == {1: drawn[1]}
    assert office.programme.withdraw(TARGETS, receipt) == ()  # a reveal ends no run
    drawn[4] = office.close()
    drawn[5] = office.close()
    office.programme.end("the law was repealed")
    office.programme.publish()
    assert names_in(public) == drawn
    assert parse(lines_in(public)[-1]).kind == "end"


def test_a_hidden_draw_ends_what_a_visible_one_ends(office: Office) -> None:
    receipt = office.programme.report(dict.fromkeys(TARGETS, 2))
    (drawn,) = office.close()
    assert office.programme.active_counts()[drawn] == 0
    with pytest.raises(DeniableError, match="nothing was taken back"):
        office.programme.withdraw(TARGETS, receipt)


def test_after_a_recovery_the_names_follow_in_time(office: Office, tmp_path: Path) -> None:
    """Of rounds drawn after the backup as well, and their targets' reports are gone."""
    programme, public = office.programme, tmp_path / "public"
    drawn = {1: office.close()}
    programme.publish(public)
    programme.report(dict.fromkeys(TARGETS, 5))
    programme.backup(tmp_path / "backup")
    other = KeyFile(tmp_path / "other.key")
    programme.rekey(other)  # the capsules of later rounds must open with the backup's secrets, under the old key
    drawn |= {2: office.close(), 3: office.close()}
    programme.publish()
    programme.close()
    shutil.copy(tmp_path / "other.key.transcript", tmp_path / "programme.key.transcript")
    backup.restore(tmp_path / "backup", str(tmp_path / "restored.db"))
    again = Programme.open(str(tmp_path / "restored.db"), office.key, clock=office.clock)
    again.recover(None, "the disk broke")
    assert {one.round: one.audits for one in again.not_public_yet()} == {2: drawn[2], 3: drawn[3]}
    ended = {name for number in (2, 3) for name in drawn[number]}
    assert {name for name, count in again.active_counts().items() if count == 0} == ended
    for number in (4, 5):
        office.clock.now = again.parameters.calendar.due(number)
        drawn[number] = again.close_round().audits
    again.publish()
    assert names_in(public) == {number: drawn[number] for number in (1, 2, 3)}


def test_targets_that_leave_or_are_audited_by_hand_meanwhile(office: Office, tmp_path: Path) -> None:
    (first,) = office.close()
    with pytest.raises(DeniableError, match="not public before round 3 is closed"):
        office.programme.not_carried_out(1, first, "strike", independent=True)
    office.programme.change_targets("a merger", independent=True, add=["Elm Yard"], remove=[first])
    (second,) = office.close()
    office.programme.override([second], "a court order", independent=True)
    third = office.close()
    office.programme.not_carried_out(1, first, "strike", independent=True)
    fourth = office.close()
    public = office.programme.publish(tmp_path / "public")
    assert names_in(public) == {1: (first,), 2: (second,)}
    assert {one.round: one.audits for one in office.programme.not_public_yet()} == {3: third, 4: fourth}
    page = (public / "index.html").read_text(encoding="utf-8")
    assert "names follow" in page
    assert "(not carried out)" in page


def test_a_draw_is_on_the_public_work_list_once_its_names_are_public(office: Office, tmp_path: Path) -> None:
    """The office has it at once, by the target's present name, and records it no sooner than the public has it."""
    programme = office.programme
    (first,) = office.close()
    assert programme.work_list() == ()
    assert [(one.round, one.target, one.secret_until) for one in programme.whole_work_list()] == [(1, first, 3)]
    for name in TARGETS:
        with pytest.raises(DeniableError, match="names of round 1 are not public before round 3 is closed"):
            programme.carried_out(1, name, date(2026, 1, 6))
    programme.rename_target(first, "Elm Yard", "It was sold.", independent=True)
    (second,) = office.close()
    third = office.close()[0]
    assert [(one.round, one.target) for one in programme.work_list()] == [(1, "Elm Yard")]
    assert [one.target for one in programme.whole_work_list()] == ["Elm Yard", second, third]
    programme.carried_out(1, "Elm Yard", date(2026, 1, 6))
    public = programme.publish(tmp_path / "public")
    assert names_in(public) == {1: ("Elm Yard",)}
    assert verify(public).pages == {"index.html": "matches"}
    assert "visited on" in (public / "index.html").read_text(encoding="utf-8")


def test_a_change_that_the_longest_gap_rules_out_is_refused(tmp_path: Path) -> None:
    """The public cannot tell who is due; the office can."""
    tight = new_office(str(tmp_path / "programme.db"), tmp_path, reveal_after=3, max_gap=4)
    before = tight.close()
    with pytest.raises(DeniableError, match="gap, 4, cannot be kept"):
        tight.programme.change_targets("growth", independent=True, add=["Elm Yard", "Fir Hall"])
    assert len({*before, *tight.close(), *tight.close(), *tight.close()}) == 4
    assert not tight.programme.status().overdue


def test_a_round_whose_names_are_overdue_is_told(office: Office, tmp_path: Path) -> None:
    office.close()
    public = office.programme.publish(tmp_path / "public")
    now = office.clock.now
    assert verify(public, now=now).warnings == ()
    assert verify(public, now=now).to_dict()["hidden"] == [1]
    assert any("names of round 1" in one for one in verify(public, now=now + timedelta(days=2)).warnings)


def test_names_that_no_round_reveals_any_more_are_told_until_the_end(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path, mechanism="tca", horizon=2, reveal_after=1)
    office.close()
    office.close()
    public = office.programme.publish(tmp_path / "public")
    assert verify(public, now=office.clock.now).warnings == ()
    office.clock.now += timedelta(days=1)
    found = verify(public, now=office.clock.now)
    assert (found.overdue, found.warnings) == ((), ("the names of round 2 are due but not in the transcript",))
    office.programme.end("All is audited.")
    assert verify(office.programme.publish(), now=office.clock.now).warnings == ()


def test_a_transcript_without_names_that_are_due_is_refused(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "reveal", lambda _: None)
    for _ in range(3):
        office.close()
    with pytest.raises(DeniableError, match="names of round 1 are due, and must be revealed"):
        verify(office.programme.publish(tmp_path / "public"))


def check_without_deniable(public: Path) -> str:
    """What the program in VERIFY.md says about the names."""
    program = re.findall("```python\n(.*?)```", (public / "VERIFY.md").read_text("utf-8"), re.DOTALL)[1]
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=public, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_a_reader_without_deniable_checks_the_names(office: Office, tmp_path: Path) -> None:
    for _ in range(4):
        office.close()
    public = office.programme.publish(tmp_path / "public")
    assert check_without_deniable(public) == "all names fit; those of 2 rounds follow\n"
    lines = (public / "transcript.jsonl").read_text("ascii").splitlines(keepends=True)
    (place, last) = (number for number, line in enumerate(lines) if '"kind":"reveal"' in line)
    salt = json.loads(lines[place])["salt"]
    changed = [*lines[:place], lines[place].replace(salt, salt[::-1]), *lines[place + 1 :]]
    (public / "transcript.jsonl").write_text("".join(changed), "ascii")
    assert "names of round 1 are not those that were fixed" in check_without_deniable(public)
    (public / "transcript.jsonl").write_text("".join([*lines[:last], *lines[last + 1 :]]), "ascii")
    assert "names of round 2 are due, and missing" in check_without_deniable(public)


RANDOM = re.compile(r"[0-9a-f]{64,}|^[0-9A-Za-z+/]{43}=$|(?<= )[0-9A-Za-z+/]{91}=$", re.MULTILINE)
"""Hashes, signatures and capsules; of a checkpoint in base64."""


def seen_without_the_key(template: Path, folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Whom a round draws with this noise, and all that is to be seen of it without the key: files and their times, with
    zeros for what looks random, and the sizes of everything in the database.
    """
    shutil.copytree(template, folder)
    clock = Clock(datetime(2026, 1, 6, tzinfo=UTC))
    programme = Programme.open(str(folder / "programme.db"), KeyFile(folder / "programme.key"), clock=clock)
    monkeypatch.setattr(frozen, "noise_of_draw", lambda *_: ReplayNoise(seed.to_bytes(32, "big")))
    drawn = programme.close_round(1).audits
    public = programme.publish(folder / "public")
    files = [*public.iterdir(), folder / "programme.key.transcript"]
    contents = {file.name: RANDOM.sub(lambda found: "0" * len(found[0]), file.read_text("utf-8")) for file in files}
    times = {file.name: file.stat().st_mtime for file in public.iterdir()}
    sizes = {
        name: [[len(value) if isinstance(value, bytes | str) else value for value in row.values()] for row in rows]
        for name, rows in everything(str(folder / "programme.db")).items()
        if name != "standing"  # it names the folder
    }
    programme.close()
    return drawn, (contents, times, sizes)


def compared(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[Any]:
    """What was to be seen in worlds that drew each of the targets."""
    names = ("A", "Birch Works and Sons of the Northern Valley", "Cedar Bank")
    template = folder / "template"
    template.mkdir()
    new_office(str(template / "programme.db"), template, targets=names, **settings).programme.close()
    worlds = dict[Any, Any]()
    while len(worlds) < len(names):
        seed = sum(1 for _ in folder.iterdir())
        drawn, seen = seen_without_the_key(template, folder / f"{seed}", seed, monkeypatch)
        worlds[drawn] = seen
    return [*worlds.values()]


def test_nothing_that_is_seen_depends_on_who_was_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = compared(tmp_path, monkeypatch, reveal_after=1)
    assert all(one == first for one in others)


def test_what_is_seen_of_announced_visits_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    first, *others = compared(tmp_path, monkeypatch)
    assert all(one != first for one in others)


def test_a_capsule_that_is_longer_for_some_targets_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug."""
    sealed, length = Selected.sealed, capsule_digits(1)
    opened: Any = Selected.opened
    monkeypatch.setattr(Selected, "sealed", lambda self, *given: sealed(self, *given) + "00" * self.targets[0])
    monkeypatch.setattr(Selected, "opened", lambda *given: opened(*given[:-1], given[-1][:length]))
    monkeypatch.setattr(closings, "capsule_digits", lambda _: AnyLength())
    first, *others = compared(tmp_path, monkeypatch, reveal_after=1)
    assert all(one != first for one in others)


class AnyLength(int):
    """A length that no capsule is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


def test_a_commitment_without_a_salt_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: a reader hashes one target after the other."""
    monkeypatch.setattr(rounds, "secrets", SimpleNamespace(token_bytes=bytes))
    office = new_office(str(tmp_path / "programme.db"), tmp_path, reveal_after=1)
    assert office.close() == guessed(office)


def guessed(office: Office) -> tuple[str, ...] | None:
    """The names of round 1, found by hashing every target without a salt."""
    (line,) = lines_of(office.database)
    selection, programme = parse(line), office.programme.parameters.programme
    assert isinstance(selection, Selection)
    found = [
        (name,)
        for number, name in enumerate(TARGETS)
        if names_commitment(programme, 1, bytes(32), [number]) == selection.names
    ]
    return found[0] if found else None


def test_names_are_not_found_by_hashing_every_target(office: Office) -> None:
    office.close()
    assert guessed(office) is None
