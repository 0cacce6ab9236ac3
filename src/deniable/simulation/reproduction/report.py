"""REPORT.md: the paper's claims one by one, each with what was found. All figures come from the tables."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from scipy.special import bdtr, bdtrc, stdtrit

from deniable.calibration import kappa, rr_delta, rr_p_rand, rr_p_rand_horizon, sensitivity
from deniable.guarantee import Gaussian, Guarantee
from deniable.simulation.experiments import PAPER_RR
from deniable.simulation.experiments.closed_forms import GapNeeded
from deniable.simulation.experiments.dynamic import COUNTER_IDS, RunMean
from deniable.simulation.experiments.static_sweep import StaticPoint, noise_std
from deniable.simulation.reproduction.tables import Tables
from deniable.utility import (
    operational_error_bound,
    rr_error_interval,
    static_error,
    unconditional_error_bound,
    uniform_error,
)

HOLDS, IN_PART, DIFFERS, UNDECIDED = "holds", "holds in part", "differs", "undecided"
FAILURE = 1e-6
"""How often chance alone may make a simulated mean look wrong, on either side together."""
EQUIVALENT = 0.10
"""Two deficits count as close where they differ by less than this share of the second."""

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


@dataclass(frozen=True)
class Claim:
    statement: str
    source: str
    """The paper's label."""
    finding: str
    verdict: str
    figure: str = ""


def claims(tables: Tables) -> list[Claim]:
    """What the paper claims about utility, in its order, and what was found."""
    checks: list[Callable[[Tables], Claim]] = [
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
        _greedy,
        _below_rr,
        _close_to_greedy,
        _rr_is_uniform,
        _rr_calibration,
        _counters,
        _uniform_wait,
        _persons,
    ]
    return [check(tables) for check in checks]


def report(tables: Tables, found: list[Claim]) -> str:
    """The text of REPORT.md; the same tables give the same text."""
    base, sweep = tables.settings.dynamic, tables.settings.static
    parts = [
        "# The paper's experiments, reproduced",
        _wrapped(
            "Made by `deniable reproduce`. The numbers behind every figure are in the CSV files of this folder. "
            "Mechanisms go by their ids: `tca` is the paper's mechanism, `rr:paper` randomized response as the "
            "paper's experiments calibrate it, `rr` the same with the better of the two calibrations that the paper "
            "proves, `race` is ours. All of them are calibrated to at most the same delta, except `greedy`, which "
            "protects nobody; `uniform` ignores the reports."
        ),
        *(["**A quick look: fewer runs and settings than the paper's.**"] if tables.settings.quick else []),
        "## Results",
        "![Experiments 1 and 2](figure_1.png)",
        _wrapped(
            f"Experiment 2: {base.n_targets} targets, {base.rounds:,} rounds, delta = {base.delta:g}, a mean of "
            f"{base.lead:.1f} reports a round about the busy target and of {base.other:.1f} about each other. Means of "
            f"{base.runs} runs ± standard error."
        ),
        _means(tables),
        "## Claims",
        _wrapped(
            "In the order of the paper; its labels in brackets. One simulated deficit counts as measurably better than "
            f"another where it is lower by more than {_errors(base.runs):.1f} standard errors of the difference, the "
            f"quantile of Student's t for {base.runs} runs that chance passes, on either side, about once in a "
            "million. What is not measurably different is not thereby the same: where a claim says that two deficits "
            "are close, the difference and two standard errors must be small."
        ),
        "\n".join(_item(number, claim) for number, claim in enumerate(found, start=1)).rstrip(),
        "## Noise scales",
        f"`app:tab:calibrated_noise_scales`, with the better `p_rand` for {base.n_targets} targets and race's `rho`.",
        _noise_scales(tables),
        "## Other settings",
        "![Mean deficit, one setting varied at a time](sensitivity.png)",
        "## Every number of targets",
        "\n".join(f"![Experiment 1, {C} targets](static_C{C}.png)" for C in sweep.n_targets),
        _wrapped(
            "Lines are exact, dots are measured. For `tca` the trials draw the noise of a whole run at once, as the "
            "paper does, from the Gaussian that the exact error integrates over: they check the integral and not the "
            "counter. That the counter's own outputs have this spread is checked by "
            "`test_the_noise_of_a_run_is_the_counters` in `tests/simulation/test_experiments.py`."
        ),
        "## Running means",
        "![Deficit, normalized deficit, reports resolved, and the counters](dynamic.png)",
        "Bands: 95 % confidence at each round by itself, not for the whole curve at once.",
        "## Noise and needed leads",
        "![Noise by horizon, needed lead by targets](growth.png)",
        "## What this report does not show",
        _wrapped(
            "Privacy. That every mechanism keeps its delta is proved, and checked by enumerating transcripts, not by "
            "these experiments. Where the paper says how much greedy leaks, 1 - 1/C, that is a lower bound from one "
            "round; over several rounds it leaks more."
        ),
    ]
    return "\n\n".join(parts) + "\n"


