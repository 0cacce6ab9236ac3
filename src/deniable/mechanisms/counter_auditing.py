"""Counter auditing (`alg:mechanism`): a private continual counter for every target, the largest is audited."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from deniable.arrays import IntArray
from deniable.counters import Counter, toeplitz
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.guarantee import Guarantee
from deniable.mechanisms.protocol import next_round, one_hot
from deniable.noise import Noise

S = TypeVar("S")

COUNTERS: dict[str, Callable[[float, int], Counter[Any]]] = {"toeplitz": toeplitz}


@dataclass(frozen=True)
class CounterState(Generic[S]):
    rounds: int
    """Rounds closed so far."""
    counter: S
    """The counter's own state for B x C instances."""


@dataclass(frozen=True)
class CounterAuditing(Generic[S]):
    """Audit the target with the largest noisy active count, then restart its counter.

    The transcript is post-processing of the counters' outputs, so it inherits the guarantee of one counter
    (`prop:privacy_reduction`). With the Toeplitz counter this is the paper's mechanism, TCA.

    >>> CounterAuditing.calibrate(n_targets=50, delta=0.1, horizon=1000).guarantee().horizon
    1000
    """

    n_targets: int
    counter: Counter[S]

    def __post_init__(self) -> None:
        check_whole("n_targets", self.n_targets, least=2)

    @classmethod
    def calibrate(
        cls, n_targets: int, delta: float, horizon: int | None = None, counter: str = "toeplitz"
    ) -> "CounterAuditing[Any]":
        """(0, delta)-DP for `horizon` rounds with the named counter."""
        if horizon is None:
            raise DeniableError("counter auditing needs a horizon: the number of rounds its noise must cover")
        if counter not in COUNTERS:
            raise DeniableError(f"counter must be one of {', '.join(COUNTERS)}, got {counter!r}")
        return CounterAuditing(n_targets, COUNTERS[counter](check_delta(delta), horizon))

    def guarantee(self) -> Guarantee:
        return self.counter.guarantee()

    def init(self, runs: int = 1) -> CounterState[S]:
        return CounterState(0, self.counter.init(runs, self.n_targets))

    def step(self, state: CounterState[S], reports: IntArray, noise: Noise) -> tuple[IntArray, CounterState[S]]:
        rounds = next_round(state.rounds, self.guarantee())
        noisy, counter = self.counter.step(state.counter, reports, noise)
        audits = noise.choose(noisy == noisy.max(axis=1, keepdims=True))
        counter = self.counter.restart(counter, one_hot(audits, self.n_targets))
        return audits, CounterState(rounds, counter)
