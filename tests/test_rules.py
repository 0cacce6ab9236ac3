import itertools
from functools import partial

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import BoolArray
from deniable.rules import History, Rules, no_history, record_audits


def test_what_audits_orders_joins_and_leaves_do() -> None:
    start = no_history(1, 3)
    history = start.after(masked(3, 1)).after_order(masked(3, 0, 1)).after_join(2).after(masked(5, 4))
    history = history.after_leave(masked(5, 1))
    assert history.rounds == 2
    assert history.last.tolist() == [[1, 1, 0, 1, 2]]
    assert history.since.tolist() == [[1, 1, 2, 1, 0]]
    assert history.audits.tolist() == [[1, 2, 0, 0, 1]]
    assert history.present.tolist() == [[True, False, True, True, True]]
    assert start.rounds == start.last.sum() == start.audits.sum() == 0
    assert start.present.all()


def test_audits_in_place_are_those_of_a_mask() -> None:
    """As a run of very many targets records them."""
    history = no_history(1, 4).after(masked(4, 3))
    changed = history.copied()
    record_audits(changed, (0, 2))
    record_audits(changed, (0, 0))
    expected = history.after_order(masked(4, 0, 2))
    assert changed.last.tolist() == expected.last.tolist()
    assert changed.audits.tolist() == expected.audits.tolist()
    assert history.audits.tolist() == [[0, 0, 0, 1]]


def masked(n_targets: int, *targets: int) -> BoolArray:
    return np.isin(np.arange(n_targets), targets)[None]


def play(rules: Rules, n_targets: int, audits: int, rounds: int, seed: int) -> list[BoolArray]:
    """Rounds of uniform draws among the eligible; returns who was audited in each, (C,)."""
    rng = np.random.default_rng(seed)
    history, audited = no_history(1, n_targets), []
    for _ in range(rounds):
        chosen = np.zeros((1, n_targets), dtype=np.bool_)
        for _ in range(audits):
            chosen[0, rng.choice(np.flatnonzero(rules.eligible(history, chosen, audits)[0]))] = True
        history = history.after(chosen)
        audited.append(chosen[0])
    return audited


