"""What an office calls its audits and targets: a choice from a list, in the forms that sentences need."""

import dataclasses

import pytest

from deniable.errors import DeniableError
from deniable.languages.language import AUDIT_TERMS, TARGET_TERMS, Terms

FORMS = ("audit", "audits", "an_audit", "audited", "target", "targets", "a_target")


def test_without_a_choice_they_are_audits_of_targets() -> None:
    forms = [getattr(Terms(), form) for form in FORMS]
    assert forms == ["audit", "audits", "an audit", "audited", "target", "targets", "a target"]


@pytest.mark.parametrize("audit", AUDIT_TERMS)
@pytest.mark.parametrize("target", TARGET_TERMS)
def test_every_choice_has_every_form(audit: str, target: str) -> None:
    terms = Terms(audit, target)
    for one, several, single in ((audit, terms.audits, terms.an_audit), (target, terms.targets, terms.a_target)):
        assert several == (f"{one[:-1]}ies" if one.endswith("y") else f"{one}s")
        assert single == f"{'an' if one[0] in 'aeio' else 'a'} {one}"
    assert terms.audited.endswith("ed")
    assert all(getattr(terms, form).replace(" ", "").isalpha() for form in FORMS)
    assert Terms.from_dict(terms.to_dict()) == terms


@pytest.mark.parametrize("unknown", ["raid", "", "Audit", "<b>", None, ["audit"], {"audit"}, 1])
def test_another_word_is_refused_with_those_there_are(unknown: object) -> None:
    with pytest.raises(DeniableError, match="an audit must be audit, inspection or visit, got"):
        Terms(audit=unknown)  # type: ignore[arg-type]
    with pytest.raises(DeniableError, match="a target must be target, employer, workplace, organisation, company or"):
        Terms(target=unknown)  # type: ignore[arg-type]


def test_terms_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Terms().audit = "visit"  # type: ignore[misc]


@pytest.mark.parametrize("stored", [{}, {"audit": "audit"}, {"audit": "audit", "target": "site", "reporter": "worker"}])
def test_terms_have_both_words_and_no_other(stored: dict[str, str]) -> None:
    with pytest.raises(DeniableError, match="the fields audit and target"):
        Terms.from_dict(stored)
