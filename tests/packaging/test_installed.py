"""deniable as a user installs it: from the wheel, in an empty environment, alone and with each extra by itself.

`bench` is left out: it brings JAX, which deniable itself never imports.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from tests.packaging.building import ROOT, Built

pytestmark = pytest.mark.long

REPORTS = "round,target,reports\n1,Ash Mill,2\n1,Beech Works,0\n2,Ash Mill,1\n2,Beech Works,3\n"
BLACK_BOX = """
import deniable as dn
from deniable.attack import BlackBox, play, report_at
print(play(dn.Greedy(2), report_at("", [[1, 0], [0, 1]], 0), 400, adversary=BlackBox()))
"""
ON_A_CLUSTER = """
from distributed import LocalCluster
from deniable.cli.main import main
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
                      dashboard_address=None) as cluster:
        raise SystemExit(main("simulate --mechanism race --delta 0.1 --targets 3 --rounds 4 --runs 2 --cluster".split()
                              + [cluster.scheduler_address]))
"""
BEACON = """
from deniable.programme.randomness.drand import QUICKNET, Beacon, check_beacons
signature = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"
check_beacons(QUICKNET, [Beacon(1000, signature)])
"""
SERVED = """
import re, signal, subprocess, sys, urllib.request
serving = subprocess.Popen([sys.executable, "-m", "deniable", "serve", "--demo", "--port", "0"],
                           stdout=subprocess.PIPE, text=True)
try:
    address = next(found[1] for line in serving.stdout if (found := re.search(r"is at (http://\\S+)", line)))
    with urllib.request.urlopen(address + "/login") as answer:
        style = re.search(r'href="(/static/style[^"]+)"', answer.read().decode())[1]
    with urllib.request.urlopen(address + style) as answer:
        assert answer.status == 200
finally:
    serving.send_signal(signal.SIGTERM)
    serving.wait()
"""
FIRST_RUN = """
import re, signal, subprocess, sys, urllib.request
serving = subprocess.Popen([sys.executable, "-m", "deniable", "serve", "--port", "0"],
                           stdout=subprocess.PIPE, text=True)
try:
    address = next(found[0] for line in serving.stdout if (found := re.search(r"http://\\S+/first-run/\\S+", line)))
    for path in (address, address + "/qr.png"):
        with urllib.request.urlopen(path) as answer:
            assert answer.status == 200
finally:
    serving.send_signal(signal.SIGTERM)
    serving.wait()
"""
CHARTS = [
    "plan --targets 5 --delta 0.1 --chart plan.png",
    "attack --mechanism race --delta 0.1 --targets 2 --rounds 3 --chart attack.svg",
    "evaluate reports.csv --workers 1 --chart evaluate.png",
]
ON_CLUSTER = "simulate --mechanism race --delta 0.1 --targets 3 --rounds 4 --runs 2 --cluster tcp://127.0.0.1:9"
POSTGRES = "programme status --database postgresql://nobody@127.0.0.1:9/nothing"


class Environment:
    """A virtual environment with its own folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.work = folder / "work"

    def run(self, *command: str | Path) -> "subprocess.CompletedProcess[str]":
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DENIABLE", "COV"))
        }
        return subprocess.run(
            [self.python, *command], cwd=self.work, env=clean, capture_output=True, text=True, check=False
        )

    def pip(self, *wanted: str | Path) -> None:
        done = self.run("-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", *wanted)
        assert done.returncode == 0, done.stderr

    def works(self, command: str) -> str:
        done = self.run("-m", "deniable", *shlex.split(command))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def computes(self, text: str) -> None:
        """From a file, since a worker of a cluster imports what its parent ran."""
        (self.work / "script.py").write_text(text)
        done = self.run("script.py")
        assert done.returncode == 0, done.stderr

    def misses(self, command: str, extra: str) -> None:
        """One line names what to install, and nothing was written."""
        before = sorted(self.work.iterdir())
        done = self.run("-m", "deniable", *command.split())
        assert done.returncode == 2, done.stderr
        command = rf"\S+ -m pip install -c constraints\.txt '\.\[{extra}\]'"
        wanted = rf"error: [^\n]* run {command} in a copy of the project\n"
        assert re.fullmatch(wanted, done.stderr), done.stderr
        assert done.stdout == ""
        assert sorted(self.work.iterdir()) == before


@pytest.fixture(scope="session")
def core(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("core") / "environment")
    subprocess.run([sys.executable, "-m", "venv", made.folder], check=True)
    made.work.mkdir()
    (made.work / "reports.csv").write_text(REPORTS)
    (made.work / "targets.txt").write_text("Ash Mill\nBeech Works\n")
    made.pip(built.wheel)
    return made


