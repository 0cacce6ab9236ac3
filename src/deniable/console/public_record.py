"""The public transcript, read, checked and laid out once for each signed head, however many people look at it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, Self

from deniable.console.remembered import Remembered
from deniable.languages.language import CONSOLE
from deniable.languages.voice import Voice
from deniable.programme.calendar import office_time_in_words
from deniable.programme.names import caseless
from deniable.programme.parameters import Parameters
from deniable.programme.public.frozen_rounds import FrozenRound
from deniable.programme.public.page import Event, events_of
from deniable.programme.transcript.outcomes import present_names
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.unannounced import Reveal
from deniable.programme.transcript_copies import StoredTranscript, all_lines
from deniable.programme.work_list import OpenAudit
from deniable.storage import tables
from deniable.storage.store import Store

_parsed = lru_cache(maxsize=10_000)(parse)  # when an entry is added, the others stay as they are


@dataclass(frozen=True, eq=False)
class Record:
    """The transcript as the office signed it."""

    lines: tuple[str, ...]
    head: str
    """The line of the signed head."""
    events: tuple[Event, ...]
    """Newest first."""
    texts: tuple[str, ...]
    """The names in each of them, without case, a name a line."""
    revealed: tuple[Reveal, ...]
    """The entries with the names of earlier draws."""
    present: Mapping[str, str]
    """What targets are called now, by every name that they had before."""

    @property
    def waiting(self) -> FrozenRound | None:
        """The round that is frozen and not drawn yet."""
        frozen = (event.frozen for event in self.events)
        return next((one for one in frozen if one is not None and one.state == "waits"), None)

    @classmethod
    def of(cls, parameters: Parameters, lines: Sequence[str], head: str, say: Voice) -> Self:
        """Refused where the signed head is not that of these lines."""
        StoredTranscript(parameters, lines, head, None)
        entries = [_parsed(line) for line in lines]
        events = events_of(parameters, entries, say, partial(office_time_in_words, parameters.calendar))
        revealed = tuple(entry for entry in entries if isinstance(entry, Reveal))
        return cls(tuple(lines), head, events, tuple(map(_text, events)), revealed, present_names(entries))


def _text(event: Event) -> str:
    named = [event.heading] if event.kind in ("not-carried-out", "carried-out", "renamed") else []
    return caseless("\n".join([*(audited.name for audited in event.audited), *event.added, *event.removed, *named]))


def unpublished_audits(record: Record, published: int) -> frozenset[tuple[int, str]]:
    """Rounds and targets, by their present names, of audits that stand in the record, and in none of the entries that
    are published.
    """
    revealed = {one.of: one.number for one in record.revealed}
    known, late = set[tuple[int, str]](), set[tuple[int, str]]()
    for event in record.events:
        named_in = event.last_entry if event.due is None else revealed.get(event.round, event.last_entry)
        found = known if named_in <= published else late
        found.update((event.round, record.present.get(audited.name, audited.name)) for audited in event.audited)
    return frozenset(late - known)


SelectedBy = Literal["emergency", "order", "draw"]
"""Why a target is on the work list: because of a report it is visited at once, the office ordered the audit by hand, or
it was drawn.
"""


class Unrecorded:
    """What the public record has of each target since an audit of it was last recorded."""

    def __init__(self, record: Record) -> None:
        """Targets have their present names."""
        self._selected: dict[str, list[tuple[int, str]]] = {}
        recorded = set()
        for event in record.events:
            for audited in event.audited:
                name = record.present.get(audited.name, audited.name)
                if audited.visited is not None or not audited.carried_out:
                    recorded.add(name)
                elif name not in recorded:
                    self._selected.setdefault(name, []).append((event.round, event.kind))

    def is_emergency(self, audit: OpenAudit) -> bool:
        """Also where the target was drawn as well."""
        return audit.secret_until is None and any(kind == "emergency" for _, kind in self._of(audit))

    def selected_by(self, audit: OpenAudit) -> SelectedBy:
        """In that round. An emergency goes before all else, and a draw before an order."""
        kinds = set() if audit.secret_until else {kind for of, kind in self._of(audit) if of == audit.round}
        if "emergency" in kinds:
            return "emergency"
        return "order" if kinds == {"override"} else "draw"

    def emergency_before(self, audit: OpenAudit) -> tuple[int, ...]:
        """Earlier rounds with an emergency, the oldest first; none where this round has one, too."""
        rounds = {of for of, kind in self._of(audit) if kind == "emergency"}
        return () if audit.secret_until or audit.round in rounds else tuple(sorted(rounds))

    def also_in(self, audit: OpenAudit) -> tuple[int, ...]:
        """Other earlier rounds in which the target was selected, the oldest first."""
        known = {*self.emergency_before(audit)}
        earlier = {of for of, _ in self._of(audit) if of < audit.round}
        return () if audit.secret_until else tuple(sorted(earlier - known))

    def visits_of(self, round_: int) -> tuple[str, ...]:
        """Targets of this round's emergencies."""
        return tuple(sorted(name for name, found in self._selected.items() if (round_, "emergency") in found))

    def emergencies_first(self, audits: Sequence[OpenAudit]) -> list[OpenAudit]:
        """Then those that have waited longest: since the first round in which they were selected. Of one round, in the
        order of the names.
        """
        return sorted(audits, key=lambda one: (not self.is_emergency(one), self.first_round(one), caseless(one.target)))

    def first_round(self, audit: OpenAudit) -> int:
        """Of those in which the target was selected, as far as nothing is recorded of them."""
        return min([audit.round, *self.emergency_before(audit), *self.also_in(audit)])

    def _of(self, audit: OpenAudit) -> list[tuple[int, str]]:
        return self._selected.get(audit.target, [])


class PublicRecords:
    """The record of a database. Its entries are read again when there is another head."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records = Remembered[Record](most=len(CONSOLE))

    def current(self, parameters: Parameters, say: Voice | None = None) -> Record:
        """All of it at one moment, in the words of this voice; without one, in English."""
        say = say or parameters.voice()
        with self._store.reading() as connection:
            head, _ = connection.execute(tables.HEAD_AND_FOLDER).one()
            key = head, say.language.code
            return self._records.get(key, lambda: Record.of(parameters, all_lines(connection), head, say))
