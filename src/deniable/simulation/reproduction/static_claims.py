"""What the paper claims about the static setting, Experiment 1, and about the noise, in its order."""

import math
from itertools import pairwise

from deniable.calibration import kappa, sensitivity
from deniable.simulation.experiments import PAPER_RR
from deniable.simulation.experiments.closed_forms import GapNeeded
from deniable.simulation.experiments.static_sweep import StaticPoint, noise_std
from deniable.simulation.reproduction.claim import DIFFERS, HOLDS, IN_PART, Claim, listed, verdict
from deniable.simulation.reproduction.tables import Tables
from deniable.utility import (
    operational_error_bound,
    rr_error_interval,
    static_error,
    unconditional_error_bound,
    uniform_error,
)

Cell = tuple[int, int, float]
"""Targets, rounds and delta of a part of Experiment 1."""

NOISE_SCALES = {
    (100, 0.05): ("12.6862", "0.999487"),
    (100, 0.10): ("6.3306", "0.998947"),
    (100, 0.20): ("3.1400", "0.997771"),
    (1000, 0.05): ("14.4078", "0.999949"),
    (1000, 0.10): ("7.1897", "0.999895"),
    (1000, 0.20): ("3.5661", "0.999777"),
}
"""`app:tab:calibrated_noise_scales` as printed: run length and delta -> sigma and p_rand."""


def static_claims(tables: Tables) -> list[Claim]:
    """What is found about each, from the tables of Experiment 1 and the closed forms."""
    checks = (
        _pinned,
        _fresh_noise,
        _union_bound,
        _unconditional_bound,
        _decay,
        _insensitive,
        _advantage_with_targets,
        _closer_to_uniform,
        _gap_needed,
        _table,
        _monte_carlo,
    )
    return [check(tables) for check in checks]


def _pinned(tables: Tables) -> Claim:
    gains = [
        (uniform_error(p.n_targets) - p.exact, p) for p in tables.static if p.mechanism in ("rr", PAPER_RR) and p.gap
    ]
    in_interval = all(
        floor - 1e-12 <= p.exact <= ceiling + 1e-12
        for _, p in gains
        if p.mechanism == "rr"
        for floor, ceiling in [rr_error_interval(p.delta, p.n_targets)]
    )
    within = sum(gain <= p.delta for gain, p in gains)
    gain, point = max(gains, key=lambda pair: pair[0])
    far = " That is far below delta: the upper end of the interval is what is known to be reached."
    return Claim(
        "Randomized response never errs less than uniform auditing by more than delta, at any horizon, and the best "
        "calibration errs between (C-1)/C - delta and (C-1)/(C+delta).",
        "thm:RR_tradeoff, rem:RR_tightness",
        f"The gain is at most delta at {within} of {len(gains)} points of Experiment 1, and the best calibration is "
        f"{'' if in_interval else 'not '}always in the interval. The largest gain is {100 * gain:.2f} points in 100, "
        f"by `{point.mechanism}` with {point.n_targets} targets at delta = {point.delta:g}."
        f"{far if gain < 0.5 * point.delta else ''}",
        verdict(within == len(gains) and in_interval),
    )


def _fresh_noise(tables: Tables) -> Claim:
    rows = [row for row in tables.noise if row.counter == "toeplitz"]
    k = kappa(tables.settings.dynamic.delta)
    rest = [(2 * k * row.sigma) ** 2 - math.log(row.horizon) / math.pi for row in rows]
    steady = max(rest) - min(rest) < 0.05
    counts = [row.noise_std / math.log(row.horizon) for row in rows if row.horizon >= 100]
    first, last = rows[0], rows[-1]
    return Claim(
        "The noise grows like sqrt(log T) with the horizon T.",
        "abstract, lem:tca-sensitivity",
        f"M_T**2 - ln(T)/pi is between {min(rest):.3f} and {max(rest):.3f} from T = {first.horizon:,} to "
        f"{last.horizon:,}, so the fresh noise of a round {'does grow' if steady else 'does not grow'} like "
        f"sqrt(log T): {first.sigma:.2f} to {last.sigma:.2f} reports. But a count carries the noise of all rounds of "
        f"its run, sigma M_T = M_T**2 / (2 kappa){', which then grows like log T' if steady else ''}: "
        f"{first.noise_std:.2f} to {last.noise_std:.2f} reports, {min(counts):.2f} to {max(counts):.2f} times ln T "
        "from T = 100 on. A gap of the order of sqrt(log T) is enough only for the effective gap, which has the past "
        "noise in it.",
        verdict(steady, IN_PART),
        "growth",
    )


