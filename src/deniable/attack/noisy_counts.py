"""The adversary who sees the noisy counts themselves, for counter auditing with a Gaussian counter.

A Gaussian counter may publish its outputs (`prop:base-counter-privacy`), and its noise is calibrated for that: on a run
that is never audited, the best test of the outputs has a TPR - FPR of exactly delta. The audits are a function of the
outputs, so an observer who sees only the audits knows less.

The law of the noise comes from the counter's own `step`, run on impulses in place of noise. So what is attacked is
the code that runs for real, with the noise that it really asks for. That the outputs are the active counts plus that
noise, afresh after every restart and apart for every target, is not taken for granted either: `check_counter` probes
for it, and refuses a counter of which it is not true.
"""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag, solve_triangular

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.attack.bounds import Event, best_threshold, check_failure_probability, check_games, measure
from deniable.attack.likelihood import check_transcripts
from deniable.calibration import gaussian_delta
from deniable.counters import Counter
from deniable.errors import FOREIGN_ERRORS, DeniableError, UnsuitableError, check_whole
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.mechanisms.base import one_hot
from deniable.noise import Growth
from deniable.rules import no_history
from deniable.simulation.noise import SimulationNoise

# Impulses are this much larger than the noise, so that the rounding of the outputs does not show.
IMPULSE = 2.0**24
# Outputs of a simulated game that are held at once.
CELLS = 2**22
# Runs and targets of a counter that is probed, and the rounds whose noise is probed draw by draw.
PROBED_RUNS, PROBED_TARGETS, PROBED_ROUNDS = 4, 3, 12


class _GaussianOnly:
    """Noise that refuses every draw but Gaussian ones."""

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        raise UnsuitableError(_NOT_GAUSSIAN)

    def choose(self, eligible: BoolArray) -> IntArray:
        raise UnsuitableError(_NOT_GAUSSIAN)

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        raise UnsuitableError(_NOT_GAUSSIAN)


class _Impulses(_GaussianOnly):
    """In place of noise: in run b only draw number `draws[b]` is not zero, and has the size of a standard deviation."""

    def __init__(self, draws: IntArray) -> None:
        self._draws = draws
        self.used = 0

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        count = math.prod(shape[1:])
        drawn = self._draws[:, None] == np.arange(self.used, self.used + count)
        self.used += count
        return np.asarray(drawn * (IMPULSE * math.sqrt(variance))).reshape(shape)


class _Mixture(_GaussianOnly):
    """Always the same two sequences of standard normal draws, so much of the one and so much of the other."""

    def __init__(self, one: float, other: float) -> None:
        self._shares = np.array([one, other])
        self._rng = np.random.default_rng(0)

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        draws = self._rng.normal(size=(2, *shape))
        return np.asarray(math.sqrt(variance) * np.tensordot(self._shares, draws, axes=1))


_NOT_ADDITIVE = (
    "the outputs of the counter are not the active counts plus Gaussian noise, afresh after every restart and apart "
    "for every target, so it cannot be attacked through its outputs; attack it as a black box"
)
_NOT_GAUSSIAN = "the counter must draw Gaussian noise and nothing else to be attacked through its outputs"


def noise_response(counter: Counter[Any], rounds: int, draws: tuple[int, ...] | None = None) -> FloatArray:
    """(T, m): what each of the m draws of a run adds to the outputs of its rounds, in reports per standard deviation.

    The outputs of a run with reports x are Gaussian with mean A x, the active counts, and covariance R R^T. All draws,
    or only these.

    >>> import deniable as dn
    >>> counter = dn.counters.toeplitz(delta=0.1, horizon=3)
    >>> noise_response(counter, 3) / counter.sigma
    array([[1.   , 0.   , 0.   ],
           [0.5  , 1.   , 0.   ],
           [0.375, 0.5  , 1.   ]])
    """
    return _noise_response(counter, rounds, draws)  # type: ignore[arg-type]  # a frozen dataclass, so hashable


