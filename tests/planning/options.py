"""An office, and options for it with waits of our own."""

from dataclasses import replace
from typing import Any

from deniable.mechanisms import calibrate
from deniable.planning import Office, Option, Wait
from deniable.planning.advice import ADVISED
from deniable.promptness import quiet_waits

OFFICE = Office(n_targets=10, delta=0.2, horizon=100, reports_per_round=2.0)


def option(mechanism_id: str, rounds: tuple[float, float, float], lead: int | None = 20, **wait: Any) -> Option:
    mechanism = calibrate(mechanism_id, 10, 0.2, 100)
    waits = tuple(replace(Wait(n, mean, 0.01, 0.0, 3), **wait) for n, mean in zip(ADVISED, rounds, strict=True))
    person = mechanism.guarantee().for_reports(3)
    return Option(mechanism_id, mechanism, person, lead, quiet_waits(mechanism), waits)


GREEDY = option("greedy", (5, 1, 1), lead=1)
LOTS = option("uniform", (50, 50, 50), lead=None)
RR = option("rr", (50, 49, 48), lead=None)
