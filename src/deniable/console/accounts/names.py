"""Names of people and tokens."""

import unicodedata

from deniable.errors import DeniableError

LONGEST = 60


def same_name(name: str) -> str:
    """Equal for all spellings of a name that find the same person."""
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()


def checked_name(name: str) -> str:
    """As it is kept and shown."""
    called = unicodedata.normalize("NFC", " ".join(name.split()))
    if not called or len(called) > LONGEST or not called.isprintable():
        raise DeniableError(f"the name must have 1 to {LONGEST} printable characters")
    return called
