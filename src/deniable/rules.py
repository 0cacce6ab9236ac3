"""Public rules: whom the transcript so far, and nothing else, allows to be audited next.

Audit offices have duties ("every target at least every L rounds") and manners ("not twice within g rounds"). Both
are functions of the transcript, which is public anyway, so they reveal nothing about reports.
"""

from dataclasses import dataclass, replace

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError, check_whole

MAX_GAP = 1_000_000


@dataclass(frozen=True)
class History:
    """What the past transcript says about every target, (B, C) each. Public."""

    rounds: int
    """Rounds closed so far."""
    last: IntArray
    """Rounds that were closed when the target was last audited, or joined."""
    audits: IntArray
    """How often the target was audited."""
    present: BoolArray
    """Whether the target still takes part."""

    @property
    def since(self) -> IntArray:
        """Completed rounds since the target's last audit, or since it joined; 0 right after."""
        return self.rounds - self.last

    def equals(self, other: "History") -> bool:
        """Whether the transcript said the same."""
        mine, others = (self.last, self.audits, self.present), (other.last, other.audits, other.present)
        return self.rounds == other.rounds and all(map(np.array_equal, mine, others))

    def after(self, audited: BoolArray) -> "History":
        """With one more round, in which these targets, (B, C), were audited."""
        return self._audited(self.rounds + 1, audited)

    def after_order(self, ordered: BoolArray) -> "History":
        """These targets, (B, C), were audited just now, outside a draw: no round is closed."""
        return self._audited(self.rounds, ordered)

    def _audited(self, rounds: int, audited: BoolArray) -> "History":
        return History(rounds, np.where(audited, rounds, self.last), self.audits + audited, self.present)

    def after_join(self, n: int) -> "History":
        """With n more targets behind the others, which count as audited just now."""
        wider = [(0, 0), (0, n)]
        return History(
            self.rounds,
            np.pad(self.last, wider, constant_values=self.rounds),
            np.pad(self.audits, wider),
            np.pad(self.present, wider, constant_values=True),
        )

    def after_leave(self, gone: BoolArray) -> "History":
        """Without these targets, (B, C)."""
        return replace(self, present=self.present & ~gone)

    def to_bytes(self) -> bytes:
        """Of one run, all but `rounds`: nine bytes a target."""
        numbers = (fact[0].astype("<i4").tobytes() for fact in (self.last, self.audits))
        return b"".join([*numbers, self.present[0].tobytes()])

    @classmethod
    def from_bytes(cls, rounds: int, stored: bytes) -> "History":
        """What `to_bytes` wrote."""
        size = len(stored) // 9
        last, audits = (np.frombuffer(stored, "<i4", size, 4 * size * at).astype(np.int64) for at in range(2))
        return cls(rounds, last[None], audits[None], np.frombuffer(stored, np.bool_, size, 8 * size).copy()[None])

    def copied(self) -> "History":
        """The same, for `record_audits` to change."""
        return replace(self, last=self.last.copy(), audits=self.audits.copy())


def record_audits(history: History, audited: BoolArray | tuple[int, int]) -> None:
    """In place: these targets were audited just now; a mask, (B, C), or where C is large one run's one target."""
    history.last[audited] = history.rounds
    history.audits[audited] += 1


def no_history(runs: int, n_targets: int) -> History:
    none = np.zeros((runs, n_targets), dtype=np.int64)
    return History(0, none, none, np.ones((runs, n_targets), dtype=np.bool_))


