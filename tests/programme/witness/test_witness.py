"""A witness: it countersigns what continues the transcript that it saw last, once, and nothing else."""

import errno
import json
import os
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.programme.public.published import KEY, NAMES, Said, chained, drawn, fresh, made

from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.chain import signed_head
from deniable.programme.transcript.merkle import root
from deniable.programme.witness import witness as module
from deniable.programme.witness.notes import Checkpoint, office_key
from deniable.programme.witness.witness import Countersigned, Transcript, at_work

A, B, C, D = NAMES
SAID: list[Said] = [drawn(1, A), drawn(2, B), drawn(3, C), drawn(4, D), drawn(5, A)]
NOON = datetime(2026, 2, 2, 12, tzinfo=UTC)
NAME = "union.example"


def shown(said: Sequence[Said], parameters: Parameters | None = None) -> Transcript:
    """As the office with the programme's key would show it."""
    parameters = made() if parameters is None else parameters
    lines = [entry.line() for entry in chained(parameters, said)]
    return Transcript(parameters, lines, signed_head(KEY, parameters.digest, len(lines), root(lines)))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    with at_work(tmp_path / "union.key", NAME):
        return tmp_path / "union.key"


def countersigned(key: Path, said: Sequence[Said], now: datetime = NOON) -> Countersigned:
    with at_work(key) as witness:
        return witness.countersign(shown(said), now)


def test_a_transcript_that_grows(key: Path) -> None:
    first = countersigned(key, SAID[:2])
    second = countersigned(key, SAID, NOON + timedelta(hours=1, microseconds=700_000))
    assert (first.is_new, first.is_first, second.is_new, second.is_first) == (True, True, True, False)
    assert (first.seen.time, second.seen.time) == (NOON, NOON + timedelta(hours=1))
    with at_work(key) as witness:
        public = witness.key.public
    for done, said in ((first, SAID[:2]), (second, SAID)):
        note, lines = done.seen.note, shown(said).lines
        assert Checkpoint.parse(note.text) == Checkpoint(office_key(made()).name, len(lines), root(lines))
        assert len(note.signed_by(office_key(made()))) == len(note.signed_by(public)) == 1


def test_a_checkpoint_is_countersigned_once(key: Path) -> None:
    first = countersigned(key, SAID)
    again = countersigned(key, SAID, NOON + timedelta(days=1))
    assert (again.seen.note, again.is_new) == (first.seen.note, False)


def test_a_programme_without_an_entry(key: Path) -> None:
    assert countersigned(key, []).is_first
    assert not countersigned(key, []).is_new
    assert not countersigned(key, SAID).is_first


def test_a_second_history_is_refused_and_kept(key: Path) -> None:
    first = countersigned(key, SAID[:3])
    rewritten = [SAID[0], drawn(2, D), *SAID[2:]]
    before = (key.parent / "union.key.seen").read_bytes()
    for _ in range(2):  # as often as cron asks
        with pytest.raises(
            DeniableError, match="entry 2 is not the one that you countersigned on 2026-02-02"
        ) as refused:
            countersigned(key, rewritten, NOON + timedelta(hours=1))
    (kept,) = key.parent.glob("union.key.other-*.jsonl")
    assert str(kept) in str(refused.value)
    assert str(key.parent / "union.key.seen") in str(refused.value)
    other = shown(rewritten)
    assert kept.read_text().splitlines() == [*other.lines, other.head_line]
    assert (key.parent / "union.key.seen").read_bytes() == before
    assert countersigned(key, SAID[:3]).seen == first.seen


def test_entries_that_were_taken_back_are_refused(key: Path) -> None:
    countersigned(key, SAID[:3])
    with pytest.raises(DeniableError, match="the folder has 2 entries, and you countersigned 3"):
        countersigned(key, SAID[:2])
    with pytest.raises(DeniableError, match="entry 1 is not the one"):
        countersigned(key, [drawn(1, D)])
    assert countersigned(key, SAID).is_new


def test_a_clock_that_went_back_is_refused(key: Path) -> None:
    countersigned(key, SAID[:2])
    for now in (NOON - timedelta(seconds=1), datetime(1969, 1, 1, tzinfo=UTC)):
        with pytest.raises(DeniableError, match="set the clock right"):
            countersigned(key, SAID, now)
    assert countersigned(key, SAID, NOON).seen.time == NOON
    assert not countersigned(key, SAID, NOON - timedelta(days=1)).is_new  # what was signed before is given out


def test_one_key_for_several_programmes(key: Path) -> None:
    other = made(name="Harbours")
    with at_work(key) as witness:
        witness.countersign(shown(SAID), NOON)
        done = witness.countersign(shown([drawn(1, D)], other), NOON)
        assert done.is_first
        with pytest.raises(DeniableError, match="clock"):
            witness.countersign(shown([drawn(1, D), drawn(2, A)], other), NOON - timedelta(seconds=1))
    with at_work(key) as witness:
        assert not witness.countersign(shown(SAID), NOON).is_new
        assert not witness.countersign(shown([drawn(1, D)], other), NOON).is_new
        with pytest.raises(DeniableError, match="entry 1"):
            witness.countersign(shown([drawn(1, A)], other), NOON)


