"""What the world sees, what errors say and what stays on the disk: none of it tells a count."""

import hashlib
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.programme.insight import blobs_of, put, put_page, rows
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.programme import backup, creation
from deniable.programme.imports.imported_reports import ENTERED
from deniable.programme.programme import Programme
from deniable.programme.receipt import new_receipt
from deniable.programme.secrets import frozen
from deniable.programme.secrets.keys import KeyFile
from deniable.storage import store, tables
from deniable.storage.store import Store

# The public folder.


def stream(seed: int) -> Callable[[int], bytes]:
    """The same "entropy" every time."""
    numbers = count()
    return lambda size: hashlib.shake_256(f"{seed} {next(numbers)}".encode()).digest(size)


def office_with(
    database: str, folder: Path, rounds: Sequence[dict[str, int]], **settings: Any
) -> tuple[list[tuple[str, ...]], Office]:
    """An office that draws the same seeds as the others, with these reports; and its audits."""
    folder.mkdir()
    office = new_office(database, folder, entropy=stream(1), **settings)
    audits = []
    for reports in rounds:
        if reports:
            office.programme.report(reports)
        audits.append(office.close())
    return audits, office


def seen(folder: Path) -> dict[str, tuple[bytes, float, int]]:
    """All that can be seen of the files in a folder."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime, path.stat().st_mode) for path in sorted(folder.iterdir())
    }


ROUNDS: list[dict[str, int]] = [{"Ash Mill": 2}, {"Birch Works": 1}, {}, {"Cedar Bank": 3}, {"Ash Mill": 1}, {}]


def others() -> Iterator[list[dict[str, int]]]:
    """The same reports, and one more."""
    for number in range(len(ROUNDS)):
        for target in TARGETS:
            more = [dict(reports) for reports in ROUNDS]
            more[number][target] = more[number].get(target, 0) + 1
            yield more


@pytest.mark.parametrize("settings", [{}, {"mechanism": "tca", "horizon": 20}], ids=["race", "tca"])
def test_with_the_same_audits_the_public_folder_is_the_same_to_the_byte(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "new_key", lambda: bytes(range(32)))
    # Bound to the seed alone, so that one report more often leads to the same audits.
    monkeypatch.setattr(frozen, "noise_of_draw", lambda _, __, seed, *___: ReplayNoise(seed))
    audits, office = office_with(str(tmp_path / "0.db"), tmp_path / "0", ROUNDS, **settings)
    public = seen(office.programme.publish(tmp_path / "0" / "public"))
    same = 0
    for number, rounds in enumerate(others(), start=1):
        other_audits, other = office_with(str(tmp_path / f"{number}.db"), tmp_path / str(number), rounds, **settings)
        if other_audits == audits:
            assert seen(other.programme.publish(tmp_path / str(number) / "public")) == public
            same += 1
        if same == 5:
            return
    pytest.fail("no other reports lead to these audits")


def test_with_other_audits_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the folder does tell what it is there to tell."""
    monkeypatch.setattr(creation, "new_key", lambda: bytes(range(32)))
    audits, office = office_with(str(tmp_path / "0.db"), tmp_path / "0", ROUNDS)
    quiet = next(target for target in TARGETS if (target,) != audits[0])
    loud = [{quiet: 10_000}, *ROUNDS[1:]]
    other_audits, other = office_with(str(tmp_path / "1.db"), tmp_path / "1", loud)
    assert other_audits[0] == (quiet,)
    public = office.programme.publish(tmp_path / "0" / "public")
    assert seen(other.programme.publish(tmp_path / "1" / "public")) != seen(public)


