"""Secret states as JSON values and back, for saving, comparing and merging them.

A state is a frozen dataclass of integers, arrays and further such dataclasses.
"""

import dataclasses
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import DeniableError

S = TypeVar("S")

DAMAGED = "the saved run is damaged: it has not the form its mechanism expects; restore it from a backup"

DTYPES = {"exact": np.dtype(object), "int64": np.dtype(np.int64), "float64": np.dtype(np.float64)}


def pack(value: Any) -> Any:
    """The state as JSON values; exact integers stay exact, floats round-trip."""
    if isinstance(value, np.ndarray):
        name = "exact" if value.dtype == object else value.dtype.name
        return {"dtype": name, "shape": list(value.shape), "values": value.ravel().tolist()}
    if dataclasses.is_dataclass(value):
        return {field.name: pack(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def unpack(template: S, packed: Any) -> S:
    """The state that `pack` took apart; `template` is any state of the same mechanism."""
    try:
        state: S = _unpack(template, packed)
    except (KeyError, TypeError, ValueError, OverflowError):
        # From None: the cause may quote a value of the state.
        raise DeniableError(DAMAGED) from None
    return state


def _unpack(template: Any, packed: Any) -> Any:
    if isinstance(template, np.ndarray):
        return _unpack_array(template, **packed)
    if dataclasses.is_dataclass(template) and not isinstance(template, type):
        fields = {field.name: getattr(template, field.name) for field in dataclasses.fields(template)}
        _require(isinstance(packed, dict) and packed.keys() == fields.keys())
        return dataclasses.replace(template, **{name: _unpack(fields[name], packed[name]) for name in fields})
    _require(type(packed) is int and packed >= 0)
    return packed


def _unpack_array(template: NDArray[Any], dtype: str, shape: list[int], values: list[Any]) -> NDArray[Any]:
    # Runs and targets are the last two axes; a history before them may have any length.
    _require(len(shape) == template.ndim)
    _require(tuple(shape[-2:]) == template.shape[-2:])
    # A history is exact or simulated; counts are always integers.
    _require(DTYPES[dtype] == template.dtype or (dtype == "float64" and template.dtype == object))
    _require(all(type(value) is (float if dtype == "float64" else int) for value in values))
    flat = np.empty(len(values), dtype=DTYPES[dtype])
    flat[:] = values
    return flat.reshape(shape)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
