"""All importers: right counts or one refusal, nothing of the file anywhere else, and bounded memory."""

import io
import json
import logging
import os
import tempfile
import tracemalloc
import uuid
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.importers.exports import (
    CANARY,
    COUNTED,
    EXPORTS,
    GLOBALEAKS,
    ID,
    MESSAGES,
    NORTH,
    NUMBER,
    ROWS,
    SECRETS,
    SOUTH,
    TEST,
    USERNAMES,
    Row,
    counted,
    error_of,
    globaleaks_csv,
    globaleaks_line,
    hushline_zip,
    leaked,
    mapping,
    members,
    outside_id,
    plain_csv,
    refusal,
    table,
    tip,
    username,
)

from deniable.errors import DeniableError
from deniable.programme import importers
from deniable.programme.importers import KINDS, Batch, Record, globaleaks, plain, read, read_mapping

exports = pytest.mark.parametrize(("kind", "export"), EXPORTS.values(), ids=EXPORTS)
Export = Callable[[Iterable[Row]], bytes]


# Counts


@exports
def test_each_report_once_and_ignored_channels_left_out(kind: str, export: Export) -> None:
    assert counted(kind, export([*ROWS, *ROWS, ROWS[0]])) == COUNTED


@exports
def test_several_channels_may_have_one_target(kind: str, export: Export) -> None:
    assert counted(kind, export(ROWS), {NORTH: "Bravo plc", SOUTH: "Bravo plc", TEST: "Bravo plc"}) == [
        (number, "Bravo plc") for number, _ in ROWS
    ]


@exports
def test_all_channels_ignored(kind: str, export: Export) -> None:
    batch = read(kind, io.BytesIO(export(ROWS)), mapping({NORTH: "", SOUTH: "", TEST: ""}))
    assert len(batch) == 0
    assert list(batch) == []


@exports
def test_nothing_is_held_of_what_is_left_out(kind: str, export: Export) -> None:
    batch = read(kind, io.BytesIO(export([*ROWS, *ROWS])), mapping())
    assert batch._ids.decode() == "".join(name for name, _, _ in batch)
    columns = (batch._starts, batch._ends, batch._sequences, batch._codes)
    assert sum(column.nbytes for column in columns) == 28 * len(batch)  # and an id has at most 100 bytes


@given(rows=st.lists(st.tuples(st.integers(1, 30), st.sampled_from([NORTH, SOUTH, TEST])), max_size=20))
def test_a_batch_is_what_a_dictionary_would_hold(rows: list[Row]) -> None:
    target = {NORTH: "Acme Ltd", SOUTH: "Bravo plc", TEST: ""}
    seen: dict[int, str] = {}
    differ = False
    for number, channel in rows:
        differ |= seen.setdefault(number, channel) != channel
    for kind, export in EXPORTS.values():
        if differ:
            assert "must have the same number and target both times" in refusal(kind, export(rows))
        else:
            expected = [(number, target[channel]) for number, channel in seen.items() if target[channel]]
            assert counted(kind, export(rows)) == expected


def test_an_id_with_two_numbers_is_refused() -> None:
    twice = json.dumps([tip(1, NORTH), tip(1, NORTH) | {"progressive": NUMBER + 2}]).encode()
    assert "a report that comes twice" in refusal("globaleaks", twice)


def test_a_batch_longer_than_one_step() -> None:
    rows = [(number, (NORTH, SOUTH)[number % 2]) for number in range(10_000, 0, -1)]
    batch = read("plain", io.BytesIO(plain_csv(rows)), mapping())
    assert len(batch) == 10_000
    assert list(batch) == [
        (outside_id(number), NUMBER + number, ("Acme Ltd", "Bravo plc")[number % 2]) for number, _ in rows
    ]


def test_too_many_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "MAX_REPORTS", 3)
    assert refusal("plain", plain_csv()) == "an export must have at most 3 reports"
    assert len(counted("plain", plain_csv(ROWS[:3]))) == 3


# Unknown channels


