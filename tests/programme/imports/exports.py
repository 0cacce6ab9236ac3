"""Exports as GlobaLeaks and Hush Line write them, field for field, with a canary in all that must not come out."""

import csv
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import deniable
from deniable.errors import DeniableError
from deniable.programme.imports import Batch, Mapping, read, read_mapping

CANARY = "zq7canary"
"""In every field of a report that is not kept."""

ID = "5ec2e7"
"""In every outside id, which is kept but never shown."""

NUMBER = 737373000
"""Every number that GlobaLeaks or Hush Line gives a report starts with these digits."""

SECRETS = (CANARY, ID, str(NUMBER)[:6])

NORTH, SOUTH, TEST = (
    "0a3c4f9e-6a0e-4b39-9a50-1f3f0a9a7b01",
    "b7d1c2a4-11f0-4e7c-8d55-6f0f1b2c3d02",
    "c0ffee00-2222-4333-8444-555566667777",
)
TARGETS = ("Acme Ltd", "Bravo plc")

Row = tuple[int, str]
"""A report: its number, and its channel."""

ROWS: list[Row] = [(3, SOUTH), (2, NORTH), (1, NORTH), (4, TEST)]


def mapping(channels: dict[str, str] | None = None) -> Mapping:
    channels = {NORTH: "Acme Ltd", SOUTH: "Bravo plc", TEST: ""} if channels is None else channels
    lines = ["channel,target", *(f"{channel},{target}" for channel, target in channels.items())]
    return read_mapping(io.BytesIO("\n".join(lines).encode()), TARGETS)


def outside_id(number: int) -> str:
    return f"{ID}00-0000-4000-8000-{number:012x}"


GLOBALEAKS = (
    *("id", "progressive", "creation_date", "last_update", "expiration_date", "context_id", "status", "substatus"),
    *("tor", "comments", "files", "receiver_count", "last_access"),
)


def tip(number: int, channel: str) -> dict[str, Any]:
    """One entry of GlobaLeaks's answer, dates as its encoder writes them but for the canary."""
    return {
        "id": outside_id(number),
        "progressive": NUMBER + number,
        "creation_date": f"2026-01-05T09:14:27.{CANARY}Z",
        "last_update": f"2026-01-06T10:00:00.{CANARY}Z",
        "expiration_date": f"3000-01-01T00:00:00{CANARY}Z",
        "context_id": channel,
        "status": f"opened{CANARY}",
        "substatus": CANARY,
        "tor": True,
        "comments": 737373,
        "files": 737373,
        "receiver_count": 737373,
        "last_access": f"1970-01-01T00:00:00{CANARY}Z",
    }


def globaleaks_json(rows: Iterable[Row] = ROWS) -> bytes:
    return json.dumps([tip(*row) for row in rows]).encode()


def globaleaks_line(number: int, channel: str) -> str:
    values = (str(value).lower() if isinstance(value, bool) else str(value) for value in tip(number, channel).values())
    return ",".join(values)


def globaleaks_csv(rows: Iterable[Row] = ROWS) -> bytes:
    """Cells joined with commas, nothing quoted, no line end at the end."""
    return "\n".join([",".join(GLOBALEAKS), *(globaleaks_line(*row) for row in rows)]).encode()


MESSAGES = ("id", "public_id", "created_at", "username_id", "reply_slug", "status", "status_changed_at")

