"""The strong adversary against counter auditing: likelihood ratios of transcripts by sequential Monte Carlo.

The hidden variables are the Gaussian noise of every target. If the adversary saw the noisy counts, the ratio would be
known exactly (`deniable.attack.noisy_counts`): in a world half way between the two, it is exp(h) / exp(-h), where h
adds up, over the rounds of the report's run, the whitened noise times half of what the report moves it by. Of a
transcript it is

    P[transcript | filed] / P[transcript | not filed] = E[exp(h) | transcript] / E[exp(-h) | transcript],

so one cloud of particles serves both worlds with the same random numbers, and exchanging the streams changes exactly
the sign of the logarithm. In every round a particle is weighted with the probability that the audited target has the
largest noisy count, an integral over that count, and then draws the round's noise given who was audited.

If there are few targets and rounds, a particle holds the noise of all targets, and the result tends to the true
ratio as particles are added. Elsewhere every target has a cloud of its own, and clouds are taken for independent given
the transcript: not quite true, but such a cloud does not run out of different particles when another target is audited,
and as a score the result is far better. docs/explanation/adversary.md says more.
"""

import hashlib
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.attack import noisy_counts
from deniable.attack.likelihood import check_transcripts
from deniable.attack.noisy_counts import check_counter, counter_of, noise_response, runs_of, simulate_noisy_counts
from deniable.counters import Counter
from deniable.errors import FOREIGN_ERRORS, UnsuitableError, check_whole
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.mechanisms.base import one_hot
from deniable.rules import NO_RULES, no_history
from deniable.simulation import engine

PARTICLES = 256
# Up to so many rounds times targets a particle holds the noise of all targets.
WHOLE = 100
# Where every target has its own cloud, those in which the two worlds are equal need only this part of the particles.
RIVALS = 8
# The decoder is written as a sum of so many exponentials, so that past noise is remembered in as many numbers.
BUFFERS = 10
COARSEST = 1e-3

_NO_PARTICLES = (
    "particles follow counter auditing with a Toeplitz Gaussian counter, such as tca, counter:blt or the two "
    "perturbations, and one audit a round; attack this mechanism as a black box"
)


def log_likelihood_ratio(
    mechanism: Mechanism[Any],
    not_filed: ArrayLike,
    filed: ArrayLike,
    audits: IntArray,
    *,
    particles: int = PARTICLES,
    seed: int = 0,
) -> FloatArray:
    """(B,): an estimate of log P[transcript | filed] - log P[transcript | not filed], for audits (B, T).

    The streams (T, C) may differ in any reports. The random numbers depend on the seed and the transcript alone, so
    that the result is a function of the transcript, whatever others are asked about.

    >>> import deniable as dn
    >>> tca = dn.CounterAuditing.calibrate(2, delta=0.5, horizon=1)
    >>> log_likelihood_ratio(tca, [[0, 0]], [[1, 0]], np.array([[0], [1]])).round(1)
    array([ 0.5, -1.1])
    """
    counts, _ = check_transcripts(mechanism, filed, audits)
    if counts.size > WHOLE:
        return _map(mechanism, not_filed, filed, audits, particles=particles, seed=seed, whole=False)[:, 0]
    with_report, without = log_likelihoods(mechanism, not_filed, filed, audits, particles=particles, seed=seed)
    return with_report - without


