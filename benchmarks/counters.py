"""Counter auditing with the BLT counter, against the streaming noise alone of jax_privacy.

Ours are whole rounds with simulated noise, that is noise, counters, selection and restart: one call of
`CounterAuditing.step` a round, and `dn.simulate`, a compiled loop that checks the reports and measures the audits too.
Theirs multiplies fresh normal noise by the same BLT matrix, ten buffers in double precision, and does nothing else.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.rows import Row

import deniable as dn
from deniable.arrays import IntArray
from deniable.counters import BltCounter, blt


def reports_of(n_targets: int) -> IntArray:
    """(64, 1, C): a few rounds of reports, used over and over."""
    return np.random.default_rng(0).poisson(0.2, (64, 1, n_targets))


CALLS = "deniable, whole rounds, a call a round"
LOOP = "deniable, whole rounds, one compiled loop"
THEIR_CALLS = "jax_privacy, noise alone, a call a round"
THEIR_LOOP = "jax_privacy, noise alone, one compiled loop"
PLAIN = "NumPy, noise alone"


def calls(counter: BltCounter, n_targets: int, rounds: int) -> None:
    mechanism = dn.CounterAuditing(n_targets, counter)
    reports, noise, state = reports_of(n_targets), dn.SimulationNoise(0), mechanism.init()
    for t in range(rounds):
        _, state = mechanism.step(state, reports[t % len(reports)], noise)


def loop(counter: BltCounter, stream: IntArray) -> None:
    """`stream`: (T, C)."""
    dn.simulate(dn.CounterAuditing(stream.shape[1], counter), stream)


def numpy_noise(counter: BltCounter, n_targets: int, rounds: int) -> None:
    """The noise alone, in a plain NumPy loop."""
    rng, theta, omega = np.random.default_rng(0), np.array(counter.theta)[:, None], np.array(counter.omega)
    buffers = np.zeros((len(theta), n_targets))
    for _ in range(rounds):
        fresh = rng.normal(scale=counter.sigma, size=n_targets)
        _ = fresh + omega @ buffers
        buffers = theta * buffers + fresh


def jax_noise(counter: BltCounter, n_targets: int) -> dict[str, Callable[[int], None]] | None:
    """Theirs, one compiled call a round and as one compiled loop; None where jax_privacy is not installed."""
    try:
        import jax  # noqa: PLC0415  (optional)
        from jax_privacy.matrix_factorization import buffered_toeplitz  # noqa: PLC0415
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    matrix = buffered_toeplitz.BufferedToeplitz.build(counter.theta, counter.omega).as_streaming_matrix()

    def one(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], Any]:
        key, state = carry
        key, now = jax.random.split(key)
        fresh = counter.sigma * jax.random.normal(now, (n_targets,), dtype=jax.numpy.float64)
        noise, state = matrix.multiply_next(fresh, state)
        return (key, state), noise

    step = jax.jit(lambda carry: one(carry, None))
    start = (jax.random.key(0), matrix.init_multiply(jax.numpy.zeros(n_targets)))

    def by_round(rounds: int) -> None:
        carry, noise = start, None
        for _ in range(rounds):
            carry, noise = step(carry)
        jax.block_until_ready(noise)

    def last_only(carry: Any, _: None) -> Any:
        (key, state), noise = one(carry[:2], None)
        return (key, state, noise), None

    all_rounds = jax.jit(
        lambda rounds: jax.lax.fori_loop(
            0, rounds, lambda _, carry: last_only(carry, None)[0], (*start, jax.numpy.zeros(n_targets))
        )
    )
    return {
        THEIR_CALLS: by_round,
        THEIR_LOOP: lambda rounds: jax.block_until_ready(all_rounds(rounds))[2],
    }


def best_seconds(work: dict[str, Callable[[int], Any]], rounds: int, repeats: int) -> dict[str, float]:
    """The best of some repeats, after one that does not count; in turns, so that a busy moment strikes all alike."""
    best = dict.fromkeys(work, float("inf"))
    for repeat in range(repeats + 1):
        for name, run in work.items():
            began = time.perf_counter()
            run(rounds)
            if repeat:
                best[name] = min(best[name], time.perf_counter() - began)
    return best


def peak_mib(work: Callable[[], Any]) -> float:
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def main(args: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args(args)
    C, T = given.targets, given.rounds
    counter = blt(delta=0.1, horizon=T)
    stream = np.resize(reports_of(C)[:, 0], (T, C))

    work: dict[str, Callable[[int], Any]] = {
        CALLS: lambda rounds: calls(counter, C, rounds),
        LOOP: lambda rounds: loop(counter, stream[:rounds]),
        PLAIN: lambda rounds: numpy_noise(counter, C, rounds),
    }
    peers = jax_noise(counter, C)
    if peers is None:
        print("jax_privacy is not installed (pip install 'deniable[bench]'): compared with NumPy only.\n")
    work |= peers or {}
    taken = best_seconds(work, T, given.repeats)
    print(f"| BLT, {C:,} targets, {T:,} rounds | seconds | microseconds a round | against our loop | our calls |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, time_taken in taken.items():
        ratios = " | ".join(f"{time_taken / taken[ours]:.2f} x" for ours in (LOOP, CALLS))
        print(f"| {name} | {time_taken:.2f} | {1e6 * time_taken / T:.0f} | {ratios} |")

    print("\n| rounds | peak memory of deniable, MiB |\n| ---: | ---: |")
    for rounds in (max(1, T // 10), T):
        calls(counter, C, 1)  # tables that are kept are not the round's
        print(f"| {rounds:,} | {peak_mib(lambda rounds=rounds: calls(counter, C, rounds)):.2f} |")  # type: ignore[misc]
    size = f"{C:,} targets"
    return [
        Row(f"{ours}, BLT, {size}", 1e6 * taken[ours] / T, theirs, 1e6 * taken[theirs] / T, "µs a round")
        for ours, theirs in ((LOOP, THEIR_LOOP), (CALLS, THEIR_CALLS), (LOOP, PLAIN))
        if theirs in taken
    ]


if __name__ == "__main__":
    main()
