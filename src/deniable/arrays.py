"""The array types of the project. Shapes are in the docstrings: B runs, T rounds, C targets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ExactArray = NDArray[Any]
"""Python integers in an object array on the exact path, float64 in simulation."""
