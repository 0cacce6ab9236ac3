"""What an office calls its audits and its targets: public words, chosen from a list when a programme starts."""

from dataclasses import dataclass
from typing import Any, Self

from deniable.errors import DeniableError

AUDIT_FORMS = {
    "audit": ("audits", "an audit", "audited"),
    "inspection": ("inspections", "an inspection", "inspected"),
    "visit": ("visits", "a visit", "visited"),
}
TARGET_FORMS = {
    "target": ("targets", "a target"),
    "employer": ("employers", "an employer"),
    "workplace": ("workplaces", "a workplace"),
    "organisation": ("organisations", "an organisation"),
    "company": ("companies", "a company"),
    "site": ("sites", "a site"),
}


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
        _check("an audit", self.audit, AUDIT_FORMS)
        _check("a target", self.target, TARGET_FORMS)

    @property
    def audits(self) -> str:
        return AUDIT_FORMS[self.audit][0]

    @property
    def an_audit(self) -> str:
        return AUDIT_FORMS[self.audit][1]

    @property
    def audited(self) -> str:
        return AUDIT_FORMS[self.audit][2]

    @property
    def targets(self) -> str:
        return TARGET_FORMS[self.target][0]

    @property
    def a_target(self) -> str:
        return TARGET_FORMS[self.target][1]

    def to_dict(self) -> dict[str, str]:
        """As programme.json has them."""
        return {"audit": self.audit, "target": self.target}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The terms that `to_dict` wrote."""
        if stored.keys() != {"audit", "target"}:
            raise DeniableError("terms must have the fields audit and target")
        return cls(**stored)


def _check(what: str, term: object, known: dict[str, Any]) -> None:
    if not isinstance(term, str) or term not in known:
        words = list(known)
        raise DeniableError(f"the word for {what} must be {', '.join(words[:-1])} or {words[-1]}, got {term!a}")


DEFAULT_TERMS = Terms()
