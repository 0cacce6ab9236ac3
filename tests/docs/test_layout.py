"""The page about the layout names every file that the import rules name."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "decisions" / "0001-layout.md").read_text(encoding="utf-8")
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS = {rule["name"]: rule["layers"] for rule in RULES if rule["type"] == "layers"}


def unnamed(layers: list[str], page: str) -> list[str]:
    """The files and packages in these layers that the page does not name as code."""
    modules = [name.strip().rpartition(".")[2] for layer in layers for name in re.split("[|:]", layer)]
    named = set(re.findall(r"`(\w+)(?:\.py|/)?`", page))
    return [name for name in modules if name not in named]


@pytest.mark.parametrize("rule", LAYERS)
def test_the_page_names_every_room(rule: str) -> None:
    assert unnamed(LAYERS[rule], PAGE) == []


def test_a_room_that_is_not_named_is_found() -> None:
    """Negative control."""
    assert unnamed(["deniable.cli", "store | attic"], "`cli/` and `store.py`") == ["attic"]
