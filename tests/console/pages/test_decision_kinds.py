"""Every kind of decision has words of its own where people read it before they confirm it."""

from pathlib import Path

import pytest

import deniable.console
from deniable.console.pages.decision_kinds import KINDS

TEMPLATES = Path(deniable.console.__file__).parent / "templates"


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_words_of_its_own(kind: str) -> None:
    said = (TEMPLATES / "consequences.html").read_text("utf-8").count(f'would.kind == "{KINDS[kind].entry.kind}"')
    assert said >= 2, "its headline, and what becomes of the reports"
    assert f'page.kind == "{kind}"' in (TEMPLATES / "decision_confirm.html").read_text("utf-8"), "its button"
