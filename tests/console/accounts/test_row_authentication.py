"""Somebody who can write to the database but has no key gains nothing by it; without the check of rows, they would.

What stays possible, and is documented: deleting rows, and putting back a row as it once was.
"""

import hashlib
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import PASSWORD, Office
from tests.console.test_api import PUSH, STATUS, token
from tests.console.test_app import accepted

from deniable.console import sessions, tables
from deniable.console.accounts import hotlines, invitations, people, row_authentication, tokens
from deniable.console.accounts.people import Person
from deniable.storage import layout

AUTHENTICATED = (tables.people, tables.hotlines, tables.invitations, tables.sessions, tables.tokens)


def write(office: Office, statement: str) -> None:
    """As the attacker does, past the console."""
    with office.console.store.writing() as connection:
        assert connection.execute(sa.text(statement)).rowcount > 0


def sees_counts(browser: Any) -> bool:
    answer = browser.post("/round/counts")
    return bool(answer.status_code == 200 and "31,337" in answer.text)


# The attacker is Ida, an importer, who wants to see counts; each of these does so where rows are not checked.


def another_persons_session(office: Office) -> bool:
    ida = office.browser("Ida")
    write(office, "UPDATE transient_sessions SET person = 'id-Anna' WHERE person = 'id-Ida'")
    return sees_counts(ida)


def a_higher_role(office: Office) -> bool:
    ida = office.browser("Ida")
    write(office, "UPDATE people SET role = 'auditor' WHERE id = 'id-Ida'")
    return sees_counts(ida)


def a_higher_role_before_signing_in(office: Office) -> bool:
    write(office, "UPDATE people SET role = 'auditor' WHERE id = 'id-Ida'")
    ida = office.browser()
    ida.sign_in("Ida")
    return sees_counts(ida)


def an_auditors_fields_under_ones_own_name(office: Office) -> bool:
    ida = office.browser("Ida")
    anna = "FROM people AS anna WHERE anna.id = 'id-Anna' AND people.id = 'id-Ida'"
    copied = ", ".join(f"{name} = anna.{name}" for name in ("role", "totp_salt", "authentication_code"))
    write(office, f"UPDATE people SET {copied} {anna}")
    return sees_counts(ida)


def ones_own_password_for_an_auditor(office: Office) -> bool:
    """With a telephone that lay on the auditor's desk."""
    with office.console.store.writing() as connection:
        other = office.console.passwords.hashed("known to Ida alone")
        people.set_password(connection, office.console.key, "id-Ida", other)
    write(office, "UPDATE people SET password = (SELECT password FROM people WHERE id = 'id-Ida') WHERE id = 'id-Anna'")
    ida = office.browser()
    ida.sign_in("Anna", "known to Ida alone")
    return sees_counts(ida)


def ones_own_codes_for_an_auditor(office: Office) -> bool:
    """With the auditor's password, and the id of an account whose codes one has."""
    write(office, "UPDATE people SET role = 'auditor', name = 'Anne', password = "
                  "(SELECT password FROM people WHERE id = 'id-Anna') WHERE id = 'id-Ida'")  # fmt: skip
    ida = office.browser()
    ida.sign_in("Anne", code=office.code("Ida"))
    return sees_counts(ida)


def an_auditor_who_was_disabled(office: Office) -> bool:
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, "id-Anna", True)
    write(office, "UPDATE people SET disabled = 0 WHERE id = 'id-Anna'")
    anna = office.browser()
    anna.sign_in("Anna")
    return sees_counts(anna)


def join(office: Office, link: str) -> bool:
    guest = office.browser()
    if guest.get(f"/invitation/{link}").status_code != 200:
        return False
    assert accepted(guest, f"/invitation/{link}").status_code == 303
    with office.console.store.reading() as connection:
        joined = connection.execute(sa.text("SELECT id, name, role FROM people WHERE name = 'Berta'")).one()
    office.people["Berta"] = Person(*joined)
    guest.sign_in("Berta")
    return sees_counts(guest)


def a_link_for_a_higher_role(office: Office) -> bool:
    with office.console.store.writing() as connection:
        link = invitations.invite(connection, office.console.key, "Berta", "importer", office.clock.now)
    write(office, "UPDATE transient_invitations SET role = 'auditor'")
    return join(office, link)


def a_link_that_has_expired(office: Office) -> bool:
    with office.console.store.writing() as connection:
        link = invitations.invite(connection, office.console.key, "Berta", "auditor", office.clock.now)
    office.clock.now += invitations.VALID_FOR + timedelta(days=1)
    write(office, "UPDATE transient_invitations SET until = until + 1")
    return join(office, link)


