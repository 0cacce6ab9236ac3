"""A sentence that is said later, in a language that is not known yet.

The English text is its key in the catalogues. Values stand in it in braces.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple, Self


class Message(NamedTuple):
    """Of a sentence with a number in it, `many` is the text for several, and the values hold the number.

    >>> str(noted_count("{number} row of {file} is empty", "{number} rows of {file} are empty", 3000, file="may.csv"))
    '3,000 rows of may.csv are empty'
    """

    text: str
    values: tuple[tuple[str, Any], ...] = ()
    many: str | None = None

    def __str__(self) -> str:
        """In English."""
        values = dict(self.values)
        text = self.text if self.many is None or values["number"] == 1 else self.many
        return text.format_map({name: _written(value) for name, value in values.items()})

    def filled(self, **values: Any) -> Self:
        """With these values.

        >>> str(noted("closed round {round}").filled(round=3))
        'closed round 3'
        """
        return self._replace(values=tuple(values.items()))

    @property
    def elsewhere(self) -> Self:
        """For people and machines that must not learn of any place on this machine."""
        return self._replace(values=tuple((name, _elsewhere(value)) for name, value in self.values))


class Place(NamedTuple):
    """A file or folder of this machine in a sentence, and how it is called for those who must not know where it is.

    >>> missing = noted("cannot read {file}", file=Place("/srv/key.json", noted("the key file")))
    >>> str(missing), str(missing.elsewhere)
    ('cannot read /srv/key.json', 'cannot read the key file')
    """

    path: str
    instead: Message

    def __str__(self) -> str:
        return self.path

    @property
    def elsewhere(self) -> Message:
        return self.instead


class Listed(NamedTuple):
    """Things that a sentence lists: 'id, channel and score', or 'id, channel or score'."""

    things: tuple[str | Message, ...]
    word: Literal["and", "or"]

    def __str__(self) -> str:
        *first, last = map(str, self.things)
        return f"{', '.join(first)} {self.word} {last}" if first else last


def noted(text: str, /, **values: Any) -> Message:
    """A sentence to be said later."""
    return Message(text, tuple(values.items()))


def why_not(text: str, /, **values: Any) -> Message:
    """The same for why something is refused, which only the console says in other languages than English."""
    return noted(text, **values)


def noted_count(one: str, many: str, number: int, /, **values: Any) -> Message:
    """The sentence that goes with this number, which it has as {number}."""
    return Message(one, (("number", number), *values.items()), many)


def all_of(things: Iterable[str | Message]) -> Listed:
    """All of them: 'id, channel and score'."""
    return Listed(tuple(things), "and")


def one_of(things: Iterable[str | Message]) -> Listed:
    """One of them: 'id, channel or score'."""
    return Listed(tuple(things), "or")


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return f"{value:,}" if type(value) is int else value


def _elsewhere(value: Any) -> Any:
    return getattr(value, "elsewhere", value)
