"""Do the exact samplers have the distributions they name?

Every check gives a p-value, and fails below LEVEL; there are fewer than 50 checks, so on right samplers the
whole file would fail with probability at most 1e-6 over the choice of the seed. The seed is fixed. Beside
every check stands a planted bug that the same check must reject.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.arrays import ExactArray, FloatArray, IntArray
from deniable.noise import ReplayNoise

LEVEL = 1e-6 / 50
LEAST_EXPECTED = 20  # in a cell, for the chi-square approximation to hold far out in its tail
SEED = b"statistical tests of the samplers"[:32]

Draw = Callable[[ReplayNoise], int]


def sample(draw: Draw, draws: int, noise: ReplayNoise | None = None) -> list[int]:
    noise = noise or ReplayNoise(SEED)
    return [draw(noise) for _ in range(draws)]


def goodness_of_fit(values: Sequence[int], weights: dict[int, float]) -> float:
    """Chi-square p-value of values against probabilities proportional to weights."""
    assert set(values) <= weights.keys()
    scale = len(values) / math.fsum(weights.values())
    tally = Counter(values)
    cells = pooled((scale * weight, tally[x]) for x, weight in sorted(weights.items()))
    expected, observed = zip(*cells, strict=True)
    return float(stats.chisquare(observed, expected).pvalue)


def same_distribution(one: Sequence[int], other: Sequence[int]) -> float:
    """Chi-square p-value of two samples of the same size having one distribution."""
    first, second = Counter(one), Counter(other)
    cells = pooled((first[x] + second[x], first[x], second[x]) for x in sorted(first.keys() | second.keys()))
    return float(stats.chi2_contingency(np.array(cells)[:, 1:]).pvalue)


def pooled(cells: Iterable[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Neighbouring cells added together until the first entry of each is large enough: the tails pooled."""
    done: list[tuple[float, ...]] = []
    for cell in cells:
        if done and done[-1][0] < LEAST_EXPECTED:
            done[-1] = tuple(map(sum, zip(done[-1], cell, strict=True)))
        else:
            done.append(cell)
    if len(done) > 1 and done[-1][0] < LEAST_EXPECTED:
        done[-2:] = [tuple(map(sum, zip(*done[-2:], strict=True)))]
    return done


def coin(values: Sequence[int], p: float) -> float:
    return float(stats.binomtest(sum(values), len(values), p).pvalue)


# below


@pytest.mark.parametrize("n", [2, 6, 200, 257, 1000])
def test_below_is_uniform(n: int) -> None:
    values = sample(lambda noise: noise.below(n), 100 * n)
    assert goodness_of_fit(values, dict.fromkeys(range(n), 1)) > LEVEL


def test_below_is_uniform_planted_bug() -> None:
    class Modulo(ReplayNoise):
        """A byte modulo n favours the small values."""

        def below(self, n: int) -> int:
            return super().below(256) % n

    values = sample(lambda noise: noise.below(200), 20_000, Modulo(SEED))
    assert goodness_of_fit(values, dict.fromkeys(range(200), 1)) < LEVEL


def every_bit_is_fair(values: Sequence[int], bits: int) -> float:
    ones = np.array([sum(value >> i & 1 for value in values) for i in range(bits)])
    scores = (2 * ones - len(values)) / math.sqrt(len(values))
    return float(stats.chi2(bits).sf(np.sum(scores**2)))


def test_below_a_large_power_of_two_has_fair_bits() -> None:
    assert every_bit_is_fair(sample(lambda noise: noise.below(2**80), 5000), 80) > LEVEL
    short = sample(lambda noise: noise.below(2**79), 5000)  # planted bug: one bit too few
    assert every_bit_is_fair(short, 80) < LEVEL


def test_below_a_large_number_has_a_uniform_leading_part() -> None:
    def leading(draw: Draw) -> float:
        values = sample(draw, 5000)
        return goodness_of_fit([value >> 70 for value in values], dict.fromkeys(range(3), 1))

    assert leading(lambda noise: noise.below(3 * 2**70)) > LEVEL
    assert leading(lambda noise: noise.below(2**72) % (3 * 2**70)) < LEVEL  # planted bug: modulo


# flip, flip_exp


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(3, 7), Fraction(1, 1000), Fraction(2**70, 3 * 2**70 + 1)])
def test_flip(p: Fraction) -> None:
    assert coin(sample(lambda noise: noise.flip(p), 20_000), float(p)) > LEVEL


