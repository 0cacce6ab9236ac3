"""People, passwords, one-time codes, links, tokens and the activity log."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY
from pyotp import TOTP
from tests.programme.insight import everything
from tests.web.offices import CHEAP, PASSWORD, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import backup, tables
from deniable.programme.keys import KeyFile
from deniable.web import accounts
from deniable.web.accounts import Passwords
from deniable.web.console import CONSOLE_KEY, Console

KEY = bytes(range(32))
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
def connection(office: Office) -> Iterator[sa.Connection]:
    with office.console.store.writing() as connection:
        yield connection


def test_a_password_is_recognised_and_nothing_else() -> None:
    passwords = Passwords(CHEAP)
    stored = passwords.hashed(PASSWORD)
    assert stored.startswith("$argon2id$")
    assert passwords.fits(PASSWORD, stored)
    assert not passwords.fits(PASSWORD + " ", stored)
    assert not passwords.fits("", stored)
    assert passwords.hashed(PASSWORD) != stored


def test_accents_may_be_composed_differently() -> None:
    passwords = Passwords(CHEAP)
    assert passwords.fits("cafe\u0301 au lait, deux", passwords.hashed("caf\u00e9 au lait, deux"))


def test_the_service_hashes_as_the_standard_recommends() -> None:
    """Only a test can bring another hasher; no setting of the service does."""
    assert extract_parameters(Passwords()._nobodys) == RFC_9106_LOW_MEMORY


@pytest.mark.parametrize("password", ["short", "x" * 11, "x" * 257])
def test_a_password_that_is_too_short_or_too_long(password: str) -> None:
    with pytest.raises(DeniableError, match="the password must have 12 to 256 characters"):
        Passwords(CHEAP).hashed(password)


def test_where_there_is_no_password_the_same_work_is_done() -> None:
    """A name that nobody has takes as long as one that somebody has."""
    checked: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # noqa: A002
            checked.append(str(hash))
            return super().verify(hash, password)

    passwords = Passwords(Counting(time_cost=1, memory_cost=8, parallelism=1))
    stored = passwords.hashed(PASSWORD)
    assert not passwords.fits(PASSWORD, None)
    assert not passwords.fits("another password", stored)
    assert [extract_parameters(hash_) for hash_ in checked] == [extract_parameters(stored)] * 2


def test_codes_are_those_of_the_standard() -> None:
    """RFC 6238, appendix B, for SHA-1, six digits."""
    totp = TOTP("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    assert accounts.matching_step(totp, "287082", datetime.fromtimestamp(59, UTC)) == 1
    assert accounts.matching_step(totp, "081 804", datetime.fromtimestamp(1111111109, UTC)) == 1111111109 // 30


def test_everybody_and_every_generation_has_codes_of_its_own() -> None:
    secrets = {accounts.codes(KEY, person, generation).secret for person in ("a", "b") for generation in (1, 2, 11)}
    secrets |= {accounts.codes(bytes(32), "a", 1).secret}
    assert len(secrets) == 7
    assert {len(secret) for secret in secrets} == {32}


@pytest.mark.parametrize(("late", "accepted"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
def test_clocks_may_differ_by_half_a_minute(late: int, accepted: bool) -> None:
    totp = accounts.codes(KEY, "a", 1)
    found = accounts.matching_step(totp, totp.at(NOW), NOW + timedelta(seconds=late))
    assert (found is not None) == accepted


@pytest.mark.parametrize("code", ["", "1", "12345", "1234567", "abcdef", "１２３４５６", "🙂"])
def test_what_is_no_code(code: str) -> None:
    assert accounts.matching_step(accounts.codes(KEY, "a", 1), code, NOW) is None


def test_a_code_is_accepted_once(connection: sa.Connection) -> None:
    assert not accounts.use_code(connection, "id-Ada", None)
    assert accounts.use_code(connection, "id-Ada", 100)
    assert not accounts.use_code(connection, "id-Ada", 100)
    assert not accounts.use_code(connection, "id-Ada", 99)
    assert accounts.use_code(connection, "id-Ada", 101)
    assert accounts.use_code(connection, "id-Otto", 100)


def test_names_are_found_however_they_are_written(connection: sa.Connection) -> None:
    for written in ("Ada", "ada", " ADA ", "Ａｄａ"):
        found = accounts.account(connection, written)
        assert found is not None
        assert found.person.id == "id-Ada"
    assert accounts.account(connection, "Adam") is None


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "a\x07b", "a\u202eb"])
def test_names_that_are_refused(connection: sa.Connection, name: str) -> None:
    with pytest.raises(DeniableError, match="1 to 60 printable characters"):
        accounts.invite(connection, name, "auditor", NOW)


def test_no_two_people_have_the_same_name(connection: sa.Connection) -> None:
    accounts.invite(connection, "Berta", "auditor", NOW)
    for name in ("ada", "BERTA"):
        with pytest.raises(DeniableError, match="somebody called"):
            accounts.invite(connection, name, "auditor", NOW)


def test_an_unknown_role(connection: sa.Connection) -> None:
    with pytest.raises(DeniableError, match="the role must be one of: administrator, operator, importer, auditor"):
        accounts.invite(connection, "Berta", "god", NOW)


def test_a_link_works_once(connection: sa.Connection) -> None:
    token = accounts.invite(connection, "Berta", "auditor", NOW)
    invited = accounts.invitation(connection, token, NOW)
    assert invited is not None
    assert (invited.person.name, invited.person.role, invited.exists, invited.is_first) == (
        "Berta",
        "auditor",
        False,
        False,
    )
    person = accounts.accept(connection, token, NOW, name="ignored", password="hash", step=7)
    assert person == invited.person
    assert accounts.account_of(connection, person.id).person == person
    assert not accounts.use_code(connection, person.id, 7)
    assert accounts.invitation(connection, token, NOW) is None
    with pytest.raises(DeniableError, match="this link was used or has expired"):
        accounts.accept(connection, token, NOW, name="", password="hash", step=8)


def test_a_link_expires(connection: sa.Connection) -> None:
    token = accounts.invite(connection, "Berta", "auditor", NOW)
    later = NOW + accounts.INVITED_FOR
    assert accounts.invitation(connection, token, later - timedelta(minutes=1)) is not None
    assert accounts.invitation(connection, token, later) is None
    accounts.invite(connection, "Berta", "auditor", later)  # its name is free again


def test_a_link_can_be_withdrawn(connection: sa.Connection) -> None:
    token = accounts.invite(connection, "Berta", "auditor", NOW)
    berta = next(one.person for one in accounts.listed(connection) if not one.has_joined)
    assert accounts.withdraw_invitation(connection, berta.id) == "Berta"
    assert accounts.invitation(connection, token, NOW) is None
    with pytest.raises(DeniableError, match="no such link"):
        accounts.withdraw_invitation(connection, berta.id)


def test_the_database_does_not_have_what_opens_doors(office: Office) -> None:
    with office.console.store.writing() as connection:
        link = accounts.invite(connection, "Berta", "auditor", NOW)
        token = accounts.make_token(connection, "hotline", ["reports"])
    browser = office.browser("Ada")
    stored = repr(everything(str(office.console.store.url.database)))
    secret = accounts.codes(office.console.key, "id-Ada", 1).secret
    for opens in (link, token, browser.cookie("session"), PASSWORD, secret, office.console.key.hex()):
        assert opens is not None
        assert opens not in stored
    assert accounts.digest(token) in stored  # the check would see it


def test_the_first_administrator_chooses_a_name(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    with office.console.store.writing() as connection:
        old = accounts.invite_first(connection, NOW)
        new = accounts.invite_first(connection, NOW)
        assert old is not None
        assert new is not None
        assert accounts.invitation(connection, old, NOW) is None  # printed at an earlier start
        person = accounts.accept(connection, new, NOW, name="Ada", password="hash", step=1)
        assert (person.name, person.role) == ("Ada", "administrator")
        assert accounts.invite_first(connection, NOW) is None


def test_one_administrator_always_stays(connection: sa.Connection) -> None:
    with pytest.raises(DeniableError, match="the last administrator cannot be disabled"):
        accounts.set_disabled(connection, "id-Ada", True)
    accounts.add(connection, accounts.Person("2", "Second", "administrator"), "hash", 1)
    accounts.set_disabled(connection, "id-Ada", True)
    with pytest.raises(DeniableError, match="the last administrator"):
        accounts.set_disabled(connection, "2", True)
    accounts.set_disabled(connection, "id-Ada", False)


def test_new_codes_make_the_old_ones_useless(connection: sa.Connection) -> None:
    token = accounts.reset_codes(connection, "id-Otto", NOW)
    between = accounts.account_of(connection, "id-Otto").generation
    invited = accounts.invitation(connection, token, NOW)
    assert invited is not None
    assert invited.exists
    assert len({1, between, invited.generation}) == 3  # nobody can sign in until the link is used
    accounts.accept(connection, token, NOW, name="", password="ignored", step=5)
    after = accounts.account_of(connection, "id-Otto")
    assert after.generation == invited.generation
    assert CHEAP.verify(after.password, PASSWORD)


def test_a_link_that_was_replaced_shows_codes_that_never_serve(connection: sa.Connection) -> None:
    """Somebody may have looked at it: what it showed must not become what signs in later."""
    shown = set()
    for _ in range(3):
        token = accounts.reset_codes(connection, "id-Otto", NOW)
        assert accounts.account_of(connection, "id-Otto").generation not in shown
        invited = accounts.invitation(connection, token, NOW)
        assert invited is not None
        assert invited.generation not in shown
        shown.add(invited.generation)


def test_who_is_disabled_gets_no_new_codes(connection: sa.Connection) -> None:
    token = accounts.reset_codes(connection, "id-Otto", NOW)
    accounts.set_disabled(connection, "id-Otto", True)
    assert accounts.invitation(connection, token, NOW) is None
    with pytest.raises(DeniableError, match="Otto is disabled"):
        accounts.reset_codes(connection, "id-Otto", NOW)


def test_nobody_of_that_id(connection: sa.Connection) -> None:
    for change in (
        lambda: accounts.set_disabled(connection, "x", True),
        lambda: accounts.reset_codes(connection, "x", NOW),
    ):
        with pytest.raises(DeniableError, match="no such person"):
            change()


def test_tokens(connection: sa.Connection) -> None:
    secret = accounts.make_token(connection, "hotline", ["status", "reports"])
    found = accounts.token(connection, secret)
    assert found is not None
    assert (found.name, found.scopes) == ("hotline", ("reports", "status"))
    assert accounts.token(connection, secret[:-1]) is None
    with pytest.raises(DeniableError, match="a token called Hotline already"):
        accounts.make_token(connection, "Hotline", ["status"])
    for scopes in ([], ["people"], ["status", "people"]):
        with pytest.raises(DeniableError, match="must be for one or more of: reports, status"):
            accounts.make_token(connection, "other", scopes)
    assert accounts.revoke_token(connection, found.id) == "hotline"
    assert accounts.token(connection, secret) is None
    with pytest.raises(DeniableError, match="no such token"):
        accounts.revoke_token(connection, found.id)


def test_the_log_knows_the_day_and_no_more(connection: sa.Connection) -> None:
    accounts.record(connection, NOW, "Ada", "invited Berta as auditor")
    accounts.record(connection, NOW + timedelta(days=1), "Otto", "closed round 1")
    assert accounts.activity(connection, 10) == [
        accounts.Deed("2026-01-06", "Otto", "closed round 1"),
        accounts.Deed("2026-01-05", "Ada", "invited Berta as auditor"),
    ]
    assert len(accounts.activity(connection, 1)) == 1


def test_a_backup_has_the_people_but_no_sessions_and_no_links(office: Office, tmp_path: Path) -> None:
    """Whoever was shut out since must not be signed in again, and a link that was used must stay used."""
    office.begin()
    office.browser("Ada")
    with office.console.store.writing() as connection:
        accounts.invite(connection, "Berta", "auditor", NOW)
        accounts.make_token(connection, "hotline", ["reports"])
        accounts.record(connection, NOW, "Ada", "invited Berta as auditor")
    before = everything(str(office.console.store.url.database))
    backup.write(office.console.store, tmp_path / "backup")
    restored = str(tmp_path / "restored.db")
    backup.restore(tmp_path / "backup", restored, never_published=True)
    after = everything(restored)
    assert len(before["sessions"]) == len(before["invitations"]) == 1
    people = [person | {"last_code": 0} for person in before["people"]]  # when they last signed in
    assert after == before | {"sessions": [], "invitations": [], "people": people}
    assert [one["name"] for one in after["people"]] == ["Ada", "Anna", "Ida", "Otto"]


def test_the_console_key_outlives_a_change_of_the_key_and_the_end(office: Office, tmp_path: Path) -> None:
    """Otherwise everybody's one-time codes would be lost with it."""
    programme = office.begin()
    key = office.console.key
    new = KeyFile(tmp_path / "new.key")
    programme.rekey(new)
    programme.end("The pilot is over.")
    again = Console.open(str(office.console.store.url.database), new, clock=office.clock)
    assert again.key == key
    again.close()


def test_the_console_key_is_sealed(office: Office) -> None:
    with office.console.store.reading() as connection:
        found = sa.select(tables.secrets.c.blob).where(tables.secrets.c.name == CONSOLE_KEY)
        blob = bytes(connection.execute(found).scalar_one())
    assert office.console.key not in blob
    assert office.console.vault.open(CONSOLE_KEY, blob) == office.console.key


def test_a_console_that_could_not_be_made_leaves_no_key_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise DeniableError("no")

    monkeypatch.setattr("deniable.programme.store._migrate", fails)
    with pytest.raises(DeniableError, match="no"):
        Console.open(str(tmp_path / "console.db"), KeyFile(tmp_path / "console.key"))
    assert list(tmp_path.iterdir()) == []