@dataclass(frozen=True)
class Rules:
    """Every target at least once in `max_gap` rounds, and none twice within `cooldown` rounds where that is possible.

    >>> Rules(max_gap=26, cooldown=2)
    Rules(max_gap=26, cooldown=2)
    """

    max_gap: int | None = None
    cooldown: int = 0

    def __post_init__(self) -> None:
        # Plain numbers: the repr of a NumPy number would be another identity of the same rules.
        if self.max_gap is not None:
            object.__setattr__(self, "max_gap", check_whole("max_gap", self.max_gap, least=1))
            if self.max_gap > MAX_GAP:
                raise DeniableError(
                    "max_gap must be at most {most} rounds, got {max_gap}", most=MAX_GAP, max_gap=self.max_gap
                )
        object.__setattr__(self, "cooldown", check_whole("cooldown", self.cooldown, least=0))

    def check_reach(self, n_targets: int, audits: int) -> None:
        """Refuse a max_gap in which so many audits a round cannot reach every target."""
        if self.max_gap is not None and self.max_gap * audits < n_targets:
            raise DeniableError.of(
                audits,
                "max_gap must be at least {least} rounds for {n_targets} targets with {number} audit a round, got "
                "{max_gap}",
                "max_gap must be at least {least} rounds for {n_targets} targets with {number} audits a round, got "
                "{max_gap}",
                least=-(-n_targets // audits),
                n_targets=n_targets,
                max_gap=self.max_gap,
            )

    def resting(self, history: History) -> BoolArray:
        """(B, C): who was audited in the last `cooldown` rounds."""
        return np.asarray((history.audits > 0) & (history.since < self.cooldown))

    def eligible(self, history: History, chosen: BoolArray, audits: int) -> BoolArray:
        """Who may be drawn next, (B, C), when `chosen` were drawn already of the `audits` of this round."""
        return self.in_round(history, audits).eligible(chosen)

    def in_round(self, history: History, audits: int) -> "RoundRules":
        """The same for all draws of a round; `history` must not change meanwhile."""
        return RoundRules(self, history, audits)


class RoundRules:
    """Who may be drawn in a round of B runs; what is the same for all its draws is computed once."""

    def __init__(self, rules: Rules, history: History, audits: int) -> None:
        self._present, self._audits, self._max_gap = history.present, audits, rules.max_gap
        if rules.max_gap is not None:
            self._remaining: IntArray = rules.max_gap - history.since
            self._is_late = bool((self._remaining < 1).any())
            self._within = self._counted(history.present, rules.max_gap)
        self._rested = ~rules.resting(history) if rules.cooldown else None

    def eligible(self, chosen: BoolArray) -> BoolArray:
        """Who may be drawn next, (B, C), when `chosen` were drawn already."""
        eligible = self._present & ~chosen
        if self._max_gap is not None:
            latest = self._latest(eligible, chosen, self._max_gap)
            if (latest < self._max_gap).any():
                eligible &= self._remaining <= latest[:, None]
        if self._rested is not None:
            rested = eligible & self._rested
            eligible = np.where(rested.any(axis=1, keepdims=True), rested, eligible)
        return eligible

    def _latest(self, open_: BoolArray, chosen: BoolArray, max_gap: int) -> IntArray:
        """Within how many rounds, (B,), those targets must be audited of which one must be drawn now, so that every
        target can still be audited in time.

        In the m rounds from this one on, k m - j draws are left. When exactly that many targets must be audited
        within them, every one of those draws is spoken for. The smallest such m is the one to heed: its targets
        are also among those of every larger one.
        """
        if self._is_late and (self._remaining[open_] < 1).any():
            raise DeniableError.of(
                max_gap,
                "a target has gone {number} round without an audit already, the longest gap allowed",
                "a target has gone {number} rounds without an audit already, the longest gap allowed",
            )
        drawn = int(chosen[0].sum())
        within = self._within - self._counted(chosen & self._present, max_gap) if drawn else self._within
        left = self._audits * np.arange(1, max_gap + 1) - drawn
        if (within > left).any():
            raise DeniableError(
                "the longest gap, {max_gap}, cannot be kept with so few audits a round, {audits_made}: too many "
                "targets are due; audit more targets a round, take some out, or begin with a longer gap",
                max_gap=max_gap,
                audits_made=self._audits,
            )
        tight = within == left
        return np.asarray(np.where(tight.any(axis=1), tight.argmax(axis=1) + 1, max_gap))

    def _counted(self, targets: BoolArray, max_gap: int) -> IntArray:
        """How many of these targets must be audited within 1, 2, … rounds, (B, L)."""
        runs, n_targets = targets.shape
        rounds = max_gap + 1
        cells = np.flatnonzero(targets)  # much faster on a sparse mask than two axes of indices
        remaining = np.maximum(self._remaining.ravel()[cells], 0)
        counts = np.bincount(cells // n_targets * rounds + remaining, minlength=runs * rounds)
        return counts.reshape(runs, -1).cumsum(axis=1)[:, 1:]


NO_RULES = Rules()
