"""What counter auditing asks of a continual counter (`def:ccm`)."""

from typing import Protocol, TypeVar, runtime_checkable

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.guarantee import Guarantee
from deniable.noise import Noise

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


@runtime_checkable
class Counter(Protocol[S]):
    """A continual counter that is private given its past, one instance for every run of every target.

    Its guarantee must hold given everything that the instance has shown before the report, for later reports that may
    depend on what is shown, and instances must draw independently: which instance is under way was decided by its own
    outputs. (0, delta) over one run is not enough; see docs/explanation/counters.md, which proves both. Linear counters
    with Gaussian noise meet this.

    The fields of a counter are public; its state is secret, and no method changes the state it is given.
    The outputs of `step` are already private: whatever is computed from them is post-processing.
    """

    @property
    def horizon(self) -> int:
        """The longest run, in rounds, that the guarantee covers."""

    def guarantee(self) -> Guarantee:
        """What the outputs of one instance reveal about one report, given all its outputs before the report."""

    def init(self, runs: int, n_targets: int) -> S:
        """Fresh instances, (B, C) of them."""

    def step(self, state: S, reports: IntArray, noise: Noise) -> tuple[FloatArray, S]:
        """Feed one round of reports, (B, C); returns the noisy active counts, (B, C), and the new state."""

    def restart(self, state: S, audited: BoolArray) -> S:
        """Replace the instances marked in `audited`, (B, C), by fresh ones; nothing of their past remains."""


@runtime_checkable
class CountKeeper(Protocol[S_contra]):
    """A counter whose state holds the true counts."""

    def active_counts(self, state: S_contra) -> IntArray:
        """The reports of every instance since its restart, (B, C). Secret."""
