"""All importers: what counts and what is set aside, nothing of the file anywhere else, and bounded memory."""

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
from tests.programme.imports.exports import (
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
    globaleaks_json,
    globaleaks_line,
    leaked,
    mapping,
    members,
    number_of,
    outside_id,
    plain_csv,
    refusal,
    set_aside,
    table,
    tip,
    username,
    with_target,
)

from deniable.errors import DeniableError
from deniable.programme import imports
from deniable.programme.imports import EXPORTS as ALL_KINDS
from deniable.programme.imports import Batch, ClassField, SetAside, globaleaks, read, read_mapping, reading

exports = pytest.mark.parametrize(("kind", "export"), EXPORTS.values(), ids=EXPORTS)
Export = Callable[[Iterable[Row]], bytes]


# Counts


@exports
def test_each_report_and_ignored_channels_left_out(kind: str, export: Export) -> None:
    assert counted(kind, export(ROWS)) == COUNTED
    batch = read(kind, io.BytesIO(export(ROWS)), mapping())
    assert (batch.with_target, batch.left_out, batch.set_aside.in_words()) == (3, 1, ())


@exports
def test_a_report_that_comes_twice_is_left_to_the_counting(kind: str, export: Export) -> None:
    """Also where the two differ: the first counts, and neither holds back others."""
    assert counted(kind, export([(2, SOUTH), *ROWS])) == [(2, "Bravo plc"), *COUNTED]


@exports
def test_several_channels_may_have_one_target(kind: str, export: Export) -> None:
    assert counted(kind, export(ROWS), {NORTH: "Bravo plc", SOUTH: "Bravo plc", TEST: "Bravo plc"}) == [
        (number, "Bravo plc") for number, _ in ROWS
    ]


@exports
def test_all_channels_ignored(kind: str, export: Export) -> None:
    batch = read(kind, io.BytesIO(export(ROWS)), mapping({NORTH: "", SOUTH: "", TEST: ""}))
    assert (batch.with_target, [target for _, target, _ in batch], batch.left_out) == (0, [None] * 4, 4)


@exports
def test_little_is_held_of_a_report(kind: str, export: Export) -> None:
    batch = read(kind, io.BytesIO(export([*ROWS, *ROWS])), mapping({NORTH: "Acme Ltd", TEST: ""}))
    assert batch._ids.decode() == "".join(found for found, _, _ in batch)
    assert (batch._lengths.itemsize, batch._channel_of.itemsize, batch._value_of.itemsize) == (1, 4, 4)
    assert (batch.with_target, len(batch._lengths), len(batch._channel_of)) == (4, 8, 8)


# What is set aside


@exports
def test_a_channel_that_the_mapping_does_not_name_holds_back_no_other(kind: str, export: Export) -> None:
    batch = read(kind, io.BytesIO(export(ROWS)), mapping({NORTH: "Acme Ltd"}))
    assert with_target(batch) == [(2, "Acme Ltd"), (1, "Acme Ltd")]
    assert batch.set_aside == SetAside((SOUTH, TEST), 0, (), 0, reports=2)
    (words,) = batch.set_aside.in_words()
    assert f"does not name these channels: {SOUTH} and {TEST}. Give each of them a target" in words


@exports
def test_as_soon_as_the_mapping_names_the_channel_its_reports_are_there(kind: str, export: Export) -> None:
    read(kind, io.BytesIO(export(ROWS)), mapping({NORTH: "Acme Ltd"}))
    assert counted(kind, export(ROWS)) == COUNTED


def with_channels(*channels: str) -> Any:
    lines = (f'{NUMBER + number},"{channel}"' for number, channel in enumerate(channels))
    return read("csv", io.BytesIO("\n".join(["id,channel", *lines]).encode()), mapping()).set_aside


def test_at_most_20_channels_are_listed() -> None:
    aside = with_channels(*(f"c{number:03}" for number in reversed(range(33))))
    assert aside.channels == tuple(f"c{number:03}" for number in range(20))
    assert " c019 and 13 not shown here." in aside.in_words()[0]
    aside = with_channels(*(f"c{number:04}" for number in range(1500)))
    assert aside.reports == 1500
    assert " and at least 980 not shown here." in aside.in_words()[0]


