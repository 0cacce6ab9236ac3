"""What was imported a short time ago, as far as a person can take it back or must know what became of it: their own
imports, and those of all people where they may take back reports.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from starlette.requests import Request

from deniable.console.accounts.people import Person
from deniable.console.pages.common import counting
from deniable.console.pending_imports import AcceptedImport, TakeBack, Unassigned
from deniable.console.security import console_of, may
from deniable.console.voices import voice_of
from deniable.languages.voice import Voice
from deniable.programme.calendar import Day, day_in_words
from deniable.programme.programme import Programme


@dataclass(frozen=True)
class RecentImport:
    """An import that the person who sees the page can take back. It follows from the clock, and from nothing that is in
    it.
    """

    by: str
    """Who brought it, where that is another person."""
    source: str
    name: str
    number: int
    """Among those of this hotline and day, from 1."""
    day: Day
    file: str
    """Its name, where the person chose the file themselves; empty where it cannot be shown."""
    unassigned: Unassigned
    """What in the file has no target or class yet, as its preview said."""
    state: Literal["open", "not taken back", "being taken back", "taken back", "too late", "counted"]
    """In the first two it can be taken back; in the second it was tried before. The last is shown where not all
    counts."""


def accepted_for(request: Request, person: Person) -> tuple[AcceptedImport, ...]:
    """What this person brought, and where they may take back reports, what others brought: they may be away."""
    imports = console_of(request).pending_imports
    others = imports.accepted_by_others(person.id) if may(person, "withdraw") else ()
    return (*imports.accepted_by(person.id), *others)


def recent_imports(request: Request, person: Person, programme: Programme) -> tuple[RecentImport, ...]:
    """It follows from the clock, and not from what was imported."""
    accepted = accepted_for(request, person)
    if not accepted or programme.status().ended:
        return ()
    say = voice_of(request)
    found = counting(lambda: [_state_of(programme, one, is_own=one.person == person.id, say=say) for one in accepted])
    return tuple(one for one in found if one is not None)


def _state_of(programme: Programme, accepted: AcceptedImport, *, is_own: bool, say: Voice) -> RecentImport | None:
    """None where all of it is counted and no person asked to take it back. What has no target yet concerns the one who
    brought it.
    """
    unassigned = accepted.unassigned if is_own else Unassigned()
    made = partial(
        RecentImport,
        "" if is_own else accepted.by,
        accepted.source,
        accepted.name,
        accepted.number,
        day_in_words(accepted.day, say),
        accepted.file if is_own else "",
        unassigned,
    )
    asked = accepted.take_back
    if programme.hotlines.is_final(accepted.source, accepted.name):
        if asked is not TakeBack.NOT_ASKED:
            return made("too late")
        return made("counted") if unassigned else None
    match asked:
        case TakeBack.NOT_ASKED:
            return made("open")
        case TakeBack.ASKED:
            return made("being taken back")
        case TakeBack.WRITTEN:
            return made("taken back")
        case TakeBack.FAILED:
            return made("not taken back")
