"""Mechanisms that look private and are not: the exact checker and the adversaries must catch each of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.counters.toeplitz import ToeplitzCounter, ToeplitzState, toeplitz
from deniable.curves import TotalVariation
from deniable.guarantee import Guarantee
from deniable.mechanisms import CounterAuditing, Mechanism, Race, RandomizedResponse, State
from deniable.mechanisms.base import largest, one_hot
from deniable.noise import Noise
from deniable.rules import History, RoundRules, Rules
from deniable.state import Secret


@dataclass(frozen=True)
class Offsets:
    counts: IntArray
    offsets: IntArray
    """One more than the offset; 0 where none is drawn yet."""


@dataclass(frozen=True)
class UniformOffset(Mechanism[Offsets]):
    """One uniform offset from 0..width-1 a run, kept until the audit: seems (0, 1/width)-DP by a shift argument.

    It is not: that a target has survived tells what its offset cannot be.
    """

    width: int
    uniform_ties: bool

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(1 / self.width))

    def start(self, runs: int) -> Offsets:
        none = np.zeros((runs, self.n_targets), dtype=np.int64)
        return Offsets(none, none)

    def tally(self, private: Offsets, reports: IntArray, noise: Noise) -> tuple[IntArray, Offsets]:
        counts, offsets = private.counts + reports, private.offsets.copy()
        for c in range(self.n_targets):
            new = offsets[:, c] == 0
            if new.any():
                offsets[new, c] = 1 + noise.choose(np.ones((int(new.sum()), self.width), dtype=np.bool_))
        return counts + offsets, Offsets(counts, offsets)

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        best = largest(tallied, eligible)
        return noise.choose(best if self.uniform_ties else one_hot(best.argmax(axis=1), self.n_targets))

    def forget(self, private: Offsets, audited: BoolArray) -> Offsets:
        return Offsets(np.where(audited, 0, private.counts), np.where(audited, 0, private.offsets))


@dataclass(frozen=True, repr=False)
class CoinState(Secret):
    coin: IntArray
    """0 not tossed yet, 1 tails, 2 heads."""
    count: IntArray


@dataclass(frozen=True)
class CoinCounter:
    """One coin a run: heads shows the true count throughout, tails always 1/2. (0, heads)-private over one run.

    Not given its past: once a whole number was shown, the next report is seen. With a fresh run after every audit there
    is a fresh coin, and counter auditing leaks more than one run does.
    """

    horizon: int
    heads: Fraction

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(float(self.heads)), horizon=self.horizon)

    def init(self, runs: int, n_targets: int) -> CoinState:
        none = np.zeros((runs, n_targets), dtype=np.int64)
        return CoinState(none, none)

    def step(self, state: CoinState, reports: IntArray, noise: Noise) -> tuple[FloatArray, CoinState]:
        coin, count = state.coin.copy(), state.count + reports
        for place in zip(*np.nonzero(coin == 0), strict=True):
            coin[place] = 1 + int(noise.bernoulli(self.heads, 1)[0])
        return np.where(coin == 2, count, 0.5), CoinState(coin, count)

    def restart(self, state: CoinState, audited: BoolArray) -> CoinState:
        return CoinState(np.where(audited, 0, state.coin), np.where(audited, 0, state.count))


@dataclass(frozen=True)
class FreshOffsets:
    """The honest one beside it: every round's reports get a fresh uniform offset from 0..width-1, and are summed up.

    (0, 1/width)-private given every past, because a report moves one offset that was not drawn before.
    """

    horizon: int
    width: int

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(1 / self.width), horizon=self.horizon)

    def init(self, runs: int, n_targets: int) -> IntArray:
        return np.zeros((runs, n_targets), dtype=np.int64)

    def step(self, state: IntArray, reports: IntArray, noise: Noise) -> tuple[FloatArray, IntArray]:
        offsets = [int(noise.choose(np.ones((1, self.width), dtype=np.bool_))[0]) for _ in range(reports.size)]
        released = state + reports + np.array(offsets).reshape(reports.shape)
        return released.astype(np.float64), released

    def restart(self, state: IntArray, audited: BoolArray) -> IntArray:
        return np.where(audited, 0, state)


@dataclass(frozen=True)
class RaceWithoutReset(Race):
    """Race whose counts are never reset: a report goes on leaking after its audit."""

    def forget(self, private: IntArray, audited: BoolArray) -> IntArray:
        return private


@dataclass(frozen=True)
class RaceForecastingFromCounts(Race):
    """Race with weights that follow the active counts, which are private, instead of the transcript."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return noise.race(self.growth, tallied, np.where(eligible, 1 + 3 * tallied, 0))


@dataclass(frozen=True)
class RaceTakingReportsForAudits(Race):
    """Race whose forecast takes active counts, which are private, for numbers of past audits."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return super().draw(tallied, eligible, replace(history, audits=tallied), noise)


@dataclass(frozen=True)
class RaceForgettingOneAudit(Race):
    """Race that resets the first audit of a round alone: the second target keeps its reports."""

    def step(
        self, state: State[IntArray], reports: IntArray, noise: Noise, audits: int = 1
    ) -> tuple[IntArray, State[IntArray]]:
        drawn, after = super().step(state, reports, noise, audits)
        first = one_hot(drawn[:, 0], self.n_targets)
        return drawn, State(after.history, np.where(first, 0, state.private + reports))


@dataclass(frozen=True)
class RaceIgnoringEligibility(Race):
    """Race that draws from all targets, whatever the rules say."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return super().draw(tallied, np.ones_like(eligible), history, noise)


