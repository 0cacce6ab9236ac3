"""Batches of signatures: one wrong among many is found, whatever its shape and however it hides behind another."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_ecc.bls.g2_primitives import subgroup_check
from py_ecc.bls.hash_to_curve import clear_cofactor_G1, hash_to_G1
from py_ecc.optimized_bls12_381 import FQ, G1, Z1, add, curve_order, eq, is_on_curve, multiply, neg
from py_ecc.optimized_bls12_381 import b as CURVE  # noqa: N812
from tests.programme.randomness.own_chain import SHA256, SUITE, OwnChain, beacon, point

from deniable.errors import DeniableError
from deniable.programme.randomness import bls
from deniable.programme.randomness.drand import Beacon, check_beacons

OWN = OwnChain()
ORDER_3 = (FQ(0), FQ(2), FQ(1))
INFINITY = "c0" + "00" * 47
NOT_ON_CURVE = f"{(1 << 383) + 1:096x}"
NOT_IN_FIELD = f"{(1 << 384) - (1 << 382) - 1:096x}"
OUTSIDE_G1 = f"{(1 << 383) + 4:096x}"


@pytest.fixture(scope="module")
def fifty() -> list[Beacon]:
    return [OWN.sign(round_) for round_ in range(1, 51)]


def altered(beacons: list[Beacon], *wrong: Beacon) -> list[Beacon]:
    by_round = {one.round: one for one in wrong}
    return [by_round.get(one.round, one) for one in beacons]


def test_fifty(fifty: list[Beacon]) -> None:
    check_beacons(OWN.chain, fifty)


@pytest.mark.parametrize(("round_", "of"), [(23, 50), (1, 5), (2, 5), (5, 5), (1, 1)])
def test_one_wrong_of_many_is_found(fifty: list[Beacon], round_: int, of: int) -> None:
    wrong = beacon(round_, add(point(fifty[round_ - 1]), G1))
    with pytest.raises(DeniableError, match=f"round {round_} is not genuine"):
        check_beacons(OWN.chain, altered(fifty[:of], wrong))


def test_the_first_of_several_is_named(fifty: list[Beacon]) -> None:
    """Also where a later one cannot even be read."""
    wrong = Beacon(3, fifty[4].signature), Beacon(4, NOT_ON_CURVE), Beacon(6, INFINITY)
    for start in range(3):
        with pytest.raises(DeniableError, match=f"round {wrong[start].round} is not genuine"):
            check_beacons(OWN.chain, altered(fifty[:7], *wrong[start:]))


def test_errors_that_cancel_out(fifty: list[Beacon], monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: without random weights both pass."""
    few, error = fifty[:4], multiply(G1, 987654321)
    forged = altered(few, beacon(2, add(point(few[1]), error)), beacon(3, add(point(few[2]), neg(error))))
    with pytest.raises(DeniableError, match="round 2 is not genuine"):
        check_beacons(OWN.chain, forged)
    monkeypatch.setattr("secrets.randbits", lambda _: 1)
    check_beacons(OWN.chain, forged)


@pytest.mark.parametrize("signature", [INFINITY, NOT_ON_CURVE, NOT_IN_FIELD, OUTSIDE_G1, "00" * 48, "e0" + "00" * 47])
def test_what_is_no_point_of_g1(fifty: list[Beacon], signature: str) -> None:
    with pytest.raises(DeniableError, match="round 2 is not genuine"):
        check_beacons(OWN.chain, altered(fifty[:3], Beacon(2, signature)))


def test_a_point_of_small_order_does_not_hide(fifty: list[Beacon], monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: without the check of the subgroup a second signature of the round passes, with another hash."""
    assert is_on_curve(ORDER_3, CURVE)
    assert eq(multiply(ORDER_3, 4), ORDER_3)
    few = fifty[:3]
    forged = altered(few, beacon(2, add(point(few[1]), ORDER_3)))
    with pytest.raises(DeniableError, match="round 2 is not genuine"):
        check_beacons(OWN.chain, forged)
    monkeypatch.setattr(bls, "subgroup_check", lambda _: True)
    check_beacons(OWN.chain, forged)
    assert forged[1].randomness != few[1].randomness


def test_the_wrong_points_are_what_their_names_say() -> None:
    with pytest.raises(ValueError, match="not on G1"):
        point(Beacon(1, NOT_ON_CURVE))
    with pytest.raises(ValueError, match="field modulus"):
        point(Beacon(1, NOT_IN_FIELD))
    outside = point(Beacon(1, OUTSIDE_G1))
    assert is_on_curve(outside, CURVE)
    assert not subgroup_check(outside)


@settings(max_examples=5)
@given(st.binary(max_size=40))
def test_the_hash_of_a_message(message: bytes) -> None:
    """The cofactor, which a batch clears once for all, leads to what RFC 9380 says of each."""
    assert eq(clear_cofactor_G1(bls.mapped(message)), hash_to_G1(message, SUITE, SHA256))


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, curve_order - 1), st.integers(0, 2**128 - 1)), max_size=4))
def test_a_weighted_sum(terms: list[tuple[int, int]]) -> None:
    points = [multiply(G1, scalar) for scalar, _ in terms]
    found = bls.weighted_sum(points, [weight for _, weight in terms])
    expected = sum(scalar * weight for scalar, weight in terms) % curve_order
    assert eq(found, multiply(G1, expected) if expected else Z1)
