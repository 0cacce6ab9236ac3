"""JSON that others may have written: as long as its file, but not much larger once it is read."""

import re

from deniable.errors import DeniableError
from deniable.message import Message

MOST_BRACKETS = 100_000
"""Lists and objects of a text. An entry has a few, since names stand in one list, however many there are;
programme.json has one for every sentence that an office translated itself. Empty lists would take twenty times the
memory of their text, and these many take 7 MB.
"""

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOO_MANY = re.compile(
    rf'(?:[^"\[{{]*+(?:{_STRING}[^"\[{{]*+)*+[\[{{]){{{MOST_BRACKETS + 1}}}+', re.DOTALL
)  # possessive: a text is gone through once


def check_brackets(text: str, name: str | Message) -> None:
    """Refuse the text of this name, before it is read, if it has too many.

    >>> check_brackets('{"names":["Ash [Mill]"]}', "the entry")
    """
    if _TOO_MANY.match(text):
        raise DeniableError(
            "{name} has more than {most} lists and objects in it, and deniable writes fewer: it was changed",
            name=name,
            most=MOST_BRACKETS,
        )
