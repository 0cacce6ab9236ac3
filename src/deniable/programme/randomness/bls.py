"""BLS signatures on the curve BLS12-381, with signatures in G1 and keys in G2, checked many at a time.

Needs the extra `programme`. docs/explanation/drand.md has the proof that a batch with a wrong signature passes with
a probability of at most 2^-128.
"""

import secrets
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from py_ecc.bls.g2_primitives import subgroup_check
from py_ecc.bls.hash_to_curve import clear_cofactor_G1, hash_to_field_FQ, map_to_curve_G1
from py_ecc.bls.point_compression import decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G1Uncompressed, G2Compressed, G2Uncompressed
from py_ecc.optimized_bls12_381 import FQ12, G2, Z1, add, double, final_exponentiate, is_inf, neg, pairing

SUITE = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
WEIGHT_BITS = 128
SHA256: Any = sha256  # py_ecc asks for the type of a hash object where it wants its constructor

Signed = tuple[G1Uncompressed, G1Uncompressed]
"""A signature, and its message as `mapped` to the curve."""


def first_wrong(key: bytes, messages: Sequence[bytes], signatures: Sequence[bytes]) -> int | None:
    """The index of the first signature that is not the key's for its message; None if all are right.

    ValueError if the key is none.
    """
    point = public_key(key)
    signed: list[Signed] = []
    for message, signature in zip(messages, signatures, strict=True):
        try:
            signed.append((signature_point(signature), mapped(message)))
        except ValueError:
            break  # this one is wrong, and perhaps one before it
    all_readable = len(signed) == len(signatures)
    if _all_hold(point, signed):
        return None if all_readable else len(signed)
    start, end = 0, len(signed)  # all before start hold, and one before end does not
    while end - start > 1:
        middle = (start + end) // 2
        if _all_hold(point, signed[start:middle]):
            start = middle
        else:
            end = middle
    return start


@lru_cache(maxsize=16)
def public_key(key: bytes) -> G2Uncompressed:
    point = decompress_G2(G2Compressed((int.from_bytes(key[:48]), int.from_bytes(key[48:]))))
    if is_inf(point) or not subgroup_check(point):
        raise ValueError("not a point of G2")
    return point


def signature_point(signature: bytes) -> G1Uncompressed:
    """A point of G1 that is not infinity, or ValueError.

    Each one is checked for itself: the pairings do not see the part of a point that lies outside G1, so with any such
    part added to it a signature would still hold, and its hash would be another.
    """
    point = decompress_G1(G1Compressed(int.from_bytes(signature)))
    if is_inf(point) or not subgroup_check(point):
        raise ValueError("not a point of G1")
    return point


def mapped(message: bytes) -> G1Uncompressed:
    """The message hashed to the whole curve (RFC 9380). `clear_cofactor_G1` takes it, or a sum of such, to G1."""
    first, second = hash_to_field_FQ(message, 2, SUITE, SHA256)
    return add(map_to_curve_G1(first), map_to_curve_G1(second))


def _all_hold(key: G2Uncompressed, signed: Sequence[Signed]) -> bool:
    """Whether e(sum of w S, generator) = e(sum of w H, key), with random weights w."""
    weights = [secrets.randbits(WEIGHT_BITS) for _ in signed]
    signatures = weighted_sum([signature for signature, _ in signed], weights)
    messages = clear_cofactor_G1(weighted_sum([message for _, message in signed], weights))
    left = pairing(G2, neg(signatures), final_exponentiate=False)
    right = pairing(key, messages, final_exponentiate=False)
    return final_exponentiate(left * right) == FQ12.one()


def weighted_sum(points: Sequence[G1Uncompressed], weights: Sequence[int]) -> G1Uncompressed:
    """Bit by bit, so that all points share the doublings."""
    total = Z1
    for bit in reversed(range(WEIGHT_BITS)):
        total = double(total)
        for point, weight in zip(points, weights, strict=True):
            if weight >> bit & 1:
                total = add(total, point)
    return total
