"""The tables of the console: who may work with the programme in it, and what they did.

The migrations of `deniable.storage` make them in every database, and a backup has all but the transient ones.
"""

from datetime import date, datetime, timedelta

from sqlalchemy import Column, ForeignKey, Integer, MetaData, Table, Text

from deniable.storage.layout import TRANSIENT

metadata = MetaData()

EPOCH = date(1970, 1, 1)


def days(now: datetime) -> int:
    """How the tables keep a moment: in days since 1970 (UTC), so that a copy does not tell who worked when."""
    return int(now.timestamp()) // (24 * 3600)


def day_of(number: int) -> date:
    """The day that the tables keep as this number."""
    return EPOCH + timedelta(days=number)


def _authentication_code() -> Column[str]:
    return Column("authentication_code", Text, nullable=False, comment="HMAC of the row under the console's key")


people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("password", Text, nullable=False, comment="Argon2id"),
    Column("totp_salt", Text, nullable=False, comment="of the one-time codes, whose secret needs the key too"),
    Column("disabled", Integer, nullable=False),
    _authentication_code(),
    sqlite_strict=True,
)

used_codes = Table(
    f"{TRANSIENT}used_codes",
    metadata,
    Column("person", Text, ForeignKey("people.id"), primary_key=True),
    Column("digest", Text, nullable=False, comment="HMAC of the half minute of the last code accepted"),
    sqlite_strict=True,
)
"""Not authenticated: an attacker who puts back a row can use a code again, if they have it and the password, while it
lasts. Neither the database nor a backup tells when a person last signed in.
"""

wrong_codes = Table(
    f"{TRANSIENT}wrong_codes",
    metadata,
    Column("person", Text, primary_key=True, comment="empty for all names that no person has"),
    Column("browser", Text, primary_key=True, comment="known where the person signed in with it before, or else new"),
    Column("day", Integer, nullable=False, comment="of the last sign-in that failed, in days since 1970"),
    Column("on_day", Integer, nullable=False, comment="wrong codes on that day, after the right password"),
    Column("in_month", Integer, nullable=False, comment="wrong codes in that month"),
    Column("untold", Integer, nullable=False, comment="wrong codes that the person has not been told of"),
    sqlite_strict=True,
)
"""Not authenticated: an attacker who deletes rows can guess on, if they have the password."""

invitations = Table(
    f"{TRANSIENT}invitations",
    metadata,
    Column("digest", Text, primary_key=True, comment="HMAC of what the link ends in"),
    Column("person", Text, nullable=False, unique=True, comment="the id of who is invited, or of who has new codes"),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("joins", Integer, nullable=False, comment="0 where the person exists and sets up new codes"),
    Column("until", Integer, nullable=False, comment="the last day, in days since 1970"),
    _authentication_code(),
    sqlite_strict=True,
)

sessions = Table(
    f"{TRANSIENT}sessions",
    metadata,
    Column("digest", Text, primary_key=True, comment="HMAC of the cookie"),
    Column("person", Text, ForeignKey("people.id"), nullable=False),
    Column("began", Integer, nullable=False, comment="the day, in days since 1970"),
    _authentication_code(),
    sqlite_strict=True,
)

tokens = Table(
    f"{TRANSIENT}tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False, unique=True, comment="HMAC of the token"),
    Column("scopes", Text, nullable=False),
    _authentication_code(),
    sqlite_strict=True,
)

hotlines = Table(
    f"{TRANSIENT}hotlines",
    metadata,
    Column("name", Text, primary_key=True),
    Column("person", Text, nullable=False, comment="the id of who brings its exports"),
    _authentication_code(),
    sqlite_strict=True,
)

activity = Table(
    "activity",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("day", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("action", Text, nullable=False, comment="JSON: an English text and the values in it"),
    Column("about", Text, nullable=False, comment="programme, people or reports"),
    sqlite_strict=True,
)
