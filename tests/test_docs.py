"""Every Python block of README.md and docs/ runs: in order, one namespace a file."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[int, str]]:
    """The Python blocks of a page, each with the line before its first, so that errors name the page's own lines."""
    return [(page.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(page)]


def run(page: str, name: str) -> None:
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    for line, source in blocks(page):
        if source.lstrip().startswith(">>>"):
            run_doctest(source, namespace, name, line)
        else:
            exec(compile("\n" * line + source, name, "exec"), namespace)


def run_doctest(source: str, namespace: dict[str, Any], name: str, line: int) -> None:
    test = doctest.DocTestParser().get_doctest(source, namespace, name, name, line)
    test.globs = namespace  # not the copy it made: later blocks see what this one defines
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a block may write files
    run(path.read_text(encoding="utf-8"), str(path))


def test_blocks_share_a_namespace() -> None:
    run("```python\nx = 1\n```\ntext\n```python\n>>> y = x + 1\n>>> y\n2\n```\n```python\nassert y == 2\n```\n", "page")


@pytest.mark.parametrize("block", ["assert 1 == 2", ">>> 1 + 1\n3"], ids=["plain", "doctest"])
def test_a_wrong_block_fails(block: str) -> None:
    with pytest.raises(AssertionError):
        run(f"```python\n{block}\n```\n", "page")


def test_only_python_blocks_run() -> None:
    assert blocks("```\nnot code\n```\n```text\nnor this\n```\n`python`\n") == []
    assert blocks("one\n```python\nx = 1\n```\n") == [(2, "x = 1\n")]
