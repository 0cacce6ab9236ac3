"""The mechanisms: one file each. `calibrate` builds one from its id on the command line and in files."""

from typing import Any

from deniable.counters import COUNTERS
from deniable.errors import DeniableError, check_delta
from deniable.mechanisms.base import Mechanism, State
from deniable.mechanisms.counter_auditing import CounterAuditing
from deniable.mechanisms.forecasts import forecast, steady_forecast
from deniable.mechanisms.greedy import Greedy
from deniable.mechanisms.race import Race, Weights
from deniable.mechanisms.randomized_response import RandomizedResponse
from deniable.mechanisms.uniform import UniformRandom
from deniable.rules import NO_RULES, Rules

NEEDS: dict[str, tuple[str, ...]] = {
    "greedy": (),
    "uniform": (),
    "rr": ("delta",),
    "tca": ("delta", "horizon"),
    "race": ("delta",),
    **{f"counter:{name}": ("delta", "horizon") for name in COUNTERS},
}
"""What `calibrate` must be given besides the targets, by id; a max_gap will do for a horizon."""

MECHANISM_IDS = tuple(mechanism_id for mechanism_id in NEEDS if mechanism_id != "counter:toeplitz")
"""One id for each mechanism; `counter:toeplitz` is `tca` under a second name."""


def calibrate(
    mechanism_id: str,
    n_targets: int,
    delta: float | None,
    horizon: int | None = None,
    *,
    rules: Rules = NO_RULES,
    weights: Weights | None = None,
) -> Mechanism[Any]:
    """The mechanism with this id at this delta; greedy and uniform have nothing to calibrate. Weights are for race.

    >>> calibrate("race", n_targets=50, delta=0.1)
    Race(n_targets=50, rules=Rules(max_gap=None, cooldown=0), rho=1.3134..., weights=None)
    """
    if mechanism_id not in NEEDS:
        raise DeniableError(f"mechanism must be one of {', '.join(MECHANISM_IDS)}, got {mechanism_id!r}")
    if weights is not None and mechanism_id != "race":
        raise DeniableError(f"weights are for race; {mechanism_id} has none")
    if delta is not None:
        check_delta(delta)
    if mechanism_id == "greedy":
        return Greedy(n_targets, rules=rules)
    if mechanism_id == "uniform":
        return UniformRandom(n_targets, rules=rules)
    if delta is None:
        raise DeniableError(f"delta is missing: {mechanism_id} needs a privacy level above 0 and below 1, such as 0.1")
    if mechanism_id == "rr":
        return RandomizedResponse.calibrate(n_targets, delta, horizon, rules=rules)
    if mechanism_id == "race":
        return Race.calibrate(n_targets, delta, weights=weights, rules=rules)
    counter = "toeplitz" if mechanism_id == "tca" else mechanism_id.removeprefix("counter:")
    return CounterAuditing.calibrate(n_targets, delta, horizon, counter, rules=rules)


__all__ = [
    "MECHANISM_IDS",
    "NEEDS",
    "CounterAuditing",
    "Greedy",
    "Mechanism",
    "Race",
    "RandomizedResponse",
    "State",
    "UniformRandom",
    "calibrate",
    "forecast",
    "steady_forecast",
]
