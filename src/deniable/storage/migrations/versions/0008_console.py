"""The tables of the console: who may work with the programme in it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("password", sa.Text, nullable=False, comment="Argon2id"),
        sa.Column(
            "totp_salt", sa.Text, nullable=False, comment="of the one-time codes, whose secret needs the key too"
        ),
        sa.Column("disabled", sa.Integer, nullable=False),
        sa.Column("authentication_code", sa.Text, nullable=False, comment="HMAC of the row under the console's key"),
        sqlite_strict=True,
    )
    op.create_table(
        "transient_invitations",
        sa.Column("digest", sa.Text, primary_key=True, comment="HMAC of what the link ends in"),
        sa.Column(
            "person", sa.Text, nullable=False, unique=True, comment="the id of who is invited, or of who has new codes"
        ),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("joins", sa.Integer, nullable=False, comment="0 where the person exists and sets up new codes"),
        sa.Column("until", sa.Integer, nullable=False, comment="the last day, in days since 1970"),
        sa.Column("authentication_code", sa.Text, nullable=False, comment="HMAC of the row under the console's key"),
        sqlite_strict=True,
    )
    op.create_table(
        "transient_sessions",
        sa.Column("digest", sa.Text, primary_key=True, comment="HMAC of the cookie"),
        sa.Column("person", sa.Text, sa.ForeignKey("people.id"), nullable=False),
        sa.Column("began", sa.Integer, nullable=False, comment="the day, in days since 1970"),
        sa.Column("authentication_code", sa.Text, nullable=False, comment="HMAC of the row under the console's key"),
        sqlite_strict=True,
    )
    op.create_table(
        "transient_used_codes",
        sa.Column("person", sa.Text, sa.ForeignKey("people.id"), primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, comment="HMAC of the half minute of the last code accepted"),
        sqlite_strict=True,
    )
    op.create_table(
        "transient_tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True, comment="HMAC of the token"),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("authentication_code", sa.Text, nullable=False, comment="HMAC of the row under the console's key"),
        sqlite_strict=True,
    )
    op.create_table(
        "transient_hotlines",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, nullable=False, comment="the id of who brings its exports"),
        sa.Column("authentication_code", sa.Text, nullable=False, comment="HMAC of the row under the console's key"),
        sqlite_strict=True,
    )
    op.create_table(
        "activity",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False, comment="JSON: an English text and the values in it"),
        sa.Column("about", sa.Text, nullable=False, comment="programme, people or reports"),
        sqlite_strict=True,
    )


def downgrade() -> None:
    transient = ("hotlines", "tokens", "used_codes", "sessions", "invitations")
    for table in ("activity", *(f"transient_{name}" for name in transient), "people"):
        op.drop_table(table)
