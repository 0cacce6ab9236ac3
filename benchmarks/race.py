"""Race with sparse reports: `AuditRun` with exact noise and a mapping, against a pass over all targets every round.

Both use exact noise from the operating system's entropy, and have the same law.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from benchmarks.rows import Row

import deniable as dn


def rounds_of(n_targets: int, reports: int, rounds: int) -> list[dict[int, int]]:
    rng = np.random.default_rng(0)
    return [dict.fromkeys(rng.integers(n_targets, size=reports).tolist(), 1) for _ in range(rounds)]


def sparse_round(mechanism: dn.Race, reports: int, rounds: int) -> tuple[float, float]:
    """Seconds for building the run, and seconds a round after it."""
    stream = rounds_of(mechanism.n_targets, reports, rounds)
    began = time.perf_counter()
    run = dn.AuditRun(mechanism, dn.SystemNoise())
    run.step(stream[0])
    built = time.perf_counter()
    for new in stream:
        run.step(new)
    return built - began, (time.perf_counter() - built) / rounds


def dense_round(mechanism: dn.Race, reports: int, rounds: int) -> float:
    """Seconds a round through `Race.step`, which looks at every target."""
    stream = rounds_of(mechanism.n_targets, reports, rounds)
    state, noise = mechanism.init(), dn.SystemNoise()
    _, state = mechanism.step(state, np.zeros((1, mechanism.n_targets), dtype=np.int64), noise)
    began = time.perf_counter()
    for new in stream:
        row = np.zeros((1, mechanism.n_targets), dtype=np.int64)
        row[0, list(new)] = 1
        _, state = mechanism.step(state, row, noise)
    return (time.perf_counter() - began) / rounds


def numpy_round(mechanism: dn.Race, reports: int, rounds: int) -> float:
    """Seconds a round of a plain floating-point reference: all weights, their sums, one draw."""
    stream = rounds_of(mechanism.n_targets, reports, rounds)
    rng, counts = np.random.default_rng(0), np.zeros(mechanism.n_targets, dtype=np.int64)
    began = time.perf_counter()
    for new in stream:
        counts[list(new)] += 1
        sums = np.cumsum(mechanism.rho ** (counts - counts.max()))
        counts[np.searchsorted(sums, rng.random() * sums[-1])] = 0
    return (time.perf_counter() - began) / rounds


def peak_mib(work: Callable[[], object]) -> float:
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def main(args: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--reports", type=int, default=10, help="reports a round")
    parser.add_argument("--rounds", type=int, default=2000, help="rounds of the sparse run")
    parser.add_argument("--dense-rounds", type=int, default=5)
    given = parser.parse_args(args)
    print(f"Race, {given.reports} reports a round; microseconds a round, and ratios to the sparse run.\n")
    print("| targets | sparse | dense, exact | ratio | NumPy, inexact | ratio | build, s | peak memory, MiB |")
    print("| ---: " * 8 + "|")
    rows: list[Row] = []
    for n_targets in given.targets:
        mechanism = dn.Race.calibrate(n_targets, delta=0.1)
        build, sparse = sparse_round(mechanism, given.reports, given.rounds)
        dense = dense_round(mechanism, given.reports, given.dense_rounds)
        plain = numpy_round(mechanism, given.reports, given.dense_rounds)
        peak = peak_mib(lambda: sparse_round(mechanism, given.reports, 100))  # noqa: B023  (called at once)
        print(
            f"| {n_targets:,} | {1e6 * sparse:,.0f} | {1e6 * dense:,.0f} | {dense / sparse:,.1f} x "
            f"| {1e6 * plain:,.0f} | {plain / sparse:,.1f} x | {build:.2f} | {peak:,.1f} |"
        )
        what = f"race, {n_targets:,} targets, {given.reports} reports a round, exact noise"
        for peer, theirs in (("a pass over all targets, exact noise", dense), ("NumPy, floating point", plain)):
            rows.append(Row(what, 1e6 * sparse, peer, 1e6 * theirs, "µs a round"))
    return rows


if __name__ == "__main__":
    main()
