"""Key files that are made."""

from pathlib import Path

import pytest
from tests.programme.offices import new_office

from deniable.errors import DeniableError
from deniable.programme.secrets.keys import KeyFile


def test_a_new_key_file_is_not_put_beside_the_transcript_of_another(tmp_path: Path) -> None:
    """The new programme would take it for its own, altered, and refuse everything."""
    office = new_office(str(tmp_path / "first.db"), tmp_path)
    office.close()
    office.key.path.unlink()
    with pytest.raises(DeniableError, match="move it away"):
        KeyFile(office.key.path).new()
    assert not office.key.path.exists()
    office.key.transcript.unlink()
    KeyFile(office.key.path).new()
