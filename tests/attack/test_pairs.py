"""Pairs of streams: adjacent or moved, and the list of hard ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.attack import (
    EVERYTHING,
    OWN_TARGET,
    Pair,
    View,
    hard_pairs,
    moved_pairs,
    moved_report,
    report_at,
    rivals_needed,
)
from deniable.attack.pairs import STREAMS, moments
from deniable.streams import is_adjacent

QUIET = np.zeros((4, 3), dtype=np.int64)


@given(st.integers(2, 6), st.integers(1, 40))
def test_hard_pairs_are_adjacent_with_names_of_their_own(n_targets: int, horizon: int) -> None:
    pairs = hard_pairs(n_targets, horizon)
    assert len({pair.name for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert is_adjacent(pair.filed, pair.not_filed)
        assert pair.filed.sum() == pair.not_filed.sum() + 1
        assert pair.filed[pair.round, pair.target] == pair.not_filed[pair.round, pair.target] + 1
        assert (pair.rounds, pair.n_targets) == (horizon, n_targets)
    assert {pair.name.rsplit(", ", 1)[0] for pair in pairs} >= set(STREAMS) - {"just audited"}
    assert all(pair.moved and (pair.filed - pair.not_filed).sum() == 0 for pair in moved_pairs(n_targets, horizon))


def test_every_stream_is_what_its_words_say() -> None:
    pairs = {pair.name: pair.not_filed for pair in hard_pairs(3, 10)}
    assert not pairs["quiet, middle"].any()
    assert pairs["tie, middle"][5].tolist() == [1, 1, 0]
    assert pairs["runner-up, middle"][5].tolist() == [0, 1, 0]
    assert pairs["rival, late"].sum(axis=0).tolist() == [0, 10, 0]
    assert pairs["busy rival, early"].sum(axis=0).tolist() == [0, 100, 0]
    assert pairs["just audited, middle"][4].tolist() == [50, 0, 0]
    assert not pairs["sparse, early"][:, 0].any()
    busy = hard_pairs(3, 1000)[-1].not_filed.mean(axis=0)
    assert busy == pytest.approx([0.2, 1.0, 0.2], abs=0.1)


def test_several_rivals_are_all_alike_and_follow_the_target() -> None:
    pairs = {pair.name: pair for pair in hard_pairs(4, 10, rivals=2, target=3)}
    assert {pair.target for pair in pairs.values()} == {3}
    assert pairs["tie, middle"].not_filed[5].tolist() == [1, 1, 0, 1]
    assert pairs["runner-up, middle"].not_filed[5].tolist() == [1, 1, 0, 0]
    assert pairs["busy rival, early"].not_filed.sum(axis=0).tolist() == [100, 100, 0, 0]
    assert pairs["just audited, middle"].not_filed[4].tolist() == [0, 0, 0, 50]
    moved = moved_pairs(4, 10, rivals=2, target=3)[0]
    assert (moved.target, moved.not_filed[0].tolist()) == (3, [1, 0, 0, 0])


def test_rivals_that_can_keep_a_target_waiting() -> None:
    """With as many busy rivals, greedy never audits the target; with one less it must."""
    for audits, cooldown in ((1, 0), (3, 0), (1, 2), (2, 1)):
        greedy = dn.Greedy(8, rules=dn.Rules(cooldown=cooldown))
        needed = rivals_needed(8, audits, cooldown)
        for rivals, waits in ((needed, True), (needed - 1, False)):
            stream = np.zeros((12, 8), dtype=np.int64)
            stream[:, 1 : 1 + rivals] = 10
            stream[0, 0] = 1
            assert (0 not in dn.simulate(greedy, stream, audits=audits).audits) == waits
    assert rivals_needed(3, audits=3) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rivals": 3}, "rivals must be fewer than the 3 targets, got 3"),
        ({"rivals": 0}, "rivals must be a whole number of at least 1"),
        ({"target": 3}, r"target must be in 0\.\.2, got 3"),
        ({"target": -1}, "target must be a whole number of at least 0"),
    ],
)
def test_rivals_and_targets_that_are_not_there(options: dict[str, int], words: str) -> None:
    for pairs in (hard_pairs, moved_pairs):
        with pytest.raises(dn.DeniableError, match=words):
            pairs(3, 8, **options)


def test_the_seed_decides_about_the_random_streams_alone() -> None:
    same, other = ({pair.name: pair.filed.tolist() for pair in hard_pairs(5, 50, seed)} for seed in (0, 1))
    assert {name.split(",")[0] for name in same if same[name] != other[name]} == {"sparse", "steady"}


def test_few_rounds_have_few_moments() -> None:
    assert moments(1) == {"early": 0}
    assert moments(2) == {"early": 0, "middle": 1}
    assert moments(1000) == {"early": 0, "middle": 500, "late": 899}


def test_streams_of_a_pair_cannot_be_changed() -> None:
    pair = report_at("quiet", QUIET, 1, 2)
    with pytest.raises(ValueError, match="read-only"):
        pair.filed[0, 0] = 7
    assert "filed" not in repr(pair)  # counts are not shown


@pytest.mark.parametrize(
    ("not_filed", "filed", "moved", "words"),
    [
        (QUIET, QUIET, False, "streams are not adjacent: they are the same"),
        (QUIET, QUIET + 1, False, "streams are not adjacent: they differ in more than one report"),
        (QUIET, QUIET[:3], False, "streams are not adjacent: both must have the same rounds and targets"),
        (QUIET - 1, QUIET, False, "report counts must not be negative"),
        (QUIET, QUIET, True, "streams with a moved report must each have one report that the other lacks"),
        (QUIET, QUIET[:, :2], True, "streams with a moved report must have the same rounds and targets"),
    ],
)
def test_what_is_no_pair_is_refused(not_filed: object, filed: object, moved: bool, words: str) -> None:
    with pytest.raises(dn.DeniableError, match=words):
        Pair("pair", not_filed, filed, moved)  # type: ignore[arg-type]


def test_the_report_must_be_in_the_stream_that_is_called_filed() -> None:
    pair = report_at("quiet", QUIET, 0)
    with pytest.raises(dn.DeniableError, match="filed must be the stream with the report"):
        Pair("wrong way round", pair.filed, pair.not_filed)


def test_views() -> None:
    pair = report_at("quiet", QUIET, 1, target=2)
    audits = np.array([[2, 0, 1, 2]])
    assert EVERYTHING.of_audits(pair, audits).tolist() == [[2, 0, 1, 2]]
    assert OWN_TARGET.of_audits(pair, audits).tolist() == [[1, 0, 0, 1]]
    several = np.array([[[2, 0], [0, 1], [1, 2], [1, 0]]])
    assert EVERYTHING.of_audits(pair, several).tolist() == several.tolist()
    assert OWN_TARGET.of_audits(pair, several).tolist() == [[1, 0, 1, 0]]
    assert View(rounds=2).of_pair(pair).rounds == 2
    assert (EVERYTHING.name, OWN_TARGET.name, View(rounds=2).name) == ("everything", "own target", "first 2 rounds")
    for rounds in (1, 5):
        with pytest.raises(dn.DeniableError, match=r"a prefix must have 2\.\.4 rounds"):
            View(rounds=rounds).of_pair(pair)


def test_a_moved_report_names_the_first_person_as_filed() -> None:
    pair = moved_report("quiet", QUIET, 1, (2, 0))
    assert (pair.round, pair.target) == (1, 2)
    assert pair.not_filed[1].tolist() == [1, 0, 0]
