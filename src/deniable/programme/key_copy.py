"""The copy of the transcript beside the key file: kept apart from the database, so that an old database shows."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deniable.errors import DeniableError, PlaceError
from deniable.programme.parameters import Parameters
from deniable.programme.public_files import entries_in, read_head, read_public, replace_file
from deniable.programme.public_state import replay
from deniable.programme.transcript import Head, check_head, from_file, parse, parse_head, to_file
from deniable.programme.vault import sync_folder


@dataclass(frozen=True)
class KeyCopy:
    """The copy beside a key file. It holds nothing that will not be published."""

    path: Path

    @classmethod
    def beside(cls, key: Path) -> "KeyCopy":
        return cls(key.with_name(f"{key.name}.transcript"))

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    def head(self) -> Head | None:
        """The signed head, its signature unchecked; None where there is no copy yet."""
        with self._sentences():
            return read_head(self.path) if self.exists() else None

    def entries(self, parameters: Parameters) -> int:
        """How many of this programme's entries it has; none where it cannot be read."""
        return entries_in(self.path, parameters)

    def is_writable(self) -> bool:
        """Whether it can be replaced."""
        return os.access(self.path.parent, os.W_OK)

    def checked_lines(self, parameters: Parameters) -> Sequence[str]:
        """All entries, if they are this programme's; none where there is no copy yet."""
        with self._sentences():
            if not self.exists():
                return ()
            lines, head_line = from_file(read_public(self.path))
        head = parse_head(head_line)
        check_head(bytes.fromhex(parameters.public_key), parameters.digest, head)
        state = replay(parameters, [parse(line, number) for number, line in enumerate(lines, start=1)])
        if (head.entries, head.head) != (state.entries, state.head):
            raise self.error("is not whole")
        return tuple(lines)

    def bring_up_to_date(self, head_line: str, lines: Callable[[], Sequence[str]]) -> bool:
        """Replace it where it has less; returns whether it could be done."""
        there = self.head()
        try:
            if there is None or there.entries < parse_head(head_line).entries:
                replace_file(self.path, to_file(lines(), head_line), mode=0o600)
                sync_folder(self.path.parent)
        except OSError:
            return False
        return True

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except (OSError, DeniableError):
            raise self.error("cannot be read: put back the newest one") from None

    def error(self, why: str) -> PlaceError:
        place = f", {self.path},"
        return PlaceError(f"the copy of the transcript beside the key{place} {why}", place, "")
