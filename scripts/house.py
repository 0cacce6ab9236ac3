"""How easy the code is to see, in figures: the table of docs/decisions/0010-the-house.md.

python scripts/house.py [SRC]    SRC is the folder of the package, by default src/deniable
"""

import ast
import contextlib
import functools
import io
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parent.parent
SMALL = 60
PEERS = ("starlette", "httpx")
REPETITIONS = 7


def modules(package: Path) -> dict[str, Path]:
    found = {}
    for path in package.rglob("*.py"):
        if "migrations" not in path.parts:
            name = ".".join([package.name, *path.relative_to(package).with_suffix("").parts])
            found[name.removesuffix(".__init__")] = path
    return found


def imported(name: str, known: dict[str, Path]) -> set[str]:
    """The modules of the package that this one imports when it is imported itself."""
    found: set[str] = set()
    above = name.split(".") if known[name].name == "__init__.py" else name.split(".")[:-1]

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.If):
                visit(node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else node.body)
            elif isinstance(node, ast.Try):
                visit(node.body)
            elif isinstance(node, ast.Import):
                found.update(one.name for one in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = above[: len(above) - node.level + 1] if node.level else []
                origin = ".".join([*base, *([node.module] if node.module else [])])
                for one in node.names:
                    found.add(f"{origin}.{one.name}" if f"{origin}.{one.name}" in known else origin)

    visit(ast.parse(known[name].read_text(encoding="utf-8")).body)
    return (found & known.keys()) - {name}


def longest_chain(package: Path) -> list[str]:
    known = modules(package)
    graph = {name: imported(name, known) for name in known}
    under_way: set[str] = set()

    @functools.cache
    def chain(name: str) -> tuple[str, ...]:
        if name in under_way:  # a cycle, which no contract of ours lets through
            return ()
        under_way.add(name)
        below = max(map(chain, sorted(graph[name])), key=len, default=())
        under_way.discard(name)
        return (name, *below)

    return list(max(map(chain, sorted(known)), key=len))


def lines(folder: Path) -> dict[Path, int]:
    return {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(folder.rglob("*.py"))}


@contextlib.contextmanager
def visited(package: Path, files: set[str]) -> Iterator[None]:
    """Note every file of the package of which a function runs; what runs only when a module is imported is left out."""
    inside = f"{package.resolve()}{os.sep}"

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(inside) and not code.co_name.startswith("<module"):
            files.add(code.co_filename.removeprefix(inside))

    threading.setprofile(note)  # the console serves a report in a thread
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def close_round(package: Path) -> set[str]:
    """`deniable programme close-round`, from the command line to the draw."""
    from deniable.cli.main import main  # noqa: PLC0415

    files: set[str] = set()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        Path("targets.txt").write_text("Ash Mill\nBirch Works\nCedar Yard\n", encoding="utf-8")
        rules = ["--name", "House", "--delta", "0.1", "--start", "2026-01-05", "--period", "1D"]
        assert main(["programme", "init", "targets.txt", *rules]) == 0
        with visited(package, files):
            assert main(["programme", "close-round", "--reason", "late"]) == 0
    return files


def race(package: Path) -> set[str]:
    """`Race.calibrate` and one step."""
    import deniable as dn  # noqa: PLC0415

    files: set[str] = set()
    with visited(package, files):
        run = dn.AuditRun(dn.Race.calibrate(n_targets=4, delta=0.1))
        run.select([1, 0, 2, 0])
    return files


def report_in_console(package: Path) -> set[str]:
    """A report that a person enters in the browser."""
    sys.path.insert(0, str(ROOT))
    from tests.console.offices import new_office  # noqa: PLC0415

    files: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        office = new_office(Path(folder))
        office.begin()
        browser = office.browser("Ida")
        with visited(package, files):
            assert "receipt" in browser.enter("Ash Mill", 1).text
        office.console.close()
    return files


def start_up(command: list[str]) -> float:
    """CPU seconds, the median of some."""

    def once() -> float:
        before = os.times()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return statistics.median(once() for _ in range(REPETITIONS))


def main() -> None:
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src" / "deniable"
    chain = longest_chain(package)
    sizes, tests = lines(package), lines(ROOT / "tests")
    print(f"longest chain of imports: {len(chain)}\n  {' > '.join(chain)}")
    for peer in PEERS:
        folder = Path(__import__(peer).__file__).parent
        print(f"  {peer}: {len(longest_chain(folder))}")
    print(f"files of {SMALL} lines or fewer: {sum(size <= SMALL for size in sizes.values())} of {len(sizes)}")
    walks: dict[str, Callable[[Path], set[str]]] = {
        "close-round": close_round,
        "a report in the console": report_in_console,
        "Race.calibrate and a step": race,
    }
    for name, walk in walks.items():
        files = walk(package)
        print(f"files visited by {name}: {len(files)}\n  {' '.join(sorted(files))}")
    numpy = start_up(["-c", "import numpy"])
    for name, command in {
        "import deniable": ["-c", "import deniable"],
        "deniable --version": ["-m", "deniable", "--version"],
        "deniable --help": ["-m", "deniable", "--help"],
    }.items():
        print(f"{name}: {start_up(command) / numpy:.2f} times NumPy's own import")
    print(f"lines in src: {sum(sizes.values()):,}; in tests: {sum(tests.values()):,}")


if __name__ == "__main__":
    main()
