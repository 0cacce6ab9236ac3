"""Every table of figures, every picture and every printed output of README.md and docs/, made again and compared.

    python -m scripts.figures [--write] [NAME ...]

NAME is a part of a name that is listed, of a page, a table or a picture; without any, all are made. `--write` puts what
differs beyond its noise into its place. The exit code is 1 if anything still differs beyond its noise.

- A table with a mark `<!-- table: NAME -->` is computed by the function NAME of tests/docs/tables.py. Every cell must
  be the same, except that two figures with ± may be FIVE of their standard errors apart.
- A picture is made as it was made before. A share FAINT of its pixels may look different, as where edges are smoothed.
  Chromium, its fonts and Matplotlib must be of the same versions.
- Commands and Python on a page are run by the page's tests. tests/docs/shell.py says what they do not compare.
- A table with a mark `<!-- record: DAY … -->` was measured once: it is listed, and not made again. Times are measured
  by `make bench`.
"""

import argparse
import inspect
import math
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image
from tests.console.whole import demonstrations
from tests.docs import tables
from tests.docs.blocks import DOCS, PAGES, ROOT, TRANSLATED, blocks, named
from tests.docs.shell import exchanges

IMAGES = DOCS / "images"
FIVE = 5
FAINT = 0.0002
"""The share of pixels of a picture that may differ: 190 of a page of the console, less than a word."""
VISIBLE = 48
"""Of 255: by how much a colour of a pixel must differ to count."""
TABLE = re.compile(r"(?:^\|[^\n]*\n){3,}", re.MULTILINE)
MARK = re.compile(r"<!-- (table|record): ([^>]+) -->\s*$")
_MEASURED = re.compile(r"(-?[\d.]+) ± ([\d.]+)")
_FOLLOWED = re.compile(r"^(PASSED|FAILED|ERROR) \S+::(\w+)(?:\[([^\]]*)\])?(?: - (.*))?$", re.MULTILINE)


class Result(NamedTuple):
    name: str
    beyond: Sequence[str] = ()
    """What differs, beyond its noise."""
    within: Sequence[str] = ()
    """What differs, within its noise."""
    is_written: bool = False
    """What differed beyond its noise is in its place now."""

    def told(self) -> str:
        if self.beyond:
            return f"{'written' if self.is_written else 'DIFFERS'}: {'; '.join(self.beyond)}"
        return f"the same but for noise: {'; '.join(self.within)}" if self.within else "the same"


# Tables


class Marked(NamedTuple):
    page: Path
    kind: str
    name: str
    table: str
    line: int

    @property
    def title(self) -> str:
        return f"{named(self.page)}: {self.name}"


def marked(page: Path, text: str) -> list[Marked]:
    """The tables of a page that have a mark."""
    found = ((MARK.search(text[: table.start()]), table) for table in TABLE.finditer(text))
    return [
        Marked(page, mark[1], mark[2], table[0], text.count("\n", 0, table.start()) + 1)
        for mark, table in found
        if mark is not None
    ]


def cells(table: str) -> list[list[str]]:
    """Without the head."""
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()[2:]]


@cache
def computed(name: str, code: str) -> tables.Rows:
    function: Callable[..., tables.Rows] = getattr(tables, name)
    return function(code) if inspect.signature(function).parameters else function()


def rows_for(one: Marked) -> tables.Rows:
    return computed(one.name, one.page.parent.name if one.page in TRANSLATED else "en")


def compared(name: str, shown: Sequence[Sequence[str]], fresh: tables.Rows) -> Result:
    if not are_alike(shown, fresh):
        return Result(name, ["another number of rows or columns"])
    pairs = [(a, b) for row, anew in zip(shown, fresh, strict=True) for a, b in zip(row, anew, strict=True)]
    different = [(a, b) for a, b in pairs if b is not None and a != b]
    told = {(a, b): f"{a} stands there, {b} is computed" for a, b in different}
    return Result(
        name,
        tuple(told[pair] for pair in different if not is_noise(*pair)),
        tuple(told[pair] for pair in different if is_noise(*pair)),
    )


def are_alike(shown: Sequence[Sequence[str]], fresh: tables.Rows) -> bool:
    """Whether they have the same rows and columns."""
    return [len(row) for row in shown] == [len(row) for row in fresh]


def is_noise(shown: str, fresh: str) -> bool:
    """Whether two measured figures can be the same one."""
    one, other = _MEASURED.fullmatch(shown), _MEASURED.fullmatch(fresh)
    if one is None or other is None:
        return False
    return abs(float(one[1]) - float(other[1])) <= FIVE * math.hypot(float(one[2]), float(other[2]))


