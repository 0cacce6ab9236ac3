"""A language that no one speaks: every sentence in brackets, longer and accented.

What stays plain on a page was not said by a voice.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from deniable.languages.language import Language, english

ACCENTED = str.maketrans("aceinosuyACEINOSUY", "àçéîñôšûýÀÇÉÎÑÔŠÛÝ")


class Accented(Mapping[str, tuple[str, ...]]):
    """Has a translation of every sentence."""

    def __getitem__(self, text: str) -> tuple[str, ...]:
        return (accented(text),) * 2

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def accented(text: str) -> str:
    """In brackets, a third longer, its values and tags as they were.

    >>> accented("See <a>{page}</a> and close it.")
    '[Šéé <a>{page}</a> àñd çlôšé ît. ~~~~~~~~~~]'
    """
    parts = re.split(r"(\{[^}]*\}|<[^>]*>)", text)
    said = "".join(part if place % 2 else part.translate(ACCENTED) for place, part in enumerate(parts))
    return f"[{said} {'~' * (len(text) // 3)}]"


def pseudo() -> Language:
    return replace(english(), code="en-x-pseudo", sentences=Accented())
