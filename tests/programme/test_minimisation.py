"""Nothing of an import but target, round and count is found anywhere afterwards: raw bytes, every file written.

The exports carry canary values in every field. The search looks for them, and for the outside ids and numbers, in the
database, its log, the public folder, a backup, the log of the process, its output and its errors. That the search
would find a leak is shown for a leak in each of these places.
"""

import base64
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from tests.programme.imports.exports import CANARY, EXPORTS, NORTH, NUMBER, TARGETS, carried, mapping, outside_id
from tests.programme.offices import Office, new_office

from deniable.errors import DeniableError
from deniable.programme import imports
from deniable.programme.programme import Programme
from deniable.storage import tables

# Long enough not to be found in random bytes by chance.
SECRETS = (CANARY, outside_id(0)[:-1], str(NUMBER)[:-1])


def encodings(secret: str) -> Iterator[bytes]:
    """A secret as it may stand in a file; base64 depends on where in a group of three bytes it begins."""
    yield secret.encode()
    yield secret.encode("utf-16-le")
    yield secret.encode().hex().encode()
    for shift in range(3):
        piece = base64.b64encode(b"\0" * shift + secret.encode())[4 if shift else 0 : -4]
        if len(piece) >= 8:
            yield piece


def leaks(*texts: bytes) -> set[str]:
    """The secrets that are found in any of these."""
    return {secret for secret in SECRETS for form in encodings(secret) for text in texts if form in text}


def everything_written(folder: Path) -> list[bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and "export" not in file.name]
    return [b"\n".join(str(file).encode() for file in files), *(file.read_bytes() for file in files)]


def dumped(database: str) -> list[bytes]:
    """Every row of a PostgreSQL database as text and as bytes."""
    if "://" not in database:
        return []
    with psycopg.connect(database) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = [row for (name,) in names for row in connection.execute(f'SELECT * FROM "{name}"').fetchall()]
    return [bytes(value) if isinstance(value, bytes) else str(value).encode() for row in rows for value in row]


def imported(office: Office, folder: Path) -> list[str]:
    """A week with every kind of export, good and bad; returns what the errors carried."""
    programme, told = office.programme, []
    for name, (kind, export) in EXPORTS.items():
        file = folder / f"export-{name}"
        file.write_bytes(export())
        programme.import_reports(name, imports.read(kind, file, mapping()))
        for content in (export(), export()[:-20] + b"\xff\xfe"):
            file.write_bytes(content)
            try:
                set_aside = imports.read(kind, file, mapping({NORTH: "Acme Ltd"})).set_aside
                told.append(repr(set_aside))
            except DeniableError as refused:
                told.append(carried(refused))
        programme.backup(folder / f"backup-{name}")
        office.close()
        programme.publish(folder / "public")
    programme.import_reports("hotline", [(outside_id(1), "no such target")])
    return told


def searched(office: Office, folder: Path, captured: Callable[[], list[str]]) -> set[str]:
    told = imported(office, folder)
    return leaks(
        *everything_written(folder), *dumped(office.database), *(text.encode() for text in [*told, *captured()])
    )


@pytest.fixture
def captured(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was printed and logged, at every level."""
    caplog.set_level(logging.DEBUG)

    def texts() -> list[str]:
        return [*capfd.readouterr(), caplog.text, *(repr(vars(record)) for record in caplog.records)]

    return texts


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return new_office(database, tmp_path, targets=TARGETS)


def test_nothing_of_a_report_is_kept(office: Office, tmp_path: Path, captured: Callable[[], list[str]]) -> None:
    assert not searched(office, tmp_path, captured)


def test_reports_are_counted_all_the_same(office: Office, tmp_path: Path) -> None:
    (tmp_path / "export").write_bytes(EXPORTS["globaleaks.json"][1]())
    batch = imports.read("globaleaks", tmp_path / "export", mapping())
    assert office.programme.import_reports("hotline", batch) == 3
    assert office.programme.active_counts() == {"Acme Ltd": 2, "Bravo plc": 1}


def _log(_: Programme, outside_id: str) -> None:
    logging.getLogger("deniable").debug("imported %s", outside_id)


def _print(_: Programme, outside_id: str) -> None:
    print(outside_id)


def _keep(programme: Programme, outside_id: str) -> None:
    with programme._access.store.writing() as connection:
        connection.execute(sa.update(tables.lock), {"programme": outside_id})


@pytest.mark.parametrize("leak", [_log, _print, _keep])
def test_a_planted_leak_is_found(
    office: Office,
    tmp_path: Path,
    captured: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    leak: Callable[[Programme, str], None],
) -> None:
    honest = Programme.import_reports

    def leaking(programme: Programme, source: str, reports: Any) -> int:
        leak(programme, next(iter(reports))[0])
        return honest(programme, source, reports)

    monkeypatch.setattr(Programme, "import_reports", leaking)
    assert searched(office, tmp_path, captured)


def test_a_planted_leak_in_an_error_is_found(
    office: Office, tmp_path: Path, captured: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = imports.read

    def leaking(kind: str, file: Path, mapping_: Any) -> Any:
        try:
            return honest(kind, file, mapping_)
        except DeniableError as error:
            raise DeniableError(f"{error}: {file.read_bytes()!r}") from None

    monkeypatch.setattr(imports, "read", leaking)
    assert searched(office, tmp_path, captured)