@lru_cache(maxsize=8)
def _noise_response(counter: Counter[Any], rounds: int, draws: tuple[int, ...] | None) -> FloatArray:
    _check_rounds(counter, rounds)
    once = _Impulses(np.zeros(1, dtype=np.int64))
    counter.step(counter.init(1, 1), np.zeros((1, 1), dtype=np.int64), once)
    of_all = np.arange(rounds * once.used) if draws is None else np.array(draws, dtype=np.int64)
    noise, state = _Impulses(of_all), counter.init(len(of_all), 1)
    silence = np.zeros((len(of_all), 1), dtype=np.int64)
    response = np.empty((rounds, len(of_all)))
    for t in range(rounds):
        outputs, state = counter.step(state, silence, noise)
        response[t] = outputs[:, 0]
    if noise.used != rounds * once.used:
        raise UnsuitableError("the counter must draw equally often in every round to be attacked through its outputs")
    response = np.where(np.abs(response) < 1, 0.0, response) / IMPULSE
    response.flags.writeable = False
    return response


def check_counter(counter: Counter[Any], rounds: int) -> None:
    """Refuse a counter whose outputs are not what the referee and the particles take them for, in so many rounds.

    That is, the active counts plus Gaussian noise that depends on nothing, starts afresh after a restart, and is
    independent between targets. The counter is run on reports, restarts and noise of our own, so this is no proof: what
    shows neither there nor in `PROBED_ROUNDS` rounds draw by draw goes unnoticed.
    """
    try:
        _check_counter(counter, rounds)  # type: ignore[arg-type]  # a frozen dataclass, so hashable
    except DeniableError:
        raise
    except FOREIGN_ERRORS as error:
        raise UnsuitableError(_NOT_ADDITIVE) from error


@lru_cache(maxsize=8)
def _check_counter(counter: Counter[Any], rounds: int) -> None:
    rng = np.random.default_rng(0)
    shape = rounds, PROBED_RUNS, PROBED_TARGETS
    reports = rng.integers(0, 4, shape)
    audited = one_hot(rng.integers(0, PROBED_TARGETS, rounds * PROBED_RUNS), PROBED_TARGETS).reshape(shape)
    audited[:, ::2] = False  # every other run lasts
    counts = _active(reports, audited)
    silence = np.zeros_like(reports)
    alone, noisy, noise, other, mixed = (
        _outputs(counter, stream, audited, _Mixture(*shares))
        for stream, shares in (
            (reports, (0, 0)),
            (reports, (1, 0)),
            (silence, (1, 0)),
            (silence, (0, 1)),
            (silence, (1, -2)),
        )
    )
    tolerance = 1e-5 + 1e-9 * float(np.abs(noise).max())  # outputs are rounded, to 2**-20
    for found, expected in ((alone, counts), (noisy - noise, counts), (mixed, noise - 2 * other)):
        if not np.allclose(found, expected, rtol=0, atol=tolerance):
            raise UnsuitableError(_NOT_ADDITIVE)
    _check_noise(counter, min(rounds, PROBED_ROUNDS))


def _check_noise(counter: Counter[Any], rounds: int) -> None:
    """The covariance of the outputs of several targets, the first of which is restarted half-way, draw by draw."""
    half = rounds // 2
    audited = np.zeros((rounds, 1, PROBED_TARGETS), dtype=np.bool_)
    audited[half - 1, :, 0] = half > 0
    once = _Impulses(np.zeros(1, dtype=np.int64))
    _outputs(counter, np.zeros(audited.shape, dtype=np.int64), audited, once)
    shape = rounds, once.used, PROBED_TARGETS
    impulses = _Impulses(np.arange(once.used))
    outputs = _outputs(counter, np.zeros(shape, dtype=np.int64), np.broadcast_to(audited, shape), impulses) / IMPULSE
    moves = outputs.transpose(2, 0, 1).reshape(PROBED_TARGETS * rounds, -1)
    response = noise_response(counter, rounds)
    law = response @ response.T
    lasting = [law] * (PROBED_TARGETS - 1)
    expected = block_diag(law[:half, :half], law[: rounds - half, : rounds - half], *lasting)
    if not np.allclose(moves @ moves.T, expected, rtol=0, atol=1e-6 * law.max()):
        raise UnsuitableError(_NOT_ADDITIVE)


