import re
from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import Browser, Office, new_office, pending_on

from deniable.console import tables
from deniable.console.accounts import row_authentication
from deniable.console.pages import imports
from deniable.programme.imports.imported_reports import ROOM


def bring(browser: Browser, rows: str, source: str = "hotline") -> Any:
    data = {"kind": "csv", "source": source}
    page = browser.post("/import", data, files={"file": ("a.csv", f"id,channel\n{rows}".encode())})
    if page.status_code != 200:
        return page
    return browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})


def test_an_administrator_says_who_brings_a_hotline(office: Office) -> None:
    programme = office.begin()
    office.add("Ivo", "importer")
    ada, ivo = office.browser("Ada"), office.browser("Ivo")
    assert "No hotline is assigned to you yet" in ivo.get("/import").text
    new = {"name": "north", "person": "id-Ivo"}
    asked = ada.post("/hotlines/new", new)
    assert asked.status_code == 200
    assert "for good" in asked.text
    assert "north" not in ada.get("/hotlines").text
    answer = ada.post("/hotlines/new", {**new, "confirmed": "yes"})
    assert answer.headers["location"] == "/hotlines?done=assigned"
    page = ada.get("/hotlines?done=assigned").text
    assert "The hotline <bdi><q>north</q></bdi> is assigned to <bdi>Ivo</bdi>" in page
    assert re.search("north.*Ivo", page)
    assert "assigned the hotline north to Ivo" in ada.get("/activity").text
    assert bring(ivo, "1,Ash Mill\n", "north").status_code == 303
    assert programme.active_counts()["Ash Mill"] == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [({"name": "", "person": "id-Ida"}, "must not be empty"),
     ({"name": "n", "person": "id-Otto"}, "Otto must be an importer"),
     ({"name": "n", "person": "x"}, "There is no such person"),
     ({"name": " HOTLINE", "person": "id-Ida"}, "There is a hotline called hotline already")],
)  # fmt: skip
def test_what_is_refused(office: Office, data: dict[str, str], told: str) -> None:
    programme, ada = office.begin(), office.browser("Ada")
    known = programme.hotlines.names()
    for confirmed in ({}, {"confirmed": "yes"}):
        answer = ada.post("/hotlines/new", {**data, **confirmed})
        assert answer.status_code == 422
        assert 'id="error" tabindex="-1" autofocus' in answer.text  # the browser goes there, below the fold
        assert told in answer.text
    assert programme.hotlines.names() == known


def test_a_hotline_is_handed_over(office: Office) -> None:
    office.begin()
    office.add("Ivo", "importer")
    ada = office.browser("Ada")
    assert "selected" not in ada.get("/hotlines").text.split('id="hand-over-to"')[1].split("</select>")[0]
    answer = ada.post("/hotlines/hand-over", {"hotline": "hotline", "person": "id-Ivo"})
    assert answer.status_code == 303
    assert (
        "The hotline <bdi><q>hotline</q></bdi> is assigned to <bdi>Ivo</bdi>"
        in ada.get(answer.headers["location"]).text
    )
    assert bring(office.browser("Ida"), "1,Ash Mill\n").status_code == 422


def test_a_name_with_a_slip_makes_no_hotline(office: Office) -> None:
    programme = office.begin()
    refused = office.browser("Ada").post("/hotlines/hand-over", {"hotline": "hotlnie", "person": "id-Ida"})
    assert refused.status_code == 422
    assert "There is no such hotline" in refused.text
    assert "hotlnie" not in programme.hotlines.names()


def test_the_only_importer_is_chosen_already(office: Office) -> None:
    office.begin()
    ada = office.browser("Ada")
    assert '<option value="id-Ida" selected>' in ada.get("/hotlines").text
    office.add("Ivo", "importer")
    page = ada.get("/hotlines").text
    assert '<option value="id-Ida">' in page
    assert '<option value="" selected>' in page


def test_a_name_can_be_changed_before_it_is_kept(office: Office) -> None:
    office.begin()
    page = office.browser("Ada").post("/hotlines/new", {"name": "nroth", "person": "id-Ida", "change": "yes"}).text
    assert 'value="nroth"' in page
    assert '<option value="id-Ida" selected>' in page


