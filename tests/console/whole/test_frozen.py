"""Frozen rounds in a real browser: people throw dice, drand's beacon is fetched or brought, and nothing comes.

Pictures of all pages are left in artifacts/console.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect
from tests.console.offices import Office, new_office
from tests.console.pages.test_frozen_round import OWN, awaited, thrown
from tests.console.whole.browsers import Walk, chromium, emptied, served, violations
from tests.console.whole.interpreter import interpreted
from tests.console.whole.test_walk import WITH_PUBLIC_VALUES
from tests.programme.offices import TARGETS
from tests.programme.randomness.test_mirrors import as_json, mirror, says

from deniable.languages.language import CONSOLE
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.randomness.source import Drand


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    office = new_office(tmp_path)
    yield office
    office.console.close()


@contextmanager
def walk(office: Office, browser: Browser, pictures: Path | None, **options: Any) -> Iterator[Walk]:
    with served(office.console) as address:
        yield Walk(office.console, office.clock, address, browser, options, pictures)
        for context in browser.contexts:
            context.close()


WAYS = ["dice", "drand"]


@pytest.mark.parametrize("way", WAYS)
def test_frozen_rounds_without_scripts(office: Office, browser: Browser, way: str) -> None:
    """On a telephone, in the everyday run."""
    options = {"viewport": {"width": 390, "height": 844}, "java_script_enabled": False}
    with walk(office, browser, None, **options) as walking:
        go(walking, office, way)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_frozen_rounds_and_no_violation(office: Office, browser: Browser, way: str, width: int, scheme: str) -> None:
    """With scripts on, which axe-core needs: it looks at every page."""
    options = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme, "bypass_csp": True}
    found: list[Any] = []
    with walk(office, browser, emptied(f"frozen-{way}-{width}-{scheme}"), **options) as walking:
        walking.inspect = lambda page: found.extend(violations(page))
        go(walking, office, way)
    assert found == []


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("code", CONSOLE[1:])
def test_frozen_rounds_in_another_language(office: Office, browser: Browser, way: str, width: int, code: str) -> None:
    options = {"viewport": {"width": width, "height": 844}, "java_script_enabled": False, "locale": code}
    pictures = emptied(f"frozen-{way}-{code}-{width}")
    with interpreted(code), walk(office, browser, pictures, **options) as walking:
        go(walking, office, way)


def go(walk: Walk, office: Office, way: str) -> None:
    otto, anna = walk.window(), walk.window()
    for name, page in (("Otto", otto), ("Anna", anna)):
        walk.sign_in(page, name)
    if way == "dice":
        with_dice(walk, office, otto, anna)
    else:
        with_beacons(walk, office, otto, anna)
    steps = {"numbers"} if way == "dice" else {"fetch", "file", "without", "confirm", "withdraw"}
    visited = {("GET", "/round/draw"), *(("POST", f"/round/draw/{step}") for step in steps)}
    assert walk.not_visited() & visited == set()
    assert visited <= WITH_PUBLIC_VALUES
    assert [text for text in walk.told if "responded with a status of" not in text] == []


def with_dice(walk: Walk, office: Office, otto: Page, anna: Page) -> None:
    """From the plan to a published round that checks out."""
    walk.visit(anna, "/plan", "plan")
    for label, typed in (
        ("Name of the programme", "Site visits"),
        ("A round lasts", "1"),
        ("Rounds close at", "00:00"),
        ("Time zone", "UTC"),
    ):
        anna.get_by_label(label).fill(typed)
    anna.get_by_label("Targets", exact=True).fill("\n".join(TARGETS))
    anna.get_by_label("Days, weeks or months").select_option("D")
    anna.get_by_text("More choices").click()
    anna.get_by_role("radio", name="Dice").check()
    anna.get_by_label("Dice and lottery: place").fill("Town hall, main entrance")
    anna.get_by_role("button", name="Show what this means").click()
    expect(anna.get_by_role("radio", name="Dice")).to_be_visible()
    walk.look(anna, "plan-shown")
    anna.get_by_role("button", name="Check before you start").click()
    assert "a die with 6 sides, thrown 39 times" in walk.look(anna, "plan-check")
    anna.get_by_role("button", name="Start this programme").click()
    assert "thrown 39 times" in walk.look(anna, "begun")
    programme = office.console.programme()
    assert programme is not None
    freeze(walk, programme, otto)
    publish(walk, otto)
    assert "Come back then" in walk.visit(otto, "/round/draw", "not-thrown-yet")
    walk.clock.now += timedelta(minutes=70)
    for name, page in (("Otto", otto), ("Anna", anna)):
        walk.sign_in(page, name)
    assert "Round 1 was frozen" in walk.visit(otto, "/round", "round-waits")
    assert "Round 1 was frozen" in walk.visit(anna, "/round", "round-waits-auditor")
    assert "Two of you enter the numbers" in walk.visit(otto, "/health", "health")
    enter(walk, otto, "1 2 3")
    assert "must be 39 throws" in walk.look(otto, "too-few")
    enter(walk, otto, thrown(1))
    assert "Now Anna enters them too" in walk.look(otto, "entered")
    assert "Otto entered the numbers" in walk.visit(anna, "/round/draw", "second-person")
    assert anna.get_by_label("Day and time").input_value() == f"{walk.clock.now - timedelta(minutes=5):%Y-%m-%dT%H:%M}"
    enter(walk, anna, thrown(2))
    for page in (anna, otto):
        assert "The numbers differ" in walk.visit(page, "/round/draw", "differ")
    enter(walk, anna, thrown(1))
    assert "Round 1 is drawn" in walk.look(anna, "drawn")
    drawn = anna.locator(".drawn-one").inner_text()
    assert drawn in TARGETS
    publish(walk, otto)
    assert drawn in walk.visit(otto, "/transcript", "transcript")
    assert verify(office.public, now=walk.clock.now).rounds == 1
    look_at_public_page(walk, office)


def with_beacons(walk: Walk, office: Office, otto: Page, anna: Page) -> None:
    """Round 1 is drawn with a beacon from a mirror, round 2 with one from a file, round 3 without."""
    programme = office.begin(randomness=Drand(OWN.chain, minutes=10, days=1))
    freeze(walk, programme, otto)
    publish(walk, otto)
    assert "Come back then" in walk.visit(otto, "/round/draw", "early")
    walk.clock.now += timedelta(minutes=11)
    walk.visit(otto, "/round/draw", "out")
    with mirror(says(b"", 404)) as empty:
        office.console.mirrors = [empty.url]
        otto.get_by_role("button", name="Fetch the value and draw").click()
        assert "mirror gave beacon" in walk.look(otto, "not-there")
    with mirror(says(as_file(programme))) as ours:
        office.console.mirrors = [ours.url]
        otto.get_by_role("button", name="Fetch the value and draw").click()
        assert "Round 1 is drawn" in walk.look(otto, "fetched")
    freeze(walk, programme, otto, 2)
    walk.clock.now += timedelta(minutes=11)
    walk.visit(otto, "/round/draw", "out-again")
    otto.get_by_label("File", exact=True).set_input_files({"name": "beacon.json", "mimeType": "", "buffer": b"{}"})
    otto.get_by_role("button", name="Check the file and draw").click()
    assert "file has no beacon" in walk.look(otto, "wrong-file")
    right: FilePayload = {"name": "beacon.json", "mimeType": "", "buffer": as_file(programme)}
    otto.get_by_label("File", exact=True).set_input_files(right)
    otto.get_by_role("button", name="Check the file and draw").click()
    assert "Round 2 is drawn" in walk.look(otto, "brought")
    freeze(walk, programme, otto, 3)
    walk.clock.now += timedelta(days=1, minutes=11)
    for name, page in (("Otto", otto), ("Anna", anna)):
        walk.sign_in(page, name)
    for _ in range(2):
        walk.visit(otto, "/round/draw", "long-enough")
        otto.get_by_label("Reason", exact=True).fill("drand could not be reached for a day.")
        otto.get_by_role("button", name="Ask to draw without the value").click()
        assert "Another person must confirm it now" in walk.look(otto, "asked")
        assert "Otto asked to draw" in walk.visit(anna, "/round/draw", "to-be-confirmed")
        if ("POST", "/round/draw/withdraw") not in walk.sent:
            otto.get_by_role("button", name="Withdraw the request").click()
            assert "withdrawn" in walk.look(otto, "withdrawn")
    anna.get_by_role("button", name="Confirm, and draw without the value").click()
    assert "Round 3 is drawn" in walk.look(anna, "drawn-without")
    publish(walk, anna)
    assert "Drawn without its public value" in walk.visit(anna, "/transcript", "transcript")
    assert "without its public value, as Otto had asked" in walk.visit(anna, "/activity", "activity")
    look_at_public_page(walk, office)


def as_file(programme: Programme) -> bytes:
    """What a mirror gives for the round that waits."""
    return json.dumps(as_json(awaited(programme))).encode()


def freeze(walk: Walk, programme: Programme, page: Page, round_: int = 1) -> None:
    walk.clock.now = programme.parameters.calendar.due(round_)
    walk.sign_in(page, "Otto")
    walk.visit(page, "/round/close", "close")
    page.get_by_role("button", name=f"Freeze round {round_}").click()
    assert f"Round {round_} is frozen" in walk.look(page, "frozen")


def publish(walk: Walk, page: Page) -> None:
    page.goto(f"{walk.address}/transcript")
    page.get_by_role("button", name="Publish").click()
    assert "up to date" in page.inner_text("main")


def enter(walk: Walk, page: Page, numbers: str) -> None:
    page.goto(f"{walk.address}/round/draw")
    page.get_by_label("Numbers", exact=True).fill(numbers)
    page.get_by_label("Day and time").fill(f"{walk.clock.now - timedelta(minutes=5):%Y-%m-%dT%H:%M}")
    page.get_by_role("button", name="Enter these numbers").click()


def look_at_public_page(walk: Walk, office: Office) -> None:
    public = walk.window()
    public.goto((office.public / "index.html").as_uri())
    walk.look(public, "public-page")
