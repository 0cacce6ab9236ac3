"""A programme's checkpoint (C2SP tlog-checkpoint): whose transcript it is, how many entries, the root of their tree."""

import re
from dataclasses import dataclass
from typing import Self

from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.chain import Head, checkpoint_text, origin
from deniable.programme.witness.notes import ED25519, Note, Signature, VerifierKey, decoded

_TEXT = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*")


@dataclass(frozen=True)
class Checkpoint:
    """What the text of a checkpoint says. Lines after the third are for others, and are not read."""

    origin: str
    size: int
    root: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        found = _TEXT.fullmatch(text)
        root = decoded(found[3]) if found else b""
        if found is None or not root:
            raise DeniableError("this is no checkpoint: a name, a number and a hash, each on a line of its own")
        return cls(found[1], int(found[2]), root)


def office_key(parameters: Parameters) -> VerifierKey:
    """By which witnesses and their programs know the office's signature on a checkpoint."""
    return VerifierKey(origin(parameters.digest), ED25519, bytes.fromhex(parameters.public_key))


def signed_checkpoint(parameters: Parameters, head: Head) -> Note:
    """The checkpoint as a note. Its signature is the one in the head, made when the entry was added."""
    key = office_key(parameters)
    signature = Signature(key.name, key.id, bytes.fromhex(head.signature))
    return Note(checkpoint_text(parameters.digest, head.entries, bytes.fromhex(head.root)), (signature,))
