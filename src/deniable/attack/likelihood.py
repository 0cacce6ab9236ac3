"""How likely a transcript is, in closed form and at any size, from the mechanism's own draws.

As in `deniable.attack.exact`, there are no formulas for single mechanisms: the mechanism's own `step` is run, with a
noise object that makes every draw come out as the transcript says and notes how likely that was. It serves every
mechanism whose state is a function of the stream and the transcript, and whose audits are one choice or one race each,
perhaps after one coin in a round: greedy, uniform, randomized response and race, with several audits a round, rules and
weights, and many mechanisms that users write. Counter auditing keeps noise between the rounds and is refused
(`deniable.attack.particles`).
"""

import math
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.errors import FOREIGN_ERRORS, DeniableError, UnsuitableError
from deniable.mechanisms import Mechanism, State
from deniable.mechanisms.base import one_hot
from deniable.noise import Growth
from deniable.state import pack
from deniable.streams import check_counts

# Bounds memory; changes no number.
RUNS_AT_ONCE = 4096
# So many transcripts are computed a second time, to see whether the mechanism draws from its noise alone.
AGAIN = 64

_NO_CLOSED_FORM = "the likelihood of this mechanism's transcripts has no closed form; attack it as a black box"


class _ForcedNoise:
    """Noise for B runs whose draws give `audits`, (B, k), one after the other, whatever their law.

    `log_probability`, (B,), is that of all of them. A coin shows `coin`. With `other`, the draws give other targets
    than these, where others are possible.
    """

    def __init__(self, audits: IntArray, coin: bool, other: bool = False) -> None:
        self.audits = audits
        self._coin = coin
        self._other = other
        self.coins = 0
        self._taken: list[IntArray] = []
        self.log_probability = np.zeros(len(audits))

    @property
    def taken(self) -> IntArray:
        """(B, draws): what they gave so far."""
        return np.array(self._taken, dtype=np.int64).reshape(-1, len(self.audits)).T

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        self.coins += 1
        if self._taken or self.coins > 1 or runs != len(self.audits):
            _refuse()
        chance = float(probability if self._coin else 1 - probability)
        self.log_probability += math.log(chance) if chance else -math.inf
        return np.full(runs, self._coin)

    def choose(self, eligible: BoolArray) -> IntArray:
        return self._take(np.where(eligible, 0.0, -np.inf))

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        with np.errstate(divide="ignore"):  # log 0 = -inf: not eligible
            return self._take(np.log(weights) + growth.log(counts))

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        _refuse()

    def _take(self, log_weights: FloatArray) -> IntArray:
        """The next audits, drawn with probability proportional to exp(log_weights), (B, C)."""
        if len(self._taken) == self.audits.shape[1] or len(log_weights) != len(self.audits):
            _refuse()
        forced = self.audits[:, len(self._taken)]
        top = log_weights.max(axis=1)
        total = top + np.log(np.exp(log_weights - top[:, None]).sum(axis=1))
        self.log_probability += np.take_along_axis(log_weights, forced[:, None], axis=1)[:, 0] - total
        if self._other:
            others = np.where(one_hot(forced, log_weights.shape[1]), -np.inf, log_weights)
            possible = others.max(axis=1) > -np.inf
            forced = np.where(possible, others.argmax(axis=1), log_weights.argmax(axis=1))
        self._taken.append(forced)
        return forced


def log_likelihood(mechanism: Mechanism[Any], stream: ArrayLike, audits: IntArray) -> FloatArray:
    """(B,): the natural logarithm of the probability of each transcript on the stream (T, C).

    Audits are (B, T), or (B, T, k) in the order drawn where there are k a round. -inf where the transcript is
    impossible. A transcript that is shorter than the stream is a prefix.

    >>> import deniable as dn
    >>> np.exp(log_likelihood(dn.Race(2, rho=3.0), [[1, 0], [0, 1]], np.array([[0, 0], [0, 1]])))
    array([0.1875, 0.5625])
    """
    counts, drawn = check_transcripts(mechanism, stream, audits)
    if not len(drawn):
        return np.zeros(0)
    starts = range(0, len(drawn), RUNS_AT_ONCE)
    try:
        found = np.concatenate([_log_likelihood(mechanism, counts, drawn[s : s + RUNS_AT_ONCE]) for s in starts])
        again = _log_likelihood(mechanism, counts, drawn[:AGAIN], others=True)
    except DeniableError:
        raise
    except FOREIGN_ERRORS as error:  # of a mechanism that does not expect forced draws
        raise UnsuitableError(_NO_CLOSED_FORM) from error
    if not np.allclose(again, found[:AGAIN], rtol=1e-9, atol=1e-9):  # it has random numbers of its own
        _refuse()
    return found


