"""The tables of a programme: public facts; and ciphertexts whose number and size follow from public facts, but for the
known reports, which tell how many hotlines there are and roughly how many reports they brought.
"""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
    select,
    update,
)

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
    sqlite_strict=True,
)

standing = Table(
    "standing",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("head", Text, nullable=False, comment="the signed head of the transcript"),
    Column("folder", Text, comment="where it was last published"),
    sqlite_strict=True,
)
"""Where the programme stands. It is read with every report; what is large is in tables of its own."""

public_state = Table(
    "public_state",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("blob", LargeBinary, nullable=False, comment="what the world knows after the last entry"),
    sqlite_strict=True,
)

entries = Table(
    "entries",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("round", Integer, nullable=False, index=True),
    Column("line", Text, nullable=False),
    Column("root", Text, nullable=False, unique=True, comment="of the hash tree of the entries up to this one"),
    sqlite_strict=True,
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("blob", LargeBinary, nullable=False),
    sqlite_strict=True,
)

pages = Table(
    "pages",
    metadata,
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("blob", LargeBinary, nullable=False, comment="what came in at one tick, perhaps nothing"),
    sqlite_strict=True,
)

remains = Table(
    "transient_remains",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("mark", Text, nullable=False, comment="random, another one for every transaction that deletes secrets"),
    sqlite_strict=True,
)
"""A row while deleted secrets may still stand in freed pages or in the log (`Store.scrub`)."""

seals = Table(
    "seals",
    metadata,
    Column("entry", Integer, ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    Column("blob", LargeBinary, nullable=False, comment="for the oversight body alone"),
    sqlite_strict=True,
)

# Asked with nearly every request, so each is made once.
HEAD_AND_FOLDER = select(standing.c.head, standing.c.folder)
SECRET = select(secrets.c.blob).where(secrets.c.name == bindparam("name"))
"""The blob of the secret with this `name`."""


def put(connection: Connection, table: Table, key: str | int, blob: bytes) -> None:
    """Store a blob under its key: in the same row, where there is one."""
    (column,) = table.primary_key.columns
    if not connection.execute(update(table).where(column == key), {"blob": blob}).rowcount:
        connection.execute(insert(table), {column.name: key, "blob": blob})