def test_bernoulli() -> None:
    p = Fraction(3, 7)
    assert coin(ReplayNoise(SEED).bernoulli(p, 20_000).tolist(), float(p)) > LEVEL


def test_flip_planted_bug() -> None:
    p = Fraction(3, 7)
    values = sample(lambda noise: noise.below(p.denominator) <= p.numerator, 20_000)  # one too many
    assert coin(values, float(p)) < LEVEL


@pytest.mark.parametrize("x", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(5)])
def test_flip_exp(x: Fraction) -> None:
    assert coin(sample(lambda noise: noise.flip_exp(x), 20_000), math.exp(-x)) > LEVEL


def test_flip_exp_planted_bugs() -> None:
    def same_coin(noise: ReplayNoise) -> bool:
        """Coins x, x, x, … in place of x/1, x/2, x/3, …"""
        place = 1
        while noise.flip(Fraction(1, 2)):
            place += 1
        return place % 2 == 1

    def no_whole_part(noise: ReplayNoise) -> bool:
        return noise.flip_exp(Fraction(7, 3) % 1)

    assert coin(sample(same_coin, 20_000), math.exp(-1 / 2)) < LEVEL
    assert coin(sample(no_whole_part, 20_000), math.exp(-7 / 3)) < LEVEL


# discrete Laplace and Gaussian


def laplace_weights(scale: Fraction) -> dict[int, float]:
    reach = math.ceil(60 * scale) + 1
    return {x: math.exp(-abs(x) / scale) for x in range(-reach, reach + 1)}


def gaussian_weights(variance: Fraction) -> dict[int, float]:
    reach = math.ceil(12 * math.sqrt(variance)) + 1
    return {x: math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}


def double_zero_laplace(noise: ReplayNoise, scale: Fraction) -> int:
    """A signed geometric number that keeps -0 as another 0."""
    size = 0
    while noise.flip_exp(1 / scale):
        size += 1
    return size if noise.flip(Fraction(1, 2)) else -size


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(20)])
def test_discrete_laplace(scale: Fraction) -> None:
    values = sample(lambda noise: noise.discrete_laplace(scale), 30_000)
    assert goodness_of_fit(values, laplace_weights(scale)) > LEVEL


def test_discrete_laplace_planted_bugs() -> None:
    scale = Fraction(5, 2)
    double_zero = sample(lambda noise: double_zero_laplace(noise, scale), 30_000)
    whole_scale = sample(lambda noise: noise.discrete_laplace(Fraction(2)), 30_000)  # 5/2 rounded down
    assert goodness_of_fit(double_zero, laplace_weights(scale)) < LEVEL
    assert goodness_of_fit(whole_scale, laplace_weights(scale)) < LEVEL


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(2), Fraction(50), Fraction(50, 3)])
def test_discrete_gaussian(variance: Fraction) -> None:
    values = sample(lambda noise: noise.discrete_gaussian(variance), 30_000)
    assert goodness_of_fit(values, gaussian_weights(variance)) > LEVEL


def test_discrete_gaussian_planted_bugs() -> None:
    variance = Fraction(1, 3)
    halved = sample(lambda noise: noise.discrete_gaussian(variance / 4), 30_000)  # sigma halved
    rounded = np.random.default_rng(0).normal(0, math.sqrt(variance), 30_000)  # not discrete: rounded
    assert goodness_of_fit(halved, gaussian_weights(variance)) < LEVEL
    assert goodness_of_fit(np.rint(rounded).astype(int).tolist(), gaussian_weights(variance)) < LEVEL


LARGE = Fraction(2**70)


def large_gaussian(draw: Draw) -> dict[str, float]:
    """p-values of the shape, the variance and the last bits of Gaussians of variance 2^70.

    At this size the discrete Gaussian is the normal distribution to within 2^-35, its last bits uniform.
    """
    values = sample(draw, 20_000)
    normalised = np.array([value / 2**35 for value in values])
    total = stats.chi2(len(values)).cdf(np.sum(normalised**2))
    return {
        "shape": float(stats.kstest(normalised, "norm").pvalue),
        "variance": 2 * float(min(total, 1 - total)),
        "last bits": goodness_of_fit([value % 16 for value in values], dict.fromkeys(range(16), 1)),
    }


def test_large_discrete_gaussian() -> None:
    assert min(large_gaussian(lambda noise: noise.discrete_gaussian(LARGE)).values()) > LEVEL