@pytest.fixture
def with_extra(core: Environment, built: Built, tmp_path: Path) -> Callable[[str], Environment]:
    """The core's environment once more, by hard links, and one extra."""

    def install(extra: str) -> Environment:
        made = Environment(tmp_path / "environment")
        shutil.copytree(core.folder, made.folder, symlinks=True, copy_function=os.link)
        made.pip(f"{built.wheel}[{extra}]")
        return made

    return install


def test_core(core: Environment) -> None:
    done = core.run("-c", "import deniable as dn; print(dn.AuditRun(dn.Race.calibrate(2, 0.1)).step([3, 0]) in (0, 1))")
    assert (done.stdout, done.stderr) == ("True\n", "")
    command = core.folder / "bin" / "deniable"
    assert subprocess.run([command, "--version"], capture_output=True, check=True).stdout.startswith(b"deniable 0.")
    assert "race" in core.works("plan --targets 5 --delta 0.1")
    assert "transcript" in core.works("audit reports.csv --mechanism race --delta 0.1 --json")
    core.works("simulate --mechanism tca --delta 0.1 --targets 3 --rounds 4 --runs 2")
    core.works("attack --mechanism race --delta 0.1 --targets 2 --rounds 3")


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        *((command, "research") for command in CHARTS),
        ("reproduce --out results", "research"),
        (ON_CLUSTER, "research"),
        ("programme status", "programme"),
        ("programme init targets.txt --name Visits --delta 0.1", "programme"),
        ("programme verify public", "programme"),
        ("witness public --key witness.key", "programme"),
        ("serve", "console"),
        ("serve --demo", "console"),
    ],
)
def test_core_names_the_extra_that_is_missing(core: Environment, command: str, extra: str) -> None:
    core.misses(command, extra)


def test_core_has_no_black_box(core: Environment) -> None:
    done = core.run("-c", BLACK_BOX)
    assert done.stderr.splitlines()[-1].endswith("-c constraints.txt '.[research]' in a copy of the project")


def test_core_checks_no_beacons(core: Environment) -> None:
    done = core.run("-c", BEACON)
    assert done.stderr.splitlines()[-1].endswith("-c constraints.txt '.[programme]' in a copy of the project")


def test_research(with_extra: Callable[[str], Environment]) -> None:
    installed = with_extra("research")
    for command in CHARTS:
        installed.works(command)
        assert (installed.work / command.split()[-1]).stat().st_size > 1000
    installed.computes(BLACK_BOX)
    installed.computes(ON_A_CLUSTER)


def test_programme(with_extra: Callable[[str], Environment]) -> None:
    installed = with_extra("programme")
    installed.works("programme init targets.txt --name Visits --delta 0.1 --start 2026-01-05")
    installed.works("programme publish --public public")
    installed.works("programme report 'Ash Mill' 3")
    assert "Round 1" in installed.works("programme close-round --reason Late")
    installed.works("programme publish")
    assert "index.html says what the transcript says" in installed.works("programme verify public")
    installed.computes(BEACON)
    installed.misses(POSTGRES, "postgres")
    installed.misses("serve", "console")


def test_postgres(with_extra: Callable[[str], Environment]) -> None:
    """A driver, and nothing to do with it."""
    installed = with_extra("postgres")
    assert installed.run("-c", "import psycopg").returncode == 0
    installed.misses(POSTGRES, "programme")


def test_console(with_extra: Callable[[str], Environment]) -> None:
    installed = with_extra("console")
    installed.computes(SERVED)
    installed.computes(FIRST_RUN)


def test_the_bill_of_materials_is_what_pip_installs(with_extra: Callable[[str], Environment], built: Built) -> None:
    installed = with_extra("console,postgres,research").run("-m", "pip", "list", "--format", "json")
    bill = json.loads(built.bill.read_text())
    listed = {(one["name"], one["version"]) for one in (bill["metadata"]["component"], *bill["components"])}
    there = {(canonicalize_name(one["name"]), one["version"]) for one in json.loads(installed.stdout)}
    assert {one for one in there if one[0] not in {"pip", "setuptools"}} == listed


def test_the_sdist_has_documentation_and_tests(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.glob("deniable-*")
    for command in (["mkdocs", "build", "--strict", "--quiet"], ["pytest", "--collect-only", "-qq"]):
        done = subprocess.run([sys.executable, "-m", *command], cwd=source, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout[-2000:]


def test_oracle(with_extra: Callable[[str], Environment]) -> None:
    assert with_extra("oracle").run("-c", "import opendp").returncode == 0
