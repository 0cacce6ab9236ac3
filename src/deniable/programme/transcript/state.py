"""What the world knows after each entry of the transcript; it refuses an entry that does not fit.

The office appends an entry only if this accepts it, and whoever verifies the transcript goes through the same steps,
so the two cannot disagree.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.mechanisms import Mechanism
from deniable.programme.parameters import Parameters, caseless
from deniable.programme.transcript.chain import Entry, digest, line
from deniable.programme.transcript.coverage import Lapse, Standing
from deniable.rules import History, no_history

FORMAT = "deniable-public-state/2"


@dataclass(frozen=True, eq=False)
class PublicState:
    """The programme after some entries. Targets, C of them ever, keep their numbers and names for good."""

    parameters: Parameters
    mechanism: Mechanism[Any] = field(repr=False)
    entries: int
    head: str
    """Hash of the last entry's line, or of programme.json before the first."""
    closed: int
    """Rounds closed so far, with a draw or without."""
    commitment: str
    """Of the seed of the open round."""
    targets: tuple[str, ...] = field(repr=False)
    """Names of all targets there ever were, by number."""
    numbers: Mapping[str, int] = field(repr=False)
    """And back."""
    history: History = field(repr=False)
    """For the public rules: B = 1, and its rounds are those with a draw."""
    latest_audit: IntArray = field(repr=False)
    """(C,) the round of each target's latest audit, 0 where there is none or it was not carried out."""
    standing: Standing
    is_paused: bool
    """Whether reports that hotlines bring do not count, since a recovery lost what is known of them."""
    ended: bool

    @classmethod
    def start(cls, parameters: Parameters) -> Self:
        """Before the first entry."""
        return cls(
            parameters=parameters,
            mechanism=parameters.built(),
            entries=0,
            head=parameters.digest,
            closed=0,
            commitment=parameters.commitment,
            targets=parameters.targets,
            numbers=_numbered(parameters.targets),
            history=no_history(1, len(parameters.targets)),
            latest_audit=np.zeros(len(parameters.targets), dtype=np.int64),
            standing=Standing(parameters.calendar),
            is_paused=False,
            ended=False,
        )

    @property
    def open_round(self) -> int:
        return self.closed + 1

    @property
    def n_targets(self) -> int:
        """C: how many targets there ever were."""
        return len(self.targets)

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the targets that take part, in the order of their numbers."""
        return tuple(self.targets[number] for number in np.flatnonzero(self.history.present[0]))

    @property
    def numbers_of_present(self) -> Mapping[str, int]:
        """The numbers of the targets that take part, by name."""
        return {self.targets[number]: int(number) for number in np.flatnonzero(self.history.present[0])}

    def after(self, entry: Entry) -> "PublicState":
        """With one more entry. What it costs depends on the number of targets, not on that of past entries."""
        self._check_place(entry)
        match entry.kind:
            case "round":
                state = self._drawn(entry)
            case "skip":
                state = self._closed(entry)
            case "override":
                state = self._audited_by_hand(entry)
            case "targets":
                state = self._with_targets_changed(entry)
            case "not-carried-out":
                state = self._with_audit_struck(entry)
            case "recovery":
                if entry.fields["lost"] > self.open_round:
                    _refuse(entry, f"records of round {entry.fields['lost']} cannot be lost before it opened")
                state = replace(self, commitment=self._new_commitment(entry), is_paused=entry.fields["paused"])
            case "resumption":
                if not self.is_paused:
                    _refuse(entry, "reports that hotlines bring count already")
                state = replace(self, is_paused=False)
            case _:
                state = replace(self, ended=True)
        return replace(state, entries=entry.number, head=digest(line(entry)), standing=self.standing.after(entry))

    def round_entry(
        self,
        audits: Sequence[str],
        commitment: str,
        late: int = 0,
        reason: str | None = None,
        sealed: str | None = None,
    ) -> Entry:
        """Closes the open round with these audits, in the order drawn; `commitment` is to the next round's seed."""
        fields = {"audits": tuple(audits), "commitment": commitment, "late": late, "reason": reason, "sealed": sealed}
        return self._entry("round", fields)

    def skip_entry(
        self, reason: str, independent: bool, commitment: str, late: int = 0, during: int | None = None
    ) -> Entry:
        """Closes the open round without a draw. `during`, here and below: the calendar's round, if not the open one."""
        return self._decision("skip", {"commitment": commitment, "late": late}, reason, independent, during)

    def override_entry(self, audits: Sequence[str], reason: str, independent: bool, during: int | None = None) -> Entry:
        """Audits ordered by hand in the open round."""
        return self._decision("override", {"audits": tuple(audits)}, reason, independent, during)

    def targets_entry(
        self,
        added: Sequence[str],
        removed: Sequence[str],
        reason: str,
        independent: bool,
        during: int | None = None,
    ) -> Entry:
        """Targets that join or leave in the open round, before its draw."""
        fields = {"added": tuple(added), "removed": tuple(removed)}
        return self._decision("targets", fields, reason, independent, during)

    def not_carried_out_entry(
        self, of: int, target: str, reason: str, independent: bool, during: int | None = None
    ) -> Entry:
        """The target's audit of round `of`, its latest, did not take place."""
        return self._decision("not-carried-out", {"of": of, "target": target}, reason, independent, during)

    def recovery_entry(self, lost: int, commitment: str, paused: bool, reason: str) -> Entry:
        """The office's records from round `lost` on were lost; `commitment` is to a new seed of the open round, and
        `paused` says whether reports that hotlines bring do not count from now on.
        """
        return self._entry("recovery", {"lost": lost, "commitment": commitment, "paused": paused, "reason": reason})

    def resumption_entry(self, reason: str) -> Entry:
        """Reports that hotlines bring count again after a recovery, but for those brought since."""
        return self._entry("resumption", {"reason": reason})

    def end_entry(self, reason: str) -> Entry:
        return self._entry("end", {"reason": reason})

    def _decision(
        self, kind: str, fields: Mapping[str, Any], reason: str, independent: bool, during: int | None
    ) -> Entry:
        during = self.open_round if during is None else during
        return self._entry(kind, {**fields, "reason": reason, "independent": independent, "during": during})

    def _entry(self, kind: str, fields: Mapping[str, Any]) -> Entry:
        return Entry(self.entries + 1, kind, self.open_round, self.head, fields)

    def _check_place(self, entry: Entry) -> None:
        if self.ended:
            _refuse(entry, "the programme has ended, and nothing can come after its end")
        if entry.number != self.entries + 1:
            _refuse(entry, f"entry {self.entries + 1} is expected here: a line was moved or taken out")
        if entry.previous != self.head:
            before = f"entry {self.entries}" if self.entries else "programme.json"
            _refuse(entry, f"it does not follow on {before}: one of the two was changed, moved or taken out")
        if entry.round != self.open_round:
            _refuse(entry, f"it belongs to round {entry.round}, but round {self.open_round} is open")
        if entry.fields.get("during", entry.round) < entry.round:
            _refuse(
                entry, f"it was made during round {entry.round} or later, not during round {entry.fields['during']}"
            )

    def _drawn(self, entry: Entry) -> "PublicState":
        audits = entry.fields["audits"]
        if len(audits) != self.parameters.audits:
            _refuse(entry, f"a round has {self.parameters.audits} audits, got {len(audits)}")
        if (entry.fields["sealed"] is None) != (self.parameters.oversight is None):
            needed = "needs" if self.parameters.oversight is not None else "has no oversight body and cannot have"
            _refuse(entry, f"the programme {needed} a sealed record of the round")
        if entry.fields["late"] and entry.fields["reason"] is None:
            _refuse(entry, "a round that is closed late needs a reason")
        history, chosen = self.history, np.zeros_like(self.history.present)
        with _refusing(entry):
            self.mechanism.check_round(history.rounds, int(history.present.sum()), len(audits))
        for target in audits:
            number = self._taking_part(entry, target)
            with _refusing(entry):
                eligible = self.mechanism.rules.eligible(history, chosen, len(audits))
            if not eligible[0, number]:
                _refuse(entry, f"the public rules did not allow an audit of {target} at this point")
            chosen[0, number] = True
        closed = self._closed(entry)
        return replace(closed, history=history.after(chosen), latest_audit=self._latest_audit_with(chosen))

    def _closed(self, entry: Entry) -> "PublicState":
        return replace(self, commitment=self._new_commitment(entry), closed=entry.round)

    def _audited_by_hand(self, entry: Entry) -> "PublicState":
        chosen = self._mask(entry, entry.fields["audits"])
        history, latest_audit = self.history.after_order(chosen), self._latest_audit_with(chosen)
        return replace(self, history=history, latest_audit=latest_audit)

    def _with_targets_changed(self, entry: Entry) -> "PublicState":
        added, removed = entry.fields["added"], entry.fields["removed"]
        if not added and not removed:
            _refuse(entry, "it neither adds nor removes a target")
        used = {caseless(name): name for name in self.targets} if added else {}
        for target in added:
            if (other := used.setdefault(caseless(target), target)) != target:
                _refuse(entry, f"the names {other} and {target} differ in case alone; a new target needs a new name")
            if target in self.numbers:
                _refuse(entry, f"the name {target} was used before; a new target needs a new name")
        if added and isinstance(self.parameters.weights, tuple):
            _refuse(entry, "the programme has fixed weights for its first targets, so that none can join")
        targets = self.targets + added
        history = self.history.after_leave(self._mask(entry, removed)).after_join(len(added))
        left, least = int(history.present.sum()), max(2, self.parameters.audits)
        if left < least:
            _refuse(entry, f"at least {least} targets must be left, got {left}")
        with _refusing(entry):
            self.mechanism.check_targets(left, len(targets))
            self.mechanism.rules.eligible(history, np.zeros_like(history.present), self.parameters.audits)
        latest_audit = np.concatenate([self.latest_audit, np.zeros(len(added), dtype=np.int64)])
        numbers = _numbered(targets) if added else self.numbers
        return replace(self, targets=targets, numbers=numbers, history=history, latest_audit=latest_audit)

    def _with_audit_struck(self, entry: Entry) -> "PublicState":
        target, of = entry.fields["target"], entry.fields["of"]
        number = self._number(entry, target)
        if self.latest_audit[number] != of:
            _refuse(entry, f"the latest audit of {target} still on record is not one of round {of}")
        latest_audit = self.latest_audit.copy()
        latest_audit[number] = 0
        return replace(self, latest_audit=latest_audit)

    def _new_commitment(self, entry: Entry) -> str:
        commitment: str = entry.fields["commitment"]
        if commitment == self.commitment:
            _refuse(entry, "the commitment to a seed must be a new one, this one was published before")
        return commitment

    def _number(self, entry: Entry, target: str) -> int:
        if target not in self.numbers:
            _refuse(entry, f"there is no target named {target}")
        return self.numbers[target]

    def _taking_part(self, entry: Entry, target: str) -> int:
        number = self._number(entry, target)
        if not self.history.present[0, number]:
            _refuse(entry, f"{target} was removed before")
        return number

    def _mask(self, entry: Entry, targets: Sequence[str]) -> BoolArray:
        mask = np.zeros_like(self.history.present)
        mask[0, [self._taking_part(entry, target) for target in targets]] = True
        return mask

    def _latest_audit_with(self, chosen: BoolArray) -> IntArray:
        return np.where(chosen[0], self.open_round, self.latest_audit)

    def to_json(self) -> str:
        """The state as one line, so that the office need not go through all entries again; all of it is public."""
        history = self.history
        stored = {
            "format": FORMAT,
            "parameters": self.parameters.digest,
            "entries": self.entries,
            "head": self.head,
            "closed": self.closed,
            "commitment": self.commitment,
            "joined": self.targets[len(self.parameters.targets) :],
            "drawn": history.rounds,
            "last": history.last[0].tolist(),
            "audits": history.audits[0].tolist(),
            "present": history.present[0].tolist(),
            "latest_audit": self.latest_audit.tolist(),
            "lapses": self.standing.lapses,
            "is_paused": self.is_paused,
            "ended": self.ended,
        }
        return _with_check(stored)

    @classmethod
    def from_json(cls, parameters: Parameters, text: str) -> Self:
        """The state that `to_json` wrote for these parameters."""
        try:
            stored = json.loads(text)
            del stored["check"]
            whole = _with_check(stored) == text
        except (ValueError, LookupError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise DeniableError("the stored public state is damaged; restore the last backup")
        if stored["format"] != FORMAT or stored["parameters"] != parameters.digest:
            raise DeniableError("the stored public state belongs to another programme or version")
        targets = (*parameters.targets, *stored["joined"])
        history = History(
            stored["drawn"],
            np.array([stored["last"]], dtype=np.int64),
            np.array([stored["audits"]], dtype=np.int64),
            np.array([stored["present"]], dtype=np.bool_),
        )
        return replace(
            cls.start(parameters),
            **{name: stored[name] for name in ("entries", "head", "closed", "commitment", "is_paused", "ended")},
            targets=targets,
            numbers=_numbered(targets),
            history=history,
            latest_audit=np.array(stored["latest_audit"], dtype=np.int64),
            standing=Standing(parameters.calendar, tuple(Lapse(*lapse) for lapse in stored["lapses"])),
        )


def replay(parameters: Parameters, entries: Iterable[Entry]) -> PublicState:
    """What the world knows after these entries, the first one first.

    Beyond `PublicState.after` it refuses a commitment that was published at any time before, which takes the memory
    of all of them. No seed drawn afresh can lead to one, since the commitment also names its round.
    """
    state = PublicState.start(parameters)
    published = {state.commitment}
    for entry in entries:
        state = state.after(entry)
        if "commitment" in entry.fields:
            if state.commitment in published:
                _refuse(entry, "the commitment to a seed must be a new one, this one was published before")
            published.add(state.commitment)
    return state


def _refuse(entry: Entry, why: str) -> NoReturn:
    raise DeniableError(f"{entry.name} ({entry.kind}) cannot stand: {why}")


@contextmanager
def _refusing(entry: Entry) -> Iterator[None]:
    """Name the entry where the mechanism or its rules refuse it."""
    try:
        yield
    except DeniableError as error:
        raise DeniableError(f"{entry.name} ({entry.kind}) cannot stand: {error}") from None


def _with_check(stored: dict[str, Any]) -> str:
    """As JSON, with a hash by which damage shows."""
    check = digest(json.dumps(stored, sort_keys=True))
    return json.dumps(stored | {"check": check}, sort_keys=True, separators=(",", ":"))


def _numbered(targets: Sequence[str]) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(targets)}
