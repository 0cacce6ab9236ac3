"""What the office decides by itself, outside the draw: published with its reason, and with what it does to the
guarantee.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import (
    Consequences,
    CurrentProgramme,
    consequences_of,
    copied_record,
    number_in,
    redirect,
    refusal,
    search,
)
from deniable.console.pages.open_round import LOOKED
from deniable.console.pages.orders import ordered, others
from deniable.console.pages.work_list import key_of
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text, texts
from deniable.console.target_search import FEW, MOST_FOUND, Found
from deniable.errors import DeniableError
from deniable.programme.calendar import Day, day_in_words, due_in_words
from deniable.programme.names import caseless
from deniable.programme.programme import Programme
from deniable.programme.status import Status
from deniable.programme.terms import Terms
from deniable.programme.transcript.decision import Decision
from deniable.programme.transcript.entries import Override, Renamed, Skip, Targets
from deniable.programme.transcript.outcomes import NotCarriedOut
from deniable.programme.transcript_copies import NotKeptError

router = Router()


@dataclass(frozen=True)
class PastAudit:
    key: str
    target: str
    round: int


@dataclass(frozen=True)
class DecisionPage:
    kind: str
    title: str
    lead: str
    round: int
    until: Day
    """When the calendar's round ends: reports filed before lose the promise if the decision is connected with any."""
    looked: Day | None
    """When the person who sees the page last looked at counts."""
    targets: tuple[str, ...]
    """Those to choose from: all of them, where they are few."""
    audits: tuple[PastAudit, ...]
    """Those that can be said not to have been carried out, newest first."""
    had_any: bool
    """Whether any target was ever selected, where it is asked which audit did not take place. Public."""
    is_long: bool
    """Whether there are so many of either that one looks for them."""
    found: Found | None = None
    """What was looked for; None before."""
    chosen: tuple[str, ...] = ()
    added: str = ""
    new_name: str = ""
    reason: str = ""
    independent: str = ""
    error: str | None = None


@dataclass(frozen=True)
class ConfirmPage:
    """What the decision does, before it is recorded."""

    kind: str
    would: Consequences
    typed: tuple[tuple[str, str], ...]
    """The fields of the form, to be sent again."""
    others: tuple[str, ...]
    """Who else may confirm an order, by name."""
    is_changed: bool
    """Whether a new round began since the person saw the consequences."""


@dataclass(frozen=True)
class _Decision:
    title: str
    """With places for the programme's terms, as the lead."""
    lead: str
    entry: type[Decision]
    read: Callable[[Programme, FormData], dict[str, Any]]
    """What the form says, as the entry's own fields."""
    record: Callable[[Programme, dict[str, Any], str, bool], str]
    """Carries it out; returns what the activity log says of it."""


TYPED = ("target", "audit", "added", "new_name", "round", "reason", "independent")


@router.get("/round/decisions/{kind}")
def ask(
    request: Request, kind: str, person: Annotated[Person, require("decide")], programme: CurrentProgramme
) -> Response:
    page, status = _asked(request, person, programme, kind)
    if kind == "skip" and not status.overdue:
        return redirect("/round")
    return render(request, "decision.html", page)


@router.post("/round/decisions/{kind}")
def decide(
    request: Request,
    kind: str,
    person: Annotated[Person, require("decide")],
    programme: CurrentProgramme,
    fields: Fields,
) -> Response:
    """First it shows what the decision does. Sent from there, it is recorded; an order waits for a second person."""
    page, _ = _asked(request, person, programme, kind, fields)
    if "start" in fields or "change" in fields:
        return render(request, "decision.html", page)
    console, decision = console_of(request), _DECISIONS[kind]
    try:
        independent, own = _declared(page.independent), decision.read(programme, fields)
        entry = programme.foreseen_decision(decision.entry, page.reason, independent=independent, **own)
        seen, able = text(fields, "confirmed"), others(console, person).here
        if seen != str(entry.during):
            would = consequences_of(programme, entry)
            typed = tuple((name, value) for name in TYPED for value in texts(fields, name))
            return render(request, "decision_confirm.html", ConfirmPage(kind, would, typed, able, bool(seen)))
        if kind == "override" and able:
            return _ask_for_order(console, person, own["audits"], page, programme.parameters.terms)
        action = decision.record(programme, own, page.reason, independent)
    except NotKeptError:  # the transcript's page says so
        action = f"decided by hand (entry {programme.status().entries})"
    except DeniableError as error:
        return render(request, "decision.html", replace(page, error=refusal(error)), 422)
    console.record(person, action)
    return redirect("/transcript", "decided")


