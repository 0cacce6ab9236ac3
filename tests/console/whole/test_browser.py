"""The demonstration in a browser: on a phone and a desk, light and dark, by keyboard, and for assistive technology.

Also the pictures of the documentation: `make screenshots`.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from argon2 import PasswordHasher
from PIL import Image
from playwright.sync_api import Browser, Page
from tests.console.whole.browsers import chromium, fits, served, violations

from deniable.console.accounts.passwords import Passwords
from deniable.console.demo import demonstration

pytestmark = pytest.mark.long

PAGES = {
    "auditor": (
        "/round", "/round/close", "/round/decisions/override", "/round/decisions/targets", "/round/decisions/skip",
        "/round/decisions/not-carried-out", "/round/decisions/rename", "/round/decisions/details",
        "/round/pending", "/work-list", "/emergencies",
        "/report", "/import", "/plan", "/transcript", "/guarantee", "/health", "/activity",
    ),
    "operator": ("/round", "/emergencies", "/transcript", "/public/index.html", "/help/every-round", "/nothing"),
    "importer": ("/report", "/import", "/round", "/account"),
    "administrator": ("/people", "/hotlines", "/tokens", "/api", "/health", "/activity", "/account"),
}  # fmt: skip


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


@pytest.fixture(scope="module")
def demo() -> Iterator[Demonstration]:
    cheap = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    with TemporaryDirectory(prefix="deniable-demo-") as folder, chromium() as browser:
        console = demonstration(Path(folder), passwords=cheap)
        with served(console) as address:
            yield Demonstration(address, browser, Path(folder) / "public")
        console.close()


@pytest.mark.parametrize("role", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits(demo: Demonstration, role: str, width: int, scheme: str) -> None:
    page = demo.open(role, width, color_scheme=scheme, bypass_csp=True)  # for the checker's own script alone
    for path in PAGES[role]:
        page.goto(demo.address + path)
        assert violations(page) == []
        assert fits(page), path


@pytest.mark.parametrize("role", PAGES)
def test_the_browser_blocks_nothing_of_ours(demo: Demonstration, role: str) -> None:
    """A style or script that the security policy forbids would be told in the browser's console."""
    page = demo.open(role)
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    for path in PAGES[role]:
        page.goto(demo.address + path)
    assert [text for text in told if "status of 40" not in text] == []


def test_a_keyboard_reaches_everything_and_shows_where_it_is(demo: Demonstration) -> None:
    page = demo.open("auditor")
    page.goto(f"{demo.address}/report")
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "(e => [e.id || e.textContent.trim(), getComputedStyle(e).outlineStyle])(document.activeElement)"
        )
        if name:
            seen.add(name)
            assert outline != "none" or name == page.evaluate("document.body.textContent.trim()"), name
    assert {"Skip to the content", "Round", "Sign out", "report-target", "report-number", "Count these reports"} <= seen


def test_a_visit_is_asked_for_and_confirmed_without_scripts(demo: Demonstration) -> None:
    auditor, operator = (demo.open(role, java_script_enabled=False) for role in ("auditor", "operator"))
    for button in ("Ask for this visit", "Withdraw the request", "Ask for this visit"):
        auditor.goto(f"{demo.address}/emergencies")
        auditor.get_by_role("button", name=button).click()
    operator.goto(f"{demo.address}/emergencies")
    assert fits(operator)
    operator.get_by_role("button", name="Confirm the visit").click()
    assert "Emergency, outside the draw" in operator.inner_text("main")
    auditor.goto(f"{demo.address}/emergencies")
    assert "No visit waits" in auditor.inner_text("main")


PICTURES = {
    "round": ("auditor", "/round"),
    "plan": ("auditor", "/plan"),
    "transcript": ("operator", "/transcript"),
    "guarantee": ("auditor", "/guarantee"),
    "import": ("importer", "/import"),
    "people": ("administrator", "/people"),
    "health": ("administrator", "/health"),
}


def test_pictures_for_the_documentation(demo: Demonstration, tmp_path: Path) -> None:
    """Kept where DENIABLE_SCREENSHOTS says."""
    folder = Path(os.environ.get("DENIABLE_SCREENSHOTS", tmp_path))
    for name, (role, path) in PICTURES.items():
        page = demo.open(role, 1120)
        page.goto(demo.address + path)
        _keep(page, folder / f"console-{name}.png")
    page = demo.open("auditor", 390)
    page.goto(f"{demo.address}/round/close")
    _keep(page, folder / "console-close.png")
    page = demo.browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page.goto((demo.public / "index.html").as_uri())
    _keep(page, folder / "public-page.png")
    assert all(path.stat().st_size < 60_000 for path in (*folder.glob("console-*.png"), folder / "public-page.png"))


def _keep(page: Page, path: Path) -> None:
    """What fits on the screen, or what a plan means where it is told, in few colours, since it is in the repository."""
    table = page.locator("#meaning")
    (table if table.count() else page).screenshot(path=path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(64)
    small.save(path, optimize=True)
