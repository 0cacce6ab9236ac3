"""Counter auditing (`alg:mechanism`): a private continual counter for every target, the largest is audited."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.counters import COUNTERS, Counter
from deniable.counters.protocol import CountKeeper
from deniable.errors import DeniableError, check_delta
from deniable.guarantee import Guarantee
from deniable.mechanisms.base import Mechanism, largest
from deniable.noise import Noise
from deniable.rules import NO_RULES, History, Rules

P = TypeVar("P")


@dataclass(frozen=True)
class CounterAuditing(Mechanism[P], Generic[P]):
    """Audit the target with the largest noisy active count, then restart its counter.

    The transcript inherits the guarantee of one run of one counter, provided that it holds given every past output of
    the run, as it does for all counters of `deniable.counters`; over one run alone, as in `prop:privacy_reduction`, is
    not enough (docs/explanation/counters.md has the proof).

    With the Toeplitz counter this is the paper's mechanism, TCA.

    >>> CounterAuditing.calibrate(n_targets=50, delta=0.1, horizon=1000).guarantee().horizon
    1000
    >>> CounterAuditing.calibrate(50, 0.1, rules=Rules(max_gap=100)).guarantee().horizon is None
    True
    """

    counter: Counter[P]

    several_audits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.counter, Counter):
            raise DeniableError(
                "counter must be a continual counter such as dn.counters.toeplitz(delta, horizon), "
                f"got {type(self.counter).__name__}"
            )

    @classmethod
    def calibrate(
        cls,
        n_targets: int,
        delta: float,
        horizon: int | None = None,
        counter: str = "toeplitz",
        *,
        rules: Rules = NO_RULES,
    ) -> "CounterAuditing[Any]":
        """(0, delta)-DP with the named counter, for `horizon` rounds, or for ever where a max_gap bounds every run."""
        if counter not in COUNTERS:
            raise DeniableError(f"counter must be one of {', '.join(COUNTERS)}, got {counter!r}")
        bounds = [bound for bound in (horizon, rules.max_gap) if bound is not None]
        if not bounds:
            raise DeniableError(
                "counter auditing needs a horizon, the number of rounds its noise must cover, or a max_gap"
            )
        return CounterAuditing(n_targets, COUNTERS[counter](check_delta(delta), min(bounds)), rules=rules)

    def guarantee(self) -> Guarantee:
        """That of one counter, given its past; without a horizon where no run can outlast the counter's."""
        inherited = self.counter.guarantee()
        bounded = self.rules.max_gap is not None and self.rules.max_gap <= self.counter.horizon
        return replace(inherited, horizon=None) if bounded else inherited

    def start(self, runs: int) -> P:
        return self.counter.init(runs, self.n_targets)

    def tally(self, private: P, reports: IntArray, noise: Noise) -> tuple[FloatArray, P]:
        return self.counter.step(private, reports, noise)

    def draw(self, tallied: FloatArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return noise.choose(largest(tallied, eligible))

    def forget(self, private: P, audited: BoolArray) -> P:
        return self.counter.restart(private, audited)

    def active_counts(self, private: P) -> IntArray | None:
        return self.counter.active_counts(private) if isinstance(self.counter, CountKeeper) else None
