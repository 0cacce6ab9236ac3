"""What the fields of the transcript's entries may hold."""

from typing import Any

import pytest

from deniable.errors import DeniableError
from deniable.programme.transcript.fields import MAX_NUMBER, whole


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (0, "rounds must be a whole number of at least 1"),
        ("2", "rounds must be a whole number of at least 1"),
        (10**18, f"rounds must be at most {MAX_NUMBER:,}"),
    ],
)
def test_a_number_that_cannot_be_says_which_limit_it_misses(value: Any, why: str) -> None:
    with pytest.raises(DeniableError, match=why):
        whole(1)("rounds", value)
    assert whole(1)("rounds", MAX_NUMBER) == MAX_NUMBER
