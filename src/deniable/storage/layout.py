"""The layout of a database: its migrations, and the tables that they make."""

from functools import cache
from pathlib import Path
from threading import Lock

import sqlalchemy as sa

from deniable.errors import DeniableError

LAYOUTS = ("0007", "0008", "0009")
"""Every migration, the newest last. No release made a database of an earlier layout that can be upgraded."""

LAYOUT = LAYOUTS[-1]

TRANSIENT = "transient_"
"""A table whose name begins so is not backed up: what it holds must not come to life again with an old backup.

Sessions, links, used and wrong codes, tokens and who brings a hotline. People are backed up, or no person could sign in
after a restore: those who were disabled or removed since the backup, and their old passwords, do come to life again.
"""

_one_at_a_time = Lock()  # Alembic keeps the migration that runs in a global variable


def migrate(connection: sa.Connection) -> None:
    """Bring a database, which may be empty, to the newest layout."""
    from alembic import command  # noqa: PLC0415  # slow to import, and only needed here
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util.exc import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        with _one_at_a_time:
            command.upgrade(config, "head")
    except CommandError:
        raise DeniableError(
            "the database has a layout that this version of deniable does not know: newer than "
            "{layout}, or too old; use the version that made it",
            layout=LAYOUT,
        ) from None


@cache
def tables() -> tuple[sa.Table, ...]:
    """All tables of the newest layout, each after those it refers to.

    They are read from an empty database in memory, so they are the same for SQLite and PostgreSQL, whether or not the
    console is installed, and whatever else an administrator keeps in the database.
    """
    metadata = sa.MetaData()
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        migrate(connection)
        sa.event.listen(
            metadata, "column_reflect", lambda _, __, column: column.update(type=column["type"].as_generic())
        )
        metadata.reflect(connection)
    engine.dispose()
    return tuple(table for table in metadata.sorted_tables if table.name != "alembic_version")
