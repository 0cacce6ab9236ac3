"""How the files of a public folder compare with what the transcript says: each page and calendar, in every language."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from deniable.programme.parameters import Parameters
from deniable.programme.public.calendar_file import calendar_file
from deniable.programme.public.folder import CALENDAR, INSTRUCTIONS, PAGE, in_languages, read_published
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.state import PublicState

Compared = Literal["matches", "differs", "missing", "unchecked"]
"""A file is what belongs there, is not, or was not compared: it is not there, or a library is not installed."""
LIBRARIES = ("babel", "jinja2", "markupsafe")
"""Without which texts are not compared; all other checks can do without."""

_IN_A_LANGUAGE = re.compile(r"(?:index\.[A-Za-z0-9_-]{1,35}\.html|calendar\.[A-Za-z0-9_-]{1,35}\.ics)")


def pages(folder: Path, parameters: Parameters, entries: Sequence[Entry], state: PublicState) -> dict[str, Compared]:
    """By name, that in the first language first."""

    def text(code: str) -> bytes:
        from deniable.programme.public.page import render  # noqa: PLC0415, it needs jinja2, and the check does not

        return render(parameters, entries, state, parameters.voice(code)).encode()

    return _in_languages(folder, PAGE, parameters, text)


def calendars(folder: Path, parameters: Parameters, state: PublicState) -> dict[str, Compared]:
    """In the same way."""
    return _in_languages(folder, CALENDAR, parameters, lambda code: calendar_file(state, parameters.voice(code)))


def unexpected(folder: Path, parameters: Parameters) -> tuple[str, ...]:
    """Names of pages and calendars in languages that the programme has not; none where the folder cannot be listed."""
    known = {*in_languages(PAGE, parameters), *in_languages(CALENDAR, parameters)}
    try:
        there = {path.name for path in folder.iterdir()}
    except OSError:
        return ()
    return tuple(sorted(name for name in there - known if _IN_A_LANGUAGE.fullmatch(name)))


def instructions(folder: Path, parameters: Parameters) -> Compared:
    def text() -> bytes:
        from deniable.programme.public.page import verify_text  # noqa: PLC0415

        return verify_text(parameters).encode()

    return compared(folder / INSTRUCTIONS, text)


def compared(path: Path, content: Callable[[], bytes]) -> Compared:
    """How the file compares with what belongs there."""
    if not path.exists():
        return "missing"
    try:
        expected = content()
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        return "unchecked"
    return "matches" if read_published(path) == expected else "differs"


def _in_languages(folder: Path, name: str, parameters: Parameters, text: Callable[[str], bytes]) -> dict[str, Compared]:
    files = in_languages(name, parameters)
    return {file: compared(folder / file, partial(text, code)) for file, code in files.items()}
