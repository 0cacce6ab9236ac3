"""A console with people in it, a clock of its own, and browsers."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from fastapi.routing import APIRoute
from tests.programme.offices import DAILY, TARGETS, Clock

from deniable.console import sessions, tables
from deniable.console.accounts import hotlines, people, totp
from deniable.console.accounts.passwords import Passwords
from deniable.console.accounts.people import Person, Role
from deniable.console.app import PAGES, create_app
from deniable.console.console import Console
from deniable.console.pages.transcript import proposed_folder
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.lock import unlock
from deniable.programme.transcript_copies import KeyCopy
from deniable.report_classes import ReportClass
from deniable.storage.store import Store

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another version of httpx
    from starlette.testclient import TestClient

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PUBLIC_CSP = (
    r"default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Of the public page, which has a style of its own."""
CSP = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PASSWORD = "correct horse battery"


CLASSES = (ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None))


FILE = b"id,channel\n1,Ash Mill\n2,Ash Mill\n3,Cedar Bank\n"
"""An export."""


@dataclass
class Office:
    """A console, with its administrator Ada, operator Otto, importer Ida and auditor Anna unless told otherwise."""

    console: Console
    clock: Clock
    app: Any
    people: dict[str, Person] = field(default_factory=dict)

    def add(self, name: str, role: Role) -> Person:
        person = Person(f"id-{name}", name, role)
        with self.console.store.writing() as connection:
            stored = self.console.passwords.hashed(PASSWORD)
            people.add(connection, self.console.key, person, password=stored, totp_salt=f"salt of {name}")
        self.people[name] = person
        return person

    def salt(self, name: str) -> str:
        """Of this person's one-time codes, as the database has it."""
        with self.console.store.reading() as connection:
            found = sa.select(tables.people.c.totp_salt).where(tables.people.c.id == self.people[name].id)
            return str(connection.execute(found).scalar_one())

    def code(self, name: str, salt: str | None = None) -> str:
        """A code that was not used yet; of codes that were set up earlier, with their salt."""
        self.clock.now += timedelta(seconds=totp.STEP)
        codes = totp.totp(self.console.key, self.people[name].id, self.salt(name) if salt is None else salt)
        return codes.at(self.clock.now)

    def browser(self, name: str | None = None, **options: Any) -> "Browser":
        """A browser; with a name, signed in. It looks at the headers of everything it gets."""
        client = TestClient(self.app, follow_redirects=False, **options)
        client.event_hooks = {"response": [check_headers]}
        browser = Browser(self, client)
        if name is not None:
            assert browser.sign_in(name).status_code == 303
        return browser

    def begin(self, **settings: Any) -> Programme:
        """A programme with four targets and a round a day; Ida brings its hotline."""
        chosen: dict[str, Any] = {"name": "Site visits", "targets": TARGETS, "mechanism": "race", "delta": 0.1}
        chosen |= {"calendar": DAILY, **settings}
        console = self.console
        programme = Programme.begin(console.store, console.vault, console.copy, clock=self.clock, **chosen)
        if "Ida" in self.people:
            self.hotline("hotline", "Ida")
        return programme

    @property
    def database(self) -> Path:
        return Path(str(self.console.store.url.database))

    @property
    def public(self) -> Path:
        """Where the console proposes to publish."""
        folder = proposed_folder(self.console.store)
        assert folder is not None
        return folder

    def log(self) -> str:
        """The page with the activity log."""
        page: str = self.browser("Ada").get("/activity").text
        return page

    def saved(self) -> bytes:
        """The database as it is."""
        self.console.store.dispose()
        return self.database.read_bytes()

    def put_back(self, content: bytes) -> None:
        """An old database in the place of the present one."""
        self.console.store.dispose()
        self.database.write_bytes(content)

    def hotline(self, name: str, brought_by: str) -> None:
        """Let somebody bring a hotline."""
        with self.console.store.writing() as connection:
            hotlines.assign(connection, self.console.key, name, self.people[brought_by].id)


@dataclass
class Browser:
    """Keeps cookies, and puts into every form what the page it came from had in it."""

    office: Office
    client: Any

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(path, **options)

    def post(self, path: str, data: dict[str, Any] | None = None, **options: Any) -> Any:
        return self.client.post(path, data={"csrf": self.csrf(), **(data or {})}, **options)

    def enter(self, target: str, number: int | str, form_id: str | None = None, report_class: str = "") -> Any:
        """Enter reports by hand, in a form of its own or once more in one that there was."""
        form_id = form_on(self.get("/report").text) if form_id is None else form_id
        data = {"target": target, "number": str(number), "confirmed": str(number), "form_id": form_id}
        return self.post("/report", data | ({"class": report_class} if report_class else {}))

    def decide(self, kind: str, data: dict[str, Any]) -> Any:
        """Send a decision, and send it again from the page that shows what it does."""
        path = f"/round/decisions/{kind}"
        answer = self.post(path, data)
        seen = re.search(r'name="confirmed" value="([\d-]+)"', answer.text)
        return answer if seen is None else self.post(path, {**data, "confirmed": seen[1]})

    def confirm_decision(self) -> Any:
        """The one that another person asked for."""
        page = self.get("/round/pending").text
        names = ("pending", "confirmed")
        data = {name: next(iter(re.findall(rf'name="{name}" value="([^"]+)"', page)), "") for name in names}
        return self.post("/round/pending/confirm", data)

    def counts(self, **fields: str) -> str:
        """The page that shows them."""
        answer = self.post("/round/counts", fields)
        assert answer.status_code == 200
        page: str = answer.text
        return page

    def cookie(self, name: str) -> str | None:
        value: str | None = self.client.cookies.get(self.office.console.cookie_name(name))
        return value

    def csrf(self) -> str:
        if self.cookie("session") is None and self.cookie("visit") is None:
            self.get("/login")
        return sessions.form_token(self.office.console.key, self.cookie("session") or self.cookie("visit") or "")

    def sign_in(self, name: str, password: str = PASSWORD, code: str | None = None) -> Any:
        typed = self.office.code(name) if code is None else code
        page = self.get("/login")
        token = form_token(page.text) if page.status_code == 200 else self.csrf()
        return self.post("/login", {"csrf": token, "name": name, "password": password, "code": typed})


