"""The software bill of materials: valid CycloneDX, complete, and nothing but what users install."""

import hashlib
import json
import tomllib
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.packaging.building import EPOCH, ROOT, Built

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def names(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


@pytest.fixture
def bill(built: Built) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(built.bill.read_text())
    return made


def is_valid(bill: dict[str, Any]) -> bool:
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None


def test_it_is_valid(bill: dict[str, Any]) -> None:
    assert is_valid(bill)
    assert not is_valid(bill | {"specVersion": 2})
    assert not is_valid(bill | {"components": [{"type": "wheel", "name": "deniable"}]})


def test_it_is_of_this_wheel(bill: dict[str, Any], built: Built) -> None:
    about = bill["metadata"]["component"]
    assert (about["name"], about["version"]) == ("deniable", PROJECT["version"])
    assert about["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(built.wheel.read_bytes()).hexdigest()}]


def test_nothing_in_it_is_random_or_of_today(bill: dict[str, Any]) -> None:
    assert "serialNumber" not in bill
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    assert EPOCH == 1_700_000_000


def test_it_has_what_users_install_in_the_versions_that_are_tested(bill: dict[str, Any]) -> None:
    listed = {one["name"]: one for one in bill["components"]}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    assert all(one["version"] == pinned[name] for name, one in listed.items())
    assert {name for name, one in listed.items() if "licenses" not in one} <= {"pyrage"}  # which declares none
    core = {name for name, one in listed.items() if one["scope"] == "required"}
    assert names(PROJECT["dependencies"]) <= core
    for extra in ("console", "postgres", "programme", "research"):
        marked = {name for name, one in listed.items() if any(of["value"] == extra for of in one.get("properties", ()))}
        assert names(EXTRAS[extra]) - core - {"deniable"} <= marked
    assert not {"pytest", "mkdocs", "hatchling", "opendp", "jax"} & set(listed)


def test_what_it_names_it_lists(bill: dict[str, Any]) -> None:
    listed = {one["bom-ref"] for one in (bill["metadata"]["component"], *bill["components"])}
    assert {one["ref"] for one in bill["dependencies"]} == listed
    assert {need for one in bill["dependencies"] for need in one.get("dependsOn", ())} <= listed
