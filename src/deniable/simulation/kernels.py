"""Compiled loops for studies, where NumPy would pay for a call in every round."""

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.compiling import compiled
from deniable.counters.gaussian import OUTPUT_BITS

# Rounds whose outputs are prepared together.
BLOCK = 16
# What a counter shows is a multiple of one part in so many.
OUTPUT_STEPS = 2.0**OUTPUT_BITS


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


@compiled(nogil=True, fastmath={"contract"})
def blt_audits(  # noqa: PLR0917  (Numba calls by position)
    streams: IntArray,
    fresh: FloatArray,
    lots: FloatArray,
    theta: FloatArray,
    omega: FloatArray,
    active: IntArray,
    buffers: FloatArray,
) -> IntArray:
    """Counter auditing with a BLT decoder for some rounds: streams (B, T, C) in, audits (B, T) out.

    `fresh`, (T, B, C), is the noise of every round, in reports, and `lots`, of the same shape, settles ties.
    `active`, (B, C), and `buffers`, (B, d, C), are where the rounds before left off, and are changed in place.
    """
    runs, rounds, n_targets = streams.shape
    audits = np.empty((runs, rounds), dtype=np.int64)
    decoded = np.empty(n_targets)
    for b in range(runs):
        for t in range(rounds):
            decoded[:] = 0.0
            for i in range(len(theta)):
                weight, decay = omega[i], theta[i]
                for c in range(n_targets):
                    decoded[c] += weight * buffers[b, i, c]
                    buffers[b, i, c] = decay * buffers[b, i, c] + fresh[t, b, c]
            for c in range(n_targets):
                active[b, c] += streams[b, t, c]
                decoded[c] = np.rint((active[b, c] + (decoded[c] + fresh[t, b, c])) * OUTPUT_STEPS)
            audited = 0
            for c in range(1, n_targets):
                if decoded[c] > decoded[audited] or (
                    decoded[c] == decoded[audited] and lots[t, b, c] > lots[t, b, audited]
                ):
                    audited = c
            audits[b, t] = audited
            active[b, audited] = 0
            for i in range(len(theta)):
                buffers[b, i, audited] = 0.0
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