def test_large_discrete_gaussian_planted_bugs() -> None:
    unaccepted = large_gaussian(lambda noise: noise.discrete_laplace(Fraction(2**35)))
    halved = large_gaussian(lambda noise: noise.discrete_gaussian(LARGE / 4))
    coarse = large_gaussian(lambda noise: noise.discrete_gaussian(LARGE / 2**8) << 4)
    assert unaccepted["shape"] < LEVEL
    assert halved["variance"] < LEVEL
    assert coarse["last bits"] < LEVEL


def test_gaussians_of_one_array_are_independent() -> None:
    def correlation(x: ExactArray, y: ExactArray) -> float:
        return float(stats.pearsonr(x.astype(np.float64), y.astype(np.float64)).pvalue)

    drawn = ReplayNoise(SEED).gaussian(LARGE, (10_000, 2))
    assert correlation(drawn[:, 0], drawn[:, 1]) > LEVEL
    assert correlation(drawn[:, 0], drawn[:, 0] + drawn[:, 1]) < LEVEL  # planted bug: shared noise


# race, choose


class Table:
    """A growth given by a few small integers."""

    def __init__(self, weights: Sequence[int]) -> None:
        self.weights = np.array(weights, dtype=object)

    def exact(self, counts: IntArray) -> ExactArray:
        return self.weights[counts]

    def log(self, counts: IntArray) -> FloatArray:
        return np.log(self.exact(counts).astype(np.float64))


def test_race() -> None:
    weights = [1, 2, 3, 4, 5, 6]
    counts = [4, 0, 1, 1, 3]
    batch = np.tile(np.array(counts, dtype=np.int64), (20_000, 1))
    shares = {target: float(weights[count]) for target, count in enumerate(counts)}

    chosen = ReplayNoise(SEED).race(Table(weights), batch, np.ones_like(batch)).tolist()
    off_by_one = ReplayNoise(SEED).race(Table(weights), batch + 1, np.ones_like(batch)).tolist()  # planted bug
    assert goodness_of_fit(chosen, shares) > LEVEL
    assert goodness_of_fit(off_by_one, shares) < LEVEL


def test_choose() -> None:
    class Skipping(ReplayNoise):
        """Planted bug: the next eligible target after a uniform one, so that a gap favours who follows it."""

        def choose(self, eligible: Any) -> IntArray:
            chosen = []
            for row in eligible:
                target = self.below(len(row))
                while not row[target]:
                    target = (target + 1) % len(row)
                chosen.append(target)
            return np.array(chosen, dtype=np.int64)

    eligible = np.tile(np.array([True, False, False, True, True]), (20_000, 1))
    uniform = dict.fromkeys((0, 3, 4), 1.0)
    assert goodness_of_fit(ReplayNoise(SEED).choose(eligible).tolist(), uniform) > LEVEL
    assert goodness_of_fit(Skipping(SEED).choose(eligible).tolist(), uniform) < LEVEL


# OpenDP as an oracle. It takes no seed, so that these do fail once in a while: with probability LEVEL each.

ORACLE_DRAWS = 100_000


@pytest.mark.long
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3, 2), Fraction(20)])
def test_discrete_laplace_against_opendp(scale: Fraction) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    oracle = dp.m.make_laplace(*space, scale=float(scale))(list(repeat(0, ORACLE_DRAWS)))

    ours = sample(lambda noise: noise.discrete_laplace(scale), ORACLE_DRAWS)
    wider = sample(lambda noise: noise.discrete_laplace(scale * 5 / 4), ORACLE_DRAWS)
    assert same_distribution(ours, oracle) > LEVEL
    assert same_distribution(wider, oracle) < LEVEL
    if scale < 10:  # where 0 is common enough to be counted twice
        double_zero = sample(lambda noise: double_zero_laplace(noise, scale), ORACLE_DRAWS)
        assert same_distribution(double_zero, oracle) < LEVEL


@pytest.mark.long
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3, 2), Fraction(40)])
def test_discrete_gaussian_against_opendp(sigma: Fraction) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    oracle = dp.m.make_gaussian(*space, scale=float(sigma))(list(repeat(0, ORACLE_DRAWS)))

    ours = sample(lambda noise: noise.discrete_gaussian(sigma**2), ORACLE_DRAWS)
    wider = sample(lambda noise: noise.discrete_gaussian(sigma**2 * 3 / 2), ORACLE_DRAWS)
    assert same_distribution(ours, oracle) > LEVEL
    assert same_distribution(wider, oracle) < LEVEL
