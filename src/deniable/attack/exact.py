"""The strong adversary by enumeration: exact transcript laws, total variation and likelihood ratios.

The laws come from the mechanisms' own `step`, run once for every outcome of its draws, with a noise object that
follows a script. So what is checked is the code that runs for real, integer weight tables included (`SparseRace`,
which `AuditRun` uses for race without rules, is tested to make the same draws).
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import BoolArray, ExactArray, IntArray
from deniable.attack.refusal import UnsuitableError
from deniable.errors import DeniableError, check_whole
from deniable.mechanisms import Mechanism, State
from deniable.noise import Growth, race_weights, require_eligible
from deniable.state import pack
from deniable.streams import check_counts

Audits = tuple[int, ...]
Law = dict[tuple[int | Audits, ...], Fraction]
"""Transcript -> probability: an audit a round, or a tuple of audits where there are several a round."""

P = TypeVar("P")
Paths = dict[tuple[tuple[int | Audits, ...], str], tuple[Fraction, State[Any]]]

# Transcripts, not branches: beyond this the enumeration would take hours.
MAX_TRANSCRIPTS = 100_000


class ScriptedNoise:
    """Noise for one run that follows `script`, an outcome a draw, and takes the first outcome after its end.

    `probability` is that of the path taken, `widths` the number of outcomes each draw had.
    """

    def __init__(self, script: Sequence[int] = ()) -> None:
        self._script = script
        self.probability = Fraction(1)
        self.widths: list[int] = []

    def draw(self, weights: Sequence[int]) -> int:
        """Outcome i with probability weights[i] / sum(weights); outcomes of weight 0 are left out."""
        possible = [i for i, weight in enumerate(weights) if weight]
        place = len(self.widths)
        taken = possible[self._script[place] if place < len(self._script) else 0]
        self.widths.append(len(possible))
        self.probability *= Fraction(weights[taken], sum(weights))
        return taken

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        _one_run(runs)
        if not 0 <= probability <= 1:
            raise DeniableError(f"probability must be in [0, 1], got {probability}")
        hit = self.draw([probability.denominator - probability.numerator, probability.numerator])
        return np.array([bool(hit)])

    def choose(self, eligible: BoolArray) -> IntArray:
        require_eligible(eligible)
        _one_run(len(eligible))
        return np.array([self.draw([int(flag) for flag in eligible[0]])])

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        _one_run(len(counts))
        require_eligible(weights > 0)
        return np.array([self.draw(race_weights(growth, counts, weights)[0])])

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        raise UnsuitableError("Gaussian noise has no finite list of outcomes, so this mechanism cannot be enumerated")


def branches(
    mechanism: Mechanism[P], state: State[P], reports: IntArray, audits: int = 1
) -> Iterator[tuple[Fraction, Audits, State[P]]]:
    """Every outcome of one round: its probability, the audits and the next state."""
    script: list[int] = []
    while True:
        noise, again = ScriptedNoise(script), ScriptedNoise(script)
        drawn, after = mechanism.step(state, reports[None], noise, audits)
        same, same_after = mechanism.step(state, reports[None], again, audits)
        course = drawn.tolist(), noise.widths, noise.probability, _key(after)
        if course != (same.tolist(), again.widths, again.probability, _key(same_after)):
            raise UnsuitableError(
                "the mechanism must draw from its noise alone, but the same draws gave another outcome"
            )
        yield noise.probability, tuple(drawn[0].tolist()), after
        script = script + [0] * (len(noise.widths) - len(script))
        while script and script[-1] + 1 == noise.widths[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


def transcript_distribution(mechanism: Mechanism[Any], stream: ArrayLike, audits: int = 1) -> Law:
    """The exact law of the transcript of one stream (T, C): transcript -> probability.

    For mechanisms whose draws have finitely many outcomes, with few rounds and targets.

    >>> import deniable as dn
    >>> dn.transcript_distribution(dn.Greedy(2), [[1, 0], [0, 0]])
    {(0, 0): Fraction(1, 2), (0, 1): Fraction(1, 2)}
    """
    counts = check_counts(stream, mechanism.n_targets)
    if counts.ndim != 2 or not len(counts):
        raise DeniableError(f"a stream must have shape (rounds, targets), got shape {counts.shape}")
    if mechanism.n_targets ** (len(counts) * check_whole("audits", audits, least=1)) > MAX_TRANSCRIPTS:
        raise DeniableError(
            f"{mechanism.n_targets} targets and {len(counts)} rounds have more than {MAX_TRANSCRIPTS} transcripts; "
            "enumerate fewer rounds or targets"
        )
    # Paths that led to the same transcript and the same state are one: (transcript, packed state) -> both.
    paths: Paths = {((), ""): (Fraction(1), mechanism.init())}
    for reports in counts:
        longer: Paths = {}
        for (past, _), (probability, state) in paths.items():
            for chance, drawn, after in branches(mechanism, state, reports, audits):
                key = (*past, drawn if audits > 1 else drawn[0]), _key(after)
                so_far = longer[key][0] if key in longer else Fraction(0)
                longer[key] = so_far + probability * chance, after
        paths = longer
    law: Law = defaultdict(Fraction)
    for (transcript, _), (probability, _) in paths.items():
        law[transcript] += probability
    return dict(law)


def total_variation(law: Law, other: Law) -> Fraction:
    """d_TV of two transcript laws: the delta of `app:prop:tv-char` for this pair of streams."""
    return sum((max(law[a] - other.get(a, Fraction(0)), Fraction(0)) for a in law), Fraction(0))


def likelihood_ratio(filed: Law, not_filed: Law) -> float | Fraction:
    """The largest P[transcript | filed] / P[transcript | not filed]; inf where only filing explains one."""
    if any(transcript not in not_filed for transcript in filed):
        return math.inf
    return max(probability / not_filed[transcript] for transcript, probability in filed.items())


def _key(state: State[Any]) -> str:
    return json.dumps([type(state.private).__qualname__, pack(state)])


def _one_run(runs: int) -> None:
    if runs != 1:
        raise UnsuitableError(f"only one run at a time can be enumerated, got {runs}")
