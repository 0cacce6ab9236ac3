"""`deniable programme`: publishing, verifying, backups, keys, and the end."""

import io
import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.cli.programmes import INDEPENDENT, NAMES, SETTINGS, Desk
from tests.cli.running import assert_refused

PASSPHRASE = "correct horse battery"


# Publishing and verifying


def test_publish_needs_a_folder_and_the_key_once(office: Desk) -> None:
    assert_refused(office("publish"), "--public FOLDER")
    assert office.json("publish", "--public", "public") == {"folder": str(office.folder / "public"), "entries": 0}
    office.close()
    Path("programme.key").rename("elsewhere")
    assert office.done("publish", "--public", "public").startswith("Published, with 1 entry, in\n")
    assert office.done("publish").startswith("Published, with 1 entry, in\n")
    assert_refused(office("publish", "--public", "other"), "there is no key file")
    assert not Path("other").exists()
    assert {path.name for path in Path("public").iterdir()} >= {"index.html", "transcript.jsonl", "programme.json"}


def test_nothing_is_published_beside_the_key_or_the_database(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (".", "..", office.folder):
        assert_refused(office("publish", "--public", folder), "the database is in the folder", "such as public")
    Path("keys").mkdir()
    Path("programme.key").rename("keys/named")
    assert_refused(office("publish", "--public", "keys"), "the key is in the folder")
    Path("keys/below").mkdir()
    Path("keys/named").rename("keys/below/named")
    monkeypatch.setenv("DENIABLE_KEY", "keys/below/named")
    assert_refused(office("publish", "--public", "keys"), "the key is in the folder")
    monkeypatch.delenv("DENIABLE_KEY")
    assert_refused(office("run", "--once", "--public", "keys", "--key", "keys/below/named"), "the key is in the folder")
    assert {path.name for path in office.folder.rglob("*")} == {
        "targets.txt",
        "programme.db",
        "programme.key.transcript",
        "keys",
        "below",
        "named",
    }
    Path("programme.key.transcript").rename("keys/below/named.transcript")
    office.done("publish", "--public", "public", "--key", "keys/below/named")


def test_publish_makes_one_folder_and_says_which_is_no_longer_brought_up_to_date(office: Desk) -> None:
    for command in (["publish"], ["run", "--once"]):
        assert_refused(office(*command, "--public", "no/such"), "cannot write into", "no is not a folder")
        assert not Path("no").exists()
    assert "no longer" not in office.done("publish", "--public", "public")
    assert "no longer" not in office.done("publish", "--public", "public")
    out = office.done("publish", "--public", "other")
    left = f"The folder published so far is no longer brought up to date:\n  {office.folder / 'public'}\n"
    assert out.endswith(left)


def test_verify_is_given_the_folder_and_not_a_file_in_it(office: Desk) -> None:
    office.done("publish", "--public", "public")
    assert_refused(office("verify", "public/transcript.jsonl"), "transcript.jsonl is a file: give the folder")


def test_a_wrong_key_is_found_when_a_backup_is_restored(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    office.done("publish", "--public", "public")
    office.done("backup", "backup")
    office.init("--database", "another.db")
    new = ("--database", "new.db")
    assert_refused(office("restore", "backup", *new, "--key", "another.key"), "this is not the key of the programme")
    monkeypatch.setenv("DENIABLE_PASSPHRASE", "correct horse battery")
    assert_refused(office("restore", "backup", *new, "--passphrase"), "not")
    monkeypatch.delenv("DENIABLE_PASSPHRASE")
    assert not list(Path().glob("new.db*"))
    office.done("restore", "backup", *new, "--key", "programme.key")


def test_a_backup_of_an_ended_programme_is_restored_with_any_key(office: Desk) -> None:
    office.done("publish", "--public", "public")
    office.done("end", "--reason", "done", "--yes")
    office.done("publish")
    office.done("backup", "backup")
    office.done("restore", "backup", "--database", "new.db", "--key", "programme.key")


def test_a_file_of_reports_is_not_published_as_the_list_of_targets(desk: Desk) -> None:
    Path("reports.csv").write_text("date,target,reports\n2025-01-06,Ash Mill,2\n2025-01-06,Birch Works,1\n")
    assert_refused(desk("init", "reports.csv", *SETTINGS), "this is a file of reports, not a list of targets")
    assert [path.name for path in desk.folder.iterdir()] == ["reports.csv"]


def test_verify_says_what_was_checked_and_what_to_look_at(office: Desk) -> None:
    office.close()
    office.done("override", "Ash Mill", "--reason", "an accident", "--because-of-reports", "--yes")
    office.done("publish", "--public", "public")
    out = office.done("verify", "public")
    for words in (
        "Site visits: 1 round closed, 2 entries. Checked, and in order:",
        "  every entry follows on the one before, and the office signed the last",
        "index.html says what the transcript says.",
        "Please note\nEntry 2, round 2: audit of Ash Mill, ordered by hand. Reason: an accident.",
        "The promise holds for reports filed from round 3 on, that is, from",
    ):
        assert words in out.replace(" \n", " ")
    document = office.json("verify", "public")
    assert (document["entries"], document["pages"], document["against"]) == (2, {"index.html": "matches"}, None)
    assert f"Public key: compare it with one that you have from elsewhere.\n  {document['public_key']}\n" in out
    assert out.endswith(f"Fingerprint: note it, with the date, for --against.\n  {document['head']}\n")


def test_verify_says_once_what_it_means_to_be_late(office: Desk) -> None:
    for _ in range(4):
        office.clock.tomorrow()
    for _ in range(3):
        office.done("close-round", "--reason", "A flood.")
    office.done("publish", "--public", "public")
    Path("public/VERIFY.md").unlink()
    out = " ".join(office.done("verify", "public").split())
    assert out.count("It does not cover the time of the draw") == 1
    assert [f"closed {days} late." in out for days in ("3 days", "2 days", "1 day")] == [True] * 3
    assert "Not in the folder: VERIFY.md." in out


def test_verify_warns_without_failing(office: Desk) -> None:
    """The programme's rounds have been due for long by the real clock, and the page was changed."""
    office.done("publish", "--public", "public")
    with Path("public/index.html").open("a", encoding="utf-8") as page:
        page.write("<!-- -->")
    out = office.done("verify", "public")
    assert "WARNING: rounds 1 to " in out
    assert "WARNING: index.html is not the page" in out


def test_verify_refuses_what_was_changed(office: Desk) -> None:
    audited = office.close()["audits"][0]
    office.done("publish", "--public", "public")
    other = next(name for name in NAMES if name != audited)
    transcript = Path("public/transcript.jsonl")
    transcript.write_text(transcript.read_text("ascii").replace(audited, other), "ascii")
    assert_refused(office("verify", "public"), "entry 1")
    assert_refused(office("verify", "nowhere"), "the folder nowhere does not exist")


def test_verify_against_an_earlier_copy(office: Desk) -> None:
    office.done("publish", "--public", "public")
    shutil.copytree("public", "earlier")
    head = office.json("verify", "earlier")["head"]
    office.close()
    office.done("publish")
    for earlier in ("earlier", "earlier/transcript.jsonl", head, head.upper()):
        assert "everything in the earlier transcript is still there" in office.done(
            "verify", "public", "--against", earlier
        )
    assert_refused(office("verify", "earlier", "--against", "public"), "wrong order")
    assert_refused(office("verify", "public", "--against", "0" * 64), "rewritten")


# Backups


def test_a_backup_older_than_what_was_published_goes_on_in_public(office: Desk) -> None:
    office.done("publish", "--public", "public")
    office.done("backup", "monday")
    drawn = office.close()["audits"]
    office.done("publish")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DENIABLE_DATABASE", "new.db")
        patch.setenv("DENIABLE_KEY", "programme.key")
        assert "as they were at the backup" in " ".join(office.done("restore", "monday").split())
        assert "has more, so see deniable programme recover" in " ".join(office.done("status").split())
        assert_refused(office("close-round"), "is an old one")
        out = office.done("recover", "--public", "public", "--reason", "the disk broke")
        assert "Reason: the disk broke." in " ".join(out.split())
        assert "Round 2 is due at 2026-01-07" in out
        assert office.json("close-round")["audits"] == drawn
        assert_refused(office("recover", "--public", "public", "--reason", "x"), "nothing is lost")
        office.done("publish")
        assert office.json("verify", "public")["entries"] == 2


def test_a_round_that_was_seen_is_not_drawn_again_from_a_backup(office: Desk) -> None:
    """The disk is lost between closing and publishing; six times, since by chance a second draw may be equal."""
    office.done("publish", "--public", "public")
    office.done("backup", "monday")
    office.done("report", "Dogwood Clinic", "40")
    office.close()
    for _ in range(6):
        for file in Path().glob("programme.db*"):
            file.unlink()
        office.done("restore", "monday")
        for command in ("close-round", "publish"):
            assert_refused(office(command), "is an old one")
        assert_refused(office("report", "Ash Mill"), "is an old one")


def test_a_database_that_was_set_back_without_the_key_draws_nothing(office: Desk) -> None:
    """As it was, or with another value in a column that says how far the programme is, or where it is published."""
    office.done("publish", "--public", "public")
    office.close()
    office.done("publish")
    shutil.copy("programme.db", "old.db")
    office.close()
    office.done("publish")
    shutil.copy("programme.db", "new.db")
    newest = _standing("new.db")
    assert newest.keys() == {"id", "head", "folder"}  # 0.1.0 had another, and did not notice that it was changed
    for changed, says in (
        ({}, "has more entries (2) than the database (1): the database is an old one"),
        ({"folder": None}, "public folder were changed"),
        ({"folder": "elsewhere"}, "public folder were changed"),
        ({"head": newest["head"]}, "public folder were changed"),
        ({"head": newest["head"], "folder": None}, "public folder were changed"),
    ):
        for file in Path().glob("programme.db*"):
            file.unlink()
        shutil.copy("old.db", "programme.db")
        before = _standing("programme.db", **changed)
        assert_refused(office("close-round"), says)
        assert_refused(office("publish", "--public", "elsewhere"), says)
        assert not Path("elsewhere").exists()
        assert _standing("programme.db") == before


def _standing(database: str, **changed: str | None) -> dict[str, Any]:
    """How far the programme is, and where it is published, after an attacker changed this."""
    engine = sa.create_engine(f"sqlite:///{database}")
    with engine.begin() as connection:
        for column, value in changed.items():
            connection.execute(sa.text(f"UPDATE standing SET {column} = :value"), {"value": value})
        found = dict(connection.execute(sa.text("SELECT * FROM standing")).mappings().one())
    engine.dispose()
    return found


def test_a_backup_from_before_the_first_publication(office: Desk) -> None:
    """Without a folder to compare with, a database that was restored would draw published rounds again."""
    office.done("backup", "monday")
    office.close()
    office.done("publish", "--public", "public")
    new = ("--database", "new.db", "--json")
    assert_refused(office("restore", "monday", *new), "--public FOLDER", "--never-published")
    assert_refused(office("restore", "monday", "--public", "public", "--never-published", *new), "got both")
    assert not Path("new.db").exists()
    assert_refused(office("restore", "monday", "--public", "public", *new), "there is no key file new.key")
    assert not Path("new.db").exists()
    office.done("restore", "monday", "--public", "public", *new, "--key", "programme.key")
    Path("programme.key.transcript").unlink()
    assert_refused(
        office("close-round", "--database", "new.db", "--key", "programme.key"), "the database is an old one"
    )
    office.done("restore", "monday", "--never-published", "--database", "third.db")
    assert office.json("status", "--database", "third.db")["folder"] is None


def test_the_help_says_what_may_be_entered_again_and_what_a_source_is(office: Desk) -> None:
    recover = " ".join(office.done("recover", "--help").split())
    assert "only reports about targets that were not audited since they were filed may be entered again" in recover
    assert "with tca none that was filed before the recovery" in recover
    assert "Each account or site needs a name of its own" in " ".join(office.done("import", "--help").split())


def test_what_is_no_backup_is_refused(office: Desk) -> None:
    assert_refused(office("restore", "nowhere", "--database", "new.db"), "cannot read the backup")
    assert_refused(office("restore", "programme.db", "--database", "new.db"), "not a whole backup")
    assert not Path("new.db").exists()


# Keys


def test_a_new_key_file_takes_the_place_of_the_old(office: Desk) -> None:
    office.done("report", "Ash Mill")
    out = office.done("rekey", "--new-key", "new.key")
    assert f"  --key {office.folder / 'new.key'}\n" in out
    assert f"Then destroy {office.folder / 'programme.key'}." in " ".join(out.split())
    assert_refused(office("report", "Ash Mill"), "this is not the key")
    office.done("report", "Ash Mill", "--key", "new.key")
    assert_refused(office("rekey", "--key", "new.key"), "got neither")
    assert_refused(office("rekey", "--key", "new.key", "--new-key", "x", "--new-passphrase"), "got both")
    assert_refused(office("rekey", "--key", "new.key", "--new-key", "programme.key"), "exists already")
    office.done("report", "Ash Mill", "--key", "new.key")


def test_with_a_new_key_file_the_commands_that_need_no_key_go_on(office: Desk) -> None:
    """They look for the copy beside the old key, whose note says where the new one is."""
    office.done("publish", "--public", "public")
    office.done("rekey", "--new-key", "new.key")
    office.done("override", "Ash Mill", "--reason", "A court.", "--independent-of-reports", "--key", "new.key")
    Path("programme.key").unlink()
    assert "Ash Mill" in office.done("work-list")
    office.done("publish")
    office.done("backup", "backup")
    office.done("rekey", "--key", "new.key", "--new-key", "newest.key")
    office.done("publish")
    Path("newest.key.transcript").rename("elsewhere")
    assert_refused(office("publish"), "was replaced by another")


def test_a_key_file_gives_way_to_a_passphrase(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_NEW_PASSPHRASE", "too short")
    assert_refused(office("rekey", "--new-passphrase"), "at least 12 characters")
    monkeypatch.setenv("DENIABLE_NEW_PASSPHRASE", PASSPHRASE)
    assert "\n  --passphrase\n" in office.done("rekey", "--new-passphrase")
    monkeypatch.setenv("DENIABLE_PASSPHRASE", PASSPHRASE)
    office.done("report", "Ash Mill")


def test_with_a_new_passphrase_the_commands_that_need_no_key_go_on(
    office: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The public folder takes the place of the copy beside the old key; a database that is older is refused by it."""
    office.done("publish", "--public", "public")
    monkeypatch.setenv("DENIABLE_NEW_PASSPHRASE", PASSPHRASE)
    office.done("rekey", "--new-passphrase")
    shutil.copy("programme.db", "old.db")
    monkeypatch.setenv("DENIABLE_PASSPHRASE", PASSPHRASE)
    office.done("override", "Ash Mill", "--reason", "A court.", "--independent-of-reports", "--passphrase")
    office.done("publish")
    office.done("backup", "backup")
    shutil.copy("old.db", "programme.db")
    assert_refused(office("publish"), "the transcript in the folder")


# The database's layout, and the end


def test_upgrade_is_for_a_programme_of_another_layout(office: Desk) -> None:
    assert office.json("upgrade") == {"upgraded": True}
    assert_refused(office("upgrade", "--database", "nowhere.db"), "there is no programme")
    assert not Path("nowhere.db").exists()
    engine = sa.create_engine("sqlite:///programme.db")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    assert_refused(office("status"), "layout 9999")
    assert_refused(office("upgrade"), "version")


@pytest.mark.parametrize("typed", ["", "Site visit\n"])
def test_the_end_must_be_meant(office: Desk, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    code, out, err = office("end", "--reason", "the law was repealed")
    assert (code, out) == (2, "")
    assert err.endswith("error: that is not the programme's name, Site visits; nothing was changed\n")
    assert not office.json("status")["ended"]


def test_the_end_is_public_and_for_good(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    office.done("publish", "--public", "public")
    monkeypatch.setattr("sys.stdin", io.StringIO("Site visits\n"))
    code, out, _ = office("end", "--reason", "the law was repealed")
    assert code == 0
    assert out.startswith("Entry 1, round 1: the programme ended. Reason: the law was repealed.")
    office.clock.tomorrow()
    for command in (["report", "Ash Mill"], ["close-round"], ["skip", "--reason", "x", INDEPENDENT],
                    ["end", "--reason", "again", "--yes"], ["status", "--show-counts"]):  # fmt: skip
        assert_refused(office(*command), "the programme has ended")
    assert "The programme has ended" in office.done("status")
    assert office.json("status")["open_round"] is None
    office.done("publish")
    assert office.json("verify", "public")["ended"]
    Path("programme.key").unlink()  # as the office is told to do
    office.done("publish", "--public", "moved")
    assert office.json("verify", "moved")["ended"]


def test_after_the_end_no_round_is_named_from_which_the_promise_would_hold(office: Desk) -> None:
    office.done("override", "Ash Mill", "--reason", "a hint", "--because-of-reports", "--yes")
    office.done("end", "--reason", "the law was repealed", "--yes")
    office.done("publish", "--public", "public")
    for command in (["status"], ["verify", "public"]):
        told = " ".join(office.done(*command).split())
        assert "The promise holds for no report: it does not cover reports filed in round 1 or earlier" in told


def test_the_end_says_first_what_is_still_open(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    office.done("publish", "--public", "public")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "Not " not in office("end", "--reason", "the law was repealed")[2].partition("type its name")[0]
    office.done("override", "Ash Mill", "--reason", "a fire", INDEPENDENT)
    err = office("end", "--reason", "the law was repealed")[2].partition("type its name")[0]
    assert "Reports that wait for the draw are deleted" in err
    assert "Not published yet: 1 entry" in err
    assert "Not recorded yet: 1 audit." in err
    assert not office.json("status")["ended"]


def test_yes_is_for_machines(office: Desk) -> None:
    assert office.json("end", "--reason", "the law was repealed", "--yes")["kind"] == "end"
