"""How many wrong one-time codes followed a right password."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "transient_wrong_codes",
        sa.Column("person", sa.Text, primary_key=True, comment="empty for all names that no person has"),
        sa.Column(
            "browser", sa.Text, primary_key=True, comment="known where the person signed in with it before, or else new"
        ),
        sa.Column("day", sa.Integer, nullable=False, comment="of the last sign-in that failed, in days since 1970"),
        sa.Column("on_day", sa.Integer, nullable=False, comment="wrong codes on that day, after the right password"),
        sa.Column("in_month", sa.Integer, nullable=False, comment="wrong codes in that month"),
        sa.Column("untold", sa.Integer, nullable=False, comment="wrong codes that the person has not been told of"),
        sqlite_strict=True,
    )


def downgrade() -> None:
    op.drop_table("transient_wrong_codes")
