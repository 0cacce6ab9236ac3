"""What is left when a reader has followed a page of the handbook or a how-to; `test_shell.py` follows the others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.blocks import DOCS, blocks
from tests.docs.shell import follow, run

from deniable.console.help_pages import FOLDED

HANDBOOK = DOCS / "handbook"
PRACTICE = HANDBOOK / "index.md"
PRACTISED = f"## {FOLDED[1]}"
HARM = re.compile(r"programme end .*--yes|^echo .*>>? public|^rm programme\.key$", re.MULTILINE)
"""Ends a programme without asking, changes what is published, or loses the key."""


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
def test_a_page_of_the_handbook_has_its_parts(page: Path) -> None:
    """What the reader does comes first, and what is for technicians last."""
    parts = re.findall("^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert parts[0] in ("What you do in the console", "What to do now")
    assert parts[1:4] == ["What happens", "What the public sees", "What it does to the promise"]
    assert parts[4:] == [part for part in FOLDED if part in parts]


@pytest.mark.parametrize("page", sorted(HANDBOOK.glob("*.md")), ids=lambda page: page.stem)
def test_what_destroys_is_practised_in_a_part_of_its_own(page: Path) -> None:
    """A command of these pages that is ready to run, and would harm a real programme, is not among the steps."""
    text = page.read_text(encoding="utf-8")
    first = re.split("^## (?:At the terminal|Try it)", text, flags=re.MULTILINE)[0]
    assert blocks(first) == []
    assert [block.line for block in blocks(text.partition(PRACTISED)[0]) if HARM.search(block.source)] == []


@pytest.mark.parametrize("name", ["data-breach", "ending", "key-loss"])
def test_what_destroys_is_found(name: str) -> None:
    """Negative control: the part for practice has such commands."""
    practised = (HANDBOOK / f"{name}.md").read_text(encoding="utf-8").partition(PRACTISED)[2]
    assert any(HARM.search(block.source) for block in blocks(practised))
