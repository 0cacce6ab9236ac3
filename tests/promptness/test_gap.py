"""The longest gap in the long run: against every state of small programmes, through the rules that run for real."""

import math

import numpy as np
import pytest
from tests.promptness.chains import Chain

from deniable.promptness import gap
from deniable.promptness.lead import missed_with_claims
from deniable.promptness.waits import OFF, OFF_AT_WORST
from deniable.rules import Rules

SMALL = [
    (2, 1, 4, 0), (3, 1, 3, 0), (3, 1, 5, 0), (4, 1, 4, 0), (4, 1, 6, 0), (4, 1, 6, 1), (4, 1, 5, 2), (4, 1, 5, 3),
    (4, 2, 3, 0), (5, 2, 3, 0), (5, 2, 4, 0), (5, 2, 4, 1), (5, 3, 3, 0), (6, 3, 2, 0), (6, 2, 4, 2), (5, 1, 7, 0),
]  # fmt: skip
"""Targets, audits a round, longest gap, rest."""


def exact(n_targets: int, audits: int, max_gap: int, cooldown: int, v: float) -> float:
    """The mean wait as `quiet_waits` puts it together."""
    missed = missed_with_claims(n_targets - 1 - audits * cooldown, audits, v)[:, None]
    awake, just_awake = gap.exact_rounds(n_targets, audits, max_gap, cooldown, missed)
    resting = audits / n_targets * cooldown
    return float((resting * ((cooldown + 1) / 2 + just_awake) + (1 - resting) * awake)[0])


@pytest.mark.parametrize(("n_targets", "audits", "max_gap", "cooldown"), SMALL)
def test_the_wait_is_that_of_the_chain_of_all_states(n_targets: int, audits: int, max_gap: int, cooldown: int) -> None:
    chain = Chain(n_targets, audits, Rules(max_gap, cooldown))
    law = chain.long_run()
    for v in (1.0, 2.5, 40.0):
        assert exact(n_targets, audits, max_gap, cooldown, v) == pytest.approx(chain.expected_wait(law, v), rel=1e-6)


@pytest.mark.parametrize(("n_targets", "audits", "max_gap", "cooldown"), [(4, 1, 5, 0), (5, 2, 3, 0), (5, 2, 4, 1)])
def test_neither_the_rule_nor_the_rest_can_be_left_out(
    n_targets: int, audits: int, max_gap: int, cooldown: int
) -> None:
    """Negative control: the same check catches the wait of a draw that is free, 1 / (1 - missed)."""
    chain = Chain(n_targets, audits, Rules(max_gap, cooldown))
    free = 1 / (1 - missed_with_claims(n_targets - 1, audits, 2.5)[0])
    assert chain.expected_wait(chain.long_run(), 2.5) != pytest.approx(free, rel=0.01)


@pytest.mark.parametrize(("n_targets", "audits", "max_gap", "cooldown"), SMALL)
def test_in_the_long_run_ages_are_as_without_the_rule_given_that_all_are_below_it(
    n_targets: int, audits: int, max_gap: int, cooldown: int
) -> None:
    """The share of rounds in which a number of targets is due, from that law and from the chain."""
    law = Chain(n_targets, audits, Rules(max_gap, cooldown)).long_run()
    due = np.zeros(audits + 1)
    for ages, chance in law.items():
        due[sum(age == max_gap - 1 for age in ages)] += chance
    assert gap.law_of_claims(n_targets, audits, max_gap, cooldown) == pytest.approx(due, abs=1e-7)


@pytest.mark.parametrize(
    ("n_targets", "audits", "cooldown", "factors"),
    [
        (60, 1, 0, (1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 3)),
        (60, 3, 3, (1.0, 1.05, 1.1, 1.2, 1.5)),
        (40, 8, 0, (1.0, 1.2, 2)),
    ],
)
def test_the_estimate_is_as_near_as_is_said(
    n_targets: int, audits: int, cooldown: int, factors: tuple[float, ...]
) -> None:
    others = n_targets - 1 - audits * cooldown
    weights = (1.0, 1.3, 2.0, 5.0, 20.0, 100.0, 1000.0, math.inf)
    missed = np.stack([missed_with_claims(others, audits, v) for v in weights], axis=1)
    for factor in factors:
        max_gap = math.ceil(factor * n_targets / audits)
        awake, just_awake = gap.exact_rounds(n_targets, audits, max_gap, cooldown, missed)
        resting = audits / n_targets * cooldown
        mean = resting * ((cooldown + 1) / 2 + just_awake) + (1 - resting) * awake
        ratio = gap.estimated_rounds(n_targets, audits, max_gap, cooldown, missed) / mean
        off = OFF if factor >= 1.2 else OFF_AT_WORST
        assert abs(ratio - 1).max() <= off / 100


def test_a_gap_out_of_reach_changes_nothing() -> None:
    assert gap.is_out_of_reach(10, 1, 200, 0)
    assert not gap.is_out_of_reach(10, 1, 100, 0)
    free = 1 / (1 - missed_with_claims(9, 1, 3.0)[0])
    assert exact(10, 1, 200, 0, 3.0) == pytest.approx(free, rel=1e-4)
