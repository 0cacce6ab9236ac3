"""Which adversary is the strongest, and that those who compute the same thing agree."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.attack.controls import (
    BROKEN_COUNTERS,
    CappedRace,
    DrawsOnTiesAlone,
    OwnRandomRace,
    RaceWithoutReset,
    UniformOffset,
    broken_counter_auditing,
)

import deniable as dn
from deniable.attack import (
    EVERYTHING,
    OWN_TARGET,
    ClosedForm,
    Enumeration,
    View,
    hard_pairs,
    play,
    report_at,
    strongest,
    total_variation,
    transcript_distribution,
)
from deniable.mechanisms import Mechanism

SMALL, LARGE = (report_at("quiet", np.zeros(shape), 0) for shape in ((5, 3), (40, 3)))
NO_GAMES = np.zeros((0, 5), dtype=np.int64)


@dataclass(frozen=True)
class OwnRound(dn.Race):
    """A round of its own, which is run as it is."""

    def step(self, *args: Any, **kwargs: Any) -> Any:
        return super().step(*args, **kwargs)


@pytest.mark.parametrize(
    ("mechanism", "small", "large"),
    [
        (dn.Greedy(3), "exact", "likelihood"),
        (dn.UniformRandom(3), "exact", "likelihood"),
        (dn.RandomizedResponse.calibrate(3, 0.1), "exact", "likelihood"),
        (dn.Race.calibrate(3, 0.1, weights=dn.forecast, rules=dn.Rules(cooldown=1)), "exact", "likelihood"),
        (RaceWithoutReset(3, 1.3), "exact", "likelihood"),
        (UniformOffset(3, 3, uniform_ties=True), "exact", "black box"),
        (OwnRound(3, 1.3), "exact", "likelihood"),
        (dn.CounterAuditing.calibrate(3, 0.1, 40), "particles", "particles"),
        (dn.CounterAuditing.calibrate(3, 0.1, 40, "tree"), "black box", "black box"),
        (OwnRandomRace(3, 1.3), "black box", "black box"),
        (DrawsOnTiesAlone(3, 1.3), "exact", "black box"),
        *((broken_counter_auditing(counter, 3, 0.1, 40), "black box", "black box") for counter in BROKEN_COUNTERS),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Mechanism) else value,
)
def test_the_strongest_that_applies(mechanism: Mechanism[Any], small: str, large: str) -> None:
    assert strongest(mechanism, SMALL).name == small
    assert strongest(mechanism, LARGE).name == large
    assert strongest(mechanism, LARGE, OWN_TARGET).name == "black box"
    assert strongest(mechanism, SMALL, OWN_TARGET).name == ("exact" if small == "exact" else "black box")


@pytest.mark.parametrize(
    "mechanism",
    [dn.Greedy(2), dn.UniformRandom(2), dn.RandomizedResponse.calibrate(2, 0.3), dn.Race.calibrate(2, 0.3)],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_likelihood_and_enumeration_agree(mechanism: Mechanism[Any]) -> None:
    """Uniform and randomized response sit on their exact values; so do the others. Standard errors: 5 (below 1e-6)."""
    for pair in hard_pairs(2, 5)[::3]:
        exact = play(mechanism, pair, 2000, adversary=Enumeration())
        estimated = play(mechanism, pair, 2000, adversary=ClosedForm())
        assert estimated.event == exact.event  # by the same games
        laws = (transcript_distribution(mechanism, s) for s in (pair.filed, pair.not_filed))
        assert exact.leak.value == float(total_variation(*laws))
        assert (exact.exact, exact.leak.standard_error) == (True, 0)
        assert abs(estimated.leak.value - exact.leak.value) <= 5 * estimated.leak.standard_error + 1e-9
        assert estimated.largest_ratio is not None
        assert exact.largest_ratio is not None
        assert estimated.largest_ratio <= exact.largest_ratio * (1 + 1e-9)


def test_an_error_in_the_stream_would_show() -> None:
    """Negative control of the test above: the leak of another pair is more than 5 standard errors away."""
    race = dn.Race.calibrate(2, 0.3)
    quiet, rival = (pair for pair in hard_pairs(2, 5) if pair.name in ("quiet, early", "busy rival, early"))
    exact = play(race, quiet, 2000, adversary=Enumeration())
    other = play(race, rival, 2000, adversary=ClosedForm())
    assert abs(other.leak.value - exact.leak.value) > 5 * other.leak.standard_error + 1e-9


@pytest.mark.parametrize("view", [OWN_TARGET, View(rounds=3), View(rounds=3, own_target=True)], ids=lambda v: v.name)
def test_who_sees_less_knows_less(view: View) -> None:
    race = dn.Race.calibrate(3, 0.3)
    for pair in hard_pairs(3, 4)[::2]:
        if pair.round < 3:
            everything, less = (play(race, pair, 40, view=v).leak.value for v in (EVERYTHING, view))
            assert 0 < less <= everything


def test_the_view_is_added_up_exactly() -> None:
    """Race with three equal targets: P[own audited] is rho/(rho+2) or 1/3 in one round, whoever else is audited."""
    pair = report_at("quiet", [[0, 0, 0]], 0)
    score = Enumeration(OWN_TARGET).train(dn.Race(3, 2.0), pair, NO_GAMES, NO_GAMES, audits=1, seed=0)
    assert np.exp(score.of(np.array([[1], [0]]))) == pytest.approx([(1 / 2) / (1 / 3), (1 / 2) / (2 / 3)])
    assert score.total_variation == pytest.approx(1 / 2 - 1 / 3)


def test_enumeration_knows_the_law_and_not_only_its_games() -> None:
    """In 40 games the telling audit, one of 100, may not come up; the law has it."""
    pair = report_at("quiet", np.zeros((1, 100)), 0)
    race = CappedRace(100, 1.3, cap=1.2)
    for result in (play(race, pair, 40), play(race, pair, 40, view=OWN_TARGET)):
        assert result.largest_ratio == pytest.approx(1.3 * 100 / 100.3)
        assert result.above_curve
        assert result.flagged
        fpr, tpr = result.roc
        assert (tpr - fpr).max() == pytest.approx(result.leak.value)
    assert not play(dn.Race(100, 1.3), pair, 40).above_curve