def test_what_is_stored_has_the_same_length_whatever_was_reported(database: str, tmp_path: Path) -> None:
    """Ciphertexts keep lengths, and so do backups."""
    office = new_office(database, tmp_path)
    lengths, lengths_of_pages, sizes = set(), set(), set()
    for number, reports in enumerate([{"Ash Mill": 1}, {"Ash Mill": 900_000_000}, dict.fromkeys(TARGETS, 12_345)]):
        office.programme.report(reports)
        lengths.add(tuple((name, len(blob)) for name, blob in blobs_of(database).items()))
        lengths_of_pages |= {len(row["blob"]) for row in rows(database, tables.pages)}
        office.programme.backup(tmp_path / f"backup {number}")
        sizes.add((tmp_path / f"backup {number}").stat().st_size)
        office.count()  # the next page is written over the last one
        lengths.add(tuple((name, len(blob)) for name, blob in blobs_of(database).items()))
    assert len(lengths) == len(lengths_of_pages) == len(sizes) == 1


# What is deleted.


def traces(blob: bytes) -> list[bytes]:
    """Pieces by which a ciphertext would be found, wherever a page ends."""
    return [blob[at : at + 24] for at in range(0, len(blob) - 23, 500)]


def found(database: str, blobs: set[bytes]) -> set[bytes]:
    """Those of the ciphertexts of which anything is left in the database's files."""
    if "://" in database:
        files = _postgres_files(database)
    else:
        files = [path.read_bytes() for path in Path(database).parent.glob(f"{Path(database).name}*")]
    return {blob for blob in blobs if any(trace in file for file in files for trace in traces(blob))}


