"""Functions of the normal distribution, from SciPy, which is loaded when the first of them is called."""

import numpy as np

from deniable.arrays import FloatArray


def erfinv(y: float) -> float:
    """The x with erf(x) = y."""
    from scipy.special import erfinv  # noqa: PLC0415

    return float(erfinv(y))


def ndtr(x: FloatArray | float) -> FloatArray:
    """Phi(x), the probability of at most x."""
    from scipy.special import ndtr  # noqa: PLC0415

    return np.asarray(ndtr(x), dtype=np.float64)


def log_ndtr(x: FloatArray | float) -> FloatArray:
    """Ln Phi(x)."""
    from scipy.special import log_ndtr  # noqa: PLC0415

    return np.asarray(log_ndtr(x), dtype=np.float64)


def ndtri(p: FloatArray | float) -> FloatArray:
    """Phi^-1(p)."""
    from scipy.special import ndtri  # noqa: PLC0415

    return np.asarray(ndtri(p), dtype=np.float64)
