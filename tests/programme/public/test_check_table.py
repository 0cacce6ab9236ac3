"""Who can check what: a cell for every kind of programme."""

import re
from itertools import pairwise

import pytest
from tests.programme.public.published import RECIPIENT, made

from deniable.cli.programme import Commands
from deniable.languages.language import Terms
from deniable.languages.voice import plain
from deniable.message import noted
from deniable.programme.public.check_table import CHECKS, Check, Shown, told


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.what.text[:30])
def test_witnesses_and_values_take_nothing_away(check: Check) -> None:
    """What any reader can check does not become what no one can."""
    for less, more in pairwise([check.alone, check.with_value, check.with_witnesses]):
        assert not (less.to.text.startswith("any reader") and more.to.text.startswith("no one"))


def test_the_cell_of_a_programme() -> None:
    alone, value, witnesses = (Shown(noted(to)) for to in ("alone", "value", "witnesses"))
    check = Check(noted("what"), alone, value, witnesses)
    assert check.of(values=False, witnesses=False) == alone
    assert check.of(values=True, witnesses=False) == value
    assert check.of(values=True, witnesses=True) == witnesses
    assert check.of(values=False, witnesses=True) == alone  # witnesses of what needs a value


def test_witnesses_help_a_programme_without_public_values() -> None:
    readers, any_reader = Shown(noted("readers")), Shown(noted("any reader"), "verify --witness")
    check = Check(noted("what"), readers, readers, any_reader)
    assert check.of(values=False, witnesses=True) == any_reader


def test_without_an_oversight_body_it_checks_nothing() -> None:
    say = plain()
    overseen, alone = (told(made(oversight=recipient), say) for recipient in (RECIPIENT, None))
    assert any("oversight body" in row.to for row in overseen)
    assert not any("oversight" in row.to + row.command for row in alone)
    assert [row.what for row in overseen] == [row.what for row in alone]


def test_the_claims_have_the_offices_words() -> None:
    claims = [row.what for row in told(made(terms=Terms("visit", "site")), made(terms=Terms("visit", "site")).voice())]
    assert any(claim.startswith("Each visit") for claim in claims)
    assert not any("audit" in claim for claim in claims)


def test_each_command_exists() -> None:
    named = {re.split(" --", shown.by)[0] for check in CHECKS for shown in check[1:] if shown.by}
    assert {name.split()[0] for name in named} <= Commands.listed.keys()