class Killed(BaseException):
    """What no handler of errors sees."""


def test_killed_while_it_remembers(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is remembered, nothing was signed that anyone has; afterwards the same is given out again."""
    countersigned(key, SAID[:2])

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(module, "replace_file", killed)
        with pytest.raises(Killed):
            countersigned(key, SAID[:3])
    assert countersigned(key, SAID[:2]).is_new is False
    with monkeypatch.context() as patched:
        patched.setattr(module, "sync_folder", killed)
        with pytest.raises(Killed):
            countersigned(key, SAID[:3])
    assert countersigned(key, SAID[:3], NOON + timedelta(hours=1)).seen.time == NOON
    assert countersigned(key, SAID).is_new


def test_killed_between_memory_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise Killed

    path = tmp_path / "union.key"
    with monkeypatch.context() as patched:
        patched.setattr("deniable.programme.witness.keys.write_new", killed)
        with pytest.raises(Killed), at_work(path, NAME):
            pass
    assert [file.name for file in tmp_path.iterdir()] == ["union.key.seen"]
    with at_work(path, NAME) as witness:
        assert witness.seen == {}


def test_the_name_is_given_once(key: Path) -> None:
    with at_work(key, NAME) as witness:
        assert witness.key.name == NAME
    with pytest.raises(DeniableError, match=r"is that of union\.example"), at_work(key, "paper.example"):
        pass
    with pytest.raises(DeniableError, match="--name"), at_work(key.parent / "other.key"):
        pass
    with pytest.raises(DeniableError, match="address"), at_work(key.parent / "other.key", "the union"):
        pass
    assert sorted(file.name for file in key.parent.iterdir()) == ["union.key", "union.key.seen"]


def test_a_new_key_does_not_take_over_what_another_saw(key: Path) -> None:
    countersigned(key, SAID)
    key.unlink()
    with pytest.raises(DeniableError, match="belongs to a key that was here before"), at_work(key, NAME):
        pass
    assert not key.exists()


def _gone(memory: Path) -> None:
    memory.unlink()


def _empty(memory: Path) -> None:
    memory.write_bytes(b"")


def _of_another_version(memory: Path) -> None:
    memory.write_text(memory.read_text().replace(module.FORMAT, "deniable-witness/0"))


def _with_another_line(memory: Path) -> None:
    memory.write_text(memory.read_text().replace("Ashford", "Calais"))


def _without_a_line(memory: Path) -> None:
    stored = json.loads(memory.read_bytes())
    next(iter(stored["programmes"].values()))["lines"].pop()
    memory.write_text(json.dumps(stored))


def _without_its_own_signature(memory: Path) -> None:
    stored = json.loads(memory.read_bytes())
    (one,) = stored["programmes"].values()
    one["note"] = "".join(one["note"].splitlines(keepends=True)[:-1])
    memory.write_text(json.dumps(stored))


def _a_list(memory: Path) -> None:
    memory.write_text("[]")


@pytest.mark.parametrize(
    "spoil",
    [_gone, _empty, _of_another_version, _with_another_line, _without_a_line, _without_its_own_signature, _a_list],
)
def test_a_memory_that_is_lost_or_changed_is_refused(key: Path, spoil: Callable[[Path], None]) -> None:
    """Otherwise a second history would be countersigned as if it were the first."""
    countersigned(key, SAID[:3])
    memory, copy = key.parent / "union.key.seen", key.parent / "copy"
    shutil.copy(memory, copy)
    spoil(memory)
    with pytest.raises(DeniableError, match=r"union\.key\.seen cannot be read.*put back the newest"):
        countersigned(key, [drawn(1, D)])
    shutil.copy(copy, memory)
    assert countersigned(key, SAID).is_new


def test_one_process_at_a_time(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    with at_work(key), pytest.raises(DeniableError, match="another process"), at_work(key):
        pass
    assert countersigned(key, SAID).is_new


@pytest.mark.parametrize("error", [OSError("no space left"), TimeoutError("no answer")])
def test_what_fails_under_the_lock_is_not_said_about_the_lock(key: Path, error: OSError) -> None:
    with pytest.raises(type(error), match=str(error)), at_work(key):
        raise error
    assert countersigned(key, SAID).is_new


def test_a_file_system_without_locks(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_descriptor: int, _until: float) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("deniable.storage.files._take", refused)
    with pytest.raises(DeniableError, match="cannot be locked against other processes"), at_work(key):
        pass


def test_a_key_by_a_link(key: Path) -> None:
    countersigned(key, SAID[:3])
    (key.parent / "link").mkdir()
    link = key.parent / "link" / "key"
    link.symlink_to(key)
    with pytest.raises(DeniableError, match="entry 1"):
        countersigned(link, [drawn(1, D)])


def test_what_cannot_be_written(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "replace_file", full)
    with pytest.raises(DeniableError, match="the disk is full"):
        countersigned(key, SAID)


def test_a_commitment_is_part_of_the_history(key: Path) -> None:
    countersigned(key, SAID[:3])
    with pytest.raises(DeniableError, match="entry 3"):
        countersigned(key, [*SAID[:2], drawn(3, C, commitment=fresh(77))])
