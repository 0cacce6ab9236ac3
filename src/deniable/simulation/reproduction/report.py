"""REPORT.md: the paper's claims one by one, each with what was found. All figures come from the tables."""

import math
import textwrap
from importlib.metadata import version

from deniable.simulation.reproduction.claim import Claim, errors_off, plus_minus
from deniable.simulation.reproduction.dynamic_claims import dynamic_claims
from deniable.simulation.reproduction.static_claims import static_claims
from deniable.simulation.reproduction.tables import Settings, Tables


def claims(tables: Tables) -> list[Claim]:
    """What the paper claims about utility, in its order, and what was found."""
    return static_claims(tables) + dynamic_claims(tables)


def report(tables: Tables, found: list[Claim]) -> str:
    """The text of REPORT.md; the same tables give the same text."""
    base, sweep = tables.settings.dynamic, tables.settings.static
    parts = [
        "# The paper's experiments, reproduced",
        f"Made by `{command(tables.settings)}`, deniable {version('deniable')}, seed {base.seed}.",
        _wrapped(
            "The numbers behind every figure are in the CSV files of this folder. "
            "Mechanisms go by their ids: `tca` is the paper's mechanism, `rr:paper` randomized response as the "
            "paper's experiments calibrate it, `rr` the same with the better of the two calibrations that the paper "
            "proves, `race` is ours. All of them are calibrated to at most the same delta, except `greedy`, which "
            "protects no one; `uniform` ignores the reports."
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
            f"another where it is lower by more than {errors_off(base.runs):.1f} standard errors of the difference, "
            f"the quantile of Student's t for {base.runs} runs that chance passes, on either side, about once in a "
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
        _wrapped(
            "How far ahead a leader must be, in reports, to be missed in at most 5 % of the rounds at delta = "
            f"{base.delta:g}. The second column is a proven limit for every mechanism whose chances depend on the "
            "active counts alone and not on the targets' names, and whose delta holds at every horizon "
            "(docs/explanation/least-lead.md). Race is one of them, and its column is exact. Counter auditing "
            "remembers its noise, so the limit does not cover it; its column is the exact one of Experiment 1, one "
            f"decision after runs of {max(sweep.run_lengths):,} rounds."
        ),
        _leads(tables),
        "## What this report does not show",
        _wrapped(
            "Privacy. That every mechanism keeps its delta is proved, and checked by enumerating transcripts, not by "
            "these experiments. Where the paper says how much greedy leaks, 1 - 1/C, that is a lower bound from one "
            "round; over several rounds it leaks more."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def command(settings: Settings) -> str:
    """What gives the same tables, but for the folder; the user's own settings are in manifest.json alone."""
    quick, seed = settings.quick, settings.dynamic.seed
    if settings != Settings.make(seed, quick=quick):
        return "deniable.simulation.reproduction.output_folder"
    return f"deniable reproduce{' --quick' if quick else ''} --seed {seed}"


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
        f"| {row.mechanism} | {plus_minus(row)} | {row.normalized_deficit:.4f} ± {row.normalized_deficit_error:.4f} | "
        f"{row.resolved:.2f} ± {row.resolved_error:.2f} | {100 * row.missed:.1f} % |"
        for row in sorted(tables.means, key=lambda row: row.deficit)
    ]
    return "\n".join([header, "| --- | --- | --- | --- | --- |", *rows])


def _leads(tables: Tables) -> str:
    header = "| targets | at least, without memory | race | counter auditing |\n| --- | --- | --- | --- |"
    rows = [
        f"| {row.n_targets:,} | {row.least} | {math.ceil(row.race)} | {math.ceil(row.tca)} |" for row in tables.gaps
    ]
    return "\n".join([header, *rows])


def _noise_scales(tables: Tables) -> str:
    header = "| rounds | delta | sigma | p_rand | better p_rand | rho |\n| --- | --- | --- | --- | --- | --- |"
    rows = [
        f"| {row.run_length} | {row.delta:.2f} | {row.sigma:.4f} | {row.p_rand:.6f} | {row.p_rand_better:.6f} | "
        f"{row.rho:.6f} |"
        for row in tables.calibration
    ]
    return "\n".join([header, *rows])
