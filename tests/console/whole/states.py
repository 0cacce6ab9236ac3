"""States of a programme that the demonstration never comes to, and what the console answers in each of them."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.console.offices import CLASSES, FILE, Office, fallen_behind, pending_on, preview, recovered
from tests.console.pages.test_emergencies import VISIT, ask, confirm
from tests.console.pages.test_frozen_round import DICE, ONE, OWN, awaited, enter, frozen, thrown
from tests.console.pages.test_health import changed, lost, unsigned
from tests.console.pages.test_plan import show
from tests.programme.randomness.test_mirrors import as_json, mirror, says

from deniable.programme.randomness.source import Drand

Shown = Iterator[tuple[str, Any]]
"""Names of pages, and the answers."""

READERS = {
    "Ada": ("/health", "/activity"),
    "Otto": ("/round", "/round/draw", "/transcript", "/health", "/work-list", "/emergencies"),
    "Ida": ("/report", "/import"),
    "Anna": ("/round", "/report", "/import", "/guarantee", "/transcript", "/plan"),
}


def everywhere(office: Office, headers: dict[str, str]) -> Shown:
    """What each role is shown of the state, on every page that tells of it."""
    for name, paths in READERS.items():
        browser = office.browser(name, headers=headers)
        for path in paths:
            answer = browser.get(path)
            if answer.status_code != 303:
                yield f"{name} {path}", answer


def dice(office: Office, headers: dict[str, str]) -> Shown:
    """A round waits for people who throw dice; they come too early, mistake themselves, differ, and agree."""
    programme = office.begin(randomness=DICE)
    office.clock.now = programme.parameters.calendar.due(1)
    otto = office.browser("Otto", headers=headers)
    yield "to freeze", otto.get("/round/close")
    yield "frozen", otto.post("/round/close", ONE)
    yield "not published", otto.get("/round/draw")
    programme.publish(office.public)
    yield "early", otto.get("/round/draw")
    yield "too early", enter(otto, thrown(), time="2026-01-06T01:00")
    office.clock.now += timedelta(hours=15)
    yield from everywhere(office, headers)
    otto, anna = (office.browser(name, headers=headers) for name in ("Otto", "Anna"))
    for numbers, fields in (
        ("1 2 3", {}),
        ("7" * 39, {}),
        (thrown(), {"time": ""}),
        (thrown(), {"time": "2026-01-06T00:59"}),
        (thrown(), {"time": "2026-01-06T23:00"}),
        (thrown(), {"round": "2"}),
        (thrown(), {"round": "x"}),
    ):
        yield "mistaken", enter(otto, numbers, **fields)
    yield "other source", otto.post("/round/draw/fetch", ONE)
    yield "too early without", otto.post("/round/draw/without", {**ONE, "reason": "north"})
    enter(otto, thrown(1))
    for browser in (otto, anna):
        yield "entered once", browser.get("/round/draw")
    enter(anna, thrown(2))
    for browser in (otto, anna):
        yield "they differ", browser.get("/round/draw")
    enter(anna, thrown(1), time="2026-01-06T13:05")
    for browser in (otto, anna):
        yield "their times differ", browser.get("/round/draw")
    yield "drawn", enter(anna, thrown(1))
    yield "drawn before", enter(otto, thrown(1))
    yield "record", anna.get("/transcript")
    yield "log", anna.get("/activity")


def beacons(office: Office, headers: dict[str, str]) -> Shown:
    """A round waits for drand: it cannot be fetched, the wrong file is brought, and then the right one."""
    programme = office.begin(randomness=Drand(OWN.chain))
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    otto = office.browser("Otto", headers=headers)
    yield "early", otto.get("/round/draw")
    yield "too early", otto.post("/round/draw/fetch", ONE)
    office.clock.now += timedelta(hours=2)
    yield from everywhere(office, headers)
    otto = office.browser("Otto", headers=headers)
    with mirror(says(b"", 404)) as missing, mirror(says(b"{}")) as wrong, mirror(says(b"", 500)) as broken:
        office.console.mirrors = [missing.url, wrong.url, broken.url, "http://127.0.0.1:9"]
        yield "not there", otto.post("/round/draw/fetch", ONE)
    beacon = awaited(programme)
    for content in (b"", b"[1]", _file(OWN.sign(beacon.round + 1)), b'{"round": 1'):
        yield "wrong file", otto.post("/round/draw/file", ONE, files={"file": ("beacon.json", content)})
    yield "numbers", enter(otto, thrown())
    yield "brought", otto.post("/round/draw/file", ONE, files={"file": ("beacon.json", _file(beacon))})
    programme.publish(office.public)
    for path in ("/transcript", "/health"):
        yield path, otto.get(path)


def nothing_came(office: Office, headers: dict[str, str]) -> Shown:
    """The public value never came, and two people draw without it."""
    frozen(office)
    office.clock.now += timedelta(days=7)
    yield from everywhere(office, headers)
    otto, anna, ada = (office.browser(name, headers=headers) for name in ("Otto", "Anna", "Ada"))
    reason = {**ONE, "reason": "north"}
    yield "no reason", otto.post("/round/draw/without", ONE)
    otto.post("/round/draw/without", reason)
    yield "asked", otto.get("/round/draw?done=asked")
    yield "asked before", anna.post("/round/draw/without", reason)
    yield "own request", otto.post("/round/draw/confirm", ONE)
    yield "to be confirmed", anna.get("/round/draw")
    yield "waits", anna.get("/round")
    anna.post("/round/draw/withdraw", ONE)
    yield "refused", anna.get("/round/draw?done=refused")
    yield "gone", anna.post("/round/draw/confirm", ONE)
    otto.post("/round/draw/without", reason)
    otto.post("/round/draw/withdraw", ONE)
    yield "withdrawn", otto.get("/round/draw?done=withdrawn")
    otto.post("/round/draw/without", reason)
    yield "drawn", anna.post("/round/draw/confirm", ONE)
    yield "record", anna.get("/transcript")
    yield "log", ada.get("/activity")


def paused(office: Office, headers: dict[str, str]) -> Shown:
    """The office went on from an old database, imports do not count, and an auditor lets them count again."""
    recovered(office)
    yield from everywhere(office, headers)
    for name in ("Ida", "Anna"):
        browser = office.browser(name, headers=headers)
        office.hotline("hotline", name)
        page = preview(browser, FILE)
        yield f"{name} previews", page
        browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "paused"})
        yield f"{name} noted", browser.get("/import?done=paused")
    anna = office.browser("Anna", headers=headers)
    yield "no reason", anna.post("/import/resume", {"reason": ""})
    anna.post("/import/resume", {"reason": "north"})
    yield "resumed", anna.get("/import?done=resumed")
    yield "again", anna.post("/import/resume", {"reason": "north"})
    for path in ("/transcript", "/activity", "/round"):
        yield path, anna.get(path)


def behind(office: Office, headers: dict[str, str]) -> Shown:
    """The database is older than what was published."""
    fallen_behind(office)
    yield from everywhere(office, headers)
    otto = office.browser("Otto", headers=headers)
    yield "close", otto.post("/round/close", ONE)
    yield "publish", otto.post("/transcript/publish")


def ended(office: Office, headers: dict[str, str]) -> Shown:
    """The programme ended while reports waited; then it is published."""
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 1}, report_class="danger")
    office.clock.tomorrow()
    programme.close_round()
    programme.end("north")
    yield from everywhere(office, headers)
    programme.publish(office.public)
    yield from everywhere(office, headers)
    otto, anna = (office.browser(name, headers=headers) for name in ("Otto", "Anna"))
    yield "close", otto.post("/round/close", {"round": "2"})
    yield "decide", otto.post("/round/decisions/skip", {"reason": "north", "independent": "yes"})
    yield "import", preview(anna)
    yield "report", anna.post("/report", {"target": "Ash Mill", "number": "1", "confirmed": "1", "form_id": "x" * 22})
    yield "visit", ask(anna)


def ended_while_frozen(office: Office, headers: dict[str, str]) -> Shown:
    frozen(office).end("north")
    yield from everywhere(office, headers)


def lapsed(office: Office, headers: dict[str, str]) -> Shown:
    """The office decided because of a report, and the public does not know; then it does."""
    programme = office.begin()
    programme.publish(office.public)
    anna, otto = (office.browser(name, headers=headers) for name in ("Anna", "Otto"))
    decision = {"target": "Ash Mill", "reason": "north", "independent": "no"}
    yield "shown first", otto.post("/round/decisions/override", decision)
    otto.decide("override", decision)
    for browser in (otto, anna):
        yield "waits", browser.get("/round/pending")
    anna.confirm_decision()
    yield "decided", anna.get("/transcript?done=decided")
    programme.override(["Birch Works"], "north", independent=False)
    yield from everywhere(office, headers)
    programme.publish()
    yield from everywhere(office, headers)


def emergencies(office: Office, headers: dict[str, str]) -> Shown:
    """Reports lead to visits at once: one is asked for, refused, asked for again, and confirmed."""
    programme = office.begin(classes=CLASSES)
    programme.report({"Ash Mill": 2, "Cedar Bank": 1}, report_class="minor")
    programme.report({"Ash Mill": 1}, report_class="danger")
    anna, otto = (office.browser(name, headers=headers) for name in ("Anna", "Otto"))
    for browser in (anna, otto):
        yield "one waits", browser.get("/emergencies")
    programme.report({"Birch Works": 1}, report_class="danger")
    yield "two wait", anna.get("/emergencies")
    ask(anna)
    yield "asked", anna.get("/emergencies?done=asked")
    yield "asked before", ask(anna)
    yield "own request", confirm(anna)
    yield "to be confirmed", otto.get("/emergencies")
    otto.post("/emergencies/withdraw", VISIT)
    yield "refused", otto.get("/emergencies?done=refused")
    ask(anna)
    anna.post("/emergencies/withdraw", VISIT)
    yield "withdrawn", anna.get("/emergencies?done=withdrawn")
    ask(anna)
    anna.post("/emergencies/ask", VISIT | {"target": "Birch Works"})
    yield from everywhere(office, headers)
    otto = office.browser("Otto", headers=headers)
    yield "two to confirm", otto.get("/emergencies")
    confirm(otto)
    yield "confirmed", otto.get("/transcript?done=visit")
    yield "confirmed before", confirm(otto)
    yield "nothing there", otto.post("/emergencies/confirm", VISIT | {"target": "north"})


def damaged(office: Office, headers: dict[str, str]) -> Shown:
    """The public folder lacks a file, has a wrong one, or is gone."""
    programme = office.begin()
    programme.override(["Ash Mill"], "north", independent=True)
    programme.publish(office.public)
    file = office.public / "transcript.jsonl"
    fine = file.read_bytes()
    for damage in (lost, changed, unsigned):
        damage(file)
        for name, path in (("Ada", "/health"), ("Ida", "/report"), ("Otto", "/round"), ("Otto", "/transcript")):
            yield f"{name} {path}", office.browser(name, headers=headers).get(path)
        yield "publish", office.browser("Otto", headers=headers).post("/transcript/publish")
        file.write_bytes(fine)
    for name in ("VERIFY.md", "index.html", "public_key.pem", "programme.json"):
        content = (office.public / name).read_bytes()
        for damage in (lost, replaced):
            damage(office.public / name)
            browser = office.browser("Otto", headers=headers)
            for path in ("/health", "/transcript"):
                yield f"{name} {path}", browser.get(path)
            yield f"{name} publish", browser.post("/transcript/publish")
            (office.public / name).write_bytes(content)
    for left in office.public.iterdir():
        left.unlink()
    yield "Ada /health", office.browser("Ada", headers=headers).get("/health")
    office.public.rmdir()
    yield from everywhere(office, headers)


def mistaken(office: Office, headers: dict[str, str]) -> Shown:
    """Values that people mistype, or leave out."""
    ada, anna = (office.browser(name, headers=headers) for name in ("Ada", "Anna"))
    yield "programme's name", show(anna, name="a\tb")
    yield "minutes", show(anna, randomness="dice", place="north", minutes="1")
    yield "days", show(anna, randomness="dice", place="north", days="0")
    office.begin()
    office.hotline("hotline", "Anna")
    yield "no scope", ada.post("/tokens/new", {"name": "north"})
    yield "no role", ada.post("/people/invite", {"name": "Berta"})
    said = {"reason": "north", "independent": "yes"}
    for kind, wrong in (
        ("rename", {"target": "Ash Mill", "name": "a\tb"}),
        ("targets", {"added": "north\nnorth"}),
        ("skip", {"reason": ""}),
        ("details", {"contact": "a\tb"}),
        ("details", {"hotline": "ftp://a"}),
    ):
        yield kind, anna.post(f"/round/decisions/{kind}", said | wrong)
    yield "spreadsheet", preview(anna, b"PK\x03\x04", kind="globaleaks")
    yield "publish", office.browser("Otto", headers=headers).post("/transcript/publish", {"folder": "/dev/null"})


def replaced(file: Path) -> None:
    file.write_bytes(b"north")


STATES: dict[str, Callable[[Office, dict[str, str]], Shown]] = {
    "dice": dice,
    "beacons": beacons,
    "nothing came": nothing_came,
    "paused": paused,
    "behind": behind,
    "ended": ended,
    "ended while frozen": ended_while_frozen,
    "lapsed": lapsed,
    "emergencies": emergencies,
    "damaged": damaged,
    "mistaken": mistaken,
}


def _file(beacon: Any) -> bytes:
    return json.dumps(as_json(beacon)).encode()
