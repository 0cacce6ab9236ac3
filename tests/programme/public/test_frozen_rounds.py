"""Frozen rounds in words: those that wait, were drawn with their value or without it, and are never drawn."""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.programme.public.published import NAMES, Said, chained, drawn_with, fresh, frozen, made, write

from deniable.languages.voice import plain
from deniable.programme.parameters import Parameters
from deniable.programme.public.frozen_rounds import FrozenRound, frozen_rounds, randomness_rule
from deniable.programme.public.page import verify_text
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import QUICKNET
from deniable.programme.randomness.source import Dice, Drand, value_in_words
from deniable.programme.transcript.replay import replay

A, B, C, D = NAMES
DRAND = made(randomness=Drand())
DICE = made(randomness=Dice("Town hall"))
SIGNATURE = "ab" * 48
THROWN = " ".join("123456" * 7)[: 2 * 39 - 1]
AT: dict[str, Any] = {"time": "2026-01-12T00:05:00Z"}


def after(parameters: Parameters, said: Sequence[Said]) -> dict[int, FrozenRound]:
    entries = chained(parameters, said)
    replay(parameters, entries)
    return frozen_rounds(parameters, entries, plain())


def test_a_programme_without_public_values_freezes_nothing() -> None:
    assert frozen_rounds(made(), [], plain()) == {}
    assert "trust" in randomness_rule(made(), plain())


def test_a_round_waits_for_a_beacon() -> None:
    (one,) = after(DRAND, [frozen(1, DRAND)]).values()
    number = QUICKNET.round_at(DRAND.calendar.due(1) + timedelta(minutes=60))
    assert (one.state, one.is_remarkable, one.heading) == ("waits", False, "")
    assert one.sentence == f"Frozen; drawn with drand’s beacon {number} at 12 January 2026, 00:00 UTC."
    for words in ("on 12 January 2026", f"beacon {number}", "12 January 2026, 00:00 UTC", "19 January 2026, 00:00"):
        assert words in one.now


def test_a_round_that_was_frozen_late_waits_for_a_later_beacon() -> None:
    (one,) = after(DRAND, [frozen(1, DRAND, late=2, reason="a strike")]).values()
    assert (one.since.iso, one.expected.iso) == ("2026-01-14", "2026-01-14T00:01Z")


def test_a_round_waits_for_numbers() -> None:
    (one,) = after(DICE, [frozen(1, DICE, late=1, reason="a strike")]).values()
    assert (one.since.iso, one.expected.iso, one.without_from.iso) == (
        "2026-01-13",
        "2026-01-13T00:01Z",
        "2026-01-20T00:01Z",
    )
    assert (one.is_thrown, one.place) == (True, "Town hall")
    for words in ("thrown 39 times", "Town hall", "in public on 13 January 2026, 00:01 UTC", "20 January 2026"):
        assert words in one.now


def test_what_a_round_was_drawn_with() -> None:
    (one,) = after(DRAND, [frozen(1, DRAND), drawn_with(1, SIGNATURE, A)]).values()
    assert (one.state, one.value, one.number, one.is_remarkable) == ("drawn", SIGNATURE, 2, False)
    assert "of 12 January 2026, 00:00 UTC" in one.sentence
    (one,) = after(DICE, [frozen(1, DICE), drawn_with(1, THROWN, A, **AT)]).values()
    assert (one.state, one.value) == ("drawn", THROWN)
    assert one.sentence.endswith("on 12 January 2026, 00:05 UTC: Town hall.")


def test_a_draw_without_its_value_is_remarkable_and_has_its_reason() -> None:
    found = after(DRAND, [frozen(1, DRAND), drawn_with(1, None, A, reason="no network"), frozen(2, DRAND)])
    assert [(one.state, one.is_remarkable) for one in found.values()] == [("without", True), ("waits", False)]
    assert (found[1].reason, found[1].value, found[1].number) == ("no network", "", 2)
    assert "without" in found[1].heading
    assert "could know the result" in found[1].sentence


LOST = {"lost": 1, "commitment": fresh(99), "paused": False, "complete": True, "during": 2, "reason": "the disk broke"}


@pytest.mark.parametrize(
    ("ending", "words"),
    [(("recovery", 2, {**LOST, "inputs_lost": True}), "is lost"), (("end", 2, {"reason": "by law"}), "ended")],
)
def test_a_round_that_is_never_drawn_says_why(ending: Said, words: str) -> None:
    (one,) = after(DICE, [frozen(1, DICE), ending]).values()
    assert (one.state, one.is_remarkable, one.number) == ("never", True, None)
    assert words in one.sentence
    assert "entry 2" in one.sentence


def test_a_recovery_that_keeps_the_inputs_leaves_the_round_waiting() -> None:
    recovery: Said = ("recovery", 2, {**LOST, "lost": 2, "inputs_lost": False})
    (one,) = after(DICE, [frozen(1, DICE), recovery]).values()
    assert one.state == "waits"
    (one,) = after(DICE, [frozen(1, DICE), recovery, drawn_with(1, THROWN, A, **AT)]).values()
    assert (one.state, one.number) == ("drawn", 3)


def test_the_rules_say_where_the_random_numbers_come_from() -> None:
    assert QUICKNET.hash in randomness_rule(DRAND, plain())
    assert "drand publishes 60 minutes" in value_in_words(Drand(), plain())
    assert "within 3 days" in randomness_rule(made(randomness=Dice("Town hall", days=3)), plain())
    lottery = randomness_rule(made(randomness=Dice("the state lottery", Throws(6, 49))), plain())
    assert "the state lottery; 6 numbers of 49" in lottery


def test_another_chain_is_not_called_drands() -> None:
    """Its key may be the office's."""
    other = replace(QUICKNET, hash="ab" * 32)
    parameters = made(randomness=Drand(other))
    (one,) = after(parameters, [frozen(1, parameters)]).values()
    for words in (one.now, one.sentence, value_in_words(Drand(other), plain())):
        assert "drand’s" not in words.replace("not drand’s", "").replace("than drand’s", "")
    assert "perhaps the office" in randomness_rule(parameters, plain())
    assert "perhaps the office" not in randomness_rule(DRAND, plain())


def test_a_reader_without_deniable_lists_the_beacons(tmp_path: Path) -> None:
    entries = chained(DRAND, [frozen(1, DRAND), drawn_with(1, SIGNATURE, A), frozen(2, DRAND)])
    write(tmp_path, DRAND, entries)
    program = re.findall("```python\n(.*?)```", verify_text(DRAND), re.DOTALL)[1]
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    first, last = done.stdout.splitlines()
    assert first.endswith(f"out at 2026-01-12 00:00:00 UTC, signature {SIGNATURE}")
    assert last == "not drawn: [2]"