def a_link_for_new_codes_that_lets_one_join(office: Office) -> bool:
    """Without the auditor's password."""
    with office.console.store.writing() as connection:
        link = invitations.reset_codes(connection, office.console.key, "id-Anna", office.clock.now)
    write(office, "DELETE FROM people WHERE id = 'id-Anna'")
    write(office, "UPDATE transient_invitations SET joins = 1, name = 'Berta'")
    return join(office, link)


def a_token_for_more(office: Office) -> bool:
    """To push reports, with a token that is for the status."""
    headers = token(office, "status")
    write(office, "UPDATE transient_tokens SET scopes = 'reports status'")
    answer = office.browser().client.post(PUSH, json={"id": "7", "reports": {"Ash Mill": 1}}, headers=headers)
    return bool(answer.status_code == 200)


def a_token_with_anothers_scopes(office: Office) -> bool:
    """Which were copied together with its mark."""
    mine, _ = token(office, "status"), token(office, "reports")
    other = "FROM transient_tokens AS other WHERE other.scopes = 'reports' AND transient_tokens.scopes = 'status'"
    write(
        office,
        f"UPDATE transient_tokens SET scopes = other.scopes, authentication_code = other.authentication_code {other}",
    )
    answer = office.browser().client.post(PUSH, json={"id": "7", "reports": {"Ash Mill": 1}}, headers=mine)
    return bool(answer.status_code == 200)


ATTACKS = [
    another_persons_session,
    a_higher_role,
    a_higher_role_before_signing_in,
    an_auditors_fields_under_ones_own_name,
    ones_own_password_for_an_auditor,
    ones_own_codes_for_an_auditor,
    an_auditor_who_was_disabled,
    a_link_for_a_higher_role,
    a_link_that_has_expired,
    a_link_for_new_codes_that_lets_one_join,
    a_token_for_more,
    a_token_with_anothers_scopes,
]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("checked", [True, False])
def test_writing_to_the_database_gains_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, attack: Callable[[Office], bool], checked: bool
) -> None:
    """And without the check of rows each attack works."""
    office.begin().report({"Ash Mill": 31_337})
    if not checked:
        monkeypatch.setattr(row_authentication, "is_authentic", lambda *_: True)
    assert attack(office) != checked


@pytest.mark.parametrize("keyed", [True, False])
def test_nobody_without_the_key_makes_a_digest(office: Office, monkeypatch: pytest.MonkeyPatch, keyed: bool) -> None:
    """A session, a link and a token of one's own, with the digest of something chosen; marks are not checked."""
    office.begin().report({"Ash Mill": 31_337})
    monkeypatch.setattr(row_authentication, "is_authentic", lambda *_: True)
    if not keyed:
        monkeypatch.setattr(row_authentication, "digest", lambda *given: hashlib.sha256(given[-1].encode()).hexdigest())
        monkeypatch.setattr(sessions, "_times_code", lambda *_: "code")
    chosen = hashlib.sha256(b"chosen").hexdigest()
    day, minute = tables.days(office.clock.now), int(office.clock.now.timestamp()) // 60
    write(office, f"INSERT INTO transient_sessions VALUES ('{chosen}', 'id-Anna', {day}, '')")
    write(office, f"INSERT INTO transient_tokens VALUES ('id', 'mine', '{chosen}', 'status', '')")
    write(office, f"INSERT INTO transient_invitations VALUES ('{chosen}', 'id', 'Eve', 'auditor', 1, {day}, '')")
    browser = office.browser()
    assert (browser.get("/invitation/chosen").status_code == 200) != keyed
    assert (browser.get(STATUS, headers={"Authorization": "Bearer chosen"}).status_code == 200) != keyed
    browser.client.cookies.set("session", f"chosen.{minute}.{minute}.code")
    assert sees_counts(browser) != keyed


@pytest.mark.parametrize("keyed", [True, False])
def test_no_stranger_to_the_key_prolongs_a_session(
    office: Office, monkeypatch: pytest.MonkeyPatch, keyed: bool
) -> None:
    """By another row, or by another cookie."""
    office.begin().report({"Ash Mill": 31_337})
    if not keyed:
        monkeypatch.setattr(sessions, "_times_code", lambda *_: "code")
    anna = office.browser("Anna")
    name, _, _, code = (anna.cookie("session") or "").split(".")
    office.clock.now += timedelta(days=1)
    day, minute = tables.days(office.clock.now), int(office.clock.now.timestamp()) // 60
    with office.console.store.writing() as connection:
        row = connection.execute(sa.select(tables.sessions)).mappings().one()
        changed = row_authentication.authenticated(office.console.key, tables.sessions, {**row, "began": day})
        connection.execute(sa.update(tables.sessions), changed)
    assert not sees_counts(anna)
    anna.client.cookies.clear()
    anna.client.cookies.set("session", f"{name}.{minute}.{minute}.{code}")
    assert sees_counts(anna) != keyed


