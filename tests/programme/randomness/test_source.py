"""The source of public values, as `programme.json` has it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.programme.public import published

from deniable.errors import DeniableError
from deniable.programme.public.verify import verify
from deniable.programme.randomness.source import Dice, Drand, source_from

REST = {"place": "the town hall", "numbers": 1, "of": 6, "minutes": 60, "days": 7}


@pytest.mark.parametrize("source", [Drand(), Dice("the town hall")], ids=["drand", "dice"])
def test_what_is_written_is_read(source: Drand | Dice) -> None:
    assert source_from(source.to_dict()) == source


NAMES: list[Any] = [[], {}, None, 1, "coins"]


@pytest.mark.parametrize("stored", [[], {}, "dice", 1, *({"source": name, **REST} for name in NAMES)])
def test_what_is_no_source_is_refused(stored: Any) -> None:
    with pytest.raises(DeniableError, match="randomness must be null, or a source of public values"):
        source_from(stored)


@pytest.mark.parametrize("name", [[], {}])
def test_verify_refuses_a_programme_with_another_source(tmp_path: Path, name: Any) -> None:
    published.write(tmp_path, published.made(randomness=Dice("the town hall")), [])
    file = tmp_path / "programme.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["randomness"]["source"] = name
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DeniableError, match="randomness must be null"):
        verify(tmp_path)
