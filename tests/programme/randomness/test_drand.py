"""drand's beacons: genuine ones are accepted, all others are refused by the number of their round."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.randomness.own_chain import GENUINE, RANDOMNESS, OwnChain

from deniable.errors import DeniableError
from deniable.programme.randomness import bls
from deniable.programme.randomness.drand import QUICKNET, Beacon, Chain, check_beacons, check_chain

OWN = OwnChain()


def test_genuine_beacons() -> None:
    check_beacons(QUICKNET, GENUINE)
    for beacon, randomness in zip(GENUINE, RANDOMNESS, strict=True):
        check_beacons(QUICKNET, [beacon])
        assert beacon.randomness == randomness


def test_none_is_fine() -> None:
    check_beacons(QUICKNET, [])


@pytest.mark.parametrize("bit", [0, 1, 2, 3, 100, 200, 300, 383])
def test_a_bit_of_the_signature(bit: int) -> None:
    altered = int(GENUINE[0].signature, 16) ^ 1 << bit
    with pytest.raises(DeniableError, match="round 1000 is not genuine"):
        check_beacons(QUICKNET, [Beacon(1000, f"{altered:096x}"), GENUINE[1]])


@pytest.mark.parametrize("round_", [999, 1001, 657413, 1, 2**64 - 1])
def test_the_signature_of_another_round(round_: int) -> None:
    with pytest.raises(DeniableError, match=f"round {round_} is not genuine"):
        check_beacons(QUICKNET, [Beacon(round_, GENUINE[0].signature)])


def test_swapped_rounds() -> None:
    first, second = GENUINE
    with pytest.raises(DeniableError, match="round 1000 is not genuine"):
        check_beacons(QUICKNET, [replace(second, round=first.round), replace(first, round=second.round)])


def test_the_signature_of_another_key() -> None:
    check_beacons(OWN.chain, [OWN.sign(1000)])
    with pytest.raises(DeniableError, match="round 1000 is not genuine"):
        check_beacons(OWN.chain, [GENUINE[0]])
    with pytest.raises(DeniableError, match="round 1000 is not genuine"):
        check_beacons(QUICKNET, [GENUINE[1], OWN.sign(1000)])


@pytest.mark.parametrize("key", ["0" * 192, "c0" + "0" * 190, "f" * 192, QUICKNET.public_key[:-1] + "b"])
def test_a_key_that_is_none(key: str) -> None:
    bls.public_key.cache_clear()
    with pytest.raises(DeniableError, match="public key"):
        check_beacons(replace(QUICKNET, public_key=key), GENUINE)
    with pytest.raises(DeniableError, match="public key"):
        check_chain(replace(QUICKNET, public_key=key))


def test_a_chain_whose_beacons_can_be_checked() -> None:
    check_chain(QUICKNET)
    check_chain(OWN.chain)


def test_without_py_ecc() -> None:
    """No beacons need nothing."""
    code = f"""
import sys
sys.modules["py_ecc"] = None
from deniable.programme.randomness.drand import *
check_beacons(QUICKNET, [])
try:
    check_beacons(QUICKNET, [Beacon(1000, "{GENUINE[0].signature}")])
except DeniableError as error:
    print(error)
try:
    check_chain(QUICKNET)
except DeniableError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install -c constraints.txt '.[programme]' in a copy of the project") == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"hash": "52"},
        {"hash": "g" * 64},
        {"hash": 7},
        {"public_key": QUICKNET.public_key.upper()},
        {"public_key": QUICKNET.public_key + "\n"},
        {"genesis": -1},
        {"genesis": 1.5},
        {"period": 0},
        {"period": True},
    ],
)
def test_a_chain_that_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(DeniableError, match="drand chain"):
        Chain.from_dict(QUICKNET.to_dict() | wrong)


def test_a_chain_as_fields() -> None:
    fields = QUICKNET.to_dict()
    assert Chain.from_dict(fields) == QUICKNET
    without = {name: value for name, value in fields.items() if name != "period"}
    not_fields: list[Any] = [{}, without, fields | {"scheme": "other"}, [], None]
    for wrong in not_fields:
        with pytest.raises(DeniableError, match="fields"):
            Chain.from_dict(wrong)


@pytest.mark.parametrize(
    ("round_", "signature"),
    [(0, "a" * 96), (True, "a" * 96), (2**64, "a" * 96), ("1", "a" * 96), (1, "A" * 96), (1, "a" * 95), (1, None)],
)
def test_a_beacon_that_is_none(round_: Any, signature: Any) -> None:
    with pytest.raises(DeniableError, match="drand beacon"):
        Beacon(round_, signature)


@given(st.integers(1, 10**9), st.integers(1, 2_999_999))
def test_rounds_and_times(round_: int, microseconds: int) -> None:
    out = QUICKNET.time_of(round_)
    assert QUICKNET.round_at(out) == round_
    assert QUICKNET.round_at(out + timedelta(microseconds=microseconds)) == round_ + 1


def test_times() -> None:
    assert QUICKNET.time_of(1) == datetime.fromtimestamp(1692803367, UTC)
    assert QUICKNET.time_of(2).utcoffset() == timedelta(0)
    elsewhere = QUICKNET.time_of(5).astimezone(timezone(timedelta(hours=-7)))
    assert QUICKNET.round_at(elsewhere) == 5


def test_times_that_are_none() -> None:
    with pytest.raises(DeniableError, match="not started"):
        QUICKNET.round_at(QUICKNET.time_of(1) - timedelta(microseconds=1))
    with pytest.raises(DeniableError, match="time zone"):
        QUICKNET.round_at(datetime(2026, 1, 1))
    with pytest.raises(DeniableError, match="whole number"):
        QUICKNET.time_of(0)
    with pytest.raises(DeniableError, match="9999"):
        QUICKNET.time_of(2**64 - 1)


def test_deeply_nested_json_is_refused_after_a_check_as_before() -> None:
    """py_ecc raises Python's limit on recursion, and with its own limit this ends the process."""
    program = (
        "import json, sys\n"
        "from deniable.programme.randomness.drand import QUICKNET, Beacon, check_beacons\n"
        f"check_beacons(QUICKNET, [Beacon({GENUINE[0].round}, {GENUINE[0].signature!r})])\n"
        "if 'planted' in sys.argv: sys.setrecursionlimit(100000)\n"
        "try: json.loads('[' * 99_000)\n"
        "except (RecursionError, ValueError): print('refused')\n"
    )
    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    assert run([sys.executable, "-c", program]).stdout == "refused\n"
    assert run([sys.executable, "-c", program, "planted"]).returncode < 0
