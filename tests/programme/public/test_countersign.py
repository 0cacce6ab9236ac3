"""A witness at a public folder: from the office's publication to a reader's check, and everything in between."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.programme.offices import Clock, new_office
from tests.programme.public.published import NAMES, Said, chained, drawn, made, write

from deniable.errors import DeniableError
from deniable.programme.public import countersign as module
from deniable.programme.public.countersign import Countersigning, countersign
from deniable.programme.public.publish import contents
from deniable.programme.public.verify import verify
from deniable.programme.witness.notes import Note

A, B, C, D = NAMES
SAID: list[Said] = [drawn(1, A), drawn(2, B), drawn(3, C)]


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 1, 27, 9, tzinfo=UTC))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shown(tmp_path / "public", SAID)


def shown(folder: Path, said: Sequence[Said]) -> Path:
    write(folder, made(), chained(made(), said))
    return folder


def seen(folder: Path, key: str, clock: Clock, out: Path | None = None) -> Countersigning:
    path = folder.parent / f"{key}.key"
    return countersign(folder, path, name=None if path.exists() else f"{key}.example", out=out, clock=clock)


def test_the_whole_story(tmp_path: Path, clock: Clock) -> None:
    """An office publishes, two witnesses countersign; then it goes on from a database that was put back."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    public = office.programme.publish(tmp_path / "public")
    office.close()
    office.programme.publish()
    saved = tmp_path / "saved"
    shutil.copytree(tmp_path, saved, ignore=shutil.ignore_patterns("saved"))
    clock.now = office.clock.now
    keys = [seen(public, name, clock).key for name in ("union", "paper")]
    office.close()
    office.programme.publish()
    clock.now = office.clock.now + timedelta(hours=1)
    for name in ("union", "paper"):
        assert seen(public, name, clock).countersigned.is_new
    report = verify(public, now=clock.now, witnesses=keys, at_least=2)
    assert [report.seen_by(entry) for entry in (1, 2, 3)] == [2, 2, 0]
    assert [report.seen_by(entry, before=office.clock.now) for entry in (1, 2)] == [2, 0]

    # The office puts back its own folder, key and database, and closes round 2 otherwise.
    office.programme.close()
    for path in saved.iterdir():
        target = tmp_path / path.name
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
        shutil.move(path, target)
    other = office.again()
    other.skip("a flood", independent=True)
    other.publish()
    with pytest.raises(DeniableError, match="entry 2 is not the one that you countersigned"):
        seen(public, "union", clock)
    assert verify(public, now=clock.now).entries == 2  # no copy alone shows it


