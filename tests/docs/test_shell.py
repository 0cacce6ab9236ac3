"""Every shell block of README.md and docs/ runs, and prints what the page shows (`tests/docs/shell.py` says how).

Pages that take more than a few seconds run in `make test-all`. That the commands and options exist is checked every
day, also in blocks marked `text`, which are for reading.
"""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from tests.docs.blocks import DOCS, PAGES, README, Block, blocks, named
from tests.docs.shell import compare, exchanges, follow, run, runnable, script
from typer.testing import CliRunner

from deniable.cli.main import app

PRACTICE = DOCS / "handbook" / "index.md"
"""Sets up the programme that the commands of other pages begin with."""
FOLLOWED_IN_TEST_HANDBOOK = {
    *(
        f"docs/handbook/{name}.md"
        for name in ("first-day", "backup-and-restore", "oversight", "ending", "index", "public-value")
    ),
    "docs/howto/import.md",
}
SLOW = {
    "docs/explanation/reproduction.md",
    "docs/howto/attack.md",
    "docs/howto/evaluate.md",
    "docs/howto/sweeps.md",
}
FOLLOWED_HERE = [
    page
    for page in PAGES
    if runnable(page.read_text("utf-8")) and named(page) not in ("README.md", *FOLLOWED_IN_TEST_HANDBOOK)
]


def before(page: Path) -> list[Path]:
    return (
        [PRACTICE] if page.parent == PRACTICE.parent or page.name in ("audited.md", "verify.md", "witness.md") else []
    )


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=named(page), marks=[pytest.mark.long] * (named(page) in SLOW)) for page in FOLLOWED_HERE],
)
def test_a_page_can_be_followed(page: Path, folder: Path, programs: Path) -> None:
    follow([*before(page), page], folder, programs)


@pytest.mark.parametrize("number", range(len(blocks(README.read_text("utf-8"), "sh"))))
def test_each_block_of_the_readme_can_be_followed(number: int, folder: Path, programs: Path) -> None:
    block = blocks(README.read_text("utf-8"), "sh")[number]
    done = run(script([("README.md", block)]), folder, programs)
    assert done.returncode == 0, done.stderr


@cache
def manual(*command: str) -> str:
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0, f"{command}: {shown.output}"
    return shown.output


def unknown_options(block: Block) -> list[str]:
    """The lines of a block that call deniable with an option that it does not have."""
    wrong = []
    prompt = r"\$ " if block.language == "console" else r"(?:\$ )?"
    source = block.source.replace("\\\n> ", " ").replace("\\\n", " ")
    for line in re.findall(rf"^{prompt}((?:\S*/)?deniable .*)", source, re.MULTILINE):
        words = shlex.split(re.split(r" [|#] | && ", line)[0])[1:]
        names = 1 if words[0] != "programme" else 3 if words[1] in ("targets", "oversight") else 2
        names = 0 if words[0].startswith("-") else names
        known = set(re.findall("--[a-z-]+", manual(*words[:names])))
        if not {word for word in words if word.startswith("--")} <= known:
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_and_options_exist(page: Path) -> None:
    for block in blocks(page.read_text("utf-8"), "sh", "console", "text"):
        assert block.refused or unknown_options(block) == [], f"line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_command_hides_in_a_block_of_another_language(page: Path) -> None:
    """`text` is for output, and for what cannot run in a test: other machines, servers, files that a reader has."""
    for block in blocks(page.read_text("utf-8")):
        known = block.language in ("sh", "console", "text", "python", "py", "pycon", "csv", "ini", "nginx", "sql")
        assert known or not re.search(r"^(?:\$ )?(?:deniable|pip|make) ", block.source, re.MULTILINE), block.line


@pytest.mark.parametrize(
    "file", [*PAGES, *sorted((README.parent / "examples").glob("*.ipynb"))], ids=lambda file: file.name
)
def test_no_page_installs_from_a_package_index(file: Path) -> None:
    """None has deniable, and a stranger could take the name there."""
    assert "pip install 'deniable[" not in file.read_text("utf-8")


# Pages that are wrong fail.


@pytest.mark.parametrize(
    "page",
    [
        "```sh\nfalse\n```\n",
        "```sh\nfalse | true\n```\n",
        '```sh title="Refused"\ntrue\n```\n',
        "1. a\n\n    ```sh\n    exit 3\n    ```\n",
        "```sh\ndeniable plan --targets none\n```\n",
        "```sh\nmake coffee\n```\n",
        "```sh\npip install '.[coffee]'\n```\n",
        "```sh\npip install 'deniable[console]'\n```\n",  # no package index has it
        "```sh\npip install something-else\n```\n",
        "```console\n$ echo 1\n2\n```\n",
        "```console\n$ echo 1\n```\n",
        "```console\n$ echo 1 2\n… 3\n```\n",
        "```console\n$ echo 1\n1\n$ false\n```\n",
        '```console title="Refused"\n$ true\n```\n',
    ],
)
def test_a_page_that_is_wrong_fails(page: str, tmp_path: Path, programs: Path) -> None:
    (tmp_path / "page.md").write_text(page)
    with pytest.raises(AssertionError):
        follow([tmp_path / "page.md"], tmp_path, programs)


def test_a_page_that_is_right_passes(tmp_path: Path, programs: Path) -> None:
    (tmp_path / "page.md").write_text(
        "```text\nfalse\n```\n```\nfalse\n```\n```sh\nx=1; mkdir a; cd a\n```\n"
        "```console\n$ echo $x \\\n> 2\n1 2\n$ pwd\n/home/you/a\n$ date +%F\n2020-01-01\n```\n"
        "```console\n$ echo a long story\na … story\n```\n"
        '```sh title="Refused"\ndeniable plan\n```\n'
    )
    follow([tmp_path / "page.md"], tmp_path, programs)


def test_names_drawn_by_lot_are_alike() -> None:
    page = "<!-- any of: Ash Mill, Birch Works -->"
    compare("Audit Ash Mill.\n", "Audit Birch\nWorks.\n".replace("\n", " "), page, "")
    with pytest.raises(AssertionError):
        compare("Audit Ash Mill.\n", "Audit Cedar Yard.\n", page, "")


@pytest.mark.parametrize("line", ["deniable plan --coffee 1", "$ deniable programme targets list --coffee"])
def test_an_option_that_does_not_exist_is_found(line: str) -> None:
    assert unknown_options(Block(1, "text", "", f"{line}\n"))
    assert not unknown_options(Block(1, "text", "", line.replace("--coffee", "--json")))


def test_a_command_goes_on_in_the_next_line() -> None:
    assert exchanges("$ a \\\n> b\nc\n$ d\n") == [("a \\\nb", "c\n"), ("d", "")]
