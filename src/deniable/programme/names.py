"""The one rule for names of targets, programmes, hotlines, people and tokens."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeGuard

from deniable.errors import DeniableError
from deniable.message import Message, why_not

LONGEST_NAME = 200
LONGEST_REGISTERED = 40
MOST_MARKS = 30
"""Accents in a row."""

# Characters that Python calls printable and that show as nothing: fillers, blanks, variation selectors and the like.
_UNSEEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    r"\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)


class Renaming(NamedTuple):
    """What a target was called, and is called since."""

    number: int
    former: str
    name: str


TARGET_NAME = why_not("a target's name")


def check_name(what: str | Message, name: object, longest: int = LONGEST_NAME) -> str:
    """A name as it is; `what` says whose it is.

    At most so many printable characters, no space at either end, in Unicode's composed form (NFC), and without
    characters that show as nothing: two names that look the same are the same.

    >>> check_name("a target's name", "Acme ")
    Traceback (most recent call last):
    deniable.errors.DeniableError: a target's name must have 1 to 200 printable characters and no spaces at the ends,
    got 'Acme '
    """
    if _is_plain(name) and len(name) <= longest:
        return name  # soon found out, where there are a million
    if isinstance(name, str) and len(name) > longest:
        raise DeniableError("{what} can have at most {longest} characters", what=what, longest=longest)
    if name == "":
        raise DeniableError("{what} must not be empty", what=what)
    if not isinstance(name, str) or not name.isprintable() or name != name.strip() or _UNSEEN.search(name):
        came = ascii(name) if isinstance(name, str) else type(name).__name__
        raise DeniableError(
            "{what} must have 1 to {longest} printable characters and no spaces at the ends, got {came}",
            what=what,
            longest=longest,
            came=came,
        )
    composed = unicodedata.normalize("NFC", name)
    if name != composed:
        raise DeniableError(
            "{what} must be in Unicode NFC, with accents composed: {composed}, got {name}",
            what=what,
            composed=ascii(composed),
            name=ascii(name),
        )
    return name


def _is_plain(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and name.isascii() and name.isprintable() and name == name.strip() != ""


def has_piled_marks(text: str) -> bool:
    """Whether more accents stand on one letter than any language writes, by Unicode's own limit (UAX 15, Stream-Safe
    Text Format). To put these in order takes a time that grows with the square of their number, so a text of others is
    looked at before it is composed.

    >>> has_piled_marks("Zoe\u0308"), has_piled_marks("a" + 31 * "\u0301")
    (False, True)
    """
    if text.isascii():
        return False
    marks = "".join(filter(_is_mark, {*text}))
    return bool(marks) and re.search(f"[{re.escape(marks)}]{{{MOST_MARKS + 1}}}", text) is not None


def _is_mark(character: str) -> bool:
    """Also where it is one only once it is taken apart."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) > 0


def caseless(name: str) -> str:
    """What two names have in common that differ in nothing but case.

    >>> caseless("ASH MILL") == caseless("Ash Mill")
    True
    """
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def check_targets(targets: object) -> tuple[str, ...]:
    """The names of the targets that a programme starts with, at least two, which differ in more than case."""
    if not isinstance(targets, list | tuple) or len(targets) < 2:
        raise DeniableError("targets must be a list of at least two names")
    names = tuple(check_name(TARGET_NAME, name) for name in targets)
    if len({*map(caseless, names)}) == len(names):
        return names
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.get(caseless(name))) is not None:
            if other == name:
                raise DeniableError("each target must have its own name, but {name} comes twice", name=name)
            raise DeniableError(
                "each target must have its own name, but {other} and {name} differ only in upper and lower case",
                other=other,
                name=name,
            )
        seen[caseless(name)] = name
    return names


def check_unused(names: Iterable[str], used: Iterable[str], present: Collection[str] = ()) -> None:
    """Refuse a name that is among those used, or differs from one of them in case alone. present: those of targets that
    take part now.
    """
    known = {caseless(name): name for name in used}
    taken = {*known.values()}
    for name in names:
        if (other := known.setdefault(caseless(name), name)) != name:
            raise DeniableError(
                "{other} and {name} differ only in upper and lower case; choose another name", other=other, name=name
            )
        if name in present:
            raise DeniableError("{name} takes part already; choose another name", name=name)
        if name in taken:
            raise DeniableError("the name {name} was used before; choose another name", name=name)


def check_registered(registered: object, n_targets: int) -> tuple[str, ...] | None:
    """The numbers of so many targets in a public register, all different; None where there is no register."""
    if registered is None:
        return None
    if not isinstance(registered, list | tuple) or len(registered) != n_targets:
        raise DeniableError("registered must have a number for each of the targets")
    numbers = tuple(check_name(why_not("a register number"), number, LONGEST_REGISTERED) for number in registered)
    if len(set(numbers)) < len(numbers):
        raise DeniableError("each target must have its own register number, but one comes twice")
    return numbers


_REPORTS_HEADERS = ({"target", "reports"}, {"id", "channel"})
_NUMBER = re.compile(r"[0-9]+")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def check_not_reports(lines: Sequence[str]) -> None:
    """Refuse the lines of a file of reports in the place of the names of targets: the list of targets is public.

    A name may have commas in it. The first line may be a header of any words.
    """
    if lines and any(header <= {cell.lower() for cell in _cells(lines[0])} for header in _REPORTS_HEADERS):
        found = True
    else:
        found = any(len(some) > 1 and all(map(_is_row_of_reports, some)) for some in (lines, lines[1:]))
    if found:
        raise DeniableError(
            "this is a file of reports, not a list of targets: give the names of all targets, one a line, without "
            "dates and numbers after commas, since the list is public"
        )


def _cells(line: str) -> list[str]:
    return [cell.strip(" \"'\ufeff") for cell in re.split(r"[,;\t]", line)]


def _is_row_of_reports(line: str) -> bool:
    """Whether it has several cells, of which the last is a number or one is a day."""
    cells = _cells(line)
    return len(cells) > 1 and bool(_NUMBER.fullmatch(cells[-1]) or any(map(_DAY.fullmatch, cells)))
