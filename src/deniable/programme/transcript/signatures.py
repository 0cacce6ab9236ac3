"""Ed25519 signatures with raw keys: 32 bytes each, 64 bytes a signature."""

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from deniable.errors import DeniableError

KEY_BYTES = 32
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P)


def new_key() -> bytes:
    """A private key from the operating system's entropy. Secret."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def public_key(private: bytes) -> bytes:
    """The public key of a private key."""
    return _private(private).public_key().public_bytes_raw()


def sign(private: bytes, message: bytes) -> bytes:
    """The signature of a message. The same key and message always give the same one.

    >>> key = new_key()
    >>> is_signed(public_key(key), b"round 1", sign(key, b"round 1"))
    True
    """
    return _private(private).sign(message)


def check_public_key(public: bytes) -> None:
    """Refuse what is no public key, or one for which anybody can sign."""
    _public(public)


@lru_cache(maxsize=32)  # the same head is looked at with every page
def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is that of this message by the owner of this public key."""
    try:
        _public(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def pem(public: bytes) -> str:
    """The public key as text that OpenSSL reads."""
    return _public(public).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def _private(key: bytes) -> Ed25519PrivateKey:
    _check_length("private", key)
    return Ed25519PrivateKey.from_private_bytes(key)


def _public(key: bytes) -> Ed25519PublicKey:
    _check_length("public", key)
    if _has_small_order(key):
        raise DeniableError(
            "the public key must be one that only its owner can sign for, got a point of small order, for which "
            "anyone can; ask for another key"
        )
    return Ed25519PublicKey.from_public_bytes(key)


def _has_small_order(key: bytes) -> bool:
    """Whether eight times the point is the neutral element, however it is encoded; the sign of x does not matter.

    On -x**2 + y**2 = 1 + d x**2 y**2 (RFC 8032, section 5.1) y is 1 or -1 where x = 0, the orders 1 and 2; and 0 where
    twice the point is (0, -1), order 4. Twice a point of order 8 has y = 0, so x**2 = -y**2 and d y**4 + 2 y**2 = 1.
    """
    y = int.from_bytes(key, "little") % 2**255
    return y * (y**2 - 1) * (_D * y**4 + 2 * y**2 - 1) % _P == 0


def _check_length(which: str, key: bytes) -> None:
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        came = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise DeniableError(
            "the {which} key must be {key_bytes} bytes, got {came}", which=which, key_bytes=KEY_BYTES, came=came
        )