def rows(office: Office) -> dict[str, dict[str, Any]]:
    """One of each table."""
    with office.console.store.writing() as connection:
        key, now = office.console.key, office.clock.now
        sessions.begin(connection, key, "id-Ada", now)
        invitations.invite(connection, key, "Berta", "auditor", now)
        tokens.make(connection, key, "hotline", ["status"])
        hotlines.assign(connection, key, "hotline", "id-Ida")
        return {
            table.name: dict(connection.execute(sa.select(table)).mappings().first() or {}) for table in AUTHENTICATED
        }


def test_an_authentication_code_covers_the_whole_row(office: Office) -> None:
    found, key = rows(office), office.console.key
    for table in AUTHENTICATED:
        row = found[table.name]
        assert row_authentication.is_authentic(key, table, row)
        assert not row_authentication.is_authentic(bytes(32), table, row)
        for column in row:
            other = row[column] + 1 if isinstance(row[column], int) else row[column] + "x"
            assert not row_authentication.is_authentic(key, table, row | {column: other}), column


def test_codes_and_digests_of_one_kind_are_none_of_another(office: Office) -> None:
    row = dict.fromkeys({column.name for table in AUTHENTICATED for column in table.columns}, "same")
    made = {
        row_authentication.authenticated(office.console.key, table, row)["authentication_code"]
        for table in AUTHENTICATED
    }
    made |= {row_authentication.digest(office.console.key, kind, "same") for kind in ("session", "link", "token")}
    made |= {sessions.form_token(office.console.key, "same")}
    assert len(made) == len(AUTHENTICATED) + 4


def test_everything_that_opens_something_is_authenticated() -> None:
    """A table that is added to those of accounts is added here."""
    accounts = {table.name for table in layout.tables() if "authentication_code" in table.columns}
    assert accounts == {table.name for table in AUTHENTICATED}
    public = {"programme", "standing", "public_state", "entries", "activity"}
    kept_otherwise = public | {"lock", "secrets", "pages", "seals", "transient_remains"}
    kept_otherwise |= {"transient_used_codes", "transient_wrong_codes"}
    assert {table.name for table in layout.tables()} == accounts | kept_otherwise


def test_who_was_altered_is_shown_and_can_be_removed_and_invited_again(office: Office) -> None:
    ada, ida = office.browser("Ada"), office.browser("Ida")
    assert "altered outside the console" not in ada.get("/people").text
    write(office, "UPDATE people SET role = 'auditor' WHERE id = 'id-Ida'")
    page = ada.get("/people").text
    assert page.count("altered outside the console") == 1
    assert ida.get("/report").headers["location"].startswith("/login")
    assert "/people/id-Ida/remove" in page
    for change in ("enable", "disable", "reset"):  # none of them makes it believed
        assert f"/people/id-Ida/{change}" not in page
        answer = ada.post(f"/people/id-Ida/{change}")
        assert answer.status_code == 422
        assert "altered outside the console" in answer.text
        assert "Ida" not in "".join(re.findall("Who may see counts.*", ada.get("/activity").text))
    assert ada.post("/people/id-Ida/remove").status_code == 303
    assert "altered outside the console" not in ada.get("/people").text
    assert ada.post("/people/invite", {"name": "Ida", "role": "importer"}).status_code == 200


def test_an_altered_link_or_token_is_shown_and_can_be_taken_away(office: Office) -> None:
    ada = office.browser("Ada")
    ada.post("/people/invite", {"name": "Berta", "role": "importer"})
    ada.post("/tokens/new", {"name": "hotline", "scope": "status"})
    write(office, "UPDATE transient_invitations SET role = 'auditor'")
    write(office, "UPDATE transient_tokens SET scopes = 'reports'")
    for path, action in (("/people", "withdraw"), ("/tokens", "revoke")):
        page = ada.get(path).text
        assert "altered outside the console" in page
        found = re.search(rf"{path}/\w+/{action}", page)
        assert found is not None
        assert ada.post(found[0]).status_code == 303
        assert "altered outside the console" not in ada.get(path).text


def test_an_altered_row_takes_nobodys_place(office: Office) -> None:
    """Somebody of nearly the same name, in a row that comes first."""
    copied = "role, password, totp_salt, 0, authentication_code FROM people WHERE id = 'id-Anna'"
    write(office, f"INSERT INTO people SELECT 'a', 'ANNA', {copied}")
    assert office.browser().sign_in("Anna", PASSWORD).status_code == 303


def test_where_everybody_was_altered_there_is_no_first_run(office: Office) -> None:
    write(office, "UPDATE people SET role = 'auditor'")
    with office.console.store.writing() as connection:
        assert invitations.invite_first(connection, office.console.key, office.clock.now) is None