def rewritten(text: str, one: Marked, fresh: tables.Rows) -> str:
    """The page with this table's cells as they are computed; cells of words stay."""
    lines = one.table.splitlines()
    for at, (row, anew) in enumerate(zip(cells(one.table), fresh, strict=True), start=2):
        lines[at] = f"| {' | '.join(a if b is None else b for a, b in zip(row, anew, strict=True))} |"
    return text.replace(one.table, "\n".join([*lines, ""]))


def tables_made(wanted: Callable[[str], bool], *, write: bool) -> Iterator[Result]:
    for page in (*PAGES, *TRANSLATED):
        for one in marked(page, page.read_text("utf-8")):
            if one.kind == "table" and wanted(one.title):
                result = compared(one.title, cells(one.table), rows_for(one))
                if write and result.beyond and are_alike(cells(one.table), rows_for(one)):
                    page.write_text(rewritten(page.read_text("utf-8"), one, rows_for(one)), encoding="utf-8")
                    result = result._replace(is_written=True)
                yield result


# Pictures


def reproduce(folder: Path) -> None:
    _deniable(["reproduce", "--out", str(folder)], folder)


def attack(folder: Path) -> None:
    """The command that the page shows."""
    first = blocks((DOCS / "howto" / "attack.md").read_text("utf-8"), "console")[0]
    _deniable(shlex.split(exchanges(first.source)[0][0])[1:], folder)


def _deniable(arguments: Sequence[str], folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "deniable", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


MAKERS: dict[tuple[str, ...], Callable[[Path], None]] = {
    ("figure_1.png", "sensitivity.png"): reproduce,
    ("attack.png",): attack,
    demonstrations.NAMES: demonstrations.take_pictures,
}
"""What makes each picture of docs/images, in an empty folder."""


def looks_different(one: Path, other: Path) -> float:
    """The share of pixels that differ visibly; 1 for pictures of different sizes."""
    with Image.open(one) as a, Image.open(other) as b:
        if a.size != b.size:
            return 1.0
        pixels = [np.asarray(picture.convert("RGB")).astype(int) for picture in (a, b)]
    return float((abs(pixels[0] - pixels[1]).max(axis=2) > VISIBLE).mean())


def compared_pictures(shown: Path, fresh: Path) -> Result:
    name = named(shown)
    if not shown.exists():
        return Result(name, ["there is none yet"])
    share = looks_different(shown, fresh)
    if not share:
        return Result(name)
    told = [f"{share:.3%} of the pixels look different"]
    return Result(name, told) if share > FAINT else Result(name, within=told)


def pictures_made(wanted: Callable[[str], bool], *, write: bool) -> Iterator[Result]:
    for names, make in MAKERS.items():
        asked = [name for name in names if wanted(named(IMAGES / name))]
        if not asked:
            continue
        with tempfile.TemporaryDirectory() as made:
            make(Path(made))
            for name in asked:
                result = compared_pictures(IMAGES / name, Path(made) / name)
                if write and result.beyond:
                    shutil.copy(Path(made) / name, IMAGES / name)
                    result = result._replace(is_written=True)
                yield result


# What pages print


def pages_followed(wanted: Callable[[str], bool]) -> Iterator[Result]:
    """By the tests that follow them."""
    files = ("tests/docs/test_shell.py", "tests/docs/test_handbook.py", "tests/test_docs.py")
    which = " or ".join(("can_be_followed", "python_blocks_run", "test_handbook"))
    command = [sys.executable, "-m", "pytest", "-rA", "--tb=short", "-m", "long or not long", "-k", which, *files]
    if not wanted("what pages print"):
        return
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    yield from followed(printed)


def followed(printed: str) -> list[Result]:
    """What pytest said of every test."""
    found = [
        Result(
            f"what pages print: {test.removeprefix('test_').replace('_', ' ')} {case}".strip(),
            [] if said == "PASSED" else [why or said],
        )
        for said, test, case, why in _FOLLOWED.findall(printed)
    ]
    return found or [Result("what pages print", ["the tests did not run", printed[-500:]])]


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(args)

    def wanted(name: str) -> bool:
        return not given.names or any(part in name for part in given.names)

    results: list[Result] = []
    for made in (
        tables_made(wanted, write=given.write),
        pictures_made(wanted, write=given.write),
        pages_followed(wanted),
    ):
        for result in made:
            print(f"{result.name}: {result.told()}", flush=True)
            results.append(result)
    for page in PAGES:
        for one in marked(page, page.read_text("utf-8")):
            if one.kind == "record" and wanted(one.title):
                print(f"{named(page)}, line {one.line}: a record, not made again: {one.name}")
    beyond = sum(bool(result.beyond) and not result.is_written for result in results)
    print(f"{len(results)} made; {beyond} differ{'s' if beyond == 1 else ''} beyond the noise.")
    return int(beyond > 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pytest.skip.Exception as missing:  # Chromium
        sys.exit(str(missing))
