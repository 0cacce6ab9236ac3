"""The kinds of decision that the office takes by itself, outside the draw: what a form says of each, what it needs, and
how it is recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData

from deniable.console.pages.common import number_in, recorded
from deniable.console.security import text, texts
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.programme import Programme
from deniable.programme.transcript.decision import Decision
from deniable.programme.transcript.entries import Override, Renamed, Skip, Targets
from deniable.programme.transcript.outcomes import NotCarriedOut


@dataclass(frozen=True)
class Kind:
    title: Message
    lead: Message
    entry: type[Decision]
    read: Callable[[Programme, FormData], dict[str, Any]]
    """What the form says, as the entry's own fields."""
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
        return programme.foresight.decision(self.kind.entry, self.reason, independent=self.independent, **self.own)

    def record(self, programme: Programme, foreseen: Decision) -> int:
        """As it was foreseen; refused where another round is open by now. Returns the number of its entry."""
        if isinstance(foreseen, Skip):
            round_ = foreseen.round
            return recorded(lambda: programme.skip(self.reason, independent=self.independent, round_=round_).entry)
        return recorded(lambda: programme.decide(foreseen).number)


def asked_in(programme: Programme, kind: str, fields: FormData) -> Asked:
    """Refused where the form does not say enough."""
    independent = text(fields, "independent")
    if independent not in ("yes", "no") and kind == "not-carried-out":
        raise DeniableError("Say whether you stayed away because of a report.")
    if independent not in ("yes", "no"):
        raise DeniableError("Say whether this decision was connected with any report.")
    found = KINDS[kind]
    return Asked(found, found.read(programme, fields), text(fields, "reason"), independent == "yes")


def _override(programme: Programme, fields: FormData) -> dict[str, Any]:
    targets = tuple(dict.fromkeys(texts(fields, "target")))
    if not targets:
        raise DeniableError("Choose at least one {target_word}.", target_word=programme.parameters.terms.target)
    return {"audits": targets}


def _targets(programme: Programme, fields: FormData) -> dict[str, Any]:
    added = [name.strip() for name in text(fields, "added").splitlines() if name.strip()]
    removed = list(dict.fromkeys(texts(fields, "target")))
    if not added and not removed:
        raise DeniableError(
            "Name at least one {target_word} that joins or leaves.", target_word=programme.parameters.terms.target
        )
    return {"added": added, "removed": removed}


def _new_name(programme: Programme, fields: FormData) -> dict[str, Any]:
    targets = texts(fields, "target")
    if len(targets) != 1:
        raise DeniableError(
            "Choose the {target_word} that gets another name.", target_word=programme.parameters.terms.target
        )
    return {"target": targets[0], "name": text(fields, "new_name")}


def _which_audit(programme: Programme, fields: FormData) -> dict[str, Any]:
    number, _, target = text(fields, "audit").partition(" ")
    of = number_in(number)
    if of is None:
        raise DeniableError(
            "Choose the {audit_word} that did not take place.", audit_word=programme.parameters.terms.audit
        )
    return {"of": of, "target": target}


def _which_round(programme: Programme, fields: FormData) -> dict[str, Any]:
    """With a commitment that stands for the one to come."""
    status = programme.status()
    if text(fields, "round") != str(status.open_round):
        raise DeniableError("This round is closed already; nothing was changed.")
    if status.has_open_round and not status.overdue:
        raise DeniableError("A round can be skipped when it is due, and not before.")
    return {"commitment": "0" * 64, "late": status.late}


KINDS = {
    "override": Kind(
        noted("Order {an_audit} by hand"),
        noted(
            "You choose the {target}, and not the draw. Next you see what the order does. Another person must then "
            "confirm it. If you are the only one who can decide here, you order it alone."
        ),
        Override,
        _override,
        always_two=True,
    ),
    "targets": Kind(
        noted("Let {targets} join or leave"),
        noted("The change counts from this round on. The reports about {targets} that leave are deleted."),
        Targets,
        _targets,
    ),
    "rename": Kind(
        noted("Rename {a_target}"),
        noted("The {target} has another name from this round on. The reports about it stay counted."),
        Renamed,
        _new_name,
    ),
    "not-carried-out": Kind(
        noted("Record that {an_audit} did not take place"),
        noted("The record still says that the {target} was selected. The reports about it stay deleted."),
        NotCarriedOut,
        _which_audit,
    ),
    "skip": Kind(
        noted("Skip this round"),
        noted(
            "The round is closed without a draw. Its reports stay counted and go on into the next round. Skip a round "
            "only if your office cannot make its {audits}, as in a strike, and never because of what was reported."
        ),
        Skip,
        _which_round,
    ),
}
