"""The adversaries, and the choice of the strongest that applies."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.attack import black_box, particles
from deniable.attack.exact import Law, total_variation, transcript_distribution
from deniable.attack.likelihood import has_closed_form, log_likelihood_ratio
from deniable.attack.pairs import EVERYTHING, Pair, View
from deniable.errors import FOREIGN_ERRORS, UnsuitableError
from deniable.mechanisms import Mechanism

# Transcripts that are enumerated without being asked: seconds, where exact fractions of more would take minutes.
ENUMERATED = 1024


@dataclass(frozen=True)
class Score:
    """What an adversary makes of transcripts as it sees them: (B,), larger where "filed" is likelier."""

    of: Callable[[IntArray], FloatArray]
    ratio: bool = False
    """Whether it is log P[seen | filed] - log P[seen | not filed], exactly, and so tells the total variation."""
    threshold: float | None = None
    """Above which the best guess is "filed", such as 0 for the logarithm of odds; None lets games choose it."""
    total_variation: float | None = None
    """Of the pair, where the adversary knows it exactly."""
    roc: tuple[FloatArray, FloatArray] | None = None
    """FPR and TPR of every threshold, from the smallest FPR on, where the adversary knows them exactly."""
    largest_log_ratio: float | None = None
    """Over all that can be seen, where the adversary knows it exactly."""


class Adversary(Protocol):
    """Knows the mechanism, the audits a round and both streams of the pair.

    `filed` and `not_filed` are what it saw in games that do not count, to learn from if it `learns`; an adversary who
    computes likelihoods does not. They are (B, T) each, or (B, T, audits) where there are several audits a round and it
    sees all of them. One that is made for a certain view has it as `view`, and is refused in a game with another.
    """

    @property
    def name(self) -> str: ...
    @property
    def learns(self) -> bool: ...
    def train(
        self, mechanism: Mechanism[Any], pair: Pair, filed: IntArray, not_filed: IntArray, *, audits: int, seed: int
    ) -> Score: ...


@dataclass(frozen=True)
class Enumeration:
    """Adds up the exact probability of every transcript: for few rounds and targets, and draws that can be listed."""

    view: View = EVERYTHING

    name: ClassVar[str] = "exact"
    learns: ClassVar[bool] = False

    def train(
        self, mechanism: Mechanism[Any], pair: Pair, filed: IntArray, not_filed: IntArray, *, audits: int, seed: int
    ) -> Score:
        laws = [self._seen(pair, transcript_distribution(mechanism, s, audits)) for s in (pair.filed, pair.not_filed)]
        ratios = {seen: _log_ratio(laws[0].get(seen, 0), laws[1].get(seen, 0)) for seen in {*laws[0], *laws[1]}}

        def score(seen: IntArray) -> FloatArray:
            keys = [_key(transcript) for transcript in seen]
            if not ratios.keys() >= set(keys):
                raise UnsuitableError("games had transcripts that are impossible by enumeration")
            return np.array([ratios[key] for key in keys])

        return Score(
            score,
            ratio=True,
            threshold=0.0,
            total_variation=float(total_variation(*laws)),
            roc=_roc(ratios, *laws),
            largest_log_ratio=max(ratios.values()),
        )

    def _seen(self, pair: Pair, law: Law) -> Law:
        seen: Law = {}
        for transcript, probability in law.items():
            key = _key(self.view.of_audits(pair, np.array([transcript]))[0])
            seen[key] = seen.get(key, Fraction(0)) + probability
        return seen


@dataclass(frozen=True)
class ClosedForm:
    """Computes the likelihood of a transcript from the mechanism's own draws, at any size; must see all audits."""

    view: ClassVar[View] = EVERYTHING
    name: ClassVar[str] = "likelihood"
    learns: ClassVar[bool] = False

    def train(
        self, mechanism: Mechanism[Any], pair: Pair, filed: IntArray, not_filed: IntArray, *, audits: int, seed: int
    ) -> Score:
        return Score(partial(log_likelihood_ratio, mechanism, pair.not_filed, pair.filed), ratio=True, threshold=0.0)


@dataclass(frozen=True)
class Particles:
    """Follows the hidden noise of counter auditing by sequential Monte Carlo; must see all audits, one a round."""

    particles: int = particles.PARTICLES

    view: ClassVar[View] = EVERYTHING
    name: ClassVar[str] = "particles"
    learns: ClassVar[bool] = False

    def train(
        self, mechanism: Mechanism[Any], pair: Pair, filed: IntArray, not_filed: IntArray, *, audits: int, seed: int
    ) -> Score:
        streams = pair.not_filed, pair.filed
        ratio = partial(particles.log_likelihood_ratio, mechanism, *streams, particles=self.particles, seed=seed)
        return Score(ratio, threshold=0.0)  # nearly the ratio, not exactly


@dataclass(frozen=True)
class BlackBox:
    """Knows nothing of the mechanism's inside: a classifier learns from games. Needs scikit-learn."""

    view: View = EVERYTHING

    name: ClassVar[str] = "black box"
    learns: ClassVar[bool] = True

    def train(
        self, mechanism: Mechanism[Any], pair: Pair, filed: IntArray, not_filed: IntArray, *, audits: int, seed: int
    ) -> Score:
        score = black_box.learn(pair, filed, not_filed, own_target=self.view.own_target, seed=seed)
        return Score(score, threshold=0.0)


def strongest(mechanism: Mechanism[Any], pair: Pair, view: View = EVERYTHING, audits: int = 1) -> Adversary:
    """The strongest adversary we have for this mechanism, on these streams, with this view and so many audits a round.

    >>> import deniable as dn
    >>> from deniable.attack import report_at
    >>> tca, pair = dn.CounterAuditing.calibrate(5, 0.1, horizon=30), report_at("quiet", [[0] * 5] * 30, at_round=0)
    >>> strongest(tca, pair).name, strongest(tca, pair, audits=2).name
    ('particles', 'black box')
    """
    if mechanism.n_targets ** (pair.rounds * audits) <= ENUMERATED and _can_be_enumerated(mechanism, audits):
        return Enumeration(view)
    if not view.own_target:
        if has_closed_form(mechanism, audits):
            return ClosedForm()
        if audits == 1 and particles.can_follow(mechanism):
            return Particles()
    return BlackBox(view)


def _can_be_enumerated(mechanism: Mechanism[Any], audits: int) -> bool:
    try:
        transcript_distribution(mechanism, 1 + np.arange(mechanism.n_targets)[None] % 2, audits)
    except FOREIGN_ERRORS:  # refusals among them
        return False
    return True


def _key(transcript: IntArray) -> tuple[Any, ...]:
    """As a key of a law: an audit a round, or a tuple of audits where there are several."""
    return tuple(tuple(row) if isinstance(row, list) else row for row in transcript.tolist())


def _log_ratio(filed: Any, not_filed: Any) -> float:
    if not filed or not not_filed:
        return math.inf if filed else -math.inf
    ratio = filed / not_filed
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _roc(ratios: dict[Any, float], filed: Law, not_filed: Law) -> tuple[FloatArray, FloatArray]:
    order = sorted(ratios, key=lambda seen: -ratios[seen])
    fpr, tpr = (np.cumsum([0.0, *(float(law.get(seen, 0)) for seen in order)]) for law in (not_filed, filed))
    return np.minimum(1.0, fpr), np.minimum(1.0, tpr)
