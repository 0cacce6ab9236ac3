"""The entry with which the office tells the public how to reach it and its hotline."""

import datetime
from dataclasses import dataclass, replace

from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import why_not
from deniable.programme.calendar import Calendar, day_in_words
from deniable.programme.transcript.decision import INDEPENDENT
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import (
    CalendarDay,
    Contact,
    Hotline,
    OfficeDetails,
    check_contact,
    check_hotline,
)
from deniable.programme.transcript.state import PublicState


@dataclass(frozen=True, kw_only=True)
class Details(Entry):
    """The contact and the hotline from now on; a part that is null is no longer given.

    The office declares with every such entry that it has nothing to do with any report: there is no other kind of it.
    """

    kind = "details"

    contact: Contact
    hotline: Hotline
    day: CalendarDay
    """On which it was recorded, in the programme's zone."""

    def _change(self, state: PublicState) -> PublicState:
        given, before = OfficeDetails(self.contact, self.hotline, self.day), state.details
        if given[:2] == (before[:2] if before else (None, None)):
            raise DeniableError("the contact and the hotline are the same as before; nothing was changed")
        if state.closed and datetime.date.fromisoformat(self.day) < state.parameters.calendar.day(state.closed):
            raise DeniableError("the day cannot be before that of round {closed}, which is closed", closed=state.closed)
        return replace(state, details=given if self.contact or self.hotline else None)

    def deed(self, say: Voice) -> str:
        return say(
            "how to reach the office from {day} on, contact: {contact}; hotline: {hotline}", **self._details(say)
        )

    def heading(self, say: Voice) -> str:
        return say(
            "How to reach the office from {day} on, contact: {contact}; hotline: {hotline}", **self._details(say)
        )

    def _details(self, say: Voice) -> dict[str, str]:
        day, contact, hotline = self._day(say), _given(self.contact, say), _given(self.hotline, say)
        return {"day": day, "contact": contact, "hotline": hotline}

    def _day(self, say: Voice) -> str:
        return day_in_words(datetime.date.fromisoformat(self.day), say).words

    def made(self, calendar: Calendar, say: Voice) -> str:
        return self._day(say)

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return say(INDEPENDENT)


def typed(contact: str, hotline: str) -> tuple[str | None, str | None]:
    """Both as a person typed them; what is empty is not given."""
    return (
        check_contact(why_not("the contact"), contact.strip()) if contact.strip() else None,
        check_hotline(why_not("the hotline"), hotline.strip()) if hotline.strip() else None,
    )


def _given(text: str | None, say: Voice) -> str:
    if text:
        return say("“{text}”", text=say.apart(text))
    # For translators: this stands for a contact, or for a hotline.
    return say("none given")