def _postgres_files(database: str) -> list[bytes]:
    """The table and what it stores out of line, as they are on the disk."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        rows = connection.execute(
            "SELECT pg_read_binary_file(pg_relation_filepath(relation)) FROM pg_class, "
            "LATERAL (VALUES (pg_class.oid), (reltoastrelid)) AS both_ (relation) WHERE relname = 'secrets'"
        ).fetchall()
    return [bytes(row[0]) for row in rows]


def stale_after(office: Office, deeds: Sequence[Callable[[Programme], object]]) -> tuple[set[bytes], set[bytes]]:
    """All ciphertexts that were stored before the last deed and are no longer; and all that are stored after it."""
    before: set[bytes] = set()
    for deed in deeds:
        before |= set(blobs_of(office.database).values())
        office.clock.now = office.programme.status().due
        deed(office.programme)
    now = set(blobs_of(office.database).values())
    return before - now, now


def report(programme: Programme) -> None:
    programme.report({"Ash Mill": 2})
    programme.import_reports("hotline", [("1", "Ash Mill"), ("2", "Birch Works")])


DELETING: dict[str, Callable[[Programme], object]] = {
    "a round": lambda programme: programme.close_round(),
    "an override": lambda programme: programme.override(["Ash Mill"], "an accident", independent=True),
    "a target that leaves": lambda programme: programme.change_targets("why", independent=True, remove=["Ash Mill"]),
    "a skipped round": lambda programme: programme.skip("a holiday", independent=True),
    "a new key": lambda programme: programme.rekey(KeyFile(Path(str(programme.status().folder)).parent / "new.key")),
    "the end": lambda programme: programme.end("over"),
}


@pytest.mark.parametrize("last", DELETING.values(), ids=DELETING)
def test_what_was_deleted_is_gone_from_the_disk(
    database: str, tmp_path: Path, last: Callable[[Programme], object]
) -> None:
    office = new_office(database, tmp_path)
    office.programme.publish(tmp_path / "public")
    stale, now = stale_after(office, [report, Programme.close_round, report, report, last])
    assert len(stale) > 8
    assert found(database, stale) == set()
    assert found(database, now) == now  # they would be found


@pytest.mark.parametrize("planted", ["nothing is overwritten", "nothing is scrubbed"])
def test_the_search_would_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    if planted == "nothing is overwritten":
        settings = tuple(text for text in store._SQLITE_SETTINGS if "secure_delete" not in text)
        monkeypatch.setattr(store, "_SQLITE_SETTINGS", (*settings, "secure_delete = OFF"))
    else:
        monkeypatch.setattr(Store, "scrub", lambda _: None)
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    stale, _ = stale_after(office, [report, Programme.close_round, report, report, DELETING["the end"]])
    assert found(office.database, stale)


def test_the_search_would_find_it_in_postgresql(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "scrub", lambda _: None)
    office = new_office(postgres, tmp_path)
    stale, _ = stale_after(office, [report, Programme.close_round, report, report, Programme.close_round])
    assert found(postgres, stale)


# What is said.

MARKED = (735_148_619, 486_190_127, 901_273_514)
"""Counts that occur in no other place: nine digits, so that no hash shown beside them holds them by chance."""


def mishaps(office: Office, folder: Path) -> Iterator[Callable[[], object]]:
    """Everything that can go wrong with a programme in which these counts are."""
    programme = office.programme
    numbers: list[Any] = [*MARKED, *(-number for number in MARKED), *(number + 0.5 for number in MARKED)]
    for number in numbers:
        wrongs: list[Any] = [10**9 + abs(number), str(number), [number], None]
        yield partial(programme.report, {"Elm Yard": number})
        for targets in (["Elm Yard"], ["Ash Mill", "Elm Yard"]):
            yield partial(programme.withdraw, targets, new_receipt())
        for wrong in wrongs:
            yield partial(programme.report, {"Ash Mill": wrong})
            yield partial(programme.push, "north", "monday", {"Ash Mill": wrong})
    many = [("1", "Ash Mill")] * 7351
    yield partial(programme.import_reports, "", many)
    yield partial(programme.close_round, 9)
    yield programme.close_round  # not due
    yield partial(programme.override, ["Elm Yard"], "why", independent=True)
    yield partial(programme.change_targets, "why", independent=True, remove=TARGETS)
    yield partial(programme.not_carried_out, 1, "Elm Yard", "why", independent=True)
    yield partial(programme.rekey, office.key)
    yield partial(programme.backup, folder / "programme.key")
    yield partial(programme.publish, folder / "programme.key")
    yield partial(programme.recover, folder / "nowhere", "why")
    yield partial(backup.restore, folder / "programme.key", str(folder / "x.db"))
    yield partial(new_office, office.database, folder)
    office.clock.tomorrow()
    blobs = blobs_of(office.database)
    for name in ("run", "tally", "seed", "signing key"):
        for other in {*blobs.values(), blobs[name][:-1], b""} - {blobs[name]}:
            put(office.database, {name: other})
            yield programme.close_round
            if name in {"run", "tally"}:
                yield programme.active_counts
        put(office.database, {name: blobs[name]})
    page = rows(office.database, tables.pages)[0]["blob"]
    for blob in {*blobs.values(), page[:-1], b""}:
        put_page(office.database, 0, blob)
        yield programme.active_counts
        yield programme.close_round
        yield partial(programme.import_reports, "hotline", [("1", "Ash Mill")])
    put_page(office.database, 0, page)
    put(office.database, {"check": b""})
    yield office.again


def said(error: BaseException) -> str:
    """The error and all that a traceback would show of it."""
    return repr(error) + "".join(traceback.format_exception(error))


def test_no_error_tells_a_count(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    programme = office.programme
    programme.report(dict(zip(TARGETS, MARKED, strict=False)))
    office.close()
    programme.report(dict(zip(TARGETS, MARKED, strict=False)))
    texts, kinds = [], set()
    for deed in mishaps(office, tmp_path):
        with pytest.raises(DeniableError) as caught:
            deed()
        texts.append(said(caught.value))
        kinds.add(re.sub("[0-9/].*", "", str(caught.value)))
    assert len(kinds) >= 12
    telling = [text for text in texts if any(str(number) in text for number in MARKED)]
    assert telling == []


def test_no_repr_tells_a_secret(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    programme = office.programme
    programme.report(dict(zip(TARGETS, MARKED, strict=False)))
    with programme._access.writing() as opened:
        (run, _), seed = opened.read_counts(), opened.seed()
        secret = [seed.hex(), str(seed), *map(str, MARKED)]
        sealed = [opened._rows, opened._rows._vault, opened.known(ENTERED), office.key]
        things = [programme, opened, *sealed, run, programme.status()]
        shown = [repr(thing) for thing in things] + [str(vars(programme)), str(vars(opened))]
    for text in shown:
        assert not any(piece in text for piece in secret)
