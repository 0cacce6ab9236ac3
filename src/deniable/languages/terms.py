"""What an office calls its audits and its targets: public words, chosen from a list when a programme starts."""

from dataclasses import dataclass
from typing import Any, Self

from deniable.errors import DeniableError
from deniable.languages.language import english
from deniable.message import one_of

AUDIT_TERMS = ("audit", "inspection", "visit")
TARGET_TERMS = ("target", "employer", "workplace", "organisation", "company", "site")
"""Each language has its own words for them, in the forms that its sentences need: terms.toml."""


@dataclass(frozen=True)
class Terms:
    """The two words, and the forms in which a sentence needs them.

    >>> terms = Terms("inspection", "company")
    >>> f"{terms.an_audit} of {terms.a_target}; {terms.targets} {terms.audited}: 3"
    'an inspection of a company; companies inspected: 3'
    """

    audit: str = "audit"
    target: str = "target"

    def __post_init__(self) -> None:
        _check("an audit", self.audit, AUDIT_TERMS)
        _check("a target", self.target, TARGET_TERMS)

    @property
    def audits(self) -> str:
        return english().forms["audit"][self.audit]["audits"]

    @property
    def an_audit(self) -> str:
        return english().forms["audit"][self.audit]["an_audit"]

    @property
    def audited(self) -> str:
        return english().forms["audit"][self.audit]["audited"]

    @property
    def targets(self) -> str:
        return english().forms["target"][self.target]["targets"]

    @property
    def a_target(self) -> str:
        return english().forms["target"][self.target]["a_target"]

    def to_dict(self) -> dict[str, str]:
        """As programme.json has them."""
        return {"audit": self.audit, "target": self.target}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The terms that `to_dict` wrote."""
        if stored.keys() != {"audit", "target"}:
            raise DeniableError("terms must have the fields audit and target")
        return cls(**stored)


def _check(what: str, term: object, known: tuple[str, ...]) -> None:
    if not isinstance(term, str) or term not in known:
        raise DeniableError(
            "the word for {what} must be {known}, got {term}",
            what=what,
            known=one_of(known),
            term=ascii(term),
        )


DEFAULT_TERMS = Terms()