def test_a_second_history_is_shown_by_the_countersignature_of_the_first(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    key = seen(folder, "union", clock).key
    other = shown(tmp_path / "other", [SAID[0], drawn(2, D), SAID[2]])
    assert verify(other, now=clock.now, witnesses=[key]).seen_by(0) == 0
    shutil.copytree(folder / "cosignatures", other / "cosignatures")
    with pytest.raises(DeniableError, match=r"union\.example countersigned another history of 3 entries"):
        verify(other, now=clock.now, witnesses=[key])
    assert verify(folder, now=clock.now, witnesses=[key], at_least=1).seen_by(3) == 1


def test_what_does_not_verify_is_not_countersigned(folder: Path, clock: Clock) -> None:
    seen(folder, "union", clock)
    before = (folder.parent / "union.key.seen").read_bytes()
    shown(folder, [*SAID, drawn(4, D)])
    path = folder / "transcript.jsonl"
    path.write_text(path.read_text().replace(D, A))
    with pytest.raises(DeniableError, match="signed head"):
        seen(folder, "union", clock)
    write(folder, made(), chained(made(), [*SAID, drawn(5, D)]))
    with pytest.raises(DeniableError, match="round 4 is open"):
        seen(folder, "union", clock)
    assert (folder.parent / "union.key.seen").read_bytes() == before
    assert [file.name for file in (folder / "cosignatures" / "union.example").iterdir()] == ["3"]


def test_no_key_is_made_for_a_folder_that_does_not_verify(folder: Path, clock: Clock) -> None:
    (folder / "programme.json").write_bytes(b"{}")
    with pytest.raises(DeniableError):
        seen(folder, "union", clock)
    assert sorted(file.name for file in folder.parent.iterdir()) == ["public"]


def test_the_clock_is_read_after_the_folder(folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise entries could be made after the time that the countersignature names."""

    def slowly(*arguments: object, **options: object) -> object:
        found = verify(*arguments, **options)  # type: ignore[arg-type]
        clock.now += timedelta(minutes=5)
        return found

    monkeypatch.setattr(module, "verify", slowly)
    started = clock.now
    assert seen(folder, "union", clock).countersigned.seen.time == started + timedelta(minutes=5)


def test_killed_before_the_countersignature_is_written(
    folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(module, "put_note", killed)
        with pytest.raises(Killed):
            seen(folder, "union", clock)
    assert not (folder / "cosignatures").exists()
    first = clock.now
    clock.tomorrow()
    done = seen(folder, "union", clock)
    assert (done.countersigned.is_new, done.countersigned.seen.time) == (False, first)
    assert verify(folder, now=clock.now, witnesses=[done.key], at_least=1).seen_by(3, before=clock.now) == 1
    shown(folder, [*SAID, drawn(4, D)])
    assert seen(folder, "union", clock).countersigned.is_new


def test_a_countersignature_that_was_taken_away_is_put_back(folder: Path, clock: Clock) -> None:
    done = seen(folder, "union", clock)
    content = done.file.read_bytes()
    shutil.rmtree(folder / "cosignatures")
    assert seen(folder, "union", clock).file.read_bytes() == content


def test_into_another_file(folder: Path, clock: Clock) -> None:
    """To be sent to the office; anyone may put it into the folder."""
    out = folder.parent / "note"
    done = seen(folder, "union", clock, out)
    assert (done.file, (folder / "cosignatures").exists()) == (out, False)
    assert Note.parse(out.read_bytes()).signed_by(done.key)
    shown(folder, [*SAID, drawn(4, D)])
    newer = seen(folder, "union", clock, out)
    assert Note.parse(out.read_bytes()) == newer.countersigned.seen.note
    (folder / "cosignatures").mkdir()
    shutil.copy(out, folder / "cosignatures" / "from the union")
    assert verify(folder, now=clock.now, witnesses=[done.key], at_least=1).seen_by(4) == 1


def test_another_file_is_not_overwritten(folder: Path, clock: Clock) -> None:
    seen(folder, "union", clock)
    for name in ("union.key", "union.key.seen", "public", "public/programme.json"):
        with pytest.raises(DeniableError, match="cannot write"):
            seen(folder, "union", clock, folder.parent / name)
    assert seen(folder, "union", clock).countersigned.seen.lines


@pytest.mark.parametrize("name", ["union.key", "below/union.key", "../public/union.key"])
def test_the_key_is_not_in_the_public_folder(folder: Path, clock: Clock, name: str) -> None:
    (folder / "below").mkdir()
    with pytest.raises(DeniableError, match="must not be in the public folder"):
        countersign(folder, folder / name, name="union.example", clock=clock)
    assert not (folder / name).exists()


def test_a_witnesss_key_stops_a_publication(tmp_path: Path, clock: Clock) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    public = office.programme.publish(tmp_path / "public")
    seen(public, "union", clock)
    shutil.copy(tmp_path / "union.key", public / "any name")
    with pytest.raises(DeniableError, match="the key is in the folder"):
        office.programme.publish()


def test_what_is_published_does_not_depend_on_witnesses(tmp_path: Path, clock: Clock) -> None:
    """Page and instructions follow from the transcript alone."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    public = office.programme.publish(tmp_path / "public")
    seen(public, "union", clock)
    office.close()
    office.programme.publish()
    seen(public, "union", clock)
    office.programme.publish()
    report = verify(public, now=clock.now)
    expected = contents(report.parameters, report.lines, report.head_line)
    assert {name: (public / name).read_bytes() for name in expected} == expected
    assert {path.name for path in public.iterdir()} == {*expected, "cosignatures"}


def test_a_witness_whose_memory_was_put_back_signs_no_second_history(folder: Path, clock: Clock) -> None:
    seen(shown(folder, SAID[:1]), "union", clock)
    memory = folder.parent / "union.key.seen"
    before = memory.read_bytes()
    seen(shown(folder, SAID[:2]), "union", clock)
    memory.write_bytes(before)
    with pytest.raises(DeniableError, match="another history"):
        seen(shown(folder, [SAID[0], drawn(2, D)]), "union", clock)
    shutil.rmtree(folder / "cosignatures")  # the control: without its own notes, it would
    assert seen(folder, "union", clock).countersigned.is_new
