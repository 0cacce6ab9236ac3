"""What is in the wheel and in the sdist, and what they say of themselves."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser

import yaml
from tests.packaging.building import ROOT, Built, files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]


def test_the_wheel_is_the_package_and_nothing_else(built: Built) -> None:
    inside = {name for name in built.in_wheel() if ".dist-info/" not in name}
    assert inside == {f"deniable/{name}" for name in files(built.source / "src" / "deniable")}
    assert {"deniable/py.typed", "deniable/console/static/style.css", "deniable/storage/migrations/env.py"} <= inside
    assert f"deniable-{VERSION}.dist-info/licenses/LICENSE" in built.in_wheel()


def test_the_sdist_is_the_whole_project(built: Built) -> None:
    """So that its tests run in it; only what says what git ignores and what a server runs is left out."""
    added = {"PKG-INFO", "setup.cfg"}
    inside = {name for name in built.in_sdist() if ".egg-info/" not in name}
    assert inside - added == {name for name in files(built.source) if ".egg-info/" not in name}
    assert {"LICENSE", "Makefile", "constraints.txt", "docs/index.md", "tests/packaging/building.py"} <= inside


def test_metadata(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        said = Parser().parsestr(archive.read(f"deniable-{VERSION}.dist-info/METADATA").decode())
    assert said["Name"] == "deniable"
    assert said["Version"] == VERSION
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in said.get_all("Classifier", [])
    assert set(said.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    command = [sys.executable, "-m", "twine", "check", "--strict", str(built.wheel), str(built.sdist)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_one_version() -> None:
    """pyproject.toml has it; what cannot read it there says the same."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert importlib.metadata.version("deniable") == VERSION
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert services["console"]["image"] == f"deniable:{VERSION}"


def test_every_dependency_has_its_version() -> None:
    """In constraints.txt, by which `make` and the container install."""

    def plain(name: str) -> str:
        return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=! ]", name)[0]).lower()

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = [plain(line) for line in lines if line and not line.startswith("#")]
    assert len(pinned) == len(set(pinned))
    assert all("==" in line for line in lines if line and not line.startswith("#"))
    wanted = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    assert {plain(one) for one in wanted} - {"deniable"} <= set(pinned)
