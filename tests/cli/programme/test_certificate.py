"""`deniable programme certificate`: the file, without database and key."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.programme.test_draw_round import DICE, freeze, thrown
from tests.cli.programmes import Desk
from tests.cli.running import assert_refused
from tests.languages.test_own_translation import changed
from tests.languages.translated import translated

from deniable.languages.language import language

PAGE = ("certificate", "public", "--round", 1, "--out", "round-1.html")


@pytest.fixture
def drawn(desk: Desk) -> Desk:
    """With the public folder alone on the desk, and a witness's word on the frozen round."""
    desk.init(*DICE)
    freeze(desk)
    desk.done("publish", "--public", "public")
    witness = desk.run("witness", "public", "--key", "union.key", "--name", "union.example", "--json")
    Path("union.txt").write_text(json.loads(witness.out)["key"], encoding="ascii")
    desk.clock.now += timedelta(hours=1)
    desk.done("draw-round", "--throws", thrown(), "--yes")
    desk.done("publish")
    for path in desk.folder.glob("programme.*"):
        path.unlink()
    return desk


def test_a_page(drawn: Desk) -> None:
    document = drawn.json(*PAGE)
    page = Path("round-1.html").read_text(encoding="utf-8")
    assert (document["file"], document["round"]) == ("round-1.html", 1)
    assert document["audits"][0] in page
    assert document["head"] == drawn.json("verify", "public")["head"]
    assert document["head"] in page
    assert "union.example" not in page
    assert "When the round was frozen" in page
    assert_refused(drawn(*PAGE), "round-1.html exists")
    assert "again.html" in drawn.done(*PAGE[:-1], "again.html")
    assert Path("again.html").read_text(encoding="utf-8") == page


def test_a_page_with_a_witness(drawn: Desk) -> None:
    drawn.done(*PAGE, "--witness", "union.txt")
    page = Path("round-1.html").read_text(encoding="utf-8")
    assert "saw the frozen round by 6 January 2026, 00:00 UTC, before the value was out" in page
    assert "Witnesses saw that entry before the value was out." in page
    assert "When the round was frozen" not in page


def test_a_page_in_the_programmes_languages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    translated(monkeypatch, desk.folder / "catalogues", "de")
    desk.init("--languages", "de,en")
    desk.close()
    desk.done("publish", "--public", "public")
    desk.done(*PAGE)
    desk.done(*PAGE[:-1], "english.html", "--language", "en")
    first, english = (Path(name).read_text(encoding="utf-8") for name in ("round-1.html", "english.html"))
    assert '<html lang="de" dir="ltr">' in first
    assert '<html lang="en" dir="ltr">' in english
    assert "--language" not in first
    assert "--language en --out again.html" in english
    assert_refused(desk(*PAGE[:-1], "more.html", "--language", "fr"), "one of the programme's, de and en")


def test_a_page_has_no_sentences_of_the_offices_own(desk: Desk) -> None:
    """They could say that the page shows what it does not."""
    own = changed(desk.folder, lambda _: "Was es außerdem zeigt", "What it does not show")
    desk.init("--languages", "de", "--translation", f"de={own}")
    desk.close()
    desk.done("publish", "--public", "public")
    desk.done(*PAGE)
    page = Path("round-1.html").read_text(encoding="utf-8")
    assert language("de").sentences["What it does not show"][0] in page
    assert "Was es außerdem zeigt" not in page


def test_what_is_refused(drawn: Desk) -> None:
    assert_refused(drawn(*PAGE[:3], 2, *PAGE[4:]), "round 2 is not closed")
    assert_refused(drawn("certificate", "nowhere", *PAGE[2:]), "does not exist")
    assert_refused(drawn(*PAGE[:-1], "no/such/folder.html"), "is not a folder")
    transcript = Path("public/transcript.jsonl")
    transcript.write_text(
        transcript.read_text(encoding="ascii").replace("T01:00:00Z", "T01:00:01Z", 1), encoding="ascii"
    )
    assert_refused(drawn(*PAGE), "entry")
    assert not Path("round-1.html").exists()
