"""Guarantee: one page to print and to give to whoever thinks of reporting; the same text as on the public page."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import CurrentProgramme
from deniable.console.rendering import render
from deniable.console.security import require
from deniable.programme.public.page import Promise, promise_in

router = APIRouter()


@dataclass(frozen=True)
class GuaranteePage:
    name: str
    promise: Promise
    coverage: str
    lapsed: bool


@router.get("/guarantee")
def guarantee_page(
    request: Request, _: Annotated[Person, require("guarantee")], programme: CurrentProgramme
) -> Response:
    status = programme.status()
    page = GuaranteePage(
        name=status.parameters.name,
        promise=promise_in(status.parameters.guarantee().in_words()),
        coverage=status.coverage.in_words(),
        lapsed=bool(status.coverage.lapses),
    )
    return render(request, "guarantee.html", page)
