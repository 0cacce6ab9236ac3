"""Every shell block of the handbook, and README's programme, runs word by word and in order in an empty folder.

A block marked `sh` must succeed. One whose title begins with "Refused" must be refused, with exit code 2. Blocks marked
`text` are for reading. A command takes a second or more to start, so one short page runs every day and the others in
`make test-all`; that their commands and options exist is checked every day.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from deniable.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HANDBOOK = DOCS / "handbook"
PRACTICE = HANDBOOK / "index.md"
PAGES = [*sorted(HANDBOOK.glob("*.md")), DOCS / "audited.md", DOCS / "howto" / "import.md"]
FENCE = re.compile(r'^( *)```(\w*)(?: title="([^"]*)")?\n(.*?)^\1```[ \t]*$', re.DOTALL | re.MULTILINE)
OF_THEIR_OWN = ("first-day", "backup-and-restore", "oversight", "ending")
"""Pages with a test of their own below."""
EVERY_DAY = ("audited",)


class Block(NamedTuple):
    line: int
    refused: bool
    source: str


def blocks(page: str) -> list[Block]:
    return [
        Block(page.count("\n", 0, match.start(4)), (match[3] or "").startswith("Refused"), textwrap.dedent(match[4]))
        for match in FENCE.finditer(page)
        if match[2] == "sh"
    ]


def script(*pages: Path) -> str:
    """All blocks as one script, which says where it is and stops at the first block that does not do what it should."""
    parts = ["set -euo pipefail"]
    for page in pages:
        for line, refused, source in blocks(page.read_text(encoding="utf-8")):
            parts.append(f"echo '# {page.name}, line {line}' >&2")
            parts.append(f"code=0; ( {source.strip()} ) || code=$?; [ $code -eq 2 ]" if refused else source)
    return "\n".join(parts)


def run(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    return subprocess.run(
        ["bash", "-c", source],
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def followed(folder: Path, *pages: Path) -> str:
    """What the commands of these pages print."""
    done = run(script(*pages), folder)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def verified(folder: Path) -> dict[str, Any]:
    done = run("deniable programme verify public --json", folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
def test_the_restore_drill(tmp_path: Path) -> None:
    printed = followed(tmp_path, HANDBOOK / "backup-and-restore.md")
    assert "has more, so see" in printed
    assert "Confidential: 0 new reports." in printed
    checked = verified(tmp_path / "office")
    assert checked["rounds"] == 3
    assert [entry["kind"] for entry in checked["remarkable"]] == ["round", "round", "recovery", "round"]
    assert not (tmp_path / "safe" / "round-1.backup").exists()


@pytest.mark.long
def test_the_first_day_ends_without_warnings(tmp_path: Path) -> None:
    followed(tmp_path, HANDBOOK / "first-day.md")
    checked = verified(tmp_path)
    assert (checked["entries"], checked["warnings"]) == (0, [])


@pytest.mark.long
def test_nothing_secret_is_left_after_the_end(tmp_path: Path) -> None:
    followed(tmp_path, PRACTICE, HANDBOOK / "ending.md")
    practice = tmp_path / "practice"
    assert verified(practice)["ended"]
    assert {path.name for path in practice.iterdir()} == {"public", "public-before-the-end", "targets.txt"}


@pytest.mark.long
def test_a_replay_confirms_what_was_handed_over_and_nothing_less(tmp_path: Path) -> None:
    assert "2 rounds drawn again" in followed(tmp_path, HANDBOOK / "oversight.md")
    seals = tmp_path / "seals.jsonl"
    seals.write_text("".join(seals.read_text().splitlines(keepends=True)[1:]))
    done = run("deniable programme oversight replay public seals.jsonl --identity oversight.key", tmp_path)
    assert done.returncode == 2
    assert "round 1" in done.stderr


@pytest.mark.long
def test_the_readmes_programme(tmp_path: Path) -> None:
    readme = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    (example,) = (block.source for block in readme if "deniable programme" in block.source)
    done = run(f"set -e\n{example}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert verified(tmp_path)["rounds"] == 1


@pytest.mark.long
def test_reports_are_imported_once(tmp_path: Path) -> None:
    printed = followed(tmp_path, DOCS / "howto" / "import.md")
    assert re.findall("Confidential: ([0-9]+) new", printed) == ["4", "4", "0", "2"]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=() if page.stem in EVERY_DAY else pytest.mark.long)
        for page in PAGES
        if page.stem not in (*OF_THEIR_OWN, "index", "import")
    ],
)
def test_a_page_can_be_followed_in_the_practice_programme(page: Path, tmp_path: Path) -> None:
    followed(tmp_path, PRACTICE, page)
    assert verified(tmp_path / "practice")["page"] == "matches"


@cache
def manual(*command: str) -> str:
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0, f"{command}: {shown.output}"
    return shown.output


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_commands_and_options_exist(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        for line in re.findall("deniable .*", block.source.replace("\\\n", " ")):
            words = shlex.split(line.partition(" |")[0])[1:]
            names = 1 if words[0] != "programme" else 3 if words[1] in ("targets", "oversight") else 2
            known = set(re.findall("--[a-z-]+", manual(*words[:names])))
            assert {word for word in words if word.startswith("--")} <= known, f"{page.name}, line {block.line}: {line}"


@pytest.mark.parametrize(
    "page",
    [
        "```sh\nfalse\n```\n",
        "```sh\nfalse | true\n```\n",
        '```sh title="Refused"\ntrue\n```\n',
        "1. a\n\n    ```sh\n    exit 3\n    ```\n",
    ],
    ids=["fails", "fails in a pipe", "is not refused", "in a list"],
)
def test_a_page_that_is_wrong_fails(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page)
    assert run(script(tmp_path / "page.md"), tmp_path).returncode != 0


def test_only_shell_blocks_run() -> None:
    assert blocks("```text\nfalse\n```\n```\nfalse\n```\n```sh\ntrue\n```\n") == [Block(7, False, "true\n")]


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == HANDBOOK and page != PRACTICE])
def test_a_page_of_the_handbook_has_its_four_parts(page: Path) -> None:
    assert re.findall("^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE) == [
        "What happens",
        "What to do now",
        "What the public sees",
        "What it does to the guarantee",
    ]
