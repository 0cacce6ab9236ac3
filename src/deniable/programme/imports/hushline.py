"""Reports from Hush Line: the ZIP of an account's data export, decrypted if it was encrypted with PGP.

The format is that of Hush Line's public sources, looked up in `hushline/settings/data_export.py` (the ZIP and its CSV
files, which Python's csv.DictWriter writes) and in `hushline/model/message.py` and `username.py` (the columns). Of the
ZIP, only `db/messages.csv` (id, public_id, created_at, username_id, reply_slug, status, status_changed_at) and
`db/usernames.csv` (id, user_id, username, display_name, …) are opened, and of these only the columns `id` and
`username_id`, `id` and `username` are kept: never the messages themselves, which are in other members.

A channel is one of the account's usernames (its own or an alias), so a username is what the mapping names. A message's
`id` is its outside id, which no other message on the same Hush Line server has.

The export says nothing of how serious a message is: its status is what the office did with it, and what people wrote is
encrypted, or free text. So a class can only follow from the channel.

No cell of messages.csv holds a line end (numbers, identifiers, words, dates), so a row there is one line. A profile in
usernames.csv may have several; that file is about the account and not about reports, and is refused as a whole.
"""

import csv
import stat
import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, pairwise
from os import SEEK_END
from typing import BinaryIO

from deniable.errors import DeniableError
from deniable.message import Message, why_not
from deniable.programme.imports.reading import (
    MAX_ROW,
    File,
    Record,
    Row,
    Table,
    in_place,
    is_name,
    line_of,
    lines,
    opened,
    pieces,
    record,
)

WHAT = why_not("the Hush Line export")

MESSAGES = "db/messages.csv"
USERNAMES = "db/usernames.csv"

MAX_RATIO = 20
"""The most that one of them may be packed. With some 20 random bytes in every row, real ones stay below 10."""

PACKED_ROW = 10
"""The fewest bytes that a row of messages.csv takes in the ZIP, on average. With some 20 random bytes in every row,
each report more allows two rows more, and none brings a file to this limit.
"""

FREE = 1 << 12
"""Bytes in the ZIP, and rows, that are allowed before these proportions count."""

MOST_USERNAMES = 100_000

MAX_USERNAMES = 1 << 22
"""The most bytes of usernames.csv, unpacked, which is some ten thousand profiles; it grows with the account's names and
not with its messages.
"""

MAX_DIRECTORY = 1 << 23
"""The most bytes of the ZIP's list of members, or else a quarter of the file: each encrypted message is a member of
some thousand bytes, and takes a hundred in the list.
"""

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4s36xQ8x4s4xQ4x")
"""Of a large ZIP, before the usual end: a mark and how long the list of members is; the mark of the part that follows,
and where it says that the first mark stands.
"""
_ENCRYPTED = 0x1 | 0x20 | 0x40


def records(file: File, class_column: str | None = None) -> Iterator[Row]:
    """The reports of an export, lazily, in the file's order. The file must be seekable. It has no class column."""
    if class_column is not None:
        raise DeniableError(
            "{what} does not say how serious a message is, so it has no class column: offer a "
            "username for each class, and give the mapping a column class",
            what=WHAT,
        )
    with opened(file, WHAT) as binary:
        _check_end(binary)
        archive = None
        with suppress(Exception):  # zipfile raises many kinds, and quotes the names of members
            archive = zipfile.ZipFile(binary)
        if archive is None:
            raise DeniableError("{what} is not a ZIP that can be read: it is damaged or cut off", what=WHAT)
        with archive:
            usernames = _usernames(archive)
            messages = _member(archive, MESSAGES)
            most = messages.compress_size // PACKED_ROW + FREE
            table = Table(_unpacked(archive, messages), _of_export(MESSAGES), most=most)
            for number, cells in table.columns("id", "username_id"):
                if isinstance(cells, Message):
                    made: Record | Message = cells
                elif cells[1] in usernames:
                    made = record(("id", "username"), cells[0], usernames[cells[1]])
                else:
                    made = why_not("username_id must be an id of {file}", file=USERNAMES)
                yield in_place(line_of(number), made)


def _usernames(archive: zipfile.ZipFile) -> dict[str, str]:
    """By their ids."""
    what = _of_export(USERNAMES)
    rows = _rows(_bounded(_unpacked(archive, _member(archive, USERNAMES))))
    header = next(rows, None)
    no_csv = DeniableError(
        "{what} must be a CSV file in UTF-8, with the columns id and username in its first line", what=what
    )
    if not header or not {"id", "username"} <= {*header}:
        raise no_csv
    at, width = [header.index(name) for name in ("id", "username")], len(header)
    usernames: dict[str, str] = {}
    for row in rows:
        if row is None:
            raise no_csv
        number, username = (row[i] for i in at) if len(row) == width else ("", "")
        if not is_name(number) or not is_name(username) or number in usernames:
            raise DeniableError("{what} must have an id and a username in every row, no id twice", what=what)
        if len(usernames) == MOST_USERNAMES:
            raise DeniableError(
                "{what} must have at most {most_usernames} usernames", what=what, most_usernames=MOST_USERNAMES
            )
        usernames[number] = username
    return usernames


