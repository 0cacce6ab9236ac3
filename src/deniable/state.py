"""Secret states as JSON values and back, for saving, comparing and merging them; for more targets, or fewer runs.

A state is a frozen dataclass of whole numbers, arrays and further such dataclasses. The last two axes of every array
are runs and targets.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.arrays import BoolArray
from deniable.errors import MAX_REPORTS, DeniableError

S = TypeVar("S")

DAMAGED = (
    "the saved run is damaged; restore the copy saved after the last published round, "
    "and no older one, which would count audited reports again"
)

DTYPES = {"exact": object, "int64": np.int64, "float64": np.float64, "bool": np.bool_}
VALUES = {"exact": int, "int64": int, "float64": float, "bool": bool}


class Secret:
    """A dataclass (with repr=False) that shows none of its values, in logs, debuggers and tracebacks alike."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(secret)"


def pack(value: Any) -> Any:
    """The state as JSON values; exact integers stay exact, floats round-trip."""
    if isinstance(value, np.ndarray):
        name = "exact" if value.dtype == object else value.dtype.name
        return {"dtype": name, "shape": list(value.shape), "values": value.ravel().tolist()}
    if dataclasses.is_dataclass(value):
        return {name: pack(inner) for name, inner in _fields(value).items()}
    return value


def most_bytes(state: Any, rounds: int) -> int:
    """The most bytes that `pack`ing such a state into JSON can take after this many rounds, whatever its values."""
    count = len(str(MAX_REPORTS * (rounds + 1))) + 1
    widths = {np.dtype(object): 40, np.dtype(np.float64): 26, np.dtype(np.bool_): 6, np.dtype(np.int64): count}
    return 4096 + sum(array.size * widths[array.dtype] for array in _arrays(state))


def unpack(template: S, packed: Any) -> S:
    """The state that `pack` took apart; `template` is any state of the same mechanism, for any number of targets."""
    try:
        state: S = _unpack(template, packed)
        _require(len({array.shape[-2:] for array in _arrays(state)}) == 1)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise DeniableError(DAMAGED) from None  # the cause may quote a value of the state
    return state


def with_more_targets(state: S, n: int) -> S:
    """The state with n more targets behind the others, all zeros: nothing is known about them yet."""
    if isinstance(state, np.ndarray):
        # Not np.pad, which would fill up Python integers with fixed-width ones.
        return np.concatenate([state, np.zeros((*state.shape[:-1], n), dtype=state.dtype)], axis=-1)  # type: ignore[return-value]
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        wider = {name: with_more_targets(inner, n) for name, inner in _fields(state).items()}
        return dataclasses.replace(state, **wider)
    return state


def of_runs(state: S, runs: BoolArray) -> S:
    """The state of some of its runs alone: `runs`, (B,), says which."""
    if isinstance(state, np.ndarray):
        return state[..., runs, :]  # type: ignore[return-value]
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        fewer = {name: of_runs(inner, runs) for name, inner in _fields(state).items()}
        return dataclasses.replace(state, **fewer)
    return state


def _unpack(template: Any, packed: Any) -> Any:
    if isinstance(template, np.ndarray):
        return _unpack_array(template, **packed)
    if dataclasses.is_dataclass(template) and not isinstance(template, type):
        fields = _fields(template)
        _require(isinstance(packed, dict) and packed.keys() == fields.keys())
        return dataclasses.replace(template, **{name: _unpack(fields[name], packed[name]) for name in fields})
    _require(type(packed) is int and packed >= 0)
    return packed


def _unpack_array(template: NDArray[Any], dtype: str, shape: list[int], values: list[Any]) -> NDArray[Any]:
    # A history before the last two axes may have any length.
    _require(len(shape) == template.ndim and shape[-2] == template.shape[-2])
    # A history is exact or simulated; counts are always integers.
    _require(DTYPES[dtype] == template.dtype or (dtype == "float64" and template.dtype == object))
    _require(all(type(value) is VALUES[dtype] for value in values))
    _require(dtype != "int64" or all(0 <= value < 2**62 for value in values))  # counts, ages and rounds
    flat: NDArray[Any] = np.empty(len(values), dtype=DTYPES[dtype])
    flat[:] = values
    return flat.reshape(shape)


def _fields(state: Any) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}


def _arrays(state: Any) -> Iterator[NDArray[Any]]:
    if isinstance(state, np.ndarray):
        yield state
    elif dataclasses.is_dataclass(state):
        for inner in _fields(state).values():
            yield from _arrays(inner)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
