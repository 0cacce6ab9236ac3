import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY
from tests.console.offices import CHEAP, PASSWORD

from deniable.console.accounts.passwords import Passwords
from deniable.errors import DeniableError


def test_a_password_is_recognised_and_nothing_else() -> None:
    passwords = Passwords(CHEAP)
    stored = passwords.hashed(PASSWORD)
    assert stored.startswith("$argon2id$")
    assert passwords.matches(PASSWORD, stored)
    assert not passwords.matches(PASSWORD + " ", stored)
    assert not passwords.matches("", stored)
    assert passwords.hashed(PASSWORD) != stored


def test_accents_may_be_composed_differently() -> None:
    passwords = Passwords(CHEAP)
    assert passwords.matches("cafe\u0301 au lait, deux", passwords.hashed("caf\u00e9 au lait, deux"))


def test_the_service_hashes_as_the_standard_recommends() -> None:
    """Only a test can bring another hasher; no setting of the service does."""
    assert extract_parameters(Passwords()._nobodys) == RFC_9106_LOW_MEMORY


@pytest.mark.parametrize("password", ["short", "x" * 11, "x" * 257])
def test_a_password_that_is_too_short_or_too_long(password: str) -> None:
    with pytest.raises(DeniableError, match="the password must have 12 to 256 characters"):
        Passwords(CHEAP).hashed(password)


def test_a_new_password_is_typed_twice() -> None:
    passwords = Passwords(CHEAP)
    assert passwords.matches(PASSWORD, passwords.new(PASSWORD, PASSWORD))
    with pytest.raises(DeniableError, match="the two passwords do not match"):
        passwords.new(PASSWORD, PASSWORD + "x")


def test_where_there_is_no_password_the_same_work_is_done() -> None:
    """A name that nobody has takes as long as one that somebody has."""
    checked: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # noqa: A002
            checked.append(str(hash))
            return super().verify(hash, password)

    passwords = Passwords(Counting(time_cost=1, memory_cost=8, parallelism=1))
    stored = passwords.hashed(PASSWORD)
    assert not passwords.matches(PASSWORD, None)
    assert not passwords.matches("another password", stored)
    assert [extract_parameters(hash_) for hash_ in checked] == [extract_parameters(stored)] * 2