def test_whose_bringer_is_gone_is_brought_by_nobody(office: Office) -> None:
    office.begin()
    ada = office.browser("Ada")
    ada.post("/people/id-Ida/disable")
    assert "no one can import it" in ada.get("/hotlines").text
    ada.post("/people/id-Ida/remove")
    assert "no one can import it" in ada.get("/hotlines").text


def test_the_stored_length_does_not_tell_the_first_import(office: Office) -> None:
    programme = office.begin()
    office.browser("Ada").post("/hotlines/hand-over", {"hotline": "hotline", "person": "id-Ida"})

    def length() -> int:
        with office.console.store.reading() as connection:
            found = connection.exec_driver_sql("SELECT sum(length(blob)) FROM secrets WHERE name <> 'manifest'")
            return int(found.scalar_one())

    before = length()
    assert before > ROOM
    programme.import_reports("hotline", [("1", "Ash Mill")])
    assert length() == before
    programme.import_reports("another", [("1", "Ash Mill")])
    assert length() > before


# An importer who wants to know whether somebody else reported


def birch_works_counts(office: Office, *, is_known: bool) -> int:
    """What the draw is given of Birch Works after an importer's trick: a row of the hotline with the id of the report
    in question, about another target. It counts if the report is not known; the audits that follow would tell.
    """
    programme = office.begin()
    office.add("Eve", "importer")
    office.hotline("mine", "Eve")
    if is_known:
        programme.import_reports("hotline", [("57", "Ash Mill")])
    eve = office.browser("Eve")
    for source in ("hotline", "mine"):
        bring(eve, "57,Birch Works\n", source)
    return programme.active_counts()["Birch Works"]


@pytest.mark.parametrize("is_mended", [True, False], ids=["as it is", "with every hotline for everybody"])
def test_what_others_bring_does_not_change_what_counts(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, is_mended: bool
) -> None:
    if not is_mended:
        monkeypatch.setattr(imports, "_check_assigned", lambda *_: None)
    with_it, without = (
        birch_works_counts(new_office(tmp_path_factory.mktemp("office")), is_known=is_known)
        for is_known in (True, False)
    )
    assert (with_it == without) == is_mended


def test_a_hotline_that_is_handed_over_between_looking_and_counting_is_not_counted(office: Office) -> None:
    programme = office.begin()
    office.add("Ivo", "importer")
    ida = office.browser("Ida")
    data = {"kind": "csv", "source": "hotline"}
    page = ida.post("/import", data, files={"file": ("a.csv", b"id,channel\n1,Ash Mill\n")})
    pending = pending_on(page.text)
    office.hotline("hotline", "Ivo")
    assert ida.post("/import/confirm", {"pending": pending, "step": "count"}).status_code == 422
    assert programme.active_counts()["Ash Mill"] == 0


def test_a_row_that_was_altered_lets_nobody_bring_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.begin()
    office.add("Eve", "importer")
    with office.console.store.writing() as connection:
        connection.exec_driver_sql("UPDATE transient_hotlines SET person = 'id-Eve'")
    eve = office.browser("Eve")
    assert bring(eve, "1,Ash Mill\n").status_code == 422
    assert "altered outside the console" in office.browser("Ada").get("/hotlines").text
    monkeypatch.setattr(row_authentication, "is_authentic", lambda *_: True)  # planted: the mark is not looked at
    assert bring(eve, "1,Ash Mill\n").status_code == 303


def test_where_nobody_has_joined_the_page_says_who_is_awaited(office: Office) -> None:
    for name in ("Ida", "Anna"):
        with office.console.store.writing() as connection:
            connection.execute(sa.delete(tables.people).where(tables.people.c.id == f"id-{name}"))
        del office.people[name]
    office.begin()
    ada = office.browser("Ada")
    page = ada.get("/hotlines").text
    assert "Invite an importer first" in page
    assert "Add the first one below" not in page
    assert "Next, invite the people" in ada.get("/people").text
    ada.post("/people/invite", {"name": "Clara", "role": "importer"})
    page = ada.get("/hotlines").text
    assert "not joined yet: <bdi>Clara</bdi>" in page
    assert "Invite an importer first" not in page
    assert "Next, invite the people" not in ada.get("/people").text
