"""The tables of numbers in the documentation, computed again: each function gives the rows of the table that a comment
`<!-- table: NAME -->` stands before, as printed. None stands for a cell of words. What follows ± is a standard error.

A function that has an argument is given the page's language.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from benchmarks import forecast
from scipy.special import ndtr
from tests.attack.declared import DECLARED, exact_leak, games_of, learnt, mechanism_for

import deniable as dn
from deniable.attack.particles import leak
from deniable.calibration import race_delta
from deniable.languages.language import language
from deniable.languages.voice import Voice, plain
from deniable.programme.public.check_table import CHECKS, Shown
from deniable.programme.public.suspicion import SURE_BEFORE, in_hundred, per_cent
from deniable.promptness import lead_needed, least_lead
from deniable.rounding import rounded_up
from deniable.simulation.experiments.dynamic import Dynamic, score
from deniable.utility import static_error
from deniable.yearly_figures import YearlyFigures

Rows = list[Sequence[str | None]]


def counter_errors() -> Rows:
    counters: list[Any] = [make(0.1, 1000) for make in dn.counters.COUNTERS.values()]
    return [*((None, None, f"{counter.max_error:.2f}", None, None) for counter in counters), (None,) * 5]


def rounding_distances() -> Rows:
    rows: Rows = []
    for s in (1, 2, 4, 8, 16, 32):
        k = np.arange(-12 * s, 12 * s + 1)
        rounded = ndtr((0.5 - abs(k)) / s) - ndtr((-0.5 - abs(k)) / s)  # left tails: no cancellation near 1
        discrete = np.exp(-(k**2) / (2 * (s**2 + 1 / 12)))
        distance = abs(rounded - discrete / discrete.sum()).sum() / 2
        rows.append((str(s), f"{distance * s**4 * 1e4:.3f}e-4"))
    return rows


def race_sharpness() -> Rows:
    """With one rival, who is at K reports in every round until c* is audited, all that tells is when that is."""
    rows: Rows = []
    for K, rounds in ((2, 9), (3, 12), (4, 16)):
        waits = np.arange(1, rounds + 1)
        leak = ((1 + 2.0**-K) ** -waits - (1 + 2 * 2.0**-K) ** -waits).max()
        rows.append((str(K), str(rounds), f"{leak / race_delta(2.0):.3f}"))
    return rows


def least_leads() -> Rows:
    """At three errors; counter auditing's with runs of 1,000 rounds."""
    rows: Rows = []
    for C, delta in ((5, 0.1), (50, 0.05), (50, 0.1), (50, 0.2), (1000, 0.1)):
        race, tca = dn.Race.calibrate(C, delta), dn.CounterAuditing.calibrate(C, delta, horizon=1000)
        std = dn.counters.toeplitz(delta, 1000).max_error
        leads = (
            (
                least_lead(C, delta, error),
                lead_needed(race, error=error),
                lead_needed(tca, error=error),
                next(gap for gap in range(1000) if static_error(gap, C, std) <= error),
            )
            for error in (0.5, 0.1, 0.01)
        )
        rows.append((f"{C:,}", f"{delta:g}", *(" / ".join(map(str, column)) for column in zip(*leads, strict=True))))
    return rows


def delta_in_words() -> Rows:
    """Upper bounds, so rounded up."""
    rows: Rows = []
    for delta in ("0.01", "0.02", "0.05", "0.10", "0.20", "0.50"):
        guarantee = dn.Race.calibrate(n_targets=2, delta=float(delta)).guarantee()
        points = (rounded_up(guarantee.for_reports(k).advantage, 100, places=1) for k in (1, 2, 3, 5))
        rows.append((delta, *points, rounded_up(guarantee.likelihood_cap, places=2)))
    return rows


def how_sure(code: str) -> Rows:
    """With race and delta 0.1: the rows of a page that has one class of reports."""
    guarantee, say = dn.Race.calibrate(50, 0.1).guarantee(), Voice(language(code))
    return [
        (None, *(per_cent(in_hundred(guarantee.for_reports(reports).posterior(before)), say) for before in SURE_BEFORE))
        for reports in (1, 2, 3)
    ]


def yearly_deviations() -> Rows:
    rows: Rows = []
    for delta in (0.005, 0.01, 0.02, 0.05):
        figures = YearlyFigures.calibrate(delta)
        rows.append((f"{delta:g}", str(figures.deviation()), str(figures.deviation(numbers=3))))
    return rows


def who_can_check_what() -> Rows:
    """Words, from the one place that the public page has them from as well."""
    say = plain()

    def cell(shown: Shown) -> str:
        return f"{say(shown.to)}, by `{shown.by}`" if shown.by else say(shown.to)

    return [(say(row.what), *map(cell, (row.alone, row.with_value, row.with_witnesses))) for row in CHECKS]


def experiment_2() -> Rows:
    _, means = score(Dynamic(), workers=1)
    by_id = {mean.mechanism: mean for mean in means}
    rows: Rows = [("`greedy`", "0", "0", "0 %")]
    for mechanism in (
        "race",
        "tca",
        "counter:blt",
        "counter:tree",
        "counter:output_perturbation",
        "rr",
        "rr:paper",
        "uniform",
        "counter:input_perturbation",
    ):
        mean = by_id[mechanism]
        rows.append(
            (
                f"`{mechanism}`",
                f"{mean.deficit:.2f} ± {mean.deficit_error:.2f}",
                f"{mean.normalized_deficit:.4f} ± {mean.normalized_deficit_error:.4f}",
                f"{mean.missed:.1%}".replace("%", " %"),
            )
        )
    return rows


def forecast_shares() -> Rows:
    return [forecast.row(name, source, rounds=192_000) for name, source in forecast.shipped().items()]


def tca_leaks() -> Rows:
    rows: Rows = []
    for name, streams, _ in DECLARED:
        mechanism, games = mechanism_for(streams), games_of(streams)
        exact = exact_leak(mechanism, streams)
        measured = leak(mechanism, *streams, games=games, seed=1) if exact is None else None
        black_box = leak(mechanism, *streams, score=learnt(mechanism, streams), games=games, seed=1)
        leaks = f"{exact:.4f} (exact)" if measured is None else "{:.4f} ± {:.4f}".format(*measured)
        rows.append((name, leaks, "{:.3f} ± {:.3f}".format(*black_box)))
    return rows
