"""The pairs of streams of which docs/explanation/adversary.md says what the transcript of TCA leaks."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr
from tests.attack.integration import transcript_probability

import deniable as dn
from deniable.arrays import FloatArray, IntArray
from deniable.attack import BlackBox, Pair, report_at
from deniable.attack.bounds import best_threshold
from deniable.counters.toeplitz import ToeplitzState

Streams = tuple[IntArray, IntArray]


def report(stream: Any, at: int = 0, target: int = 0) -> Streams:
    """Not filed, and filed."""
    pair = report_at("", np.asarray(stream), at, target)
    return pair.not_filed, pair.filed


def stream(rounds: int, n_targets: int, rival: int = 0) -> IntArray:
    counts = np.zeros((rounds, n_targets), dtype=np.int64)
    counts[:, 1] = rival
    return counts


def ahead(n_targets: int, by: int) -> IntArray:
    counts = stream(1, n_targets)
    counts[0, 0] = by
    return counts


QUIET = report(stream(8, 2))
RIVAL = report(np.array([[0, n] for n in (7, 8, 10, 10, 13, 10, 14, 12)]))
DECLARED: list[tuple[str, Streams, float]] = [
    ("2 targets, 8 rounds, quiet, report in round 1", QUIET, 0.54),
    ("2 targets, 8 rounds, a rival with 7 to 14 reports a round, report in round 1", RIVAL, 0.70),
    ("5 targets, 20 rounds, quiet, report in round 1", report(stream(20, 5)), 0.63),
    ("5 targets, 20 rounds, quiet, report in round 10", report(stream(20, 5), at=9), 0.60),
    ("50 targets, 100 rounds, quiet, report in round 1", report(stream(100, 50)), 0.63),
    ("50 targets, 100 rounds, a rival with 1 report a round, report in round 1", report(stream(100, 50, 1)), 0.63),
    ("50 targets, 100 rounds, a rival with 10 reports a round, report in round 1", report(stream(100, 50, 10)), 0.62),
    ("1,000 targets, 1 round, the target 12 reports ahead", report(ahead(1000, 12)), 0.94),
]
"""Pairs, and the share of delta = 0.1 that the transcript of TCA leaks of them."""


def mechanism_for(streams: Streams) -> dn.CounterAuditing[ToeplitzState]:
    return dn.CounterAuditing.calibrate(streams[0].shape[1], 0.1, len(streams[0]))


def games_of(streams: Streams) -> int:
    return 2000 if streams[0].size > 1000 else 8000


def exact_leak(mechanism: dn.CounterAuditing[Any], streams: Streams) -> float | None:
    """Total variation by integration, where there are few transcripts or one round; else None."""
    rounds, n_targets = streams[0].shape
    if rounds == 1:
        not_filed, filed = (chance_of_first(n_targets, int(s[0, 0])) for s in streams)
        return filed - not_filed
    if n_targets**rounds > 256:
        return None
    audits = transcripts(n_targets, rounds)
    law = np.array([[transcript_probability(mechanism, s, a) for a in audits] for s in streams])
    return float(np.abs(law[1] - law[0]).sum() / 2)


def chance_of_first(n_targets: int, lead: int) -> float:
    """Of the first target in a single round at delta = 0.1, where no other has reports."""
    sigma = dn.counters.toeplitz(0.1, 1).sigma
    x = np.linspace(-10, 12, 4001)
    density = np.exp(-((x - lead / sigma) ** 2) / 2) / np.sqrt(2 * np.pi)
    return float((density * ndtr(x) ** (n_targets - 1)).sum() * (x[1] - x[0]))


def transcripts(n_targets: int, rounds: int) -> IntArray:
    """All of them."""
    return np.array(list(itertools.product(range(n_targets), repeat=rounds)))


def learnt(mechanism: dn.CounterAuditing[ToeplitzState], streams: Streams) -> Callable[[IntArray], FloatArray]:
    """The black box's score, less the threshold that was best where it learnt."""
    pair = Pair("", *streams)
    games = [
        dn.simulate(mechanism, np.broadcast_to(s, (4000, *s.shape)), seed=90 + i).audits
        for i, s in enumerate((pair.filed, pair.not_filed))
    ]
    score = BlackBox().train(mechanism, pair, games[0][:3000], games[1][:3000], audits=1, seed=0).of
    threshold = best_threshold(score(games[0][3000:]), score(games[1][3000:]))
    return lambda audits: score(audits) - threshold
