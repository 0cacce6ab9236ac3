"""What the office decides by itself, outside the draw: published with its reason, and with what it does to the
guarantee.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from deniable.console.accounts.people import Person
from deniable.console.pages.common import CopiedProgramme, copied_record, redirect, refusal
from deniable.console.rendering import render
from deniable.console.security import Fields, console_of, require, text, texts
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript_copies import NotKeptError

router = APIRouter()


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
    audits: tuple[PastAudit, ...]
    """Those that can be said not to have been carried out: the latest of every target, newest first."""
    chosen: tuple[str, ...] = ()
    added: str = ""
    reason: str = ""
    independent: str = ""
    error: str | None = None


@dataclass(frozen=True)
class _Decision:
    title: str
    lead: str
    button: str
    take: Callable[[Programme, FormData, str, bool], str]
    """Carries it out; returns what the activity log says of it."""


@router.get("/round/decisions/{kind}")
def ask(request: Request, kind: str, _: Annotated[Person, require("decide")], programme: CopiedProgramme) -> Response:
    if kind == "skip" and not programme.status().overdue:
        return redirect("/round")
    return render(request, "decision.html", _asked(request, programme, kind))


@router.post("/round/decisions/{kind}")
def decide(
    request: Request,
    kind: str,
    person: Annotated[Person, require("decide")],
    programme: CopiedProgramme,
    fields: Fields,
) -> Response:
    reason, independent = text(fields, "reason"), text(fields, "independent")
    page = _asked(request, programme, kind)
    try:
        action = _DECISIONS[kind].take(programme, fields, reason, _declared(independent))
    except NotKeptError:  # the transcript's page says so
        action = f"decided by hand (entry {programme.status().entries})"
    except DeniableError as error:
        chosen = (*texts(fields, "target"), *texts(fields, "audit"))
        filled = replace(page, chosen=chosen, added=text(fields, "added"), reason=reason, independent=independent)
        return render(request, "decision.html", replace(filled, error=refusal(error)), 422)
    console_of(request).record(person, action)
    return redirect("/transcript", "decided")


def _declared(independent: str) -> bool:
    """Whether the office declares the decision independent of the reports; it must say the one or the other."""
    if independent not in ("yes", "no"):
        raise DeniableError("Say whether the decision had anything to do with reports.")
    return independent == "yes"


def _asked(request: Request, programme: Programme, kind: str) -> DecisionPage:
    if kind not in _DECISIONS:
        raise HTTPException(404, "There is no such page.")
    decision, status = _DECISIONS[kind], programme.status()
    entries = copied_record(request, programme).entries if kind == "not-carried-out" else []
    return DecisionPage(
        kind=kind,
        title=decision.title,
        lead=decision.lead,
        button=decision.button,
        round=status.open_round,
        targets=status.targets,
        audits=latest_audits(entries),
    )


def latest_audits(entries: Sequence[Entry]) -> tuple[PastAudit, ...]:
    """The latest audit of every target, unless it was not carried out; newest first."""
    latest: dict[str, int] = {}
    for entry in entries:
        for target in entry.audited:
            latest.pop(target, None)
            latest[target] = entry.round
        if entry.struck is not None:
            latest.pop(entry.struck, None)
    return tuple(PastAudit(f"{number} {target}", target, number) for target, number in reversed(latest.items()))


def _override(programme: Programme, fields: FormData, reason: str, independent: bool) -> str:
    targets = texts(fields, "target")
    if not targets:
        raise DeniableError("Choose at least one target.")
    entry = programme.override(targets, reason, independent=independent)
    return f"ordered audits by hand (entry {entry.number})"


def _targets(programme: Programme, fields: FormData, reason: str, independent: bool) -> str:
    added = [name.strip() for name in text(fields, "added").splitlines() if name.strip()]
    removed = texts(fields, "target")
    if not added and not removed:
        raise DeniableError("Name at least one target that joins or leaves.")
    entry = programme.change_targets(reason, independent=independent, add=added, remove=removed)
    return f"changed the list of targets (entry {entry.number})"


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