def new_office(folder: Path, *, secure: bool = False, people: bool = True) -> Office:
    clock, key, database = Clock(), KeyFile(folder / "console.key"), folder / "console.db"
    for path, content in zip((database, key.path), _empty(), strict=True):
        path.write_bytes(content)
        path.chmod(0o600)
    store = Store.open(str(database))
    console = Console(
        store, unlock(store, key), KeyCopy.beside(key), clock=clock, secure=secure, passwords=Passwords(CHEAP)
    )
    origin = "https://testserver" if secure else "http://testserver"
    office = Office(console, clock, create_app(console, origin))
    if people:
        roles: dict[str, Role] = {"Ada": "administrator", "Otto": "operator", "Ida": "importer", "Anna": "auditor"}
        for name, role in roles.items():
            office.add(name, role)
    return office


def fallen_behind(office: Office) -> Programme:
    """A programme whose database is that of round 1, while round 1 is closed, published and kept beside the key."""
    programme = office.begin()
    programme.publish(office.database.with_name("public"))
    old = office.saved()
    office.clock.tomorrow()
    programme.close_round()
    programme.publish()
    office.put_back(old)
    return programme


def recovered(office: Office) -> Programme:
    """A programme that goes on from an old database, and for which imports are paused."""
    programme = fallen_behind(office)
    programme.recover(office.database.with_name("public"), "The disk broke.")
    return programme


@cache
def _empty() -> tuple[bytes, bytes]:
    """A database that is locked and has nothing in it, and its key; making the tables takes a while."""
    with TemporaryDirectory() as folder:
        database, key = Path(folder) / "console.db", Path(folder) / "console.key"
        Console.open(str(database), KeyFile(key)).close()
        return database.read_bytes(), key.read_bytes()


def _found(pattern: str, page: str) -> str:
    found = re.search(pattern, page)
    assert found is not None
    return found[1]


def form_token(page: str) -> str:
    """What the page's forms carry."""
    return _found(r'name="csrf" value="([0-9a-f]{64})"', page)


def form_on(page: str) -> str:
    """The id of the form that enters reports."""
    return _found(r'name="form_id" value="([^"]{22})"', page)


def preview(browser: Browser, file: bytes = FILE, mapping: bytes | None = None, **data: str) -> Any:
    """Bring an export, and look at what would count; with a mapping, fill the hotline's channels with it first."""
    form = {"kind": "csv", "source": "hotline", **data}
    if mapping is not None:
        filled = replace_channels(browser, mapping, form["source"])
        if filled.status_code == 422:
            return filled
    return browser.post("/import", form, files={"file": ("export.csv", file)})


def replace_channels(browser: Browser, file: bytes, hotline: str = "hotline") -> Any:
    """Fill the hotline's channels with a file, and confirm what it changes, if it changes anything."""
    looked = browser.post("/import/channels/file", {"hotline": hotline}, files={"file": ("m.csv", file)})
    confirmed = dict(re.findall(r'name="(content|seen)" value="([^"]+)"', looked.text))
    if not confirmed:
        return looked
    return browser.post("/import/channels/file", {"hotline": hotline, **confirmed})


def pending_on(page: str) -> str:
    """The name by which the file on a page of a preview is confirmed."""
    return _found(r'name="pending" value="([^"]+)"', page)


def receipt_on(page: str) -> str:
    """The receipt that the page shows."""
    return _found(r'<pre class="secret">([A-Z2-7]{4}(?:-[A-Z2-7]{4}){3})</pre>', page)


def routes(app: Any) -> Iterator[tuple[str, str]]:
    """Method and path of everything that people and machines can ask for, however it is nested."""
    yield from ((route.method, route.path) for route in PAGES.routes)
    waiting = list(app.routes)
    while waiting:
        route = waiting.pop()
        if isinstance(route, APIRoute):
            yield from ((method, route.path) for method in route.methods or ())
        else:
            waiting += getattr(getattr(route, "original_router", None), "routes", [])


def check_headers(answer: Any) -> None:
    """What every answer carries, whatever comes of the request: pages, redirects, refusals, errors, pictures, JSON."""
    policy = answer.headers["content-security-policy"]
    if answer.url.path == "/public/index.html" and answer.status_code == 200:
        assert re.fullmatch(PUBLIC_CSP, policy)
    else:
        assert policy == CSP
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "permissions-policy" in answer.headers
    assert "server" not in answer.headers
    is_file = answer.url.path.startswith("/static/") and answer.status_code == 200
    cached = "public, max-age=31536000, immutable" if is_file else "no-store"
    assert answer.headers["cache-control"] == cached
