"""What deniable says when it cannot go on: one sentence, never a count, a noise value or a report."""

import errno
import math
from numbers import Integral

MAX_REPORTS = 10**9
"""The largest count of one round and target. No real count comes near it, and with it every sum over up to
nine thousand million rounds fits in 64 bits, so that active counts cannot overflow."""


class DeniableError(ValueError):
    """Bad input or a refused step. The message is one sentence fit for the end user."""


class PlaceError(DeniableError):
    """A refusal that names a file or folder of the machine: PlaceError(sentence, place, instead).

    The message, for the terminal, is the sentence as it is. `elsewhere` is for those who must not know the place.

    >>> error = PlaceError("cannot read /srv/public/transcript.jsonl: it is gone", "/srv/public", "the public folder")
    >>> error.elsewhere
    'cannot read the public folder/transcript.jsonl: it is gone'
    """

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def elsewhere(self) -> str:
        sentence, place, instead = map(str, self.args)
        return sentence.replace(f"the folder {place}", instead).replace(place, instead)


def elsewhere(error: DeniableError) -> str:
    """The sentence as it may be shown to people and machines far from this one: without any place on it."""
    return error.elsewhere if isinstance(error, PlaceError) else str(error)


DISK_FULL = "the disk is full; make room and try again"


def why(error: OSError) -> str:
    """Why the operating system did not do something.

    >>> why(OSError(errno.ENOSPC, "No space left on device"))
    'the disk is full; make room and try again'
    """
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DISK_FULL
    return error.strerror or str(error)


def check_delta(delta: float) -> float:
    """The per-report privacy level, in (0, 1).

    >>> check_delta(1.5)
    Traceback (most recent call last):
    deniable.errors.DeniableError: delta must be in (0, 1), got 1.5; 0.1, say, means at most 5 points in 100
    """
    if not 0 < delta < 1:  # also false for NaN
        raise DeniableError(f"delta must be in (0, 1), got {delta}; 0.1, say, means at most 5 points in 100")
    return float(delta)


def check_probability(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise DeniableError(f"{name} must be in [0, 1], got {value}")
    return float(value)


def check_whole(name: str, value: int, least: int) -> int:
    """A public whole number (targets, rounds, reports of one person), at least `least`.

    >>> check_whole("horizon", 0, least=1)
    Traceback (most recent call last):
    deniable.errors.DeniableError: horizon must be a whole number of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise DeniableError(f"{name} must be a whole number of at least {least}, got {value}")
    return int(value)


def check_positive(name: str, value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise DeniableError(f"{name} must be a positive number, got {value}")
    return float(value)
