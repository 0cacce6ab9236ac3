"""Runs the notebooks of examples/ and writes into them what they print and draw: `python scripts/notebooks.py`."""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
LONGEST_CELL = 600
"""Seconds, on a busy machine."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""Without the version of the Python that ran it, so that the same outputs are the same file."""


def run(path: Path) -> Any:
    """The notebook after all its cells have run in a new kernel, in its own folder."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=LONGEST_CELL,
        record_timing=False,
        coalesce_streams=True,  # what a cell prints comes in pieces, which differ from run to run
        resources={"metadata": {"path": str(path.parent)}},
    )
    with tempfile.TemporaryDirectory() as settings:  # not those of the person who runs this
        client.execute(env=os.environ | {"IPYTHONDIR": settings})
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(EXAMPLES.glob("*.ipynb")))
    parser.add_argument("--to", type=Path, help="the folder to write to, in place of the notebook's own")
    given = parser.parse_args()
    for path in given.notebooks:
        written = nbformat.writes(run(path)) + "\n"
        ((given.to or path.parent) / path.name).write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
