"""What a longest gap does to the wait in a programme without other reports.

docs/explanation/promptness.md proves the two facts that this rests on. In the long run the ages of the targets, the
rounds since their last audits, are distributed as if there were no longest gap, given that all are below it. And while
a target waits, the others fall due as the chain below says, whose state is two numbers.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from deniable.arrays import FloatArray, IntArray

NEGLIGIBLE = 1e-4


def is_out_of_reach(n_targets: int, audits: int, max_gap: int, cooldown: int) -> bool:
    """Whether hardly ever a target would wait that long without the rule: NEGLIGIBLE of them, on average."""
    chance = audits / (n_targets - audits * cooldown)
    return chance >= 1 or n_targets * (1 - chance) ** (max_gap - 1 - cooldown) <= NEGLIGIBLE


def chain_size(n_targets: int, audits: int, max_gap: int) -> int:
    """What `exact_rounds` has to multiply and add for one number of reports, about."""
    steps = (audits + 1) * (audits + 2) * (2 * audits + 3) // 6
    return steps * max_gap * n_targets**2


def estimate_size(n_targets: int, audits: int, max_gap: int) -> int:
    """What `estimated_rounds` has to add, about."""
    return (audits + 1) * max_gap * n_targets


def exact_rounds(
    n_targets: int, audits: int, max_gap: int, cooldown: int, missed: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The expected rounds until the audit of a target that is not resting, and of one whose rest has just ended.

    `missed` is (k + 1, N), by `missed_with_claims`, for N targets of different weight; so are the results, (N,).
    """
    rounds, starts = np.zeros((1, 1)), 2 if cooldown else 1
    for elapsed, still in enumerate(still_waiting(n_targets, audits, max_gap, cooldown, missed, starts=starts)):
        rounds = rounds + still
        if still.max() * (max_gap - elapsed) < NEGLIGIBLE / n_targets:
            break
    return rounds[0], rounds[-1]


def still_waiting(
    n_targets: int, audits: int, max_gap: int, cooldown: int, missed: FloatArray, *, starts: int
) -> Iterator[FloatArray]:
    """P[no audit of the target yet], (starts, N), before the first round in which it may be drawn and after each: of a
    target that is not resting, and with two `starts` also of one whose rest has just ended. Without a rest, the second
    was audited in the round before.

    The state is s, the targets whose age at the beginning was too small to have fallen due yet, the waiting one among
    them, and u, how many of the others among these were not audited since. In the round in which those of age b fall
    due there are v of them; d of the v were not audited since and have a claim; e more of the u are drawn freely.
    """
    C, k, g = n_targets, audits, cooldown
    resting, others = k * g, C - 1 - k * g
    ages = list(_log_seen(C, k, max_gap, g))
    s, u = np.arange(C + 1)[:, None], np.arange(C + 1)
    new = [_log_new(C, k, resting, u, v) for v in range(k + 1)]
    claims = [[_hypergeometric(u, s - resting - 1 - u, v, d) for d in range(v + 1)] for v in range(k + 1)]
    drawn = [[_hypergeometric(u - d, others - u, k - d, e) for e in range(k - d + 1)] for d in range(k + 1)]

    states = np.zeros((starts, missed.shape[1], C + 1, C + 1))
    states[:, :, C, others] = 1.0
    yield states.sum(axis=(2, 3))
    for b in range(max_gap - 1, g, -1):
        after = np.zeros_like(states)
        for v in range(k + 1):
            fall_due = _fall_due(ages[b], ages[b - 1], new[v], v)
            # The waiting target is one of the s that were not resting, or of age `cooldown`, the youngest of them.
            not_itself = np.stack([1 - np.minimum(1, v / np.maximum(1, s[:, 0] - resting)), np.ones(C + 1)])[:starts]
            for d in range(v + 1):
                here = states * (fall_due * not_itself)[:, None, :, None] * claims[v][d] * missed[d][:, None, None]
                for e, chance in enumerate(drawn[d]):
                    after[:, :, : C + 1 - v, : C + 1 - d - e] += (here * chance)[:, :, v:, d + e :]
        states = after
        yield states.sum(axis=(2, 3))


def estimated_rounds(n_targets: int, audits: int, max_gap: int, cooldown: int, missed: FloatArray) -> FloatArray:
    """The same, for any target at any time, as if claims in different rounds were independent: for many targets."""
    C, k, g = n_targets, audits, cooldown
    claims = law_of_claims(C, k, max_gap, g)
    share = float(claims @ np.arange(k + 1)) / k
    age = np.arange(max_gap)
    of_age = (1 - k * (1 - share) / (C - k * g)) ** np.maximum(0, age - g)
    resting = np.maximum(0, g - age)
    again = claims @ missed
    most = (max_gap - age - resting)[:, None]
    waits = np.where(again < 1, (1 - again**most) / np.where(again < 1, 1 - again, 1), most)
    return np.asarray(of_age / of_age.sum() @ (resting[:, None] + waits))


@lru_cache(maxsize=64)
def law_of_claims(C: int, k: int, max_gap: int, g: int) -> FloatArray:
    """(k + 1,): P[0, 1, ..., k targets fall due in a round], in the long run."""
    before = last = np.empty(0)
    for row in _log_seen(C, k, max_gap, g):
        before, last = last, row
    v = np.arange(k + 1)
    if not np.isfinite(last[C]):  # so few audits cannot keep the rule
        return np.zeros(k + 1)
    return np.asarray(np.exp(before[C - v] + _log_new(C, k, k * g, C - v, v) - last[C]))


