"""The notebooks of examples/ run, give the outputs that are committed with them, and become pages of the site."""

import io
import json
import math
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from scripts import notebook_pages

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
LONGEST = 36
"""Lines of a cell of code."""


def run(notebook: Path, folder: Path) -> dict[str, Any]:
    """In a process of its own, as `python scripts/notebooks.py` does."""
    command = [sys.executable, str(ROOT / "scripts" / "notebooks.py"), str(notebook), "--to", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return read(folder / notebook.name)


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(cell: dict[str, Any]) -> str:
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


def pictures(cell: dict[str, Any]) -> list[Any]:
    """(height, width, 4) each, from 0 to 1."""
    encoded = [
        "".join(output["data"]["image/png"]) for output in cell["outputs"] if "image/png" in output.get("data", {})
    ]
    return [matplotlib.image.imread(io.BytesIO(b64decode(one))) for one in encoded]


def are_alike(text: str, other: str) -> bool:
    """The same words, and figures that differ by no more than another machine's rounding could make them."""
    figures = [[float(number.replace(",", "")) for number in NUMBER.findall(one)] for one in (text, other)]
    words = [NUMBER.sub("#", one).split() for one in (text, other)]
    return words[0] == words[1] and all(
        math.isclose(a, b, rel_tol=0.05, abs_tol=0.02) for a, b in zip(*figures, strict=True)
    )


def look_alike(picture: Any, other: Any) -> bool:
    return picture.shape == other.shape and float(np.abs(picture - other).mean()) < 0.01


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_a_notebook_gives_what_is_committed_with_it(path: Path, tmp_path: Path) -> None:
    """If it should give something else: `python scripts/notebooks.py`."""
    committed, now = (code_cells(notebook) for notebook in (read(path), run(path, tmp_path)))
    for cell, again in zip(committed, now, strict=True):
        assert are_alike(printed(cell), printed(again)), f"{printed(cell)}\n{printed(again)}"
        assert len(pictures(cell)) == len(pictures(again))
        assert all(map(look_alike, pictures(cell), pictures(again))), cell["id"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_a_notebook_can_be_read(path: Path) -> None:
    """Short cells, all run in order; pictures are described, and errors and warnings were mended."""
    cells = code_cells(read(path))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert len("".join(cell["source"]).splitlines()) <= LONGEST, cell["id"]
        assert bool(pictures(cell)) == bool(cell["metadata"].get("picture")), cell["id"]
        assert all(output.get("name") != "stderr" and output["output_type"] != "error" for output in cell["outputs"])
    assert sum("assert " in "".join(cell["source"]) for cell in cells) >= 6


def test_a_notebook_that_is_wrong_fails(tmp_path: Path) -> None:
    """Negative control."""
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": "assert 0",
    }
    wrong = tmp_path / "wrong.ipynb"
    wrong.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    with pytest.raises(AssertionError, match="AssertionError"):
        run(wrong, tmp_path)


@pytest.mark.parametrize("other", ["leak 0.2 at 3", "leak 0.1 at 4", "loss 0.1 at 3", "leak 0.1 at", ""])
def test_other_outputs_are_found(other: str) -> None:
    """Negative control."""
    assert are_alike("leak 0.1 at 3", "leak  0.101 at 3\n")
    assert not are_alike("leak 0.1 at 3", other)


def test_another_picture_is_found() -> None:
    """Negative control."""
    picture = np.ones((20, 20, 4))
    other = picture.copy()
    other[5:10, :, :3] = 0
    assert look_alike(picture, picture)
    assert not look_alike(picture, other)


def test_a_notebook_becomes_a_page() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "[b](../docs/fit.md#c) [d](other.ipynb) `x](y.ipynb`"]},
        {
            "cell_type": "code",
            "metadata": {"picture": "A line"},
            "source": "print(1)",
            "outputs": [{"text": ["1\n"]}, {"data": {"text/plain": "2"}}, {"data": {"image/png": "QUJD"}}],
        },
    ]
    page, drawn = notebook_pages.as_page({"cells": cells}, "name")
    assert page == (
        "# A\n[b](../fit.md#c) [d](other.md) `x](y.ipynb`\n\n```python\nprint(1)\n```\n\n"
        "```text\n1\n```\n\n```text\n2\n```\n\n![A line](name-1.png)\n"
    )
    assert drawn == {"name-1.png": b"ABC"}


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("index.md", "../examples/a.ipynb", "notebooks/a.md"),
        ("howto/b.md", "../../examples/a.ipynb#c", "../notebooks/a.md#c"),
        ("howto/b.md", "../../examples/a.csv", "../../examples/a.csv"),
    ],
)
def test_a_link_to_a_notebook_leads_to_its_page(page: str, link: str, there: str) -> None:
    assert notebook_pages.linked(f"[x]({link})", page) == f"[x]({there})"
