"""One draw on one sheet: what it says, what it refuses, and that it is one sheet."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.console.whole.browsers import chromium
from tests.programme.frozen_offices import DICE, DRAND, OWN, draw, freeze, made, value_of
from tests.programme.offices import TARGETS, Office, make_tables_at_once

from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.public.certificate import Certificate, certificate
from deniable.programme.public.verify import verify
from deniable.programme.randomness.drand import Beacon
from deniable.programme.randomness.source import Dice


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)


def drawn(folder: Path, **settings: Any) -> Office:
    """An office with one round drawn, by drand unless the settings say otherwise."""
    office = made(folder, **({"randomness": DRAND} | settings))
    draw(office)
    return office


def of(office: Office, folder: Path, round_: int = 1) -> Certificate:
    return certificate(verify(office.programme.publish(folder / "public"), now=office.clock.now), round_, plain())


def fact(found: Certificate, name: str) -> str:
    (row,) = (row for row in found.facts if row.name == name)
    return f"{row.text} {row.code}".strip()


def text(found: Certificate) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", found.page)).split())


def test_a_draw_with_drand(tmp_path: Path) -> None:
    office = drawn(tmp_path)
    result = verify(office.programme.publish(tmp_path / "public"), now=office.clock.now)
    found = certificate(result, 1, plain())
    beacon = OWN.chain.round_at(office.clock.now)
    signature = OWN.sign(beacon).signature
    value = f"drand’s beacon {beacon}, out 6 January 2026, 01:00 UTC; signature {signature}"
    assert fact(found, "Public value") == value
    assert fact(found, "Its public key").endswith(OWN.chain.public_key)
    assert fact(found, "Chain") == f"not drand’s own; chain hash {OWN.chain.hash}"
    assert fact(found, "Mixed in").endswith(Beacon(beacon, signature).randomness)
    assert fact(found, "Frozen").startswith("entry 1 of the record, in time; ")
    assert fact(found, "Drawn") == "entry 2"
    assert fact(found, "Record").endswith(result.head)
    assert fact(found, "Rules").endswith(result.programme)
    assert found.audited == office.programme.close_round(1).audits
    shown = text(found)
    assert f"verify FOLDER --against {result.head}" in shown
    assert "an audit is no proof of a report" in shown
    assert "named no oversight body" in shown
    assert "Who has the key of that chain knew it before" in shown
    for row in found.facts:
        assert row.text in shown
        assert row.code in shown


def test_a_draw_with_dice(tmp_path: Path) -> None:
    found = of(drawn(tmp_path, randomness=DICE), tmp_path)
    value = fact(found, "Public value")
    assert value.startswith("numbers thrown in public on 6 January 2026, 01:00 UTC: the town hall ")
    assert re.fullmatch("[1-6]( [1-6]){38}", value.partition("hall ")[2])
    assert "people who were there can confirm it" in text(found)
    assert "pip install '.[programme]'" in text(found)


def test_a_draw_without_public_values(tmp_path: Path) -> None:
    office = made(tmp_path, randomness=None)
    office.close()
    found = of(office, tmp_path)
    assert fact(found, "Public value") == "none: the programme draws without public values"
    assert fact(found, "Closed").startswith("entry 1 of the record, in time")
    assert "no public value went into it" in text(found)


def test_a_draw_without_its_value_and_late(tmp_path: Path) -> None:
    office = made(tmp_path)
    office.clock.now = office.programme.parameters.calendar.due(1) + timedelta(days=2)
    office.programme.close_round(1, "the office was flooded")
    office.clock.now += timedelta(days=8)
    office.programme.draw_round(reason="the dice were stolen")
    found = of(office, tmp_path)
    assert "2 days late: the office was flooded" in fact(found, "Frozen")
    assert fact(found, "Public value").endswith("the dice were stolen")
    assert "no public value went into it" in text(found)


def test_names_that_became_public_later(tmp_path: Path) -> None:
    office = drawn(tmp_path, reveal_after=1)
    with pytest.raises(DeniableError, match="not public before round 2"):
        of(office, tmp_path)
    names = office.programme.close_round(1).audits
    freeze(office)
    found = of(office, tmp_path)
    assert (found.audited, fact(found, "Drawn")) == (names, "entry 2; the names became public in entry 4")


def test_a_target_with_a_number_and_a_new_name(tmp_path: Path) -> None:
    office = drawn(tmp_path, registered=["A1", "B2", "C3", "D4"], audits=2)
    first, second = office.programme.close_round(1).audits
    office.programme.rename_target(second, "Elm Yard", "a merger", independent=True)
    numbers = dict(zip(TARGETS, ["A1", "B2", "C3", "D4"], strict=True))
    assert of(office, tmp_path).audited == (
        f"{first} (no. {numbers[first]})", f"{second} (no. {numbers[second]}), now Elm Yard",
    )  # fmt: skip


def _skipped(office: Office) -> None:
    office.clock.now = office.programme.parameters.calendar.due(1)
    office.programme.skip("a strike", independent=True)


def _ended(office: Office) -> None:
    freeze(office)
    office.programme.end("the law was repealed")


@pytest.mark.parametrize(
    ("happened", "word"),
    [
        (lambda office: office.programme.status(), "not closed"),
        (_skipped, "skipped"),
        (freeze, "is frozen, and not drawn: Frozen; drawn with numbers"),
        (_ended, "The programme ended before it was drawn"),
    ],
)
def test_a_round_that_was_not_drawn_is_refused(tmp_path: Path, happened: Callable[[Office], Any], word: str) -> None:
    office = made(tmp_path)
    happened(office)
    for number in (1, 2, 0, -1):
        with pytest.raises(DeniableError, match=word if number == 1 else "not closed"):
            of(office, tmp_path, number)


@pytest.mark.parametrize("place", ["name", "target", "place", "reason"])
def test_everything_is_escaped(tmp_path: Path, place: str) -> None:
    """What the office writes cannot become markup."""
    evil = "<script>alert(1)</script>&\"'"
    targets = [evil, *TARGETS[1:]] if place == "target" else TARGETS
    dice = Dice(evil) if place == "place" else DICE
    name = evil if place == "name" else "Site visits"
    office = made(tmp_path, name=name, targets=targets, audits=4, randomness=dice)
    if place == "reason":
        office.clock.now = office.programme.parameters.calendar.due(1) + timedelta(days=1)
        waiting = office.programme.close_round(1, evil).waiting
        assert waiting is not None
        office.clock.now = waiting.expected
    else:
        waiting = freeze(office)
    office.programme.draw_round(value_of(waiting))
    page = of(office, tmp_path).page
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in page
    assert evil in unescape(page)


def test_it_loads_nothing_and_prints_on_one_sheet(tmp_path: Path) -> None:
    """In a browser. Control: with fifty audits it does not fit."""
    many = [f"Target number {number} of a long list" for number in range(60)]
    office = drawn(tmp_path, targets=many, audits=3, name="Site visits of the labour inspectorate of a large region")
    (tmp_path / "many").mkdir()
    crowded = drawn(tmp_path / "many", targets=many, audits=50)
    asked: list[str] = []
    with chromium() as browser:
        for name, found in (("one", of(office, tmp_path)), ("more", of(crowded, tmp_path / "many"))):
            path = tmp_path / f"{name}.html"
            path.write_text(found.page, encoding="utf-8")
            page = browser.new_page(viewport={"width": 820, "height": 1160})
            page.on("request", lambda request: asked.append(request.url))
            page.goto(path.as_uri())
            printed = page.pdf(prefer_css_page_size=True)
            assert (len(re.findall(rb"/Type\s*/Page\b", printed)) == 1) == (name == "one")
    assert [url.rpartition("/")[2] for url in asked if not url.startswith("data:")] == ["one.html", "more.html"]
