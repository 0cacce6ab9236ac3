"""A real browser, a console it can reach, and people who sit in front of it."""

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Error, Page, Response, sync_playwright
from pyotp import TOTP
from tests.console.offices import PASSWORD, routes
from tests.programme.offices import Clock

from deniable.console.accounts import people, totp
from deniable.console.app import create_app
from deniable.console.console import Console
from deniable.console.routing import address_of

PICTURES = Path(__file__).parents[3] / "artifacts" / "console"
"""Where long tests leave pictures of every page they saw, for people to look at."""

MISSING = (
    "no Chromium: scripts/browser installs it on Debian, or DENIABLE_CHROMIUM names another one; without it the "
    "console is not seen in a browser"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The one that DENIABLE_CHROMIUM names, the one in the path, or Playwright's own; without any, the test is
    skipped.
    """
    found = os.environ.get("DENIABLE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        if found is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip(MISSING)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])  # root has no sandbox
        yield browser
        browser.close()


@contextmanager
def served(console: Console) -> Iterator[str]:
    """The address of the console, on a port of its own."""
    server = uvicorn.Server(uvicorn.Config(create_app(console), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.05)
            assert thread.is_alive()
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def violations(page: Page) -> list[Any]:
    """What axe-core finds wrong. The page's context must bypass the security policy, for this script alone."""
    found = Axe().run(page).response["violations"]
    return [(page.url, one["id"], [node["html"] for node in one["nodes"]]) for one in found]


def fits(page: Page) -> bool:
    """Whether nothing sticks out to the right."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return wide


def emptied(name: str) -> Path:
    """A folder of `PICTURES`."""
    folder = PICTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@dataclass
class Walk:
    """People who use the console from the first run on, each in a browser window of their own."""

    console: Console
    clock: Clock
    address: str
    browser: Browser
    options: dict[str, Any]
    pictures: Path | None
    """Where pictures are kept, if any are taken."""
    inspect: Callable[[Page], None] = lambda _: None
    """Called with every page that is looked at."""
    sent: set[tuple[str, str]] = field(default_factory=set)
    """Method and path of all that was answered with anything but an error."""
    told: list[str] = field(default_factory=list)
    """What the browsers themselves complained about."""
    _number: int = 0

    def window(self) -> Page:
        page = self.browser.new_context(**self.options).new_page()
        page.set_default_timeout(20_000)
        page.on("response", self._note)
        page.on("console", lambda message: self.told.append(message.text))
        return page

    def _note(self, response: Response) -> None:
        if response.status < 400:
            self.sent.add((response.request.method, response.url.removeprefix(self.address).partition("?")[0]))

    def look(self, page: Page, name: str) -> str:
        """Return the page's text, once it is there, fits, and a picture is taken."""
        page.wait_for_load_state()  # a click ends when the next page begins to come in
        self._number += 1
        self.picture(page, f"{self._number:02}-{name}")
        assert fits(page), name
        self.inspect(page)
        return page.inner_text("main")

    def picture(self, page: Page, name: str) -> None:
        if self.pictures is None:
            return
        path = self.pictures / f"{name}.png"
        try:
            page.screenshot(path=path, full_page=True, timeout=60_000)
        except Error as error:
            if "Unable to capture screenshot" not in error.message:
                raise
            page.screenshot(path=path, full_page=True, timeout=60_000)  # Chromium has no frame for it now and then

    def visit(self, page: Page, path: str, name: str) -> str:
        page.goto(self.address + path)
        return self.look(page, name)

    def join(self, page: Page, link: str, picture: str, name: str | None = None) -> None:
        """Follow a one-time link; with a name where it is to be chosen."""
        page.goto(link)
        self.look(page, picture)
        secret = page.locator("pre.secret").inner_text().replace(" ", "")
        page.get_by_label("Code that the app shows now").fill(TOTP(secret).at(self.clock.now))
        if name is not None:
            page.get_by_label("Your name").fill(name)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("Repeat password").fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        assert page.url == f"{self.address}/login?done=joined"

    def code(self, name: str) -> str:
        """One that was not used yet."""
        self.clock.now += timedelta(seconds=totp.STEP)
        with self.console.store.reading() as connection:
            known = people.by_name(connection, self.console.key, name)
        assert known is not None
        return totp.totp(self.console.key, known.person.id, known.totp_salt).at(self.clock.now)

    def sign_in(self, page: Page, name: str) -> None:
        code = self.code(name)
        page.goto(f"{self.address}/login")
        for label, typed in (("Name", name), ("Password", PASSWORD), ("One-time code", code)):
            page.get_by_label(label, exact=True).fill(typed)
        page.get_by_role("button", name="Sign in").click()
        assert "/login" not in page.url, page.inner_text("main")

    def not_visited(self) -> set[tuple[str, str]]:
        """Routes of the console that no browser reached, whatever their parameters are."""
        return {
            (method, path)
            for method, path in routes(create_app(self.console))
            if not any(method == sent and address_of(path).fullmatch(visited) for sent, visited in self.sent)
        }


def link_on(page: Page) -> str:
    """The one-time link that the page shows."""
    found = re.search(r"http://\S+/invitation/[\w-]+", page.inner_text("main"))
    assert found is not None
    return found[0]