def _union_bound(tables: Tables) -> Claim:
    points = [p for p in tables.static if p.mechanism == "tca" and p.gap]
    bounded = sum(
        p.exact <= operational_error_bound(p.gap, p.n_targets, noise_std(p.delta, p.run_length)) + 1e-12 for p in points
    )
    std = noise_std(tables.settings.dynamic.delta, max(tables.settings.static.run_lengths))
    for_two = math.isclose(static_error(20, 2, std), operational_error_bound(20, 2, std), rel_tol=1e-9)
    row = _gap_row(tables)
    return Claim(
        "Counter auditing errs at most as often as the sum over challengers of Phi(-gap / (sqrt(2) sigma)), an "
        "equality for two targets.",
        "thm:utility, rem:tight, app:sec:operationalization",
        "In the static setting, with sigma that of the whole noise, the exact error is at most the bound at "
        f"{bounded} of {len(points)} points and {'equals' if for_two else 'does not equal'} it for two targets. With "
        f"{row.n_targets} targets the bound asks for a lead of {row.tca_bound:.1f} reports to miss at most 5 % of the "
        f"audits; {row.tca:.1f} are enough.",
        verdict(bounded == len(points) and for_two),
        "growth",
    )


def _unconditional_bound(tables: Tables) -> Claim:
    points = [p for p in tables.static if p.mechanism == "tca" and p.gap]

    def bound(C: int, L: int, delta: float, gap: float) -> float:
        return float(unconditional_error_bound([gap] * (C - 1), delta, sensitivity(L)))

    bounded = sum(p.exact <= bound(p.n_targets, p.run_length, p.delta, p.gap) + 1e-12 for p in points)
    at = max(
        (p for p in points if p.delta == tables.settings.dynamic.delta),
        key=lambda p: (p.gap, p.run_length, -p.n_targets),
    )
    return Claim(
        "A bound on the error from the true gap alone, whatever the past noise was.",
        "app:rem:sufficient",
        f"At least the exact error at {bounded} of {len(points)} points of the static setting. With {at.n_targets} "
        f"targets and a lead of {at.gap} it says {bound(at.n_targets, at.run_length, at.delta, at.gap):.2g}, the "
        f"exact error is {at.exact:.2g}. It takes the past noise for a plain Gaussian. That is so where run lengths "
        "are fixed; in a programme a run goes on only while its noisy count loses, so there it is a guide and not a "
        "bound.",
        verdict(bounded == len(points), IN_PART),
    )


def _decay(tables: Tables) -> Claim:
    steps = [
        later.exact < earlier.exact
        for earlier, later in pairwise(p for p in tables.static if p.mechanism == "tca")
        if later.gap > earlier.gap
    ]
    C, L, delta = _cell(tables)
    shown = ", ".join(f"{100 * _exact(tables, 'tca', (C, L, delta), gap):.2g} % at {gap}" for gap in (8, 32, 64))
    race = ", ".join(f"{100 * _exact(tables, 'race', (C, L, delta), gap):.2g} % at {gap}" for gap in (8, 32, 64))
    return Claim(
        "TCA's error falls rapidly as the gap grows.",
        "sec:experiments, fig:exp1_misselection_vs_gap_c5",
        f"With {C} targets, runs of {L:,} rounds and delta = {delta:g} TCA misses the leader in {shown}, "
        f"race in {race}. TCA's error falls in {sum(steps)} of the {len(steps)} steps from one gap to the next.",
        verdict(all(steps)),
        f"static_C{C}",
    )


def _insensitive(tables: Tables) -> Claim:
    points = [p for p in tables.static if p.mechanism == PAPER_RR and p.gap]
    errors: dict[Cell, set[float]] = {}
    for p in points:
        errors.setdefault(_cell_of(p), set()).add(p.exact)
    same = sum(len(values) == 1 for values in errors.values())
    below = max(uniform_error(p.n_targets) - p.exact for p in points)
    return Claim(
        "Randomized response does not react to the gap and stays near (C-1)/C.",
        "sec:experiments, app:subsec:experimenta",
        f"Its exact error is the same for every gap from 1 on in {same} of {len(errors)} combinations of targets, "
        f"rounds and delta, and at most {100 * below:.2f} points in 100 below (C-1)/C.",
        verdict(same == len(errors) and below < 0.01),
        "figure_1",
    )


def _advantage_with_targets(tables: Tables) -> Claim:
    sweep = tables.settings.static
    _, L, delta = _cell(tables)

    def advantages(gap: int) -> list[float]:
        return [_exact(tables, PAPER_RR, (C, L, delta), gap) - _exact(tables, "tca", (C, L, delta), gap) for C in sizes]

    sizes = sorted(sweep.n_targets)
    gaps = [gap for gap in sweep.gaps if gap]
    grows = [gap for gap in gaps if all(a < b for a, b in pairwise(advantages(gap)))]
    middle = 16 if 16 in gaps else gaps[0]
    shown = " to ".join(f"{100 * value:.0f}" for value in (advantages(middle)[0], advantages(middle)[-1]))
    return Claim(
        "The advantage over randomized response increases with the number of targets.",
        "sec:experiments",
        f"At delta = {delta:g} and runs of {L:,} rounds the difference of the errors grows from {sizes[0]} to "
        f"{sizes[-1]} targets throughout for a gap of {listed(grows) or 'none of those tried'} "
        f"({len(grows)} of {len(gaps)} gaps). With a gap of {middle} it goes from {shown} points in 100.",
        HOLDS if grows == gaps else IN_PART if grows else DIFFERS,
        f"static_C{sizes[-1]}",
    )


