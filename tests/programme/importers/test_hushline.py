"""Hush Line: two members of its ZIP, and no other, read whole or refused."""

import io
import stat
import struct
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.programme.importers.exports import (
    CANARY,
    COUNTED,
    MESSAGES,
    NORTH,
    NUMBER,
    ROWS,
    TEST,
    USERNAMES,
    counted,
    error_of,
    hushline_zip,
    leaked,
    mapping,
    members,
    message,
    packed,
    patched,
    refusal,
    table,
    username,
)

from deniable.errors import DeniableError
from deniable.programme.importers import hushline, read

ZIP = hushline_zip()


def with_member(name: str, content: bytes) -> bytes:
    return packed(members() | {name: content})


def with_messages(*rows: tuple[object, ...]) -> bytes:
    return with_member("db/messages.csv", table(MESSAGES, rows))


def with_usernames(*rows: tuple[object, ...]) -> bytes:
    return with_member("db/usernames.csv", table(USERNAMES, rows))


def with_info(info: zipfile.ZipInfo) -> bytes:
    content = members()
    return packed((info if name == info.filename else name, data) for name, data in content.items())


def symlink() -> bytes:
    info = zipfile.ZipInfo("db/messages.csv")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return with_info(info)


def compressed(method: int) -> bytes:
    info = zipfile.ZipInfo("db/messages.csv")
    info.compress_type = method
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members().items():
            archive.writestr(info if name == info.filename else name, content)
    return out.getvalue()


def twice(name: str) -> bytes:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return packed([*members().items(), (name, members()[name])])


def bomb() -> bytes:
    return with_member("db/messages.csv", table(MESSAGES, []) + b"\r\n" * (1 << 20))


