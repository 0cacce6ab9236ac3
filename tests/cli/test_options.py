"""One set of options: a name means the same in every command, and a thing has one name."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.running import Run, assert_refused
from typer.main import get_command

from deniable.cli.main import app
from deniable.cli.options import OPTIONS, deltas, one_delta
from deniable.errors import DeniableError

OTHER_NAMES = {
    "--counts": "--show-counts, or --out for a file of them",
    "--deltas": "--delta",
    "--dir": "--out",
    "--figure": "--chart",
    "--first": "--start",
    "--folder": "--public, or --out",
    "--last": "--end",
    "--n-targets": "--targets",
    "--output": "--out",
    "--picture": "--chart",
    "--plot": "--chart",
    "--programme": "--database",
    "--publish": "--public",
    "--reports": "--stream",
    "--to": "--end",
    "--until": "--end",
}
"""Names that are not used -> what the same thing is called."""


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with what is typed for it."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


def options() -> Iterator[tuple[str, str, Any]]:
    """Command, name of the option, and the option."""
    for words, command in commands(get_command(app)):
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                for name in parameter.opts:
                    yield words, name, parameter


def wrong_with(found: list[tuple[str, str, Any]]) -> list[str]:
    """What is wrong with a set of options."""
    wrong = [f"{words}: {name} is called {OTHER_NAMES[name]}" for words, name, _ in found if name in OTHER_NAMES]
    seen: dict[str, Any] = {}
    for words, name, option in found:
        if name in OPTIONS:
            if not option.help.startswith(OPTIONS[name].meaning):
                wrong.append(f"{words}: {name} must have the words that are declared in cli/options.py")
        elif name in seen:
            wrong.append(f"{words}: {name} is an option of several commands, so cli/options.py must declare it")
        if name in seen and _kind(seen[name]) != _kind(option):
            wrong.append(f"{words}: {name} is of another kind elsewhere")
        seen.setdefault(name, option)
    return wrong


def _kind(option: Any) -> tuple[bool, str]:
    """Whether it is a flag, and what it takes; attack takes the name of a stream instead of a file."""
    return option.is_flag, str(option.metavar).partition("|")[0]


def test_an_option_means_the_same_in_every_command() -> None:
    assert wrong_with(list(options())) == []


def test_every_declared_option_is_used() -> None:
    assert {name for _, name, _ in options()} >= OPTIONS.keys()


def test_help_refers_to_no_page_that_is_not_installed() -> None:
    """A wheel has no docs."""
    told = [(words, command.help or "") for words, command in commands(get_command(app))]
    told += [(f"{words} {name}", option.help or "") for words, name, option in options()]
    assert [words for words, text in told if "docs/" in text] == []


def test_what_differs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    found = list(options())
    _, _, option = next(one for one in found if one[1] == "--seed")
    monkeypatch.setattr(option, "help", "Where the dice begin.")
    assert len(wrong_with(found)) == 1
    (port,) = (one for _, other, one in found if other == "--port")
    assert len(wrong_with([("serve", "--port", port), ("plan", "--port", port)])) == 1
    assert len(wrong_with([("plan", "--figure", port)])) == 1


@pytest.mark.parametrize(
    ("typed", "found"), [(None, []), (["0.1"], [0.1]), (["0.1,0.2"], [0.1, 0.2]), (["0.1", "0.2,0.3"], [0.1, 0.2, 0.3])]
)
def test_several_deltas(typed: list[str] | None, found: list[float]) -> None:
    assert deltas(typed) == found


@pytest.mark.parametrize("typed", ["0,1", "10%", "", "0.1,", "0.1,0.1", "0.1,1"])
def test_what_is_no_delta_is_refused(typed: str) -> None:
    with pytest.raises(DeniableError, match=r"delta must be|each --delta once"):
        deltas([typed])


def test_one_delta_is_one() -> None:
    assert one_delta(["0.2"]) == 0.2
    with pytest.raises(DeniableError, match="takes one --delta, got 2"):
        one_delta(["0.1", "0.2"])


@pytest.mark.parametrize(
    "command", ["plan --targets 5", "attack --mechanism race", "programme init targets.txt --name x"]
)
def test_a_command_that_has_one_delta_says_so(run: Run, command: str) -> None:
    assert_refused(run(*command.split(), "--delta", "0.1,0.2"), "takes one --delta")


def test_simulate_compares_several_deltas(run: Run) -> None:
    args = "simulate --mechanism greedy,race --targets 3 --rounds 4 --runs 2 --workers 1 --delta 0.1,0.3 --json"
    code, out, _ = run(*args.split())
    assert code == 0
    assert out.count('"mechanism": "race"') == 2
    assert out.count('"mechanism": "greedy"') == 1
