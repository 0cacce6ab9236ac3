"""The demonstration in a browser: on a phone and a desk, light and dark, by keyboard, and for assistive technology.

Also the pictures of the documentation, which `make figures` compares.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.console.whole.browsers import fits, violations
from tests.console.whole.demonstrations import NAMES, Demonstration, shown, take_pictures

from deniable.console.pages.decision_kinds import KINDS

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


@pytest.fixture(scope="module")
def demo() -> Iterator[Demonstration]:
    with shown() as one:
        yield one


def test_every_decision_is_among_the_pages() -> None:
    assert {*PAGES["auditor"]} >= {f"/round/decisions/{kind}" for kind in KINDS}


@pytest.mark.parametrize("role", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits(demo: Demonstration, role: str, width: int, scheme: str) -> None:
    page = demo.open(role, width, color_scheme=scheme, bypass_csp=True)  # for the checker's own script alone
    for path in PAGES[role]:
        page.goto(demo.address + path)
        assert violations(page) == []
        assert fits(page), path


def test_a_long_round_and_a_long_day_fit_a_telephone(demo: Demonstration) -> None:
    """Those of a Spanish record, after some years."""
    page = demo.open("auditor")
    page.goto(f"{demo.address}/transcript")
    row = page.locator(".record tbody tr", has=page.locator("td.keep")).first
    row.locator("th").evaluate("one => { one.innerHTML = 'Ronda 189 <small>entradas 189, 190</small>' }")
    row.locator("td.keep").evaluate("one => { one.textContent = '28 de septiembre de 2026' }")
    assert fits(page)


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
    assert {"Skip to the content", "Round", "Sign out", "report-target", "report-number", "Enter these reports"} <= seen


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


def test_the_promise_fits_on_one_sheet(demo: Demonstration) -> None:
    """With classes of reports, an emergency class and the part for experts, on both sides."""
    page = demo.open("auditor")
    page.goto(f"{demo.address}/guarantee")
    assert page.pdf(format="A4").count(b"/Type /Page\n") == 2


def test_pictures_for_the_documentation_are_small(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as thread:  # in this one another test's browser may be open: Playwright allows one
        thread.submit(take_pictures, tmp_path).result()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes.keys() == {*NAMES}
    assert max(sizes.values()) < 60_000
