"""Hush Line: two members of its ZIP, and no other."""

import io
import stat
import struct
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.programme.imports.exports import (
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
    set_aside,
    table,
    username,
)

from deniable.errors import DeniableError
from deniable.programme.imports import hushline, read

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


def zip64(directory: int | None = None, *, moved: int = 0, mark: bytes = b"PK\6\6", elsewhere: int = 0) -> bytes:
    """The end record of a ZIP64, as of an archive with more than 65,535 members, in front of the usual one. `moved`:
    how far from there it is said to stand. `elsewhere`: the size of the list that another record says, before it.
    """
    end = ZIP[-22:]
    really, offset = struct.unpack("<2L", end[12:20])

    def record(size: int, extra: int = 0) -> bytes:
        return struct.pack("<4sQ2H2L4Q", mark, 44 + extra, 45, 45, 0, 0, 1, 1, size, offset)

    records = (record(elsewhere, 56) if elsewhere else b"") + record(really if directory is None else directory)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(ZIP) - 22 + moved, 1)
    return ZIP[:-22] + records + locator + end[:12] + struct.pack("<2L", 2**32 - 1, 2**32 - 1) + end[20:]


def test_every_message_with_its_id_and_username() -> None:
    expected = [(str(NUMBER + number), channel, "") for number, channel in ROWS]
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
        zip64(),
        with_usernames(*(username(n, name) for n, name in enumerate([NORTH, ROWS[0][1], TEST, "other"], start=11))),
        with_usernames(*(username(n, name) for n, name in enumerate([NORTH, ROWS[0][1], TEST, NORTH], start=11))),
    ],
)
def test_tolerated_spellings(content: bytes) -> None:
    assert counted("hushline", content) == COUNTED


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
        (zip64(directory=1 << 24), "whose list of members is a small part of it"),
        (zip64(directory=1 << 60), "whose list of members is a small part of it"),
        (zip64(elsewhere=1 << 60), "is not a ZIP as Hush Line writes it"),  # newer versions of Python look there
        (zip64(moved=-1), "is not a ZIP as Hush Line writes it"),
        (zip64(moved=2**63), "is not a ZIP as Hush Line writes it"),
        (zip64(mark=b"PK\6\5"), "is not a ZIP as Hush Line writes it"),
        (b"#!/bin/sh\n" + zip64(), "is not a ZIP as Hush Line writes it"),
        (ZIP[:-10] + struct.pack("<L", 1 << 24) + ZIP[-6:], "whose list of members is a small part of it"),
        (ZIP[:-10] + struct.pack("<L", 1 << 22) + ZIP[-6:], "is not a ZIP that can be read"),
        (ZIP[:-6] + struct.pack("<L", 9) + ZIP[-2:], "cannot be opened: the ZIP is damaged"),
        (ZIP[: len(ZIP) // 2] + ZIP[-22:], "is not a ZIP that can be read"),
        (ZIP[-22:], "is not a ZIP that can be read"),
        (packed({"db/users.csv": b""}), "is not a ZIP as Hush Line writes it"),
        (packed({"db/usernames.csv": members()["db/usernames.csv"]}), "is not a ZIP as Hush Line writes it"),
        (patched(ZIP, "db/messages.csv", 8, "<H", 1), "db/messages.csv of the Hush Line export must not be encrypted"),
        (patched(ZIP, "db/messages.csv", 8, "<H", 0x41), "must not be encrypted"),
        (symlink(), "the file db/messages.csv of the Hush Line export must be a plain file"),
        (compressed(zipfile.ZIP_LZMA), "must be stored or deflated"),
        (compressed(zipfile.ZIP_BZIP2), "must be stored or deflated"),
        (bomb(), "packed at most 20 times"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 2**31), "packed at most 20 times"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 2**32 - 1), "the Hush Line export"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 10**4), "db/messages.csv of the Hush Line export is shorter than"),
        (patched(ZIP, "db/messages.csv", 24, "<L", 300), "cannot be read to its end"),
        (patched(ZIP, "db/messages.csv", 16, "<L", 12345), "cannot be read to its end"),
        (patched(ZIP, "db/messages.csv", 20, "<L", 40), "cannot be read to its end"),
        (patched(ZIP, "db/messages.csv", 42, "<L", 10**6), "db/messages.csv of the Hush Line export cannot be opened"),
        (patched(ZIP, "db/messages.csv", 42, "<L", 0), "db/messages.csv of the Hush Line export cannot be opened"),
        (patched(ZIP, "db/usernames.csv", 42, "<L", 0), "db/usernames.csv of the Hush Line export cannot be opened"),
        (with_member("db/messages.csv", b""), "db/messages.csv of the Hush Line export must name its columns"),
        (with_member("db/messages.csv", b"id,username\r\n"), "id, username_id among them"),
        (with_member("db/usernames.csv", b""), "with the columns id and username"),
        (with_member("db/usernames.csv", b"id,name\r\n"), "with the columns id and username"),
        (with_member("db/usernames.csv", b"id,username\r\n1,\xff\r\n"), "in UTF-8"),
        (with_member("db/usernames.csv", b'id,username\r\n1,"a\r\n'), "must be a CSV file"),
        (with_member("db/usernames.csv", b"id,username\r\n1\r\n"), "an id and a username in every row"),
        (with_usernames(username("", NORTH)), "an id and a username in every row"),
        (with_usernames(username(11, CANARY * 30)), "an id and a username in every row"),
        (with_usernames(username(11, NORTH), username(11, TEST)), "no id twice"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_is_refused(content: bytes, why: str) -> None:
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


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b'1,"11', "a quote"),
        (b"1,11,x", "the first line has 7 cells"),
        (b"x" * 400_000, "at most 131,072 bytes"),
        (b"1,\xff", "a letter cannot be read"),
        (table((), [message(1, "")]).strip(), "username_id must be an id of db/usernames.csv"),
        (table((), [message(1, 14)]).strip(), "username_id must be an id of db/usernames.csv"),
        (table((), [message(1, "011")]).strip(), "username_id must be an id of db/usernames.csv"),
        (table((), [message(1, "11\0")]).strip(), "username_id must be an id of db/usernames.csv"),
        (table((), [("", *message(1, 11)[1:])]).strip(), "the id is missing"),
        (table((), [("5ec2e7 5ec2e7", *message(1, 11)[1:])]).strip(), "id must be 1 to 100"),
    ],
)
@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_row_that_cannot_be_read_is_set_aside_by_itself(row: bytes, why: str, at: int) -> None:
    lines = members()["db/messages.csv"].split(b"\r\n")
    lines.insert(at, row)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:  # not packed: a row of one letter packs better than a hotline's
        for name, data in (members() | {"db/messages.csv": b"\r\n".join(lines)}).items():
            archive.writestr(name, data)
    ((place, said),) = set_aside("hushline", content.getvalue())
    assert place == f"line {at + 1}"
    assert why in said


def test_an_archive_with_more_members_than_an_old_zip_can_have() -> None:
    """Each encrypted message is a member, so that one message more must not make the file unreadable."""
    out = io.BytesIO(ZIP)
    with zipfile.ZipFile(out, "a") as archive:
        for number in range(65_536):
            archive.writestr(f"pgp_messages/north-message-{number}.asc", b"-----BEGIN PGP MESSAGE-----" * 20)
    assert b"PK\6\7" in out.getvalue()[-42:]
    assert counted("hushline", out.getvalue()) == COUNTED


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
