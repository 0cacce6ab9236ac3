"""Rows with secrets that somebody changed, moved, deleted or put back: the programme refuses them, with the reason."""

import shutil
from itertools import combinations
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.programme.changed_databases import ELSEWHERE, goes_on, in_third_round, refused
from tests.programme.insight import blobs_of, connected, put
from tests.programme.offices import Office, new_office

from deniable.errors import DeniableError
from deniable.programme.secrets import keys
from deniable.programme.secrets.vault import read_key_file
from deniable.storage import tables

SECRETS = ("tally", "run", "seed", "nonces")
KNOWN = "known/1/0"
"""The only block of reports of the first hotline."""


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return in_third_round(database, tmp_path)


def test_a_row_from_before_in_the_same_round(office: Office) -> None:
    """It would open, since it is of this round: the manifest tells."""
    for name, deed in (
        ("tally", lambda: office.programme.report({"Ash Mill": 1})),
        (KNOWN, lambda: office.programme.import_reports("hotline", [("9", "Ash Mill")])),
        ("run", lambda: office.programme.override(["Ash Mill"], "accident", independent=True)),
    ):
        before = blobs_of(office.database)
        deed()
        office.count()
        after = blobs_of(office.database)
        put(office.database, {name: before[name]})
        says = f"the stored {name} is an old one that was put back; restore the backup"
        if name == KNOWN:
            with pytest.raises(DeniableError, match=says):
                office.programme.import_reports("hotline", [])
        else:
            refused(office, says)
        put(office.database, {name: after[name]})
    goes_on(office, {})


@pytest.mark.parametrize(("one", "other"), list(combinations(SECRETS, 2)))
def test_rows_that_changed_places(office: Office, one: str, other: str) -> None:
    blobs = blobs_of(office.database)
    put(office.database, {one: blobs[other], other: blobs[one]})
    refused(office, f"the stored ({one}|{other})/round 3 {ELSEWHERE}")
    goes_on(office, blobs)


@pytest.mark.parametrize("name", SECRETS)
def test_a_row_of_an_earlier_round(office: Office, name: str) -> None:
    earlier = blobs_of(office.database)
    assert office.again().close_round().round == 3
    office.clock.tomorrow()
    blobs = blobs_of(office.database)
    put(office.database, {name: earlier[name]})
    refused(office, f"the stored {name}/round 4 {ELSEWHERE}")
    put(office.database, blobs)
    assert office.again().close_round().round == 4


@pytest.mark.parametrize("name", [*SECRETS, "signing key"])
def test_a_row_of_another_programme_with_the_same_key(
    office: Office, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "new_key_file", lambda path: read_key_file(Path(shutil.copy(office.key.path, path))))
    (tmp_path / "second").mkdir()
    second = new_office(str(tmp_path / "second.db"), tmp_path / "second")
    second.close()
    second.close()
    blobs = blobs_of(office.database)
    put(office.database, {name: blobs_of(second.database)[name]})
    bound = name if name == "signing key" else f"{name}/round 3"
    refused(office, f"the stored {bound} {ELSEWHERE}")
    goes_on(office, blobs)


@pytest.mark.parametrize("name", SECRETS)
def test_a_changed_bit(office: Office, name: str) -> None:
    blobs = blobs_of(office.database)
    changed = bytearray(blobs[name])
    changed[len(changed) // 2] ^= 1
    for damaged in (bytes(changed), blobs[name][:-1], b""):
        put(office.database, {name: damaged})
        refused(office, f"the stored {name}/round 3 {ELSEWHERE}")
    goes_on(office, blobs)


@pytest.mark.parametrize("name", SECRETS)
def test_a_missing_row(office: Office, name: str) -> None:
    with connected(office.database) as connection:
        connection.execute(sa.delete(tables.secrets).where(tables.secrets.c.name == name))
    refused(office, "was restored from a backup" if name == "seed" else f"the stored {name} is missing; restore the")