def _ask_for_order(
    console: Console, person: Person, targets: tuple[str, ...], page: DecisionPage, terms: Terms
) -> Response:
    if not console.pending_orders.ask(person.id, targets, page.reason, page.independent == "yes", page.round):
        raise DeniableError(
            "Another order that you asked for still waits. When it is confirmed or withdrawn, you can ask for this one."
        )
    console.record(person, f"asked for {terms.an_audit} ordered by hand")
    return redirect("/round/orders", "asked")


def _declared(independent: str) -> bool:
    """Whether the office declares the decision independent of the reports; it must say the one or the other."""
    if independent not in ("yes", "no"):
        raise DeniableError("Say whether this decision was connected with any report.")
    return independent == "yes"


def _asked(
    request: Request, person: Person, programme: Programme, kind: str, fields: FormData | None = None
) -> tuple[DecisionPage, Status]:
    """The form, filled with what was typed."""
    if kind not in _DECISIONS:
        raise HTTPException(404, "There is no such page.")
    decision, status, filled = _DECISIONS[kind], programme.status(), fields or FormData()
    record = copied_record(request, programme, status.folder)
    with console_of(request).store.reading() as connection:
        looked = activity.last_day(connection, person.name, LOOKED)
    terms = programme.parameters.terms
    audits = _past_audits(programme) if kind == "not-carried-out" else ()
    page = DecisionPage(
        kind=kind,
        title=decision.title.format(terms=terms),
        lead=decision.lead.format(terms=terms),
        round=status.open_round,
        until=due_in_words(programme.parameters.calendar, programme.consequence().during),
        looked=None if looked is None else day_in_words(looked),
        targets=status.targets,
        audits=audits,
        had_any=bool(audits) or any(event.audited for event in record.events),
        is_long=len(audits if kind == "not-carried-out" else status.targets) > FEW,
        chosen=(*texts(filled, "target"), *texts(filled, "audit")),
        added=text(filled, "added"),
        new_name=text(filled, "new_name"),
        reason=text(filled, "reason"),
        independent=text(filled, "independent"),
    )
    return (_searched(request, page, status.targets, filled) if page.is_long else page), status


def _past_audits(programme: Programme) -> tuple[PastAudit, ...]:
    return tuple(PastAudit(key_of(audit), audit.target, audit.round) for audit in reversed(programme.work_list()))


def _searched(request: Request, page: DecisionPage, targets: tuple[str, ...], fields: FormData) -> DecisionPage:
    """The same with a page of what was looked for, and what was chosen before."""
    if page.kind == "not-carried-out":
        wanted, first = caseless(text(fields, "find")), number_in(text(fields, "start")) or 0
        audits = [audit for audit in page.audits if wanted in caseless(audit.target)] if wanted else page.audits
        found = Found.place(text(fields, "find"), first, MOST_FOUND, len(audits))
        chosen = [audit for audit in page.audits if audit.key in page.chosen]
        shown = (*chosen, *(audit for audit in audits[first : first + MOST_FOUND] if audit not in chosen))
        return replace(page, targets=(), audits=shown, found=found)
    index = console_of(request).target_search.of(targets)
    chosen_names = tuple(name for name in dict.fromkeys(page.chosen) if index.exact(name) == name)
    if "start" not in fields:
        return replace(page, targets=(), audits=(), chosen=chosen_names)
    found = search(request, targets, fields)
    others = tuple(name for name in found.names if name not in chosen_names)
    return replace(page, targets=others, audits=(), chosen=chosen_names, found=found)


