"""A row of docs/benchmarks.md: a figure of deniable beside the same figure of a peer."""

from typing import NamedTuple


class Row(NamedTuple):
    """What `main` of a benchmark returns. Less is better in every row: time, deficit, what a watcher knows."""

    what: str
    ours: float
    peer: str
    theirs: float
    unit: str

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs
