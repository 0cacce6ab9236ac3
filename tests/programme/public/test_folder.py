"""The public folder is none in which the database or a key is, and of its files only ordinary ones are read."""

import os
import shutil
from pathlib import Path

import pytest
from tests.programme.offices import new_office

from deniable.errors import DeniableError
from deniable.programme import publication
from deniable.programme.public import folder as public_files
from deniable.programme.public.folder import check_apart, read_public
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.vault import new_key_file

DATABASE = Path("office/programme.db")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("office").mkdir()
    DATABASE.touch()


@pytest.mark.parametrize("folder", ["office", "office/../office", ".", "office/public/..", "/"])
def test_a_folder_that_holds_the_database_or_is_above_it(folder: str) -> None:
    Path("office/public").mkdir()
    with pytest.raises(DeniableError, match=r"the database is in the folder .* publish into a folder of its own"):
        check_apart(Path(folder), DATABASE)


@pytest.mark.parametrize("folder", ["office", "office/keys", "."])
def test_a_folder_that_holds_a_named_key_or_is_above_it(folder: str) -> None:
    Path("office/keys").mkdir()
    with pytest.raises(DeniableError, match=r"the key is in the folder .* such as public"):
        check_apart(Path(folder), None, [Path("elsewhere.key"), Path("office/keys/named")])


@pytest.mark.parametrize("linked", [False, True])
def test_a_key_that_nobody_named_is_found(linked: bool) -> None:
    Path("public").mkdir()
    new_key_file(Path("public/notes.txt") if not linked else Path("office/named"))
    if linked:
        Path("public/notes.txt").symlink_to("../office/named")  # which a web server follows
    with pytest.raises(DeniableError, match="the key is in the folder"):
        check_apart(Path("public"), DATABASE)


def test_a_link_to_the_folder_is_the_folder() -> None:
    Path("public").symlink_to("office")
    with pytest.raises(DeniableError, match="the database is"):
        check_apart(Path("public"), DATABASE)


def test_folders_of_their_own() -> None:
    Path("public").mkdir()
    os.mkfifo("public/pipe")  # which would make us wait
    Path("public/index.html").write_text("about deniable-key/1 files")
    for folder in ("public", "office/public", "office-public", "not there yet"):
        check_apart(Path(folder), DATABASE, [Path("office/programme.key")])
    check_apart(Path("public"), None)


def test_a_programme_publishes_nothing_there(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = new_office(database, tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DeniableError, match="publish into a folder of its own") as refused:
        office.programme.publish(tmp_path)
    assert str(tmp_path) not in str(refused.value.elsewhere)
    assert sorted(tmp_path.iterdir()) == before
    assert office.programme.status().folder is None
    monkeypatch.setattr(publication, "check_apart", lambda *_: None)  # a negative control
    assert office.programme.publish(tmp_path) == tmp_path


def test_a_key_that_comes_later_stops_the_next_publication(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    public = office.programme.publish(tmp_path / "public")
    shutil.copy(office.key.path, public / "programme.key")
    with pytest.raises(DeniableError, match="the key is in the folder"):
        office.programme.publish()
    with pytest.raises(DeniableError, match="the key is in the folder"):
        office.programme.publish(tmp_path / "new", keys=[KeyFile(tmp_path / "new" / "programme.key").path])


def test_what_is_no_ordinary_file_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ordinary").write_text("a file")
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("link").symlink_to("/dev/zero")
    read = list[int]()
    monkeypatch.setattr(public_files, "_read", lambda descriptor, _: read.append(descriptor))
    for path in ("pipe", "folder", "/dev/zero"):
        with pytest.raises(DeniableError, match="must be an ordinary file"):
            read_public(Path(path))
    with pytest.raises(OSError, match="symbolic link"):
        read_public(Path("link"))
    assert read == []
    read_public(Path("ordinary"))
    assert len(read) == 1
