"""The tables of a programme. No earlier layout can be upgraded."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "lock",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        sa.Column("programme", sa.Text, nullable=False, comment="the programme's id, to which its secrets are bound"),
        sa.Column("kdf", sa.Text, comment="how the passphrase becomes a key; none with a key file"),
        sqlite_strict=True,
    )
    op.create_table(
        "programme",
        sa.Column(
            "id", sa.Integer, sa.CheckConstraint("id = 1", name="only_one"), primary_key=True, autoincrement=False
        ),
        sa.Column("parameters", sa.Text, nullable=False, comment="programme.json, to the letter"),
        sqlite_strict=True,
    )
    op.create_table(
        "standing",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        sa.Column("head", sa.Text, nullable=False, comment="the signed head of the transcript"),
        sa.Column("folder", sa.Text, comment="where it was last published"),
        sqlite_strict=True,
    )
    op.create_table(
        "public_state",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        sa.Column("blob", sa.LargeBinary, nullable=False, comment="what the world knows after the last entry"),
        sqlite_strict=True,
    )
    op.create_table(
        "entries",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("round", sa.Integer, nullable=False, index=True),
        sa.Column("line", sa.Text, nullable=False),
        sa.Column(
            "root", sa.Text, nullable=False, unique=True, comment="of the hash tree of the entries up to this one"
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("blob", sa.LargeBinary, nullable=False),
        sqlite_strict=True,
    )
    op.create_table(
        "pages",
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("blob", sa.LargeBinary, nullable=False, comment="what came in at one tick, perhaps nothing"),
        sqlite_strict=True,
    )
    op.create_table(
        "transient_remains",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        sa.Column(
            "mark", sa.Text, nullable=False, comment="random, another one for every transaction that deletes secrets"
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "seals",
        sa.Column("entry", sa.Integer, sa.ForeignKey("entries.number"), primary_key=True, autoincrement=False),
        sa.Column("blob", sa.LargeBinary, nullable=False, comment="for the oversight body alone"),
        sqlite_strict=True,
    )


def downgrade() -> None:
    names = (
        "seals",
        "transient_remains",
        "pages",
        "secrets",
        "entries",
        "public_state",
        "standing",
        "programme",
        "lock",
    )
    for table in names:
        op.drop_table(table)
