"""Labels beside lines: each near its line's end, none over another."""

from itertools import pairwise
from typing import Any

import pytest

from deniable.simulation.figures import LABEL_HEIGHT, label_lines, moved_apart, new_figure


@pytest.mark.parametrize(
    "heights",
    [
        {"a": 0.8, "b": 0.8, "c": 0.78, "d": 0.0},
        {"a": 1.0, "b": 1.0, "c": 0.99},
        {"a": 0.0, "b": 0.0, "c": 0.01, "d": 0.12},
        {"a": 0.5, "b": 0.57, "c": 0.64, "d": 0.71, "e": 0.1},
        dict.fromkeys("abcdefghij", 0.5),
    ],
)
def test_labels_are_moved_apart(heights: dict[str, float]) -> None:
    placed = moved_apart(heights)
    assert sorted(heights, key=heights.__getitem__) == list(placed)
    found = list(placed.values())
    assert found[0] >= -1e-9
    assert found[-1] <= 1 + 1e-9
    assert all(b - a > LABEL_HEIGHT - 1e-9 for a, b in pairwise(found))


def test_a_group_stays_around_its_lines() -> None:
    placed = moved_apart({"rr": 0.784, "uniform": 0.8, "rr:paper": 0.8, "greedy": 0.0})
    assert placed["greedy"] == 0.0
    assert sum(placed[name] for name in ("rr", "uniform", "rr:paper")) == pytest.approx(0.784 + 0.8 + 0.8)


@pytest.mark.parametrize(("ends", "leaders"), [({"race": 10.0, "tca": 90.0}, 0), ({"rr": 80.0, "uniform": 80.0}, 2)])
def test_moved_labels_have_leaders_to_their_lines(ends: dict[str, float], leaders: int) -> None:
    pytest.importorskip("matplotlib")
    axes = new_figure(4, 3).subplots()
    axes.set(xlim=(0, 1), ylim=(0, 100))
    label_lines(axes, ends)
    drawn: dict[str, Any] = {text.get_text(): text for text in axes.texts}
    assert drawn.keys() == ends.keys()
    assert sum(text.arrow_patch is not None for text in drawn.values()) == leaders
    for name, end in ends.items():
        assert drawn[name].xy == pytest.approx((1.01, end / 100))
