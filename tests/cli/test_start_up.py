"""What a command loads: nothing that computes before it is known what to compute, and nothing that it does not use."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from deniable.cli.groups import LazyGroup
from deniable.cli.main import Commands, app
from deniable.cli.programme import Commands as OfficeCommands

COMPUTES = {"numpy", "scipy", "numba", "sqlalchemy", "cryptography", "matplotlib", "fastapi", "rich"}
STUDIES = {"scipy", "numba", "matplotlib", "sklearn", "distributed"}
SERVES = {"fastapi", "starlette", "uvicorn"}
OFFICE = {"sqlalchemy", "cryptography", "alembic", "jinja2"}

LOADED = """
import json, sys
from deniable.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def loaded(folder: Path, *args: str) -> set[str]:
    """The packages that are loaded when this command has been run."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *args], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    )
    code, packages = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    return set(packages)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of reports, a programme, and what it published."""
    folder = tmp_path_factory.mktemp("office")
    (folder / "reports.csv").write_text("Ash Mill,Beech Works\n1,0\n0,2\n", encoding="utf-8")
    (folder / "targets.txt").write_text("Ash Mill\nBeech Works\n", encoding="utf-8")
    loaded(folder, "programme", "init", "targets.txt", "--name", "Site visits", "--delta", "0.1")
    loaded(folder, "programme", "publish", "--public", "public")
    return folder


@pytest.mark.parametrize("args", ["--version", "--help", "programme", "programme --help", "serve --help"])
def test_what_computes_is_not_loaded_to_tell_what_there_is(tmp_path: Path, args: str) -> None:
    assert loaded(tmp_path, *args.split()).isdisjoint(COMPUTES)


@pytest.mark.parametrize(
    ("args", "unused"),
    [
        ("audit reports.csv --mechanism race --delta 0.1", STUDIES | SERVES | OFFICE),
        ("plan --targets 3 --delta 0.1 --runs 10", SERVES | OFFICE | {"matplotlib", "sklearn", "distributed"}),
        ("simulate --mechanism race --delta 0.1 --targets 2 --rounds 2 --runs 2 --workers 1",
         SERVES | OFFICE | {"matplotlib", "sklearn", "distributed"}),
        ("evaluate --help", SERVES | OFFICE | {"matplotlib"}),
        ("reproduce --help", SERVES | OFFICE | {"matplotlib"}),
        ("attack --help", SERVES | OFFICE | {"matplotlib", "sklearn"}),
        ("programme status", STUDIES | SERVES | {"alembic"}),
        ("programme report --help", STUDIES | SERVES),
        ("programme certificate --help", STUDIES | SERVES | {"sqlalchemy", "alembic", "argon2", "pyrage"}),
        ("programme verify public", STUDIES | SERVES | {"sqlalchemy", "alembic", "argon2", "pyrage"}),
    ],
)  # fmt: skip
def test_a_command_loads_only_what_it_uses(office: Path, args: str, unused: set[str]) -> None:
    assert loaded(office, *args.split()) & unused == set()


def test_what_is_used_is_noticed(office: Path) -> None:
    """Negative control."""
    assert {"numpy", "sqlalchemy"} <= loaded(office, "programme", "status")


def test_the_library_loads_nothing_before_a_name_is_used() -> None:
    code = "import sys, deniable; print('numpy' in sys.modules); deniable.Race.calibrate(4, 0.1); print(*sys.modules)"
    before, *after = subprocess.check_output([sys.executable, "-c", code], encoding="utf-8").split()
    assert before == "False"
    assert "numpy" in after
    assert {"scipy", "numba"}.isdisjoint(after)


@pytest.mark.parametrize("group", [Commands, OfficeCommands])
def test_a_list_of_commands_says_the_first_sentence_of_their_help(group: type[LazyGroup]) -> None:
    root: Any = get_command(app)
    parent = root if group is Commands else root.get_command(None, "programme")
    for name, listed in group.listed.items():
        first = parent.get_command(None, name).help.partition("\n\n")[0]
        assert listed.summary == " ".join(first.split())
