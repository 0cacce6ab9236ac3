"""An entry of the transcript: what all kinds share. The kinds themselves are in `entries`."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, get_type_hints

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, why_not
from deniable.programme.calendar import Calendar, day_in_words
from deniable.programme.names import TARGET_NAME
from deniable.programme.transcript.chain import canonical, digest
from deniable.programme.transcript.coverage import Lapse
from deniable.programme.transcript.fields import Check, Hash, MaybeReason, Number
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun

_COMMON = {"number", "round", "previous"}
"""The fields of every line, by their names here."""
_CALLED: dict[str, str | Message] = {
    "number": "entry",
    "reason": why_not("the reason"),
    "added": why_not("the list of new names"),
    "removed": why_not("the list of names to remove"),
    "target": TARGET_NAME,
    "name": why_not("the new name"),
}
"""What errors call a field that people fill in, or that has another name here than in its line."""
_CHECKS: dict[type["Entry"], dict[str, Check]] = {}
"""Of every field of a kind, by the field's name."""


class Outcome(NamedTuple):
    """What became of an audit."""

    round: int
    """In which the target was drawn, or ordered."""
    target: str
    """By its name when this was recorded."""
    day: str | None
    """On which it took place, YYYY-MM-DD; None where it did not."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What all kinds share. The form of the fields is checked when an entry is made; whether it fits what came before,
    by `after`.
    """

    kind: ClassVar[str]
    closes_round: ClassVar[bool] = False
    publishes_figures: ClassVar[bool] = False
    is_drawn: ClassVar[bool] = False
    """Whether its audits are those of a draw."""
    fixes_reports: ClassVar[bool] = False
    """Whether what was entered before it can no longer be taken back."""
    keeps_entered: ClassVar[bool] = False
    """Whether what was entered before it can be taken back, also about the targets that it names."""

    number: Number
    round: Number
    """The round that it closes, or during which it was made."""
    previous: Hash
    """Of the line before."""
    reason: MaybeReason

    def __post_init__(self) -> None:
        if type(self) not in _CHECKS:
            hints = get_type_hints(type(self), include_extras=True)
            _CHECKS[type(self)] = {one.name: hints[one.name].__metadata__[0] for one in fields(self)}
        for name, check in _CHECKS[type(self)].items():
            object.__setattr__(self, name, check(_CALLED.get(name, name), getattr(self, name)))

    @classmethod
    def following(cls, state: PublicState, **values: Any) -> Self:
        """The next entry after this state."""
        return cls(number=state.entries + 1, round=state.open_round, previous=state.head, **values)

    def line(self) -> str:
        """Its canonical line, without the newline; what is hashed, stored and published."""
        common = {"entry": self.number, "kind": self.kind, "round": self.round, "previous": self.previous}
        return canonical({**common, **self.own()})

    @classmethod
    def own_fields(cls) -> list[str]:
        """The names of the fields that not every line has."""
        return [one.name for one in fields(cls) if one.name not in _COMMON]

    def own(self) -> dict[str, Any]:
        """Those fields."""
        return {name: getattr(self, name) for name in self.own_fields()}

    def described(self, calendar: Calendar, say: Voice) -> dict[str, Any]:
        """The entry and its effect, ready for JSON."""
        common = {"entry": self.number, "kind": self.kind, "round": self.round}
        return {**common, **self.own(), "effect": self.effect(calendar, say)}

    @property
    def audited(self) -> tuple[str, ...]:
        """The targets whose audits it records."""
        return ()

    @property
    def audited_in(self) -> int:
        """The round of those audits."""
        return self.round

    @property
    def joined(self) -> tuple[str, ...]:
        return ()

    @property
    def left(self) -> tuple[str, ...]:
        return ()

    @property
    def outcome(self) -> Outcome | None:
        """Of the audit of which it tells what became of it."""
        return None

    @property
    def new_name(self) -> tuple[str, str] | None:
        """What a target was called before, and is called from now on."""
        return None

    @property
    def new_commitment(self) -> str | None:
        """To the seed of the round that is open from now on, where that is a new one."""
        return None

    @property
    def lapse(self) -> Lapse | None:
        """What the promise loses by it."""
        return None

    @property
    def is_usual(self) -> bool:
        """Whether a reader need not look at it."""
        return False

    def after(self, state: PublicState) -> PublicState:
        """With this entry. What it costs depends on the number of targets, not on that of past entries."""
        self._check_place(state)
        changed = self._change(state)
        if self.new_commitment is not None:
            self.check_commitment_is_new({state.commitment})
            changed = replace(changed, commitment=self.new_commitment)
        if self.closes_round:
            changed = replace(changed, closed=self.round)
        line, coverage = self.line(), changed.coverage.after(self.lapse)
        return replace(changed, entries=self.number, head=digest(line), tree=state.tree.after(line), coverage=coverage)

    def check_commitment_is_new(self, published: Collection[str]) -> None:
        if self.new_commitment in published:
            raise DeniableError("the commitment to a seed must be a new one, this one was published before")

    def _check_place(self, state: PublicState) -> None:
        if state.ended:
            raise DeniableError("the programme has ended, and nothing can come after its end")
        if self.number != state.entries + 1:
            raise DeniableError(
                "entry {entries} is expected here: a line was moved or taken out", entries=state.entries + 1
            )
        if self.previous != state.head:
            if not state.entries:
                raise DeniableError(
                    "it does not follow on programme.json: one of the two was changed, moved or taken out"
                )
            raise DeniableError(
                "it does not follow on entry {before}: one of the two was changed, moved or taken out",
                before=state.entries,
            )
        if self.round != state.open_round:
            raise DeniableError(
                "it belongs to round {round}, but round {open_round} is open",
                round=self.round,
                open_round=state.open_round,
            )
        self._check_revealed(state)
        self._check_figures(state)
        if self.closes_round:
            state.check_has_open_round()

    def _check_revealed(self, state: PublicState) -> None:
        """Names that are due come before anything else."""
        state.check_revealed()

    def _check_figures(self, state: PublicState) -> None:
        """Then come the yearly figures, where they are due."""
        if state.owes_figures:
            raise DeniableError("the yearly figures come first: the last round of a calendar year was closed")

    def _change(self, state: PublicState) -> PublicState:
        """What its kind does to the public state; refuses an entry that breaks the rules."""
        return state

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        """Apply it to the targets' runs without a draw; returns the open round's reports after it.

        `state` is that before it. A round's draw was made elsewhere, and its run is lost.
        """
        return tally

    def deed(self, say: Voice) -> str:
        """What happened, as a phrase of its own that begins small."""
        raise NotImplementedError

    def heading(self, say: Voice) -> str:
        """What happened, on the public page; empty where the audits beside it say enough."""
        raise NotImplementedError

    def made(self, calendar: Calendar, say: Voice) -> str:
        """On which day, as far as the record tells, of an entry that closes no round. Only public values have a time of
        day.
        """
        day = day_in_words(calendar.day(self.round), say).words
        return say("while round {round} was open (due on {day})", round=self.round, day=day)

    def effect(self, calendar: Calendar, say: Voice) -> str:
        """What it means for the promise, in a sentence or two."""
        raise NotImplementedError