@dataclass(frozen=True)
class RaceFallingBackOnTheLeader(RaceIgnoringEligibility):
    """It draws from all targets, and where the rules forbid the result, audits the leader of those they allow."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        drawn = super().draw(tallied, eligible, history, noise)
        allowed = np.take_along_axis(eligible, drawn[:, None], axis=1)[:, 0]
        return np.where(allowed, drawn, largest(tallied, eligible).argmax(axis=1))


@dataclass(frozen=True)
class WithReplacement(Rules):
    """Rules by which a target can be drawn twice in a round."""

    def in_round(self, history: History, audits: int) -> RoundRules:
        return _NoneChosen(self, history, audits)


class _NoneChosen(RoundRules):
    def eligible(self, chosen: BoolArray) -> BoolArray:
        return super().eligible(np.zeros_like(chosen))


@dataclass(frozen=True)
class LooseRace(Race):
    """Race that is calibrated for another delta than it claims."""

    claim: float = 0.1

    def guarantee(self) -> Guarantee:
        return Race.calibrate(self.n_targets, self.claim).guarantee()


@dataclass(frozen=True)
class CappedRace(Race):
    """Race that claims the right delta, and a smaller limit to the odds."""

    cap: float = 1.1

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(0.1, likelihood_cap=self.cap))


@dataclass(frozen=True)
class OverruledRace(Race):
    """Race whose draw does not count where the second target has ten reports."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        drawn = super().draw(tallied, eligible, history, noise)
        return np.asarray(np.where(tallied[:, 1] >= 10, 1, drawn), dtype=np.int64)


_OWN = np.random.default_rng(0)


@dataclass(frozen=True)
class OwnRandomRace(Race):
    """Race with random numbers that are not from its noise."""

    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        active, after = super().tally(private, reports, noise)
        return active + _OWN.integers(0, 30, active.shape), after


@dataclass(frozen=True)
class DrawsOnTiesAlone(Race):
    """The leader, and a draw for those runs alone in which there is a tie."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        best = largest(tallied, eligible)
        drawn: IntArray = best.argmax(axis=1).astype(np.int64)
        tied = best.sum(axis=1) > 1
        if tied.any():
            drawn[tied] = noise.choose(best[tied])
        return drawn


@dataclass(frozen=True)
class EagerRandomizedResponse(RandomizedResponse):
    """Randomized response that follows the reports ten times as often as it is certified for."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        explore = noise.bernoulli(1 - 10 * (1 - Fraction(self.p_rand)), len(tallied))
        return noise.choose(np.where(explore[:, None], eligible, largest(tallied, eligible)))


@dataclass(frozen=True)
class QuietToeplitz(ToeplitzCounter):
    """A Toeplitz counter that draws only a part of the sigma it is certified for."""

    part: float

    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> tuple[FloatArray, ToeplitzState]:
        return ToeplitzCounter(self.horizon, int(self.variance * self.part**2)).step(state, reports, noise)


@dataclass(frozen=True)
class CountsTwice(ToeplitzCounter):
    """Every report counts twice, or more often, with the noise for one."""

    times: int = 2

    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> tuple[FloatArray, ToeplitzState]:
        return super().step(state, self.times * reports, noise)


@dataclass(frozen=True)
class NeverRestarts(ToeplitzCounter):
    """An audit does not end a run: reports and noise stay."""

    def restart(self, state: ToeplitzState, audited: BoolArray) -> ToeplitzState:
        return state


@dataclass(frozen=True)
class SharesNoise(ToeplitzCounter):
    """The same noise for all targets, so that who is ahead can be seen through it."""

    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> tuple[FloatArray, ToeplitzState]:
        class Shared:
            def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> Any:
                return np.broadcast_to(noise.gaussian(variance, shape)[:, :1], shape)

        return super().step(state, reports, Shared())  # type: ignore[arg-type]


@dataclass(frozen=True)
class NoiseOnReports(ToeplitzCounter):
    """Noise that is a tenth as large in rounds with reports."""

    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> tuple[FloatArray, ToeplitzState]:
        class Scaled:
            def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> Any:
                return np.where(reports > 0, 0.1, 1.0) * noise.gaussian(variance, shape)

        return super().step(state, reports, Scaled())  # type: ignore[arg-type]


BROKEN_COUNTERS = (CountsTwice, NeverRestarts, SharesNoise, NoiseOnReports)


def broken_counter_auditing(
    counter: Callable[[int, int], ToeplitzCounter], n_targets: int, delta: float, horizon: int
) -> CounterAuditing[ToeplitzState]:
    return CounterAuditing(n_targets, counter(horizon, toeplitz(delta, horizon).variance))


def quiet_counter_auditing(n_targets: int, delta: float, horizon: int, part: float) -> CounterAuditing[ToeplitzState]:
    return CounterAuditing(n_targets, QuietToeplitz(horizon, toeplitz(delta, horizon).variance, part))