def _outputs(counter: Counter[Any], reports: IntArray, audited: BoolArray, noise: Any) -> FloatArray:
    """(T, B, C): what the counter shows of reports (T, B, C), each round followed by the restarts (T, B, C)."""
    state, outputs = counter.init(*reports.shape[1:]), np.empty(reports.shape)
    for t, now in enumerate(reports):
        outputs[t], state = counter.step(state, now, noise)
        state = counter.restart(state, audited[t])
    return outputs


def _active(reports: IntArray, audited: BoolArray) -> IntArray:
    counts, active = np.empty_like(reports), np.zeros_like(reports[0])
    for t, now in enumerate(reports):
        counts[t] = active + now
        active = np.where(audited[t], 0, counts[t])
    return counts


def _check_rounds(counter: Counter[Any], rounds: int) -> None:
    if rounds > counter.horizon:
        raise DeniableError(f"rounds must be at most the counter's horizon, {counter.horizon}, got {rounds}")


def whitener(counter: Counter[Any], rounds: int) -> FloatArray:
    """(T, T), lower-triangular: W with W (outputs - active counts) standard normal on the rounds of a run.

    The whitened noise of the first rounds of a run does not depend on how long the run will be.
    """
    _check_rounds(counter, rounds)
    check_counter(counter, rounds)
    response = noise_response(counter, rounds)
    return np.asarray(solve_triangular(np.linalg.cholesky(response @ response.T), np.eye(rounds), lower=True))


def total_variation(counter: Counter[Any], rounds: int | None = None) -> float:
    """What the outputs of one run leak about a report in its first round: 2 Phi(mu / 2) - 1 (`app:lem:tv-shifted`).

    Exact up to rounding. The run lasts `rounds` rounds, by default as long as the counter allows; then a Gaussian
    counter with as many draws as rounds and its worst report in the first round, such as the Toeplitz counter, meets
    its delta with equality.

    >>> import deniable as dn
    >>> round(total_variation(dn.counters.toeplitz(delta=0.1, horizon=100)), 9)
    0.1
    """
    rounds = counter.horizon if rounds is None else check_whole("rounds", rounds, least=1)
    mu = float(np.linalg.norm(whitener(counter, rounds).sum(axis=1)))  # the report adds 1 to every active count
    return gaussian_delta(1.0, mu)


def log_likelihood_ratio(
    mechanism: Mechanism[Any], not_filed: ArrayLike, filed: ArrayLike, noisy: FloatArray, audits: IntArray
) -> FloatArray:
    """(B,): log of the density of the noisy counts (B, T, C) on the stream `filed` over that on `not_filed`, (T, C).

    Exact. The audits, (B, T) or (B, T, k) where there are k a round, tell where the runs begin; they are a function of
    the noisy counts.
    """
    counter = counter_of(mechanism)
    one, drawn = check_transcripts(mechanism, filed, audits)
    other, _ = check_transcripts(mechanism, not_filed, audits)
    rounds = drawn.shape[1]
    if noisy.shape != (len(drawn), rounds, mechanism.n_targets):
        raise DeniableError(
            f"noisy counts must have shape {(len(drawn), rounds, mechanism.n_targets)}, one for each run, round and "
            f"target, got {noisy.shape}"
        )
    white = whitener(counter, min(rounds, counter.horizon))
    ratios = np.zeros(len(drawn))
    for c in np.flatnonzero((one != other)[:rounds].any(axis=0)):
        for b, audited in enumerate((drawn == c).any(axis=2)):
            for start, end in runs_of(audited):
                extra = np.cumsum(one[start:end, c] - other[start:end, c])
                if not extra.any():
                    continue
                w = white[: end - start, : end - start]
                e = w @ extra
                noise = w @ (noisy[b, start:end, c] - np.cumsum(other[start:end, c]))
                ratios[b] += e @ noise - e @ e / 2
    return ratios


