"""Who can check what of a programme: the rows of one table, for the public page and the documentation."""

from typing import NamedTuple

from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.parameters import Parameters


class Shown(NamedTuple):
    """To whom something is shown, and by which command."""

    to: Message
    by: str = ""
    """What follows `deniable programme`; empty where no command shows it."""
    without_oversight: Message | None = None
    """To whom in a programme that has named no oversight body, where that makes a difference; no command shows it."""


class Check(NamedTuple):
    """One claim, and to whom it is shown in a programme that draws without public values, in one that draws with them,
    and in one that witnesses watch as well.
    """

    what: Message
    alone: Shown
    with_value: Shown
    with_witnesses: Shown

    def of(self, *, values: bool, witnesses: bool) -> Shown:
        """In a programme with public values or without, with witnesses or without."""
        shown = self.with_value if values else self.alone
        needs_value = self.with_value != self.alone
        return self.with_witnesses if witnesses and (values or not needs_value) else shown


class Told(NamedTuple):
    """A row of the page's table: `command` is empty where there is none, and so is all of `witnessed` where witnesses
    make no difference.
    """

    what: str
    to: str
    command: str
    witnessed: str
    witnessed_command: str


def told(parameters: Parameters, say: Voice) -> tuple[Told, ...]:
    """What can be checked, by whom, and by whom where witnesses countersign the record, if those are others; without
    what there is not in this programme.
    """
    values, rows = parameters.randomness is not None, []
    for one in CHECKS:
        alone, seen = (_here(parameters, one.of(values=values, witnesses=watched)) for watched in (False, True))
        if alone.to not in NOT_HERE:
            others = ("", "") if seen == alone else (say(seen.to), seen.by)
            rows.append(Told(say(one.what), say(alone.to), alone.by, *others))
    return tuple(rows)


def _here(parameters: Parameters, shown: Shown) -> Shown:
    if parameters.oversight or shown.without_oversight is None:
        return shown
    return Shown(shown.without_oversight)


def _always(what: Message, to: Message, by: str = "") -> Check:
    return Check(what, *3 * [Shown(to, by)])


NOT_HERE = (noted("there is none"), noted("no round is frozen"))
"""What stands in place of a reader where a programme has nothing of the kind."""
_REPLAY = "oversight replay"
_WITNESSED = "verify --witness"
_ANY_READER = noted("any reader")
_NO_ONE = noted("no one")
_NO_ONE_HERE = noted("no one here")
_WITH_A_COPY = Shown(noted("any reader who has one"), "verify --against")
_SOON_AFTER = Shown(noted("readers who took a copy soon after each due date; to others it is the office's word"))
_COMPARED = Shown(noted("readers who compare fingerprints"))
_FORESEEN = (
    Shown(_NO_ONE),
    Shown(noted("the oversight body, with a copy from before the value was out"), _REPLAY, _NO_ONE_HERE),
    Shown(noted("the oversight body, where witnesses saw the round frozen in time"), _REPLAY, _NO_ONE_HERE),
)

CHECKS: tuple[Check, ...] = (
    Check(
        noted("Nothing was changed, left out or added since a copy or a fingerprint was taken"),
        _WITH_A_COPY,
        _WITH_A_COPY,
        Shown(noted("any reader, as far as witnesses countersigned"), _WITNESSED),
    ),
    _always(noted("The holder of the signing key wrote it"), _ANY_READER, "verify"),
    _always(
        noted("Each {audit} was allowed by the public rules; no round is overdue today"), _ANY_READER, "verify"
    ),
    Check(
        noted("Rounds were closed when the entries say, and seeds fixed before their rounds"),
        _SOON_AFTER,
        _SOON_AFTER,
        Shown(_ANY_READER, _WITNESSED),
    ),
    Check(
        noted("The public value is genuine"),
        Shown(NOT_HERE[0]),
        *2 * [Shown(
            noted("any reader, where it is drand's; the people who saw the throw, where it was thrown"), "verify"
        )],
    ),
    Check(
        noted("What a round is drawn from was fixed before its public value was out"),
        Shown(NOT_HERE[0]),
        Shown(noted("readers who took a copy when it was frozen, before the value was out"), "verify --against"),
        Shown(_ANY_READER, _WITNESSED),
    ),
    Check(
        noted("Every frozen round was drawn, and with its public value"),
        Shown(NOT_HERE[1]),
        *2 * [Shown(_ANY_READER, "verify")],
    ),
    Check(
        noted("Each {audit} follows from the counts the office says it had, from the seed it committed to and from the "
              "public value"),
        Shown(noted("the oversight body; there is no public value"), _REPLAY, _NO_ONE_HERE),
        *2 * [Shown(noted("the oversight body"), _REPLAY, _NO_ONE_HERE)],
    ),
    Check(noted("The office did not choose a seed by what it would draw"), *_FORESEEN),
    Check(
        noted("The office did not know a draw while it could change the reports, or invent one to change it"),
        *_FORESEEN,
    ),
    Check(
        noted("The counts are the reports that came in"),
        *3 * [Shown(
            noted("no one by computation; the oversight body can compare with the hotline"),
            without_oversight=noted("no one by computation"),
        )],
    ),
    Check(
        noted("The office shows all readers the same transcript"),
        _COMPARED,
        _COMPARED,
        Shown(noted("any reader who trusts the witnesses"), _WITNESSED),
    ),
    _always(
        noted("Reasons and declarations are true; {audits} took place as recorded"), noted("no one by computation")
    ),
)  # fmt: skip
