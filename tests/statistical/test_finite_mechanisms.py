"""Sampled transcripts against the exact law: fixed seeds, failure probability 1e-6 a test."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import deniable as dn
from deniable.arrays import IntArray
from deniable.attack.exact import Law
from deniable.mechanisms import Mechanism
from deniable.noise import Noise

FAILURE = 1e-6
STREAM = np.array([[1, 0, 0], [0, 2, 0], [1, 0, 3]])
MECHANISMS = [dn.Greedy(3), dn.UniformRandom(3), dn.RandomizedResponse(3, 0.6), dn.Race(3, 1.8)]


def sample(mechanism: Mechanism[Any], noise: Noise, runs: int) -> IntArray:
    state, rounds = mechanism.init(runs), []
    for reports in STREAM:
        audits, state = mechanism.step(state, np.broadcast_to(reports, (runs, 3)), noise)
        rounds.append(audits[:, 0])
    return np.stack(rounds, axis=1)


def follows(transcripts: IntArray, law: Law) -> bool:
    seen = dict.fromkeys(law, 0)
    for row in transcripts.tolist():
        if tuple(row) not in seen:
            return False
        seen[tuple(row)] += 1
    expected = [float(law[transcript]) * len(transcripts) for transcript in law]
    return len(law) == 1 or bool(chisquare(list(seen.values()), expected).pvalue >= FAILURE)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("noise", [dn.ReplayNoise(bytes([7]) * 32), dn.SimulationNoise(7)], ids=["exact", "simulated"])
def test_transcripts_follow_the_exact_law(mechanism: Mechanism[Any], noise: Noise) -> None:
    assert follows(sample(mechanism, noise, 20_000), dn.transcript_distribution(mechanism, STREAM))


@pytest.mark.parametrize(
    ("mechanism", "planted"),
    [
        (dn.UniformRandom(3), dn.RandomizedResponse(3, 0.9)),
        (dn.RandomizedResponse(3, 0.6), dn.RandomizedResponse(3, 0.65)),
        (dn.Race(3, 1.8), dn.Race(3, 1.9)),
        (dn.Greedy(3), dn.Race(3, 50.0)),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_check_catches_a_wrong_parameter(mechanism: Mechanism[Any], planted: Mechanism[Any]) -> None:
    transcripts = sample(planted, dn.SimulationNoise(7), 20_000)
    assert not follows(transcripts, dn.transcript_distribution(mechanism, STREAM))
