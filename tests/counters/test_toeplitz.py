import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

import deniable as dn
from deniable.counters.gaussian import GRID_BITS, LEAST_VARIANCE
from deniable.counters.toeplitz import (
    ToeplitzCounter,
    ToeplitzState,
    decoder,
    encoder,
    squared_sensitivity,
    toeplitz,
)
from deniable.curves import Gaussian
from deniable.testing import ZeroNoise


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("horizon", [1, 2, 100, 5000])
def test_calibration_meets_delta_from_below(delta: float, horizon: int) -> None:
    reached = toeplitz(delta, horizon).guarantee().delta
    assert reached <= delta
    assert reached == pytest.approx(delta, abs=1e-9)


def test_a_smaller_variance_would_break_delta() -> None:
    """The bound is tight: one part in a billion less noise, and the guarantee says so."""
    counter = toeplitz(0.1, 100)
    assert ToeplitzCounter(100, counter.variance - counter.variance // 10**9).guarantee().delta > 0.1


def test_encoder_is_the_exact_floor() -> None:
    exact = [Fraction(math.comb(2 * k, k), 4**k) for k in range(60)]
    assert encoder(60).tolist() == [math.floor(f * 2**GRID_BITS) for f in exact]


def test_squared_sensitivity_is_the_largest_column() -> None:
    f = encoder(20)
    matrix = np.array([[f[i - j] if i >= j else 0 for j in range(20)] for i in range(20)], dtype=object)
    assert squared_sensitivity(20) == max((matrix**2).sum(axis=0))


@pytest.mark.parametrize("horizon", [1, 10, 3000])
def test_decoder_inverts_the_encoder(horizon: int) -> None:
    """B F = A up to 1e-12 on every entry of the first column."""
    product = np.convolve(decoder(horizon), encoder(horizon).astype(np.float64))[:horizon]
    assert np.abs(product - 1).max() < 1e-12


def test_counts_are_exact_without_noise_over_a_long_busy_run() -> None:
    counter = toeplitz(0.1, 400)
    reports = np.random.default_rng(0).poisson(500, (400, 1, 2))
    reports[7] = 10**9
    state, total = counter.init(1, 2), np.zeros((1, 2), dtype=np.int64)
    for row in reports:
        noisy, state = counter.step(state, row, ZeroNoise())
        total = total + row
        assert np.allclose(noisy, total, rtol=1e-14, atol=0)


def test_private_path_is_python_integers() -> None:
    """With exact noise nothing before the decoder is a float or a fixed-width integer."""
    counter = toeplitz(0.1, 5)
    state = counter.init(1, 2)
    for _ in range(3):
        _, state = counter.step(state, np.array([[10**9, 0]]), dn.ReplayNoise(bytes(32)))
    for history in (state.reports, state.encoded):
        assert {type(value) for value in history.ravel()} == {int}


def test_release_is_encoded_reports_plus_noise() -> None:
    """The release is y = F x + z in exact integers: long runs, counts beyond floats, and a restart."""
    rounds, restart = 60, 17
    counter = toeplitz(0.1, rounds)
    reports = np.random.default_rng(3).integers(0, 10**9, (rounds, 1, 2)) | 1
    noise, state = dn.ReplayNoise(bytes(32)), counter.init(1, 2)
    for t, row in enumerate(reports):
        if t == restart:
            state = counter.restart(state, np.array([[True, False]]))
        _, state = counter.step(state, row, noise)
    again = dn.ReplayNoise(bytes(32))
    fresh = [again.gaussian(Fraction(12 * counter.variance + 1, 12), (1, 2)) for _ in range(rounds)]
    f = encoder(rounds).tolist()
    for target, start in ((0, restart), (1, 0)):
        for t in range(start, rounds):
            clean = sum(f[t - s] * int(reports[s, 0, target]) for s in range(start, t + 1))
            assert state.encoded[t, 0, target] == clean + fresh[t][0, target]


@pytest.mark.parametrize("position", [0, 7, 39])
def test_one_report_shifts_the_release_by_a_column_of_the_encoder(position: int) -> None:
    """With the same noise, y(filed) - y(not filed) is a column of F, no longer than the sensitivity."""
    counter, releases = toeplitz(0.1, 40), []
    for extra in (0, 1):
        state, noise = counter.init(1, 2), dn.ReplayNoise(bytes(32))
        for t in range(40):
            _, state = counter.step(state, np.array([[3 + extra * (t == position), 1]]), noise)
        releases.append(state.encoded)
    shift = (releases[1] - releases[0])[:, 0, 0]
    assert shift.tolist() == [0] * position + encoder(40).tolist()[: 40 - position]
    assert sum(shift**2) <= squared_sensitivity(40)
    assert not (releases[1] - releases[0])[:, 0, 1].any()


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.1, 0.7])
@pytest.mark.parametrize("horizon", [1, 3, 1000])
def test_the_stated_curve_is_not_below_the_true_one(delta: float, horizon: int) -> None:
    """The stated mu is at least M_T / sigma, as exact fractions."""
    counter = toeplitz(delta, horizon)
    curve = counter.guarantee().curve
    assert isinstance(curve, Gaussian)
    assert Fraction(curve.mu) ** 2 * counter.variance >= squared_sensitivity(horizon)