# The claims


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
        _verdict(within == len(gains) and in_interval),
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
        _verdict(steady, IN_PART),
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
        _verdict(bounded == len(points) and for_two),
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
        _verdict(bounded == len(points), IN_PART),
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
        _verdict(all(steps)),
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
        _verdict(same == len(errors) and below < 0.01),
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
        f"{sizes[-1]} targets throughout for a gap of {_listed(grows) or 'none of those tried'} "
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
        _verdict(all(a < b for a, b in pairwise(errors)) and far < 0.01),
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
        _verdict(like_rule, IN_PART),
        "growth",
    )


def _table(tables: Tables) -> Claim:
    computed = {(row.run_length, row.delta): (f"{row.sigma:.4f}", f"{row.p_rand:.6f}") for row in tables.calibration}
    right = sum(a == b for cell, printed in NOISE_SCALES.items() for a, b in zip(computed[cell], printed, strict=True))
    return Claim(
        "The table of calibrated noise scales.",
        "app:tab:calibrated_noise_scales",
        f"{right} of its {2 * len(NOISE_SCALES)} numbers agree in every printed digit.",
        _verdict(right == 2 * len(NOISE_SCALES)),
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
        _verdict(within == len(points)),
        "figure_1",
    )


def _greedy(tables: Tables) -> Claim:
    mean = _mean(tables, "greedy")
    return Claim(
        "Greedy auditing has no deficit.",
        "app:prop:greedy_utility, app:dynamic_utility_experiment",
        f"Mean deficit {mean.deficit:g} over {mean.runs} runs.",
        _verdict(mean.deficit == 0),
    )


def _below_rr(tables: Tables) -> Claim:
    tca, rr, uniform, race = (_mean(tables, name) for name in ("tca", PAPER_RR, "uniform", "race"))
    return Claim(
        "TCA has a substantially lower deficit than randomized response and uniform auditing.",
        "fig:exp2_running_avg_deficit",
        f"{_plus_minus(tca)} against {_plus_minus(rr)} and {_plus_minus(uniform)}. Race has {_plus_minus(race)} at the "
        "same delta.",
        _verdict(tca.deficit < 0.5 * min(rr.deficit, uniform.deficit)),
        "figure_1",
    )


def _close_to_greedy(tables: Tables) -> Claim:
    tca, uniform, race = (_mean(tables, name) for name in ("tca", "uniform", "race"))
    share = {row.mechanism: 1 - row.deficit / uniform.deficit for row in (tca, race)}
    return Claim(
        "TCA remains close to the greedy auditor.",
        "sec:experiments",
        f"Measured by the deficit, {100 * share['tca']:.0f} % of the way from uniform to greedy (race "
        f"{100 * share['race']:.0f} %). Measured by the paper's own error (def:error), TCA audits a "
        f"target other than the leader in {100 * tca.missed:.0f} % of the rounds, race in {100 * race.missed:.0f} %, "
        f"uniform in {100 * uniform.missed:.0f} %, greedy in none. "
        "Close means here more than half of the way by the deficit, and half of uniform's misses by the error.",
        DIFFERS if share["tca"] <= 0.5 else HOLDS if tca.missed < 0.5 * uniform.missed else IN_PART,
        "dynamic",
    )


