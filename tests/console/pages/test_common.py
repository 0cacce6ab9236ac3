"""What browsers and machines are told when the programme refuses: no place on the server, and that the key changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import Office, pending_on, preview
from tests.console.test_api import push, token

from deniable.console.console import Console
from deniable.console.pages import common
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.receipt import new_receipt
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.lock import KeyChangedError
from deniable.programme.secrets.vault import Vault
from deniable.storage import tables


def enter(office: Office) -> Any:
    return office.browser("Ida").enter("Ash Mill", 1)


def import_(office: Office) -> Any:
    """Where the preview works, so that there is something to confirm."""
    ida = office.browser("Ida")
    shown = preview(ida)
    if shown.status_code != 200:
        return shown
    return ida.post("/import/confirm", {"pending": pending_on(shown.text), "step": "count"})


def push_(office: Office) -> Any:
    return push(office.browser(), token(office, "reports"), {"reports": {"Ash Mill": 1}})


def withdraw(office: Office) -> Any:
    fields = {"target": "Ash Mill", "receipt": new_receipt()}
    return office.browser("Anna").post("/report/withdraw", fields)


def close(office: Office) -> Any:
    office.clock.tomorrow()
    return office.browser("Otto").post("/round/close", {"round": "2"})


def publish(office: Office) -> Any:
    return office.browser("Otto").post("/transcript/publish")


def rename(office: Office) -> Any:
    fields = {"target": "Ash Mill", "reason": "an accident", "independent": "yes"}
    return office.browser("Otto").decide("rename", fields | {"new_name": "Ash Works"})


def look(office: Office) -> Any:
    return office.browser("Anna").get("/round")


def back_up(office: Office) -> Any:
    return office.browser("Ada").post("/health/backup")


def published(office: Office) -> tuple[Programme, Path]:
    """A programme whose first round is closed and published."""
    folder = Path(str(office.console.store.url.database)).parent / "secret place" / "public"
    programme = office.begin()
    office.clock.tomorrow()
    programme.close_round()
    programme.publish(folder)
    return programme, folder


def behind(office: Office) -> Path:
    """What was published is newer than the database, and there is no copy beside the key."""
    programme, folder = published(office)
    old = office.saved()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish()
    office.put_back(old)
    assert office.console.copy is not None
    office.console.copy.path.unlink()
    return folder


def behind_the_copy(office: Office) -> Path:
    """The copy beside the key is newer than both."""
    programme, folder = published(office)
    old = office.saved()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    office.put_back(old)
    return folder


def altered(office: Office) -> Path:
    _, folder = published(office)
    transcript = folder / "transcript.jsonl"
    transcript.write_text(transcript.read_text().replace('{"entries":1', '{"entries":2'))
    return folder


def no_file(office: Office) -> Path:
    _, folder = published(office)
    (folder / "transcript.jsonl").unlink()
    (folder / "transcript.jsonl").mkdir()
    return folder


def of_another(office: Office) -> Path:
    _, folder = published(office)
    (folder / "programme.json").write_text("{}")
    return folder


REFUSED: list[tuple[Callable[[Office], Path], Callable[[Office], Any]]] = [
    *(
        (spoil, step)
        for spoil in (behind, behind_the_copy, altered)
        for step in (enter, withdraw, import_, push_, close, publish, rename)
    ),
    *((no_file, step) for step in (close, publish, rename)),
    (of_another, publish),
]


@pytest.mark.parametrize(("spoil", "step"), REFUSED)
def test_a_refusal_names_no_place_on_the_server(
    office: Office, spoil: Callable[[Office], Path], step: Callable[[Office], Any]
) -> None:
    folder = spoil(office)
    answer = step(office)
    assert answer.status_code in ((503,) if step is push_ else (422, 503))  # a machine is to try again
    text = answer.text.partition("This did not work")[2].partition("</div>")[0] or answer.text
    record = "transcript" if step is push_ else "public record"  # as its file is called, or as the menu says
    where = f"The copy of the {record} beside the key has more entries (2)" if spoil is behind_the_copy else "folder"
    assert where.lower() in text.lower()
    assert "secret place" not in text
    if step in (enter, withdraw, import_, push_):  # others see elsewhere on the page where it is published
        assert str(folder.parents[1]) not in answer.text


def test_the_terminal_is_told_the_place(office: Office) -> None:
    folder = behind(office)
    programme = office.console.programme()
    assert programme is not None
    with pytest.raises(DeniableError, match=r"the folder .*secret place.* has more entries"):
        programme.report({"Ash Mill": 1})
    assert folder.exists()


def test_the_check_of_places_can_fail(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeniableError, "elsewhere", property(lambda error: error.message))
    behind(office)
    assert "secret place" in enter(office).text


def test_beginning_a_programme_where_there_is_one_names_no_place(office: Office) -> None:
    office.begin()
    with pytest.raises(DeniableError, match=r"there is a programme in database .*console\.db already") as refused:
        office.begin()
    assert str(common.refusal(refused.value)) == "there is a programme in the database already"


CHANGED = "The key was changed. Nothing was written."


def rekeyed(office: Office) -> KeyFile:
    """As at the terminal, while the console is running."""
    database = Path(str(office.console.store.url.database))
    old, new = KeyFile(database.with_suffix(".key")), KeyFile(database.with_name("new.key"))
    programme = Programme.open(str(database), old, clock=office.clock)
    programme.rekey(new)
    programme.close()
    return new


@pytest.mark.parametrize("step", [enter, import_, push_, withdraw, close, rename, look, back_up])
def test_after_a_change_of_key_nothing_goes_on_until_it_is_started_again(
    office: Office, step: Callable[[Office], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    published(office)
    new = rekeyed(office)
    answer = step(office)
    assert answer.status_code == 503
    assert CHANGED in answer.text
    assert "the key was changed since this was started" in capsys.readouterr().err
    again = Console.open(str(office.console.store.url.database), new, clock=office.clock)
    programme = again.programme()
    assert programme is not None
    assert sum(programme.active_counts().values()) == 0
    programme.report({"Ash Mill": 1})
    again.close()


def test_pages_that_need_no_key_go_on(office: Office) -> None:
    """Among them the one that says what is the matter."""
    published(office)
    rekeyed(office)
    assert "The key was changed since the console started" in office.browser("Otto").get("/health").text


def test_without_the_check_of_the_key_the_sentence_would_be_another(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(office)
    rekeyed(office)
    monkeypatch.setattr("deniable.programme.secrets.sealed_rows.check_key", lambda *_: None)
    answer = enter(office)
    assert answer.status_code == 422
    assert CHANGED not in answer.text


def test_no_programme_is_begun_with_a_key_that_was_changed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be sealed with a key that nobody has after this process."""
    with office.console.store.reading() as connection:
        id_ = connection.execute(sa.select(tables.lock.c.programme)).scalar_one()
    office.console.vault = Vault(bytes(32), id_)
    with pytest.raises(KeyChangedError, match="start it again with the new key"):
        office.begin()
    assert office.console.programme() is None
    monkeypatch.setattr("deniable.programme.programme.check_key", lambda *_: None)
    office.begin()
    assert office.console.programme() is not None


@pytest.mark.parametrize("path", ["/round", "/report", "/import", "/transcript", "/guarantee", "/round/close"])
def test_before_there_is_a_programme(office: Office, path: str) -> None:
    answer = office.browser("Anna").get(path)
    assert answer.status_code == 404
    assert "no programme yet" in answer.text
