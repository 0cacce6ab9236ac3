"""Errors that belong to one field of a form, so that the page can show them beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deniable.errors import DeniableError
from deniable.message import Message


class FieldError(DeniableError):
    """What is wrong with one field of a form; the values are filled in."""

    def __init__(self, field: str, text: str | Message, /, **values: Any) -> None:
        if isinstance(text, Message):
            text, values = text._replace(values=(*text.values, *values.items())), {}
        super().__init__(text, **values)
        self.field = field


@contextmanager
def about(field: str) -> Iterator[None]:
    """What is refused inside is wrong with this field."""
    try:
        yield
    except FieldError:
        raise
    except DeniableError as error:
        raise FieldError(field, error.message) from None


def field_of(error: DeniableError) -> str:
    """The field that an error is about; empty where that is not known."""
    return error.field if isinstance(error, FieldError) else ""
