"""What the world knows of a programme after some entries of its transcript."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.mechanisms.base import Mechanism
from deniable.message import Message
from deniable.programme.names import Renaming, check_unused
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.coverage import Coverage, Lapse
from deniable.programme.transcript.fields import OfficeDetails
from deniable.programme.transcript.hidden import Hidden, Step, names_commitment
from deniable.programme.transcript.merkle import Tree
from deniable.programme.transcript.waiting import Waiting
from deniable.rules import History, no_history

FORMAT = "deniable-public-state/9"
_DIGEST = 32
_SMALL = ("entries", "head", "closed", "commitment", "is_paused", "ended", "figures_after", "misses_reports")


@dataclass(frozen=True, eq=False)
class PublicState:
    """The programme after some entries. Targets, C of them ever, keep their numbers for good; no name is used twice."""

    parameters: Parameters
    mechanism: Mechanism[Any] = field(repr=False)
    entries: int
    head: str
    """Hash of the last entry's line, or of programme.json before the first."""
    tree: Tree = field(repr=False)
    """Of the entries' lines."""
    closed: int
    """Rounds closed so far, with a draw or without."""
    commitment: str
    """Of the seed of the open round."""
    targets: tuple[str, ...] = field(repr=False)
    """Names of all targets there ever were, by number."""
    numbers: Mapping[str, int] = field(repr=False)
    """And back."""
    history: History = field(repr=False)
    """For the public rules: B = 1, and its rounds are those with a draw. It has no names that are hidden."""
    latest_audit: IntArray = field(repr=False)
    """(C,) the round of each target's latest audit while it is open: 0 where there is none, or an entry says whether it
    took place.
    """
    renamed: tuple[Renaming, ...] = field(repr=False)
    """In the order in which it happened."""
    coverage: Coverage
    is_paused: bool
    """Whether reports that hotlines bring do not count, since a recovery lost what is known of them."""
    ended: bool
    figures_after: int
    """The round after which yearly figures were last published, or 0."""
    misses_reports: bool
    """Whether reports since then may be lost, or did not count for a while, after a recovery."""
    waiting: Waiting | None = None
    """The round that is frozen and not drawn yet; while there is one, no other is frozen or skipped."""
    hidden: Hidden = field(default=Hidden(), repr=False)
    """The draws whose names are not public yet, and the one that waits."""
    details: OfficeDetails | None = None
    """How to reach the office and its hotline; None where it gives neither."""

    @classmethod
    def start(cls, parameters: Parameters) -> Self:
        """Before the first entry."""
        return cls(
            parameters=parameters,
            mechanism=parameters.built(),
            entries=0,
            head=parameters.digest,
            tree=Tree(),
            closed=0,
            commitment=parameters.commitment,
            targets=parameters.targets,
            numbers=parameters.numbers,
            history=no_history(1, len(parameters.targets)),
            latest_audit=np.zeros(len(parameters.targets), dtype=np.int64),
            renamed=(),
            coverage=Coverage(parameters.calendar, (), parameters.visit_classes, last_round=parameters.horizon),
            is_paused=False,
            ended=False,
            figures_after=0,
            misses_reports=False,
        )

    @property
    def open_round(self) -> int:
        return self.closed + 1

    @property
    def has_open_round(self) -> bool:
        """Not after the end, or after the last round of the horizon: `open_round` is none then."""
        return not self.ended and self.closed < (self.parameters.horizon or self.open_round)

    def check_has_open_round(self) -> None:
        """Refuse to close a round after the last one of the horizon, with a draw or without."""
        if not self.ended and not self.has_open_round:
            raise DeniableError("the last round is closed: end the programme")

    def rounds_due(self, now: datetime) -> int:
        """How many rounds of the programme are due at this instant; there is none after the last one of the horizon."""
        due, horizon = self.parameters.calendar.rounds_due(now), self.parameters.horizon
        return due if horizon is None else min(due, horizon)

    @property
    def owes_figures(self) -> bool:
        """Whether the next entry must be the yearly figures: the last round of a calendar year was closed."""
        parameters = self.parameters
        is_due = parameters.figures is not None and self.closed > self.figures_after
        return is_due and parameters.calendar.ends_year(self.closed)

    def calendar_round(self, now: datetime) -> int:
        """The calendar's round now, by which reporters count: a later one than the open one while it is overdue."""
        return max(self.open_round, self.parameters.calendar.rounds_due(now) + 1)

    @property
    def n_targets(self) -> int:
        """C: how many targets there ever were."""
        return len(self.targets)

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Names of the targets that take part, in the order of their numbers."""
        there = self.history.present[0]
        return self.targets if there.all() else tuple(self.targets[number] for number in np.flatnonzero(there))

    def takes_part(self, target: str) -> bool:
        number = self.numbers.get(target)
        return number is not None and bool(self.history.present[0, number])

    def named(self, given: str) -> str:
        """The present name of the target with this number in the register; what is given where none has it, or where it
        is, or was, a name.
        """
        number = self.parameters.by_registered.get(given)
        if number is None or given in self.numbers or any(given == one.former for one in self.renamed):
            return given
        return self.targets[number]

    def registered_as(self, number: int) -> str:
        """A target's number in the register; empty where it has none."""
        registered = self.parameters.registered or ()
        return registered[number] if number < len(registered) else ""

    def number_of(self, target: str) -> int:
        """The number of a target that takes part."""
        number = self._number(target)
        if not self.history.present[0, number]:
            raise DeniableError("{name} was removed before, and takes part no longer", name=target)
        return number

    def check_nothing_waits(self, what: Message) -> None:
        """Refuse what could be chosen by who knows the public value before the draw."""
        if (waiting := self.waiting) is not None:
            raise DeniableError(
                "round {round} waits for its public value, and must be drawn before {what}",
                round=waiting.round,
                what=what,
            )

    def after_freeze(self, waiting: Waiting) -> "PublicState":
        """With the open round frozen: its audits follow."""
        self.mechanism.check_round(self.closed, int(self.history.present.sum()), self.parameters.audits)
        hidden = self.hidden.after(Step(round=waiting.round, waits=True), self.history)
        return replace(self, waiting=waiting, hidden=hidden)

    def after_frozen_draw(self, audits: Sequence[str]) -> "PublicState":
        """With the audits of the frozen round, in the order drawn; refuses what the rules did not allow when it was
        frozen.
        """
        assert self.waiting is not None
        assert self.hidden.before is not None
        drawn = [self._number(target) for target in audits]
        self._allowed(self.hidden.before, drawn, self.waiting.round)
        hidden, history = self.hidden.drawn().revealed(drawn)
        latest_audit = self._latest_audit_since(drawn, self.waiting.round)
        return replace(self, history=history, latest_audit=latest_audit, hidden=hidden, waiting=None)

    def after_frozen_selection(self, names: str, capsule: str) -> "PublicState":
        """With a draw of the frozen round whose names follow."""
        hidden = self.hidden.drawn(names, capsule)
        return replace(self, history=hidden.history(self.history, lambda _: ()), hidden=hidden, waiting=None)

    def after_draw(self, audits: Sequence[str]) -> "PublicState":
        """With these audits, in the order drawn; refuses what the public rules did not allow."""
        chosen = self._allowed(self.history, [self.number_of(target) for target in audits], self.open_round)
        return replace(self, history=self.history.after(chosen), latest_audit=self._latest_audit_with(chosen))

    def after_selection(self, names: str, capsule: str) -> "PublicState":
        """With a draw whose names follow, of which this is the commitment."""
        history = self.history
        self.mechanism.check_round(self.closed, int(history.present.sum()), self.parameters.audits)
        step = Step(round=self.open_round, names=names, capsule=capsule)
        hidden = self.hidden.after(step, history)
        return replace(self, history=history.after(np.zeros_like(history.present)), hidden=hidden)

    def after_reveal(self, round_: int, audits: Sequence[str], salt: bytes) -> "PublicState":
        """With these names of a draw; refuses others than those committed to, and what the rules did not allow then."""
        draw = next(iter(self.hidden.draws), None)
        if draw is None or self.hidden.before is None or draw.round != round_:
            raise DeniableError("the names of round {round} are not the next to be revealed", round=round_)
        drawn = [self._number(target) for target in audits]
        if names_commitment(self.parameters.programme, round_, salt, drawn) != draw.names:
            raise DeniableError("the names or the salt are not those that round {round} committed to", round=round_)
        if len(drawn) != self.parameters.audits:
            expected = self.parameters.audits
            raise DeniableError("a round has {expected} audits, got {drawn}", expected=expected, drawn=len(drawn))
        self._allowed(self.hidden.before, drawn, round_)
        hidden, history = self.hidden.revealed(drawn)
        is_ending = hidden.is_ending or not self.is_due(draw)
        hidden, latest_audit = replace(hidden, is_ending=is_ending), self._latest_audit_since(drawn, round_)
        return replace(self, history=history, latest_audit=latest_audit, hidden=hidden)

    def check_revealed(self, *, ending: bool = False) -> None:
        """Refuse where names are due, all of them at the `ending`, and not public; and where names came early, unless
        the end follows.
        """
        for draw in self.hidden.draws:
            if self.is_due(draw):
                raise DeniableError("the names of round {round} are due, and must be revealed first", round=draw.round)
            if ending:
                raise DeniableError("the names of round {round} must be revealed before the end", round=draw.round)
        if self.hidden.is_ending and not ending:
            raise DeniableError("names were revealed early, so only the end of the programme can follow")

    def is_due(self, draw: Step) -> bool:
        """Whether the names of that draw must be public by now."""
        return draw.round + self.parameters.reveal_after <= self.closed

    def _allowed(self, history: History, drawn: Sequence[int], round_: int) -> BoolArray:
        """The targets drawn in that round, in this order, as a mask; refuses what the public rules did not allow."""
        chosen = np.zeros_like(history.present)
        self.mechanism.check_round(round_ - 1, int(history.present.sum()), len(drawn))  # skipped rounds count as well
        for number in drawn:
            allowed = self.mechanism.rules.eligible(history, chosen, len(drawn))[0]
            if number >= len(allowed) or not allowed[number]:
                name = self.targets[number]
                raise DeniableError("the public rules did not allow an audit of {name} at this point", name=name)
            chosen[0, number] = True
        return chosen

    def after_order(self, audits: Sequence[str]) -> "PublicState":
        """With audits outside the draw."""
        chosen = self._mask(audits)
        history, latest_audit = self.history.after_order(chosen), self._latest_audit_with(chosen)
        hidden = self.hidden.after(Step(ordered=_numbers(chosen)), self.history)
        return replace(self, history=history, latest_audit=latest_audit, hidden=hidden)

    def after_change(self, added: tuple[str, ...], removed: Sequence[str]) -> "PublicState":
        """With targets that joined, under new names, or left."""
        targets = self.targets + added
        gone = self._mask(removed)
        history = self.history.after_leave(gone).after_join(len(added))
        hidden = self.hidden.after(Step(left=_numbers(gone), joined=len(added)), self.history)
        left, least = int(history.present.sum()), max(2, self.parameters.audits)
        if left < least:
            word = self.parameters.terms.targets
            raise DeniableError("{targets_word} left must be at least {least}", targets_word=word, least=least)
        self.mechanism.check_targets(left, len(targets))
        if not hidden.steps:  # otherwise the office alone knows whom the rules allow, and checks it (`rounds.apply`)
            self.mechanism.rules.eligible(history, np.zeros_like(history.present), self.parameters.audits)
        latest_audit = np.concatenate([self.latest_audit, np.zeros(len(added), dtype=np.int64)])
        numbers = _numbered(targets) if added else self.numbers
        changed = replace(self, targets=targets, numbers=numbers, history=history, latest_audit=latest_audit)
        return replace(changed, hidden=hidden)

    def after_renaming(self, target: str, name: str) -> "PublicState":
        """With another name for a target that takes part, one that was never used."""
        number = self.number_of(target)
        self.check_new_names((name,))
        targets = (*self.targets[:number], name, *self.targets[number + 1 :])
        renamed = (*self.renamed, Renaming(number, target, name))
        return replace(self, targets=targets, numbers=_numbered(targets), renamed=renamed)

    def check_new_names(self, names: Sequence[str]) -> None:
        """Refuse a name that a target has or had, however its letters are cased."""
        check_unused(names, (*self.targets, *(one.former for one in self.renamed)), [*filter(self.takes_part, names)])

    def after_outcome(self, target: str, round_: int) -> "PublicState":
        """With what became of the target's audit of that round, its latest, on record."""
        number = self._number(target)
        if self.latest_audit[number] != round_ and any(draw.round == round_ for draw in self.hidden.draws):
            raise DeniableError(
                "the names of round {round} are not public before round {closed} is closed; record it then",
                round=round_,
                closed=round_ + self.parameters.reveal_after,
            )
        if self.latest_audit[number] != round_:
            raise DeniableError(
                "no {audit_word} of {name} in round {round} is open: it was not selected "
                "then, or was selected again since, or what became of it is recorded already",
                audit_word=self.parameters.terms.audit,
                name=target,
                round=round_,
            )
        latest_audit = self.latest_audit.copy()
        latest_audit[number] = 0
        return replace(self, latest_audit=latest_audit)

    def _number(self, target: str) -> int:
        if target not in self.numbers:
            word = self.parameters.terms.target
            raise DeniableError("there is no {target_word} named {name}", target_word=word, name=target)
        return self.numbers[target]

    def _mask(self, targets: Sequence[str]) -> BoolArray:
        mask = np.zeros_like(self.history.present)
        mask[0, [self.number_of(target) for target in targets]] = True
        return mask

    def _latest_audit_with(self, chosen: BoolArray) -> IntArray:
        return np.where(chosen[0], self.open_round, self.latest_audit)

    def _latest_audit_since(self, drawn: Sequence[int], round_: int) -> IntArray:
        """With those of an earlier round, which may not be the latest ones by now."""
        latest_audit = self.latest_audit.copy()
        latest_audit[drawn] = np.maximum(latest_audit[drawn], round_)
        return latest_audit

    @cached_property
    def digest(self) -> str:
        """By which a stored state is known."""
        return self.to_bytes()[:_DIGEST].hex()

    def to_bytes(self) -> bytes:
        """The state as it is stored, so that the office need not go through all entries again; all of it is public.

        A hash by which damage shows, a line of JSON, the names of the targets that joined, and an array for each of the
        facts about every target; last the draws with hidden names.
        """
        joined = "\n".join(self.targets[len(self.parameters.targets) :]).encode()
        small = {
            "format": FORMAT,
            "parameters": self.parameters.digest,
            **{name: getattr(self, name) for name in _SMALL},
            "tree": self.tree.to_list(),
            "joined": len(joined),
            "drawn": self.history.rounds,
            "lapses": self.coverage.lapses,
            "renamed": self.renamed,
            "waiting": self.waiting,
            "details": self.details,
        }
        arrays = self.history.to_bytes() + self.latest_audit.astype("<i4").tobytes()
        body = b"".join([json.dumps(small, sort_keys=True).encode(), b"\n", joined, arrays, self.hidden.to_bytes()])
        return hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, parameters: Parameters, stored: bytes) -> Self:
        """The state that `to_bytes` wrote for these parameters."""
        body = memoryview(stored)[_DIGEST:]
        if hashlib.sha256(body).digest() != stored[:_DIGEST]:
            raise DeniableError("the stored public state is damaged; restore the last backup")
        end = stored.index(b"\n", _DIGEST)
        small = json.loads(stored[_DIGEST:end])
        if small["format"] != FORMAT or small["parameters"] != parameters.digest:
            raise DeniableError("the stored public state belongs to another programme or version")
        start, facts = cls.start(parameters), end + 1 + small["joined"]
        joined = stored[end + 1 : facts].decode()
        targets = (*parameters.targets, *joined.split("\n")) if joined else start.targets
        renamed = tuple(Renaming(*one) for one in small["renamed"])
        if renamed:
            names = [*targets]
            for number, _, name in renamed:
                names[number] = name
            targets = tuple(names)
        after, ended_in = facts + 9 * len(targets), small["closed"] + 1 if small["ended"] else None
        lapses = tuple(map(Lapse.from_list, small["lapses"]))
        return replace(
            start,
            **{name: small[name] for name in _SMALL},
            tree=Tree.from_list(small["entries"], small["tree"]),
            targets=targets,
            numbers=_numbered(targets) if joined or renamed else start.numbers,
            history=History.from_bytes(small["drawn"], stored[facts:after]),
            latest_audit=np.frombuffer(stored, "<i4", len(targets), after).astype(np.int64),
            renamed=renamed,
            waiting=None if small["waiting"] is None else Waiting(*small["waiting"]),
            details=None if small["details"] is None else OfficeDetails(*small["details"]),
            coverage=replace(start.coverage, lapses=lapses, ended_in=ended_in),
            hidden=Hidden.from_bytes(stored[facts + 13 * len(targets) :]),
        )


def _numbers(chosen: BoolArray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen[0]).tolist())


def _numbered(targets: Sequence[str]) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(targets)}
