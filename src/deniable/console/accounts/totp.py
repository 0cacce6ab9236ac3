"""One-time codes (RFC 6238). Their secrets are derived from the console's key, not stored."""

import hmac
import secrets
from base64 import b32encode
from datetime import datetime

import pyotp
import sqlalchemy as sa

from deniable.console import tables

STEP = 30
"""Seconds a code lasts; the one before and the one after are accepted too, for clocks that differ."""


def new_salt() -> str:
    """One whose codes were never shown."""
    return secrets.token_hex(32)


def totp(key: bytes, person: str, salt: str) -> pyotp.TOTP:
    """A person's codes. Another salt makes them useless."""
    secret = hmac.digest(key, f"codes:{person}:{salt}".encode(), "sha256")[:20]
    return pyotp.TOTP(b32encode(secret).decode("ascii"), interval=STEP)


def matching_step(codes: pyotp.TOTP, code: str, now: datetime) -> int | None:
    """The half minute this code belongs to, if it is this one, the one before or the one after."""
    step, typed = int(now.timestamp()) // STEP, "".join(code.split()).encode()
    found = None
    for near in (step - 1, step, step + 1):
        if hmac.compare_digest(codes.generate_otp(near).encode(), typed):
            found = near
    return found


def use(connection: sa.Connection, key: bytes, person: str, step: int | None) -> bool:
    """Accept a code once: neither it nor an older one is accepted again.

    The last one is at most two half minutes ahead of any that fits now. Where it is further ahead, the clock was set
    back since, and the person is not locked out until it has caught up.
    """
    if step is None:
        return False
    last = connection.execute(
        sa.select(tables.used_codes.c.digest).where(tables.used_codes.c.person == person)
    ).scalar()
    if last in {_digest(key, person, near) for near in (step, step + 1, step + 2)}:
        return False
    set_used(connection, key, person, step)
    return True


def set_used(connection: sa.Connection, key: bytes, person: str, step: int | None) -> None:
    """Accept no code up to this half minute; with None, as if none had been used."""
    connection.execute(sa.delete(tables.used_codes).where(tables.used_codes.c.person == person))
    if step is not None:
        connection.execute(sa.insert(tables.used_codes), {"person": person, "digest": _digest(key, person, step)})


def _digest(key: bytes, person: str, step: int) -> str:
    """What the database keeps of a half minute, so that it does not tell when the person signed in."""
    return hmac.digest(key, f"used code:{person}:{step}".encode(), "sha256").hex()
