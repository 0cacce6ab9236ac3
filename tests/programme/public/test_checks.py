"""Who can check what: a cell for every kind of programme."""

import re
from itertools import pairwise

import pytest

from deniable.cli.programme import Commands
from deniable.programme.public.checks import CHECKS, Check, Shown


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.what[:30])
def test_witnesses_and_values_take_nothing_away(check: Check) -> None:
    """What any reader can check does not become what no one can."""
    for less, more in pairwise([check.alone, check.with_value, check.with_witnesses]):
        assert not (less.to.startswith("any reader") and more.to.startswith("no one"))


def test_the_cell_of_a_programme() -> None:
    check = Check("what", Shown("alone"), Shown("value"), Shown("witnesses"))
    assert check.of(values=False, witnesses=False).to == "alone"
    assert check.of(values=True, witnesses=False).to == "value"
    assert check.of(values=True, witnesses=True).to == "witnesses"
    assert check.of(values=False, witnesses=True).to == "alone"  # witnesses of what needs a value


def test_witnesses_help_a_programme_without_public_values() -> None:
    check = Check("what", Shown("readers"), Shown("readers"), Shown("any reader", "verify --witness"))
    assert check.of(values=False, witnesses=True).words == "any reader, by `verify --witness`"


def test_each_command_exists() -> None:
    named = {re.split(" --", shown.by)[0] for check in CHECKS for shown in check[1:] if shown.by}
    assert {name.split()[0] for name in named} <= Commands.listed.keys()
