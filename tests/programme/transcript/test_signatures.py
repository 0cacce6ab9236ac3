"""Ed25519: against the published vectors, OpenSSL's text form, and every way in which a signature can be wrong."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.programme.transcript import signatures
from deniable.programme.transcript.signatures import is_signed, new_key, pem, public_key, sign

# RFC 8032, section 7.1, tests 1 to 3: private key, public key, message, signature.
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("private", "public", "message", "signature"), VECTORS)
def test_published_vectors(private: str, public: str, message: str, signature: str) -> None:
    key, text = bytes.fromhex(private), bytes.fromhex(message)
    assert public_key(key).hex() == public
    assert sign(key, text).hex() == signature
    assert is_signed(bytes.fromhex(public), text, bytes.fromhex(signature))


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_a_signature_is_for_its_message_alone(message: bytes, other: bytes) -> None:
    key = bytes(range(32))
    assert is_signed(public_key(key), other, sign(key, message)) == (message == other)


def test_a_signature_is_for_its_key_alone() -> None:
    key, other = new_key(), new_key()
    assert not is_signed(public_key(other), b"head", sign(key, b"head"))


@given(st.integers(0, 511))
def test_no_changed_bit_goes_unnoticed(bit: int) -> None:
    key = bytes(range(32))
    changed = bytearray(sign(key, b"head"))
    changed[bit // 8] ^= 1 << bit % 8
    assert not is_signed(public_key(key), b"head", bytes(changed))


@pytest.mark.parametrize("length", [0, 1, 63, 65])
def test_a_signature_of_another_length_is_none(length: int) -> None:
    key = new_key()
    assert not is_signed(public_key(key), b"head", (sign(key, b"head") + b"x")[:length])


def test_new_keys_are_new() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {32}


def test_pem_is_the_public_key_as_openssl_writes_it() -> None:
    public = bytes.fromhex(VECTORS[0][1])
    first, body, last = pem(public).splitlines()
    assert (first, last) == ("-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----")
    assert pem(public).endswith("\n")
    assert base64.b64decode(body) == bytes.fromhex("302a300506032b6570032100") + public  # RFC 8410


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), "00" * 32, None])
def test_keys_of_another_length_are_refused(key: Any) -> None:
    with pytest.raises(DeniableError, match="the private key must be 32 bytes"):
        public_key(key)
    with pytest.raises(DeniableError, match="the private key must be 32 bytes"):
        sign(key, b"")
    with pytest.raises(DeniableError, match="the public key must be 32 bytes"):
        is_signed(key, b"", bytes(64))
    with pytest.raises(DeniableError, match="the public key must be 32 bytes"):
        pem(key)


def test_a_refused_private_key_is_not_repeated() -> None:
    with pytest.raises(DeniableError) as caught:
        sign(b"secret", b"")
    assert "secret" not in str(caught.value)


# Points of small order

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
NEUTRAL = (0, 1)
# A point of order 8, in the encoding of RFC 8032.
OF_ORDER_EIGHT = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
FORGED = (1).to_bytes(32, "little") + bytes(32)
"""R is the neutral element and s is 0."""


def plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """The sum of two points, by the formulas of RFC 8032, section 5.1.4."""
    (x1, y1), (x2, y2) = one, other
    k = D * x1 * x2 * y1 * y2
    return (x1 * y2 + x2 * y1) * pow(1 + k, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - k, -1, P) % P


def small_order() -> list[tuple[int, int]]:
    """All eight points whose order divides 8: the multiples of one of order 8."""
    y = int.from_bytes(OF_ORDER_EIGHT, "little")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    point = next(root for root in (x, x * pow(2, (P - 1) // 4, P) % P) if root * root % P == square), y
    points = [NEUTRAL]
    while len(points) < 8:
        points.append(plus(points[-1], point))
    assert len(set(points)) == 8
    assert plus(points[-1], point) == NEUTRAL
    return points


def encodings() -> list[bytes]:
    """Of those points, with either sign, and with y + p where that is below 2**255."""
    ys = {y + extra for _, y in small_order() for extra in (0, P) if y + extra < 2**255}
    return [(y | sign << 255).to_bytes(32, "little") for y in sorted(ys) for sign in (0, 1)]


@pytest.mark.parametrize("key", encodings(), ids=bytes.hex)
def test_keys_for_which_anybody_can_sign_are_refused(key: bytes) -> None:
    for use in (lambda: is_signed(key, b"head", FORGED), lambda: pem(key)):
        with pytest.raises(DeniableError, match="only its owner can sign for, got a point of small order"):
            use()


def test_without_the_check_anybody_signs_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug."""
    monkeypatch.setattr(signatures, "_has_small_order", lambda _: False)
    for message in (b"head", b"another head"):
        assert is_signed((1).to_bytes(32, "little"), message, FORGED)


@given(st.binary(min_size=32, max_size=32))
def test_keys_of_an_owner_are_not_refused(private: bytes) -> None:
    assert pem(public_key(private))
