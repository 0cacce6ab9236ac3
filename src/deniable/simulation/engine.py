"""Many runs of one mechanism at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import FloatArray, IntArray
from deniable.errors import DeniableError
from deniable.mechanisms import Mechanism
from deniable.simulation.noise import SimulationNoise
from deniable.streams import check_counts, deficit, normalized_deficit, resolved

# Bounds memory; part of the seeding, so changing it changes every simulated number.
RUNS_AT_ONCE = 64


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
    seeds = np.random.SeedSequence(seed).spawn(len(starts))
    parts = [
        _run(mechanism, counts[start : start + RUNS_AT_ONCE], SimulationNoise(child), audits)
        for start, child in zip(starts, seeds, strict=True)
    ]
    return Transcripts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _run(
    mechanism: Mechanism[Any], streams: IntArray, noise: SimulationNoise, per_round: int
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    runs, rounds, _ = streams.shape
    audits = np.empty((runs, rounds, per_round), dtype=np.int64)
    lost, gained = (np.empty((runs, rounds), dtype=np.int64) for _ in range(2))
    lost_share = np.empty((runs, rounds))
    state = mechanism.init(runs)
    active = np.zeros_like(streams[:, 0])
    for t in range(rounds):
        active = active + streams[:, t]
        audited, state = mechanism.step(state, streams[:, t], noise, per_round)
        audits[:, t] = audited
        lost[:, t] = deficit(active, audited)
        lost_share[:, t] = normalized_deficit(active, audited)
        gained[:, t] = resolved(active, audited)
        np.put_along_axis(active, audited, 0, axis=1)
    return audits if per_round > 1 else audits[..., 0], lost, lost_share, gained
