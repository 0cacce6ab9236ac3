"""What people read before they confirm a decision, and what is recorded then."""

from pathlib import Path

import pytest
from tests.programme.offices import Office, new_office

from deniable.errors import DeniableError
from deniable.programme.transcript.entries import Override


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return new_office(database, tmp_path)


@pytest.mark.parametrize(("is_first", "words"), [(True, ("round 1 or earlier", "5 January 2026", "4 targets")),
                                                 (False, ("lapsed before", "does not weaken it further"))])  # fmt: skip
def test_the_consequence_of_an_order_is_told_beforehand(office: Office, is_first: bool, words: tuple[str, ...]) -> None:
    if not is_first:
        office.programme.override(["Ash Mill"], "a hint", independent=False)
    told = office.programme.foresight.consequence(office.programme.parameters.voice())
    assert told.during == 1
    assert all(word in told.words for word in words)
    assert "Tuesday 6 January 2026, 00:00" in told.words


@pytest.mark.parametrize("independent", [True, False])
def test_a_decision_is_foreseen_as_it_is_recorded_then(office: Office, independent: bool) -> None:
    programme = office.programme
    foreseen = programme.foresight.decision(Override, "A fire.", independent=independent, audits=["Ash Mill"])
    assert programme.status().entries == 0
    assert programme.override(["Ash Mill"], "A fire.", independent=independent) == foreseen
    with pytest.raises(DeniableError, match="Nowhere"):
        programme.foresight.decision(Override, "A fire.", independent=independent, audits=["Nowhere"])
