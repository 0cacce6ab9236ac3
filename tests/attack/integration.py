"""Exact transcript probabilities of counter auditing, for few rounds and targets: the oracle of the particles."""

from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from deniable.arrays import FloatArray, IntArray
from deniable.attack.noisy_counts import noise_response
from deniable.mechanisms import CounterAuditing


def transcript_probability(
    mechanism: CounterAuditing[Any], stream: IntArray, audits: IntArray, precision: float = 1e-6
) -> float:
    """P[transcript] on the stream (T, C): that of an orthant of T (C - 1) jointly Gaussian differences.

    In every round the audited target's noisy count is above every other's; all of them are linear in the noise. For a
    counter that draws one number a round.
    """
    rounds, n_targets = stream.shape
    response = noise_response(mechanism.counter, rounds)
    start = np.zeros(n_targets, dtype=np.int64)
    differences: list[FloatArray] = []
    leads: list[float] = []
    for t, audited in enumerate(audits):
        counts = np.array([stream[start[c] : t + 1, c].sum() for c in range(n_targets)])
        outputs = np.zeros((n_targets, n_targets, rounds))
        for c in range(n_targets):
            age = t - start[c]
            outputs[c, c, start[c] : t + 1] = response[age, : age + 1]
        for c in range(n_targets):
            if c != audited:
                differences.append((outputs[c] - outputs[audited]).ravel())
                leads.append(float(counts[audited] - counts[c]))
        start[audited] = t + 1
    gains = np.array(differences)
    found = multivariate_normal.cdf(
        np.array(leads), cov=gains @ gains.T, abseps=precision, releps=precision, maxpts=1_000_000, rng=0
    )
    return float(found)
