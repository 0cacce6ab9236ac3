"""The shape of the code: every file says what it is for and is short enough to read, and the public names are those
that were agreed on.
"""

import ast
from pathlib import Path
from types import ModuleType

import pytest

import deniable as dn

SOURCE = Path(dn.__file__).parent
LONGEST = 400
FILES = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}

PUBLIC = {
    *("Greedy", "UniformRandom", "RandomizedResponse", "CounterAuditing", "Race"),
    *(
        "Rules",
        "History",
        "forecast",
        "steady_forecast",
    ),  # a function of one's own for the weights of race is given a History
    *("Guarantee", "AuditRun", "ReportStream", "DeniableError"),
    *("SystemNoise", "ReplayNoise", "SimulationNoise"),
    *("simulate", "Transcripts", "transcript_distribution"),
    *("counters", "testing"),
}
"""A contract: programs are written against these names."""
COUNTERS = {"toeplitz", "blt", "tree", "input_perturbation", "output_perturbation", "dense"}


def wrong_with(text: str) -> list[str]:
    """What is wrong with a file."""
    wrong = []
    docstring = ast.get_docstring(ast.parse(text)) or ""
    first = " ".join(docstring.partition("\n\n")[0].split())
    if not first.endswith("."):
        wrong.append("must begin with a docstring whose first paragraph is a sentence that says what it is for")
    lines = text.count("\n")
    if lines > LONGEST:
        wrong.append(f"must have at most {LONGEST} lines, has {lines}: split it by idea")
    return wrong


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_says_what_it_is_for_and_can_be_read_at_once(name: str) -> None:
    assert wrong_with(FILES[name]) == []


@pytest.mark.parametrize(
    "text", ["", "import os\n", '"""No sentence"""\n', '"""Too long."""\n' + "pass\n" * LONGEST, "# A comment.\n"]
)
def test_a_file_that_does_not_is_found(text: str) -> None:
    """Negative control."""
    assert len(wrong_with(text)) == 1


def test_no_two_files_are_for_the_same() -> None:
    said = [ast.get_docstring(ast.parse(text)) for text in FILES.values()]
    assert len(set(said)) == len(said)


def test_the_public_names() -> None:
    assert set(dn.__all__) == PUBLIC
    assert list(dn.__all__) == sorted(dn.__all__)
    assert all(hasattr(dn, name) for name in dn.__all__)


def test_nothing_is_public_by_accident() -> None:
    """Besides the contract there are the package's own modules, as Python puts them there, and nothing else."""
    others = {name: thing for name, thing in vars(dn).items() if not name.startswith("_") and name not in PUBLIC}
    for name, thing in others.items():
        assert isinstance(thing, ModuleType), name
        assert thing.__name__ == f"deniable.{name}"


def test_the_counters() -> None:
    assert {name for name in COUNTERS if callable(getattr(dn.counters, name, None))} == COUNTERS