def log_likelihood_ratio(
    mechanism: Mechanism[Any], not_filed: ArrayLike, filed: ArrayLike, audits: IntArray
) -> FloatArray:
    """(B,): log P[transcript | filed] - log P[transcript | not filed], exact up to rounding, for audits as above.

    inf where only filing explains the transcript, -inf where only not filing does, NaN where neither does.

    >>> import deniable as dn
    >>> log_likelihood_ratio(dn.Greedy(2), [[0, 0]], [[1, 0]], np.array([[0], [1]]))  # log 2, -inf
    array([0.693..., -inf])
    """
    with np.errstate(invalid="ignore"):
        return log_likelihood(mechanism, filed, audits) - log_likelihood(mechanism, not_filed, audits)


def has_closed_form(mechanism: Mechanism[Any], audits: int = 1) -> bool:
    """Whether `log_likelihood` serves the mechanism, which is found out by trying an audit of every target.

    >>> import deniable as dn
    >>> has_closed_form(dn.Race(2, 1.3)), has_closed_form(dn.CounterAuditing.calibrate(2, 0.1, horizon=9))
    (True, False)
    """
    # Ties everywhere, and in the second round ties in some runs alone.
    counts = np.ones((2, mechanism.n_targets), dtype=np.int64)
    counts[1, 1:] = 0
    # Every target once before any is audited again: no max_gap that can be met is broken.
    first = np.arange(mechanism.n_targets)[:, None, None]
    drawn = (first + np.arange(2 * audits).reshape(2, audits)) % mechanism.n_targets
    try:
        log_likelihood(mechanism, counts, drawn[:, : mechanism.guarantee().horizon])
    except DeniableError:
        return False
    return True


def check_transcripts(mechanism: Mechanism[Any], stream: ArrayLike, audits: IntArray) -> tuple[IntArray, IntArray]:
    """The stream as counts (T, C), and the audits as (B, T', k), T' <= T; refused where they do not fit."""
    counts = check_counts(stream, mechanism.n_targets)
    drawn = np.asarray(audits)
    if counts.ndim != 2:
        raise DeniableError(f"a stream must have shape (rounds, targets), got shape {counts.shape}")
    if drawn.ndim not in (2, 3) or drawn.dtype.kind not in "iu":
        raise DeniableError(
            "audits must be whole numbers of shape (runs, rounds), or (runs, rounds, audits a round), "
            f"got shape {drawn.shape}"
        )
    if drawn.shape[1] > len(counts):
        raise DeniableError(
            f"transcripts must be no longer than the stream, {len(counts)} rounds, got {drawn.shape[1]}"
        )
    if drawn.size and not 0 <= drawn.min() <= drawn.max() < mechanism.n_targets:
        raise DeniableError(f"audits must be targets in 0..{mechanism.n_targets - 1}")
    return counts, drawn.astype(np.int64).reshape(*drawn.shape[:2], *(drawn.shape[2:] or (1,)))


def _log_likelihood(
    mechanism: Mechanism[Any], counts: IntArray, audits: IntArray, *, others: bool = False
) -> FloatArray:
    runs, rounds, _ = audits.shape
    state = mechanism.init(runs)
    total = np.zeros(runs)
    for t in range(rounds):
        reports = np.broadcast_to(counts[t], (runs, mechanism.n_targets))
        log_probability, state = _forced_round(mechanism, state, reports, audits[:, t], others=others)
        total += log_probability
    return total


def _forced_round(
    mechanism: Mechanism[Any], state: State[Any], reports: IntArray, audits: IntArray, *, others: bool
) -> tuple[FloatArray, State[Any]]:
    """(B,): log P[the round's draws give these audits], over both sides of the coin where there is one; and the state.

    With `others`, the draws are forced to other targets as well, to see that they decide, and the coin must leave no
    trace in the state.
    """
    sides: list[tuple[FloatArray, State[Any]]] = []
    for coin in (True, False):
        if others:
            _force(mechanism, state, reports, _ForcedNoise(audits, coin, other=True))
        noise = _ForcedNoise(audits, coin)
        sides.append((noise.log_probability, _force(mechanism, state, reports, noise)))
        if not noise.coins:
            return sides[0]
    (heads, after), (tails, other) = sides
    if others and pack(after) != pack(other):
        _refuse()
    return np.logaddexp(heads, tails), after


def _force(mechanism: Mechanism[Any], state: State[Any], reports: IntArray, noise: _ForcedNoise) -> State[Any]:
    drawn, after = mechanism.step(state, reports, noise, noise.audits.shape[1])
    if not np.array_equal(drawn, noise.taken):  # drawn from elsewhere, or changed afterwards
        _refuse()
    return after


def _refuse() -> NoReturn:
    raise UnsuitableError(_NO_CLOSED_FORM)
