import hmac
from base64 import b32encode
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from pyotp import TOTP

from deniable.console.accounts import totp

KEY = bytes(range(32))


def test_codes_are_those_of_the_standard() -> None:
    """RFC 6238, appendix B, for SHA-1, six digits."""
    codes = TOTP("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    assert totp.matching_step(codes, "287082", datetime.fromtimestamp(59, UTC)) == 1
    assert totp.matching_step(codes, "081 804", datetime.fromtimestamp(1111111109, UTC)) == 1111111109 // 30


def test_everybody_and_every_salt_has_codes_of_its_own() -> None:
    secrets = {totp.totp(KEY, person, salt).secret for person in ("a", "b") for salt in ("1", "2", "11")}
    secrets |= {totp.totp(bytes(32), "a", "1").secret}
    assert len(secrets) == 7
    assert {len(secret) for secret in secrets} == {32}
    assert len({totp.new_salt() for _ in range(10)}) == 10


def test_what_is_derived_from_the_key_for_codes_serves_nothing_else() -> None:
    derived = hmac.digest(KEY, b"codes:a:salt", "sha256")
    assert totp.totp(KEY, "a", "salt").secret == b32encode(derived[:20]).decode()


@pytest.mark.parametrize(("late", "accepted"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
def test_clocks_may_differ_by_half_a_minute(late: int, accepted: bool, now: datetime) -> None:
    codes = totp.totp(KEY, "a", "1")
    found = totp.matching_step(codes, codes.at(now), now + timedelta(seconds=late))
    assert (found is not None) == accepted


@pytest.mark.parametrize("code", ["", "1", "12345", "1234567", "abcdef", "１２３４５６", "🙂"])
def test_what_is_no_code(code: str, now: datetime) -> None:
    assert totp.matching_step(totp.totp(KEY, "a", "1"), code, now) is None


def test_a_code_is_accepted_once(connection: sa.Connection) -> None:
    assert not totp.use(connection, KEY, "id-Ada", None)
    assert totp.use(connection, KEY, "id-Ada", 100)
    assert not totp.use(connection, KEY, "id-Ada", 100)
    assert not totp.use(connection, KEY, "id-Ada", 99)
    assert totp.use(connection, KEY, "id-Ada", 101)
    assert totp.use(connection, KEY, "id-Otto", 100)


def test_a_clock_that_was_set_back_locks_no_person_out(connection: sa.Connection) -> None:
    tomorrow = 24 * 3600 // totp.STEP
    assert totp.use(connection, KEY, "id-Ada", tomorrow)
    assert totp.use(connection, KEY, "id-Ada", 0)
    assert not totp.use(connection, KEY, "id-Ada", 0)
    assert not totp.use(connection, KEY, "id-Ada", -1)


def test_the_half_minute_is_not_stored(connection: sa.Connection) -> None:
    stored = set()
    for step in (58_000_000, 58_000_001):
        totp.set_used(connection, KEY, "id-Ada", step)
        stored |= {*connection.execute(sa.text("SELECT digest FROM transient_used_codes")).scalars()}
    assert {len(one) for one in stored} == {64}
    assert len(stored) == 2