def zip64() -> bytes:
    """The end record of a ZIP64, in front of the usual one."""
    end = ZIP[-22:]
    directory, offset = struct.unpack("<2L", end[12:20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, directory, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(ZIP) - 22, 1)
    return ZIP[:-22] + record + locator + end


def test_every_message_with_its_id_and_username() -> None:
    expected = [(str(NUMBER + number), NUMBER + number, channel) for number, channel in ROWS]
    assert list(hushline.records(io.BytesIO(ZIP))) == expected
    assert counted("hushline", ZIP) == COUNTED


def test_only_the_two_members_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    really = zipfile.ZipFile.open

    def recorded(self: zipfile.ZipFile, name: Any, *args: Any, **kwargs: Any) -> Any:
        opened.append(name.filename if isinstance(name, zipfile.ZipInfo) else name)
        return really(self, name, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "open", recorded)
    list(hushline.records(io.BytesIO(ZIP)))
    assert opened == ["db/usernames.csv", "db/messages.csv"]


def surprises() -> bytes:
    """Members that would be a danger if they were opened or unpacked."""
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    strange: list[tuple[str | zipfile.ZipInfo, bytes]] = [
        ("/etc/passwd", b"root"),
        ("../../db/messages.csv", table(MESSAGES, [message(9, 11)])),
        ("C:\\db\\messages.csv", b""),
        ("DB/MESSAGES.CSV", table(MESSAGES, [message(9, 11)])),
        ("db/messages.csv/", b""),
        ("db/", b""),
        ("bomb", b"\0" * (1 << 22)),
        (link, b"/etc/passwd"),
    ]
    return packed([*strange, *members().items(), ("./db/messages.csv", b"")])


@pytest.mark.parametrize(
    "content",
    [
        surprises(),
        patched(surprises(), "link", 8, "<H", 1),  # encrypted, and never opened
        compressed(zipfile.ZIP_STORED),
        b"#!/bin/sh\n" + ZIP,
        with_member("db/messages.csv", b"\xef\xbb\xbf" + members()["db/messages.csv"]),
        with_member("db/messages.csv", members()["db/messages.csv"].replace(b"public_id,", b"uuid,")),
        with_messages(*(message(number, {NORTH: 11, TEST: "013"}.get(name, 12)) for number, name in ROWS)),
        with_usernames(*(username(n, name) for n, name in enumerate([NORTH, ROWS[0][1], TEST, "other"], start=11))),
    ],
)
def test_tolerated_spellings(content: bytes) -> None:
    assert counted("hushline", content) == COUNTED


def test_a_number_with_zeros_in_front_is_the_same_message() -> None:
    twofold = with_messages(message(1, 11), (f"00{NUMBER + 1}", *message(1, 11)[1:]))
    assert counted("hushline", twofold) == [(1, "Acme Ltd")]


def test_no_messages() -> None:
    assert counted("hushline", with_messages()) == []


def test_a_path_and_a_file_give_the_same(tmp_path: Any) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(ZIP)
    assert list(read("hushline", path, mapping())) == list(read("hushline", io.BytesIO(ZIP), mapping()))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not empty"),
        (b"id,channel\n" * 9, "is not a ZIP as Hush Line writes it"),
        (b"-----BEGIN PGP MESSAGE-----\n" + CANARY.encode() * 9, "encrypted with PGP: decrypt it first"),
        (ZIP[:-1], "is not a ZIP as Hush Line writes it, or is cut off"),
        (ZIP[:-2] + b"\x09\0" + CANARY.encode(), "is not a ZIP as Hush Line writes it"),
        (ZIP[:-2] + b"\x09\0", "without comment"),
        (zip64(), "with fewer than 65535 members"),
        (ZIP[:-10] + struct.pack("<L", 1 << 24) + ZIP[-6:], "without comment, with fewer than 65535 members and 4 GiB"),
        (ZIP[:-10] + struct.pack("<L", 1 << 22) + ZIP[-6:], "is not a ZIP that can be read"),
        (ZIP[:-6] + struct.pack("<L", 9) + ZIP[-2:], "cannot be opened: the ZIP is damaged"),
        (ZIP[: len(ZIP) // 2] + ZIP[-22:], "is not a ZIP that can be read"),
        (ZIP[-22:], "is not a ZIP that can be read"),
        (packed({"db/users.csv": b""}), "must have the member db/usernames.csv exactly once, got it 0 times"),
        (packed({"db/usernames.csv": members()["db/usernames.csv"]}), "db/messages.csv exactly once, got it 0 times"),
        (patched(ZIP, "db/messages.csv", 8, "<H", 1), "db/messages.csv of the Hush Line export must not be encrypted"),
        (patched(ZIP, "db/messages.csv", 8, "<H", 0x41), "must not be encrypted"),
        (symlink(), "db/messages.csv of the Hush Line export must be a plain file"),
        (compressed(zipfile.ZIP_LZMA), "must be stored or deflated"),
        (compressed(zipfile.ZIP_BZIP2), "must be stored or deflated"),
        (bomb(), "packed at most 200 times"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 2**31), "must have at most 1073741824 bytes"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 2**32 - 1), "the Hush Line export"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 10**5), "db/messages.csv of the Hush Line export is shorter than"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 300), "cannot be read to its end"),
        (patched(ZIP, "db/messages.csv", 16, "<L", 12345), "cannot be read to its end"),
        (patched(ZIP, "db/messages.csv", 20, "<L", 40), "cannot be read to its end"),
        (patched(ZIP, "db/messages.csv", 42, "<L", 10**6), "db/messages.csv of the Hush Line export cannot be opened"),
        (patched(ZIP, "db/messages.csv", 42, "<L", 0), "db/messages.csv of the Hush Line export cannot be opened"),
        (patched(ZIP, "db/usernames.csv", 42, "<L", 0), "db/usernames.csv of the Hush Line export cannot be opened"),
        (with_member("db/messages.csv", b""), "db/messages.csv of the Hush Line export must name its columns"),
        (with_member("db/usernames.csv", b"id,name\r\n"), "id, username among them"),
        (with_member("db/messages.csv", b"id,username\r\n"), "id, username_id among them"),
        (with_member("db/messages.csv", b'id,username_id\r\n1,"11\r\n'), "line 2: a quote"),
        (with_member("db/messages.csv", b"id,username_id\r\n1,11,x\r\n"), "line 2: expected 2 cells"),
        (with_member("db/messages.csv", b"id,username_id\r\n1,1\0\r\n"), "NUL bytes"),
        (with_member("db/messages.csv", b"id,username_id\r\n1,\xff\r\n"), "UTF-8"),
        (with_member("db/messages.csv", b"id,username_id\r\n1," + bytes(range(65, 91)) * 9999), "line 2: a row must"),
        (with_messages(message(1, 11), message(2, 14)), "line 3: username_id must be an id of db/usernames.csv"),
        (with_messages(message(1, "")), "line 2: username_id must be an id"),
        (with_messages(("x", *message(1, 11)[1:])), "line 2: id must be a whole number"),
        (with_messages(("", *message(1, 11)[1:])), "line 2: id must be a whole number"),
        (with_messages((0, *message(1, 11)[1:])), "line 2: id must be a whole number"),
        (with_usernames(username("x", NORTH)), "expected a whole number as id"),
        (with_usernames(username(11, CANARY * 30)), "expected a whole number as id"),
        (with_usernames(username(11, NORTH), username(11, TEST)), "an id must not come twice"),
        (with_usernames(username(11, NORTH), username(12, NORTH)), "must not have a username twice"),
        (with_usernames(*(username(n, f"name{n}") for n in range(1, 10_003))), "at most 10000 rows"),
    ],
)
def test_refused(content: bytes, why: str) -> None:
    assert why in refusal("hushline", content)


