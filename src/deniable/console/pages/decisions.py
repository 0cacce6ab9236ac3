"""What the office decides by itself, outside the draw: published with its reason, and with what it does to the
guarantee.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import CurrentProgramme, copied_record, number_in, redirect, refusal, search
from deniable.console.pages.work_list import key_of
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text, texts
from deniable.console.target_search import FEW, MOST_FOUND, Found
from deniable.errors import DeniableError
from deniable.programme.names import caseless
from deniable.programme.programme import Programme
from deniable.programme.status import Status
from deniable.programme.transcript.decision import Consequence
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
    button: str
    round: int
    targets: tuple[str, ...]
    """Those to choose from: all of them, where they are few."""
    audits: tuple[PastAudit, ...]
    """Those that can be said not to have been carried out, newest first."""
    is_long: bool
    """Whether there are so many of either that one looks for them."""
    found: Found | None = None
    """What was looked for; None before."""
    chosen: tuple[str, ...] = ()
    added: str = ""
    new_name: str = ""
    reason: str = ""
    independent: str = ""
    consequence: Consequence | None = None
    """What the order would do to the guarantee, where it must be confirmed."""
    error: str | None = None


@dataclass(frozen=True)
class _Decision:
    title: str
    lead: str
    button: str
    take: Callable[[Programme, FormData, str, bool], str]
    """Carries it out; returns what the activity log says of it."""


@router.get("/round/decisions/{kind}")
def ask(request: Request, kind: str, _: Annotated[Person, require("decide")], programme: CurrentProgramme) -> Response:
    page, status = _asked(request, programme, kind)
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
    page, _ = _asked(request, programme, kind, fields)
    if "start" in fields:
        return render(request, "decision.html", page)
    if kind == "override" and page.independent == "no":
        would = programme.consequence()
        if text(fields, "confirmed") != str(would.during):
            return render(request, "decision.html", replace(page, consequence=would))
    try:
        action = _DECISIONS[kind].take(programme, fields, page.reason, _declared(page.independent))
    except NotKeptError:  # the transcript's page says so
        action = f"decided by hand (entry {programme.status().entries})"
    except DeniableError as error:
        return render(request, "decision.html", replace(page, error=refusal(error)), 422)
    console_of(request).record(person, action)
    return redirect("/transcript", "decided")


def _declared(independent: str) -> bool:
    """Whether the office declares the decision independent of the reports; it must say the one or the other."""
    if independent not in ("yes", "no"):
        raise DeniableError("Say whether the decision had anything to do with reports.")
    return independent == "yes"


def _asked(
    request: Request, programme: Programme, kind: str, fields: FormData | None = None
) -> tuple[DecisionPage, Status]:
    """The form, filled with what was typed."""
    if kind not in _DECISIONS:
        raise HTTPException(404, "There is no such page.")
    decision, status, filled = _DECISIONS[kind], programme.status(), fields or FormData()
    copied_record(request, programme, status.folder)
    audits = _past_audits(programme) if kind == "not-carried-out" else ()
    page = DecisionPage(
        kind=kind,
        title=decision.title,
        lead=decision.lead,
        button=decision.button,
        round=status.open_round,
        targets=status.targets,
        audits=audits,
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


def _override(programme: Programme, fields: FormData, reason: str, independent: bool) -> str:
    targets = list(dict.fromkeys(texts(fields, "target")))
    if not targets:
        raise DeniableError("Choose at least one target.")
    entry = programme.override(targets, reason, independent=independent)
    return f"ordered audits by hand (entry {entry.number})"


def _targets(programme: Programme, fields: FormData, reason: str, independent: bool) -> str:
    added = [name.strip() for name in text(fields, "added").splitlines() if name.strip()]
    removed = list(dict.fromkeys(texts(fields, "target")))
    if not added and not removed:
        raise DeniableError("Name at least one target that joins or leaves.")
    entry = programme.change_targets(reason, independent=independent, add=added, remove=removed)
    return f"changed the list of targets (entry {entry.number})"


def _rename(programme: Programme, fields: FormData, reason: str, independent: bool) -> str:
    targets = texts(fields, "target")
    if len(targets) != 1:
        raise DeniableError("Choose the target that gets another name.")
    name = text(fields, "new_name").strip()
    entry = programme.rename_target(targets[0], name, reason, independent=independent)
    return f"renamed a target (entry {entry.number})"


def _not_carried_out(programme: Programme, fields: FormData, reason: str, independent: bool) -> str:
    number, _, target = text(fields, "audit").partition(" ")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise DeniableError("Choose the audit that was not carried out.")
    entry = programme.not_carried_out(int(number), target, reason, independent=independent)
    return f"said that an audit was not carried out (entry {entry.number})"


def _skip(programme: Programme, fields: FormData, reason: str, independent: bool) -> str:
    if text(fields, "round") != str(programme.status().open_round):
        raise DeniableError("This round is closed already; nothing was changed.")
    return f"skipped round {programme.skip(reason, independent=independent).round}"


_DECISIONS = {
    "override": _Decision(
        "Order an audit by hand",
        "An audit outside the draw. The reports about the targets you choose are deleted, as after a draw, and the "
        "round stays open.",
        "Order the audit and record it",
        _override,
    ),
    "targets": _Decision(
        "Let targets join or leave",
        "The change counts from this round on. The reports about those who leave are deleted.",
        "Change the list and record it",
        _targets,
    ),
    "rename": _Decision(
        "Rename a target",
        "The target has another name from this round on, and the reports about it stay counted. Reports that come in "
        "under the old name are treated like those about an unknown target: change the mapping of your hotlines.",
        "Rename the target and record it",
        _rename,
    ),
    "not-carried-out": _Decision(
        "Say that an audit was not carried out",
        "That the target was chosen stands, and the reports about it stay deleted.",
        "Record it",
        _not_carried_out,
    ),
    "skip": _Decision(
        "Skip this round",
        "The round is closed without an audit. Its reports stay counted and go on into the next round.",
        "Skip the round and record it",
        _skip,
    ),
}
