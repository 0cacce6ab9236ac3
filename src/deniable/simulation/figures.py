"""What our figures share: one colour a mechanism, and labels beside the lines instead of a legend.

Matplotlib comes with the extra `research` and is imported only where a figure is drawn.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import DeniableError, cannot_write, pip_install

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
        raise DeniableError(f"charts need matplotlib: run {pip_install('research')} in a copy of the project") from None
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
        raise cannot_write(path, error) from None


def label_lines(axes: "Axes", ends: Mapping[str, float]) -> None:
    """Write each mechanism's id in its colour right of the axes, at the height where its line ends.

    Labels that would overlap are moved apart, in the order of the lines, around the middle of where they belong; thin
    lines then lead to the ends of theirs.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = {name: float(to_axes.transform((axes.get_xlim()[1], end))[1]) for name, end in ends.items()}
    heights = {name: min(max(height, 0.0), 1.0) for name, height in heights.items()}
    placed = moved_apart(heights)
    moved = any(abs(placed[name] - heights[name]) > 0.01 for name in placed)
    for name, height in placed.items():
        colour = MECHANISM_COLOURS[name]
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)}
        axes.annotate(
            name.removeprefix("counter:"), (1.01, heights[name]), (1.07 if moved else 1.02, height),
            xycoords="axes fraction", va="center", fontsize=8, color=colour, annotation_clip=False,
            arrowprops=leader if moved else None,
        )  # fmt: skip


LABEL_HEIGHT = 0.075
"""Of one line of text, as a part of the height of the axes."""


def moved_apart(heights: Mapping[str, float]) -> dict[str, float]:
    """Heights within [0, 1] for labels that belong at these: in the same order, none over another, as near as can be.

    >>> apart = moved_apart({"race": 0.1, "uniform": 0.8, "rr": 0.8})
    >>> {name: round(height, 4) for name, height in apart.items()}
    {'race': 0.1, 'uniform': 0.7625, 'rr': 0.8375}
    """
    groups: list[tuple[list[str], float]] = []  # names that touch one another, and the height of the lowest
    for name in sorted(heights, key=heights.__getitem__):
        names, lowest = [name], heights[name]
        while groups and lowest < groups[-1][1] + LABEL_HEIGHT * len(groups[-1][0]):
            names = groups.pop()[0] + names
            half = LABEL_HEIGHT * (len(names) - 1) / 2
            middle = sum(heights[one] for one in names) / len(names)
            lowest = max(min(middle, 1 - half), half) - half
        groups.append((names, lowest))
    return {name: lowest + LABEL_HEIGHT * i for names, lowest in groups for i, name in enumerate(names)}
