"""The public transcript: one canonical JSON line an entry, each naming the hash of the one before, and a signed head.

The file transcript.jsonl holds the entries' lines and, as its last line, the signed head. The first entry names the
hash of programme.json, so that nothing the programme promised at its start can be changed afterwards either. What the
head signs is the text of a checkpoint (C2SP tlog-checkpoint), so that witnesses can countersign it.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.errors import DeniableError
from deniable.message import Message
from deniable.programme.bounded_json import check_brackets
from deniable.programme.transcript import merkle
from deniable.programme.transcript.fields import hexadecimal, whole
from deniable.programme.transcript.signatures import is_signed, sign

# Every entry states its number, kind and round, and the hash of the one before; the head has two hashes and more.
_LEAST_LINE = 100
# More than the line of the signed head takes.
LONGEST_HEAD = 1024


def digest(text: str) -> str:
    """SHA-256 of a line, in hex."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def commitment(programme: str, number: int, seed: bytes) -> str:
    """What is published of the seed of round `number` before that round's reports exist."""
    return hashlib.sha256(f"deniable-seed/1\n{programme}\n{number}\n".encode("ascii") + seed).hexdigest()


@dataclass(frozen=True)
class Head:
    """The office's signature of how many entries there are and of the root of their hash tree."""

    entries: int
    root: str
    signature: str


def signed_head(private_key: bytes, parameters_digest: str, entries: int, root: bytes) -> str:
    """The last line of transcript.jsonl, without the newline."""
    signature = sign(private_key, checkpoint_text(parameters_digest, entries, root).encode("ascii")).hex()
    return canonical({"entries": entries, "root": root.hex(), "signature": signature})


def origin(parameters_digest: str) -> str:
    """What a checkpoint calls the programme with this hash of programme.json."""
    return f"deniable/programme/{parameters_digest}"


def checkpoint_text(parameters_digest: str, entries: int, root: bytes) -> str:
    """What the head signs: the note text of a checkpoint."""
    return f"{origin(parameters_digest)}\n{entries}\n{base64.b64encode(root).decode('ascii')}\n"


def parse_head(text: str) -> Head:
    """The head on this line; `check_head` tells whether the office signed it."""
    values = read_canonical(text, "the signed head")
    checks = {"entries": whole(0), "root": hexadecimal(64), "signature": hexadecimal(128)}
    if values.keys() != checks.keys():
        raise DeniableError("the fields of the signed head must be {checks}", checks=", ".join(checks))
    return Head(**{name: check(f"{name} of the signed head", values[name]) for name, check in checks.items()})


def check_head(public_key: bytes, parameters_digest: str, head: Head) -> None:
    """Refuse a head that the holder of the programme's key did not sign."""
    text = checkpoint_text(parameters_digest, head.entries, bytes.fromhex(head.root))
    if not is_signed(public_key, text.encode("ascii"), bytes.fromhex(head.signature)):
        raise DeniableError(
            "the transcript's head was not signed with the programme's key: the head or programme.json was changed"
        )


def check_lines(public_key: bytes, parameters_digest: str, lines: Sequence[str], head_line: str) -> Head:
    """The head, if the holder of the programme's key signed it, and with it each of these lines in this order."""
    head = parse_head(head_line)
    check_head(public_key, parameters_digest, head)
    if head.entries != len(lines):  # before any is looked at: others may have put millions there
        raise _other_head(lines)
    if not all(map(str.isascii, lines)):
        raise DeniableError("the entries must hold ASCII characters only: a line was changed")
    digests = [parameters_digest, *map(digest, lines)]
    for number, (line, before) in enumerate(zip(lines, digests, strict=False), start=1):
        if f'"previous":"{before}"' not in line:  # all of it is parsed elsewhere, and this is asked with every page
            raise DeniableError(
                "entry {number} does not name the hash of the one before: a line was changed", number=number
            )
    if head.root != merkle.root(lines).hex():
        raise _other_head(lines)
    return head


def _other_head(lines: Sequence[str]) -> DeniableError:
    return DeniableError("the signed head is not that of these {lines} entries", lines=len(lines))


def to_file(lines: Sequence[str], head: str) -> bytes:
    """The bytes of transcript.jsonl: the entries' lines and the signed head."""
    return "".join(f"{text}\n" for text in [*lines, head]).encode("ascii")


def from_file(content: bytes) -> tuple[list[str], str]:
    """The entries' lines and the line of the signed head, from the bytes of transcript.jsonl, or from its last ones:
    the first line may be cut off.

    Others may have put the file there, so it is cut into lines only where there are no more than entries can have.
    """
    if b"\r\n" in content:
        raise DeniableError(
            "the lines of transcript.jsonl must end with a line feed alone, got a carriage return before it: a program "
            "changed the line breaks on the way, so copy the file again as it is"
        )
    if not content.isascii():
        raise DeniableError("transcript.jsonl must hold ASCII characters only")
    head = content.rfind(b"\n", 0, -1) + 1
    if (
        not content.endswith(b"\n")
        or not content.startswith(b'{"entries":', head)
        or len(content) - head > LONGEST_HEAD
    ):
        raise DeniableError(
            "transcript.jsonl must end with the line of the signed head: the file was cut off or changed"
        )
    if content.count(b"\n") > 1 + len(content) // _LEAST_LINE:
        raise DeniableError("transcript.jsonl has lines that are too short for an entry: the file was changed")
    *lines, head_line, _ = content.decode("ascii").split("\n")
    return lines, head_line


def canonical(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def read_canonical(text: str, name: str | Message) -> dict[str, Any]:
    check_brackets(text, name)
    try:
        values = json.loads(text)
        is_canonical = isinstance(values, dict) and canonical(values) == text
    except (ValueError, RecursionError):
        raise DeniableError("{name} must be a line of JSON", name=name) from None
    if not is_canonical:
        raise DeniableError(
            "{name} must be a JSON object in the canonical form: sorted keys, no spaces, ASCII", name=name
        )
    return dict(values)
