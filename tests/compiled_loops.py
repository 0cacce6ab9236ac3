"""Small cases for every loop that Numba compiles; run as a program, it prints what they give and how they were run."""

import json

import numpy as np

import deniable as dn
from deniable.arrays import IntArray
from deniable.attack import particle_kernels
from deniable.attack.particles import log_likelihood_ratio, log_likelihoods
from deniable.simulation import kernels


def is_compiled() -> bool:
    loops = (kernels.toeplitz_audits, kernels.blt_audits, kernels.best_and_audited)
    clouds = (particle_kernels.whole_clouds, particle_kernels.separate_clouds)
    return all(hasattr(loop, "py_func") for loop in (*loops, *clouds))


def results(seed: int = 0) -> dict[str, list[float]]:
    """By name of the case."""
    rng = np.random.default_rng(seed)
    streams = rng.poisson(0.8, (3, 20, 4))
    simulated = dn.simulate(dn.CounterAuditing.calibrate(4, 0.3, 20), streams, seed=seed)
    several = kernels.best_and_audited(streams, rng.permuted(np.tile(np.arange(4), (3, 20, 1)), axis=2)[:, :, :2])
    with_blt = dn.CounterAuditing.calibrate(4, 0.3, 20, counter="blt")
    found = {
        "audits": simulated.audits.ravel().tolist(),
        "audits, BLT": dn.simulate(with_blt, streams, seed=seed).audits.ravel().tolist(),
        "deficit": simulated.deficit.ravel().tolist(),
        "two audits a round": np.concatenate([part.ravel() for part in several]).tolist(),
    }
    for name, rules in (("", dn.Rules()), (", rules", dn.Rules(cooldown=1))):
        few = _transcripts(3, 8, rng, rules)
        mechanism = dn.CounterAuditing.calibrate(3, 0.5, 8, rules=rules)
        calm, lead = np.ones((8, 3), dtype=np.int64), np.zeros((8, 3), dtype=np.int64)
        lead[0, 2] = 15  # so that the others win in the tail of the noise alone
        for kind, stream in (("calm", calm), ("lead", lead)):
            both = log_likelihoods(mechanism, stream, _reported(stream), few, particles=24, seed=seed)
            found[f"whole clouds, {kind}{name}"] = np.concatenate(both).tolist()
        many = _transcripts(6, 20, rng, rules)
        mechanism = dn.CounterAuditing.calibrate(6, 0.5, 20, rules=rules)
        stream = np.ones((20, 6), dtype=np.int64)
        ratios = log_likelihood_ratio(mechanism, stream, _reported(stream), many, particles=32, seed=seed)
        found[f"separate clouds{name}"] = ratios.tolist()
    return found


def _reported(stream: IntArray) -> IntArray:
    filed = stream.copy()
    filed[1, 0] += 1
    return filed


def _transcripts(n_targets: int, rounds: int, rng: np.random.Generator, rules: dn.Rules) -> IntArray:
    """Two, (2, T), that the rules allow."""
    if rules == dn.Rules():
        return rng.integers(0, n_targets, (2, rounds))
    return (np.arange(rounds) + rng.integers(0, n_targets, (2, 1))) % n_targets


if __name__ == "__main__":
    print(json.dumps({"compiled": is_compiled(), "results": results()}))
