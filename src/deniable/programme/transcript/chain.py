"""The public transcript: one canonical JSON line an entry, each naming the hash of the one before, and a signed head.

The file transcript.jsonl holds the entries' lines and, as its last line, the signed head. The first entry names the
hash of programme.json, so that nothing the programme promised at its start can be changed afterwards either.
"""

import hashlib
import json
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.errors import DeniableError
from deniable.programme.parameters import check_name
from deniable.programme.transcript.signatures import is_signed, sign

MAX_REASON = 500
MAX_NUMBER = 10**9
"""Of entries, rounds and days late: beyond any programme, and exact in every JSON reader."""


@dataclass(frozen=True)
class _Shape:
    """What a field may hold: in words, and as a test."""

    words: str
    fits: Callable[[Any], bool]


def _whole(least: int) -> _Shape:
    return _Shape(
        f"a whole number of at least {least}", lambda value: type(value) is int and least <= value <= MAX_NUMBER
    )


def _hex(digits: int) -> _Shape:
    return _Shape(
        f"{digits} lower-case hexadecimal digits",
        lambda value: isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is not None,
    )


def _is_name(value: Any) -> bool:
    try:
        check_name("target", value)
    except DeniableError:
        return False
    return True


def _names(words: str, least: int) -> _Shape:
    return _Shape(
        words,
        lambda value: (
            isinstance(value, list | tuple)
            and len(value) >= least
            and all(_NAME.fits(name) for name in value)
            and len(set(value)) == len(value)
        ),
    )


def _or_null(shape: _Shape) -> _Shape:
    return _Shape(f"{shape.words}, or null", lambda value: value is None or shape.fits(value))


_NAME = _Shape("the name of a target", _is_name)
_REASON = _Shape(
    f"1 to {MAX_REASON} printable characters on one line, without spaces at the ends",
    lambda value: (
        isinstance(value, str) and 1 <= len(value) <= MAX_REASON and value.isprintable() and value == value.strip()
    ),
)
_HASH = _hex(64)
_FLAG = _Shape("true or false", lambda value: isinstance(value, bool))
_SOME_NAMES = _names("a list of one or more different names of targets", least=1)
_ANY_NAMES = _names("a list of different names of targets", least=0)

_DECISION = {"reason": _REASON, "independent": _FLAG, "during": _whole(1)}
"""`during` is the round of the calendar at that time: later than the open one while rounds are overdue."""
_COMMON = {"entry": _whole(1), "round": _whole(1), "previous": _HASH}
_KINDS = {
    "round": {
        "audits": _SOME_NAMES,
        "commitment": _HASH,
        "late": _whole(0),
        "reason": _or_null(_REASON),
        "sealed": _or_null(_HASH),
    },
    "skip": {"commitment": _HASH, "late": _whole(0), **_DECISION},
    "override": {"audits": _SOME_NAMES, **_DECISION},
    "targets": {"added": _ANY_NAMES, "removed": _ANY_NAMES, **_DECISION},
    "not-carried-out": {"of": _whole(1), "target": _NAME, **_DECISION},
    "recovery": {"lost": _whole(1), "commitment": _HASH, "paused": _FLAG, "reason": _REASON},
    "resumption": {"reason": _REASON},
    "end": {"reason": _REASON},
}


@dataclass(frozen=True)
class Entry:
    """One entry of the transcript. Its form is checked here; whether it fits what came before, by `PublicState`.

    `round` is the round that it closes, or during which it was made; `previous` the hash of the line before.
    """

    number: int
    kind: str
    round: int
    previous: str
    fields: Mapping[str, Any]
    """What else the kind of entry says; lists of names are tuples."""

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _KINDS:
            raise DeniableError(f"{self.name}: kind must be one of {', '.join(_KINDS)}, got {reprlib.repr(self.kind)}")
        shapes = _KINDS[self.kind]
        if self.fields.keys() != shapes.keys():
            raise DeniableError(
                f"{self.name}: the fields of the kind {self.kind} must be {', '.join(shapes)}, "
                f"got {reprlib.repr(', '.join(self.fields))}"
            )
        common = {"entry": self.number, "round": self.round, "previous": self.previous}
        for field, shape, value in [
            *((field, shape, common[field]) for field, shape in _COMMON.items()),
            *((field, shape, self.fields[field]) for field, shape in shapes.items()),
        ]:
            if not shape.fits(value):
                raise DeniableError(f"{self.name}: {field} must be {shape.words}, got {reprlib.repr(value)}")
        frozen = {field: tuple(value) if isinstance(value, list) else value for field, value in self.fields.items()}
        object.__setattr__(self, "fields", frozen)

    @property
    def name(self) -> str:
        return f"entry {reprlib.repr(self.number)}"

    @property
    def lapse(self) -> bool:
        """Whether it records a decision that the office does not declare independent of the reports."""
        return self.fields.get("independent") is False


