"""Secret states as bytes or JSON values and back, for saving, comparing and merging; for more targets or fewer runs.

A state is a frozen dataclass of whole numbers, arrays and further such dataclasses. The last two axes of every array
are runs and targets.
"""

import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.arrays import BoolArray
from deniable.errors import DeniableError

S = TypeVar("S")

DAMAGED = (
    "the saved run is damaged; restore the copy saved after the last published round, "
    "and no older one, which would count audited reports again"
)

DTYPES = {"exact": object, "int64": np.int64, "float64": np.float64, "bool": np.bool_}
_WIDTHS = {"exact": 24, "int64": 8, "float64": 8, "bool": 1}
"""In bytes, whatever the value."""
_DIGITS = 20


class Secret:
    """A dataclass (with repr=False) that shows none of its values, in logs, debuggers and tracebacks alike."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(secret)"


def pack(value: Any) -> Any:
    """The state as JSON values; exact integers stay exact, floats round-trip."""
    if isinstance(value, np.ndarray):
        return {"dtype": _name(value), "shape": list(value.shape), "values": value.ravel().tolist()}
    if dataclasses.is_dataclass(value):
        return {name: pack(inner) for name, inner in _fields(value).items()}
    return value


def dump(state: Any) -> bytes:
    """The state as bytes, whose length depends on its shapes alone: a line of JSON that says them, and every array."""
    arrays = [*_arrays(state)]
    shapes = [{"dtype": _name(array), "shape": list(array.shape)} for array in arrays]
    numbers = [str(number).zfill(_DIGITS) for number in _numbers(state)]
    header = json.dumps({"arrays": shapes, "numbers": numbers}).encode() + b"\n"
    return header + b"".join(map(_to_bytes, arrays))


def load(template: S, dumped: bytes) -> S:
    """The state that `dump` wrote; `template` is any state of the same mechanism, for any number of targets."""
    try:
        header, _, body = dumped.partition(b"\n")
        stored = json.loads(header)
        arrays, at = list[NDArray[Any]](), 0
        for of_template, described in zip(_arrays(template), stored["arrays"], strict=True):
            arrays.append(_from_bytes(of_template, described["dtype"], described["shape"], body, at))
            at += arrays[-1].size * _WIDTHS[described["dtype"]]
        _require(at == len(body))
        _require(len({array.shape[-2:] for array in arrays}) == 1)
        numbers = [int(number) for number in stored["numbers"]]
        _require(len(numbers) == len([*_numbers(template)]) and min(numbers, default=0) >= 0)
        state: S = _filled(template, iter(arrays), iter(numbers))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, StopIteration):
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


def _filled(template: Any, arrays: Iterator[NDArray[Any]], numbers: Iterator[int]) -> Any:
    if isinstance(template, np.ndarray):
        return next(arrays)
    if dataclasses.is_dataclass(template) and not isinstance(template, type):
        filled = {name: _filled(inner, arrays, numbers) for name, inner in _fields(template).items()}
        return dataclasses.replace(template, **filled)
    return next(numbers)


def _to_bytes(array: NDArray[Any]) -> bytes:
    if array.dtype == object:
        return b"".join(int(value).to_bytes(_WIDTHS["exact"], "little", signed=True) for value in array.ravel())
    return bytes(array.astype(array.dtype.newbyteorder("<")).tobytes())


def _from_bytes(template: NDArray[Any], dtype: str, shape: list[int], body: bytes, at: int) -> NDArray[Any]:
    # A history before the last two axes may have any length.
    _require(len(shape) == template.ndim and shape[-2] == template.shape[-2])
    # A history is exact or simulated; counts are always integers.
    _require(DTYPES[dtype] == template.dtype or (dtype == "float64" and template.dtype == object))
    size, width = math.prod(shape), _WIDTHS[dtype]
    _require(size >= 0 and len(body) >= at + size * width)
    if dtype == "exact":
        places = range(at, at + size * width, width)
        read: NDArray[Any] = np.empty(size, dtype=object)
        read[:] = [int.from_bytes(body[place : place + width], "little", signed=True) for place in places]
    else:
        read = np.frombuffer(body, np.dtype(DTYPES[dtype]).newbyteorder("<"), size, at).astype(DTYPES[dtype])
    _require(dtype != "int64" or bool(((read >= 0) & (read < 2**62)).all()))  # counts, ages and rounds
    return read.reshape(shape)


def _fields(state: Any) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}


def _arrays(state: Any) -> Iterator[NDArray[Any]]:
    if isinstance(state, np.ndarray):
        yield state
    elif dataclasses.is_dataclass(state):
        for inner in _fields(state).values():
            yield from _arrays(inner)


def _numbers(state: Any) -> Iterator[int]:
    if isinstance(state, int):
        yield state
    elif dataclasses.is_dataclass(state):
        for inner in _fields(state).values():
            yield from _numbers(inner)


def _name(array: NDArray[Any]) -> str:
    return "exact" if array.dtype == object else str(array.dtype.name)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
