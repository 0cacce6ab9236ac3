"""The random numbers of a draw follow from the seed and from everything that goes into the draw."""

import numpy as np
import pytest

from deniable.programme.secrets.sealed_inputs import noise_of_round

INPUTS = {"programme": "ab" * 16, "number": 3, "seed": bytes(32), "run": b"run", "reports": np.array([[1, 0, 2]])}


def taken(**changes: object) -> bytes:
    return noise_of_round(**{**INPUTS, **changes})._take(32)  # type: ignore[arg-type]


def test_the_same_inputs_give_the_same_numbers() -> None:
    assert taken() == taken()


@pytest.mark.parametrize(
    "changes",
    [
        {"programme": "cd" * 16},
        {"number": 4},
        {"seed": bytes(31) + b"1"},
        {"run": b"another run"},
        {"reports": np.array([[1, 0, 3]])},
        {"reports": np.array([[1, 0, 2, 0]])},
    ],
)
def test_any_other_input_gives_other_numbers(changes: dict[str, object]) -> None:
    assert taken(**changes) != taken()
