"""How `deniable attack` tells what it found."""

from dataclasses import replace
from typing import Any

import pytest

import deniable as dn
from deniable.attack import BlackBox, LeakEstimate, play, report_at
from deniable.cli.attack_output import Attack, _down, _factor, _result, _up, to_json

PAIR = report_at("quiet", [[0, 0]] * 2, 0)
RIGHT = play(dn.Race.calibrate(2, 0.1), PAIR, 40)
WRONG = replace(RIGHT, ratio_bound=0.2)
FOUND = Attack("race", "race, 2 targets, 1 audit a round, no rules", RIGHT, [RIGHT], RIGHT, RIGHT, RIGHT, [RIGHT])


@pytest.mark.parametrize("row", ["worst", "tried", "own_target", "prefix", "moved", "moved_tried"])
def test_one_refuted_row_is_enough(row: str) -> None:
    """Whatever was played: the streams that were tried, the worst of them, the views, and the moved report."""
    assert not FOUND.broken
    other: dict[str, Any] = {row: [RIGHT, WRONG] if row.endswith("tried") else WRONG}
    broken = replace(FOUND, **other)
    assert broken.broken
    assert broken.in_words == f"BROKEN: {FOUND.attacked}."
    assert not replace(FOUND, own_target=None).broken


def test_the_verdict_names_what_was_attacked() -> None:
    assert FOUND.in_words == f"not refuted: {FOUND.attacked}."
    shown = to_json(FOUND)
    assert (shown["attacked"], shown["verdict"]) == (FOUND.attacked, "not refuted")
    greedy = replace(FOUND, worst=play(dn.Greedy(2), PAIR, 40))
    assert greedy.verdict == "promises nothing"


def test_a_black_box_alone_does_not_get_the_same_verdict() -> None:
    weak = replace(FOUND, worst=play(dn.Race.calibrate(2, 0.1), PAIR, 200, adversary=BlackBox()))
    assert weak.verdict == "not refuted by the weaker adversary"
    for words in (FOUND.attacked, "black box", "a better adversary may gain more"):
        assert words in weak.in_words
    assert replace(weak, tried=[WRONG]).in_words == f"BROKEN: {FOUND.attacked}."


def test_bounds_are_rounded_down_and_limits_up() -> None:
    assert (_down(0.0999, 3), _down(0.1, 3), _down(1234.9, 0)) == ("0.099", "0.100", "1,234")
    assert (_up(0.0991, 3), _up(0.1 + 1e-15, 3), _up(1.3134, 2)) == ("0.100", "0.101", "1.32")
    assert [_factor(odds, _down) for odds in (1.999, 123.4, 1e7, float("inf"))] == ["1.99", "123", "1e+07", "no limit"]


def test_no_leak_is_below_zero() -> None:
    """A black box that learnt nothing may be wrong more often than right."""
    shown = _result(replace(RIGHT, leak=LeakEstimate(-0.1, 0.1), exact=False))
    assert (shown["leak"], shown["advantage"]) == (0, 0)
