"""Every claim about privacy and security has a test, and a bug with which it was seen to fail."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.docs.blocks import DOCS, ROOT

HEAD = "| Claim | Test | Seen to fail when |"
PAGE = (DOCS / "explanation" / "claims.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")
CONTROL = re.compile(r"`(test_\w+)`")
"""In the last column: a test of the same file that plants the bug."""


class Claim(NamedTuple):
    says: str
    test: str
    fails_when: str


def claims_of(page: str) -> list[Claim]:
    """The rows of all tables with this head."""
    parts = page.split(f"{HEAD}\n| --- | --- | --- |\n")[1:]
    rows = [row for part in parts for row in part.partition("\n\n")[0].splitlines()]
    return [Claim(*(cell.strip() for cell in row.strip("|").split("|"))) for row in rows]


def named_tests(claims: list[Claim]) -> set[tuple[str, str]]:
    """File and name of every test in the files that these claims name: `test_one`, or `TestAll::test_one`."""
    files = {file for claim in claims for file, _ in TEST.findall(claim.test)}
    return {(file, name) for file in files if (ROOT / file).exists() for name in _tests_in(ROOT / file)}


def _tests_in(file: Path) -> Iterator[str]:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            inside = (one.name for one in node.body if isinstance(one, ast.FunctionDef))
            yield from (f"{node.name}::{name}" for name in inside if name.startswith("test_"))


def wrong_with(claim: Claim, known: set[tuple[str, str]]) -> list[str]:
    tests = TEST.findall(claim.test)
    found = [] if claim.says.endswith(".") else ["no sentence"]
    found += [] if len(tests) == 1 and TEST.fullmatch(claim.test) else ["not one test"]
    found += [f"no test {name}" for file, name in tests if (file, name) not in known]
    found += [] if claim.fails_when else ["no bug"]
    beside = {name.rpartition(":")[2] for file, name in known - {*tests} if file in {file for file, _ in tests}}
    return found + [f"no control {name}" for name in CONTROL.findall(claim.fails_when) if name not in beside]


@pytest.fixture(scope="module")
def known() -> set[tuple[str, str]]:
    return named_tests(claims_of(PAGE))


def test_every_claim_has_its_test(known: set[tuple[str, str]]) -> None:
    claims = claims_of(PAGE)
    assert len(claims) == PAGE.count("| `tests/") > 100
    assert [(claim.says, wrong) for claim in claims if (wrong := wrong_with(claim, known))] == []


def test_no_claim_is_made_twice() -> None:
    said = [claim.says for claim in claims_of(PAGE)]
    assert len({*said}) == len(said)


@pytest.mark.parametrize("name", ["SECURITY.md", "docs/explanation/threat-model.md"])
def test_the_claims_are_found(name: str) -> None:
    assert re.search(r"\]\([\w/]*claims\.md\)", (ROOT / name).read_text(encoding="utf-8"))


HERE = "tests/docs/test_claims.py"
FINE = f"| A claim. | `{HERE}::test_no_claim_is_made_twice` | a bug is there (`test_what_is_wrong_is_found`) |"


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (FINE, []),
        (FINE.replace("no_claim", "any_claim"), ["no test test_any_claim_is_made_twice"]),
        (
            FINE.replace("docs", "none"),
            ["no test test_no_claim_is_made_twice", "no control test_what_is_wrong_is_found"],
        ),
        (FINE.replace("what_is_wrong", "nothing"), ["no control test_nothing_is_found"]),
        ("| A claim. | by hand | a bug is there |", ["not one test"]),
        ("| A claim. | | a bug is there |", ["not one test"]),
        (f"| A claim. | `{HERE}::test_no_claim_is_made_twice` | |", ["no bug"]),
        (f"| | `{HERE}::test_no_claim_is_made_twice` | a bug is there |", ["no sentence"]),
    ],
)
def test_what_is_wrong_is_found(row: str, wrong: list[str]) -> None:
    """Negative control: a row without a test that exists, without a bug, or without a claim."""
    (claim,) = claims_of(f"# Claims\n\n{HEAD}\n| --- | --- | --- |\n{row}\n\nMore.\n")
    known = {(HERE, name) for name in ("test_no_claim_is_made_twice", "test_what_is_wrong_is_found")}
    assert wrong_with(claim, known) == wrong


def test_only_tests_are_known() -> None:
    """Negative control: what is no test, or stands in no file, is not known."""
    (claim,) = claims_of(f"{HEAD}\n| --- | --- | --- |\n{FINE}\n")
    gone = claim._replace(test=claim.test.replace("docs", "none"))
    found = named_tests([claim, gone])
    assert (HERE, "test_what_is_wrong_is_found") in found
    assert {name for _, name in found if not name.startswith("test_")} == set()
    assert {file for file, _ in found} == {HERE}
