"""The public record is read and checked once for each signed head, whatever page is asked for and however often."""

from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import Office

from deniable.console import public_record
from deniable.console.pages import published
from deniable.programme import transcript_copies
from deniable.storage import tables

PAGES = ("/round", "/transcript", "/health", "/round/decisions/override", "/transcript/public.zip", "/guarantee")


def test_no_page_checks_the_chain_anew(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, each of them did, and /transcript and /health the published files as well."""
    programme = office.begin()
    programme.publish(office.public)
    office.clock.tomorrow()
    programme.close_round()
    programme.publish()
    otto, anna = office.browser("Otto"), office.browser("Anna")
    checked: list[str] = []

    def noted(name: str, work: Any) -> Any:
        def called(*args: Any, **named: Any) -> Any:
            checked.append(name)
            return work(*args, **named)

        return called

    for module, name in ((transcript_copies, "check_lines"), (public_record, "all_lines"), (published, "verify")):
        monkeypatch.setattr(module, name, noted(name, getattr(module, name)))

    def look_everywhere() -> None:
        checked.clear()
        assert {browser.get(path).status_code for browser in (otto, anna, otto) for path in PAGES} == {200}

    look_everywhere()
    assert (checked.count("all_lines"), checked.count("verify")) == (1, 1)
    look_everywhere()
    assert checked == []
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    assert "A fire in the news." in otto.get("/transcript").text
    assert checked.count("all_lines") == 1


def test_lines_that_were_changed_meanwhile_are_not_shown(office: Office) -> None:
    """The head is the same: what the office signed is shown, and no longer once it is read anew."""
    programme = office.begin()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    otto = office.browser("Otto")
    assert "A fire" in otto.get("/transcript").text
    with office.console.store.writing() as connection:
        line = connection.execute(sa.select(tables.entries.c.line)).scalar_one()
        connection.execute(sa.update(tables.entries), {"line": line.replace("A fire", "No fire")})
    assert "No fire" not in otto.get("/transcript").text
    office.console.public_records = public_record.PublicRecords(office.console.store)
    assert "was changed" in otto.get("/transcript").text
