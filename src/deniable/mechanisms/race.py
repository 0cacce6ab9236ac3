"""Race auditing: the exponential mechanism plus the report reset (proof: docs/explanation/race.md)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from deniable.arrays import ExactArray, FloatArray, IntArray
from deniable.calibration import race_rho
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.guarantee import Exponential, Guarantee
from deniable.mechanisms.protocol import CountState, next_round, no_counts, reset
from deniable.noise import Noise

# phi is held constant from MAX_COUNT reports on, or once it needs more than MAX_BITS bits: still private, since
# a step of 1 is at most rho; only the order of two targets that are both beyond is lost.
MAX_COUNT = 10_000
MAX_BITS = 20_000


@dataclass(frozen=True)
class GeometricGrowth:
    """phi(0) = 2**64, phi(n+1) = floor(rho * phi(n)): integers with phi(n) <= phi(n+1) <= rho * phi(n)."""

    rho: float

    def exact(self, counts: IntArray) -> ExactArray:
        table, _ = _growth_table(self.rho)
        return table[np.minimum(counts, len(table) - 1)]

    def log(self, counts: IntArray) -> FloatArray:
        _, logs = _growth_table(self.rho)
        return logs[np.minimum(counts, len(logs) - 1)]


@dataclass(frozen=True)
class Race:
    """In every round audit target c with probability proportional to phi(active count of c).

    There is no noise to store and no horizon. Transcripts of adjacent streams are at most
    delta(rho) = rho**(-1/(rho-1)) - rho**(-rho/(rho-1)) apart in total variation, and no transcript is more than
    rho times as likely with a report as without it, everything else equal.

    >>> race = Race.calibrate(n_targets=50, delta=0.1)
    >>> round(race.rho, 6), round(race.guarantee().delta, 9)
    (1.313467, 0.1)
    """

    n_targets: int
    rho: float

    def __post_init__(self) -> None:
        check_whole("n_targets", self.n_targets, least=2)
        if not 1 < self.rho < math.inf:
            raise DeniableError(f"rho must be a finite number above 1, got {self.rho}")

    @classmethod
    def calibrate(cls, n_targets: int, delta: float) -> "Race":
        """The largest rho whose delta(rho) does not exceed `delta`."""
        return cls(n_targets, race_rho(check_delta(delta)))

    @property
    def growth(self) -> GeometricGrowth:
        return GeometricGrowth(self.rho)

    def guarantee(self) -> Guarantee:
        return Guarantee(Exponential(self.rho))

    def init(self, runs: int = 1) -> CountState:
        return no_counts(runs, self.n_targets)

    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        counts = state.counts + reports
        audits = noise.race(self.growth, counts)
        return audits, CountState(next_round(state.rounds, self.guarantee()), reset(counts, audits))


@lru_cache(maxsize=8)
def _growth_table(rho: float) -> tuple[ExactArray, FloatArray]:
    ratio = Fraction(rho)  # exact: a float is a fraction
    phi = [1 << 64]
    while len(phi) <= MAX_COUNT and phi[-1].bit_length() < MAX_BITS:
        # Flooring relative to phi(n) keeps every step at most rho; flooring rho**n would not.
        phi.append(phi[-1] * ratio.numerator // ratio.denominator)
    table = np.array(phi, dtype=object)
    logs = np.array([math.log(value) for value in phi])
    table.flags.writeable = logs.flags.writeable = False
    return table, logs
