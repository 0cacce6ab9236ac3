import numpy as np
import pytest

import deniable as dn
from deniable.mechanisms import MECHANISM_IDS, calibrate
from deniable.streams import active_counts, leaders


def test_greedy_always_audits_a_leader() -> None:
    """`app:prop:greedy_utility`."""
    streams = np.random.default_rng(0).poisson(0.7, (20, 60, 6))
    audits = dn.simulate(dn.Greedy(6), streams).audits
    active = active_counts(streams, audits)
    assert np.take_along_axis(leaders(active), audits[..., None], axis=-1).all()


def test_uniform_keeps_no_reports() -> None:
    mechanism = dn.UniformRandom(3)
    _, state = mechanism.step(mechanism.init(), np.array([[5, 0, 1]]), dn.ReplayNoise(bytes(32)))
    assert not state.private.any()


def test_randomized_response_takes_the_better_calibration() -> None:
    """(1 - delta)**(1/T) for one or two rounds, C / (C + delta) for many; with many, no horizon is needed."""
    short = dn.RandomizedResponse.calibrate(50, 0.1, horizon=2)
    assert short.p_rand == pytest.approx(0.9**0.5)
    assert short.guarantee().horizon == 2
    long = dn.RandomizedResponse.calibrate(50, 0.1, horizon=1000)
    assert long.p_rand == pytest.approx(50 / 50.1)
    assert long.guarantee().horizon is None
    for rr in (short, long):
        assert rr.guarantee().delta <= 0.1
        assert rr.guarantee().delta == pytest.approx(0.1, abs=1e-9)


def test_randomized_response_refuses_rounds_beyond_its_horizon() -> None:
    run = dn.AuditRun(dn.RandomizedResponse(50, 0.99, horizon=3))
    for _ in range(3):
        run.step([0] * 50)
    with pytest.raises(dn.DeniableError, match="covers 3 rounds"):
        run.step([0] * 50)


@pytest.mark.parametrize("p_rand", [0.0, -0.1, 1.1, float("nan")])
def test_bad_p_rand(p_rand: float) -> None:
    with pytest.raises(dn.DeniableError, match=r"p_rand must be in \(0, 1\]"):
        dn.RandomizedResponse(3, p_rand)


@pytest.mark.parametrize("mechanism_id", MECHANISM_IDS)
def test_every_id_builds_a_mechanism(mechanism_id: str) -> None:
    mechanism = calibrate(mechanism_id, n_targets=4, delta=0.2, horizon=10)
    assert mechanism.n_targets == 4
    assert mechanism_id == "greedy" or mechanism.guarantee().delta <= 0.2


@pytest.mark.parametrize("mechanism_id", MECHANISM_IDS)
def test_one_target_is_refused(mechanism_id: str) -> None:
    with pytest.raises(dn.DeniableError, match="n_targets must be a whole number of at least 2, got 1"):
        calibrate(mechanism_id, n_targets=1, delta=0.2, horizon=10)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.5, 1.5, float("nan")])
@pytest.mark.parametrize("mechanism_id", ["rr", "tca", "race", "counter:toeplitz"])
def test_bad_delta_is_refused(mechanism_id: str, delta: float) -> None:
    with pytest.raises(dn.DeniableError, match=r"delta must be above 0 and below 1, got"):
        calibrate(mechanism_id, n_targets=3, delta=delta, horizon=10)


@pytest.mark.parametrize("mechanism_id", ["", "dice", "counter:", "counter:abacus", "race:2"])
def test_unknown_mechanism_is_refused(mechanism_id: str) -> None:
    with pytest.raises(dn.DeniableError, match="mechanism must be one of greedy, uniform, rr, tca, race"):
        calibrate(mechanism_id, n_targets=3, delta=0.1, horizon=10)
