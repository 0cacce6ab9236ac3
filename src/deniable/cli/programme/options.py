"""Where a programme is and what opens it: options in the same words for all commands, and what they stand for."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from getpass import GetPassWarning, getpass
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.options import KEY, PASSPHRASE, shared
from deniable.errors import DeniableError
from deniable.programme.calendar import system_clock
from deniable.programme.programme import Programme
from deniable.programme.randomness.mirrors import MIRRORS, check_mirrors
from deniable.programme.secrets.keys import Key, KeyFile, Passphrase

NEW_PASSPHRASE = "DENIABLE_NEW_PASSPHRASE"

Reason = Annotated[str, shared("--reason", show_default=False)]
Independent = Annotated[bool, shared("--independent-of-reports")]
Because = Annotated[bool, shared("--because-of-reports")]
Yes = Annotated[bool, shared("--yes")]
Mirrors = Annotated[list[str] | None, shared("--mirror", show_default=False)]


def declared(independent: bool, because: bool) -> bool:
    """Whether the office declares a decision independent of the reports; it must say the one or the other."""
    if independent == because:
        raise DeniableError(
            "give either --independent-of-reports or --because-of-reports, "
            f"got {'both' if because else 'neither'}: the public must know whether the promise covers this"
        )
    return independent


def confirm(programme: Programme, *, because: bool, yes: bool) -> None:
    """Before a decision because of reports is recorded, show which reports lose the promise, and ask."""
    if because and not yes:
        words = programme.foresight.consequence(programme.parameters.voice()).words
        if typed(f"{words} To record the decision, type yes: ") != "yes":
            raise DeniableError("the decision was not confirmed, and nothing was changed; in a script, give --yes")


now = system_clock


def chosen_mirrors(given: Sequence[str] | None) -> Sequence[str]:
    """The mirrors of --mirror, or the usual ones."""
    return check_mirrors(given) if given else MIRRORS


@contextmanager
def opened(database: str, key: Key | None = None) -> Iterator[Programme]:
    """The programme in this database; without its key, the public half of it."""
    programme = Programme.open(database, key, clock=now)
    try:
        yield programme
    finally:
        programme.close()


@contextmanager
def unlocked(database: str, file: Path | None, passphrase: bool) -> Iterator[Programme]:
    """The programme in this database, with the key that the options --key and --passphrase name."""
    with opened(database, key_of(database, file, passphrase)) as programme:
        yield programme


def key_of(database: str, file: Path | None, passphrase: bool, *, new: bool = False) -> Key:
    """The programme's key as the options, or else the environment, name it; a new passphrase is asked for twice."""
    if file is not None and passphrase:
        raise DeniableError("give either --key or --passphrase, got both")
    if file is not None:
        return KeyFile(file)
    if passphrase:
        return Passphrase(passphrase_of(PASSPHRASE, "Passphrase of the programme", new=new))
    if named := os.environ.get(KEY):
        return KeyFile(Path(named))
    if given := os.environ.get(PASSPHRASE):
        return Passphrase(given)
    beside = _key_beside(database)
    if beside is None:
        raise DeniableError(
            "with this database the key must be named: --key FILE for a key file, or --passphrase to be asked for it"
        )
    return KeyFile(beside)


def key_files(database: str) -> list[Path]:
    """Where the key is if it is a file that the environment or the database's name tells; for who needs no key."""
    named = os.environ.get(KEY)
    return [path for path in (Path(named) if named else None, _key_beside(database)) if path is not None]


def _key_beside(database: str) -> Path | None:
    """Where the key file is if no option names one; None where the database is not a file."""
    name = database.removeprefix("sqlite:///")
    return None if "://" in name else Path(name).with_suffix(".key")


def typed(prompt: str) -> str:
    """What is typed at the terminal, or comes in its place."""
    typer.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not line.endswith("\n"):  # no terminal: what follows begins a line of its own
        typer.echo(err=True)
    return line.strip()


def passphrase_of(variable: str, prompt: str, *, new: bool) -> str:
    """From the environment, or asked at the terminal without showing it."""
    if given := os.environ.get(variable):
        return given
    typed = _asked(prompt, variable)
    if new and _asked("Repeat passphrase", variable) != typed:
        raise DeniableError("the two passphrases must be the same, and are not; nothing was changed")
    return typed


def _asked(prompt: str, variable: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)  # it would show what is typed
            return getpass(f"{prompt}: ")
    except (GetPassWarning, EOFError):
        raise DeniableError(
            f"the passphrase can only be typed at a terminal; without a terminal, set {variable} to it"
        ) from None