def log_likelihoods(
    mechanism: Mechanism[Any],
    not_filed: ArrayLike,
    filed: ArrayLike,
    audits: IntArray,
    *,
    particles: int = PARTICLES,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """(B,) each: log P[transcript | filed] and log P[transcript | not filed], for audits (B, T).

    From particles that hold the noise of all targets: the probabilities, not their logarithms, are estimated without
    bias, up to the table of Phi (1e-4) and the rounding of outputs, which makes ties.
    """
    both = _map(mechanism, not_filed, filed, audits, particles=particles, seed=seed, whole=True)
    return both[:, 0], both[:, 1]


def can_follow(mechanism: Mechanism[Any]) -> bool:
    """Whether particles serve the mechanism.

    >>> import deniable as dn
    >>> [can_follow(dn.CounterAuditing.calibrate(2, 0.1, 9, counter)) for counter in ("toeplitz", "blt", "tree")]
    [True, True, False]
    """
    try:
        _decoder(_check(mechanism), min(mechanism.counter.horizon, 64))  # type: ignore[attr-defined]
    except FOREIGN_ERRORS:  # refusals among them
        return False
    return True


def leak(
    mechanism: Mechanism[Any],
    not_filed: ArrayLike,
    filed: ArrayLike,
    *,
    score: Callable[[IntArray], FloatArray] | None = None,
    games: int = 2000,
    audits: int = 1,
    seed: int = 0,
) -> tuple[float, float]:
    """TPR - FPR of the event {score > 0} on transcripts of counter auditing, and its standard error.

    The score, by default the log likelihood ratio by particles, sees the audits and nothing else, (B, T), or
    (B, T, audits) where there are several a round. The referee
    sees the noisy counts and weighs every game with its exact odds instead of the truth: the same mean, from about a
    hundred times fewer games at delta = 0.1. Unbiased, so never above the total variation but by chance, however good
    or bad the score is. For every Gaussian counter that passes `check_counter`.
    """
    each = -(-check_whole("games", games, least=4) // 2)
    sees = score or partial(log_likelihood_ratio, mechanism, not_filed, filed, seed=seed)
    at_once = max(1, noisy_counts.CELLS // np.size(filed))
    parts = []
    for world, stream in enumerate((filed, not_filed)):
        gains = []
        for start in range(0, each, at_once):
            child = np.random.SeedSequence([check_whole("seed", seed, least=0), world, start])
            noisy, drawn = simulate_noisy_counts(mechanism, stream, min(at_once, each - start), audits, seed=child)
            odds = noisy_counts.log_likelihood_ratio(mechanism, not_filed, filed, noisy, drawn)
            gains.append(np.where(sees(drawn) > 0, 1, -1) * np.tanh(odds / 2))
        parts.append(np.concatenate(gains))
    error = math.sqrt(sum(float(part.var(ddof=1)) / each for part in parts)) / 2
    return float(np.mean(parts)), error


def _map(
    mechanism: Mechanism[Any],
    not_filed: ArrayLike,
    filed: ArrayLike,
    audits: IntArray,
    *,
    particles: int,
    seed: int,
    whole: bool,
) -> FloatArray:
    """(B, 2): what the compiled loop makes of every transcript."""
    from deniable.attack import particle_kernels as kernels  # noqa: PLC0415  (Numba takes long to import)

    counter = _check(mechanism)
    one, every = check_transcripts(mechanism, filed, audits)
    other, _ = check_transcripts(mechanism, not_filed, audits)
    if every.shape[2] != 1:
        raise UnsuitableError(_NO_PARTICLES)
    drawn = every[..., 0]
    check_whole("particles", particles, least=1)
    check_whole("seed", seed, least=0)
    rounds = drawn.shape[1]
    if not drawn.size:
        return np.zeros((len(drawn), 2))
    mechanism.check_round(rounds - 1, mechanism.n_targets, 1)
    one, other = one[:rounds], other[:rounds]
    sigma, decoder = _decoder(counter, min(rounds, counter.horizon))
    theta, omega = _exponentials(decoder)
    encoder = _divide(decoder)
    middle = (one + other) / (2 * sigma)
    change = one - other
    sizes = np.where(change.any(axis=0), particles, -(-particles // RIVALS)).astype(np.int64)
    table = kernels.normal_table()
    distinct, where = np.unique(drawn, axis=0, return_inverse=True)
    eligible = _eligible(mechanism, distinct)

    def one_transcript(b: int) -> tuple[float, float]:
        shift = _shift(change, distinct[b], encoder) / sigma
        common = (middle, distinct[b], eligible[b], theta, omega, shift)
        rng = _generator(seed, distinct[b])
        if whole:
            return kernels.whole_clouds(*common, particles, rng, table)
        return kernels.separate_clouds(*common, sizes, rng, table), 0.0

    with ThreadPoolExecutor(engine.THREADS) as pool:
        found = np.array(list(pool.map(one_transcript, range(len(distinct)))))
    return found[where.ravel()]


def _check(mechanism: Mechanism[Any]) -> Counter[Any]:
    own = type(mechanism)
    plain = isinstance(mechanism, CounterAuditing) and all(
        getattr(own, name) is getattr(CounterAuditing, name) for name in ("start", "step", "tally", "draw", "forget")
    )
    if not plain:
        raise UnsuitableError(_NO_PARTICLES)
    return counter_of(mechanism)


def _decoder(counter: Counter[Any], rounds: int) -> tuple[float, FloatArray]:
    """Sigma, in reports, and the first column (T,) of a Toeplitz decoder whose first entry is 1."""
    check_counter(counter, rounds)
    later = tuple(sorted({0, 1, rounds // 2, rounds - 1} & set(range(rounds))))
    response = noise_response(counter, rounds, later)
    column = response[:, 0]
    for at, seen in zip(later, response.T, strict=True):
        if column[0] <= 0 or not np.allclose(seen[at:], column[: rounds - at], rtol=0, atol=1e-6 * column[0]):
            raise UnsuitableError(_NO_PARTICLES)
    return float(column[0]), column / column[0]


def _exponentials(decoder: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Theta and omega, (d,) each, with decoder[k] = sum_i omega_i theta_i**(k-1) for k >= 1, nearly."""
    rounds = len(decoder)
    if rounds == 1:
        return np.zeros(0), np.zeros(0)
    # As in the BLT counter (`deniable.counters.blt`): memories of all lengths, and one for ever.
    theta: FloatArray = np.append(
        1 / (1 + np.exp(np.linspace(-math.log(rounds) - 3, 3, min(BUFFERS, rounds - 1)))), 1.0
    )
    powers = theta ** np.arange(rounds - 1)[:, None]
    omega = np.linalg.lstsq(powers, decoder[1:], rcond=1e-14)[0]
    if np.abs(powers @ omega - decoder[1:]).max() > COARSEST:
        raise UnsuitableError(_NO_PARTICLES)
    return theta, np.asarray(omega, dtype=np.float64)


def _divide(decoder: FloatArray) -> FloatArray:
    """(T,): the first column of the encoder, with which the decoder's product is a column of ones."""
    encoder = np.ones(len(decoder))
    for t in range(1, len(decoder)):
        encoder[t] -= decoder[1 : t + 1] @ encoder[t - 1 :: -1][:t]
    return encoder


def _shift(change: IntArray, audits: IntArray, encoder: FloatArray) -> FloatArray:
    """(T, C): by how much the reports in which the streams differ move the whitened noise, in reports."""
    shift = np.zeros(change.shape)
    for c in np.flatnonzero(change.any(axis=0)):
        for start, end in runs_of(audits == c):
            if change[start:end, c].any():
                shift[start:end, c] = np.convolve(change[start:end, c], encoder[: end - start])[: end - start]
    return shift


def _eligible(mechanism: Mechanism[Any], audits: IntArray) -> BoolArray:
    """(B, T, C): who could have been audited."""
    shape = (*audits.shape, mechanism.n_targets)
    if mechanism.rules == NO_RULES:
        return np.broadcast_to(np.ones(shape[1:], dtype=np.bool_), shape)
    eligible = np.empty(shape, dtype=np.bool_)
    history = no_history(len(audits), mechanism.n_targets)
    for t in range(audits.shape[1]):
        eligible[:, t] = mechanism.rules.eligible(history, np.zeros_like(history.present), 1)
        history = history.after(one_hot(audits[:, t], mechanism.n_targets))
    eligible.flags.writeable = False  # as above: Numba would compile the loops again for another kind of array
    return eligible


def _generator(seed: int, audits: IntArray) -> np.random.Generator:
    digest = hashlib.blake2b(audits.tobytes(), digest_size=16).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])
