from typing import Any

import numba
import pytest

from deniable.compiling import compiled


def test_a_loop_is_compiled_even_where_nothing_can_be_kept() -> None:
    """A function without a file is one for which Numba finds no folder."""
    made: dict[str, Any] = {}
    exec("def doubled(x):\n    return 2 * x", made)
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(made["doubled"])
    loop = compiled(nogil=True)(made["doubled"])
    assert loop(21) == 42
    assert loop.nopython_signatures
