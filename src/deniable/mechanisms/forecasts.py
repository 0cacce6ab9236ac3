"""Public weights for race that are learnt from the past transcript (figures: docs/explanation/weights.md)."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from deniable.arrays import FloatArray
from deniable.rules import History

# Roots are floored to this many bits after the point.
ROOT_BITS = 32
# Rounds and audits beyond so many make no difference to `forecast`.
MOST = 2**20 - 1


def steady_forecast(history: History) -> FloatArray:
    """Weights for report rates that last: the reports to expect at each target if rates never change.

    (rounds since the last audit) * (2 + audits) / (2 C + rounds).
    """
    waiting: FloatArray = (history.since + 1) * (2 + history.audits) / (2 * history.last.shape[1] + history.rounds)
    return waiting


def forecast(history: History) -> FloatArray:
    """Weights that lean towards targets audited often and long ago, and not as far as `steady_forecast`.

    (rounds since the last audit)**0.4 * (1 + audits)**0.8, up to a factor that all targets share. Roots come from a
    table of whole numbers, and all else is single multiplications, so every machine gets the same.
    """
    age, audits = np.minimum(history.since + 1, MOST), np.minimum(1 + history.audits, MOST)
    roots = _roots(int(max(age.max(), audits.max())).bit_length())
    often = roots[audits]
    weights: FloatArray = often * often * roots[age]
    return weights


FORECASTS: dict[str, Callable[[History], FloatArray]] = {"forecast": forecast, "steady-forecast": steady_forecast}
"""By name, in programmes and on the command line."""


@lru_cache(maxsize=32)
def _roots(bits: int) -> FloatArray:
    """floor(n**(2/5) * 2**ROOT_BITS) for every n below 2**bits."""
    roots = np.array([floored_root(n) for n in range(1 << bits)], dtype=np.float64)
    roots.flags.writeable = False
    return roots


def floored_root(n: int) -> int:
    """floor(n**(2/5) * 2**ROOT_BITS), exact: a guess in floating point, then put right in whole numbers.

    >>> floored_root(32) == 4 << ROOT_BITS
    True
    """
    power = n * n << 5 * ROOT_BITS
    root = int(n**0.4 * 2**ROOT_BITS)
    while root**5 > power:
        root -= 1
    while (root + 1) ** 5 <= power:
        root += 1
    return root