def test_channels_that_do_not_look_like_names_are_not_shown() -> None:
    """They may be anything, a sentence of a report for one, if the file is the wrong one."""
    aside = with_channels("west", f"the {CANARY} of my boss", CANARY * 9)
    assert (aside.channels, aside.more_channels) == (("west",), 2)
    assert "channels: west and 2 not shown here." in aside.in_words()[0]
    assert with_channels("Werk Süd 2", "=1+1", "a/b", "<i>").channels == ("Werk Süd 2",)


def test_at_most_20_rows_are_listed() -> None:
    aside = read("csv", io.BytesIO(plain_csv() + b"\nx" * 33), mapping()).set_aside
    assert [str(row.place) for row in aside.malformed] == [f"line {number}" for number in range(6, 26)]
    assert (aside.more_malformed, aside.reports) == (13, 33)
    (words,) = aside.in_words()
    assert "cannot be read: line 6 (the first line has 2 cells, and this line has 1), line 7 (" in words
    assert " and 13 more. Export again" in words


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
def test_nothing_that_is_said_of_a_file_carries_anything_of_a_report(kind: str, export: Export) -> None:
    refused = said = 0
    for content in damaged(export(ROWS)):
        error = error_of(partial(read, kind, io.BytesIO(content), mapping()))
        if error is not None:
            refused += 1
            assert leaked(error) == []
            assert error.__cause__ is None
            assert error.__context__ is None
            continue
        aside = read(kind, io.BytesIO(content), mapping()).set_aside
        rows = [words for words in aside.in_words() if "cannot be read" in words]
        said += len(rows)
        assert not any(secret in f"{rows}{aside.malformed}" for secret in SECRETS)
    assert refused > 3
    assert said > 10 or kind == "hushline"  # damage to a ZIP is found by its sum


@exports
def test_nor_does_one_of_the_importer_itself(kind: str, export: Export) -> None:
    """Used without `read`, it has the parser's frames, but its text and what came before it are clean."""
    importer = imports.EXPORTS[kind].records
    refused = 0
    for content in damaged(export(ROWS)):
        error = error_of(partial(list, importer(io.BytesIO(content), None)))
        if error is not None:
            refused += 1
            assert not any(secret in f"{error!s}{error!r}" for secret in SECRETS)
            assert error.__cause__ is None
            assert error.__context__ is None
    assert refused > 3


@given(content=st.binary(max_size=300))
def test_any_bytes_at_all_are_read_or_refused_in_one_sentence(content: bytes) -> None:
    for kind in ALL_KINDS:
        for start in (b"", b"[", b"id,context_id\n", b"id,channel\n"):
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
    content = plain_csv() + f"\n{CANARY} x,{NORTH}".encode()
    assert [place for place, _ in set_aside("csv", content)] == ["line 6"]
    monkeypatch.setattr(reading, "record", lambda names, outside_id, _: f"{names[0]} is {outside_id}")
    with pytest.raises(AssertionError):
        set_aside("csv", content)


def test_the_check_sees_the_variables_of_the_parser() -> None:
    """What `read` keeps away: its importer alone lets them be seen."""
    content = globaleaks_json()[:-1]
    refusal("globaleaks", content)
    with pytest.raises(DeniableError) as raised:
        list(globaleaks.records(io.BytesIO(content)))
    assert CANARY in leaked(raised.value)


def test_an_error_of_our_own_is_not_shown_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError(CANARY)

    monkeypatch.setattr(reading, "record", broken)
    assert refusal("csv", plain_csv()) == "the export cannot be read (KeyError)"


class BrokenDisk(io.BytesIO):
    def read(self, *_: int | None) -> bytes:
        raise OSError(5, CANARY, CANARY)


