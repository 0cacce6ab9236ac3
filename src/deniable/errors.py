"""What deniable says when it cannot go on: one sentence, never a count, a noise value or a report."""

import errno
import math
import re
import sys
from numbers import Integral, Real
from typing import Any, Self

from deniable.message import Message, noted, noted_count, why_not

MAX_REPORTS = 10**9
"""The largest count of one round and target. No real count comes near it, and with it every sum over up to
nine thousand million rounds fits in 64 bits, so that active counts cannot overflow."""


class DeniableError(ValueError):
    """Bad input or a refused step. The message is one sentence fit for the end user.

    The console says it in the reader's language. So where it may come there, the text is a literal, and values stand in
    braces; without values it is taken as it is.

    >>> str(DeniableError("round {round} is closed", round=3)), str(DeniableError("got {}"))
    ('round 3 is closed', 'got {}')
    """

    def __init__(self, text: str | Message, /, **values: Any) -> None:
        if isinstance(text, str):
            text = noted(text if values else text.replace("{", "{{").replace("}", "}}"), **values)
        self.message = text
        super().__init__(self.message)

    @classmethod
    def of(cls, number: int, one: str, many: str, /, **values: Any) -> Self:
        """The sentence that goes with this number, which it has as {number}."""
        return cls(noted_count(one, many, number, **values))

    def __str__(self) -> str:
        return str(self.message)

    @property
    def elsewhere(self) -> Message:
        """For people and machines far from this one."""
        return self.message.elsewhere


def pip_install(extra: str) -> str:
    """The command that installs an extra where this Python finds it, in the versions that were tested."""
    return f"{sys.executable} -m pip install -c constraints.txt '.[{extra}]'"


class PlaceError(DeniableError):
    """A file or folder of the machine is in trouble, which is not the fault of the person who asked."""


class UnsuitableError(DeniableError):
    """An adversary, or the referee, does not serve this mechanism; another may."""


# What somebody's own code may raise when it is run on noise or reports that it did not expect.
FOREIGN_ERRORS = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
DISK_FULL = why_not("the disk is full; make room and try again")
_SAID_OFTEN: dict[str | None, Message] = {
    said.text: said
    for said in (
        why_not("No such file or directory"),
        why_not("Permission denied"),
        why_not("Operation not permitted"),
        why_not("Read-only file system"),
        why_not("Not a directory"),
        why_not("Is a directory"),
        why_not("Input/output error"),
    )
}
"""In the operating system's own words, which the console says in other languages."""


def why(error: OSError) -> str | Message:
    """Why the operating system did not do something: what is rare, in its English alone.

    >>> str(why(OSError(errno.ENOSPC, "No space left on device")))
    'the disk is full; make room and try again'
    """
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DISK_FULL
    return _SAID_OFTEN.get(error.strerror) or error.strerror or str(error)


def cannot_write(path: object, error: OSError) -> DeniableError:
    return DeniableError(f"cannot write {path}: {why(error)}")


def check_delta(delta: float) -> float:
    """The per-report privacy level, above 0 and below 1.

    >>> check_delta(1.5)
    Traceback (most recent call last):
    deniable.errors.DeniableError: delta must be above 0 and below 1, got 1.5; 0.1 lets a guess improve by at most 5 in 100
    """  # noqa: E501  (an error is one line)
    if not isinstance(delta, Real) or not 0 < delta < 1:  # also false for NaN
        raise DeniableError(
            "delta must be above 0 and below 1, got {delta}; 0.1 lets a guess improve by at most 5 in 100", delta=delta
        )
    return float(delta)


def check_probability(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise DeniableError("{name} must be in [0, 1], got {value}", name=name, value=value)
    return float(value)


def check_epsilon(epsilon: float) -> float:
    if not 0 <= epsilon < math.inf:
        raise DeniableError(f"epsilon must be a finite number of at least 0, got {epsilon}")
    return epsilon


def check_whole(name: str | Message, value: int, least: int) -> int:
    """A public whole number (targets, rounds, reports of one person), at least `least`.

    >>> check_whole("horizon", 0, least=1)
    Traceback (most recent call last):
    deniable.errors.DeniableError: horizon must be a whole number of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise DeniableError(
            "{name} must be a whole number of at least {least}, got {value}", name=name, least=least, value=value
        )
    return int(value)


def check_hexadecimal(name: str | Message, value: object, digits: int) -> str:
    if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{digits}}}", value):
        raise DeniableError("{name} must be {digits} lower-case hexadecimal digits", name=name, digits=digits)
    return value


def check_positive(name: str, value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise DeniableError("{name} must be a positive number, got {value}", name=name, value=value)
    return float(value)
