"""A backup is whole or not there, and restores into either database."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.programme.insight import everything
from tests.programme.offices import TARGETS, Office, new_office
from tests.storage.stores import lines_of, with_checksum

from deniable.errors import DeniableError
from deniable.programme import backup
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.secrets.vault import Kdf


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    """With something in every table."""
    recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    office = new_office(database, tmp_path, oversight=recipient)
    office.programme.report({"Ash Mill": 2})
    office.programme.import_reports("hotline", [("1", "Birch Works")])
    office.close()
    office.programme.publish(tmp_path / "public")
    office.programme.report({"Cedar Bank": 1})
    return office


def without_seed(database: str) -> dict[str, list[dict[str, Any]]]:
    found = everything(database)
    return found | {"secrets": [row for row in found["secrets"] if row["name"] != "seed"]}


def test_there_and_back_again(office: Office, tmp_path: Path) -> None:
    path, restored = tmp_path / "backup", str(tmp_path / "restored.db")
    office.programme.backup(path)
    backup.restore(path, restored)
    assert everything(restored) == without_seed(office.database)
    again = Programme.open(restored, office.key, clock=office.clock)
    assert again.active_counts() == office.programme.active_counts()
    for deed in (again.close_round, lambda: again.report({"Ash Mill": 1}), lambda: again.import_reports("hotline", [])):
        with pytest.raises(DeniableError, match="was restored from a backup"):
            deed()
    entry = again.recover(None, "the disk broke")
    assert (entry.own()["lost"], entry.own()["paused"]) == (2, False)  # the copies show that nothing was drawn since
    assert again.active_counts() == office.programme.active_counts()
    office.clock.tomorrow()
    assert again.close_round().round == 2
    again.publish()
    assert verify(tmp_path / "public", now=office.clock.now).entries == 3


def test_a_second_draw_is_independent_of_the_first(office: Office, tmp_path: Path) -> None:
    """With the same seed, equal audits would say that no report came in between, and different ones prove one."""
    path = tmp_path / "backup"
    office.programme.backup(path)
    assert b'"seed"' not in path.read_bytes()
    with office.programme._access.writing() as transaction:
        seed = transaction.seed()
    for number in range(3):
        backup.restore(path, str(tmp_path / f"{number}.db"))
        again = Programme.open(str(tmp_path / f"{number}.db"), office.key, clock=office.clock)
        office.key.transcript.unlink()
        again.recover(None, "disk and key were lost, and a copy of the key is back")
        with again._access.writing() as transaction:
            assert transaction.seed() != seed


def test_from_one_database_into_the_other(tmp_path: Path, postgres: str) -> None:
    """And back, to the byte."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.report({"Ash Mill": 2})
    office.close()
    one, other, third = (tmp_path / name for name in ("one", "other", "third"))
    office.programme.backup(one)
    backup.restore(one, postgres, never_published=True)
    moved = Programme.open(postgres, office.key, clock=office.clock)
    moved.backup(other)
    assert other.read_bytes() == one.read_bytes()
    moved.recover(None, "moved to a server")
    moved.report({"Birch Works": 1})
    moved.backup(third)
    backup.restore(third, str(tmp_path / "back.db"), never_published=True)
    back = Programme.open(str(tmp_path / "back.db"), office.key, clock=office.clock)
    assert back.active_counts()["Birch Works"] == 1