@pytest.mark.parametrize("kind", ALL_KINDS)
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
    with pytest.raises(DeniableError, match="must be one of csv, globaleaks, hushline, got email"):
        read("email", io.BytesIO(), mapping())


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
    aside = read(kind, path, read_mapping(io.BytesIO(b"channel,target\nx,Acme Ltd\n"), ["Acme Ltd"])).set_aside
    monkeypatch.undo()
    assert aside.reports == 4
    assert batch.with_target == 3
    assert opened == [(str(path), "rb")] * 2
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


@exports
def test_a_batch_and_a_record_do_not_show_themselves(kind: str, export: Export) -> None:
    batch = read(kind, io.BytesIO(export(ROWS)), mapping())
    first = next(imports.EXPORTS[kind].records(io.BytesIO(export(ROWS)), None))
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


def write_plain(file: BinaryIO, n: int, class_column: str = "") -> None:
    file.write(f"id,channel{class_column}\n".encode())
    for number in range(n, 0, -1):
        its_class = class_column and f",{number}"
        file.write(f"{outside_id(number)},{(NORTH, SOUTH)[number % 2]}{its_class}\n".encode())


writers = pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("globaleaks", write_globaleaks_csv),
        ("globaleaks", write_globaleaks_json),
        ("hushline", write_hushline),
        ("csv", write_plain),
    ],
    ids=["globaleaks.csv", "globaleaks.json", "hushline.zip", "plain.csv"],
)
Writer = Callable[[BinaryIO, int], None]
T = TypeVar("T")

SOME = 10_000
"""Reports that would take more than the importer may, were they kept."""


def peak_of(step: Callable[[], T]) -> tuple[T, int]:
    """The result, and the most bytes that were in use at once beyond those before."""
    tracemalloc.start()
    try:
        return step(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check_memory(path: Path, kind: str, write: Writer, n: int) -> None:
    """No row costs `read` more than 120 bytes, and the importer alone does not grow at all."""
    with path.open("wb") as file:
        write(file, n)
    channels = mapping()
    batch, peak = peak_of(lambda: read(kind, path, channels))
    assert peak < 1_000_000 + 120 * n
    assert batch.with_target == n
    assert sum(number_of(found) for found, _, _ in batch) == n * (n + 1) // 2
    assert sum(target == "Acme Ltd" for _, target, _ in batch) == n // 2
    count, peak = peak_of(lambda: sum(1 for _ in islice(imports.EXPORTS[kind].records(path, None), SOME)))
    assert count == SOME
    assert peak < 1_000_000


@writers
def test_memory_stays_bounded(kind: str, write: Writer, tmp_path: Path) -> None:
    """A batch is made in the same way of all exports, so that many reports from the quickest of them tell enough."""
    check_memory(tmp_path / "export", kind, write, 40_000 if write is write_plain else SOME)


def test_nor_do_classes_take_much_memory(tmp_path: Path) -> None:
    """Although there is another value in every row: they are told apart up to a limit."""
    path, n, minor = tmp_path / "export", 20_000, ClassField("severity", {"1": "minor"})
    with path.open("wb") as file:
        write_plain(file, n, ",severity")
    channels = mapping()
    batch, peak = peak_of(lambda: read("csv", path, channels, minor))
    assert peak < 1_000_000 + 60 * n
    assert (batch.with_target, batch.set_aside.reports) == (1, n - 1)


@pytest.mark.long
@writers
def test_memory_stays_bounded_with_a_million_reports(kind: str, write: Writer, tmp_path: Path) -> None:
    check_memory(tmp_path / "export", kind, write, 1_000_000)


def test_the_memory_check_catches_rows_that_are_kept(tmp_path: Path) -> None:
    """Also those of the hotline whose rows are the smallest."""
    path = tmp_path / "export"
    for kind, write in (("csv", write_plain), ("hushline", write_hushline)):
        with path.open("wb") as file:
            write(file, SOME)
        _, peak = peak_of(lambda kind=kind: len([*imports.EXPORTS[kind].records(path, None)]))  # type: ignore[misc]
        assert peak > 1_000_000
