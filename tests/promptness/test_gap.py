"""The longest gap in the long run: against every state of small programmes, through the rules that run for real."""

import math

import numpy as np
import pytest
from tests.promptness.chains import Chain

from deniable.arrays import FloatArray
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


def seen_by_every_step(C: int, k: int, max_gap: int, g: int) -> list[FloatArray]:
    """`_log_seen` by its definition: all numbers of new targets in all rounds, each with its own hypergeometric law."""
    row = np.full(C + 1, -np.inf)
    row[k] = 0.0
    rows = [row]
    for b in range(1, max_gap):
        longer = np.full((k + 1, C + 1), -np.inf)
        for v in range(k + 1):
            new = gap._log_new(C, k, k * min(b, g), np.arange(C + 1), v)
            longer[v, v:] = (rows[-1] + new)[: C + 1 - v]
        rows.append(np.logaddexp.reduce(longer, axis=0))
    return rows


@pytest.mark.parametrize(
    ("n_targets", "audits", "max_gap", "cooldown"),
    [*SMALL, (40, 2, 20, 19), (50, 1, 60, 0), (100, 10, 10, 0), (300, 20, 16, 0), (300, 20, 30, 3), (300, 100, 4, 1),
     (700, 300, 5, 0), (9, 2, 3, 0)],
)  # fmt: skip
def test_a_convolution_sees_as_many_targets_as_every_step(
    n_targets: int, audits: int, max_gap: int, cooldown: int
) -> None:
    """Also where so few audits cannot keep the rule."""
    rows = [*gap._log_seen(n_targets, audits, max_gap, cooldown)]
    slow = seen_by_every_step(n_targets, audits, max_gap, cooldown)
    for b, (row, expected) in enumerate(zip(rows, slow, strict=True)):
        least = n_targets - audits * (max_gap - 1 - b)
        can_be = np.isfinite(expected) & (np.arange(n_targets + 1) >= min(least, audits * (b + 1)))
        assert row[can_be] == pytest.approx(expected[can_be], rel=1e-12, abs=1e-11)
        assert not np.isfinite(row[~np.isfinite(expected)]).any()
    law, v = np.zeros(audits + 1), np.arange(audits + 1)
    if audits * max_gap >= n_targets:
        new = gap._log_new(n_targets, audits, audits * cooldown, n_targets - v, v)
        law = np.exp(slow[-2][n_targets - v] + new - slow[-1][n_targets])
    assert gap.law_of_claims(n_targets, audits, max_gap, cooldown) == pytest.approx(law, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(("steep", "long"), [(0.0, 5), (0.01, 700), (3.0, 700)])
def test_what_a_convolution_leaves_out_does_not_show(steep: float, long: int) -> None:
    left, right = (-steep * (np.arange(long, dtype=np.float64) - peak) ** 2 for peak in (long / 3, long / 2))
    every = np.full((long, 2 * long - 1), -np.inf)
    for j in range(long):
        every[j, j : j + long] = left + right[j]
    assert gap.log_convolution(left, right) == pytest.approx(np.logaddexp.reduce(every, axis=0), rel=1e-12)


def test_a_convolution_that_leaves_out_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(gap, "FORGOTTEN", math.log(0.1))
    with pytest.raises(AssertionError):
        test_what_a_convolution_leaves_out_does_not_show(0.01, 700)
