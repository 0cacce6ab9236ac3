"""A request that is refused, in words for the person who made it."""

from starlette.exceptions import HTTPException

from deniable.message import Message


class Refused(HTTPException):
    def __init__(self, status: int, message: Message) -> None:
        super().__init__(status, str(message))
        self.message = message
