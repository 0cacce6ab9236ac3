from typing import Any

import numpy as np
import pytest
from tests.statistical.factorizations import CASES, toeplitz_factors, two_views

import deniable as dn
from deniable.counters.dense import Factorization, dense
from deniable.counters.gaussian import GRID_BITS, ONE
from deniable.testing import ZeroNoise


def test_it_is_the_toeplitz_counter_with_its_matrices() -> None:
    root = toeplitz_factors(9)[0]
    counter, same = dense(0.1, root, root), dn.counters.toeplitz(0.1, 9)
    assert counter.variance == same.variance
    state, other, noise, again = counter.init(1, 2), same.init(1, 2), *(dn.ReplayNoise(bytes(32)) for _ in range(2))
    for t in range(9):
        noisy, state = counter.step(state, np.array([[t, 1]]), noise)
        expected, other = same.step(other, np.array([[t, 1]]), again)
        assert np.array_equal(noisy, expected)


def test_encoder_is_truncated_toward_zero() -> None:
    third = 1 / 3
    factors = Factorization(np.array([[1, 0], [1 + third, 1]]), np.array([[1, 0], [-third, 1]]))
    assert factors.grid_encoder.tolist() == [[ONE, 0], [-(2**GRID_BITS // 3), ONE]]
    assert {type(value) for value in factors.grid_encoder.ravel()} == {int}


@pytest.mark.parametrize("name", CASES)
def test_decoder_undoes_the_truncated_encoder(name: str) -> None:
    factors = Factorization(*CASES[name][1](50))
    exact = factors.grid_decoder @ factors.grid_encoder.astype(np.float64)
    assert np.abs(exact - np.tri(50)).max() < 1e-13


def test_plain_decoder_would_miscount() -> None:
    """The negative control for the corrected decoder."""
    factors = Factorization(*toeplitz_factors(50))
    plain = factors.decoder @ (factors.grid_encoder.astype(np.float64) / ONE)
    assert np.abs(plain - np.tri(50)).max() > 1e-10


@pytest.mark.parametrize("name", CASES)
def test_corrected_decoder_uses_no_row_before_its_release(name: str) -> None:
    factors = Factorization(*CASES[name][1](20))
    for row, released in enumerate(factors.released_in):
        assert not factors.grid_decoder[:released, row].any()


def test_rows_of_one_round_take_different_draws() -> None:
    factors = Factorization(*two_views(4))
    assert factors.released_in.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert factors.draw_of.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_row_of_pure_noise_costs_nothing() -> None:
    decoder, encoder = np.hstack([np.tri(3), np.ones((3, 1))]), np.vstack([np.eye(3), np.zeros((1, 3))])
    counter = dense(0.1, decoder, encoder)
    assert counter.variance == dn.counters.input_perturbation(0.1, 3).variance
    assert counter.error_std() == pytest.approx(counter.sigma * np.sqrt([2, 3, 4]))


def test_rounded_zeros_are_zeros() -> None:
    """Matrices from a numerical inverse have entries like 1e-17 above the diagonal; they must not leak or refuse."""
    root, dust = toeplitz_factors(4)[0], np.triu(np.full((4, 4), 1e-17), 1)
    counter = dense(0.1, root + dust, root + dust)
    assert counter.factorization.released_in.tolist() == [0, 1, 2, 3]
    assert not np.triu(counter.factorization.grid_decoder, 1).any()
    noisy, _ = counter.step(counter.init(1, 1), np.array([[7]]), ZeroNoise())
    assert noisy.item() == 7


def test_identity_is_complete_and_stable() -> None:
    root = toeplitz_factors(3)[0]
    counter = dense(0.1, root, root)
    changed = root.copy()
    changed[2, 0] += 1e-12
    assert counter == dense(0.1, root.copy(), root)
    assert counter != dense(0.1, changed, root)
    assert repr(counter) != repr(dense(0.1, changed, root))
    assert repr(dense(0.1, [[1]], [[1]])).endswith(
        "Factorization(1 x 1, sha256=5f07eef034c5a21fedede8ef2f970fefbcc8ea44c02fd970117dacbee5483005))"
    )
    assert dense(0.1, np.tri(2) * [1, -1] * [1, -1], np.eye(2)) == dense(0.1, np.tri(2), np.eye(2))


def test_matrices_cannot_be_changed_afterwards() -> None:
    root = toeplitz_factors(3)[0]
    factors = Factorization(root, root)
    root[0, 0] = 7
    assert factors.decoder[0, 0] == 1
    for matrix in (factors.decoder, factors.encoder, factors.grid_encoder, factors.grid_decoder):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 0] = 7


EYE = np.eye(2)


@pytest.mark.parametrize(
    ("decoder", "encoder", "says"),
    [
        ([1.0, 2.0], EYE, "decoder must be a matrix of numbers below"),
        (np.tri(2), [[1, np.inf], [0, 1]], "encoder must be a matrix of numbers below"),
        (np.tri(2), np.eye(3), "decoder must be T x m and encoder m x T with m >= T >= 1, got 2 x 2 and 3 x 3"),
        (np.ones((2, 1)), np.ones((1, 2)), "m >= T >= 1, got 2 x 1 and 1 x 2"),
        (np.zeros((0, 0)), np.zeros((0, 0)), "m >= T >= 1, got 0 x 0"),
        (EYE, EYE, "must be the T x T lower-triangular matrix of ones, got a matrix with an entry off by 1"),
        (np.tri(2), EYE * (1 + 1e-8), "lower-triangular matrix of ones, got a matrix with an entry off by 1e-08"),
        # Row 0 holds both rounds, but the decoder wants it in the first.
        ([[1, -1], [1, 0]], [[1, 1], [0, 1]], "row 0 of the encoder only from round 1 on"),
        (np.tri(2) * 1e6, EYE / 1e6, r"larger entries, .* multiples of 2\*\*-32 they miscount by up to 0.000225"),
    ],
)
def test_bad_matrices(decoder: Any, encoder: Any, says: str) -> None:
    with pytest.raises(dn.DeniableError, match=says):
        dense(0.1, decoder, encoder)


def test_horizon_is_that_of_the_matrices() -> None:
    counter = dense(0.1, np.tri(2), EYE)
    with pytest.raises(dn.DeniableError, match="horizon must be that of the factorization, 2, got 3"):
        dn.counters.DenseCounter(3, counter.variance, counter.factorization)
