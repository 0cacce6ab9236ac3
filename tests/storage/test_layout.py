"""The migrations make exactly the tables that the programme and the console declare."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.storage.stores import nothing

from deniable.console import tables as console_tables
from deniable.storage import layout, tables
from deniable.storage.store import Store


def differences(connection: sa.Connection) -> list[object]:
    declared = sa.MetaData()
    for metadata in (tables.metadata, console_tables.metadata):
        for table in metadata.sorted_tables:
            table.to_metadata(declared)
    return list(compare_metadata(MigrationContext.configure(connection), declared))


def test_the_migrations_make_exactly_the_tables(database: str) -> None:
    store = Store.create(database, nothing)
    with store.reading() as connection:
        assert differences(connection) == []


@pytest.mark.parametrize(
    "change", ["ALTER TABLE secrets ADD COLUMN remark TEXT", "DROP TABLE activity", "CREATE TABLE other (id INTEGER)"]
)
def test_a_table_that_differs_would_be_noticed(database: str, change: str) -> None:
    store = Store.create(database, nothing)
    with store.writing() as connection:
        connection.execute(sa.text(change))
    with store.reading() as connection:
        assert differences(connection) != []


def test_the_layouts_are_the_migrations(database: str) -> None:
    config = Config()
    config.set_main_option("script_location", "deniable.storage:migrations")
    made = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(made)) == layout.LAYOUTS
    store = Store.create(database, nothing)
    with store.reading() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == layout.LAYOUT


def test_the_tables_of_the_layout_are_those_that_are_declared() -> None:
    declared = {table.name: table for one in (tables, console_tables) for table in one.metadata.sorted_tables}
    found = {table.name: table for table in layout.tables()}
    assert found.keys() == declared.keys()
    for name, table in found.items():
        assert _columns(table) == _columns(declared[name])


def _columns(table: sa.Table) -> dict[str, tuple[type, bool, bool]]:
    return {
        column.name: (type(column.type), bool(column.nullable), column.primary_key) for column in table.columns.values()
    }


def test_several_threads_may_ask_for_the_tables_at_once() -> None:
    layout.tables.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: [table.name for table in layout.tables()], range(4)))
    assert len({tuple(names) for names in found}) == 1
