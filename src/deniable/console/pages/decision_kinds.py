"""The kinds of decision that the office takes by itself, outside the draw: what a form says of each, what it needs, and
how it is recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData

from deniable.console.security import text, texts
from deniable.errors import DeniableError
from deniable.languages.terms import Terms
from deniable.programme.programme import Programme
from deniable.programme.transcript.decision import Decision
from deniable.programme.transcript.entries import Override, Renamed, Skip, Targets
from deniable.programme.transcript.outcomes import NotCarriedOut
from deniable.programme.transcript_copies import NotKeptError


@dataclass(frozen=True)
class Kind:
    """Its words have places for the programme's terms, and those of the log for the round."""

    title: str
    lead: str
    entry: type[Decision]
    read: Callable[[Programme, FormData], dict[str, Any]]
    """What the form says, as the entry's own fields."""
    write: Callable[[Programme, dict[str, Any], str, bool], int]
    """Records it; returns the number of its entry."""
    wish: str
    """What a person asks for, in the activity log, after "asked to"."""
    deed: str
    """What the log says when it is recorded."""
    always_two: bool = False
    """Whether a second person confirms it even if it has nothing to do with reports."""


@dataclass(frozen=True)
class Asked:
    """A decision as a form describes it."""

    kind: Kind
    own: dict[str, Any]
    reason: str
    independent: bool
    """Whether the office declares that it was not connected with any report."""

    @property
    def needs_two(self) -> bool:
        """Whether a second person confirms it: an order, and everything by which the promise is lost."""
        return self.kind.always_two or not self.independent

    def foreseen(self, programme: Programme) -> Decision:
        """The entry as it would be recorded now; refused where it cannot be."""
        return programme.foreseen_decision(self.kind.entry, self.reason, independent=self.independent, **self.own)

    def record(self, programme: Programme) -> int:
        """Returns the number of its entry."""
        try:
            return self.kind.write(programme, self.own, self.reason, self.independent)
        except NotKeptError:  # the transcript's page says so
            return programme.status().entries


def asked_in(programme: Programme, kind: str, fields: FormData) -> Asked:
    """Refused where the form does not say enough."""
    independent = text(fields, "independent")
    if independent not in ("yes", "no") and kind == "not-carried-out":
        raise DeniableError("Say whether you stayed away because of a report.")
    if independent not in ("yes", "no"):
        raise DeniableError("Say whether this decision was connected with any report.")
    found = KINDS[kind]
    return Asked(found, found.read(programme, fields), text(fields, "reason"), independent == "yes")


def wish_of(kind: str, terms: Terms, round_: int) -> str:
    """Made in this round."""
    return KINDS[kind].wish.format(terms=terms, round=round_)


def deed_of(kind: str, terms: Terms, round_: int) -> str:
    return KINDS[kind].deed.format(terms=terms, round=round_)


def _override(programme: Programme, fields: FormData) -> dict[str, Any]:
    targets = tuple(dict.fromkeys(texts(fields, "target")))
    if not targets:
        raise DeniableError(f"Choose at least one {programme.parameters.terms.target}.")
    return {"audits": targets}


def _order(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> int:
    return programme.override(own["audits"], reason, independent=independent).number


def _targets(programme: Programme, fields: FormData) -> dict[str, Any]:
    added = [name.strip() for name in text(fields, "added").splitlines() if name.strip()]
    removed = list(dict.fromkeys(texts(fields, "target")))
    if not added and not removed:
        raise DeniableError(f"Name at least one {programme.parameters.terms.target} that joins or leaves.")
    return {"added": added, "removed": removed}


def _change_targets(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> int:
    return programme.change_targets(reason, independent=independent, add=own["added"], remove=own["removed"]).number


def _new_name(programme: Programme, fields: FormData) -> dict[str, Any]:
    targets = texts(fields, "target")
    if len(targets) != 1:
        raise DeniableError(f"Choose the {programme.parameters.terms.target} that gets another name.")
    return {"target": targets[0], "name": text(fields, "new_name")}


def _rename(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> int:
    return programme.rename_target(own["target"], own["name"], reason, independent=independent).number


def _which_audit(programme: Programme, fields: FormData) -> dict[str, Any]:
    number, _, target = text(fields, "audit").partition(" ")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise DeniableError(f"Choose the {programme.parameters.terms.audit} that did not take place.")
    return {"of": int(number), "target": target}


def _not_carried_out(programme: Programme, own: dict[str, Any], reason: str, independent: bool) -> int:
    return programme.not_carried_out(own["of"], own["target"], reason, independent=independent).number


def _which_round(programme: Programme, fields: FormData) -> dict[str, Any]:
    """With a commitment that stands for the one to come."""
    status = programme.status()
    if text(fields, "round") != str(status.open_round):
        raise DeniableError("This round is closed already; nothing was changed.")
    if not status.overdue:
        raise DeniableError("A round can be skipped when it is due, and not before.")
    return {"commitment": "0" * 64, "late": status.late}


def _skip(programme: Programme, _: dict[str, Any], reason: str, independent: bool) -> int:
    return programme.skip(reason, independent=independent).entry


KINDS = {
    "override": Kind(
        "Order {terms.an_audit} by hand",
        "You choose the {terms.target}, and not the draw. Next you see what the order does. Another person must then "
        "confirm it, if there is one who can.",
        Override,
        _override,
        _order,
        wish="order {terms.an_audit} by hand",
        deed="ordered {terms.an_audit} by hand",
        always_two=True,
    ),
    "targets": Kind(
        "Let {terms.targets} join or leave",
        "The change counts from this round on. The reports about {terms.targets} that leave are deleted.",
        Targets,
        _targets,
        _change_targets,
        wish="change the list of {terms.targets}",
        deed="changed the list of {terms.targets}",
    ),
    "rename": Kind(
        "Rename {terms.a_target}",
        "The {terms.target} has another name from this round on. The reports about it stay counted.",
        Renamed,
        _new_name,
        _rename,
        wish="rename {terms.a_target}",
        deed="renamed {terms.a_target}",
    ),
    "not-carried-out": Kind(
        "Record that {terms.an_audit} did not take place",
        "The record still says that the {terms.target} was selected. The reports about it stay deleted.",
        NotCarriedOut,
        _which_audit,
        _not_carried_out,
        wish="record that {terms.an_audit} did not take place",
        deed="recorded that {terms.an_audit} did not take place",
    ),
    "skip": Kind(
        "Skip this round",
        "The round is closed without a draw. Its reports stay counted and go on into the next round.",
        Skip,
        _which_round,
        _skip,
        wish="skip round {round}",
        deed="skipped round {round}",
    ),
}
