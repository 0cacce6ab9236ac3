"""Activity: who did what on which day."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response

from deniable.programme.page import Day, day_in_words
from deniable.web.accounts import Person, activity
from deniable.web.rendering import render
from deniable.web.security import console_of, require

router = APIRouter()

NEWEST = 200


@dataclass(frozen=True)
class Row:
    day: Day
    who: str
    deed: str


@dataclass(frozen=True)
class ActivityPage:
    rows: tuple[Row, ...]
    most: int


@router.get("/activity")
def activity_page(request: Request, _: Annotated[Person, require("activity")]) -> Response:
    with console_of(request).store.reading() as connection:
        deeds = activity(connection, NEWEST)
    rows = tuple(Row(day_in_words(date.fromisoformat(deed.day)), deed.who, deed.deed) for deed in deeds)
    return render(request, "activity.html", ActivityPage(rows, NEWEST))
