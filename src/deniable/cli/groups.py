"""Groups whose commands are imported when they are called: `--help` and `--version` load nothing that computes."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from deniable.errors import DeniableError, pip_install


class Listed(NamedTuple):
    """Where a command is, and what a list of commands says of it: the first sentence of its help."""

    module: str
    summary: str


class LazyGroup(TyperGroup):
    """A group that knows its commands by name and summary, and imports one when it is called.

    The module of a command, in the package, has a Typer app called `commands` with the command in it.
    """

    package: ClassVar[str]
    listed: ClassVar[Mapping[str, Listed]]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.listed)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.listed:
            names: Any = dict.fromkeys(self.listed)  # for the suggestion of what was meant
            self.commands = names
            return None
        return _command(f"{self.package}.{self.listed[cmd_name].module}", cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.summary) for name, one in self.listed.items()])


class Command(TyperCommand):
    """A command whose help names its arguments without the braces and the types of newer versions of Typer."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        without_types: Any = _WithoutTypes(formatter)
        super().format_options(ctx, without_types)


class _WithoutTypes:
    """A formatter of help that leaves out the Python type which stands behind an argument's name."""

    def __init__(self, formatter: Any) -> None:
        self._formatter = formatter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._formatter, name)

    def write_dl(self, rows: Any, *rest: Any, **settings: Any) -> None:
        named = [(re.sub(r"^([A-Z_]+) <.*>$", r"\1", name), meaning) for name, meaning in rows]
        self._formatter.write_dl(named, *rest, **settings)


def imported(name: str) -> ModuleType:
    """A module that may need the extra `programme`; refused in a sentence where that is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise DeniableError(
            f"an audit programme needs {error.name}, which is not installed: "
            f"run {pip_install('programme')} in a copy of the project"
        ) from None


@cache
def _command(module: str, name: str) -> Any:
    return get_group(imported(module).commands).commands[name]
