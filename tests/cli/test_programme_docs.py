"""The shell blocks of the how-to pages run, one after the other, as a reader would run them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.programmes import Desk
from tests.cli.running import Run

from deniable.programme.page import verify_text
from deniable.programme.parameters import Parameters

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", (HOWTO / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [block for block in found if not block.startswith("pip install")]


@pytest.fixture
def shell(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Runs a block: in this process, which is faster, where it is nothing but commands of deniable."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TZ", "UTC")

    def execute(block: str) -> None:
        lines = block.replace("\\\n", " ").splitlines()
        if not all(re.match(r"export |deniable [^$|]*$", line) for line in lines):
            subprocess.run(["bash", "-euo", "pipefail", "-c", block], check=True, stdout=subprocess.DEVNULL)
            return
        for line in lines:
            if line.startswith("export "):
                monkeypatch.setenv(*line.removeprefix("export ").split("=", 1))
            else:
                result = run(*shlex.split(line)[1:])
                assert (result.code, result.err) == (0, ""), (line, result)

    return execute


def test_a_first_programme(shell: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks("programme.md", "sh"):
        shell(block)
    assert '"kind":"end"' in Path("public/transcript.jsonl").read_text("ascii")


def test_verifying_with_and_without_deniable(
    office: Desk, shell: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    office.done("publish", "--out", "public")
    shutil.copytree("public", "earlier")
    office.close()
    office.done("publish")
    head = office.json("verify", "public")["head"]
    verify, compare, signature = blocks("verify.md", "sh")
    without, with_python = blocks("verify.md", "py")
    shell(verify)
    shell(compare)
    exec(with_python, {})
    assert f"1 {head}" in capsys.readouterr().out
    monkeypatch.chdir("public")
    exec(without, {})
    assert capsys.readouterr().out == f"1 entries, fingerprint {head}\n"
    if shutil.which("openssl"):
        shell(signature)


def test_the_page_and_the_folder_have_the_same_program(office: Desk) -> None:
    office.done("publish", "--out", "public")
    parameters = Parameters.from_bytes(Path("public/programme.json").read_bytes())
    assert blocks("verify.md", "py")[0] in verify_text(parameters)
