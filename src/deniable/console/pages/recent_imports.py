"""What a person imported a short time ago, as far as they can take it back or must know what became of it."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from starlette.requests import Request

from deniable.console.accounts.people import Person
from deniable.console.pages.common import counting
from deniable.console.pending_imports import AcceptedImport, TakeBack, Unassigned
from deniable.console.security import console_of
from deniable.console.voices import voice_of
from deniable.languages.voice import Voice
from deniable.programme.calendar import Day, day_in_words
from deniable.programme.programme import Programme


@dataclass(frozen=True)
class RecentImport:
    """An import of the person who sees the page. It follows from the clock, and from nothing that is in it."""

    source: str
    name: str
    number: int
    """Among those of this hotline and day, from 1."""
    day: Day
    unassigned: Unassigned
    """What in the file has no target or class yet, as its preview said."""
    state: Literal["open", "not taken back", "being taken back", "taken back", "too late", "counted"]
    """In the first two it can be taken back; in the second it was tried before. The last is shown where not all
    counts."""


def recent_imports(request: Request, person: Person, programme: Programme) -> tuple[RecentImport, ...]:
    """It follows from the clock, and not from what was imported."""
    accepted = console_of(request).pending_imports.accepted_by(person.id)
    if not accepted or programme.status().ended:
        return ()
    say = voice_of(request)
    found = counting(lambda: [_state_of(programme, one, say) for one in accepted])
    return tuple(one for one in found if one is not None)


def _state_of(programme: Programme, accepted: AcceptedImport, say: Voice) -> RecentImport | None:
    """None where all of it is counted and the person did not ask to take it back."""
    made = partial(
        RecentImport,
        accepted.source,
        accepted.name,
        accepted.number,
        day_in_words(accepted.day, say),
        accepted.unassigned,
    )
    asked = accepted.take_back
    if programme.hotlines.is_final(accepted.source, accepted.name):
        if asked is not TakeBack.NOT_ASKED:
            return made("too late")
        return made("counted") if accepted.unassigned else None
    match asked:
        case TakeBack.NOT_ASKED:
            return made("open")
        case TakeBack.ASKED:
            return made("being taken back")
        case TakeBack.WRITTEN:
            return made("taken back")
        case TakeBack.FAILED:
            return made("not taken back")
