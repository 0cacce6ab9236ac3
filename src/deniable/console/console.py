"""What every page works with: the database, its key, the clock, and the programme once there is one."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

import sqlalchemy as sa
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response

from deniable.console import tables as console_tables
from deniable.console.accounts import activity, people, tokens, totp
from deniable.console.accounts.activity import About
from deniable.console.accounts.passwords import Passwords
from deniable.console.accounts.people import Person
from deniable.console.limits import SLOW, PasswordQueues, Throttle, UploadSlots
from deniable.console.pending_decisions import PendingDecisions
from deniable.console.pending_draws import PendingDraws
from deniable.console.pending_imports import PendingImports
from deniable.console.pending_visits import PendingVisits
from deniable.console.public_record import PublicRecords
from deniable.console.remembered import takes_long
from deniable.console.target_search import TargetSearch
from deniable.errors import DeniableError
from deniable.message import Message
from deniable.programme.calendar import Clock, system_clock
from deniable.programme.programme import Programme
from deniable.programme.randomness.mirrors import MIRRORS
from deniable.programme.secrets.keys import Key
from deniable.programme.secrets.lock import create_locked, unlock
from deniable.programme.secrets.vault import Vault
from deniable.programme.ticker import Owners
from deniable.programme.transcript_copies import KeyCopy
from deniable.storage import tables
from deniable.storage.store import Store

CONSOLE_KEY = "console key"

KEPT = (
    tables.standing,
    console_tables.people,
    console_tables.sessions,
    console_tables.invitations,
    console_tables.tokens,
    console_tables.hotlines,
)
"""Tables of which pages ask a copy in memory (`Store.at_one_moment`)."""

A_YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class DemoPerson:
    """An invented person, whose password is no secret."""

    person: Person
    password: str
    salt: str

    def code(self, key: bytes, now: datetime) -> str:
        return totp.totp(key, self.person.id, self.salt).at(now)


class Console:
    """One database, unlocked. `secure`: the browser reaches it through TLS. `mirrors`: where drand's beacons are looked
    for. `demo`: nothing in it is real.
    """

    def __init__(
        self,
        store: Store,
        vault: Vault,
        copy: KeyCopy | None = None,
        *,
        clock: Clock = system_clock,
        secure: bool = False,
        passwords: Passwords | None = None,
        mirrors: Sequence[str] = MIRRORS,
    ) -> None:
        self.store = store
        self.vault = vault
        self.copy = copy
        self.clock = clock
        self.secure = secure
        self.mirrors = mirrors
        self.passwords = passwords or Passwords()
        self.throttle = Throttle(clock)
        self.pending_draws = PendingDraws()
        self.pending_imports = PendingImports(clock)
        self.pending_decisions = PendingDecisions(clock)
        self.pending_visits = PendingVisits(clock)
        self.password_queues = PasswordQueues()
        self.upload_slots = UploadSlots()
        self.slow_threads = CapacityLimiter(SLOW)
        self.public_records = PublicRecords(store)
        self.target_search = TargetSearch()
        self.demo: Sequence[DemoPerson] = ()
        self.key = _console_key(store, vault)
        self.tell_started: Callable[[], object] = lambda: None
        self._programme: Programme | None = None
        self._is_ticking = False
        self._opening = Lock()
        self._has_people = False
        store.keep_in_memory(KEPT)

    @classmethod
    def open(cls, database: str, key: Key, *, clock: Clock = system_clock, **options: Any) -> Self:
        """The console of this database, which is made, locked with the key, where there is none. `options` are those of
        the console itself.
        """
        if is_new(database):
            store, vault = create_locked(database, secrets.token_hex(16), key)
        else:
            store = Store.open(database)
            vault = unlock(store, key)
        return cls(store, vault, KeyCopy.beside(key), clock=clock, **options)

    def programme(self) -> Programme | None:
        """The programme, or None before one was planned."""
        if self._programme is None and self._has_programme():
            takes_long()
            with self._opening:
                if self._programme is None:
                    self._programme = self._opened_programme()
        return self._programme

    def _has_programme(self) -> bool:
        with self.store.reading() as connection:
            return connection.execute(sa.select(tables.programme.c.id)).scalar() is not None

    def _opened_programme(self) -> Programme:
        programme = Programme(self.store, self.vault, self.copy, clock=self.clock)
        with suppress(DeniableError):  # an old database says so itself where that matters
            programme.keep_copy()
        if self._is_ticking:
            programme.start_ticking(self._owners)
        return programme

    def start(self) -> None:
        """From now on the programme's pages are written at every tick, once there is a programme."""
        self._is_ticking = True
        programme = self.programme()
        if programme is not None:
            programme.start_ticking(self._owners)
        self.tell_started()

    def _owners(self) -> Owners:
        """Whose reports may be written: people who are not disabled, and tokens that are not revoked. From the copy in
        memory, at every tick, whatever waits.
        """
        return self.store.at_one_moment(self._enabled)

    def _enabled(self) -> Owners:
        with self.store.reading() as connection:
            who = people.having(connection, self.key, people.ROLES)
            machines = tokens.listed(connection, self.key)
        return Owners({person.id for person in who}, {token.id for token in machines if not token.altered})

    def has_people(self) -> bool:
        """Whether there was a first run; once there was, there are always people, and the database is not asked."""
        if not self._has_people:
            with self.store.reading() as connection:
                self._has_people = people.has_any(connection)
        return self._has_people

    def record(self, person: Person, action: Message, about: About = "programme", *, once_a_day: bool = False) -> None:
        """Put an action into the activity log: `noted("closed round {round}", round=3)`. The name stands before it.

        Never that a person entered or imported reports, not even without their number: when reports come in is itself
        confidential, and the administrator reads the log. What is about reports, only those read who may see counts.
        """
        with self.store.writing() as connection:
            activity.record(connection, self.clock(), person.name, action, about, once_a_day=once_a_day)

    def cookie_name(self, name: str) -> str:
        """A cookie's name: browsers accept __Host- from this very host over TLS alone."""
        return f"__Host-{name}" if self.secure else name

    def set_cookie(self, response: Response, name: str, value: str) -> None:
        """Give the browser a cookie: until it is closed, or for a year where it says which device this is, or in
        which language the console speaks.
        """
        lasts = A_YEAR if name in {"device", "language"} else None
        response.set_cookie(
            self.cookie_name(name), value, max_age=lasts, secure=self.secure, httponly=True, samesite="strict", path="/"
        )

    def close(self) -> None:
        if self._programme is not None:
            self._programme.close()
        self.store.dispose()


def is_new(database: str) -> bool:
    """Whether there is no database yet."""
    store = Store(database)
    try:
        if store.is_sqlite:
            return not Path(str(store.url.database)).exists()
        with store.reading() as connection:
            return not sa.inspect(connection).has_table("alembic_version")
    finally:
        store.dispose()


def console_of(request: Request) -> Console:
    console: Console = request.app.state.console
    return console


def _console_key(store: Store, vault: Vault) -> bytes:
    """Of which the console makes authentication codes, digests, one-time codes, form tokens and device cookies.

    It is made at the first start, sealed like the programme's secrets, and outlives a change of the master key.
    """
    with store.writing() as connection:
        blob = connection.execute(tables.SECRET, {"name": CONSOLE_KEY}).scalar()
        if blob is not None:
            return vault.open(CONSOLE_KEY, bytes(blob))
        key = secrets.token_bytes(32)
        row = {"name": CONSOLE_KEY, "blob": vault.seal(CONSOLE_KEY, key)}
        connection.execute(sa.insert(tables.secrets), row)
    return key
