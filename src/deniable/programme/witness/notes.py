"""Signed notes (C2SP signed-note): a text, and below it a line for every key that signed it; and the checkpoint of a
programme as such a text (C2SP tlog-checkpoint).
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.chain import Head, checkpoint_text, origin
from deniable.programme.transcript.signatures import check_public_key, is_signed, public_key, sign

ED25519, COSIGNATURE = 0x01, 0x04
"""Signature types: of the text alone, and of the text with the time (C2SP tlog-cosignature, `cosignature/v1`)."""

LATEST = 253_402_300_799
"""The last second of the year 9999. No witness means a later one."""

_ID_BYTES, _TIME_BYTES = 4, 8
_LENGTHS: Mapping[int, int] = MappingProxyType({ED25519: 64, COSIGNATURE: _TIME_BYTES + 64})
_DASH = "\N{EM DASH}"


@dataclass(frozen=True)
class VerifierKey:
    """By which a signature on a note is checked.

    >>> VerifierKey.parse("remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2").name
    'remora.n621.de'
    """

    name: str
    type: int
    public: bytes

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise DeniableError("a key's name must have at least one character, and neither a space nor a + among them")
        if self.type not in _LENGTHS:
            raise DeniableError(
                "a key must be an Ed25519 key for notes or for countersignatures; other kinds are not known here"
            )
        check_public_key(self.public)

    @property
    def id(self) -> bytes:
        """Short, not a secure hash: it tells which lines of a note to check with this key."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.public).digest()[:_ID_BYTES]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key from its one line of text, the vkey."""
        name, _, rest = text.partition("+")
        stated, _, key_text = rest.partition("+")
        blob = decoded(key_text) if re.fullmatch("[0-9a-f]{8}", stated) else None
        if not blob:
            raise DeniableError("a key must read NAME+ID+KEY, with an ID of 8 hexadecimal digits, all on one line")
        key = cls(name, blob[0], blob[1:])
        if key.id.hex() != stated:
            raise DeniableError(f"the key of {name} was copied wrong: its ID does not fit the rest")
        return key

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encoded(bytes([self.type]) + self.public)}"

    def verifies(self, text: str, signature: bytes) -> bool:
        """Whether this is a signature of the text with this key, at the time that it names."""
        if len(signature) != _LENGTHS[self.type]:
            return False
        message = text
        if self.type == COSIGNATURE:
            time, signature = int.from_bytes(signature[:_TIME_BYTES], "big"), signature[_TIME_BYTES:]
            if not 0 < time <= LATEST:
                return False
            message = _cosigned_message(text, time)
        return is_signed(self.public, message.encode(), signature)


@dataclass(frozen=True)
class Signature:
    """A line below the text."""

    name: str
    key_id: bytes
    signature: bytes

    @property
    def time(self) -> int:
        """Of a countersignature, in seconds since 1970."""
        return int.from_bytes(self.signature[:_TIME_BYTES], "big")

    def line(self) -> str:
        return f"{_DASH} {self.name} {encoded(self.key_id + self.signature)}\n"


@dataclass(frozen=True)
class Note:
    """A text that ends with a line feed, and its signatures."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The note in a file, whatever it says and whether its signatures are right or not."""
        try:
            note = content.decode("utf-8")
        except UnicodeDecodeError:
            note = ""
        text, gap, below = note.rpartition("\n\n")
        lines = [_parsed_line(line) for line in below.removesuffix("\n").split("\n")]
        signatures = tuple(line for line in lines if line is not None)
        is_plain = re.search(r"[\x00-\x09\x0b-\x1f]", note) is None
        if not (gap and below.endswith("\n") and is_plain) or len(signatures) < len(lines):
            raise DeniableError("this is no signed note: a text, an empty line, and a line for each signature")
        return cls(f"{text}\n", signatures)

    def to_bytes(self) -> bytes:
        return f"{self.text}\n{''.join(signature.line() for signature in self.signatures)}".encode()

    def signed_by(self, key: VerifierKey) -> tuple[Signature, ...]:
        """The signatures with this key; refused where one says that it is and is not, since the note was changed."""
        found = tuple(one for one in self.signatures if (one.name, one.key_id) == (key.name, key.id))
        if not all(key.verifies(self.text, one.signature) for one in found):
            raise DeniableError(f"a signature of {key.name} does not fit: the note was changed")
        return found

    def cosigned(self, name: str, private_key: bytes, time: int) -> "Note":
        """With a countersignature at this time, in seconds since 1970."""
        key = VerifierKey(name, COSIGNATURE, public_key(private_key))
        signature = sign(private_key, _cosigned_message(self.text, time).encode())
        added = Signature(name, key.id, time.to_bytes(_TIME_BYTES, "big") + signature)
        return Note(self.text, (*self.signatures, added))


def _cosigned_message(text: str, time: int) -> str:
    return f"cosignature/v1\ntime {time}\n{text}"


def _parsed_line(line: str) -> Signature | None:
    match line.split(" "):
        case [dash, name, text] if dash == _DASH and _is_name(name):
            blob = decoded(text)
        case _:
            return None
    return None if len(blob) <= _ID_BYTES else Signature(name, blob[:_ID_BYTES], blob[_ID_BYTES:])


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(map(str.isspace, name))


def encoded(blob: bytes) -> str:
    """In base64 (RFC 4648, section 4)."""
    return base64.b64encode(blob).decode("ascii")


def decoded(text: str) -> bytes:
    """Nothing where it is no base64, or not in its one form."""
    try:
        blob = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""
    return blob if encoded(blob) == text else b""


_CHECKPOINT = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*")


@dataclass(frozen=True)
class Checkpoint:
    """What the text of a checkpoint says. Lines after the third are for others, and are not read."""

    origin: str
    size: int
    root: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        found = _CHECKPOINT.fullmatch(text)
        root = decoded(found[3]) if found else b""
        if found is None or not root:
            raise DeniableError("this is no checkpoint: a name, a number and a hash, each on a line of its own")
        return cls(found[1], int(found[2]), root)


def office_key(parameters: Parameters) -> VerifierKey:
    """By which witnesses and their programs know the office's signature on a checkpoint."""
    return VerifierKey(origin(parameters.digest), ED25519, parameters.verification_key)


def signed_checkpoint(parameters: Parameters, head: Head) -> Note:
    """The checkpoint as a note. Its signature is the one in the head, made when the entry was added."""
    key = office_key(parameters)
    signature = Signature(key.name, key.id, bytes.fromhex(head.signature))
    return Note(checkpoint_text(parameters.digest, head.entries, bytes.fromhex(head.root)), (signature,))
