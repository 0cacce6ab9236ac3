"""Everybody's way through the console in a real browser: from the first run to a published transcript that checks out.

The long tests leave pictures of all pages in artifacts/console.
"""

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from playwright.sync_api import Browser, Page
from tests.console.offices import PASSWORD
from tests.console.whole.browsers import Walk, chromium, emptied, link_on, served, violations
from tests.console.whole.interpreter import interpreted
from tests.programme.imports import exports
from tests.programme.offices import TARGETS, Clock

from deniable.console import tables
from deniable.console.accounts import activity, invitations
from deniable.console.accounts.passwords import Passwords
from deniable.console.console import Console
from deniable.console.pages.activity import MOST
from deniable.console.sessions import IDLE
from deniable.languages.language import CONSOLE
from deniable.message import noted
from deniable.programme import intake
from deniable.programme.public.verify import verify
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.ticker import Ticker

CHEAP = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
NOT_FOR_BROWSERS = {("GET", "/api/v1/status"), ("POST", "/api/v1/reports")}
WITH_CLASSES = {
    ("GET", "/emergencies"),
    *(("POST", f"/emergencies/{step}") for step in ("ask", "confirm", "withdraw")),
}
"""They need a class of reports that leads to a visit: test_browser.py goes there."""

WITH_PUBLIC_VALUES = {
    ("GET", "/round/draw"),
    *(("POST", f"/round/draw/{step}") for step in ("confirm", "fetch", "file", "numbers", "withdraw", "without")),
}
"""They need a round that is frozen: test_frozen.py goes there."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """It counts its pages when a round is closed: nobody comes too late to take an import back."""
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, counted_every=1e12))
    clock = Clock()
    console = Console.open(str(tmp_path / "programme.db"), KeyFile(tmp_path / "programme.key"), clock=clock)
    console.passwords = CHEAP
    yield console
    console.close()


@contextmanager
def walk(console: Console, browser: Browser, pictures: Path | None, **options: Any) -> Iterator[Walk]:
    clock = console.clock
    assert isinstance(clock, Clock)
    with served(console) as address:
        yield Walk(console, clock, address, browser, options, pictures)
        for context in browser.contexts:
            context.close()


def test_everybodys_way_without_scripts(console: Console, browser: Browser, tmp_path: Path) -> None:
    """On a telephone, in the everyday run."""
    options = {"viewport": {"width": 390, "height": 844}, "java_script_enabled": False}
    with walk(console, browser, None, **options) as walking:
        everybodys_way(walking, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybodys_way_and_no_violation_on_it(
    console: Console, browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    """With scripts on, which axe-core needs: it looks at every page."""
    options = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme, "bypass_csp": True}
    found: list[Any] = []
    with walk(console, browser, emptied(f"{width}-{scheme}"), **options) as walking:
        walking.inspect = lambda page: found.extend(violations(page))
        everybodys_way(walking, tmp_path)
    assert found == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybodys_way_at_a_desk_without_scripts(
    console: Console, browser: Browser, tmp_path: Path, scheme: str
) -> None:
    options = {"viewport": {"width": 1280, "height": 844}, "color_scheme": scheme, "java_script_enabled": False}
    with walk(console, browser, emptied(f"1280-{scheme}-without-scripts"), **options) as walking:
        everybodys_way(walking, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("code", CONSOLE[1:])
def test_everybodys_way_in_another_language(
    console: Console, browser: Browser, tmp_path: Path, code: str, width: int
) -> None:
    options = {"viewport": {"width": width, "height": 844}, "java_script_enabled": False, "locale": code}
    with interpreted(code), walk(console, browser, emptied(f"{code}-{width}"), **options) as walking:
        everybodys_way(walking, tmp_path)


def test_the_check_of_what_was_visited_can_fail(console: Console, tmp_path: Path) -> None:
    nobody: Any = None
    walking = Walk(console, Clock(), "", nobody, {}, tmp_path)
    assert ("GET", "/round/decisions/{kind}") in walking.not_visited()
    walking.sent.add(("GET", "/round/decisions/skip"))
    assert ("GET", "/round/decisions/{kind}") not in walking.not_visited()
    assert ("POST", "/round/decisions/{kind}") in walking.not_visited()


def everybodys_way(walk: Walk, folder: Path) -> None:
    """Every page and every form of the console, each by somebody whose role has it."""
    ada = first_run(walk)
    people = {name: invited(walk, ada, name, role) for name, role in ROLES.items()}
    ida, otto, anna = people["Ida"], people["Otto"], people["Anna"]
    before_a_programme(walk, otto)
    plan(walk, anna)
    publish(walk, otto, "rules")
    receipt = enter(walk, ida)
    name_hotline(walk, ada, ida)
    import_globaleaks(walk, ida, folder)
    counts(walk, anna, folder, receipt)
    close(walk, otto)
    decide(walk, otto, anna)
    publish(walk, otto, "round")
    verify_offline(walk, otto, folder)
    print_guarantee(walk, anna)
    resume_imports(walk, anna, folder)
    administrate(walk, ada, folder)
    many_targets(walk, anna)
    refusals(walk, ida)
    form_again(walk, ida)
    take_away(walk, anna, ["/transcript", "/work-list", "/activity"])
    take_away(walk, ada, ["/people"])
    read_help(walk, anna)
    account(walk, anna)
    for page in people.values():
        leave(walk, page)
    assert walk.not_visited() == NOT_FOR_BROWSERS | WITH_CLASSES | WITH_PUBLIC_VALUES
    assert [
        text
        for text in [one for one in walk.told if not one.startswith("[DOM]")]
        if "responded with a status of" not in text
    ] == []


ROLES = {"Otto": "Operator", "Ida": "Importer", "Anna": "Auditor"}


def first_run(walk: Walk) -> Page:
    with walk.console.store.writing() as connection:
        token = invitations.invite_first(connection, walk.console.key, walk.clock.now)
    page = walk.window()
    assert "ask that person for the link" in walk.visit(page, "/", "before-the-first-run")
    walk.join(page, f"{walk.address}/first-run/{token}", "first-run", name="Ada")
    walk.look(page, "sign-in")
    page.get_by_label("Name", exact=True).fill("Ada")
    page.get_by_label("Password").fill("not her password")
    page.get_by_label("One-time code").fill("000000")
    page.get_by_role("button", name="Sign in").click()
    assert "is wrong" in walk.look(page, "sign-in-wrong")
    walk.sign_in(page, "Ada")
    assert "has an account or an invitation" in walk.look(page, "people-alone")
    return page


def invited(walk: Walk, ada: Page, name: str, role: str) -> Page:
    ada.goto(f"{walk.address}/people")
    ada.get_by_label("Name", exact=True).fill(name)
    ada.get_by_role("radio", name=role).check()
    ada.get_by_role("button", name="Make an invitation link").click()
    walk.look(ada, f"invited-{name}")
    page = walk.window()
    walk.join(page, link_on(ada), f"invitation-{name}")
    walk.sign_in(page, name)
    return page


def before_a_programme(walk: Walk, page: Page) -> None:
    assert "no programme yet" in walk.visit(page, "/round", "no-programme")
    assert "Set-up is not finished" in walk.visit(page, "/", "waiting")
    assert not page.get_by_role("link", name="Round", exact=True).is_visible()
    assert "no programme yet" in walk.visit(page, "/health", "health-no-programme")


def plan(walk: Walk, page: Page) -> None:
    walk.visit(page, "/", "plan")
    page.get_by_label("Name of the programme").fill("Site visits")
    page.get_by_label("Targets", exact=True).fill("\n".join(TARGETS))
    page.get_by_label("A round lasts").fill("1")
    page.get_by_label("Days, weeks or months").select_option("D")
    page.get_by_label("Time zone").fill("Nowhere/At-all")
    page.get_by_role("button", name="Show what this means").click()
    assert "This did not work" in walk.look(page, "plan-refused")
    page.get_by_role("link", name="This is no time zone").click()
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_role("button", name="Show what this means").click()
    assert "at most 57\xa0% sure" in walk.look(page, "plan-shown")
    assert page.locator("svg.chart").count() == 3
    page.get_by_role("button", name="One more audit a round").click()
    assert "2 audits a round" in walk.look(page, "plan-taken")
    page.get_by_label("Audits a round").fill("1")
    page.get_by_label("Audits a round").press("Enter")
    page.get_by_text("1 audit a round").wait_for()
    page.get_by_role("button", name="Check before you start").click()
    assert "at most 53\xa0% sure" in walk.look(page, "plan-check")
    page.get_by_role("button", name="Start this programme").click()
    assert "The programme has started" in walk.look(page, "plan-begun")


def publish(walk: Walk, page: Page, what: str) -> None:
    walk.visit(page, "/transcript", f"transcript-before-{what}")
    page.get_by_role("button", name="Publish").click()
    shown = walk.look(page, f"transcript-{what}")
    assert "up to date" in shown
    assert "in order" in shown


def enter(walk: Walk, page: Page) -> str:
    """Returns the receipt. Reloading the answer counts nothing again, which the auditor sees."""
    walk.visit(page, "/", "reports")
    page.locator("#report-target").select_option("Cedar Bank")
    page.locator("#report-number").fill("3")
    page.get_by_role("button", name="Enter these reports").click()
    assert "3 reports about Cedar Bank" in walk.look(page, "reports-counted")
    assert "Take back" not in page.inner_text("main")
    receipt = page.locator("pre.secret").inner_text()
    page.reload()
    assert page.locator("pre.secret").inner_text() == receipt
    return receipt


def name_hotline(walk: Walk, ada: Page, ida: Page) -> None:
    assert "No hotline is assigned to you yet" in walk.visit(ida, "/import", "import-without-hotline")
    assert "There are none yet" in walk.visit(ada, "/hotlines", "hotlines-none")
    ada.get_by_label("Name of the hotline").fill("hotline")
    ada.get_by_label("Imported by").select_option("Ida, importer")
    ada.get_by_role("button", name="Add the hotline").click()
    assert "keeps this name for good" in walk.look(ada, "hotline-confirm")
    ada.get_by_role("button", name="Add this hotline").click()
    assert "The hotline hotline is assigned to Ida" in walk.look(ada, "hotlines")
    for name in ("Anna, auditor", "Ida, importer"):
        ada.get_by_label("New importer").select_option(name)
        ada.get_by_role("button", name="Hand over the hotline").click()
        assert f"is assigned to {name.partition(',')[0]}" in walk.look(ada, "hotlines-handed-over")


def choose_file(page: Page, folder: Path) -> None:
    (folder / "tips.json").write_bytes(exports.globaleaks_json())
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_label("The file comes from").select_option("globaleaks")
    page.get_by_label("Hotline", exact=True).select_option("hotline")
    page.get_by_label("File", exact=True).set_input_files(folder / "tips.json")
    page.get_by_role("button", name="Preview").click()


def assign_channels(walk: Walk, page: Page, folder: Path) -> None:
    """In the preview, on the page of the channels, and as a file."""
    for channel, target in ((exports.NORTH, "Ash Mill"), (exports.TEST, "Leave out on purpose")):
        page.get_by_label(f"Target of {channel}").select_option(target)
    page.get_by_role("button", name="Save and preview again").click()
    walk.look(page, "import-preview-assigned")
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_role("link", name="Edit the channels of hotline").click()
    page.get_by_role("textbox", name="New channel 1").fill(exports.SOUTH)
    page.get_by_label("Target of new channel 1").select_option("Birch Works")
    page.get_by_role("button", name="Save the channels").click()
    assert "are saved" in walk.look(page, "channels")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the channels").click()
    download.value.save_as(folder / "mapping.csv")
    walk.sent.add(("GET", "/import/channels/file.csv"))  # a download has no response of its own
    (folder / "mapping.csv").write_text(
        f"{(folder / 'mapping.csv').read_text('utf-8-sig')}Post box,\r\n", "utf-8", newline=""
    )
    page.get_by_label("File", exact=True).set_input_files(folder / "mapping.csv")
    page.get_by_role("button", name="Preview", exact=True).click()
    assert "Post box" in walk.look(page, "channels-confirm")
    page.get_by_role("button", name="Save these changes").click()
    assert "are saved" in walk.look(page, "channels-filled")


def import_globaleaks(walk: Walk, page: Page, folder: Path) -> None:
    walk.visit(page, "/import", "import")
    page.get_by_text("Which file do I need?").click()
    with page.expect_download() as download:
        page.locator('a[href="/import/example.csv"]').click()
    assert b"channel" in Path(download.value.path()).read_bytes()
    walk.sent.add(("GET", "/import/example.csv"))  # a download has no response of its own
    choose_file(page, folder)
    shown = walk.look(page, "import-preview")
    assert "Will count" not in shown
    assign_channels(walk, page, folder)
    choose_file(page, folder)
    page.get_by_role("button", name="Import these reports").click()
    assert "imported" in walk.look(page, "import-done")
    page.get_by_role("button", name=re.compile("^Take back import")).click()
    assert "taken back" in walk.look(page, "import-taken-back")
    choose_file(page, folder)
    page.get_by_role("button", name="Import these reports").click()


def counts(walk: Walk, page: Page, folder: Path, receipt: str) -> None:
    """The auditor sees what the importer brought in, and corrects a mistake."""
    assert "CONFIDENTIAL" not in walk.visit(page, "/round", "round-auditor").upper()
    page.get_by_role("button", name="Show counts").click()
    assert "CONFIDENTIAL" in walk.look(page, "counts").upper()
    rows = [(row.locator("th"), row.locator("td").first) for row in page.locator(".bars tbody tr").all()]
    assert {name.inner_text(): number.inner_text() for name, number in rows} == {
        "Cedar Bank": "3",
        "Ash Mill": "2",
        "Birch Works": "1",
        "Dogwood Clinic": "0",
    }
    assert "Show counts" in walk.visit(page, "/round/counts", "round-without-counts")
    page.get_by_role("link", name="Reports", exact=True).click()
    for said, picture in (("are taken back", "reports-corrected"), ("This did not work", "reports-refused")):
        page.get_by_label("Receipt").fill(receipt.lower())
        page.locator("#withdraw-target").select_option("Cedar Bank")
        page.get_by_role("button", name="Take back").click()
        assert said in walk.look(page, picture)
    choose_file(page, folder)
    assert "Counted before" in walk.look(page, "import-preview-auditor")
    page.get_by_role("button", name="Discard the file").click()
    assert "Your own copy" in walk.look(page, "import-dropped")


def close(walk: Walk, page: Page) -> None:
    assert "cannot close it earlier" in walk.visit(page, "/round", "round-operator")
    walk.clock.now += timedelta(days=1)
    walk.sign_in(page, "Otto")  # his session is over
    assert "Close round 1 now" in walk.visit(page, "/round", "round-due")
    page.get_by_role("link", name="Close round").click()
    assert "once and for all" in walk.look(page, "close")
    page.get_by_role("button", name="and draw").click()
    assert "Round 1 is closed" in walk.look(page, "closed")
    drawn = page.locator(".drawn-one").inner_text()
    assert drawn in TARGETS
    page.get_by_role("link", name="Go on to publishing").click()
    assert drawn in page.inner_text("main")


def declare(walk: Walk, page: Page, picture: str, *, independent: bool = True) -> str:
    """Give a reason and a declaration, and look at what the decision does."""
    page.get_by_label("Reason").fill("The newspapers wrote about a fire.")
    page.get_by_role("radio", name="No, it was not" if independent else "Yes, or perhaps").check()
    page.get_by_role("button", name="Preview").click()
    return walk.look(page, picture)


def order(walk: Walk, otto: Page, anna: Page) -> None:
    """One of them asks, withdraws it and asks again; the other confirms."""
    walk.visit(otto, "/round/decisions/override", "override")
    assert "Choose at least one target" in declare(walk, otto, "override-refused")
    otto.get_by_label("Ash Mill").check()
    assert "Order an audit of Ash Mill outside the draw?" in declare(walk, otto, "override-preview", independent=False)
    otto.get_by_role("button", name="Go back and change the form").click()
    assert otto.get_by_label("Ash Mill").is_checked()
    for picture in ("order-asked", "order-asked-again"):
        assert "holds as before" in declare(walk, otto, "override-preview-independent")
        otto.get_by_role("button", name="Ask another person to confirm").click()
        assert "Your request waits for another person" in walk.look(otto, picture)
        if picture == "order-asked":
            otto.get_by_role("button", name="Withdraw the request").click()
            assert "is withdrawn" in walk.look(otto, "order-withdrawn")
            otto.goto(f"{walk.address}/round/decisions/override")
            otto.get_by_label("Ash Mill").check()
    walk.sign_in(anna, "Anna")
    assert "A decision by hand waits for you" in walk.visit(anna, "/round", "round-with-order")
    anna.get_by_role("link", name="Read and confirm").click()
    assert "Otto asks you to confirm" in walk.look(anna, "order")
    anna.get_by_role("button", name="Confirm the order").click()
    assert "The decision is recorded" in walk.look(anna, "overridden")


def decide(walk: Walk, page: Page, anna: Page) -> None:
    def confirm(picture: str, button: str, *, independent: bool = True) -> None:
        declare(walk, page, f"{picture}-preview", independent=independent)
        page.get_by_role("button", name=button).click()
        assert "The decision is recorded" in walk.look(page, picture)

    order(walk, page, anna)
    walk.visit(page, "/round/decisions/targets", "targets")
    page.get_by_label("New targets").fill("Elm Logistics")
    confirm("targets-changed", "Change the list")
    walk.visit(page, "/round/decisions/not-carried-out", "not-carried-out")
    page.get_by_role("radio", name="round").first.check()
    declare(walk, page, "not-carried-out-preview", independent=False)
    page.get_by_role("button", name="Ask another person to confirm").click()
    walk.visit(anna, "/round/pending", "loss")
    anna.get_by_role("button", name="Refuse the request").click()
    assert "is refused" in walk.look(anna, "loss-refused")
    walk.visit(page, "/round/decisions/not-carried-out", "not-carried-out-again")
    page.get_by_role("radio", name="round").first.check()
    declare(walk, page, "not-carried-out-preview-again", independent=False)
    page.get_by_role("button", name="Ask another person to confirm").click()
    walk.visit(anna, "/round/pending", "loss-again")
    anna.get_by_role("button", name="Confirm the decision").click()
    assert "The decision is recorded" in walk.look(anna, "not-carried-out-recorded")
    walk.clock.now += timedelta(days=3)
    walk.sign_in(page, "Otto")
    walk.visit(page, "/round/decisions/skip", "skip")
    confirm("skipped", "Skip round")
    walk.visit(page, "/round/close", "close-late")
    page.get_by_label("Why it is closed late").fill("Everybody was ill.")
    page.get_by_role("button", name="and draw").click()
    assert "Round 3 is closed" in walk.look(page, "closed-late")
    walk.visit(page, "/round/decisions/rename", "rename")
    page.get_by_label("Dogwood Clinic").check()
    page.get_by_label("New name").fill("Dogwood and Sons")
    confirm("renamed", "Rename the target")
    walk.visit(page, "/round/decisions/details", "details")
    page.get_by_role("textbox", name="Contact").fill("Room 7, Town Hall")
    page.get_by_role("textbox", name="Hotline").fill("https://hotline.example.org/")
    page.get_by_role("checkbox", name="nothing to do with any report").check()
    page.get_by_role("button", name="Preview").click()
    walk.look(page, "details-preview")
    page.get_by_role("button", name="Record contact and hotline").click()
    assert "The decision is recorded" in walk.look(page, "details-recorded")
    walk.visit(page, "/work-list", "work-list")
    page.get_by_label("Day of the visit").last.fill(f"{walk.clock.now:%Y-%m-%d}")
    page.get_by_role("button", name="Record the visit").last.click()
    assert "cannot be changed" in walk.look(page, "visit-to-confirm")
    page.get_by_role("button", name="Record the visit").click()
    assert "Recorded: " in walk.look(page, "visit-recorded")


def verify_offline(walk: Walk, page: Page, folder: Path) -> None:
    """What is published, and what is downloaded, both check out without the console."""
    with page.expect_download() as download:
        page.get_by_role("link", name="All public files").click()
    download.value.save_as(folder / "public.zip")
    walk.sent.add(("GET", "/transcript/public.zip"))  # a download has no response of its own
    with zipfile.ZipFile(folder / "public.zip") as archive:
        archive.extractall(folder / "downloaded")
    published = verify(folder / "programme-public", now=walk.clock.now)
    downloaded = verify(folder / "downloaded" / "public", now=walk.clock.now)
    assert published.head == downloaded.head
    walk.visit(page, "/public/index.html", "public-page-in-the-console")
    page.go_back()
    assert published.rounds == 3
    public = walk.window()
    public.goto((folder / "programme-public" / "index.html").as_uri())
    walk.look(public, "public-page")


def many_targets(walk: Walk, anna: Page) -> None:
    """More than a page lists: they are searched for, and what is found comes in pages."""
    programme = walk.console.programme()
    assert programme is not None
    names = [f"Depot {number}" for number in range(100)]
    programme.change_targets("The law names more of them.", independent=True, add=names)
    for name in names[:25]:
        programme.override([name], "The newspapers wrote about a fire.", independent=True)

    def search(page: Page, field: str, part: str) -> None:
        page.get_by_role("searchbox", name=field).fill(part)
        page.get_by_role("button", name="Search").click()

    walk.visit(anna, "/report", "reports-of-many")
    search(anna, "Target", "depot 7")
    walk.look(anna, "reports-found")
    anna.get_by_role("radio", name="Depot 71").check()
    anna.get_by_role("button", name="Enter these reports").click()
    assert "1 report about Depot 71" in walk.look(anna, "reports-of-many-counted")
    walk.visit(anna, "/round", "round-of-many")
    anna.get_by_role("button", name="Show counts").click()
    walk.look(anna, "counts-of-many")
    anna.get_by_role("button", name="Next page").click()
    walk.look(anna, "counts-next-page")
    anna.get_by_role("searchbox", name="Find a target").fill("depot 71")
    with anna.expect_navigation():  # a key does not wait for the page that it leads to
        anna.keyboard.press("Enter")
    walk.look(anna, "counts-found")
    assert [row.inner_text().split() for row in anna.locator(".bars tbody tr").all()] == [["Depot", "71", "1"]]
    walk.visit(anna, "/round/decisions/override", "override-of-many")
    for part, name in (("depot 1", "Depot 12"), ("depot 3", "Depot 31")):
        search(anna, "Find targets", part)
        walk.look(anna, f"override-found-{part.replace(' ', '-')}")
        anna.get_by_label(name, exact=True).check()
    assert anna.get_by_label("Depot 12", exact=True).is_checked()
    assert "You decide alone" in declare(walk, anna, "override-of-many-preview")  # Otto is removed
    anna.get_by_role("button", name="Order the audits alone").click()
    assert "The decision is recorded" in walk.look(anna, "overridden-of-many")
    search(anna, "Find a name or a round", "depot 31")
    assert anna.locator(".record tbody tr").count() == 2
    walk.look(anna, "transcript-found")
    walk.visit(anna, "/work-list", "work-list-of-many")
    search(anna, "Find a target", "depot 31")
    walk.look(anna, "work-list-found")
    anna.get_by_role("button", name="It did not take place").click()
    assert "Record that an audit did not take place" in walk.look(anna, "work-list-not-carried-out")
    assert anna.get_by_role("radio", name="Depot 31").is_checked()


def resume_imports(walk: Walk, page: Page, folder: Path) -> None:
    """The office goes on from an old database, and an auditor lets imports count again."""
    programme, database = walk.console.programme(), folder / "programme.db"
    assert programme is not None
    programme.close()  # no tick while its file is replaced
    old = database.read_bytes()
    programme.override(["Birch Works"], "The newspapers wrote about a fire.", independent=True)
    programme.publish()
    programme.close()
    database.write_bytes(old)
    programme.recover(folder / "programme-public", "The disk broke.")
    programme.start_ticking()
    assert "Imports are paused" in walk.visit(page, "/import", "import-paused")
    choose_file(page, folder)
    assert "Nothing in this file will count" in walk.look(page, "import-preview-paused")
    page.get_by_role("button", name="Note these reports").click()
    assert "nothing in it counts" in walk.look(page, "import-paused-done")
    page.get_by_label("Reason").fill("The newest export of every hotline was imported.")
    page.get_by_role("button", name="Let imports count again").click()
    assert "Imports count again from now on" in walk.look(page, "import-resumed")


def print_guarantee(walk: Walk, page: Page) -> None:
    walk.sign_in(page, "Anna")
    shown = walk.visit(page, "/guarantee", "guarantee")
    assert "What is not protected" in shown
    page.emulate_media(media="print")
    walk.picture(page, "guarantee-printed")
    assert not page.get_by_role("navigation").is_visible()
    assert page.get_by_role("heading", name="Can your boss find out").is_visible()
    printed = page.pdf(format="A4")
    most = 2 if page.locator("html").get_attribute("lang") == "en" else 3  # other languages need more words
    assert printed.count(b"/Type /Page\n") <= most, "in English more than one sheet, on both sides"
    page.emulate_media(media="screen")
    walk.visit(page, "/round", "round-later")
    page.get_by_role("button", name="Show counts").click()
    assert walk.look(page, "counts-later").count("Elm Logistics") == 1
    walk.visit(page, "/plan", "planned")
    walk.visit(page, "/health", "health-auditor")
    shown = walk.visit(page, "/activity", "activity")
    assert "closed round 3" in shown
    assert "asked to take back reports" in shown
    page.get_by_label("Whose actions").select_option("Anna")
    page.get_by_role("button", name="Show", exact=True).click()
    assert "closed round 3" not in walk.look(page, "activity-of-one")


def make_and_revoke_a_token(walk: Walk, page: Page) -> None:
    walk.visit(page, "/tokens", "tokens")
    page.get_by_label("Name", exact=True).fill("hotline")
    page.get_by_label("Send numbers of reports").check()
    page.get_by_role("button", name="Make the token").click()
    assert "deniable-" in walk.look(page, "token-made")
    page.get_by_role("link", name="Revoke").click()
    assert "You cannot undo this" in walk.look(page, "token-revoke")
    page.get_by_role("button", name="Revoke this token").click()
    assert "No program has a token" in page.inner_text("main")


def administrate(walk: Walk, page: Page, folder: Path) -> None:
    walk.sign_in(page, "Ada")
    make_and_revoke_a_token(walk, page)
    walk.visit(page, "/api", "api")
    walk.visit(page, "/people", "people")
    row = page.get_by_role("row").filter(has_text="Otto")
    row.get_by_role("link", name="Disable").click()
    assert "the only operator" in walk.look(page, "disable")
    page.get_by_role("button", name="Disable this account").click()
    assert "disabled" in walk.look(page, "person-disabled")
    row.get_by_role("button", name="Enable").click()
    row.get_by_role("link", name="New codes").click()
    assert "stop working at once" in walk.look(page, "codes-ask")
    page.get_by_role("button", name="Make new codes").click()
    assert "Otto needs new one-time codes" in walk.look(page, "codes-reset")
    otto = walk.window()
    otto.goto(link_on(page))
    walk.look(otto, "new-codes")
    row.get_by_role("button", name="Withdraw the link").click()
    otto.reload()
    assert "was used or withdrawn, or has expired" in walk.look(otto, "link-withdrawn")
    with walk.console.store.writing() as connection:
        connection.execute(sa.update(tables.people).where(tables.people.c.name == "Otto"), {"role": "auditor"})
        for number in range(MOST):
            activity.record(connection, walk.clock.now, "Anna", noted("did thing {number}", number=number))
    assert "altered outside the console" in walk.visit(page, "/people", "person-altered")
    row.get_by_role("link", name="Remove").click()
    assert "for good" in walk.look(page, "remove")
    page.get_by_role("button", name="Remove this account").click()
    assert "Otto is removed" in walk.look(page, "person-removed")
    walk.visit(page, "/activity", "activity-administrator")
    page.get_by_role("link", name="Older").click()
    assert "closed round" in walk.look(page, "activity-older")
    page.get_by_role("link", name="Newer").click()
    page.get_by_role("link", name="Show people and tokens only").click()
    shown = walk.look(page, "activity-people")
    assert "removed Otto" in shown
    assert "closed round" not in shown
    walk.visit(page, "/health", "health")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download a backup").click()
    download.value.save_as(folder / "kept.backup")
    walk.sent.add(("POST", "/health/backup"))
    assert (folder / "kept.backup").stat().st_size > 1000
    page.reload()
    assert "made" in walk.look(page, "health-backed-up")


def refusals(walk: Walk, ida: Page) -> None:
    walk.sign_in(ida, "Ida")
    assert "This page is for these roles" in walk.visit(ida, "/round", "forbidden")
    assert "no such page" in walk.visit(ida, "/nowhere", "not-found")


def form_again(walk: Walk, ida: Page) -> None:
    """Her session ends while she fills in a form, and the form comes back."""
    walk.visit(ida, "/report", "report-again")
    ida.get_by_label("Number of reports").fill("7")
    ida.get_by_label("Target").first.fill("Depot 7")
    walk.clock.now += IDLE
    ida.get_by_role("button", name="Enter these reports").click()
    assert "nothing was sent" in walk.look(ida, "sign-in-again")
    for label, typed in (("Name", "Ida"), ("Password", PASSWORD), ("One-time code", walk.code("Ida"))):
        ida.get_by_label(label, exact=True).fill(typed)
    ida.get_by_role("button", name="Sign in").click()
    assert "Nothing was sent" in walk.look(ida, "form-again")
    assert ida.get_by_label("Number of reports").input_value() == "7"
    ida.get_by_role("button", name="Enter these reports").click()
    assert "Entered" in ida.inner_text("main")


CSV = {"/transcript": ("record.csv", "targets.csv"), "/work-list": ("work-list.csv",), "/activity": ("activity.csv",),
       "/people": ("people.csv",)}  # fmt: skip


def take_away(walk: Walk, page: Page, pages: list[str]) -> None:
    """Tables for spreadsheets."""
    walk.sign_in(page, "Ada" if pages == ["/people"] else "Anna")
    for path in pages:
        page.goto(walk.address + path)
        for name in CSV[path]:
            with page.expect_download() as download:
                page.locator(f'a[href="{path}/{name}"]').click()
            assert Path(download.value.path()).read_bytes().startswith(b"\xef\xbb\xbf")
            walk.sent.add(("GET", f"{path}/{name}"))  # a download has no response of its own


def read_help(walk: Walk, anna: Page) -> None:
    walk.visit(anna, "/health", "health")
    anna.get_by_role("link", name="Help", exact=True).first.click()
    assert "All is in order" in walk.look(anna, "help")
    anna.get_by_role("link", name="Every round").first.click()
    assert "What you do in the console" in walk.look(anna, "help-every-round")
    assert "handbook" in walk.visit(anna, "/help", "help-contents")
    assert "authenticator" in walk.visit(walk.window(), "/help/signing-in", "help-signing-in")


def account(walk: Walk, page: Page) -> None:
    """The password is changed, and then every session ended."""
    page.goto(walk.address)
    page.get_by_role("link", name="Your account").click()
    walk.look(page, "account")
    for chosen, button in (("de", "Change language"), ("en", "Sprache ändern")):
        page.locator("#language").select_option(chosen)
        page.get_by_role("button", name=button).click()
        walk.look(page, f"account-{chosen}")
    code = walk.code("Anna")
    for again, says in (("something else", "do not match"), ("a new horse battery", "Your password is changed")):
        page.get_by_label("Old password").fill(PASSWORD)
        page.get_by_label("One-time code").fill(code)
        page.get_by_label("New password").fill("a new horse battery")
        page.get_by_label("Repeat password").fill(again)
        page.get_by_role("button", name="Change password").click()
        assert says in walk.look(page, "account-password")
    page.get_by_role("button", name="Sign out everywhere").click()
    assert page.get_by_role("button", name="Sign in").is_visible()


def leave(walk: Walk, page: Page) -> None:
    page.goto(walk.address)
    if page.url.endswith("/login"):
        return  # half an hour has passed since
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for()
