"""Weights learnt from the transcript: race's mean deficit with them as a share of plain race's, on all streams of ours.

    python -m benchmarks.forecast [--rounds 192000] [--only PART] [--stream FILE --start DAY --end DAY --period 7D]

All races get the same streams, in so many runs that each has --rounds rounds in all. A recorded stream is the same in
every run, so its error is that of the draws alone. The last column is the largest standard error of the row's shares.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.rows import Row

import deniable as dn
from deniable.arrays import FloatArray, IntArray
from deniable.console import demo
from deniable.report_files import read_csv, read_targets
from deniable.simulation.evaluation import Replay, Source
from deniable.simulation.experiments.dynamic import Dynamic, Sensitivity, streams
from deniable.simulation.recorded import window
from deniable.simulation.synthetic_streams import bursty, lead_rates, trending, turns_bad

DELTAS = (0.05, 0.1, 0.2)
EXAMPLES = Path(__file__).parent.parent / "examples"


def experiment(settings: Dynamic, *, runs: int, seed: int) -> IntArray:
    return streams(settings, range(seed, seed + runs))


def demonstration(*, runs: int, seed: int) -> IntArray:
    """The console's made-up office."""
    rates = np.array([demo.BUSY.get(name, demo.RARE) for name in demo.TARGETS])
    return np.random.default_rng(seed).binomial(10, rates / 10, (runs, demo.ROUNDS, len(rates)))


def shipped() -> dict[str, Source]:
    """Every stream of the reproduction, of `deniable simulate`, of the examples and of the console's demonstration."""
    found: dict[str, Source] = {"paper's: 50 targets, 1,000 rounds, rates 1 and 0.2": partial(experiment, Dynamic())}
    for name, settings in Sensitivity().varied():
        value = getattr(settings, name)
        if name != "delta" and value != getattr(Dynamic(), name):
            words = {"n_targets": "targets", "rounds": "rounds", "lead": "first rate", "other": "other rates"}[name]
            found[f"the same, {words} {value:,}"] = partial(experiment, settings)
    rates = lead_rates(50)
    example = read_csv(EXAMPLES / "reports.csv", read_targets(EXAMPLES / "targets.txt"), "7D")
    return found | {
        "bursty": partial(bursty, rates, 1000),
        "trending": partial(trending, rates, 1000),
        "turns-bad": partial(turns_bad, np.full(50, 0.2), 1000, since=500, rate=1.0),
        "`examples/reports.csv`, weekly": Replay(example.counts),
        "the console's demonstration": demonstration,
    }


def deficits(counts: IntArray, delta: float, weights: Callable[[dn.History], FloatArray] | None) -> FloatArray:
    """(B,): the mean deficit of every run."""
    race = dn.Race.calibrate(counts.shape[-1], delta, weights=weights)
    return np.asarray(dn.simulate(race, counts, seed=1).deficit.mean(axis=1))


def share(plain: FloatArray, weighted: FloatArray) -> tuple[float, float]:
    """The ratio of the means, and its standard error, from runs in pairs."""
    ratio = float(weighted.mean() / plain.mean())
    return ratio, float((weighted - ratio * plain).std(ddof=1) / plain.mean() / len(plain) ** 0.5)


def row(name: str, source: Source, rounds: int) -> tuple[str, ...]:
    """The stream's name, plain race's deficits, both forecasts' shares of them, and the largest error of the shares."""
    length = source(runs=1, seed=0).shape[1]
    counts = source(runs=max(2, rounds // length), seed=0)
    cells: list[list[str]] = [[], [], []]
    errors = []
    for delta in DELTAS:
        plain = deficits(counts, delta, None)
        cells[0].append(f"{plain.mean():.2f}")
        for cell, weights in zip(cells[1:], (dn.forecast, dn.steady_forecast), strict=True):
            ratio, error = share(plain, deficits(counts, delta, weights))
            cell.append(f"{ratio:.2f}")
            errors.append(error)
    return name, *(" / ".join(cell) for cell in cells), f"{max(errors):.3f}"


def main(args: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=192_000)
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="streams whose names begin so")
    parser.add_argument("--stream", type=Path, help="a CSV file of daily reports, instead of ours")
    parser.add_argument("--start")
    parser.add_argument("--end")
    parser.add_argument("--period", default="1D")
    given = parser.parse_args(args)
    if given.stream is None:
        sources = {name: source for name, source in shipped().items() if name.startswith(tuple(given.only))}
    else:
        recorded = window(read_csv(given.stream), given.start, given.end, given.period)
        sources = {f"{given.stream.name}, {given.period}": Replay(recorded.counts)}
    print(f"Deltas {' / '.join(map(str, DELTAS))}, {given.rounds:,} rounds in all.\n")
    print("| stream | race | forecast | steady forecast | error |\n| --- | --- | --- | --- | --- |")
    rows = []
    for name, source in sources.items():
        cells = row(name, source, given.rounds)
        print(f"| {' | '.join(cells)} |", flush=True)
        plain, share = (float(cell.split(" / ")[DELTAS.index(0.1)]) for cell in cells[1:3])
        rows.append(
            Row(f"race with a forecast, delta 0.1, stream {name}", share * plain, "race", plain, "mean deficit")
        )
    return rows


if __name__ == "__main__":
    main()
