"""An office whose database an attacker changes, and whether that is refused."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.programme.insight import everything, put
from tests.programme.offices import Office, new_office

from deniable.errors import DeniableError

ELSEWHERE = "cannot be read: it was changed, or belongs to another row or programme"


def in_third_round(database: str, tmp_path: Path) -> Office:
    """An office in its third round, with reports imported and entered by hand, counted and waiting."""
    office = new_office(database, tmp_path)
    for _ in range(2):
        office.programme.import_reports("hotline", [("1", "Ash Mill"), ("2", "Birch Works")])
        office.programme.report({"Cedar Bank": 2})
        office.close()
    office.programme.report({"Dogwood Clinic": 1})
    office.clock.tomorrow()
    return office


def refused(office: Office, says: str) -> None:
    """Nothing is drawn from what was changed, and nothing changes."""
    before = everything(office.database)
    with closing(office.again()) as programme, pytest.raises(DeniableError, match=says):
        programme.close_round()
    assert everything(office.database) == before


def goes_on(office: Office, blobs: dict[str, bytes]) -> None:
    put(office.database, blobs)
    assert office.again().close_round().round == 3
