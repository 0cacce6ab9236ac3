"""The program on the page about verification is the one in every public folder."""

from pathlib import Path

from tests.docs.blocks import DOCS, blocks
from tests.programme.offices import new_office

from deniable.programme.public.page import verify_text


def test_the_page_and_the_folder_have_the_same_program(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    (shown,) = (
        block for block in blocks((DOCS / "howto" / "verify.md").read_text("utf-8")) if block.title == "check.py"
    )
    assert shown.source in verify_text(office.programme.parameters)
    office.programme.close()
