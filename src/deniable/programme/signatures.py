"""Ed25519 signatures with raw keys: 32 bytes each, 64 bytes a signature."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from deniable.errors import DeniableError

KEY_BYTES = 32


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
    return Ed25519PublicKey.from_public_bytes(key)


def _check_length(which: str, key: bytes) -> None:
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        came = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise DeniableError(f"the {which} key must be {KEY_BYTES} bytes, got {came}")
