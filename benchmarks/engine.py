"""Counter auditing at the paper's defaults: the simulation engine against a plain NumPy loop, in one run.

    python -m benchmarks.engine [--runs 64]

The plain loop is `alg:mechanism` written down round by round, one run after the other, as one would without thinking of
speed. Both must agree in law: the mean deficits are compared, with their standard errors.
"""

import argparse
import time

import numpy as np
from benchmarks.rows import Row

import deniable as dn
from deniable.arrays import IntArray
from deniable.calibration import toeplitz_coefficients
from deniable.simulation.synthetic_streams import lead_rates, poisson
from deniable.streams import active_counts, deficit


def plain_loop(streams: IntArray, sigma: float, seed: int) -> IntArray:
    """(B, T, C) -> (B, T): noise kept from the start of each target's run."""
    rng = np.random.default_rng(seed)
    runs, rounds, n_targets = streams.shape
    f = toeplitz_coefficients(rounds)
    audits = np.empty((runs, rounds), dtype=np.int64)
    for b in range(runs):
        active = np.zeros(n_targets, dtype=np.int64)
        noise = np.zeros((n_targets, rounds))  # zero before the run's start
        for t in range(rounds):
            active += streams[b, t]
            noise[:, t] = sigma * rng.standard_normal(n_targets)
            audited = int(np.argmax(active + noise[:, : t + 1] @ f[t::-1]))
            audits[b, t] = audited
            active[audited] = 0
            noise[audited] = 0.0
    return audits


def main(args: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--targets", type=int, default=50)
    given = parser.parse_args(args)
    runs, rounds, n_targets = given.runs, given.rounds, given.targets
    counter = dn.counters.toeplitz(0.1, rounds)
    mechanism = dn.CounterAuditing(n_targets, counter)
    streams = poisson(lead_rates(n_targets), rounds, runs, seed=0)
    dn.simulate(mechanism, streams[:1, :2])  # compiles
    seconds, means = {}, {}
    for name in ("plain loop", "engine"):
        start = time.perf_counter()
        audits = (
            plain_loop(streams, counter.sigma, seed=1)
            if name == "plain loop"
            else dn.simulate(mechanism, streams).audits
        )
        seconds[name] = time.perf_counter() - start
        lost = deficit(active_counts(streams, audits), audits).mean(axis=1)
        means[name] = f"{lost.mean():.2f} ± {lost.std() / runs**0.5:.2f}"
    print(f"TCA, {n_targets} targets, {rounds} rounds, {runs} runs, delta 0.1")
    for name, took in seconds.items():
        print(f"  {name:10}  {1000 * took / runs:9.2f} ms a run   mean deficit {means[name]}")
    print(f"  the engine is {seconds['plain loop'] / seconds['engine']:.1f} times as fast")
    ours, theirs = (1000 * seconds[name] / runs for name in ("engine", "plain loop"))
    return [
        Row(f"simulated runs of TCA, {n_targets} targets, {rounds:,} rounds", ours, "a NumPy loop", theirs, "ms a run")
    ]


if __name__ == "__main__":
    main()
