"""Processes of their own, forked from one that has everything imported and no database open."""

import multiprocessing
import os
from multiprocessing.context import ForkServerContext
from pathlib import Path

CONTEXT: ForkServerContext = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "alembic.command", "psycopg", "hypothesis", "deniable.programme.programme"])


class Log:
    """What a process did, line by line, in a file that outlives it however it ends."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def say(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())
