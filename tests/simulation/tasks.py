"""What the sweeps of the tests compute: at the top level of a module, so that worker processes find it."""

import os
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np

import deniable as dn
from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.mechanisms import calibrate
from deniable.simulation import engine


class Task(NamedTuple):
    seed: int
    killer: Path | None = None
    """A file: while it is not there, the task writes it and kills its process."""


def simulated(task: Task) -> IntArray:
    die_once(task.killer)
    streams = np.random.default_rng(task.seed).poisson(0.3, (3, 20, 5))
    # The second one draws in a compiled loop.
    both = (calibrate(name, 5, 0.2, 20) for name in ("race", "tca"))
    return np.stack([dn.simulate(mechanism, streams, seed=task.seed).audits for mechanism in both])


def die_once(killer: Path | None) -> None:
    if killer is not None and not killer.exists():
        killer.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse_two(task: int) -> int:
    if task == 2:
        raise DeniableError("a task must not be 2, got 2")
    return task


def threads(_: int) -> int:
    return engine.THREADS


def process(_: int) -> int:
    return os.getpid()