def test_it_has_no_key(office: Office, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    office.programme.backup(path)
    assert office.key.path.read_text().split()[1] not in path.read_text()


def everywhere(value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda _: value


CRAFTED: dict[str, tuple[str, str, Callable[[dict[str, Any]], Any], str]] = {
    "a kdf that is no JSON": ("lock", "kdf", everywhere("{"), "the stored key derivation is not JSON"),
    "a deep kdf": ("lock", "kdf", everywhere("[" * 100_000), "the stored key derivation is not JSON"),
    "a kdf without a salt": ("lock", "kdf", everywhere("{}"), "the stored key derivation must have salt"),
    "a kdf for a giant": (
        "lock",
        "kdf",
        everywhere(json.dumps(Kdf.new().to_dict() | {"memory_kib": 10**30})),
        "memory_kib must be at most",
    ),
    "another lock": ("lock", "programme", everywhere("0" * 32), "its parts do not belong together"),
    "parameters that are not ASCII": ("programme", "parameters", everywhere("ü"), "programme.json is not JSON"),
    "huge weights": (
        "programme",
        "parameters",
        lambda row: row["parameters"].replace('"weights": null', f'"weights": [{10**400}, 1, 1, 1]'),
        "programme.json cannot be used: weights",
    ),
    "another state": ("public_state", "blob", everywhere({"base64": ""}), "its parts do not belong together"),
    "no head": ("standing", "head", everywhere("ü"), "the signed head must be a line of JSON"),
    "a line that is not ASCII": ("entries", "line", everywhere("ü"), "entry 1 must be a line of JSON"),
    "another root": ("entries", "root", everywhere("0" * 64), "its parts do not belong together"),
    "another round": ("entries", "round", everywhere(2), "its parts do not belong together"),
}


@pytest.mark.parametrize("crafted", CRAFTED.values(), ids=CRAFTED.keys())
def test_a_crafted_backup_is_refused_in_one_sentence_and_leaves_nothing(
    tmp_path: Path, crafted: tuple[str, str, Callable[[dict[str, Any]], Any], str]
) -> None:
    table, column, value, says = crafted
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    office.programme.publish(tmp_path / "public")
    path = tmp_path / "backup"
    office.programme.backup(path)
    lines = lines_of(path)
    path.write_bytes(with_checksum(*lines))
    backup.restore(path, str(tmp_path / "sound.db"))  # the control: as it was, it is accepted
    row = next(line["row"] for line in lines if line.get("table") == table)
    row[column] = value(row)
    path.write_bytes(with_checksum(*lines))
    with pytest.raises(DeniableError, match=f"is not a whole backup of deniable: .*{re.escape(says)}.*; use another"):
        backup.restore(path, str(tmp_path / "restored.db"))
    assert not list(tmp_path.glob("restored.db*"))


def test_a_backup_from_before_the_first_publication_must_be_told_of_it(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    path = tmp_path / "backup"
    office.programme.backup(path)
    with pytest.raises(DeniableError, match="give --public FOLDER, where it was published since, or --never-published"):
        backup.restore(path, str(tmp_path / "restored.db"))
    assert not list(tmp_path.glob("restored.db*"))
    with pytest.raises(DeniableError, match="the public folder must have a path in UTF-8"):
        backup.restore(path, str(tmp_path / "restored.db"), tmp_path / "\udc80", office.key)
    with pytest.raises(DeniableError, match="needs the programme's key"):
        backup.restore(path, str(tmp_path / "restored.db"), tmp_path / "public")
    backup.restore(path, str(tmp_path / "one.db"), never_published=True)
    backup.restore(path, str(tmp_path / "other.db"), tmp_path / "public", office.key)
    assert Programme.open(str(tmp_path / "one.db")).status().folder is None
    assert Programme.open(str(tmp_path / "other.db")).status().folder == tmp_path / "public"
    assert set(Programme.open(str(tmp_path / "other.db"), office.key).active_counts().values()) == {0}
    (tmp_path / "another").mkdir()
    stranger = new_office(str(tmp_path / "another.db"), tmp_path / "another").key
    with pytest.raises(DeniableError, match="this is not the key of the programme in the backup"):
        backup.restore(path, str(tmp_path / "third.db"), tmp_path / "public", stranger)
    assert not list(tmp_path.glob("third.db*"))


def test_where_a_backup_cannot_go(office: Office, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    office.programme.backup(path)
    with pytest.raises(DeniableError, match="already; choose another database"):
        backup.restore(path, office.database)
    with pytest.raises(DeniableError, match=r"cannot read the backup .*: No such file or directory"):
        backup.restore(tmp_path / "nothing", str(tmp_path / "restored.db"))


def test_a_stale_log_of_a_lost_database_is_not_taken_for_the_new_ones(tmp_path: Path) -> None:
    """The file was deleted, its write-ahead log was not, and a backup comes in its place."""
    database = tmp_path / "programme.db"
    office = new_office(str(database), tmp_path)
    office.programme.backup(tmp_path / "backup")
    office.programme.report(dict.fromkeys(TARGETS, 1))
    shutil.copy(tmp_path / "programme.db-wal", tmp_path / "kept")
    office.programme.close()
    database.unlink()
    shutil.copy(tmp_path / "kept", tmp_path / "programme.db-wal")
    backup.restore(tmp_path / "backup", str(database), never_published=True)
    assert set(office.again().active_counts().values()) == {0}
