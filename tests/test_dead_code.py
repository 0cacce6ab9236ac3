"""Nothing in src that nothing uses: vulture's list, less what is used where it cannot look."""

import re
from pathlib import Path

import pytest
from vulture import Vulture

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "deniable"
GENERATED = ROOT / "docs" / "reference" / "api.md"
"""From the code: that a name stands there does not mean that anybody uses it."""

ROUTES = ["@*.callback", "@*.command", "@*.get", "@*.post", "@router.*"]
CALLED_BY_OTHERS = {
    "__dir__": "Python's",
    "__getattr__": "Python's",
    "Axes": "an annotation in quotes",
    "class_": "a field of the API's document, by its other name",
    "daemon": "threading's",
    "downgrade": "Alembic's",
    "down_revision": "Alembic's",
    "format_commands": "Typer's",
    "handle_data": "HTMLParser's",
    "__call__": "a voice is called to say a sentence",
    "handle_endtag": "HTMLParser's",
    "handle_starttag": "HTMLParser's",
    "isolation_level": "sqlite3's",
    "list_commands": "Typer's",
    "no_wrap": "Rich's",
    "revision": "Alembic's",
    "spool_max_size": "Starlette's",
    "total_tokens": "anyio's",
    "writeable": "NumPy's",
}
COLUMNS = {
    "deficit_high",
    "deficit_low",
    "first_audit_error",
    "normalized_deficit_high",
    "normalized_deficit_low",
    "resolved_high",
    "resolved_low",
}
"""Of the tables that `deniable reproduce` writes, field by field."""
ONLY_TESTED = {
    "error_bound": "the paper's `thm:utility` from a run's own state, compared with simulation",
    "discrete_laplace": "a sampler, compared with OpenDP's",
    "flip_exp": "the coin that both samplers toss, compared with exp",
    "play_on_noisy_counts": "the game against an adversary who sees noisy counts, by which counters are attacked",
}


def read_elsewhere() -> set[str]:
    """Names that templates show, or that the documentation tells people to use."""
    templates = [path.read_text() for path in SRC.rglob("templates/*")]
    pages = [path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if path != GENERATED]
    return set(re.findall(r"\w+", " ".join([*templates, *(code for page in pages for code in _code(page))])))


def _code(page: str) -> list[str]:
    return re.findall(r"```.*?```|`[^`\n]+`", page, re.DOTALL)


def unused(*paths: Path) -> set[str]:
    found = Vulture(ignore_decorators=ROUTES)
    found.scavenge([str(path) for path in (*paths, ROOT / "examples", ROOT / "benchmarks")])
    names = {str(one.name) for one in found.get_unused_code(min_confidence=60) if SRC in one.filename.parents}
    return names - read_elsewhere() - {"_"}


def test_nothing_is_unused() -> None:
    assert unused(SRC) == CALLED_BY_OTHERS.keys() | COLUMNS | ONLY_TESTED.keys()


def test_what_is_unused_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SRC", tmp_path)
    (tmp_path / "module.py").write_text("import wave\n\n\ndef forgotten():\n    kept_for_nothing = 1\n")
    assert {"forgotten", "kept_for_nothing", "wave"} <= unused(tmp_path)