def _closer_to_uniform(tables: Tables) -> Claim:
    sizes = sorted(tables.settings.static.n_targets)
    _, L, delta = _cell(tables)
    errors = [_exact(tables, "tca", (C, L, delta), 32) for C in sizes]
    far = max(_exact(tables, "tca", (C, L, delta), max(tables.settings.static.gaps)) for C in sizes)
    shown = ", ".join(f"{100 * error:.0f} % with {C} targets" for C, error in zip(sizes, errors, strict=True))
    return Claim(
        "With more targets TCA's curves move towards uniform auditing, but its error is still low for a large gap.",
        "app:sec:additional_results",
        f"For a gap of 32: {shown}. For a gap of {max(tables.settings.static.gaps)} at most {far:.1g}.",
        verdict(all(a < b for a, b in pairwise(errors)) and far < 0.01),
        f"static_C{sizes[-1]}",
    )


def _gap_needed(tables: Tables) -> Claim:
    few, many = (min(tables.gaps, key=lambda row: abs(row.n_targets - C)) for C in (5, 200))
    beyond = [row.tca - row.tca_rule for row in tables.gaps if row.n_targets >= 5]
    like_rule = max(beyond) - min(beyond) < 0.2 * few.tca
    delta, L = tables.settings.dynamic.delta, max(tables.settings.static.run_lengths)
    fresh = NOISE_SCALES.get((L, delta), ("?", ""))[0]
    return Claim(
        "The gap needed grows only mildly with the number of targets, roughly like sigma sqrt(2 ln C).",
        "app:subsec:experimenta",
        f"To miss at most 5 %, the lead must be {few.tca:.1f} reports with {few.n_targets} targets and "
        f"{many.tca:.1f} with {many.n_targets}. It {'grows' if like_rule else 'does not grow'} like the rule, "
        f"which gives {few.tca_rule:.1f} and {many.tca_rule:.1f} where sigma is the standard deviation of the "
        f"whole noise on a count ({noise_std(delta, L):.2f} reports, not the {fresh} of the paper's table), and is "
        f"{min(beyond):.0f} to {max(beyond):.0f} reports more. Race needs {few.race:.1f} and {many.race:.1f}.",
        verdict(like_rule, IN_PART),
        "growth",
    )


def _table(tables: Tables) -> Claim:
    computed = {(row.run_length, row.delta): (f"{row.sigma:.4f}", f"{row.p_rand:.6f}") for row in tables.calibration}
    right = sum(a == b for cell, printed in NOISE_SCALES.items() for a, b in zip(computed[cell], printed, strict=True))
    return Claim(
        "The table of calibrated noise scales.",
        "app:tab:calibrated_noise_scales",
        f"{right} of its {2 * len(NOISE_SCALES)} numbers agree in every printed digit.",
        verdict(right == 2 * len(NOISE_SCALES)),
    )


def _monte_carlo(tables: Tables) -> Claim:
    points = tables.static
    within = sum(p.within for p in points)
    return Claim(
        f"Mis-selection rates from {tables.settings.static.trials:,} trials a point.",
        "app:tab:experimental_parameters",
        f"Of {len(points):,} measured rates {within:,} agree with the exact error within their error bar (which misses "
        "once in a million). The exact errors need no trials. TCA's is one integral, which is all that its trials "
        "check, as they draw from the same Gaussian.",
        verdict(within == len(points)),
        "figure_1",
    )


def _cell(tables: Tables) -> Cell:
    """The part of Experiment 1 that the text speaks about: fewest targets, longest runs, Experiment 2's delta."""
    sweep = tables.settings.static
    return min(sweep.n_targets), max(sweep.run_lengths), tables.settings.dynamic.delta


def _cell_of(point: StaticPoint) -> Cell:
    return point.n_targets, point.run_length, point.delta


def _exact(tables: Tables, mechanism_id: str, cell: Cell, gap: int) -> float:
    return next(p.exact for p in tables.static if (p.mechanism, p.gap, _cell_of(p)) == (mechanism_id, gap, cell))


def _gap_row(tables: Tables) -> GapNeeded:
    return min(tables.gaps, key=lambda row: abs(row.n_targets - tables.settings.dynamic.n_targets))