def _log_seen(C: int, k: int, max_gap: int, g: int) -> Iterator[FloatArray]:
    """For the ages b = 0, 1, ..., max_gap - 1: log P[s targets are of age b or less], (C + 1,), without a longest gap;
    -inf also for an s that is too small to become C by the last age.

    Going back in time, every round drew k of the targets that were not audited in the g rounds after it; let r be the
    number of those that were. If v of the k were seen in no round after it, s becomes t = s + v, with probability

        binomial(C - s, v) binomial(s - r, k - v) / binomial(C - r, k)
            = binomial(k, v) * (C - s)! (s - r)! / ((C - t)! (t - r - k)!) * (C - r - k)! / (C - r)!

    Besides the first factor, each depends on s alone or on t alone. So a round is a convolution with the binomial
    coefficients, whose logarithms are concave. The other side's are, too: the first is a single number, convolutions
    keep it, and from one round to the next the factorials put in (t - r)! / (t - r - k)!, a product of linear
    functions, or 1 while r grows by k.
    """
    logs, chosen = _log_factorials(C), _log_choose(k, np.arange(k + 1))
    reached = min(C, k * max_gap)
    first, seen = k, np.zeros(1)  # the probabilities from the first possible s on
    yield _row(C, first, seen)
    for b in range(1, max_gap):
        r = k * min(b, g)
        s = first + np.arange(len(seen))
        longer = log_convolution(seen + logs[C - s] + logs[s - r], chosen)
        t = first + np.arange(len(longer))
        possible = (t >= max(r + k, reached - k * (max_gap - 1 - b))) & (t <= C)
        t = t[possible]
        first, seen = int(t[0]), longer[possible] - logs[C - t] - logs[t - r - k] + logs[C - r - k] - logs[C - r]
        yield _row(C, first, seen)


def _row(C: int, first: int, seen: FloatArray) -> FloatArray:
    row = np.full(C + 1, -np.inf)
    row[first : first + len(seen)] = seen
    return row


def log_convolution(left: FloatArray, right: FloatArray) -> FloatArray:
    """The logarithms of the sums of exp(left[i] + right[j]) over i + j = 0, 1, ..., for two concave sequences.

    Summands below exp(FORGOTTEN) times the largest are left out, which no digit of a float shows. The others of one sum
    are a range of j, because the summands' logarithms are concave in j. From one sum to the next the range's ends never
    go back: i is one more for the same j, so from j to j + 1 the logarithms rise more or fall less, left being concave.
    A block of sums needs no more than what lies between the first one's lower end and the last one's upper end.
    """
    sums = np.empty(len(left) + len(right) - 1)
    padded = np.concatenate([np.full(len(right), -np.inf), left, np.full(len(right), -np.inf)])
    block = max(256, 2**16 // len(right))
    for start in range(0, len(sums), block):
        stop = min(start + block, len(sums))
        low, high = _range(left, right, start)[0], _range(left, right, stop - 1)[-1]
        shift = len(right) + start - high
        needed = padded[shift : shift + stop - start + high - low]
        summands = sliding_window_view(needed, stop - start)[::-1] + right[low : high + 1, None]
        largest = summands.max(axis=0)
        summands -= largest
        sums[start:stop] = largest + np.log(np.exp(summands, out=summands).sum(axis=0))
    return sums


FORGOTTEN = math.log(1e-32)
"""Even a million such summands come to less than what a float leaves out."""


def _range(left: FloatArray, right: FloatArray, total: int) -> IntArray:
    """The j whose summands count in one sum."""
    j = np.arange(max(0, total - len(left) + 1), min(total, len(right) - 1) + 1)
    summands = left[total - j] + right[j]
    return np.asarray(j[summands >= summands.max() + FORGOTTEN])


def _log_new(C: int, k: int, resting: int, s: IntArray, v: int | IntArray) -> FloatArray:
    """The logarithm of P[v of a round's k audits are of targets that none of the s seen before is]."""
    return _log_choose(C - s, v) + _log_choose(s - resting, np.subtract(k, v)) - _log_choose(C - resting, k)


def _fall_due(log_now: FloatArray, log_younger: FloatArray, log_new: FloatArray, v: int) -> FloatArray:
    """(C + 1,): P[v of the s targets of age b or less are of age b], b > g, from the laws of s for b and for b - 1."""
    chance = np.zeros(len(log_now))
    possible = np.isfinite(log_now[v:])
    joint = (log_younger + log_new)[: len(log_now) - v]
    chance[v:][possible] = np.exp(joint[possible] - log_now[v:][possible])
    return chance


def _hypergeometric(marked: "np.typing.ArrayLike", others: "np.typing.ArrayLike", draws: int, hits: int) -> FloatArray:
    """P[`hits` of the draws without replacement are marked]; 0 where that cannot be."""
    marked, others = np.asarray(marked), np.asarray(others)
    possible = (marked >= 0) & (others >= 0) & (marked + others >= draws)
    log = _log_choose(marked, hits) + _log_choose(others, draws - hits)
    log = np.where(possible, log - _log_choose(np.where(possible, marked + others, draws), draws), -np.inf)
    return np.exp(log)


def _log_choose(n: "np.typing.ArrayLike", r: "np.typing.ArrayLike") -> FloatArray:
    """The logarithm of the number of ways to choose r of n; -inf where there are none."""
    n, chosen = np.asarray(n), np.maximum(r, 0)
    possible = (n >= chosen) & (np.asarray(r) >= 0)
    of = np.where(possible, n, chosen)
    logs = _log_factorials(int(of.max(initial=0)))
    return np.where(possible, logs[of] - logs[chosen] - logs[of - chosen], -np.inf)


@lru_cache(maxsize=8)
def _log_factorials(most: int) -> FloatArray:
    """(most + 1,): log 0!, log 1!, ..."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
