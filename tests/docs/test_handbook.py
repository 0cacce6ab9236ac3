"""What is left when a reader has followed a page of the handbook or a how-to; `test_shell.py` follows the others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.blocks import DOCS
from tests.docs.shell import follow, run

HANDBOOK = DOCS / "handbook"
PRACTICE = HANDBOOK / "index.md"


def verified(folder: Path, programs: Path) -> dict[str, Any]:
    done = run("deniable programme verify public --json", folder, programs)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_restore_drill(folder: Path, programs: Path) -> None:
    printed = follow([HANDBOOK / "backup-and-restore.md"], folder, programs)
    assert "has more, so see" in printed
    assert re.findall("Confidential: ([0-9]+ .*?),", printed) == ["4 reports that do not count", "1 new report"]
    checked = verified(folder / "office", programs)
    assert checked["rounds"] == 3
    assert [entry["kind"] for entry in checked["remarkable"]] == ["round", "round", "recovery", "resumption", "round"]
    assert not (folder / "safe" / "round-1.backup").exists()


def test_the_first_day_ends_without_warnings(folder: Path, programs: Path) -> None:
    follow([HANDBOOK / "first-day.md"], folder, programs)
    checked = verified(folder, programs)
    assert (checked["entries"], checked["warnings"]) == (1, [])  # the contact and the hotline


def test_nothing_secret_is_left_after_the_end(folder: Path, programs: Path) -> None:
    follow([PRACTICE, HANDBOOK / "ending.md"], folder, programs)
    practice = folder / "practice"
    assert verified(practice, programs)["ended"]
    assert {path.name for path in practice.iterdir()} == {"public", "public-before-the-end", "targets.txt"}


def test_a_replay_confirms_what_was_handed_over_and_nothing_less(folder: Path, programs: Path) -> None:
    assert "the reports and the seed: rounds 1, 2." in follow([HANDBOOK / "oversight.md"], folder, programs)
    seals = folder / "seals.jsonl"
    seals.write_text("".join(seals.read_text().splitlines(keepends=True)[1:]))
    done = run("deniable programme oversight replay public seals.jsonl --identity oversight.key", folder, programs)
    assert done.returncode == 2
    assert "missing inputs: the file does not have those of round 1" in done.stderr
    assert (folder / "oversight.key").stat().st_mode & 0o077 == 0


def test_a_round_is_frozen_and_waits_for_dice(folder: Path, programs: Path) -> None:
    printed = follow([HANDBOOK / "public-value.md"], folder, programs)
    assert "is frozen and waits for numbers thrown in public" in printed
    assert verified(folder, programs)["draws"]["waiting"]["round"] == 1


def test_reports_are_imported_once(folder: Path, programs: Path) -> None:
    printed = follow([DOCS / "howto" / "import.md"], folder, programs)
    assert re.findall("Confidential: ([0-9]+) new", printed) == ["2", "3", "2", "0", "2"]


@pytest.mark.parametrize("page", [page for page in sorted(HANDBOOK.glob("*.md")) if page != PRACTICE])
def test_a_page_of_the_handbook_has_its_four_parts(page: Path) -> None:
    assert re.findall("^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE) == [
        "What happens",
        "What to do now",
        "What the public sees",
        "What it does to the guarantee",
    ]
