import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve

import deniable as dn
from deniable.arrays import FloatArray
from deniable.calibration import toeplitz_coefficients
from deniable.counters import BltCounter, blt, toeplitz
from deniable.counters.blt import decoder, decoder_coefficients, encoder, encoder_coefficients, parameters
from deniable.counters.gaussian import LEAST_VARIANCE, ONE


def recursion(horizon: int, theta: tuple[float, ...], omega: tuple[float, ...]) -> FloatArray:
    """The encoder's first column, round by round."""
    t, w = np.array(theta), np.array(omega)
    buffers, out = np.zeros(len(t)), np.empty(horizon)
    for k in range(horizon):
        out[k] = 1 - w @ buffers
        buffers = t * buffers + out[k]
    return out


@pytest.mark.parametrize(
    "horizon", [1, 2, 3, 10, 100, 1000, 10_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.long)]
)
def test_error_is_within_a_thousandth_of_toeplitz(horizon: int) -> None:
    ratio = blt(0.1, horizon).max_error / toeplitz(0.1, horizon).max_error
    assert 1 - 1e-9 < ratio < 1.001


@pytest.mark.parametrize(("horizon", "buffers"), [(100, 6), (1000, 8), (10_000, 12), (1_000_000, 4)])
def test_number_of_buffers_is_a_choice(horizon: int, buffers: int) -> None:
    theta, omega = parameters(horizon, buffers)
    assert len(theta) == len(omega) == buffers
    b, c = decoder_coefficients(horizon, theta, omega), encoder_coefficients(horizon, theta, omega)
    least = float((toeplitz_coefficients(horizon) ** 2).sum())
    assert np.linalg.norm(b) * np.linalg.norm(c) / least < (1.06 if buffers == 4 else 1.001)


@pytest.mark.parametrize("horizon", [1, 2, 5, 1000, 30_000])
def test_closed_form_is_the_plain_recursion(horizon: int) -> None:
    theta, omega = parameters(horizon, 10)
    assert np.abs(encoder_coefficients(horizon, theta, omega) - recursion(horizon, theta, omega)).max() < 1e-12


@pytest.mark.long
def test_closed_form_at_the_largest_horizon() -> None:
    theta, omega = parameters(10**6, 12)
    assert np.abs(encoder_coefficients(10**6, theta, omega) - recursion(10**6, theta, omega)).max() < 1e-12


@given(
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6, unique_by=lambda t: round(t, 2)),
    st.floats(0.01, 0.3),
)
def test_closed_form_for_any_parameters(thetas: list[float], weight: float) -> None:
    theta = tuple(sorted(thetas))
    omega = tuple(weight * (1 + i) / len(theta) for i in range(len(theta)))
    expected = recursion(60, theta, omega)
    assert np.allclose(encoder_coefficients(60, theta, omega), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_search_minimises_what_it_says() -> None:
    """The closed form of the two norms against sums over the coefficients, through the choice that it makes."""
    theta, omega = parameters(300, 8)

    def max_error(theta: tuple[float, ...], omega: tuple[float, ...]) -> float:
        b, c = decoder_coefficients(300, theta, omega), encoder_coefficients(300, theta, omega)
        return float(np.linalg.norm(b) * np.linalg.norm(c))

    y = np.log(1 / np.array(theta) - 1)
    best = max_error(theta, omega)
    for low, high in [(0.5, 0), (-0.5, 0), (0, 0.5), (0, -0.5)]:
        moved = np.linspace(y[0] + high, y[-1] + low, 8)
        t = 1 / (1 + np.exp(moved))
        w = (moved[0] - moved[-1]) / 7 / np.pi * t**1.5 * (1 - t) ** 0.5
        assert max_error(tuple(t), tuple(w)) > best


def test_decoder_approximates_the_toeplitz_coefficients() -> None:
    b = decoder_coefficients(1000, *parameters(1000, 10))
    assert np.allclose(b, toeplitz_coefficients(1000), rtol=0.03)


@pytest.mark.parametrize("horizon", [1, 10, 3000, 100_000])
def test_decoder_inverts_the_encoder(horizon: int) -> None:
    chosen = parameters(horizon, 10)
    product = fftconvolve(decoder(horizon, *chosen) * ONE, encoder(horizon, *chosen).astype(np.float64) / ONE)
    assert np.abs(product[:horizon] - 1).max() < 1e-12


def test_plain_decoder_would_miscount() -> None:
    """The negative control for the corrected decoder."""
    chosen = parameters(3000, 10)
    product = np.convolve(decoder_coefficients(3000, *chosen), encoder(3000, *chosen).astype(np.float64) / ONE)
    assert np.abs(product[:3000] - 1).max() > 1e-9


def test_encoder_is_truncated_python_integers() -> None:
    chosen = parameters(500, 10)
    c, out = encoder_coefficients(500, *chosen) * ONE, encoder(500, *chosen)
    assert {type(value) for value in out} == {int}
    assert ((out <= c) & (c < out + 1)).all()


def test_simulated_state_does_not_grow() -> None:
    counter, noise = blt(0.1, 50), dn.SimulationNoise(0)
    state = counter.init(2, 3)
    for _ in range(50):
        _, state = counter.step(state, np.ones((2, 3), dtype=np.int64), noise)
    assert state.buffers.shape == (10, 2, 3)
    assert len(state.history.encoded) == 0


def test_simulated_and_exact_paths_agree_on_the_same_noise() -> None:
    """The same integers as floats give the same outputs, restarts included."""
    counter, rng = blt(0.1, 60), np.random.default_rng(1)
    exact, simulated = counter.init(1, 2), counter.init(1, 2)
    noise = dn.ReplayNoise(bytes(32))

    class Given(dn.SimulationNoise):
        drawn: FloatArray

        def gaussian(self, variance: object, shape: tuple[int, ...]) -> FloatArray:
            return self.drawn

    class Copied(dn.ReplayNoise):
        def gaussian(self, variance, shape):  # type: ignore[no-untyped-def]
            Given.drawn = (out := noise.gaussian(variance, shape)).astype(np.float64)
            return out

    for _ in range(60):
        reports, audited = rng.poisson(2, (1, 2)), rng.random((1, 2)) < 0.1
        noisy, exact = counter.step(exact, reports, Copied(bytes(32)))
        same, simulated = counter.step(simulated, reports, Given(0))
        assert np.allclose(noisy, same, rtol=0, atol=1e-5)
        exact, simulated = counter.restart(exact, audited), counter.restart(simulated, audited)


@pytest.mark.parametrize(
    ("theta", "omega", "says"),
    [
        ((), (), "omega must be positive numbers, as many as theta has"),
        ((0.5,), (0.1, 0.2), "omega must be positive numbers, as many as theta has"),
        ((0.5,), (0.0,), "omega must be positive numbers"),
        ((0.5, 0.4), (0.1, 0.1), "theta must be increasing, within"),
        ((0.5, 1.0), (0.1, 0.1), "theta must be increasing, within"),
    ],
)
def test_bad_parameters(theta: tuple[float, ...], omega: tuple[float, ...], says: str) -> None:
    with pytest.raises(dn.DeniableError, match=says):
        BltCounter(5, LEAST_VARIANCE, theta, omega)


def test_too_few_buffers() -> None:
    with pytest.raises(dn.DeniableError, match="buffers must be a whole number of at least 4, got 3"):
        blt(0.1, 100, buffers=3)
