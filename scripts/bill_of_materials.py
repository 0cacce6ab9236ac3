"""Writes the software bill of materials of a wheel, in CycloneDX's JSON: `python scripts/bill_of_materials.py WHEEL`.

It lists what the wheel needs here, with all extras that are for its users, in the versions that are installed. The
time in it is SOURCE_DATE_EPOCH and it has no serial number, so that the same wheel has the same bill.
"""

import hashlib
import os
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NOT_FOR_USERS = {"bench", "dev", "oracle"}

Graph = dict[str, set[str]]
"""What each distribution needs, by their names."""


def bill_of_materials(wheel: Path) -> str:
    (root,) = metadata.distributions(path=[str(wheel)])
    bom = Bom()
    bom.serial_number = None  # type: ignore[assignment]  # else it is random
    bom.metadata.timestamp = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    bom.metadata.component = component(root, ComponentType.APPLICATION)
    bom.metadata.component.hashes.add(
        HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(wheel.read_bytes()).hexdigest())
    )
    extras = sorted(set(root.metadata.get_all("Provides-Extra", [])) - NOT_FOR_USERS)
    by_extra = {extra: needed(root, {extra}) for extra in extras}
    core, whole = needed(root, ()), needed(root, extras)
    listed = {name: component(metadata.distribution(name)) for name in whole if name != root.name}
    for name, one in listed.items():
        one.scope = ComponentScope.REQUIRED if name in core else ComponentScope.OPTIONAL
        of = [extra for extra in extras if name in by_extra[extra] and name not in core]
        one.properties.update(Property(name="deniable:extra", value=extra) for extra in of)
    bom.components.update(listed.values())
    for name, needs in whole.items():
        bom.register_dependency(listed.get(name, bom.metadata.component), [listed[need] for need in needs])
    text = JsonV1Dot6(bom).output_as_string(indent=2) + "\n"
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SystemExit(f"the bill of materials is not valid CycloneDX: {fault}")
    return text


def needed(root: metadata.Distribution, extras: Collection[str]) -> Graph:
    """The root with these extras and all that it leads to, on this Python and this system."""
    found: Graph = {}
    seen = set()
    waiting = [(root, frozenset(extras))]
    while waiting:
        one, asked = waiting.pop()
        name = canonicalize_name(one.name)
        seen.add((name, asked))
        needs = found.setdefault(name, set())
        for line in one.requires or ():
            requirement = Requirement(line)
            if requirement.marker and not any(requirement.marker.evaluate({"extra": e}) for e in ("", *asked)):
                continue
            is_root = canonicalize_name(requirement.name) == root.name
            following = root if is_root else metadata.distribution(requirement.name)
            if not is_root:
                needs.add(canonicalize_name(requirement.name))
            if (canonicalize_name(requirement.name), frozenset(requirement.extras)) not in seen:
                waiting.append((following, frozenset(requirement.extras)))
    return found


def component(of: metadata.Distribution, kind: ComponentType = ComponentType.LIBRARY) -> Component:
    name = canonicalize_name(of.name)
    purl = PackageURL("pypi", name=name, version=of.version)
    factory = LicenseFactory()
    return Component(
        type=kind,
        name=name,
        version=of.version,
        bom_ref=str(purl),
        purl=purl,
        licenses=[factory.make_from_string(licence) for licence in licences(of)],
    )


def licences(of: metadata.Distribution) -> list[str]:
    """The expression that a distribution declares, or the names among its classifiers, or its one line about them."""
    if expression := of.metadata["License-Expression"]:
        return [expression]
    classifiers = [one.split(" :: ") for one in of.metadata.get_all("Classifier", [])]
    if named := [parts[-1] for parts in classifiers if parts[0] == "License" and parts[-1] != "OSI Approved"]:
        return named
    return [line for line in (of.metadata["License"] or "").splitlines()[:1] if line]


if __name__ == "__main__":
    made = Path(sys.argv[1])
    name, version = made.name.split("-")[:2]
    made.with_name(f"{name}-{version}.cdx.json").write_text(bill_of_materials(made), encoding="utf-8")