def _override(programme: Programme, fields: FormData) -> dict[str, Any]:
    targets = tuple(dict.fromkeys(texts(fields, "target")))
    if not targets:
        raise DeniableError(f"Choose at least one {programme.parameters.terms.target}.")
    return {"audits": targets}


def _order_alone(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> str:
    number = ordered(programme, own["audits"], reason, independent)
    an_audit = programme.parameters.terms.an_audit
    return f"ordered {an_audit} by hand, alone, since no other person could confirm it (entry {number})"


def _targets(programme: Programme, fields: FormData) -> dict[str, Any]:
    added = [name.strip() for name in text(fields, "added").splitlines() if name.strip()]
    removed = list(dict.fromkeys(texts(fields, "target")))
    if not added and not removed:
        raise DeniableError(f"Name at least one {programme.parameters.terms.target} that joins or leaves.")
    return {"added": added, "removed": removed}


def _change_targets(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> str:
    entry = programme.change_targets(reason, independent=independent, add=own["added"], remove=own["removed"])
    return f"changed the list of {programme.parameters.terms.targets} (entry {entry.number})"


def _new_name(programme: Programme, fields: FormData) -> dict[str, Any]:
    targets = texts(fields, "target")
    if len(targets) != 1:
        raise DeniableError(f"Choose the {programme.parameters.terms.target} that gets another name.")
    return {"target": targets[0], "name": text(fields, "new_name")}


def _rename(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> str:
    entry = programme.rename_target(own["target"], own["name"], reason, independent=independent)
    return f"renamed {programme.parameters.terms.a_target} (entry {entry.number})"


def _which_audit(programme: Programme, fields: FormData) -> dict[str, Any]:
    number, _, target = text(fields, "audit").partition(" ")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise DeniableError(f"Choose the {programme.parameters.terms.audit} that did not take place.")
    return {"of": int(number), "target": target}


def _not_carried_out(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> str:
    entry = programme.not_carried_out(own["of"], own["target"], reason, independent=independent)
    return f"recorded that {programme.parameters.terms.an_audit} did not take place (entry {entry.number})"


def _which_round(programme: Programme, fields: FormData) -> dict[str, Any]:
    """With a commitment that stands for the one to come."""
    status = programme.status()
    if text(fields, "round") != str(status.open_round):
        raise DeniableError("This round is closed already; nothing was changed.")
    if not status.overdue:
        raise DeniableError("A round can be skipped when it is due, and not before.")
    return {"commitment": "0" * 64, "late": status.late}


def _skip(programme: Programme, _: dict[str, Any], reason: str, independent: bool) -> str:
    return f"skipped round {programme.skip(reason, independent=independent).round}"


_DECISIONS = {
    "override": _Decision(
        "Order {terms.an_audit} by hand",
        "You choose the {terms.target}, and not the draw. Next you see what the order does. Another person must then "
        "confirm it, if there is one who can.",
        Override,
        _override,
        _order_alone,
    ),
    "targets": _Decision(
        "Let {terms.targets} join or leave",
        "The change counts from this round on. The reports about {terms.targets} that leave are deleted.",
        Targets,
        _targets,
        _change_targets,
    ),
    "rename": _Decision(
        "Rename {terms.a_target}",
        "The {terms.target} has another name from this round on. The reports about it stay counted.",
        Renamed,
        _new_name,
        _rename,
    ),
    "not-carried-out": _Decision(
        "Record that {terms.an_audit} did not take place",
        "The record still says that the {terms.target} was selected. The reports about it stay deleted.",
        NotCarriedOut,
        _which_audit,
        _not_carried_out,
    ),
    "skip": _Decision(
        "Skip this round",
        "The round is closed without a draw. Its reports stay counted and go on into the next round.",
        Skip,
        _which_round,
        _skip,
    ),
}
