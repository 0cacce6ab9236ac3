"""What our figures share: one colour a mechanism, and labels beside the lines instead of a legend.

Matplotlib comes with the extra `charts` and is imported only where a figure is drawn.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
MECHANISM_COLOURS = {
    "greedy": "#D55E00",
    "race": "#009E73",
    "tca": "#0072B2",
    "rr": "#CC79A7",
    "rr:paper": "#CC79A7",
    "uniform": "#707070",
    "counter:toeplitz": "#0072B2",
    "counter:blt": "#56B4E9",
    "counter:tree": "#E69F00",
    "counter:input_perturbation": "#882255",
    "counter:output_perturbation": "#000000",
}
SUFFIXES = (".png", ".svg")


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure, in inches, that no window will show."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (optional)
    except ImportError:
        raise DeniableError("charts need matplotlib: install it with pip install 'deniable[charts]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def check_chart(path: Path) -> None:
    """Refuse a chart that could not be drawn or written, before any long work."""
    if path.suffix.lower() not in SUFFIXES:
        raise DeniableError(f"a chart's name must end in {' or '.join(SUFFIXES)}, got {path.name}")
    if not path.parent.is_dir():
        raise DeniableError(f"cannot write {path}: {path.parent} is not a folder")
    new_figure(1, 1)


def save_figure(figure: "Figure", path: Path) -> None:
    from matplotlib import rc_context  # noqa: PLC0415  (optional)

    try:
        # Without the date, and with a fixed salt for its ids, the same figure is the same file.
        with rc_context({"svg.hashsalt": "deniable"}):
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise DeniableError(f"cannot write {path}: {error.strerror or error}") from None


def label_lines(axes: "Axes", ends: Mapping[str, float]) -> None:
    """Write each mechanism's id in its colour right of the axes, at the height where its line ends.

    Labels that would overlap are moved apart, in the order of the lines.
    """
    least = 0.075  # of the height of the axes: one line of text
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = {name: float(to_axes.transform((axes.get_xlim()[1], end))[1]) for name, end in ends.items()}
    below = -1.0
    placed = {}
    for name in sorted(heights, key=heights.__getitem__):
        below = placed[name] = max(min(max(heights[name], 0.0), 1.0), below + least)
    # What was pushed out at the top comes back down.
    above = 1.0 + least
    for name in reversed(list(placed)):
        above = placed[name] = min(placed[name], above - least)
    for name, height in placed.items():
        axes.text(
            1.02, height, name.removeprefix("counter:"), transform=axes.transAxes, va="center", fontsize=8,
            color=MECHANISM_COLOURS[name],
        )  # fmt: skip
