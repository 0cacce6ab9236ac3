import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from benchmarks.forecast import deficits, share

import deniable as dn
from deniable.arrays import FloatArray
from deniable.mechanisms.forecasts import FORECASTS, MOST, ROOT_BITS, _roots, floored_root
from deniable.mechanisms.race import WeightRule
from deniable.simulation.synthetic_streams import bursty, lead_rates, poisson


def seen(rounds: int, last: list[int], audits: list[int]) -> dn.History:
    return dn.History(rounds, np.array([last]), np.array([audits]), np.ones((1, len(last)), dtype=np.bool_))


def whole(rule: str, history: dn.History) -> list[int]:
    race = dn.Race(history.last.shape[1], 1.5, FORECASTS[rule])
    weights: list[int] = race.whole_weights(history)[0].tolist()
    return weights


@pytest.mark.parametrize("rule", FORECASTS)
def test_forecasts_prefer_targets_audited_often_and_long_ago(rule: str) -> None:
    just, busy, quiet = FORECASTS[rule](seen(9, last=[9, 0, 0], audits=[4, 4, 0]))[0]
    assert busy > max(just, quiet)


@pytest.mark.parametrize("rule", FORECASTS)
def test_before_the_first_round_all_are_equal(rule: str) -> None:
    assert len(set(whole(rule, seen(0, [0] * 4, [0] * 4)))) == 1


def test_the_tempered_forecast_bets_less() -> None:
    history = seen(100, last=[99, 50, 0], audits=[30, 5, 0])
    tempered, steady = (np.log(rule(history)[0]) for rule in (dn.forecast, dn.steady_forecast))
    assert np.ptp(tempered) < np.ptp(steady)


# What the choice between them rests on, with few runs.


def upside_down(history: dn.History) -> FloatArray:
    return 1 / dn.steady_forecast(history)


STREAMS = {"steady": poisson(lead_rates(5), 300, runs=96, seed=0), "bursty": bursty(lead_rates(50), 300, 96, seed=0)}


@pytest.mark.parametrize(
    ("stream", "rule", "low", "high"),
    [
        ("steady", dn.forecast, 0.0, 0.9),
        ("steady", dn.steady_forecast, 0.0, 0.9),
        ("steady", upside_down, 1.1, math.inf),  # a forecast that is wrong is seen to be
        ("bursty", dn.forecast, 0.9, 1.1),
        ("bursty", dn.steady_forecast, 1.05, math.inf),
    ],
)
def test_deficits_as_a_share_of_plain_races(stream: str, rule: WeightRule, low: float, high: float) -> None:
    """Five standard errors from the limits."""
    ratio, error = share(deficits(STREAMS[stream], 0.2, None), deficits(STREAMS[stream], 0.2, rule))
    assert low < ratio - 5 * error
    assert ratio + 5 * error < high


# Every machine must draw from the same whole numbers, or an oversight body could not replay a draw.


def is_floored_root(n: int, root: int) -> bool:
    """Whether root / 2**ROOT_BITS is n**(2/5) rounded down, in whole numbers."""
    return root**5 <= n**2 << 5 * ROOT_BITS < (root + 1) ** 5


FIFTH_POWERS = [k**5 for k in range(1, 17)]
NUMBERS = [*range(3000), *FIFTH_POWERS, *(n - 1 for n in FIFTH_POWERS), *(2**k - 1 for k in range(12, 40)), 10**9]


def test_roots_are_exact() -> None:
    assert all(is_floored_root(n, floored_root(n)) for n in NUMBERS)


@pytest.mark.parametrize("error", [-(2.0**-28), 2.0**-28])
def test_a_machine_with_other_powers_finds_the_same_roots(error: float) -> None:
    class Imprecise(int):
        """Its powers with fractions are wrong in the ninth digit."""

        def __pow__(self, exponent: float, modulo: int | None = None) -> float:  # type: ignore[override]
            return float(int(self) ** exponent * (1 + error))

    def in_floating_point(n: int) -> int:
        return int(n**0.4 * 2**ROOT_BITS)

    numbers = [Imprecise(n) for n in range(1, 50)]
    assert all(is_floored_root(int(n), floored_root(n)) for n in numbers)
    assert not any(is_floored_root(int(n), in_floating_point(n)) for n in numbers)


@pytest.mark.parametrize("bits", [1, 5, 12])
def test_the_table_holds_them(bits: int) -> None:
    assert _roots(bits).tolist() == [floored_root(n) for n in range(2**bits)]


def test_weights_are_the_powers_they_say() -> None:
    """(age**2 (1 + audits)**4)**(1/5), to nine digits, relative to the largest."""
    rounds, last, audits = 500, [499, 3, 470, 0, 250, 500], [40, 2, 17, 0, 9, 61]
    with localcontext() as context:
        context.prec = 40
        exact = [
            Decimal((rounds - then + 1) ** 2 * (1 + times) ** 4) ** (Decimal(1) / 5)
            for then, times in zip(last, audits, strict=True)
        ]
        expected = [float(weight / max(exact)) for weight in exact]
    found = [weight / 2**32 for weight in whole("forecast", seen(rounds, last, audits))]
    assert found == pytest.approx(expected, abs=2**-31)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("forecast", [3291862189, 4294967296, 973988721]),
        ("steady-forecast", [674923432, 4294967296, 1288490189]),
    ],
)
def test_the_whole_numbers_drawn_with_are_these(rule: str, expected: list[int]) -> None:
    """Another number here is another draw from the same seed: programmes under way could not be replayed."""
    assert whole(rule, seen(41, last=[40, 7, 0], audits=[20, 6, 0])) == expected


def test_rounds_and_audits_beyond_the_table_make_no_difference() -> None:
    last, audits = [10**9, 10**9 - MOST, 0], [0, 5, MOST + 8]
    assert whole("forecast", seen(10**9, last, audits)) == whole("forecast", seen(MOST, [MOST, 0, 0], [0, 5, MOST - 1]))
