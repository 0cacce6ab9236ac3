"""The demonstration in a browser, and the pictures of it in the documentation."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from argon2 import PasswordHasher
from PIL import Image
from playwright.sync_api import Browser, Page
from tests.console.whole.browsers import chromium, served

from deniable.console.accounts.passwords import Passwords
from deniable.console.demo import demonstration
from deniable.programme.calendar import Clock, system_clock

PICTURES = {
    "console-round.png": ("auditor", "/round"),
    "console-plan.png": ("auditor", "/plan"),
    "console-transcript.png": ("operator", "/transcript"),
    "console-guarantee.png": ("auditor", "/guarantee"),
    "console-import.png": ("importer", "/import"),
    "console-people.png": ("administrator", "/people"),
    "console-health.png": ("administrator", "/health"),
}
ON_A_TELEPHONE = ("console-close.png", "auditor", "/round/close")
PUBLIC = "public-page.png"
NAMES = (*PICTURES, ON_A_TELEPHONE[0], PUBLIC)
_NAME_FOLDER = """([folder, name]) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(folder, name);
}"""
TAKEN_AT = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)


class Demonstration:
    """Codes are accepted once, so everybody signs in once."""

    def __init__(self, address: str, browser: Browser, public: Path) -> None:
        self.address = address
        self.browser = browser
        self.public = public
        self._signed_in: dict[str, Any] = {}

    def open(self, role: str, width: int = 390, **options: Any) -> Page:
        page = self._page(width, storage_state=self._state(role), **options)
        page.goto(self.address)
        return page

    def _page(self, width: int, **options: Any) -> Page:
        context = self.browser.new_context(viewport={"width": width, "height": 844}, **options)
        return context.new_page()

    def _state(self, role: str) -> Any:
        if role not in self._signed_in:
            page = self._page(390, java_script_enabled=False)
            page.goto(f"{self.address}/login")
            row = page.locator("tr", has=page.locator("td", has_text=re.compile(f"^{role}$")))
            password, code = row.locator("code").all_inner_texts()
            for label, typed in (("Name", row.locator("th").inner_text()), ("Password", password)):
                page.get_by_label(label, exact=True).fill(typed)
            page.get_by_label("One-time code").fill(code)
            page.get_by_role("button", name="Sign in").click()
            assert "/login" not in page.url
            self._signed_in[role] = page.context.storage_state()
        return self._signed_in[role]


@contextmanager
def shown(clock: Clock = system_clock) -> Iterator[Demonstration]:
    cheap = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    with TemporaryDirectory(prefix="deniable-demo-") as folder, chromium() as browser:
        console = demonstration(Path(folder), clock=clock, passwords=cheap)
        with served(console) as address:
            yield Demonstration(address, browser, Path(folder) / "public")
        console.close()


def take_pictures(folder: Path) -> None:
    """The same office every time: its clock stands still, and its keys and draws are those of a seed."""
    chance = random.Random(4)
    with (
        mock.patch("random._urandom", chance.randbytes),  # from which `secrets` takes all
        mock.patch("deniable.programme.creation.new_key", side_effect=lambda: chance.randbytes(32)),
        shown(lambda: TAKEN_AT) as demo,
    ):
        for name, (role, path) in PICTURES.items():
            page = demo.open(role, 1120)
            page.goto(demo.address + path)
            page.evaluate(_NAME_FOLDER, [str(demo.public), "/srv/audits"])  # it has another name every time
            _keep(page, folder / name)
        name, role, path = ON_A_TELEPHONE
        page = demo.open(role, 390)
        page.goto(demo.address + path)
        _keep(page, folder / name)
        page = demo.browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto((demo.public / "index.html").as_uri())
        _keep(page, folder / PUBLIC)


def _keep(page: Page, path: Path) -> None:
    """What fits on the screen, or what a plan means where it is told, in few colours, since it is in the repository."""
    table = page.locator("#meaning")
    (table if table.count() else page).screenshot(path=path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(64)
    small.save(path, optimize=True)
