"""Running the command in tests, and the files it runs on."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

SECRET = "987654"
"""A count that no error and no public file may show."""

GOOD = f"round,target,reports\n1,acme,{SECRET}\n2,bravo,1\n4,charlie,2\n"
RACE = ["--mechanism", "race", "--delta", "0.1"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


def in_a_process(*args: object, **kwargs: Any) -> Result:
    command = [sys.executable, "-m", "deniable", *map(str, args)]
    done = subprocess.run(
        command, check=False, encoding="utf-8", stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE} | kwargs
    )
    return Result(done.returncode, done.stdout or "", done.stderr)


def assert_refused(result: Result, *words: str) -> None:
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert result.err.endswith("\n")
    assert result.err.count("\n") == 1
    assert SECRET not in result.err
    for word in words:
        assert word in result.err
