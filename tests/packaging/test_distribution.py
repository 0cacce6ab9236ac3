"""What is in the wheel and in the sdist, what they say of themselves, and that anyone can make them again."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.packaging.building import EPOCH, ROOT, Built, build, copied, files

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, BUILD = PYPROJECT["project"], PYPROJECT["build-system"]
VERSION = PROJECT["version"]


def test_the_wheel_is_the_package_and_nothing_else(built: Built) -> None:
    inside = {name for name in built.in_wheel() if ".dist-info/" not in name}
    assert inside == {f"deniable/{name}" for name in files(built.source / "src" / "deniable")}
    assert {"deniable/py.typed", "deniable/console/static/style.css", "deniable/storage/migrations/env.py"} <= inside
    assert f"deniable-{VERSION}.dist-info/licenses/LICENSE" in built.in_wheel()


def test_the_sdist_is_the_whole_project(built: Built) -> None:
    """So that its tests run in it; only what a server runs is left out."""
    inside = set(built.in_sdist())
    assert inside - {"PKG-INFO"} == files(built.source)
    assert {"LICENSE", "Makefile", "constraints.txt", "docs/index.md", "tests/packaging/building.py"} <= inside


def test_the_same_commit_gives_the_same_bytes(built: Built, tmp_path: Path) -> None:
    """In another folder, from files of another time and with other permissions."""
    source = copied(tmp_path)
    for path in (source / name for name in files(source)):
        os.utime(path, (1_600_000_000, 1_600_000_000))
        path.chmod(path.stat().st_mode & 0o700)
    again = build(source, tmp_path / "dist", umask=0o077)
    assert again.wheel.read_bytes() == built.wheel.read_bytes()
    assert again.sdist.read_bytes() == built.sdist.read_bytes()
    assert again.bill.read_bytes() == built.bill.read_bytes()


def test_another_commit_gives_other_bytes(built: Built, tmp_path: Path) -> None:
    later = build(built.source, tmp_path, epoch=EPOCH + 3600)
    assert later.wheel.read_bytes() != built.wheel.read_bytes()
    assert later.sdist.read_bytes() != built.sdist.read_bytes()
    assert later.bill.read_bytes() != built.bill.read_bytes()


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
    named = re.findall(r"deniable-([\d.]+)[-.](?:py3|tar|cdx)", (ROOT / "docs" / "howto" / "install.md").read_text())
    assert set(named) == {VERSION}


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


HOLES = {
    "anyio": ("4.14.1", "CVE-2026-63374, CVE-2026-64847"),
    "cryptography": ("49.0.0", "CVE-2026-69247; and GHSA-537c-gmf6-5ccf, the OpenSSL in its wheels"),
    "h11": ("0.15.0", "CVE-2025-43859: chunked bodies"),
    "jinja2": ("3.1.5", "CVE-2025-27516: out of the sandbox"),
    "mako": ("1.3.11", "CVE-2026-44307, CVE-2026-41205: paths"),
    "python-multipart": ("0.0.30", "CVE-2026-53538 to 53540, CVE-2026-42561: forms that take long"),
    "scikit-learn": ("1.4.2", "CVE-2024-5206"),
    "starlette": ("1.3.0", "CVE-2026-54283, CVE-2026-54282, CVE-2026-48710, CVE-2025-62727"),
}
"""The last version of each dependency with a hole that is known to us, and what that is."""


def requirements() -> list[Requirement]:
    extras = (one for extra in PROJECT["optional-dependencies"].values() for one in extra)
    return [Requirement(one) for one in (*PROJECT["dependencies"], *extras, *BUILD["requires"])]


@pytest.mark.parametrize("name", HOLES)
def test_no_version_with_a_known_hole_is_accepted(name: str) -> None:
    """Also not of what only a dependency of ours needs: its own floor may be lower."""
    wanted = [one for one in requirements() if canonicalize_name(one.name) == name]
    assert wanted
    for one in wanted:
        assert not one.specifier.contains(HOLES[name][0]), HOLES[name][1]


def test_the_versions_that_are_installed_are_among_those_accepted() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pinned.items()}
    for one in requirements():
        if one.name != "deniable":
            assert one.specifier.contains(versions[canonicalize_name(one.name)]), one
