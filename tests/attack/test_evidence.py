"""What the scores prove: events from other games than those that chose them, right standard errors, honest ratios."""

from collections.abc import Callable

import numpy as np
from scipy.stats import norm

import deniable as dn
from deniable.arrays import FloatArray, IntArray
from deniable.attack import LeakEstimate, Score, evidence
from deniable.attack.bounds import measure
from deniable.attack.particles import leak


def test_events_are_chosen_on_one_half_and_measured_on_the_other() -> None:
    """The halves disagree: what separates the first says nothing about the second."""
    filed, not_filed = (np.repeat([first, second], 50) for first, second in ((1.0, 3.0), (0.0, 2.0)))
    score = Score(lambda _: np.zeros(0))
    threshold, event, telling = evidence.events(
        score, (filed, not_filed), 50, 0.1, dn.Race.calibrate(2, 0.1).guarantee()
    )
    assert (threshold, event.tpr, event.fpr) == (0, 1, 1)
    assert (telling.tpr, telling.fpr) == (1, 1)


SEEDS = 200


def variance_of_z(estimate: Callable[[int], LeakEstimate], truth: float) -> float:
    """Of (estimate - truth) / standard error over seeds: 1 where the error is right, 4 where it is half of that."""
    found = [estimate(seed) for seed in range(SEEDS)]
    return float(np.var([(one.value - truth) / one.standard_error for one in found]))


def normal_scores(seed: int, mu: float, games: int) -> tuple[FloatArray, FloatArray]:
    """Of normals mu apart: the log likelihood ratio is itself normal, and the total variation 2 Phi(mu / 2) - 1."""
    rng = np.random.default_rng(seed)
    filed, not_filed = (rng.normal(sign * mu**2 / 2, mu, games) for sign in (1, -1))
    return filed, not_filed


def by_ratios(seed: int) -> LeakEstimate:
    found = evidence.leak_by_score(Score(lambda _: np.zeros(0), ratio=True), normal_scores(seed, 1.0, 200))
    assert found is not None
    return found


def by_counting(seed: int) -> LeakEstimate:
    return evidence.leak_by_counting(measure(*normal_scores(seed, 1.0, 200), 0.0, 0.1), 200)


def own_audited(audits: IntArray) -> FloatArray:
    return np.where(audits[:, 0] == 0, 1.0, -1.0)


def test_standard_errors_are_right() -> None:
    """The variance of 200 z-scores is in [0.6, 1.6] but for once in a million; half or twice the error is far outside.

    By ratios, by counting, and by the referee, in one round of two targets, where the leak is known.
    """
    truth = 2 * norm.cdf(0.5) - 1
    assert 0.6 < variance_of_z(by_ratios, truth) < 1.6
    assert 0.6 < variance_of_z(by_counting, truth) < 1.6
    tca = dn.CounterAuditing.calibrate(2, 0.5, 1)
    referee = variance_of_z(
        lambda seed: LeakEstimate(*leak(tca, [[0, 0]], [[1, 0]], score=own_audited, games=80, seed=seed)),
        norm.cdf(1 / (np.sqrt(2) * tca.counter.sigma)) - 0.5,  # type: ignore[attr-defined]
    )
    assert 0.6 < referee < 1.6


def test_scores_that_are_no_ratios_are_told_from_them() -> None:
    """Twice the logarithm says twice the leak; that the means of the tangents add up to 0 still holds by symmetry for
    quiet streams, and fails elsewhere. A shifted one fails everywhere.
    """
    honest = normal_scores(0, 0.5, 5000)
    assert evidence.is_ratio(honest)
    assert not evidence.is_ratio((honest[0] + 0.2, honest[1] + 0.2))
    atoms = np.full(20, np.inf), np.full(20, -5.0)  # what was never seen may make up for the difference
    assert evidence.is_ratio(atoms)
