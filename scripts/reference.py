"""Writes the pages of docs/reference about commands, Python and errors from the code: `python scripts/reference.py`."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

import deniable
from deniable.cli.main import app

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts import error_messages, message_texts

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
WIDTH = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"}
GROUPS = {
    "Mechanisms": ["Race", "CounterAuditing", "RandomizedResponse", "UniformRandom", "Greedy"],
    "Public rules and weights": ["Rules", "History", "forecast", "steady_forecast"],
    "The promise": ["Guarantee"],
    "Audits, one round after another": ["AuditRun", "SystemNoise", "ReplayNoise", "DeniableError"],
    "Studies": ["simulate", "Transcripts", "SimulationNoise", "ReportStream", "transcript_distribution"],
}
"""The names of `deniable`, in the order of the page."""
MODULES = ["counters", "testing"]
RESEARCH: dict[str, list[str]] = {
    "deniable.attack": [
        "play", "find_worst", "search", "Result", "LeakEstimate", "hard_pairs", "moved_pairs", "rivals_needed",
        "report_at", "moved_report", "Pair", "View", "total_variation", "likelihood_ratio", "strongest", "Adversary",
        "Score", "Enumeration", "ClosedForm", "Particles", "BlackBox", "UnsuitableError",
    ],
    "deniable.attack.bounds": ["Event"],
    "deniable.class_guarantees": [],
    "deniable.classed_streams": ["counted", "visited", "ClassedStream"],
    "deniable.curves": ["TotalVariation", "Gaussian", "Exponential"],
    "deniable.mechanisms": ["Mechanism", "State", "calibrate"],
    "deniable.mechanisms.base": ["CountMechanism", "largest", "one_hot"],
    "deniable.noise": ["Noise", "Growth"],
    "deniable.state": ["Secret"],
    "deniable.counters.gaussian": ["calibrated_variance", "next_age", "same_kind", "in_reports", "shown", "forget"],
    "deniable.streams": [
        "add_report", "is_adjacent", "active_counts", "leaders", "misselected", "deficit", "normalized_deficit",
        "resolved",
    ],
    "deniable.promptness": [
        "quiet_waits", "QuietWait", "passed_over", "lead_needed", "least_lead", "most_chance", "is_bound",
        "bounds_lead", "decided_by_gap",
    ],
    "deniable.calibration": [],
    "deniable.utility": [],
    "deniable.report_classes": ["ReportClass"],
    "deniable.report_files": ["read_csv", "read_targets"],
    "deniable.simulation.evaluation": ["Study", "Replay", "score", "Score", "MeanOverRuns"],
    "deniable.simulation.synthetic_streams": ["lead_rates", "poisson", "bursty", "trending", "turns_bad"],
    "deniable.simulation.figures": ["label_lines"],
    "deniable.planning": ["Office", "assess", "Option", "NotCovered", "Wait", "advice"],
    "deniable.rounding": ["rounded_up", "float_above"],
}  # fmt: skip
"""Modules and names of the page's second part; an empty list stands for all functions of the module."""


