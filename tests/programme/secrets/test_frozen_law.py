"""The law of a frozen round's draw: that of the mechanism over secret seeds, and over public values alone.

Fixed seeds, failure probability 1e-6 a check. Beside the checks stand planted derivations that they must reject.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.programme.offices import TARGETS
from tests.programme.secrets.test_frozen import INPUTS, PARAMETERS

from deniable.attack.exact import closing, law_of_run
from deniable.noise import ReplayNoise
from deniable.programme.parameters import Parameters
from deniable.programme.secrets import frozen
from deniable.programme.secrets.frozen import Frozen, noise_of_draw
from deniable.run import AuditRun

FAILURE = 1e-6
DRAWS = 4000
REPORTS = np.array([[1, 0, 3, 0]])
EARLIER = [4, 1, 0, 2]
VALUE, SEED = "ef" * 32, bytes(range(64, 96))
CASES = {
    "4 targets": replace(PARAMETERS, calibrated=None, delta=0.5),
    "3 targets": replace(PARAMETERS, calibrated=None, delta=0.3, targets=TARGETS[:3]),
    "two audits a round": replace(PARAMETERS, calibrated=None, delta=0.2, audits=2),
    "a cooldown": replace(PARAMETERS, calibrated=None, delta=0.5, cooldown=1),
}

Audits = tuple[int, ...]
Draw = tuple[bytes, str]
"""Seed and public value."""


def before(parameters: Parameters) -> Frozen:
    """The second round: of the first, what was not audited waits."""
    run, targets = AuditRun(parameters.built(), ReplayNoise(bytes(32))), len(parameters.targets)
    run.select(np.array(EARLIER[:targets]), audits=parameters.audits)
    return Frozen(replace(INPUTS, round=2, reports=REPORTS[:, :targets]), run.save())


def law(parameters: Parameters, round_: Frozen) -> dict[Audits, Fraction]:
    """Of the targets drawn, by enumeration of the mechanism's own draws."""
    start = partial(AuditRun.restore, parameters.built(), round_.run)
    drawn = closing(parameters.weighed(round_.inputs.reports), parameters.audits)
    return {audits: chance for (audits,), chance in law_of_run(start, [drawn]).items()}


def with_random_seeds() -> Iterable[Draw]:
    chance = random.Random(1)
    return ((chance.randbytes(32), VALUE) for _ in range(DRAWS))


def with_random_values(seed: bytes = SEED) -> Iterable[Draw]:
    chance = random.Random(2)
    return ((seed, chance.randbytes(32).hex()) for _ in range(DRAWS))


def follows(parameters: Parameters, draws: Iterable[Draw]) -> bool:
    round_ = before(parameters)
    seen = Counter(
        replace(round_, inputs=replace(round_.inputs, seed=seed)).drawn(parameters, value)[1] for seed, value in draws
    )
    chances = law(parameters, round_)
    if not seen.keys() <= chances.keys():
        return False
    expected = [float(chance) * DRAWS for chance in chances.values()]
    assert min(expected) > 20
    return bool(chisquare([seen[audits] for audits in chances], expected).pvalue >= FAILURE)


def test_the_enumerated_law_is_that_of_the_weights() -> None:
    """And far from that of a draw by lot, so that the checks have something to find."""
    parameters = CASES["4 targets"]
    round_ = before(parameters)
    counts = np.array(AuditRun.restore(parameters.built(), round_.run).active_counts()) + REPORTS[0]
    weights = [int(phi) for phi in parameters.built().growth.exact(counts)]  # type: ignore[attr-defined]
    chances = law(parameters, round_)
    assert chances == {(target,): Fraction(weight, sum(weights)) for target, weight in enumerate(weights)}
    assert max(chances.values()) > 3 * min(chances.values())


@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES)
def test_over_secret_seeds_a_draw_has_the_law_of_the_mechanism_whatever_the_value(parameters: Parameters) -> None:
    """So who knows the public value alone learns nothing from it."""
    assert follows(parameters, with_random_seeds())


@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES)
def test_over_public_values_a_draw_has_the_law_of_the_mechanism_whatever_the_seed(parameters: Parameters) -> None:
    """So the office, which knows the seed, cannot foresee the draw."""
    assert follows(parameters, with_random_values())


@pytest.mark.parametrize("seed", [bytes(32), b"\xff" * 32])
def test_a_seed_that_the_office_chose_is_as_good(seed: bytes) -> None:
    assert follows(CASES["4 targets"], with_random_values(seed))


def test_a_round_without_a_value_is_drawn_by_its_seed() -> None:
    assert follows(CASES["4 targets"], ((seed, "") for seed, _ in with_random_seeds()))


def ignoring_the_seed(programme: str, round_: int, _: bytes, value: str, counted: str) -> ReplayNoise:
    return noise_of_draw(programme, round_, bytes(32), value, counted)


def ignoring_the_value(programme: str, round_: int, seed: bytes, _: str, counted: str) -> ReplayNoise:
    return noise_of_draw(programme, round_, seed, "", counted)


def with_four_bits_of_each(programme: str, round_: int, seed: bytes, value: str, counted: str) -> ReplayNoise:
    return noise_of_draw(programme, round_, bytes([seed[0] % 16]) * 32, value[:1], counted)


@pytest.mark.parametrize(
    ("planted", "draws"),
    [
        (ignoring_the_seed, with_random_seeds),
        (ignoring_the_value, with_random_values),
        (with_four_bits_of_each, with_random_seeds),
        (with_four_bits_of_each, with_random_values),
    ],
)
def test_the_check_catches_a_wrong_derivation(
    planted: Any, draws: Callable[[], Iterable[Draw]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: planted bugs."""
    monkeypatch.setattr(frozen, "noise_of_draw", planted)
    assert not follows(CASES["4 targets"], draws())


def test_the_check_catches_another_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the draw forgets what waited from the round before."""
    restore = AuditRun.restore
    parameters = CASES["4 targets"]
    chances = law(parameters, before(parameters))
    monkeypatch.setattr("tests.programme.secrets.test_frozen_law.law", lambda *_: chances)
    monkeypatch.setattr(AuditRun, "restore", lambda made, _, noise: AuditRun(made, noise))
    assert not follows(parameters, with_random_seeds())
    monkeypatch.setattr(AuditRun, "restore", restore)
    assert follows(parameters, with_random_seeds())
