"""What a witness does: it keeps the transcript that it saw last, compares, and countersigns what continues it."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from deniable.errors import DeniableError, cannot_write, why
from deniable.programme.parameters import Parameters
from deniable.programme.transcript import merkle
from deniable.programme.transcript.chain import origin, parse_head, to_file
from deniable.programme.witness.keys import WitnessKey
from deniable.programme.witness.notes import LATEST, Checkpoint, Note, signed_checkpoint
from deniable.storage.files import locked, replace_file, sync_folder
from deniable.wording import count

FORMAT = "deniable-witness/1"
_PATIENCE = 30.0


@dataclass(frozen=True)
class Transcript:
    """What the office shows: rules, entries and the line of the signed head. It was verified."""

    parameters: Parameters
    lines: Sequence[str]
    head_line: str


@dataclass(frozen=True)
class Seen:
    """What a witness countersigned last of one programme."""

    note: Note
    """The countersignature is its last line."""
    lines: Sequence[str]

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.note.signatures[-1].time, UTC)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], key: WitnessKey) -> Self:
        """What `to_dict` wrote, refused where it was changed."""
        note, lines = Note.parse(stored["note"].encode()), stored["lines"]
        checkpoint = Checkpoint.parse(note.text)
        is_own = note.signed_by(key.public)[-1:] == note.signatures[-1:]
        if not is_own or (checkpoint.size, checkpoint.root) != (len(lines), merkle.root(lines)):
            raise DeniableError("the note is not that of the lines")
        return cls(note, lines)

    def to_dict(self) -> dict[str, Any]:
        return {"note": self.note.to_bytes().decode(), "lines": [*self.lines]}


@dataclass(frozen=True)
class Countersigned:
    """The note with the countersignature, and what there was before."""

    seen: Seen
    is_new: bool
    """Or else this checkpoint was countersigned before, and this is the same note."""
    is_first: bool
    """Whether this witness had seen nothing of the programme."""


@dataclass
class Witness:
    """A witness at work. `path` is its key file, beside which it keeps what it saw."""

    path: Path
    key: WitnessKey
    seen: dict[str, Seen]
    """By the programme's origin."""

    def check(self, shown: Transcript) -> None:
        """Refuse a transcript that does not continue the one seen last."""
        if (before := self.seen.get(origin(shown.parameters.digest))) is not None:
            self._check_continues(before, shown)

    def countersign(self, shown: Transcript, now: datetime) -> Countersigned:
        """Countersign what continues the transcript seen last; refused where it does not.

        It is remembered before it is given out: a witness that is killed in between gives out the same
        countersignature the next time.
        """
        note = signed_checkpoint(shown.parameters, parse_head(shown.head_line))
        programme = origin(shown.parameters.digest)
        before = self.seen.get(programme)
        self.check(shown)
        if before is not None and before.note.text == note.text:
            return Countersigned(before, is_new=False, is_first=False)
        seen = Seen(note.cosigned(self.key.name, self.key.private, self._time(now)), shown.lines)
        _replace(_memory(self.path), _stored(self.seen | {programme: seen}))
        self.seen[programme] = seen
        return Countersigned(seen, is_new=True, is_first=before is None)

    def _time(self, now: datetime) -> int:
        """The present, in whole seconds."""
        latest = max((seen.time for seen in self.seen.values()), default=datetime.fromtimestamp(0, UTC))
        if now < latest or now.timestamp() > LATEST:
            raise DeniableError(
                f"the clock of this machine says {now:%Y-%m-%d %H:%M}, and you countersigned at "
                f"{latest:%Y-%m-%d %H:%M} (UTC) before: set the clock right, and try again"
            )
        return int(now.timestamp())

    def _check_continues(self, before: Seen, shown: Transcript) -> None:
        for number, (old, new) in enumerate(zip(before.lines, shown.lines, strict=False), start=1):
            if old != new:
                raise DeniableError(
                    f"entry {number} is not the one that you countersigned on {before.time:%Y-%m-%d}: the office shows "
                    "two histories of this programme, and signed both; nothing was countersigned; keep "
                    f"{_memory(self.path)}, which has the first, and {self._keep(shown)}, which has the second, and "
                    "tell others"
                )
        if len(shown.lines) < len(before.lines):
            raise DeniableError(
                f"the folder has {count(len(shown.lines), 'entry', 'entries')}, and you countersigned "
                f"{len(before.lines):,} on {before.time:%Y-%m-%d}: this is an old copy, or the office took entries "
                "back; nothing was countersigned; get the newest copy and, if the office has no other, keep the folder "
                f"and {_memory(self.path)}"
            )

    def _keep(self, shown: Transcript) -> Path:
        """Where the second history is kept from now on."""
        path = self.path.with_name(f"{self.path.name}.other-{parse_head(shown.head_line).root[:16]}.jsonl")
        _replace(path, to_file(shown.lines, shown.head_line))
        return path


@contextmanager
def at_work(path: Path, name: str | None = None) -> Iterator[Witness]:
    """The witness whose key is in this file, one process at a time; with a name, a key is made where there is none."""
    path = Path(os.path.realpath(path))
    if name is not None and not os.path.lexists(path):
        _begin(path, name)
    key = WitnessKey.read(path)
    if name is not None and name != key.name:
        raise DeniableError(f"the key in {path} is that of {key.name}; leave out --name, or name another key file")
    with ExitStack() as held:
        try:
            held.enter_context(locked(path, _PATIENCE))
        except TimeoutError:
            raise DeniableError(f"another process countersigns with {path}; try again when it is done") from None
        except OSError as error:
            raise DeniableError(f"{path} cannot be locked against other processes: {why(error)}") from None
        yield Witness(path, key, _recalled(path, key))


def _begin(path: Path, name: str) -> None:
    """The memory first: where it is missing beside a key, it was lost."""
    key = WitnessKey.new(name)
    if _memory(path).exists() and _memory(path).read_bytes() != _stored({}):
        raise DeniableError(
            f"{_memory(path)} belongs to a key that was here before; put that back, or name another file"
        )
    _replace(_memory(path), _stored({}))
    key.write(path)


def _memory(path: Path) -> Path:
    return path.with_name(f"{path.name}.seen")


def _stored(seen: Mapping[str, Seen]) -> bytes:
    programmes = {name: one.to_dict() for name, one in seen.items()}
    return json.dumps({"format": FORMAT, "programmes": programmes}, indent=1).encode("ascii")


def _recalled(path: Path, key: WitnessKey) -> dict[str, Seen]:
    memory = _memory(path)
    try:
        stored = json.loads(memory.read_bytes())
        if stored["format"] != FORMAT:
            raise DeniableError("it is of another version")
        return {name: Seen.from_dict(one, key) for name, one in stored["programmes"].items()}
    except OSError as error:
        told = why(error)
    except (ValueError, LookupError, TypeError, AttributeError):
        told = "it was changed, or written by another version"
    raise DeniableError(
        f"{memory} cannot be read: {told}; without it nothing shows whether the office changed anything since, and "
        "with an older copy you would countersign a second history; put back the newest one or, if you do not have it, "
        "move the key away and begin again with a new one"
    )


def _replace(path: Path, content: bytes) -> None:
    try:
        replace_file(path, content, mode=0o600)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
