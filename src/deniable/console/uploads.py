"""Files on their way in: kept in memory, so a few at once, and one a person."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import Semaphore, fail_after
from starlette.exceptions import HTTPException


class Uploads:
    AT_ONCE, PATIENCE = 2, 30
    """Files, and seconds that another one waits."""

    def __init__(self) -> None:
        self._free = Semaphore(self.AT_ONCE)
        self._people: set[str] = set()

    @asynccontextmanager
    async def place(self, person: str) -> AsyncIterator[None]:
        """For as long as this person's file is received and read. Refused where another one of theirs is, or where
        those of others take too long.
        """
        if person in self._people:
            raise HTTPException(
                409, "Another file of yours is on its way. Wait until it has arrived, or a few minutes."
            )
        self._people.add(person)
        try:
            try:
                with fail_after(self.PATIENCE):
                    await self._free.acquire()
            except TimeoutError:
                raise HTTPException(503, "The file cannot be taken now. Wait a few minutes and try again.") from None
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._people.discard(person)
