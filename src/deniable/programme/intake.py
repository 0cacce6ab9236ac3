"""How what comes in reaches the disk: at the next tick, in this process or in one that runs, or at once."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from deniable.errors import DeniableError
from deniable.programme import counting
from deniable.programme.access import Access, EndedError
from deniable.programme.buffer import ROOM, Slots, cut
from deniable.programme.counting import Seen
from deniable.programme.hand_over import Listener, address, hand_over, is_listening
from deniable.programme.ticker import Owners, Ticker
from deniable.programme.transaction import Transaction

Answer = TypeVar("Answer")
AskOwners = Callable[[], Owners]
"""Tells which people and tokens may bring what waits."""


class Intake:
    """Takes in the reports of one programme."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._where = address(access.parameters.programme, str(access.store.url))
        self._ticker: Ticker | None = None
        self._listener: Listener | None = None
        self._owners: AskOwners | None = None

    def start(self, owners: AskOwners | None = None) -> None:
        """From now on a page is written at every tick, what comes in waits for the next one, and commands at a terminal
        hand over what they bring. `owners` tells after every tick which people and tokens may bring what waits.
        """
        self._owners = owners
        if self._ticker is None and self._access.vault is not None:
            self._ticker = Ticker(self._write_page, self._count)
            self._listener = Listener(self._where, self._access.vault, self._ticker.submit)

    def stop(self) -> None:
        if self._listener is not None:
            self._listener.stop()
        if self._ticker is not None:
            self._ticker.stop()
        self._ticker = self._listener = None

    def is_kept_out(self) -> bool:
        """Whether commands cannot hand over what they bring (`Listener.is_kept_out`)."""
        return self._listener is not None and self._listener.is_kept_out

    def counting_fails(self) -> bool:
        """Whether this process ticks and cannot count what came in (`Ticker.counting_fails`)."""
        return self._ticker is not None and self._ticker.counting_fails

    def bring(
        self, made: Callable[[Transaction], tuple[Slots, Answer]], owner: str = ""
    ) -> "tuple[Answer, Future[None]]":
        """Take in the slots that this makes of reports; returns what else it makes, and a future that is done when the
        slots are on the disk. owner: the person who imports them.
        """

        def looked() -> tuple[Slots, Answer]:
            with self._access.looking() as transaction:
                return made(transaction)

        return self._bring(looked, made, owner)

    def bring_new(self, made: Callable[[Seen], tuple[Slots, Answer]], owner: str = "") -> "tuple[Answer, Future[None]]":
        """The same for reports of which it does not matter what is known, and which ask the database no more than a
        page does (`Access.glancing`). owner: the token that pushes them, or the person who enters them.
        """

        def looked() -> tuple[Slots, Answer]:
            with self._access.glancing() as seen:
                return made(seen)

        return self._bring(looked, made, owner)

    def _bring(
        self,
        looked: Callable[[], tuple[Slots, Answer]],
        counted: Callable[[Transaction], tuple[Slots, Answer]],
        owner: str = "",
    ) -> "tuple[Answer, Future[None]]":
        """Slots and answer are found by looking, or by counting where no process ticks."""
        if self._ticker is not None:
            brought, answer = looked()
            return answer, self._ticker.submit(brought, owner)
        written = Future[None]()
        vault = self._access.vault
        if vault is not None and is_listening(self._where, vault):
            brought, answer = looked()
            hand_over(self._where, vault, brought)
        else:
            with self._access.counting() as transaction:
                brought, answer = counted(transaction)
                _take_in(transaction, brought)
        written.set_result(None)
        return answer, written

    def _write_page(self, brought: Slots) -> None:
        with self._access.counting() as transaction:
            _take_in(transaction, brought)
            self._access.store.refresh(transaction.connection)
        if self._owners is not None and self._ticker is not None:
            with suppress(DeniableError):  # the page is written; the next tick asks again
                self._ticker.keep_only(self._owners())

    def _count(self) -> None:
        """In a transaction of its own, for which none of those waits whose reports are on the disk. After the end of
        the programme there is nothing to count.
        """
        with suppress(EndedError), self._access.counting() as transaction:
            counting.fold(transaction)
            self._access.store.refresh(transaction.connection)

    def is_importing(self, owner: str) -> bool:
        """Whether an import of this person is not on the disk yet."""
        return self._ticker is not None and self._ticker.is_importing(owner)


def _take_in(transaction: Transaction, brought: Slots) -> None:
    """On as many pages as it takes, and at least on one."""
    while True:
        if not transaction.has_room:
            counting.fold(transaction)
        page, brought = cut(brought, ROOM)
        transaction.take_in(page)
        if not len(brought):
            return
