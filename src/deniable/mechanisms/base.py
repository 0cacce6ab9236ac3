"""What every mechanism has in common: the course of a round."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from inspect import get_annotations
from re import sub
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.errors import DeniableError, check_whole
from deniable.guarantee import Guarantee
from deniable.noise import Noise
from deniable.rules import NO_RULES, History, Rules, no_history
from deniable.state import Secret

P = TypeVar("P")


@dataclass(frozen=True, repr=False)
class State(Secret, Generic[P]):
    """Between two rounds of B runs."""

    history: History
    """Public."""
    private: P
    """Secret: active counts, or the counters' state."""


@dataclass(frozen=True)
class Mechanism(ABC, Generic[P]):
    """A rule that chooses the targets to audit in every round, for B runs at once.

    The fields of a mechanism are public. Its state and its noise are secret, and passed in and out: `step` never
    changes the state it is given, so a state can be stored, resumed and deleted. Your own mechanism implements
    `guarantee`, `start`, `tally`, `draw` and `forget`, and can then be run with public rules, several audits a round
    and a changing list of targets; that its guarantee covers them needs a proof of its own.
    """

    n_targets: int
    rules: Rules = field(default=NO_RULES, kw_only=True)

    several_audits: ClassVar[bool] = False
    """Whether the guarantee covers more than one audit a round."""
    keeps_noise: ClassVar[bool] = True
    """Whether noise is stored in the private state between the rounds."""
    weight_matters: ClassVar[bool] = True
    """Whether a report of a larger weight may show more."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in get_annotations(cls):
            if callable(getattr(Mechanism, name, None)):
                raise DeniableError(
                    f"{cls.__name__} cannot have a field named {name}: it would replace the method Mechanism.{name}; "
                    "choose another name"
                )

    def __post_init__(self) -> None:
        # Plain numbers: the repr of a NumPy number would be another identity of the same mechanism.
        object.__setattr__(self, "n_targets", check_whole("n_targets", self.n_targets, least=2))

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What the transcript reveals about one report, at most; a function of the public fields alone."""

    def guarantee_for(self, weights: Sequence[int]) -> Guarantee:
        """What the transcript reveals, at most, about all of one person's reports, of these weights.

        A report of weight w adds w to the active count. To the mechanism it is w reports at once, so the guarantee for
        w reports holds for it, and the weights of one person's reports add up (docs/explanation/classes.md).
        """
        whole = [check_whole("weight", weight, least=1) for weight in weights]
        if not whole:
            raise DeniableError("guarantee_for must be given the weight of at least one report")
        together = self.guarantee().for_reports(sum(whole) if self.weight_matters else len(whole))
        return replace(together, reports=len(whole), kind=_weights_in_words(whole))

    @abstractmethod
    def start(self, runs: int) -> P:
        """The private state before the first round. Runs and targets are the last two axes of all its arrays, and
        all zeros for a target means that nothing is known about it yet.
        """

    @abstractmethod
    def tally(self, private: P, reports: IntArray, noise: Noise) -> tuple[Any, P]:
        """Take in a round's reports, (B, C); returns what `draw` looks at, and the new private state."""

    @abstractmethod
    def draw(self, tallied: Any, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        """One audit for each run, (B,), among the eligible targets, (B, C)."""

    @abstractmethod
    def forget(self, private: P, audited: BoolArray) -> P:
        """`cond:reset`: nothing remains of the runs of these targets, (B, C)."""

    def active_counts(self, private: P) -> IntArray | None:
        """`def:active-counts`: the reports of every target's run, (B, C); None where the state does not have them."""
        return None

    def init(self, runs: int = 1) -> State[P]:
        """The state before the first round of B runs."""
        return State(no_history(runs, self.n_targets), self.start(runs))

    def step(self, state: State[P], reports: IntArray, noise: Noise, audits: int = 1) -> tuple[IntArray, State[P]]:
        """Close a round: reports (B, C) in, audited targets (B, audits) in the order drawn and the new state out."""
        history = state.history
        self.check_round(history.rounds, int(history.present[0].sum()), audits)
        chosen = np.zeros_like(history.present)
        rules = self.rules.in_round(history, audits)
        eligible = rules.eligible(chosen)  # refuses before anything is drawn
        tallied, private = self.tally(state.private, reports, noise)
        runs, drawn = np.arange(len(reports)), np.empty((len(reports), audits), dtype=np.int64)
        for j in range(audits):
            if j:
                eligible = rules.eligible(chosen)
            drawn[:, j] = self.draw(tallied, eligible, history, noise)
            chosen[runs, drawn[:, j]] = True
        # Removed targets are forgotten every round, so that no run of theirs goes on without an end.
        return drawn, State(history.after(chosen), self.forget(private, chosen | ~history.present))

    def check_targets(self, present: int, ever: int) -> None:
        """Refuse a list of targets, `present` of the `ever` there were, that the mechanism does not serve."""

    def check_round(self, rounds: int, present: int, audits: int) -> None:
        """Refuse a round that the guarantee does not cover, or that cannot be held; public facts alone decide.

        `rounds` were closed before it, and `present` targets take part in every run.
        """
        horizon = self.guarantee().horizon
        if horizon is not None and rounds >= horizon:
            raise DeniableError(
                f"the guarantee covers {horizon} rounds and all of them are closed; "
                "start a new programme calibrated for a longer horizon, and do not count this one's reports again"
            )
        if check_whole("audits", audits, least=1) > present:
            raise DeniableError(f"audits must be at most the number of targets, {present}, got {audits}")
        if audits > 1 and not self.several_audits:
            kind = sub("(?<!^)(?=[A-Z])", " ", type(self).__name__).lower()  # randomized response
            raise DeniableError(f"the guarantee of {kind} covers one audit a round, got {audits}; use race instead")


@dataclass(frozen=True)
class CountMechanism(Mechanism[IntArray]):
    """A mechanism that looks at the active counts, (B, C), and keeps nothing else."""

    keeps_noise: ClassVar[bool] = False

    def start(self, runs: int) -> IntArray:
        return np.zeros((runs, self.n_targets), dtype=np.int64)

    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        active = private + reports  # `def:active-counts`
        return active, active

    def forget(self, private: IntArray, audited: BoolArray) -> IntArray:
        return np.where(audited, 0, private)

    def active_counts(self, private: IntArray) -> IntArray | None:
        return private


def one_hot(audits: IntArray, n_targets: int) -> BoolArray:
    """(B,) audited targets as a (B, C) mask."""
    return np.equal(audits[:, None], np.arange(n_targets))


def largest(scores: IntArray | FloatArray, eligible: BoolArray) -> BoolArray:
    """The eligible targets with the largest score, (B, C)."""
    best = np.max(scores, axis=1, keepdims=True, where=eligible, initial=scores.min())
    return np.asarray(eligible & (scores == best))


def _weights_in_words(weights: Sequence[int]) -> str:
    """Nothing where every report weighs 1, as it does without classes."""
    different = sorted({*weights})
    if different == [1]:
        return ""
    if len(different) == 1:
        return f"of weight {different[0]}"
    *others, last = map(str, weights)
    return f"of weights {', '.join(others)} and {last}"
