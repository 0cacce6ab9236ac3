"""The tables of a programme's database: public facts; ciphertexts whose number and size follow from public facts,
but for the known reports, which tell how many hotlines there are and roughly how many reports they brought; and who may
work with it in the console. All are here, so that a backup has them whether or not the console is installed.
"""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

lock = Table(
    "lock",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("programme", Text, nullable=False, comment="the programme's id, to which its secrets are bound"),
    Column("kdf", Text, comment="how the passphrase becomes a key; none with a key file"),
    sqlite_strict=True,
)

programme = Table(
    "programme",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("parameters", Text, nullable=False, comment="programme.json, to the letter"),
    Column("state", Text, nullable=False, comment="what the world knows after the last entry"),
    Column("head", Text, nullable=False, comment="the signed head of the transcript"),
    Column("folder", Text, comment="where it was last published"),
    sqlite_strict=True,
)

entries = Table(
    "entries",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("round", Integer, nullable=False, index=True),
    Column("line", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    sqlite_strict=True,
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("blob", LargeBinary, nullable=False),
    sqlite_strict=True,
)

seals = Table(
    "seals",
    metadata,
    Column("entry", Integer, ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    Column("blob", LargeBinary, nullable=False, comment="for the oversight body alone"),
    sqlite_strict=True,
)

people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("password", Text, nullable=False, comment="Argon2id"),
    Column("codes", Text, nullable=False, comment="salt of the one-time codes; their secret needs the key too"),
    Column("last_code", Integer, nullable=False, comment="the half minute of the last code accepted"),
    Column("disabled", Integer, nullable=False),
    Column("mark", Text, nullable=False, comment="HMAC of the row under the console's key"),
    sqlite_strict=True,
)

invitations = Table(
    "invitations",
    metadata,
    Column("digest", Text, primary_key=True, comment="HMAC of what the link ends in"),
    Column("person", Text, nullable=False, unique=True, comment="the id of who is invited, or of who has new codes"),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("joins", Integer, nullable=False, comment="0 where the person exists and sets up new codes"),
    Column("until", Integer, nullable=False, comment="minutes since 1970"),
    Column("mark", Text, nullable=False, comment="HMAC of the row under the console's key"),
    sqlite_strict=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True, comment="HMAC of the cookie"),
    Column("person", Text, ForeignKey("people.id"), nullable=False),
    Column("began", Integer, nullable=False, comment="minutes since 1970"),
    Column("used", Integer, nullable=False, comment="minutes since 1970"),
    Column("mark", Text, nullable=False, comment="HMAC of the row under the console's key"),
    sqlite_strict=True,
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False, unique=True, comment="HMAC of the token"),
    Column("scopes", Text, nullable=False),
    Column("mark", Text, nullable=False, comment="HMAC of the row under the console's key"),
    sqlite_strict=True,
)

hotlines = Table(
    "hotlines",
    metadata,
    Column("name", Text, primary_key=True),
    Column("person", Text, nullable=False, comment="the id of who brings its exports"),
    Column("mark", Text, nullable=False, comment="HMAC of the row under the console's key"),
    sqlite_strict=True,
)

activity = Table(
    "activity",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("day", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("deed", Text, nullable=False),
    Column("about", Text, nullable=False, comment="people or programme"),
    sqlite_strict=True,
)

BACKED_UP = tuple(table for table in metadata.sorted_tables if table not in (sessions, invitations))
"""All but what must not come to life again with an old backup: who was signed in, and links that were used since."""
