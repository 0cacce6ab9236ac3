"""Numba's loops give what their text says when Python itself runs it.

It is also how their lines come into the coverage: a compiled line cannot be seen, and counts as run only in the process
that is started here.
"""

import json
import os
import subprocess
import sys

import numpy as np
from tests.compiled_loops import is_compiled, results


def same(one: dict[str, list[float]], other: dict[str, list[float]]) -> bool:
    return list(one) == list(other) and all(np.allclose(one[name], other[name], rtol=1e-9, atol=1e-9) for name in one)


def test_compiled_or_not_they_give_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.compiled_loops"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    interpreted = json.loads(done.stdout)
    assert is_compiled()
    assert not interpreted["compiled"]
    assert same(results(), interpreted["results"])
    assert not same(results(seed=1), interpreted["results"])
