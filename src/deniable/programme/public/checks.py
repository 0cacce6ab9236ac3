"""Who can check what of a programme: the rows of one table, for the public page and the documentation."""

from typing import NamedTuple


class Shown(NamedTuple):
    """To whom something is shown, and by which command."""

    to: str
    by: str = ""
    """What follows `deniable programme`; empty where no command shows it."""

    @property
    def words(self) -> str:
        """As one cell of a table in Markdown."""
        return f"{self.to}, by `{self.by}`" if self.by else self.to


class Check(NamedTuple):
    """One claim, and to whom it is shown in a programme that draws without public values, in one that draws with them,
    and in one that witnesses watch as well.
    """

    what: str
    alone: Shown
    with_value: Shown
    with_witnesses: Shown

    def of(self, *, values: bool, witnesses: bool) -> Shown:
        """In a programme with public values or without, with witnesses or without."""
        shown = self.with_value if values else self.alone
        needs_value = self.with_value != self.alone
        return self.with_witnesses if witnesses and (values or not needs_value) else shown


def _always(what: str, to: str, by: str = "") -> Check:
    return Check(what, *3 * [Shown(to, by)])


NOT_HERE = ("there is none", "no round is frozen")
"""What stands in place of a reader where a programme has nothing of the kind."""
_REPLAY = "oversight replay"
_WITNESSED = "verify --witness"
_FORESEEN = (
    Shown("no one"),
    Shown("the oversight body, with a copy from before the value was out", _REPLAY),
    Shown("the oversight body, where witnesses saw the round frozen in time", _REPLAY),
)

CHECKS: tuple[Check, ...] = (
    Check(
        "nothing was changed, left out or added since a copy or a fingerprint was taken",
        Shown("any reader who has one", "verify --against"),
        Shown("any reader who has one", "verify --against"),
        Shown("any reader, as far as witnesses countersigned", _WITNESSED),
    ),
    _always("the holder of the signing key wrote it", "any reader", "verify"),
    _always("each audit was allowed by the public rules; no round is overdue today", "any reader", "verify"),
    Check(
        "rounds were closed when the entries say, and seeds fixed before their rounds",
        Shown("readers who took a copy soon after each due date; to others it is the office's word"),
        Shown("readers who took a copy soon after each due date; to others it is the office's word"),
        Shown("any reader", _WITNESSED),
    ),
    Check(
        "the public value is genuine",
        Shown(NOT_HERE[0]),
        *2 * [Shown("any reader, where it is drand's; the people who saw the throw, where it was thrown", "verify")],
    ),
    Check(
        "what a round is drawn from was fixed before its public value was out",
        Shown(NOT_HERE[0]),
        Shown("readers who took a copy when it was frozen, before the value was out", "verify --against"),
        Shown("any reader", _WITNESSED),
    ),
    Check(
        "every frozen round was drawn, and with its public value",
        Shown(NOT_HERE[1]),
        *2 * [Shown("any reader", "verify")],
    ),
    Check(
        "each audit follows from the counts the office says it had, from the seed it committed to and from the public "
        "value",
        Shown("the oversight body; there is no public value", _REPLAY),
        *2 * [Shown("the oversight body", _REPLAY)],
    ),
    Check("the office did not choose a seed by what it would draw", *_FORESEEN),
    Check("the office did not know a draw while it could change the reports, or invent one to change it", *_FORESEEN),
    _always("the counts are the reports that came in", "no one by computation; the oversight body can compare with "
            "the hotline"),
    Check(
        "the office shows all readers the same transcript",
        Shown("readers who compare fingerprints"),
        Shown("readers who compare fingerprints"),
        Shown("any reader who trusts the witnesses", _WITNESSED),
    ),
    _always("reasons and declarations are true; audits took place as recorded", "no one by computation"),
)  # fmt: skip
