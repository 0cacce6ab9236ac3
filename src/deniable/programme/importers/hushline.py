"""Reports from Hush Line: the ZIP of an account's data export, decrypted if it was encrypted with PGP.

The format is that of Hush Line's public sources, looked up in `hushline/settings/data_export.py` (the ZIP and its CSV
files, which Python's csv.DictWriter writes) and in `hushline/model/message.py` and `username.py` (the columns). Of the
ZIP, only `db/messages.csv` (id, public_id, created_at, username_id, reply_slug, status, status_changed_at) and
`db/usernames.csv` (id, user_id, username, display_name, …) are opened, and of these only the columns `id` and
`username_id`, `id` and `username` are kept: never the messages themselves, which are in other members.

A channel is one of the account's usernames (its own or an alias), so a username is what the mapping names. A message's
`id` is both its outside id and its number. It grows with every message on the whole Hush Line server, and an export
holds one account's messages: two accounts are two sources.
"""

import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from os import SEEK_END
from typing import BinaryIO

from deniable.errors import DeniableError
from deniable.programme.importers.reading import File, Record, Table, is_name, opened, pieces, record, whole_number

WHAT = "the Hush Line export"

MESSAGES = "db/messages.csv"
USERNAMES = "db/usernames.csv"

MAX_MEMBER = 1 << 30
"""The most bytes of one of the two files, unpacked."""

MAX_RATIO = 200
"""The most that one of them may be packed; CSV files with random ids stay below 10."""

MAX_USERNAMES = 10_000

MAX_DIRECTORY = 1 << 23
"""The most bytes of the ZIP's list of members; 65 535 of them, the most without ZIP64, take about as many."""

_END = struct.Struct("<4s4H2LH")
_LOCATOR_LENGTH = 20
_ENCRYPTED = 0x1 | 0x20 | 0x40


def records(file: File) -> Iterator[Record]:
    """The reports of an export, lazily, in the file's order. The file must be seekable."""
    with opened(file, WHAT) as binary:
        _check_end(binary)
        archive = None
        with suppress(Exception):  # zipfile raises many kinds, and quotes the names of members
            archive = zipfile.ZipFile(binary)
        if archive is None:
            raise DeniableError(f"{WHAT} is not a ZIP that can be read: it is damaged or cut off")
        with archive:
            usernames = _usernames(archive)
            table = Table(_member(archive, MESSAGES), f"{MESSAGES} of {WHAT}", several_lines=True)
            for number, username_id in table.columns("id", "username_id"):
                key = whole_number(username_id)
                if key not in usernames:
                    raise table.refusal(f"username_id must be an id of {USERNAMES}")
                # 007 and 7 are one message
                made = record(("id", "id", "username"), number.lstrip("0"), number, usernames[key])
                if isinstance(made, str):
                    raise table.refusal(made)
                yield made


def _usernames(archive: zipfile.ZipFile) -> dict[int | None, str]:
    table = Table(_member(archive, USERNAMES), f"{USERNAMES} of {WHAT}", several_lines=True)
    usernames: dict[int | None, str] = {}
    for number, username in table.columns("id", "username"):
        key = whole_number(number)
        if key is None or not is_name(username):
            raise table.refusal("expected a whole number as id and 1 to 200 printable characters as username")
        if key in usernames:
            raise table.refusal("an id must not come twice")
        if len(usernames) == MAX_USERNAMES:
            raise DeniableError(f"{USERNAMES} of {WHAT} must have at most {MAX_USERNAMES} rows")
        usernames[key] = username
    if len({*usernames.values()}) < len(usernames):
        raise DeniableError(f"{USERNAMES} of {WHAT} must not have a username twice")
    return usernames


def _check_end(binary: BinaryIO) -> None:
    """Refuse what Hush Line does not write before zipfile reads the whole list of members into memory."""
    start = tail = b""
    with suppress(Exception):  # not seekable, closed, opened as text, …
        binary.seek(0)
        start = binary.read(32)
        size = binary.seek(0, SEEK_END)
        binary.seek(max(0, size - _END.size - _LOCATOR_LENGTH))
        tail = binary.read()
    if not isinstance(start, bytes) or not isinstance(tail, bytes) or not start:
        raise DeniableError(f"{WHAT} must be a ZIP in a file that can be read from any place, and not empty")
    if start.startswith(b"-----BEGIN PGP MESSAGE"):
        raise DeniableError(f"{WHAT} is encrypted with PGP: decrypt it first, and give the ZIP")
    end = tail[-_END.size :]
    if len(end) < _END.size or not end.startswith(b"PK\5\6"):
        raise DeniableError(f"{WHAT} is not a ZIP as Hush Line writes it, or is cut off")
    *_, directory, _offset, comment = _END.unpack(end)
    if tail.startswith(b"PK\6\7") or directory > MAX_DIRECTORY or comment:
        raise DeniableError(f"{WHAT} must be a ZIP without comment, with fewer than 65535 members and 4 GiB")


def _member(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    what = f"{name} of {WHAT}"
    found = [info for info in archive.infolist() if info.filename == name]
    if len(found) != 1:
        raise DeniableError(f"{WHAT} must have the member {name} exactly once, got it {len(found)} times")
    (info,) = found
    # zipfile ends a name at a NUL byte; orig_filename is all of it
    if info.orig_filename != name or stat.S_ISLNK(info.external_attr >> 16):
        raise DeniableError(f"{what} must be a plain file")
    if info.flag_bits & _ENCRYPTED:
        raise DeniableError(f"{what} must not be encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DeniableError(f"{what} must be stored or deflated")
    if info.file_size > MAX_MEMBER or info.file_size > MAX_RATIO * max(info.compress_size, 4096):
        raise DeniableError(f"{what} must have at most {MAX_MEMBER} bytes, packed at most {MAX_RATIO} times")
    member = None
    with suppress(Exception):
        member = archive.open(info)
    if member is None:
        raise DeniableError(f"{what} cannot be opened: the ZIP is damaged")
    left = info.file_size
    with member:
        for piece in pieces(member.read, what):  # zipfile stops at the declared size, and then checks the sum
            left -= len(piece)
            yield piece
    if left:
        raise DeniableError(f"{what} is shorter than the ZIP says: it is damaged")
