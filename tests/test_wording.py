"""One plural: no other file of ours makes a noun's plural by itself."""

import re
from pathlib import Path

import pytest

import deniable

SOURCE = Path(deniable.__file__).parent
OWN_PLURAL = re.compile(r"""== 1 else f?["'](?:\{[^}]*\} )?[a-z]*s["']|["']s["'] if [^\n]{1,20}!= 1""")
"""Such as `'' if n == 1 else 's'` and `'day' if n == 1 else 'days'`."""


def test_no_file_makes_its_own_plural() -> None:
    files = [path for suffix in ("*.py", "*.html") for path in SOURCE.rglob(suffix) if path.name != "wording.py"]
    assert [path.name for path in files if OWN_PLURAL.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("text", ["{'' if n == 1 else 's'}", "'day' if days == 1 else 'days'", '{{ "s" if n != 1 }}'])
def test_one_that_does_is_noticed(text: str) -> None:
    """Negative control."""
    assert OWN_PLURAL.search(text)
