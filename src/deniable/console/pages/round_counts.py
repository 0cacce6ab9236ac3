"""Counts of reports, for auditors who ask for them, and are in the activity log with that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import LOOKED, CurrentProgramme, copied_record, number_in, redirect, search
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.console.target_search import Found
from deniable.console.voices import voice_of
from deniable.errors import MAX_REPORTS
from deniable.programme.programme import Programme
from deniable.programme.public.guarantee_wording import class_in_words

router = Router()

MOST_BARS = 50
"""Targets on a page."""
_LARGEST = 10**18
"""More than any count comes to."""
_LONGEST_LETTER = 5
"""In bytes: four in UTF-8, five where it is escaped."""


@dataclass(frozen=True)
class Bar:
    """Confidential."""

    name: str
    reports: int
    share: str
    """Of the longest bar, in per cent."""
    by_class: tuple[tuple[str, int], ...] = ()
    """Reports of the open round of each class that has any, where there are several."""


@dataclass(frozen=True)
class CountsPage:
    """Confidential."""

    round: int
    has_open_round: bool
    """Not after the last round, or the end of the programme."""
    targets: int
    counts: tuple[Bar, ...]
    found: Found
    """What was looked for, and the pages beside this one."""
    classes: str
    """How often a report of each class counts, in words; empty where there is one class only."""
    most_counted: int | None
    is_frozen: bool
    """Whether reports of a frozen round are among them."""


@router.get("/round/counts")
def no_counts(_: Annotated[Person, require("counts")]) -> Response:
    """Counts are shown when they are asked for, and not because of an address."""
    return redirect("/round")


@router.post("/round/counts")
def show_counts(
    request: Request, person: Annotated[Person, require("counts")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Counts of all targets, or of some, in this one answer. The activity log says on which day a person looked at
    them. Posted, so that no address tells which, and reloading the round shows none.
    """
    status = programme.status()
    if status.ended:
        return redirect("/round")
    copied_record(request, programme, status.folder)  # what is gone from the counts was drawn
    console_of(request).record(person, LOOKED, once_a_day=True)
    counts = programme.active_counts()
    if text(fields, "find"):
        found = search(request, status.targets, fields)
        shown = bars_of(found.names, counts)
    else:
        start = number_in(text(fields, "start")) or 0
        start = start if start < len(counts) else 0
        found = Found.place("", start, MOST_BARS, len(counts))
        shown = bars(counts, start)
    parameters, say = status.parameters, voice_of(request)
    classes = [class_in_words(one, say) for one in parameters.classes]
    has_classes = len(classes) > 1
    page = CountsPage(
        round=status.open_round,
        has_open_round=status.has_open_round,
        targets=len(status.targets),
        counts=_with_classes(programme, shown) if has_classes else shown,
        found=found,
        classes=say.all_of(classes) if has_classes else "",
        most_counted=parameters.most_counted,
        is_frozen=status.waiting is not None,
    )
    # All names that can be on the page are on it, or the search alone decided which.
    is_public = bool(found.query) or len(counts) <= MOST_BARS
    name = None if is_public else "x" * (_LONGEST_LETTER * max(map(len, counts)))
    names = [one.name for one in parameters.classes] if has_classes else []
    response = render(request, "round_counts.html", page)
    longest = render(request, "round_counts.html", replace(page, counts=_longest(shown, name, names)))
    return _padded(response, len(longest.body))


def _padded(response: Response, length: int) -> Response:
    """So many bytes, with spaces at the end: TLS shows an observer of the network how long an answer is."""
    response.body = bytes(response.body).ljust(length)
    response.headers["content-length"] = str(len(response.body))
    return response


def _longest(shown: tuple[Bar, ...], name: str | None, classes: Iterable[str]) -> tuple[Bar, ...]:
    """As many bars that take at least as many bytes as any in their place could; a function of public facts."""
    by_class = tuple((one, MAX_REPORTS) for one in classes)
    return tuple(Bar(name or bar.name, _LARGEST, "100.0%", by_class) for bar in shown)


def _with_classes(programme: Programme, shown: tuple[Bar, ...]) -> tuple[Bar, ...]:
    names = [one.name for one in programme.parameters.classes]
    numbers = programme.reports_by_class([bar.name for bar in shown])
    return tuple(
        replace(bar, by_class=tuple((name, number) for name, number in zip(names, own, strict=True) if number))
        for bar, own in zip(shown, numbers, strict=True)
    )


def bars(counts: Mapping[str, int], start: int = 0, most: int = MOST_BARS) -> tuple[Bar, ...]:
    """The most reports first, from that place on."""
    counted = sorted(((name, count) for name, count in counts.items() if count), key=lambda pair: -pair[1])
    shown = counted[start : start + most]
    first = max(0, start - len(counted))  # of those without any, in the order of the list
    others = islice((name for name, count in counts.items() if not count), first, first + most - len(shown))
    return bars_of([*(name for name, _ in shown), *others], counts)


def bars_of(names: Iterable[str], counts: Mapping[str, int]) -> tuple[Bar, ...]:
    """Those of these targets."""
    longest = max(counts.values(), default=0) or 1
    return tuple(Bar(name, counts[name], f"{100 * counts[name] / longest:.1f}%") for name in names if name in counts)