def test_restart_deletes_the_run_and_trims_the_window() -> None:
    counter = toeplitz(0.1, 10)
    state, noise = counter.init(1, 2), dn.ReplayNoise(bytes(32))
    for _ in range(3):
        _, state = counter.step(state, np.array([[1, 1]]), noise)
    state = counter.restart(state, np.array([[True, False]]))
    assert not state.reports[:, :, 0].any()
    assert not state.encoded[:, :, 0].any()
    assert len(state.reports) == 3
    state = counter.restart(state, np.array([[False, True]]))
    assert len(state.reports) == len(state.encoded) == 0


def test_horizon_is_enforced() -> None:
    counter = toeplitz(0.1, 2)
    state = counter.init(1, 2)
    for _ in range(2):
        _, state = counter.step(state, np.array([[1, 1]]), ZeroNoise())
    with pytest.raises(dn.DeniableError, match="certified horizon of 2 rounds"):
        counter.step(state, np.array([[1, 1]]), ZeroNoise())


def test_kinds_of_noise_are_not_mixed() -> None:
    counter = toeplitz(0.1, 9)
    _, state = counter.step(counter.init(1, 2), np.array([[1, 1]]), dn.SimulationNoise(0))
    with pytest.raises(dn.DeniableError, match="must not be mixed"):
        counter.step(state, np.array([[1, 1]]), dn.ReplayNoise(bytes(32)))


@pytest.mark.parametrize(
    ("horizon", "variance", "says"),
    [
        (0, LEAST_VARIANCE, "horizon must be a whole number of at least 1, got 0"),
        (10**7, LEAST_VARIANCE, "horizon must be at most 1000000 rounds"),
        (5, 1, "variance must be a whole number of at least"),
    ],
)
def test_bad_parameters(horizon: int, variance: int, says: str) -> None:
    with pytest.raises(dn.DeniableError, match=says):
        ToeplitzCounter(horizon, variance)


def rounded_minus_discrete(s: float) -> float:
    """TV distance of N(0, s^2) rounded to integers and the discrete Gaussian of variance s^2 + 1/12."""
    x = np.arange(-int(40 * s) - 5, int(40 * s) + 6)
    # The tail differences are taken on the side where ndtr is small, for precision.
    rounded = np.where(x > 0, ndtr(-(x - 0.5) / s) - ndtr(-(x + 0.5) / s), ndtr((x + 0.5) / s) - ndtr((x - 0.5) / s))
    discrete = np.exp(-(x**2) / (2 * (s * s + 1 / 12)))
    return float(np.abs(rounded - discrete / discrete.sum()).sum() / 2)


@pytest.mark.parametrize("s", [1.0, 1.5, 2.0, 4.0, 8.0, 16.0])
def test_discretisation_error(s: float) -> None:
    """4.9e-4 / s^4, the constant in GaussianCounter; without the 1/12 it would be of order 1 / s^2."""
    assert rounded_minus_discrete(s) <= 4.9e-4 / s**4 * 1.05


def test_error_bound_state_is_not_needed_twice() -> None:
    """`error_bound` draws nothing and changes nothing."""
    counter = toeplitz(0.1, 9)
    _, state = counter.step(counter.init(1, 3), np.array([[4, 1, 0]]), dn.ReplayNoise(bytes(32)))
    first = counter.error_bound(state, np.array([[40, 0, 0]]))
    assert first == counter.error_bound(state, np.array([[40, 0, 0]]))
    assert 0 < first[0] < 1
    assert counter.error_bound(ToeplitzState(*vars(counter.init(1, 3)).values()), np.array([[400, 0, 0]]))[0] < 1e-9


def test_an_absurd_horizon_is_refused_before_any_work() -> None:
    with pytest.raises(dn.DeniableError, match="horizon must be at most 1000000 rounds"):
        toeplitz(0.1, 10**12)


def test_an_absurd_delta_is_refused() -> None:
    with pytest.raises(dn.DeniableError, match="delta must be at least 1e-15"):
        toeplitz(1e-300, 10)