@pytest.mark.parametrize("audits", [1, 2, 3])
@pytest.mark.parametrize("n_targets", range(2, 8))
def test_coverage_is_always_met(n_targets: int, audits: int) -> None:
    """For every max_gap that can be met at all: each window of max_gap rounds audits every target."""
    if audits > n_targets:
        pytest.skip("more audits than targets")
    for max_gap in range(-(-n_targets // audits), n_targets + 2):
        for cooldown in (0, 1, 3):
            rounds = np.array(play(Rules(max_gap, cooldown), n_targets, audits, 60, seed=max_gap))
            windows = np.lib.stride_tricks.sliding_window_view(rounds, max_gap, axis=0)
            assert windows.any(axis=-1).all()


def test_the_draws_of_a_round_have_the_rules_of_each_draw_alone() -> None:
    """What is counted once a round, less the targets drawn since, is what the definition counts anew."""
    rng, rules, audits, decided = np.random.default_rng(0), Rules(max_gap=4), 3, 0
    history = no_history(5, 11)
    for _ in range(30):
        in_round, chosen = rules.in_round(history, audits), np.zeros((5, 11), dtype=np.bool_)
        for drawn in range(audits):
            eligible = in_round.eligible(chosen)
            for run in range(5):
                open_ = np.flatnonzero(~chosen[run])
                remaining = 4 - history.since[run, open_]
                tight = [m for m in range(1, 5) if (remaining <= m).sum() == audits * m - drawn]
                due = open_[remaining <= tight[0]] if tight else open_
                decided += len(due) < len(open_)
                assert np.flatnonzero(eligible[run]).tolist() == due.tolist()
                chosen[run, rng.choice(due)] = True
        history = history.after(chosen)
    assert decided > 50


@pytest.mark.parametrize(("n_targets", "audits", "max_gap"), [(3, 1, 2), (5, 2, 2), (7, 3, 2)])
def test_coverage_that_cannot_be_met_is_refused_at_once(n_targets: int, audits: int, max_gap: int) -> None:
    history = no_history(1, n_targets)
    with pytest.raises(dn.DeniableError, match=f"gap, {max_gap}, cannot be kept with so few audits a round, {audits}"):
        Rules(max_gap).eligible(history, np.zeros((1, n_targets), dtype=np.bool_), audits)
    with pytest.raises(dn.DeniableError, match=f"at least {max_gap + 1} rounds for {n_targets} targets"):
        Rules(max_gap).check_reach(n_targets, audits)


@pytest.mark.parametrize("audits", [1, 2, 3])
def test_the_reach_of_a_max_gap_is_what_the_first_round_refuses(audits: int) -> None:
    """`check_reach` says before the first round what `eligible` would say in it."""
    for n_targets in range(max(2, audits), 9):
        for max_gap in range(1, 9):
            said = []
            for check in (
                partial(Rules(max_gap).check_reach, n_targets, audits),
                partial(Rules(max_gap).eligible, no_history(1, n_targets), np.zeros((1, n_targets), np.bool_), audits),
            ):
                try:
                    check()
                    said.append("met")
                except dn.DeniableError:
                    said.append("not met")
            assert said[0] == said[1], (n_targets, max_gap)
    Rules().check_reach(100, audits)


def test_a_missed_target_is_refused() -> None:
    history = no_history(1, 3)
    for _ in range(4):
        history = history.after(np.array([[True, False, False]]))
    with pytest.raises(dn.DeniableError, match="4 rounds without an audit already"):
        Rules(max_gap=4).eligible(history, np.zeros((1, 3), dtype=np.bool_), 1)


def naive_due(since: list[int], max_gap: int, audits: int, drawn: int) -> set[int] | None:
    """The targets that must come next, by trying every m, as theory states it; None where all may."""
    for m in range(1, max_gap + 1):
        due = {c for c, rounds in enumerate(since) if max_gap - rounds <= m}
        if len(due) == audits * m - drawn:
            return due
    return None


def test_eligible_targets_are_those_of_the_smallest_tight_horizon() -> None:
    for max_gap, audits in [(3, 1), (4, 1), (3, 2)]:
        for since in itertools.product(range(max_gap), repeat=4):
            history = History(
                max_gap, max_gap - np.array([since]), np.ones((1, 4), dtype=np.int64), np.ones((1, 4), dtype=np.bool_)
            )
            try:
                eligible = Rules(max_gap).eligible(history, np.zeros((1, 4), dtype=np.bool_), audits)[0]
            except dn.DeniableError:
                counts = [sum(max_gap - s <= m for s in since) for m in range(1, max_gap + 1)]
                assert any(count > audits * m for m, count in enumerate(counts, start=1))
                continue
            due = naive_due(list(since), max_gap, audits, 0)
            assert set(np.flatnonzero(eligible)) == (due if due is not None else {0, 1, 2, 3})


def test_cooldown_is_kept_where_it_can_be() -> None:
    """C >= k (g + 1) targets: nobody is audited twice within g rounds."""
    for audits, cooldown in [(1, 2), (2, 1), (2, 3)]:
        n_targets = audits * (cooldown + 1)
        rounds = np.array(play(Rules(cooldown=cooldown), n_targets, audits, 80, seed=1))
        for t in range(1, len(rounds)):
            assert not (rounds[t] & rounds[max(0, t - cooldown) : t].any(axis=0)).any()


def test_cooldown_is_ignored_where_nobody_would_be_left() -> None:
    rounds = np.array(play(Rules(cooldown=5), 2, 1, 20, seed=0))
    assert (rounds.sum(axis=1) == 1).all()


def test_never_audited_targets_are_not_cooled() -> None:
    eligible = Rules(cooldown=3).eligible(no_history(1, 3), np.zeros((1, 3), dtype=np.bool_), 1)
    assert eligible.all()


@pytest.mark.parametrize(("max_gap", "cooldown"), [(0, 0), (-1, 0), (2.5, 0), (None, -1), (True, 0)])
def test_bad_rules(max_gap: int | None, cooldown: int) -> None:
    with pytest.raises(dn.DeniableError, match="must be a whole number of at least"):
        Rules(max_gap, cooldown)


def test_rules_are_plain_and_bounded() -> None:
    assert repr(Rules(np.int8(5))) == repr(Rules(5))  # type: ignore[arg-type]
    with pytest.raises(dn.DeniableError, match="max_gap must be at most 1,000,000 rounds"):
        Rules(10**11)


def test_rows_of_a_batch_have_their_own_rules() -> None:
    """Row 0 has a target due now, row 1 has none."""
    last = np.array([[0, 2, 1], [2, 1, 2]])
    history = History(3, last, np.ones((2, 3), dtype=np.int64), np.ones((2, 3), dtype=np.bool_))
    eligible = Rules(max_gap=4).eligible(history, np.zeros((2, 3), dtype=np.bool_), 1)
    assert eligible.tolist() == [[True, False, False], [True, True, True]]
