"""A drand chain with a key of our own, for beacons of any round, and two genuine beacons of quicknet."""

import sys
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1
from py_ecc.bls.typing import G1Compressed, G1Uncompressed
from py_ecc.optimized_bls12_381 import G2, multiply

from deniable.programme.randomness.drand import QUICKNET, Beacon, Chain

sys.setrecursionlimit(1000)  # py_ecc raises it

SUITE = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
SHA256: Any = sha256
GENUINE = (
    Beacon(1000, "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"),
    Beacon(657413, "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b"),
)
RANDOMNESS = (
    "fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd",
    "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587",
)
"""Of the genuine beacons."""


@dataclass(frozen=True)
class OwnChain:
    """Signs by the definition of the scheme, with py_ecc's own hash to the curve."""

    secret: int = 20260101
    genesis: int = QUICKNET.genesis
    period: int = QUICKNET.period

    @cached_property
    def chain(self) -> Chain:
        key = b"".join(part.to_bytes(48) for part in compress_G2(multiply(G2, self.secret)))
        return Chain(sha256(key).hexdigest(), key.hex(), self.genesis, self.period)

    def sign(self, round_: int) -> Beacon:
        message = sha256(round_.to_bytes(8)).digest()
        return beacon(round_, multiply(hash_to_G1(message, SUITE, SHA256), self.secret))


def point(beacon: Beacon) -> G1Uncompressed:
    return decompress_G1(G1Compressed(int(beacon.signature, 16)))


def beacon(round_: int, signature: G1Uncompressed) -> Beacon:
    return Beacon(round_, f"{compress_G1(signature):096x}")
