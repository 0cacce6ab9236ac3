"""The mechanisms: one file each. `calibrate` builds one from its id on the command line and in files."""

from typing import Any

from deniable.errors import DeniableError
from deniable.mechanisms.counter_auditing import COUNTERS, CounterAuditing
from deniable.mechanisms.greedy import Greedy
from deniable.mechanisms.protocol import Mechanism
from deniable.mechanisms.race import Race
from deniable.mechanisms.randomized_response import RandomizedResponse
from deniable.mechanisms.uniform import UniformRandom

MECHANISM_IDS = ("greedy", "uniform", "rr", "tca", "race", *(f"counter:{name}" for name in COUNTERS))


def calibrate(mechanism_id: str, n_targets: int, delta: float, horizon: int | None = None) -> Mechanism[Any]:
    """The mechanism with this id at this delta; greedy and uniform have nothing to calibrate.

    >>> calibrate("race", n_targets=50, delta=0.1)
    Race(n_targets=50, rho=1.3134...)
    """
    match mechanism_id.split(":"):
        case ["greedy"]:
            return Greedy(n_targets)
        case ["uniform"]:
            return UniformRandom(n_targets)
        case ["rr"]:
            return RandomizedResponse.calibrate(n_targets, delta, horizon)
        case ["race"]:
            return Race.calibrate(n_targets, delta)
        case ["tca"]:
            return CounterAuditing.calibrate(n_targets, delta, horizon)
        case ["counter", name] if name in COUNTERS:
            return CounterAuditing.calibrate(n_targets, delta, horizon, counter=name)
    raise DeniableError(f"mechanism must be one of {', '.join(MECHANISM_IDS)}, got {mechanism_id!r}")


__all__ = [
    "MECHANISM_IDS",
    "CounterAuditing",
    "Greedy",
    "Mechanism",
    "Race",
    "RandomizedResponse",
    "UniformRandom",
    "calibrate",
]