USERNAMES = (
    *("id", "user_id", "username", "display_name", "is_primary", "is_verified", "show_in_directory", "bio"),
    *(f"extra_field_{kind}{i}" for i in range(1, 5) for kind in ("label", "value")),
    *(f"extra_field_verified{i}" for i in range(1, 5)),
)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """What csv.DictWriter writes: quotes where needed, CRLF."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()


def message(number: int, username_id: object) -> tuple[object, ...]:
    when = f"2026-01-05 09:14:27.123456+00:00{CANARY}"
    return (NUMBER + number, f"{CANARY}-0000-4000", when, username_id, f"{CANARY} slug", "PENDING", when)


def username(number: object, name: str) -> tuple[object, ...]:
    profile = (f"{CANARY}, the\r\n“office”", number == 1, False, False, f'bio, "{CANARY}"\nwith lines')
    return (number, 9, name, *profile, *([CANARY] * 8), *([False] * 4))


def members(rows: Iterable[Row] = ROWS) -> dict[str, bytes]:
    """All members of a Hush Line export, in its order."""
    ids = {NORTH: 11, SOUTH: 12, TEST: 13}
    private = table((CANARY, "value"), [(CANARY, "-----BEGIN PGP MESSAGE-----")])
    return {
        "db/users.csv": private,
        "db/usernames.csv": table(USERNAMES, [username(number, name) for name, number in ids.items()]),
        "db/messages.csv": table(MESSAGES, [message(number, ids[channel]) for number, channel in rows]),
        "db/field_definitions.csv": private,
        "db/field_values.csv": private,
        "db/message_status_text.csv": private,
        "db/authentication_logs.csv": private,
        f"pgp_messages/{CANARY}-message-1.asc": CANARY.encode(),
    }


def packed(contents: dict[str, bytes] | Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items() if isinstance(contents, dict) else contents:
            archive.writestr(name, content)
    return out.getvalue()


def hushline_zip(rows: Iterable[Row] = ROWS) -> bytes:
    return packed(members(rows))


def patched(archive: bytes, name: str, offset: int, fmt: str, value: int) -> bytes:
    """The archive with a field of the member's entry in the list of members changed; the entry starts 46 bytes
    before its name.
    """
    edited = bytearray(archive)
    struct.pack_into(fmt, edited, archive.rindex(name.encode()) - 46 + offset, value)
    return bytes(edited)


def plain_csv(rows: Iterable[Row] = ROWS) -> bytes:
    lines = ["id,channel", *(f"{outside_id(number)},{channel}" for number, channel in rows)]
    return "\n".join(lines).encode()


EXPORTS = {
    "globaleaks.json": ("globaleaks", globaleaks_json),
    "globaleaks.csv": ("globaleaks", globaleaks_csv),
    "hushline.zip": ("hushline", hushline_zip),
    "plain.csv": ("csv", plain_csv),
}


def carried(error: BaseException | None) -> str:
    """All text that an exception carries: its own, that of those before it, and deniable's variables on the way."""
    if error is None:
        return ""
    texts = [str(error), repr(error), repr(error.args), repr(getattr(error, "__notes__", "")), *_variables(error)]
    return "\n".join([*texts, carried(error.__cause__), carried(error.__context__)])


def _variables(error: BaseException) -> list[str]:
    here = str(Path(deniable.__file__).parent)
    traceback: TracebackType | None = error.__traceback__
    texts = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.startswith(here):
            texts += [repr(value) for value in traceback.tb_frame.f_locals.values()]
        traceback = traceback.tb_next
    return texts


def error_of(step: Callable[[], object]) -> DeniableError | None:
    """The refusal of `step`, if it refuses."""
    try:
        step()
    except DeniableError as error:
        return error
    return None


def leaked(error: BaseException) -> list[str]:
    text = carried(error)
    return [secret for secret in SECRETS if secret in text]


def refusal(kind: str, content: bytes, channels: dict[str, str] | None = None) -> str:
    """The sentence with which the export is refused; the refusal carries no secret."""
    error = error_of(lambda: read(kind, io.BytesIO(content), mapping(channels)))
    assert error is not None, "the export was not refused"
    assert leaked(error) == []
    assert "\n" not in str(error)
    return str(error)


def number_of(found: str) -> int:
    """Of the report with this outside id."""
    return int(found) - NUMBER if found.isdigit() else int(found.rpartition("-")[2], 16)


def counted(kind: str, content: bytes, channels: dict[str, str] | None = None) -> list[Row]:
    """The number and the target of each report of the batch, where nothing is set aside."""
    batch = read(kind, io.BytesIO(content), mapping(channels))
    assert batch.set_aside.reports == 0, batch.set_aside.in_words()
    return with_target(batch)


def with_target(batch: Batch) -> list[Row]:
    """The number and the target of each report that has one."""
    return [(number_of(found), target) for found, target, _ in batch if target is not None]


def set_aside(kind: str, content: bytes) -> list[tuple[str, str]]:
    """Where the rows are that cannot be read, and why; all others of ROWS are in the batch."""
    batch = read(kind, io.BytesIO(content), mapping())
    assert not any(secret in repr(batch.set_aside) for secret in SECRETS)
    assert batch.set_aside.reports == len(batch.set_aside.malformed)
    rest = with_target(batch)
    assert rest == [row for row in COUNTED if row in rest]
    assert len(rest) >= len(COUNTED) - batch.set_aside.reports
    return [(str(row.place), str(row.why)) for row in batch.set_aside.malformed]


COUNTED = [(3, "Bravo plc"), (2, "Acme Ltd"), (1, "Acme Ltd")]
"""The batch of ROWS."""
