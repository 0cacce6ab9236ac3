"""Counter auditing written down naively from `alg:mechanism`, with dense matrices and floats, for comparison."""

import numpy as np
from scipy.stats import norm

from deniable.arrays import FloatArray, IntArray


def prefix_root(horizon: int) -> FloatArray:
    """B = C of `eq:def_toeplitz_matrices`."""
    f = [1.0]
    for k in range(1, horizon):
        f.append((1 - 1 / (2 * k)) * f[-1])
    return np.array([[f[i - j] if i >= j else 0.0 for j in range(horizon)] for i in range(horizon)])


def naive_sigma(delta: float, horizon: int) -> float:
    root = prefix_root(horizon)
    sensitivity = max(np.linalg.norm(root[:, j]) for j in range(horizon))
    return float(sensitivity / (2 * norm.ppf((1 + delta) / 2)))


def naive_transcripts(stream: IntArray, sigma: float, runs: int, seed: int) -> IntArray:
    """(runs, T): alg:mechanism, one run and one target at a time."""
    rng = np.random.default_rng(seed)
    rounds, n_targets = stream.shape
    b = c = prefix_root(rounds)
    transcripts = np.empty((runs, rounds), dtype=np.int64)
    for run in range(runs):
        noise = sigma * rng.standard_normal((n_targets, rounds))
        start = [0] * n_targets
        for t in range(rounds):
            noisy = np.empty(n_targets)
            for target in range(n_targets):
                x = stream[start[target] : t + 1, target]
                ell = len(x)
                noisy[target] = (b[:ell, :ell] @ (c[:ell, :ell] @ x + noise[target, :ell]))[-1]
            audit = int(noisy.argmax())
            transcripts[run, t] = audit
            noise[audit] = sigma * rng.standard_normal(rounds)
            start[audit] = t + 1
    return transcripts
