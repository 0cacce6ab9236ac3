"""Exports of four hotlines, one in each format, from rows that may be damaged."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.programme.imports.exports import (
    GLOBALEAKS,
    MESSAGES,
    USERNAMES,
    message,
    outside_id,
    packed,
    table,
    tip,
    username,
)

CHANNELS = ("main", "side", "shut", "new")
DAMAGES = ("cells", "id", "channel", "quote", "bytes", "nul", "long")

_USERNAME_IDS = {channel: number for number, channel in enumerate(CHANNELS, start=11)}


@dataclass(frozen=True)
class Row:
    """A report as a hotline lists it."""

    number: int
    channel: str
    damage: str | None = None


class Hotline(NamedTuple):
    kind: str
    """What `imports.read` calls its format."""
    option: str
    """What the command line calls it."""
    written: Callable[[Sequence[Row]], bytes]
    outside_id: Callable[[int], str]
    """What it calls the report with this number."""


def _damaged(cells: list[str], damage: str | None, id_at: int, channel_at: int) -> bytes:
    """A line of a CSV file."""
    match damage:
        case "cells":
            cells = [*cells, "one more"]
        case "id":
            cells[id_at] = "not an id"
        case "channel":
            cells[channel_at] = ""
        case "quote":
            cells[id_at] = f'"{cells[id_at]}'
        case "nul":
            cells[channel_at] += "\0"
        case "long":
            cells[id_at] = "7" * 500
    line = ",".join(cells).encode()
    return line.replace(cells[channel_at].encode(), b"\xff\xfe") if damage == "bytes" else line


def _plain(rows: Sequence[Row]) -> bytes:
    lines = [_damaged([str(row.number), row.channel], row.damage, 0, 1) for row in rows]
    return b"\n".join([b"id,channel", *lines])


def _globaleaks_csv(rows: Sequence[Row]) -> bytes:
    id_at, channel_at = GLOBALEAKS.index("id"), GLOBALEAKS.index("context_id")
    lines = [_damaged([str(value) for value in _tip(row).values()], row.damage, id_at, channel_at) for row in rows]
    return b"\n".join([",".join(GLOBALEAKS).encode(), *lines])


def _tip(row: Row) -> dict[str, Any]:
    return tip(row.number, row.channel) | {"id": _uuid(row.number)}


def _uuid(number: int) -> str:
    return outside_id(number % 2**48)


def _globaleaks_json(rows: Sequence[Row]) -> bytes:
    return b"[" + b",".join(_entry(row) for row in rows) + b"]"


def _entry(row: Row) -> bytes:
    fields = _tip(row)
    match row.damage:
        case "cells":
            del fields["context_id"]
        case "id":
            fields["id"] = [7]
        case "channel":
            fields["context_id"] = None
        case "quote":
            return b'"a text"'
        case "nul":
            fields["id"] += "\0"
        case "long":
            fields["id"] = "7" * 500
    entry = json.dumps(fields).encode()
    return entry.replace(row.channel.encode(), b"\xff\xfe") if row.damage == "bytes" else entry


def _hushline(rows: Sequence[Row]) -> bytes:
    lines = []
    for row in rows:
        cells = [str(cell) for cell in message(row.number, _USERNAME_IDS[row.channel])]
        lines.append(_damaged(cells, row.damage, 0, MESSAGES.index("username_id")))
    return packed(
        {
            "db/usernames.csv": table(USERNAMES, [username(number, name) for name, number in _USERNAME_IDS.items()]),
            "db/messages.csv": b"\r\n".join([",".join(MESSAGES).encode(), *lines]),
        }
    )


HOTLINES = {
    "north": Hotline("csv", "csv", _plain, str),
    "east": Hotline("globaleaks", "globaleaks", _globaleaks_csv, _uuid),
    "south": Hotline("globaleaks", "globaleaks", _globaleaks_json, _uuid),
    "west": Hotline("hushline", "hushline", _hushline, lambda number: str(message(number, 0)[0])),
}