def command_line() -> str:
    parts = [
        "# Command line",
        "What each command prints with `--help`. This page is written by `python scripts/reference.py`.",
    ]
    for words in _commands(get_command(app), ()):
        shown = CliRunner().invoke(app, [*words, "--help"], prog_name="deniable", env=WIDTH)
        if shown.exit_code:
            raise RuntimeError(shown.output)
        text = "\n".join(line.rstrip() for line in shown.output.strip().splitlines())
        parts.append(f"## `{' '.join(('deniable', *words))}`\n\n```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words of a command and of all below it."""
    yield words
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from _commands(command.get_command(None, name), (*words, name))


def python() -> str:
    listed = {name for names in GROUPS.values() for name in names} | {*MODULES}
    if listed != {*deniable.__all__}:
        raise RuntimeError(f"the page must have the public names, but these differ: {listed ^ {*deniable.__all__}}")
    parts = [
        "# Python",
        "Names and their docstrings; this page is written by `python scripts/reference.py`. The first part, "
        "with `import deniable as dn`, is a contract: what is there stays, and works as it is described. The second, "
        "[for research](#for-research), is what you need for your own mechanisms, counters, attacks and studies; it "
        "may change between minor versions.",
    ]
    for title, names in GROUPS.items():
        parts.append(f"## {title}")
        for name in names:
            parts += _described(f"dn.{name}", getattr(deniable, name), level=3)
    for name in MODULES:
        module = getattr(deniable, name)
        parts += [f"## `dn.{name}`", _prose(inspect.getdoc(module) or "")]
        for public in getattr(module, "__all__", _own_functions(module)):
            thing = getattr(module, public)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                parts += _described(f"dn.{name}.{public}", thing, level=3)
    parts += ["## For research", "What may change between minor versions, module by module."]
    for name, names in RESEARCH.items():
        module = import_module(name)
        parts += [f"### `{name}`", _prose(inspect.getdoc(module) or "")]
        for public in names or _own_functions(module):
            parts += _described(f"{name}.{public}", getattr(module, public), level=4)
    return "\n\n".join(part for part in parts if part) + "\n"


def _own_functions(module: Any) -> list[str]:
    return [
        name
        for name, thing in vars(module).items()
        if inspect.isfunction(thing) and thing.__module__ == module.__name__ and not name.startswith("_")
    ]


def _described(name: str, thing: Any, level: int) -> list[str]:
    parts = [f"{'#' * level} `{name}`", f"```py\n{name}{_arguments(thing)}\n```", _prose(_doc(thing))]
    parts += [f"**`.{field}`**: {_prose(text)}" for field, text in _fields(thing)]
    for member, found in sorted(vars(thing).items()) if inspect.isclass(thing) else ():
        function = getattr(found, "fget", None) or getattr(found, "__func__", found)
        if not member.startswith("_") and inspect.isfunction(function) and function.__doc__:  # no docstring: inherited
            called = "" if isinstance(found, property) else _arguments(function)
            parts.append(f"**`.{member}{called}`**: {_prose(inspect.getdoc(function) or '')}")
    return parts


ARRAYS = {"int64": "IntArray", "float64": "FloatArray", "bool": "BoolArray", "object": "ExactArray", "Any": "Array"}


def _arguments(thing: Any) -> str:
    """Of a call, with annotations as they are written: without the modules that they come from."""
    if isinstance(thing, type) and (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False)):
        return ""
    text = str(inspect.signature(thing))
    text = re.sub(r"<(?:function|class) '?([\w.]+)'?[^>]*>", lambda found: found[1].rpartition(".")[2], text)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z_])", "", text).replace("~", "")
    text = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]", lambda found: ARRAYS[found[1].rstrip("_")], text)
    text = re.sub(r"Union\[_Buffer, .*?\[complex \| bytes \| str\](?:, ([^=]*?))?\](?=[,)]| =)", _array_like, text)
    text = re.sub("-> '(.*)'$", r"-> \1", text)
    text = re.sub(r"^\((?:self|cls)(?:, )?", "(", text)
    return text.removesuffix(" -> None") if inspect.isclass(thing) else text


def _array_like(union: re.Match[str]) -> str:
    return "ArrayLike" + (f" | {union[1].replace('NoneType', 'None')}" if union[1] else "")


def _fields(thing: Any) -> list[tuple[str, str]]:
    """The fields of a class that have a description, which is a string below them and known to the source alone."""
    if not inspect.isclass(thing):
        return []
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    return [
        (field.target.id, inspect.cleandoc(below.value.value))
        for field, below in pairwise(body.body if isinstance(body, ast.ClassDef) else [])
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    ]


def _doc(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    return "" if re.match(r"\w+\(.*\)$", text, re.DOTALL) else text  # what a dataclass writes by itself


def _prose(text: str) -> str:
    """A docstring as Markdown: examples become blocks, and what is no code is escaped."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.lstrip().startswith(">>>"):
            paragraphs.append(f"```pycon\n{inspect.cleandoc(paragraph)}\n```")
        else:
            pieces = re.split(r"(`[^`]*`)", paragraph)
            paragraphs.append(
                "".join(piece if piece[:1] == "`" else re.sub(r"([*_<\[])", r"\\\1", piece) for piece in pieces)
            )
    return "\n\n".join(paragraphs)


LISTED = "## All messages\n"


def errors() -> str:
    """The page about errors: its first part as it is written by hand, and the list of all messages below it."""
    by_hand = (FOLDER / "errors.md").read_text(encoding="utf-8").partition(LISTED)[0]
    parts = [
        f"{by_hand}{LISTED.rstrip()}",
        "Every sentence by which deniable refuses something, by where you meet it: `python scripts/reference.py` reads "
        "them off the code. ⟨name⟩ is filled in; what is in \\[brackets\\] is only sometimes there. What is listed "
        "about a programme, its imports, its files and its keys appears in the console as well as at the command line; "
        "there a sentence never names a file or folder of the server.",
    ]
    for title, texts in error_messages.grouped(message_texts.read()).items():
        parts += [f"### {title}", "\n".join(f"- {_prose(text)}" for text in texts)]
    return "\n\n".join(parts) + "\n"


PAGES = {"cli.md": command_line, "api.md": python, "errors.md": errors}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write(), encoding="utf-8")
