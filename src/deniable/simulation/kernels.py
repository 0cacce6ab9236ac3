"""Compiled loops for studies, where NumPy would pay for a call in every round."""

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.compiling import compiled

# Rounds whose outputs are prepared together.
BLOCK = 16


# nogil, so that the caller's threads share the runs: parallel=True would take five times as long to compile.
@compiled(nogil=True, fastmath={"reassoc", "contract"})
def toeplitz_audits(streams: IntArray, fresh: FloatArray, decoder: FloatArray) -> IntArray:
    """Counter auditing with a Toeplitz decoder, by `alg:mechanism`: streams (B, T, C) in, audits (B, T) out.

    `fresh`, (B, T, C), is the noise of every round, in reports, and `decoder`, (T,), is the first column of B: the
    noisy count of a run is its active count plus (B z) at its newest round (`app:lem:fresh`). `decoded` holds what the
    noise known so far adds to the outputs of the rounds of this block; the noise of earlier blocks is put in when a
    block begins, that of a round when it comes, and a restart takes out what is left.
    """
    runs, rounds, n_targets = streams.shape
    audits = np.empty((runs, rounds), dtype=np.int64)
    ahead = np.zeros(rounds + BLOCK)  # zeros after the decoder, so that the last block needs no care
    ahead[:rounds] = decoder
    for b in range(runs):
        start = np.zeros(n_targets, dtype=np.int64)
        active = np.zeros(n_targets, dtype=np.int64)
        decoded = np.zeros((n_targets, BLOCK))
        for t in range(rounds):
            at = t % BLOCK
            if at == 0:
                decoded[:] = 0.0
                for c in range(n_targets):
                    for s in range(start[c], t):
                        for j in range(BLOCK):  # plain loops: Numba would make a copy of every slice
                            decoded[c, j] += fresh[b, s, c] * ahead[t - s + j]
            best, audited = -np.inf, 0
            for c in range(n_targets):
                active[c] += streams[b, t, c]
                for j in range(at, BLOCK):
                    decoded[c, j] += fresh[b, t, c] * ahead[j - at]
                noisy = active[c] + decoded[c, at]
                if noisy > best:
                    best, audited = noisy, c
            audits[b, t] = audited
            active[audited] = 0
            decoded[audited] = 0.0
            start[audited] = t + 1
    return audits


@compiled(nogil=True)
def best_and_audited(streams: IntArray, audits: IntArray) -> tuple[IntArray, IntArray]:
    """The k largest active counts, and the k audited ones, summed: (B, T, C) and audits (B, T, k) -> (B, T) each."""
    runs, rounds, k = audits.shape
    best = np.zeros((runs, rounds), dtype=np.int64)
    audited = np.zeros((runs, rounds), dtype=np.int64)
    for b in range(runs):
        active = np.zeros(streams.shape[2], dtype=np.int64)
        for t in range(rounds):
            active += streams[b, t]
            best[b, t] = active.max() if k == 1 else np.sort(active)[-k:].sum()
            for target in audits[b, t]:
                audited[b, t] += active[target]
            for target in audits[b, t]:
                active[target] = 0
    return best, audited
