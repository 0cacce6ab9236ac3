"""Running the shell blocks of pages, word by word and in order, as a reader would.

- A block marked `sh` must succeed.
- A block whose title begins with "Refused" must be refused, with exit code 2: every command of it, if it is `console`.
- In a block marked `console`, the lines after `$` are commands and the others what they print, errors included. There
  "…" stands for anything, and fingerprints, dates, folders and how text is wrapped are not compared; nor are names that
  the page lists in a comment `<!-- any of: NAME, NAME -->`, because they are drawn by lot.
- A block with a file's name as its title is that file: it is written where the reader is.
- `pip` and `make` are stand-ins: what is to be installed, or made, must exist.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.docs.blocks import ROOT, Block, blocks

HOME = "/home/you"
"""What the pages call the folder in which the reader is, and the one above it."""
_BEGIN, _END = "# now comes", "# that was"


def stand_ins(folder: Path) -> None:
    """Write programs `make`, which makes nothing, and `pip`, which installs nothing; and `activate`, for the path."""
    for name, command in {
        "make": f"exec {shutil.which('make')} --dry-run --directory '{ROOT}' \"$@\" > /dev/null",
        "pip": f"cd '{ROOT}' && exec '{sys.executable}' -m tests.docs.shell \"$@\"",
    }.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
        program.chmod(0o755)
    (folder / "activate").write_text(f"export PATH='{folder}':\"$PATH\"\n", encoding="utf-8")


def exchanges(source: str) -> list[tuple[str, str]]:
    """The commands of a `console` block, each with what it prints; a command goes on in lines that begin with `>`."""
    found: list[tuple[str, str]] = []
    for line in source.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
        else:
            assert found, f"a console block begins with a command after $, not with {line!r}"
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def script(named: Iterable[tuple[str, Block]]) -> str:
    """The blocks as one script, which says where it is and stops at the first block that does not do what it should."""
    parts = ["set -euo pipefail"]
    for name, block in named:
        parts.append(f"echo '# {name}, line {block.line}' >&2")
        if block.language == "console":
            for number, (command, _) in enumerate(exchanges(block.source)):
                at = f"{name} {block.line} {number}"
                parts += [f"echo '{_BEGIN} {at}'", "code=0", "{", command]
                parts.append("} 2>&1 || code=$?; [ $code -eq 2 ]" if block.refused else "} 2>&1")
                parts.append(f"echo '{_END} {at}'")
        elif block.file:
            parts.append(f"cat > {block.title} <<'{_END}'\n{block.source}{_END}")
        elif block.refused:
            parts.append(f"code=0; ( {block.source.strip()} ) || code=$?; [ $code -eq 2 ]")
        else:
            parts.append(block.source)
    return "\n".join(parts)


def runnable(page: str) -> list[Block]:
    return [block for block in blocks(page) if block.file or block.language in ("sh", "console")]


def run(source: str, folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in this folder, with these programs before all others."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DENIABLE_", "COLUMNS"))}
    environment["PATH"] = os.pathsep.join([str(programs), str(Path(sys.executable).parent), environment["PATH"]])
    environment["LC_ALL"] = "C.UTF-8"  # the order of `ls`
    return subprocess.run(
        ["bash", "-c", source],
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,  # far beyond what any page takes: for a command that waits for ever
    )


def follow(pages: Iterable[Path], folder: Path, programs: Path) -> str:
    """What the commands of these pages print, one page after the other; what the pages show must be what they print."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in pages}
    named = [(name, block) for name, text in texts.items() for block in runnable(text)]
    done = run(script(named), folder, programs)
    assert done.returncode == 0, done.stderr + done.stdout[-500:]
    for name, block in named:
        for number, (command, shown) in enumerate(exchanges(block.source) if block.language == "console" else []):
            at = f"{name} {block.line} {number}\n"
            printed = done.stdout.split(f"{_BEGIN} {at}")[1].split(f"{_END} {at}")[0]
            printed = printed.replace(str(folder), HOME).replace(str(folder.parent), HOME)
            compare(shown, printed, texts[name], f"{name}, line {block.line}: {command}")
    return " ".join(done.stdout.split())


def compare(shown: str, printed: str, page: str, where: str) -> None:
    """What a page shows of a command must be what the command prints."""
    names = [name for names in re.findall("<!-- any of: (.*?) -->", page) for name in names.split(", ")]
    pattern = re.escape(_plain(shown, names)).replace("…", ".*")
    assert re.fullmatch(pattern, _plain(printed, names)), f"{where}\nprints now\n{printed}"


def _plain(text: str, names: list[str]) -> str:
    for name in names:
        text = text.replace(name, "NAME")
    text = re.sub("[0-9a-f]{16,}", "FINGERPRINT", text)
    text = re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)
    return " ".join(text.split())


def _pip(arguments: list[str]) -> str | None:
    """What is wrong with this call of `pip`, if anything."""
    wanted = re.fullmatch(r"install (?:-c constraints\.txt )?(?:-e )?\.(?:\[([a-z,]+)\])?", " ".join(arguments))
    if wanted is None:
        return f"pip {' '.join(arguments)} is not how the pages install deniable"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    missing = {*(wanted[1] or "").split(",")} - {"", *extras}
    return f"no extra {', '.join(missing)}" if missing else None


if __name__ == "__main__":
    sys.exit(_pip(sys.argv[1:]))