@pytest.mark.parametrize("name", ["db/messages.csv", "db/usernames.csv"])
def test_a_member_twice_is_refused(name: str) -> None:
    assert f"{name} exactly once, got it 2 times" in refusal("hushline", twice(name))


def test_a_name_with_a_nul_byte_is_refused() -> None:
    """The name ends there for zipfile, which would take the member for the real one."""
    shortened = packed(
        {("db/messages.csv#x" if name == "db/messages.csv" else name): data for name, data in members().items()}
    )
    assert "must be a plain file" in refusal("hushline", shortened.replace(b"csv#x", b"csv\0x"))


def test_several_lines_in_a_cell_are_bounded() -> None:
    long = b'id,username_id,x\r\n1,11,"' + b"line\r\n" * 30_000 + b'"\r\n'
    content = packed([("db/usernames.csv", members()["db/usernames.csv"])])
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a", compression=zipfile.ZIP_STORED) as archive:
        archive.writestr("db/messages.csv", long)
    assert "a row must have at most 131072 characters" in refusal("hushline", out.getvalue())


class NotSeekable(io.BytesIO):
    def seek(self, *_args: int) -> int:
        raise io.UnsupportedOperation(CANARY)


@pytest.mark.parametrize("file", [NotSeekable(ZIP), io.StringIO("PK")])
def test_a_file_that_cannot_be_read_from_any_place_is_refused(file: Any) -> None:
    with pytest.raises(DeniableError, match="must be a ZIP in a file that can be read from any place") as refused:
        read("hushline", file, mapping())
    assert leaked(refused.value) == []


def test_a_zip_cut_off_anywhere_is_refused() -> None:
    for end in range(0, len(ZIP), 7):
        refusal("hushline", ZIP[:end])


@settings(max_examples=150)
@given(at=st.integers(0, len(ZIP) - 1), byte=st.integers(0, 255), times=st.integers(1, 6))
def test_a_damaged_zip_gives_all_reports_or_a_refusal(at: int, byte: int, times: int) -> None:
    """The check sum is over the two members, so that damage elsewhere changes nothing."""
    damaged = bytearray(ZIP)
    damaged[at : at + times] = bytes([byte]) * len(damaged[at : at + times])
    error = error_of(lambda: read("hushline", io.BytesIO(damaged), mapping()))
    if error is None:
        assert counted("hushline", bytes(damaged)) == COUNTED
    else:
        assert leaked(error) == []