@exports
def test_all_unknown_channels_in_one_refusal(kind: str, export: Export) -> None:
    sentence = refusal(kind, export(ROWS), {NORTH: "Acme Ltd"})
    assert sentence == (
        f"the mapping does not name these channels of the export: {SOUTH}, {TEST}; "
        "give each of them a target, or an empty target to ignore it"
    )


def with_channels(*channels: str) -> bytes:
    lines = (f'{NUMBER + number},"{channel}"' for number, channel in enumerate(channels))
    return "\n".join(["id,channel", *lines]).encode()


def test_at_most_20_channels_are_listed() -> None:
    sentence = refusal("plain", with_channels(*(f"c{number:03}" for number in reversed(range(33)))))
    assert f"export: {', '.join(f'c{number:03}' for number in range(20))} and 13 not shown here; give" in sentence
    sentence = refusal("plain", with_channels(*(f"c{number:04}" for number in range(1500))))
    assert " and 980 or more not shown here; give" in sentence


def test_channels_that_are_no_identifiers_are_not_shown() -> None:
    """They may be anything, a sentence of a report for one, if the file is the wrong one."""
    assert "export: west and 2 not shown here" in refusal(
        "plain", with_channels("west", f"the {CANARY} of my boss", CANARY * 9)
    )
    assert "export: 1 not shown here" in refusal("plain", with_channels(f"{CANARY}é"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_wrong_comes_before_unknown_channels(kind: str) -> None:
    broken = {
        "globaleaks": globaleaks_csv() + b"\nx",
        "hushline": hushline_zip()[:-1],
        "plain": plain_csv() + b"\nx",
    }[kind]
    assert "the mapping does not name" not in refusal(kind, broken, {NORTH: "Acme Ltd"})


# Nothing of the file anywhere else


def damaged(content: bytes) -> Iterable[bytes]:
    """An export with each of its parts gone wrong in turn; every one of these must be refused or read rightly."""
    marks = [b",", b"\n", b'"', ID.encode(), CANARY.encode(), str(NUMBER)[:6].encode(), NORTH.encode()]
    for mark in marks:
        for new in (b"", b"\0", b"\xff", b'"', b",", b"\n", b"{", mark * 3):
            yield content.replace(mark, new)
            yield content.replace(mark, new, 1)
    for end in range(0, len(content), max(1, len(content) // 50)):
        yield content[:end]


@exports
def test_no_refusal_carries_anything_of_a_report(kind: str, export: Export) -> None:
    refused = 0
    for content in damaged(export(ROWS)):
        error = error_of(partial(read, kind, io.BytesIO(content), mapping()))
        if error is not None:
            refused += 1
            assert leaked(error) == []
            assert error.__cause__ is None
            assert error.__context__ is None
    assert refused > 50


@exports
def test_nor_does_one_of_the_importer_itself(kind: str, export: Export) -> None:
    """Used without `read`, it has the parser's frames, but its text and what came before it are clean."""
    importer = importers._IMPORTERS[kind]
    refused = 0
    for content in damaged(export(ROWS)):
        error = error_of(partial(list, importer(io.BytesIO(content))))
        if error is not None:
            refused += 1
            assert not any(secret in f"{error!s}{error!r}" for secret in SECRETS)
            assert error.__cause__ is None
            assert error.__context__ is None
    assert refused > 50


@given(content=st.binary(max_size=300))
def test_any_bytes_at_all_are_read_or_refused_in_one_sentence(content: bytes) -> None:
    for kind in KINDS:
        for start in (b"", b"[", b"id,progressive,context_id\n", b"id,channel\n"):
            error = error_of(partial(read, kind, io.BytesIO(start + content), mapping()))
            if error is not None:
                assert "\n" not in str(error)
                assert error.__context__ is None


def leaky_text() -> None:
    raise DeniableError(f"line 3: got {CANARY}")


def leaky_cause() -> None:
    try:
        f"{CANARY}é".encode().decode("ascii")
    except UnicodeDecodeError as error:
        raise DeniableError("must be ASCII") from error


def leaky_context() -> None:
    try:
        f"{CANARY}é".encode().decode("ascii")
    except UnicodeDecodeError:
        raise DeniableError("must be ASCII") from None


def leaky_note() -> None:
    error = DeniableError("line 3")
    error.add_note(CANARY)
    raise error


@pytest.mark.parametrize("leak", [leaky_text, leaky_cause, leaky_context, leaky_note])
def test_the_check_catches_a_leak(leak: Callable[[], None]) -> None:
    with pytest.raises(DeniableError) as raised:
        leak()
    assert leaked(raised.value) == [CANARY]


def test_the_check_catches_a_leak_planted_in_an_importer(monkeypatch: pytest.MonkeyPatch) -> None:
    content = plain_csv() + f"\n{CANARY},x,{NORTH}".encode()
    refusal("plain", content)
    monkeypatch.setattr(plain, "record", lambda names, outside_id, *_: f"{names[0]} is {outside_id}")
    with pytest.raises(AssertionError):
        refusal("plain", content)


def test_the_check_sees_the_variables_of_the_parser() -> None:
    """What `read` keeps away: its importer alone lets them be seen."""
    content = plain_csv() + f"\n{CANARY},x,{NORTH}".encode()
    with pytest.raises(DeniableError) as raised:
        list(plain.records(io.BytesIO(content)))
    assert CANARY in leaked(raised.value)


def test_an_error_of_our_own_is_not_shown_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Record:
        raise KeyError(CANARY)

    monkeypatch.setattr(plain, "record", broken)
    assert refusal("plain", plain_csv()) == "the export cannot be read (KeyError)"


class BrokenDisk(io.BytesIO):
    def read(self, *_: int | None) -> bytes:
        raise OSError(5, CANARY, CANARY)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_breaks(kind: str, tmp_path: Path) -> None:
    files: list[tuple[Any, str]] = [
        (BrokenDisk(b"x"), "cannot be read|must be a ZIP in a file"),
        (io.StringIO(CANARY), "opened as text|must be a ZIP in a file"),
        (tmp_path / f"{CANARY}.csv", "cannot be opened: No such file or directory"),
        (str(tmp_path), "cannot be opened: Is a directory"),
        (f"{CANARY}\0", "cannot be opened: this is not a path"),
    ]
    for file, why in files:
        with pytest.raises(DeniableError, match=why) as raised:
            read(kind, file, mapping())
        assert CANARY not in f"{raised.value!s}{raised.value.__context__!r}"


def test_an_unknown_kind() -> None:
    with pytest.raises(DeniableError, match="must be globaleaks, hushline or plain, got csv"):
        read("csv", io.BytesIO(), mapping())


@exports
def test_nothing_is_written_logged_or_printed(
    kind: str,
    export: Export,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "export"
    path.write_bytes(export(ROWS))
    channels = mapping()
    caplog.set_level(logging.DEBUG)
    opened: list[tuple[str, str]] = []
    really = io.open

    def recorded(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        opened.append((str(file), mode))
        return really(file, mode, *args, **kwargs)

    def never(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("an import makes no file")

    monkeypatch.setattr(io, "open", recorded)
    monkeypatch.setattr("builtins.open", recorded)
    monkeypatch.setattr(os, "open", never)
    monkeypatch.setattr(tempfile, "mkstemp", never)
    monkeypatch.setattr(tempfile, "TemporaryFile", never)
    batch = read(kind, path, channels)
    with pytest.raises(DeniableError):
        read(kind, path, read_mapping(io.BytesIO(b"channel,target\nx,Acme Ltd\n"), ["Acme Ltd"]))
    monkeypatch.undo()
    assert len(batch) == 3
    assert opened == [(str(path), "rb")] * 2
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


@exports
def test_a_batch_and_a_record_do_not_show_themselves(kind: str, export: Export) -> None:
    batch = read(kind, io.BytesIO(export(ROWS)), mapping())
    first = next(importers._IMPORTERS[kind](io.BytesIO(export(ROWS))))
    assert isinstance(batch, Batch)
    assert not any(secret in f"{batch!r}{first!r}{first}" for secret in SECRETS)
    kept = b"".join(value if isinstance(value, bytes) else b"" for value in vars(batch).values())
    assert CANARY.encode() not in kept


def test_a_path_is_closed_when_the_importer_is_left_half_way(tmp_path: Path) -> None:
    """Otherwise the warning about it is an error here."""
    path = tmp_path / "reports.csv"
    path.write_bytes(globaleaks_csv())
    records = globaleaks.records(path)
    next(records)
    del records


# Memory


def write_globaleaks_csv(file: BinaryIO, n: int) -> None:
    file.write(",".join(GLOBALEAKS).encode())
    for number in range(n, 0, -1):
        file.write(b"\n" + globaleaks_line(number, (NORTH, SOUTH)[number % 2]).encode())


def write_globaleaks_json(file: BinaryIO, n: int) -> None:
    for number in range(n, 0, -1):
        file.write((b"[" if number == n else b", ") + json.dumps(tip(number, (NORTH, SOUTH)[number % 2])).encode())
    file.write(b"]")


def write_hushline(file: BinaryIO, n: int) -> None:
    with zipfile.ZipFile(file, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        rows = [username(11, NORTH), username(12, SOUTH)]
        archive.writestr("db/usernames.csv", table(USERNAMES, rows))
        with archive.open("db/messages.csv", "w") as messages:
            messages.write(table(MESSAGES, []))
            for number in range(n, 0, -1):
                when = "2026-01-05 09:14:27.123456+00:00"
                row = f"{NUMBER + number},{uuid.uuid4()},{when},{11 + number % 2},{uuid.uuid4()},PENDING,{when}\r\n"
                messages.write(row.encode())
        archive.writestr("db/field_values.csv", members()["db/field_values.csv"])


def write_plain(file: BinaryIO, n: int) -> None:
    file.write(b"id,sequence,channel\n")
    for number in range(n, 0, -1):
        file.write(f"{outside_id(number)},{NUMBER + number},{(NORTH, SOUTH)[number % 2]}\n".encode())


writers = pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("globaleaks", write_globaleaks_csv),
        ("globaleaks", write_globaleaks_json),
        ("hushline", write_hushline),
        ("plain", write_plain),
    ],
    ids=["globaleaks.csv", "globaleaks.json", "hushline.zip", "plain.csv"],
)
Writer = Callable[[BinaryIO, int], None]
T = TypeVar("T")

SOME = 20_000
"""Reports that would take more than the importer may, were they kept."""


def peak_of(step: Callable[[], T]) -> tuple[T, int]:
    """The result, and the most bytes that were in use at once beyond those before."""
    tracemalloc.start()
    try:
        return step(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check_memory(path: Path, kind: str, write: Writer, n: int) -> None:
    """No row costs `read` more than 200 bytes, and the importer alone does not grow at all."""
    with path.open("wb") as file:
        write(file, n)
    channels = mapping()
    batch, peak = peak_of(lambda: read(kind, path, channels))
    assert peak < 2_000_000 + 200 * n
    assert len(batch) == n
    assert sum(number - NUMBER for _, number, _ in batch) == n * (n + 1) // 2
    assert sum(target == "Acme Ltd" for _, _, target in batch) == n // 2
    count, peak = peak_of(lambda: sum(1 for _ in islice(importers._IMPORTERS[kind](path), SOME)))
    assert count == SOME
    assert peak < 3_000_000


@writers
def test_memory_stays_bounded(kind: str, write: Writer, tmp_path: Path) -> None:
    """A batch is made in the same way of all exports, so that many reports from the quickest of them tell enough."""
    check_memory(tmp_path / "export", kind, write, 100_000 if write is write_plain else SOME)


@pytest.mark.long
@writers
def test_memory_stays_bounded_with_a_million_reports(kind: str, write: Writer, tmp_path: Path) -> None:
    check_memory(tmp_path / "export", kind, write, 1_000_000)


def test_the_memory_check_catches_rows_that_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "export"
    with path.open("wb") as file:
        write_plain(file, SOME)
    _, peak = peak_of(lambda: len([*plain.records(path)]))
    assert peak > 3_000_000