def _rr_is_uniform(tables: Tables) -> Claim:
    rr, uniform = _mean(tables, PAPER_RR), _mean(tables, "uniform")
    error = math.hypot(rr.deficit_error, uniform.deficit_error)
    off, allowed = abs(rr.deficit - uniform.deficit), EQUIVALENT * uniform.deficit
    return Claim(
        "Randomized response is close to uniform auditing over long horizons.",
        "app:dynamic_utility_experiment, sec:rand_response",
        f"{_plus_minus(rr)} against {_plus_minus(uniform)}, a difference of {rr.deficit - uniform.deficit:+.1f} ± "
        f"{error:.1f}. Close means here that the difference and two standard errors, {off + 2 * error:.1f}, are less "
        f"than {100 * EQUIVALENT:.0f} % of uniform's deficit, {allowed:.1f}.",
        HOLDS if off + 2 * error < allowed else DIFFERS if off - 2 * error > allowed else UNDECIDED,
        "dynamic",
    )


def _rr_calibration(tables: Tables) -> Claim:
    base = tables.settings.dynamic
    paper, better = _mean(tables, PAPER_RR), _mean(tables, "rr")
    tca = _mean(tables, "tca").deficit
    p, least = rr_p_rand_horizon(base.delta, base.rounds), rr_p_rand(base.delta, base.n_targets, base.rounds)
    error = math.hypot(paper.deficit_error, better.deficit_error)
    return Claim(
        "All private mechanisms are calibrated to the same (0, delta); randomized response with "
        "p_rand = (1-delta)**(1/T), which does not depend on the number of targets.",
        "sec:experiments, app:subsec:experimenta",
        f"Its p_rand is {p:.6f}; by the paper's own app:prop:RR_horizon_free it is then "
        f"(0, {rr_delta(p, base.n_targets, base.rounds):.4f})-DP with {base.n_targets} targets, where "
        f"delta = {base.delta:g} allows a p_rand of {least:.6f}. With the better calibration its deficit is "
        f"{_plus_minus(better)} instead of {_plus_minus(paper)}, a difference of "
        f"{better.deficit - paper.deficit:+.1f} ± {error:.1f}."
        + (" The paper's gives randomized response more privacy than was asked for." if least < p else "")
        + (" TCA's deficit is less than half of either." if tca < 0.5 * min(better.deficit, paper.deficit) else ""),
        IN_PART if least < p else HOLDS,
        "dynamic",
    )


def _counters(tables: Tables) -> Claim:
    tca = _mean(tables, "tca")
    others = [_mean(tables, name) for name in COUNTER_IDS]
    least = {row.horizon: row.noise_std for row in tables.noise if row.counter == "toeplitz"}
    others_noise = [row for row in tables.noise if row.counter != "toeplitz"]
    quieter = sum(row.noise_std < least[row.horizon] for row in others_noise)
    better = [
        row.mechanism.removeprefix("counter:")
        for row in others
        if tca.deficit - row.deficit > _errors(tca.runs) * math.hypot(row.deficit_error, tca.deficit_error)
    ]
    shown = ", ".join(f"{row.mechanism.removeprefix('counter:')} {_plus_minus(row)}" for row in others)
    worse = [row.mechanism for row in others if row.deficit > 1.2 * _mean(tables, "uniform").deficit]
    return Claim(
        "Any continual counter plugs in, and the Toeplitz factorization is the best choice of its class.",
        "prop:privacy_reduction, rem:tca-opt",
        f"Exactly, without trials: another counter's largest noise on a count is below the Toeplitz counter's in "
        f"{quieter} of {len(others_noise)} comparisons, at horizons from {min(least):,} to {max(least):,} rounds. "
        f"Deficit with the Toeplitz counter {_plus_minus(tca)}, with {shown}. "
        f"{_capital(', '.join(better) or 'none')} is measurably better in the trials."
        + (f" Worse than uniform auditing: {', '.join(worse)}." if worse else ""),
        _verdict(quieter == 0 and not better),
        "dynamic",
    )


def _uniform_wait(tables: Tables) -> Claim:
    mean = _mean(tables, "uniform")
    runs, C = mean.runs, mean.n_targets
    waited = round(mean.first_audit * runs)
    # The waits are geometric, so their sum is negative binomial: n rounds or fewer (more) where n (n-1) draws hold
    # the target as often as there are runs (less often). Runs that end before the first audit are too rare to matter
    # where there are many more rounds than targets.
    tails = bdtrc(runs - 1, waited, 1 / C), bdtr(runs - 1, waited - 1, 1 / C)
    return Claim(
        "Under uniform auditing a target waits C rounds on average.",
        "app:prop:random_utility",
        f"{mean.first_audit:.0f} rounds with {C} targets, where the mean of {runs} geometric waits has a standard "
        f"error of {math.sqrt(C * (C - 1) / runs):.1f}. It counts as C unless so short, or so long, a mean has a "
        f"probability below {FAILURE / 2:g} by their exact law. The proof calls this item 3 of the proposition, "
        "which states two.",
        _verdict(bool(min(tails) >= FAILURE / 2)),
    )


