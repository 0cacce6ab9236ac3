import pytest

import deniable as dn


def test_guarantee_is_that_of_the_counter() -> None:
    counter = dn.counters.toeplitz(delta=0.1, horizon=20)
    assert dn.CounterAuditing(5, counter).guarantee() == counter.guarantee()


def test_guarantee_has_the_gaussian_curve() -> None:
    """theory: mu = 2 kappa, tighter than FPR + delta, and delta_k = 2 Phi(k kappa) - 1 < k delta."""
    guarantee = dn.CounterAuditing.calibrate(5, 0.1, horizon=20).guarantee()
    assert guarantee.tradeoff(0.01) < 0.01 + 0.1
    assert guarantee.for_reports(5).delta < 0.5


def test_rounds_beyond_the_horizon_are_refused() -> None:
    run = dn.AuditRun(dn.CounterAuditing.calibrate(2, 0.1, horizon=3))
    for _ in range(3):
        run.step([1, 0])
    with pytest.raises(dn.DeniableError, match="covers 3 rounds"):
        run.step([1, 0])
    assert run.rounds == 3


def test_a_horizon_is_needed() -> None:
    with pytest.raises(dn.DeniableError, match="needs a horizon"):
        dn.CounterAuditing.calibrate(5, 0.1)


def test_unknown_counter() -> None:
    with pytest.raises(dn.DeniableError, match=r"counter must be one of toeplitz, blt, tree, .*, got 'abacus'"):
        dn.CounterAuditing.calibrate(5, 0.1, horizon=5, counter="abacus")