def simulate_noisy_counts(
    mechanism: Mechanism[Any], stream: ArrayLike, runs: int, audits: int = 1, *, seed: int | np.random.SeedSequence = 0
) -> tuple[FloatArray, IntArray]:
    """Noisy counts (B, T, C) of as many runs of counter auditing on one stream (T, C), and their audits: (B, T), or
    (B, T, audits) where there are several a round.
    """
    counter_of(mechanism)
    counts, _ = check_transcripts(mechanism, stream, np.zeros((0, 0), dtype=np.int64))
    rounds, n_targets = counts.shape
    noise = SimulationNoise(seed)
    history, private = no_history(runs, n_targets), mechanism.start(runs)
    noisy = np.empty((runs, rounds, n_targets))
    drawn = np.empty((runs, rounds, audits), dtype=np.int64)
    for t in range(rounds):
        mechanism.check_round(t, n_targets, audits)
        noisy[:, t], private = mechanism.tally(private, np.broadcast_to(counts[t], (runs, n_targets)), noise)
        chosen = np.zeros_like(history.present)
        for j in range(audits):
            eligible = mechanism.rules.eligible(history, chosen, audits)
            drawn[:, t, j] = mechanism.draw(noisy[:, t], eligible, history, noise)
            chosen |= one_hot(drawn[:, t, j], n_targets)
        history, private = history.after(chosen), mechanism.forget(private, chosen)
    return noisy, drawn if audits > 1 else drawn[..., 0]


def play_on_noisy_counts(
    mechanism: Mechanism[Any],
    not_filed: ArrayLike,
    filed: ArrayLike,
    *,
    games: int = 10_000,
    failure_probability: float = 1e-3,
    audits: int = 1,
    seed: int = 0,
) -> Event:
    """The game of `deniable.attack.play` when the adversary sees the noisy counts: the event with the largest
    TPR - FPR, chosen on half of the games and measured on the other half.

    `lower_bound` of what is returned is wrong with at most the failure probability.
    """
    each = -(-check_games(games) // 4)
    check_failure_probability(failure_probability)
    at_once = max(1, CELLS // np.size(filed))
    scores = []
    for world, stream in enumerate((filed, not_filed)):
        parts = []
        for start in range(0, 2 * each, at_once):
            child = np.random.SeedSequence([check_whole("seed", seed, least=0), world, start])
            seen = simulate_noisy_counts(mechanism, stream, min(at_once, 2 * each - start), audits, seed=child)
            parts.append(log_likelihood_ratio(mechanism, not_filed, filed, *seen))
        scores.append(np.concatenate(parts))
    (chose_filed, filed_rest), (chose_not, not_rest) = (np.split(world, 2) for world in scores)
    return measure(filed_rest, not_rest, best_threshold(chose_filed, chose_not), failure_probability)


def counter_of(mechanism: Mechanism[Any]) -> Counter[Any]:
    """The counter of counter auditing; another mechanism has no noisy counts."""
    if not isinstance(mechanism, CounterAuditing):
        raise UnsuitableError(f"only counter auditing has noisy counts, got {type(mechanism).__name__}")
    return mechanism.counter


def runs_of(audited: BoolArray) -> list[tuple[int, int]]:
    """The runs of one target, as (first round, round after the last), from the rounds (T,) in which it was audited.

    >>> runs_of(np.array([False, True, True, False]))
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = [int(t) + 1 for t in np.flatnonzero(audited)]
    bounds = sorted({0, *ends, len(audited)})
    return list(pairwise(bounds))
