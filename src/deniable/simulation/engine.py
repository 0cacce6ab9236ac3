"""Many runs of one mechanism at once."""

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import FloatArray, IntArray
from deniable.calibration import toeplitz_coefficients
from deniable.counters.blt import BltCounter, BltState
from deniable.counters.gaussian import in_reports
from deniable.counters.toeplitz import ToeplitzCounter, ToeplitzState
from deniable.errors import DeniableError, check_whole
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.rules import NO_RULES
from deniable.simulation.noise import SimulationNoise
from deniable.streams import check_counts

# Bounds memory; part of the seeding, so changing it changes every simulated number.
RUNS_AT_ONCE = 64
# Bytes of noise that a compiled loop is given at once; changes no number.
MEMORY = 2**28
# Cells of noise that the BLT counter's loop is given at once, few enough for a processor's cache; changes no number.
NOISE_CELLS = 2**14
# Threads that run a compiled loop; worker processes, which share the machine, set it to 1. Changes no number.
THREADS = os.cpu_count() or 1


@dataclass(frozen=True)
class Transcripts:
    """What B simulated runs did, each field (B, T). Metrics are taken before the reset of their round."""

    audits: IntArray
    """(B, T), or (B, T, audits a round) where there are several."""
    deficit: IntArray
    normalized_deficit: FloatArray
    resolved: IntArray


def simulate(mechanism: Mechanism[Any], streams: ArrayLike, seed: int = 0, audits: int = 1) -> Transcripts:
    """Run the mechanism on every stream of `streams`, (B, T, C) or (T, C), with simulation noise.

    >>> import deniable as dn
    >>> dn.simulate(dn.Greedy(2), [[3, 0], [0, 1], [0, 1]]).audits
    array([[0, 1, 1]])
    """
    counts = check_counts(streams, mechanism.n_targets)
    if counts.ndim == 2:
        counts = counts[None]
    if counts.ndim != 3 or 0 in counts.shape:
        raise DeniableError(
            f"streams must have shape (runs, rounds, targets) or (rounds, targets) and not be empty, "
            f"got shape {np.shape(streams)}"
        )
    horizon = mechanism.guarantee().horizon
    if horizon is not None and counts.shape[1] > horizon:
        raise DeniableError(
            f"the guarantee covers {horizon} rounds, the stream has {counts.shape[1]}; calibrate for more"
        )
    starts = range(0, len(counts), RUNS_AT_ONCE)
    seeds = np.random.SeedSequence(check_whole("seed", seed, least=0)).spawn(len(starts))
    parts = []
    for start, child in zip(starts, seeds, strict=True):
        part = counts[start : start + RUNS_AT_ONCE]
        parts.append(_measure(part, _draw(mechanism, part, SimulationNoise(child), audits)))
    return Transcripts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _draw(mechanism: Mechanism[Any], streams: IntArray, noise: SimulationNoise, audits: int) -> IntArray:
    """(B, T, audits): the transcripts, round by round, or by a compiled loop with the same law."""
    if audits == 1 and is_plain_toeplitz(mechanism):
        return _draw_toeplitz(mechanism.counter, streams, noise)[..., None]
    if audits == 1 and is_plain_blt(mechanism):
        return _draw_blt(mechanism.counter, streams, noise)[..., None]
    runs, rounds, _ = streams.shape
    drawn = np.empty((runs, rounds, audits), dtype=np.int64)
    state = mechanism.init(runs)
    for t in range(rounds):
        drawn[:, t], state = mechanism.step(state, streams[:, t], noise, audits)
    return drawn


def is_plain_toeplitz(mechanism: Mechanism[Any]) -> TypeGuard[CounterAuditing[ToeplitzState]]:
    return _is_plain(mechanism, ToeplitzCounter)


def is_plain_blt(mechanism: Mechanism[Any]) -> TypeGuard[CounterAuditing[BltState]]:
    return _is_plain(mechanism, BltCounter)


def _is_plain(mechanism: Mechanism[Any], counter: type) -> bool:
    # Not a subclass of either, which may draw otherwise.
    plain = type(mechanism) is CounterAuditing and type(mechanism.counter) is counter
    return plain and mechanism.rules == NO_RULES


def _draw_toeplitz(counter: Any, streams: IntArray, noise: SimulationNoise) -> IntArray:
    from deniable.simulation.kernels import toeplitz_audits  # noqa: PLC0415  (Numba takes long to import)

    runs, rounds, n_targets = streams.shape
    at_once = max(1, min(8, MEMORY // (8 * rounds * n_targets)))
    decoder = toeplitz_coefficients(rounds)
    drawn: list[IntArray] = []
    # Threads run the compiled loop while this one draws the noise of the next runs.
    with ThreadPoolExecutor(THREADS) as pool:
        under_way: deque[Future[IntArray]] = deque()
        for start in range(0, runs, at_once):
            part = streams[start : start + at_once]
            fresh = in_reports(counter.fresh(noise, (len(part), rounds, n_targets)))
            under_way.append(pool.submit(toeplitz_audits, part, fresh, decoder))
            if len(under_way) > THREADS:
                drawn.append(under_way.popleft().result())
        drawn.extend(future.result() for future in under_way)
    return np.concatenate(drawn)


def _draw_blt(counter: Any, streams: IntArray, noise: SimulationNoise) -> IntArray:
    """The same draws from the noise as in `step`, and so the same transcripts up to the rounding of sums."""
    from deniable.simulation.kernels import blt_audits  # noqa: PLC0415  (Numba takes long to import)

    runs, rounds, n_targets = streams.shape
    theta, omega = np.array(counter.theta), np.array(counter.omega)
    active = np.zeros((runs, n_targets), dtype=np.int64)
    buffers = np.zeros((runs, len(theta), n_targets))
    at_once = max(1, NOISE_CELLS // (runs * n_targets))
    fresh, lots = np.empty((2, min(at_once, rounds), runs, n_targets))
    drawn = []
    for start in range(0, rounds, at_once):
        part = streams[:, start : start + at_once]
        for t in range(part.shape[1]):
            fresh[t] = in_reports(counter.fresh(noise, (runs, n_targets)))
            lots[t] = noise.lots((runs, n_targets))
        drawn.append(blt_audits(part, fresh, lots, theta, omega, active, buffers))
    return np.concatenate(drawn, axis=1)


def _measure(streams: IntArray, audits: IntArray) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """The fields of `Transcripts`; the definitions are in `deniable.streams`."""
    from deniable.simulation.kernels import best_and_audited  # noqa: PLC0415  (Numba takes long to import)

    best, audited = best_and_audited(streams, audits)
    lost = best - audited
    return audits if audits.shape[2] > 1 else audits[..., 0], lost, lost / (best + 1), audited
