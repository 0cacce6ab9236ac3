"""Passwords, kept as Argon2id hashes."""

import secrets
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from deniable.errors import DeniableError

LEAST, LONGEST = 12, 256


class Passwords:
    """Argon2id. The tests bring a cheaper hasher; the service has the library's defaults (RFC 9106)."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._nobodys = self._hasher.hash(secrets.token_hex(16))

    def hashed(self, password: str) -> str:
        """What is stored of a new password."""
        typed = _typed(password)
        if not LEAST <= len(typed) <= LONGEST:
            raise DeniableError("the password must have {least} to {longest} characters", least=LEAST, longest=LONGEST)
        return self._hasher.hash(typed)

    def new(self, password: str, again: str) -> str:
        """The same for one that was typed twice."""
        if password != again:
            raise DeniableError("the two passwords do not match")
        return self.hashed(password)

    def matches(self, password: str, stored: str | None) -> bool:
        """Whether this is the password; where there is none to compare with, the same work for nothing."""
        try:
            self._hasher.verify(stored or self._nobodys, _typed(password)[:LONGEST])
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None


def _typed(password: str) -> str:
    """The same on every keyboard, however its accents are composed."""
    return unicodedata.normalize("NFC", password)