def line(entry: Entry) -> str:
    """The entry's canonical line, without the newline; what is hashed, stored and published.

    >>> print(line(Entry(1, "end", 1, "0" * 64, {"reason": "the law was repealed"})))
    {"entry":1,"kind":"end","previous":"00...00","reason":"the law was repealed","round":1}
    """
    common = {"entry": entry.number, "kind": entry.kind, "round": entry.round, "previous": entry.previous}
    return _canonical({**common, **entry.fields})


def parse(text: str, number: int | None = None) -> Entry:
    """The entry on this line; `number` is where the line stands, for the error."""
    name = "the entry" if number is None else f"entry {number}"
    values = _read(text, name)
    missing = [field for field in ("entry", "kind", "round", "previous") if field not in values]
    if missing:
        raise DeniableError(f"{name} must have the field {missing[0]}")
    stated = values.pop("entry")
    if number is not None and stated != number:
        raise DeniableError(f"{name} is numbered {reprlib.repr(stated)}: a line was changed, moved or taken out")
    return Entry(stated, values.pop("kind"), values.pop("round"), values.pop("previous"), values)


def digest(text: str) -> str:
    """SHA-256 of a line, in hex."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def commitment(programme: str, number: int, seed: bytes) -> str:
    """What is published of the seed of round `number` before that round's reports exist."""
    return hashlib.sha256(f"deniable-seed/1\n{programme}\n{number}\n".encode("ascii") + seed).hexdigest()


@dataclass(frozen=True)
class Head:
    """The office's signature of how many entries there are and of the last one's hash."""

    entries: int
    head: str
    """Of the last entry's line, or of programme.json where there is no entry yet."""
    signature: str


def signed_head(private_key: bytes, parameters_digest: str, entries: int, head: str) -> str:
    """The last line of transcript.jsonl, without the newline."""
    signature = sign(private_key, _signed_message(parameters_digest, entries, head)).hex()
    return _canonical({"entries": entries, "head": head, "signature": signature})


def parse_head(text: str) -> Head:
    """The head on this line; `check_head` tells whether the office signed it."""
    values = _read(text, "the signed head")
    shapes = {"entries": _whole(0), "head": _HASH, "signature": _hex(128)}
    if values.keys() != shapes.keys():
        raise DeniableError(
            f"the fields of the signed head must be {', '.join(shapes)}, got {reprlib.repr(', '.join(values))}"
        )
    for field, shape in shapes.items():
        if not shape.fits(values[field]):
            raise DeniableError(f"{field} of the signed head must be {shape.words}, got {reprlib.repr(values[field])}")
    return Head(**values)


def check_head(public_key: bytes, parameters_digest: str, head: Head) -> None:
    """Refuse a head that the holder of the programme's key did not sign."""
    if not is_signed(
        public_key, _signed_message(parameters_digest, head.entries, head.head), bytes.fromhex(head.signature)
    ):
        raise DeniableError("the signature of the transcript's head is not that of the programme's key")


def to_file(lines: Sequence[str], head: str) -> bytes:
    """The bytes of transcript.jsonl: the entries' lines and the signed head."""
    return "".join(f"{text}\n" for text in [*lines, head]).encode("ascii")


def from_file(content: bytes) -> tuple[list[str], str]:
    """The entries' lines and the line of the signed head, from the bytes of transcript.jsonl."""
    if b"\r\n" in content:
        raise DeniableError(
            "the lines of transcript.jsonl must end with a line feed alone, got a carriage return before it: a program "
            "changed the line breaks on the way, so copy the file again as it is"
        )
    try:
        *lines, end = content.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise DeniableError("transcript.jsonl must hold ASCII characters only") from None
    if end or not lines or not lines[-1].startswith('{"entries":'):
        raise DeniableError(
            "transcript.jsonl must end with the line of the signed head: the file was cut off or changed"
        )
    return lines[:-1], lines[-1]


def _signed_message(parameters_digest: str, entries: int, head: str) -> bytes:
    return f"deniable-transcript/1\n{parameters_digest}\n{entries}\n{head}".encode("ascii")


def _canonical(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _read(text: str, name: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
        canonical = isinstance(values, dict) and _canonical(values) == text
    except (ValueError, RecursionError):
        raise DeniableError(f"{name} must be a line of JSON") from None
    if not canonical:
        raise DeniableError(f"{name} must be a JSON object in the canonical form: sorted keys, no spaces, ASCII")
    return dict(values)