def _bounded(source: Iterable[bytes]) -> Iterator[bytes]:
    what, left = _of_export(USERNAMES), MAX_USERNAMES
    for piece in source:
        left -= len(piece)
        if left < 0:
            raise DeniableError(
                "{what} must have at most {max_usernames} bytes", what=what, max_usernames=MAX_USERNAMES
            )
        yield piece


def _rows(source: Iterable[bytes]) -> Iterator[list[str] | None]:
    """One at a time: a list of blank ones takes fifty times the file. None in place of one that is no CSV.

    A row may have several lines, of MAX_ROW bytes together: csv bounds how long a cell is, and not how many there are.
    """
    what = _of_export(USERNAMES)
    number = size = 0

    def text() -> Iterator[str]:
        nonlocal number, size
        for line, following in pairwise(chain(lines(source), (b"\n",))):
            if not line and following == b"\n":
                return  # the file ends with a line end
            number, size = number + 1, size + len(line) + 1
            if size > MAX_ROW:
                why = why_not("a row must have at most {most} bytes", most=f"{MAX_ROW:,}")
                raise DeniableError("{what}, line {line}: {why}", what=what, line=number, why=why)
            yield line.decode("utf-8-sig" if number == 1 else "utf-8") + "\n"

    reader = csv.reader(text(), strict=True)  # otherwise a quote left open would quietly swallow what follows
    while True:
        row = None
        try:
            row = next(reader)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError):
            pass
        yield row
        size = 0


def _check_end(binary: BinaryIO) -> None:
    """Refuse what Hush Line does not write before zipfile reads the whole list of members into memory."""
    start, tail, size = b"", b"", 0
    with suppress(Exception):  # not seekable, closed, opened as text, …
        binary.seek(0)
        start = binary.read(32)
        size = binary.seek(0, SEEK_END)
        binary.seek(max(0, size - _END.size - _END_64.size))
        tail = binary.read()
    if not isinstance(start, bytes) or not isinstance(tail, bytes) or not start:
        raise DeniableError("{what} must be a ZIP in a file that can be read from any place, and not empty", what=WHAT)
    if start.startswith(b"-----BEGIN PGP MESSAGE"):
        raise DeniableError("{what} is encrypted with PGP: decrypt it first, and give the ZIP", what=WHAT)
    if not _is_end(tail, size):
        raise _not_of_hush_line()
    *_, directory, _offset, comment = _END.unpack(tail[-_END.size :])
    if _is_large(tail):
        _, large, _, _ = _END_64.unpack_from(tail)
        directory = max(large, 0 if directory == 2**32 - 1 else directory)
    if directory > max(MAX_DIRECTORY, size // 4) or comment:
        raise DeniableError(
            "{what} must be a ZIP without comment, whose list of members is a small part of it", what=WHAT
        )


def _not_of_hush_line() -> DeniableError:
    return DeniableError(
        "{what} is not a ZIP as Hush Line writes it, or is cut off; check that you chose the right file", what=WHAT
    )


def _is_end(tail: bytes, size: int) -> bool:
    """Whether a ZIP may end like this. Some versions of Python look for the end of a large one right before the usual
    end, others where it is said to stand: both must find the same.
    """
    if len(tail) < _END.size or not tail[-_END.size :].startswith(b"PK\5\6"):
        return False
    if not _is_large(tail):
        return True
    first, _, _, stands = _END_64.unpack_from(tail)
    return bool(first == b"PK\6\6" and stands == size - len(tail))


def _is_large(tail: bytes) -> bool:
    return len(tail) == _END.size + _END_64.size and tail[56:].startswith(b"PK\6\7")


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """The one member of this name, if it is one that Hush Line writes."""
    what = _of_export(name)
    found = [info for info in archive.infolist() if info.filename == name]
    if not found:
        raise _not_of_hush_line()
    if len(found) > 1:
        raise DeniableError(
            "{what} must have the member {name} exactly once, got it {found} times",
            what=WHAT,
            name=name,
            found=len(found),
        )
    (info,) = found
    # zipfile ends a name at a NUL byte; orig_filename is all of it
    if info.orig_filename != name or stat.S_ISLNK(info.external_attr >> 16):
        raise DeniableError("{what} must be a plain file", what=what)
    if info.flag_bits & _ENCRYPTED:
        raise DeniableError("{what} must not be encrypted", what=what)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DeniableError("{what} must be stored or deflated", what=what)
    if info.file_size > MAX_RATIO * max(info.compress_size, FREE):
        raise DeniableError("{what} must be packed at most {max_ratio} times", what=what, max_ratio=MAX_RATIO)
    return info


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    what = _of_export(info.filename)
    member = None
    with suppress(Exception):
        member = archive.open(info)
    if member is None:
        raise DeniableError("{what} cannot be opened: the ZIP is damaged", what=what)
    left = info.file_size
    with member:
        for piece in pieces(member.read, what):  # zipfile stops at the declared size, and then checks the sum
            left -= len(piece)
            yield piece
    if left:
        raise DeniableError("{what} is shorter than the ZIP says: it is damaged", what=what)


def _of_export(member: str) -> Message:
    return why_not("the file {member} of the Hush Line export", member=member)
