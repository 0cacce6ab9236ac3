from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.counters.gaussian import ONE, in_reports, shown
from deniable.counters.perturbation import input_perturbation, output_perturbation

REPORTS = np.array([[3, 0], [1, 2], [0, 5]])


@pytest.mark.parametrize("horizon", [1, 10, 1000])
def test_both_have_the_same_largest_error(horizon: int) -> None:
    errors = input_perturbation(0.1, horizon).max_error, output_perturbation(0.1, horizon).max_error
    assert errors[0] == pytest.approx(errors[1], rel=1e-12)


def test_noise_of_input_perturbation_does_not_depend_on_the_horizon() -> None:
    assert input_perturbation(0.1, 3).variance == input_perturbation(0.1, 3000).variance


def test_input_perturbation_sums_noisy_reports() -> None:
    counter, noise = input_perturbation(0.1, 3), dn.ReplayNoise(bytes(32))
    again, state, total = dn.ReplayNoise(bytes(32)), counter.init(1, 2), np.zeros((1, 2), dtype=object)
    for row in REPORTS:
        noisy, state = counter.step(state, row[None], noise)
        total = total + row * ONE + again.gaussian(Fraction(12 * counter.variance + 1, 12), (1, 2))
        assert (state.released == total).all()
        assert np.array_equal(noisy, shown(in_reports(total)))


def test_output_perturbation_keeps_no_noise() -> None:
    counter, noise = output_perturbation(0.1, 3), dn.ReplayNoise(bytes(32))
    again, state = dn.ReplayNoise(bytes(32)), counter.init(1, 2)
    for t, row in enumerate(REPORTS):
        noisy, state = counter.step(state, row[None], noise)
        count = REPORTS[: t + 1].sum(axis=0)
        fresh = again.gaussian(Fraction(12 * counter.variance + 1, 12), (1, 2))
        assert np.array_equal(state.count[0], count)
        assert np.array_equal(noisy, shown(in_reports(count.astype(object) * ONE + fresh)))