def _persons(tables: Tables) -> Claim:
    delta = tables.settings.dynamic.delta
    promise = Guarantee(Gaussian(2 * kappa(delta)))
    kept = [k for k in (2, 5, 10) if promise.for_reports(k).delta <= k * delta]
    shown = ", ".join(f"{promise.for_reports(k).delta:.3f} for {k}" for k in (2, 5, 10))
    return Claim(
        "A person who files k reports has (0, k delta).",
        "rem:per-whistleblower, sec:limitations",
        f"Counter auditing has 2 Phi(k kappa) - 1: at delta = {delta:g} {shown} reports. That is at most k delta for "
        f"k = {_listed(kept) or 'none of them'}.",
        _verdict(kept == [2, 5, 10]),
    )


# Numbers


def _cell(tables: Tables) -> Cell:
    """The part of Experiment 1 that the text speaks about: fewest targets, longest runs, Experiment 2's delta."""
    sweep = tables.settings.static
    return min(sweep.n_targets), max(sweep.run_lengths), tables.settings.dynamic.delta


def _cell_of(point: StaticPoint) -> Cell:
    return point.n_targets, point.run_length, point.delta


def _exact(tables: Tables, mechanism_id: str, cell: Cell, gap: int) -> float:
    return next(p.exact for p in tables.static if (p.mechanism, p.gap, _cell_of(p)) == (mechanism_id, gap, cell))


def _mean(tables: Tables, mechanism_id: str) -> RunMean:
    return next(row for row in tables.means if row.mechanism == mechanism_id)


def _gap_row(tables: Tables) -> GapNeeded:
    return min(tables.gaps, key=lambda row: abs(row.n_targets - tables.settings.dynamic.n_targets))


def _errors(runs: int) -> float:
    """How many estimated standard errors a mean of so many runs is off, on either side, with probability FAILURE."""
    return float(stdtrit(runs - 1, 1 - FAILURE / 2))


# Text


def _verdict(as_claimed: bool, best: str = HOLDS) -> str:
    return best if as_claimed else DIFFERS


def _plus_minus(row: RunMean) -> str:
    return f"{row.deficit:.2f} ± {row.deficit_error:.2f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed(gaps: list[int]) -> str:
    return ", ".join(map(str, gaps))


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _item(number: int, claim: Claim) -> str:
    figure = f" [Figure]({claim.figure}.png)." if claim.figure else ""
    mark = f"{number}. "
    indent = " " * len(mark)
    told = _wrapped(f"{mark}**{claim.verdict.capitalize()}.** {claim.statement} ({claim.source})", indent)
    return f"{told}\n\n{_wrapped(indent + claim.finding + figure, indent)}\n"


def _means(tables: Tables) -> str:
    header = "| mechanism | deficit | normalized deficit | reports resolved by an audit | audits that miss the leader |"
    rows = [
        f"| {row.mechanism} | {_plus_minus(row)} | {row.normalized_deficit:.4f} ± {row.normalized_deficit_error:.4f} | "
        f"{row.resolved:.2f} ± {row.resolved_error:.2f} | {100 * row.missed:.1f} % |"
        for row in sorted(tables.means, key=lambda row: row.deficit)
    ]
    return "\n".join([header, "| --- | --- | --- | --- | --- |", *rows])


def _noise_scales(tables: Tables) -> str:
    header = "| rounds | delta | sigma | p_rand | better p_rand | rho |\n| --- | --- | --- | --- | --- | --- |"
    rows = [
        f"| {row.run_length} | {row.delta:.2f} | {row.sigma:.4f} | {row.p_rand:.6f} | {row.p_rand_better:.6f} | "
        f"{row.rho:.6f} |"
        for row in tables.calibration
    ]
    return "\n".join([header, *rows])
