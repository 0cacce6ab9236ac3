"""How `deniable plan` tells what it found: as JSON, as tables with a key and advice, and as a chart."""

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.cli.options import rules_in_words
from deniable.cli.plan_sections import show_summary
from deniable.counters import GaussianCounter
from deniable.mechanisms import CounterAuditing, Mechanism, Race, RandomizedResponse, UniformRandom
from deniable.planning import OTHER_COUNTERS, NotCovered, Office, Option, advice, figure
from deniable.promptness import OFF, OFF_AT_WORST, REPORTS, bounds_lead, decided_by_gap, is_bound, passed_over
from deniable.rounding import as_written, rounded_up
from deniable.rules import NO_RULES
from deniable.simulation.figures import MECHANISM_COLOURS, label_lines, new_figure, save_figure
from deniable.wording import count, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TYPICAL = 10
"""The extra reports for which the key explains the waits."""
CHART_REPORTS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30)
STYLES = {"rr": (0, (4, 1.5)), "tca": (0, (6, 1, 1, 1))}
"""Besides the colours: lines that may lie on one another show through."""


# JSON


def to_json(office: Office, options: Sequence[Option | NotCovered], runs: int) -> dict[str, Any]:
    return {
        "office": asdict(office),
        "runs": runs,
        "warm_up": office.warm_up,
        "longest_wait": office.longest_wait,
        "least_lead": office.least_lead,
        "decided_by_gap": decided_by_gap(office.n_targets, office.audits, office.rules),
        "mechanisms": [_entry(office, option) for option in options],
        "advice": advice(office, options),
    }


def _entry(office: Office, option: Option | NotCovered) -> dict[str, Any]:
    if isinstance(option, NotCovered):
        return {"id": option.mechanism_id, "covered": False, "reason": option.reason}
    counter = option.mechanism.counter if isinstance(option.mechanism, CounterAuditing) else None
    gaussian = counter if isinstance(counter, GaussianCounter) else None
    return {
        "id": option.mechanism_id,
        "covered": True,
        "guarantee": option.guarantee.to_dict(),
        "guarantee_for_person": option.person.to_dict(),
        "parameters": asdict(cast(Any, option.mechanism)),
        "sigma": None if gaussian is None else gaussian.sigma,
        "noise_std": None if gaussian is None else gaussian.max_error,
        "worst_case": option.worst_case,
        "lead_needed": option.lead_needed,
        "lead_is": _lead_is(office, option),
        "quiet_waits": None if option.quiet_waits is None else [asdict(wait) for wait in option.quiet_waits],
        "waits": [asdict(option.wait(n)) for n in REPORTS],
    }


def _lead_is(office: Office, option: Option) -> str:
    if not bounds_lead(option.mechanism, office.audits):
        return "unknown"
    return "at most" if is_bound(option.mechanism, office.audits) else "exact"


# Text


def show(office: Office, options: Sequence[Option | NotCovered], runs: int) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    covered = [option for option in options if isinstance(option, Option)]
    console.print(_programme(office))
    console.print(_promise(office))
    show_summary(console, office, options)
    console.print("\nWhat the audits give away, at most (proven)", style="bold")
    console.print(_promises(office, covered))
    console.print("\nHow soon a target with reports is audited while no other has any (calculated)", style="bold")
    console.print(_calculated(office, covered))
    if least := office.least_lead:
        console.print(f"\n{_least_lead(least, covered)}")
    console.print("\nHow soon a target with more reports than usual is audited (simulated)", style="bold")
    console.print(_simulated(covered))
    for option in options:
        if isinstance(option, NotCovered):
            console.print(f"{option.mechanism_id}: not covered: {option.reason}.")
    console.print()
    legend = Table.grid(padding=(0, 2, 0, 0))
    for name, meaning in _notes(office, covered, runs).items():
        legend.add_row(name, meaning)
    console.print(legend)
    words, *then = advice(office, options).splitlines()
    console.print(Text.assemble(("\nAdvice: ", "bold"), words))
    for line in then:
        console.print(_copied(line) if line.startswith("  ") else line, soft_wrap=True)


def _copied(command: str) -> str:
    """On lines that a shell takes for one, each option with what it is given."""
    together = re.sub(r"(--\S+) ", "\\1\N{NO-BREAK SPACE}", command.strip())
    lines = textwrap.wrap(together, 78, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)
    return " \\\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def _programme(office: Office) -> str:
    parts = [
        f"{office.n_targets:,} targets",
        f"{count(office.audits, 'audit')} a round",
        f"{_figure(office.reports_per_round)} {plural(office.reports_per_round, 'report')} a round in all",
        *([count(office.horizon, "round")] if office.horizon is not None else []),
        *rules_in_words(office.rules),
    ]
    return ", ".join(parts) + ". A round is whatever you make it, such as a week."


def _promise(office: Office) -> str:
    k = office.reports_per_person
    if office.delta is not None:
        delta = as_written(office.delta)
        asked, often = f"delta = {rounded_up(delta, digits=6)}", rounded_up(delta, 50, digits=6)
        what = "a certain report was filed"
    else:
        often = rounded_up(as_written(cast(float, office.advantage)), 100, digits=6)
        asked = f"{often} in 100 about a person"
        what = "a person's only report was filed" if k == 1 else f"a person's reports, up to {k:,}, were filed"
    return (
        f"Promise asked for: {asked}. An observer who guesses from all the audits whether {what} is right at most "
        f"{often} {'time' if often == '1' else 'times'} in 100 more often than without watching. "
        "(0 would mean that watching tells nothing, 50 that it may tell everything.)"
    )


def _promises(office: Office, options: Sequence[Option]) -> Table:
    k = office.reports_per_person
    several = [] if k == 1 else [f"{k:,}\nreports"]
    table = _table(options, "delta", "1\nreport", *several, "odds ×", "50 % sure\n→ % sure", "holds for\n(rounds)")
    for option in options:
        promise = option.guarantee
        cap = promise.likelihood_cap
        table.add_row(
            option.mechanism_id,
            rounded_up(promise.delta, places=4),
            rounded_up(promise.advantage, 100, places=1),
            *(rounded_up(option.person.advantage, 100, places=1) for _ in several),
            "no limit" if math.isinf(cap) else rounded_up(cap, places=2 if cap < 1000 else 0),
            rounded_up(option.worst_case, 100, places=0),
            _duration(option),
        )
    return table


def _duration(option: Option) -> str:
    if option.guarantee.delta == 1:
        return "-"
    if option.guarantee.horizon is not None:
        return f"{option.guarantee.horizon:,}"
    return "ever (max gap)" if isinstance(option.mechanism, CounterAuditing) else "ever"


def _calculated(office: Office, options: Sequence[Option]) -> Table:
    table = _table(options, "role of chance", "lead", *(f"wait\n{n}" for n in REPORTS))
    table.columns[1].no_wrap = False  # the only cells that may be folded where 80 columns are not enough
    for option in options:
        waits = ("-" for _ in REPORTS) if option.quiet_waits is None else map(str, option.quiet_waits)
        table.add_row(option.mechanism_id, _chance(option.mechanism), _lead(office, option), *waits)
    return table


def _lead(office: Office, option: Option) -> str:
    if option.lead_needed is None:
        return "-" if _lead_is(office, option) == "unknown" else "never"
    return f"{'≤ ' if _lead_is(office, option) == 'at most' else ''}{option.lead_needed:,}"


def _least_lead(least: int, options: Sequence[Option]) -> str:
    leads = {option.mechanism_id: option.lead_needed for option in options}
    race, tca = leads.get("race"), leads.get("tca")
    return (
        "Any mechanism that goes by the reports since the last audits alone, and treats all targets alike, needs a "
        f"lead of at least {least:,} for the leader to be audited in 19 rounds of 20, at this promise (proven)."
        + (f" Race needs {race:,}." if race is not None else "")
        + (
            f" Counter auditing (tca), which also goes by its noise so far and is not covered, needs at most {tca:,}."
            if tca is not None
            else ""
        )
    )


def _simulated(options: Sequence[Option]) -> Table:
    table = _table(options, *(f"wait\n+{n}" for n in REPORTS), f"9 in 10\n+{TYPICAL}")
    for option in options:
        waits = (_wait(wait.rounds, wait.cut_short > 0) for wait in map(option.wait, REPORTS))
        most = _wait(option.wait(TYPICAL).nine_in_ten, option.wait(TYPICAL).cut_short > 0.1)
        table.add_row(option.mechanism_id, *waits, most)
    return table


def _wait(rounds: float, cut_short: bool) -> str:
    return f"{'≥ ' if cut_short else ''}{figure(rounds)}"


def _chance(mechanism: Mechanism[Any]) -> str:
    match mechanism:
        case Race():
            return f"× {_digits(mechanism.rho, mechanism.rho - 1)} a report"
        case CounterAuditing(counter=GaussianCounter() as counter):
            return f"counts ± {_digits(counter.max_error, counter.max_error)}"
        case RandomizedResponse():
            return f"{_digits(100 * mechanism.p_rand, 100 * (1 - mechanism.p_rand))} % by lot"
        case UniformRandom():
            return "100 % by lot"
    return "none"


def _notes(office: Office, options: Sequence[Option], runs: int) -> dict[str, str]:
    chances = [_chance(option.mechanism) for option in options]
    of_chance = {
        "× a report": "targets are drawn at random, and each report multiplies a target's weight in the draw by this, "
        "which is also the limit on the odds above, where it is rounded up",
        "counts ±": "the most reports win, but each count is off by about this many reports",
        "% by lot": "in so many rounds of 100 the target is drawn by lot, whatever the reports; in the others the "
        "most reports win",
    }
    k = office.reports_per_person
    several = "" if k == 1 else f", or about all {k:,} of one person"
    usual = _figure(float(f"{office.reports_per_round / office.n_targets:.2g}"))
    off = max(2 * wait.standard_error / wait.rounds for option in options for wait in map(option.wait, REPORTS))
    notes = {
        "1 report" if k == 1 else f"1, {k:,} reports": "how many more guesses in 100 are right with watching than "
        f"without, at most, about one report{several}: an average over all the ways the audits may go",
        "odds ×": "the most telling case, however rare: no course of the audits is more than this many times as likely "
        "with a report as without it",
        "50 % sure →": "the same in other words: a boss who was 50 % sure of a report can become at most so many per "
        "cent sure of it; 100 is certainty",
        "which of two": "all these limits compare filed with not filed. An observer who is sure that exactly one of "
        "two people filed can gain up to twice as many right guesses about which of them it was, and no limit holds "
        "for the odds",
        **({"ever (max gap)": "for ever, as long as the longest gap is kept"} if _relies_on_max_gap(options) else {}),
        **{name: text for name, text in of_chance.items() if any(_sign(name) in chance for chance in chances)},
        "lead": "how many reports a target must be ahead of all others to be audited at once, in 19 rounds of 20"
        + (", not counting audits that the rules decide" if office.rules != NO_RULES else ""),
        f"wait {TYPICAL}": f"rounds until a target that {TYPICAL} reports come in about is audited (1: in the round in "
        "which they arrive), on average over all the moments when they may, in the long run; exact unless it has a sign"
        + (", rules included" if office.rules != NO_RULES else ""),
        f"wait +{TYPICAL}": f"rounds until a target that suddenly has {TYPICAL} reports more than usual is audited; "
        f"usual here: {usual} reports a round for each target. The average of {runs:,} simulated runs, by chance off "
        f"by up to {math.ceil(100 * off)} % or so; single cases may take much longer",
        f"9 in 10 +{TYPICAL}": "in 9 runs of 10 the target was audited within so many rounds",
        **_signs(office, options),
    }
    if office.rules.max_gap is not None:
        share = math.ceil(100 * decided_by_gap(office.n_targets, office.audits, office.rules) - 1e-9)
        notes["max gap"] = (
            f"no target waits longer than {count(office.rules.max_gap, 'round')}. In return "
            f"up to {share} audits of 100 are of targets whose gap is over, whatever was reported"
        )
    return notes


def _signs(office: Office, options: Sequence[Option]) -> dict[str, str]:
    kinds = {wait.kind for option in options for wait in option.quiet_waits or ()}
    signs = {}
    leads = {_lead_is(office, option) for option in options}
    if "at most" in kinds | leads:
        signs["≤"] = "at most: proven, but the true figure may be smaller"
    if "about" in kinds:
        signs["~"] = (
            f"about: off by up to {OFF} %, or up to {OFF_AT_WORST} % if the longest gap is nearly the least possible"
        )
    if "unknown" in leads:
        signs["-"] = "nothing is proven about this lead or wait; simulated waits are below"
    elif any(option.quiet_waits is None for option in options):
        signs["-"] = "there is no formula for this wait; the simulated ones are below"
    if any(option.wait(n).cut_short for option in options for n in REPORTS):
        signs["≥"] = (
            f"at least: the simulation ended, after {count(office.longest_wait, 'round')}, before some were audited"
        )
    return signs


def _sign(name: str) -> str:
    return next(sign for sign in "×±%" if sign in name)


def _relies_on_max_gap(options: Sequence[Option]) -> bool:
    return any(_duration(option) == "ever (max gap)" for option in options)


def _table(options: Sequence[Option], *columns: str) -> Table:
    # The long names of the other counters leave less room in 80 columns.
    space = 1 if any(option.mechanism_id in OTHER_COUNTERS for option in options) else 2
    table = Table(box=None, padding=(0, space, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("mechanism", no_wrap=True, vertical="bottom")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    return table


def _figure(value: float) -> str:
    return f"{value:,.6g}"


def _digits(value: float, matters: float) -> str:
    """The value with two digits at least of the part that matters."""
    places = 0 if matters <= 0 else max(0, 1 - math.floor(math.log10(matters)))
    return f"{value:,.{places}f}"


# Chart


def draw_chart(office: Office, options: Sequence[Option], path: Path) -> None:
    """Error against lead, wait against extra reports, and what watching gives away."""
    figure = new_figure(10, 3.3)
    errors, waits, curves = figure.subplots(1, 3)
    _errors(errors, office, options)
    _waits(waits, options)
    _curves(curves, options)
    for axes in (errors, waits, curves):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.xaxis.label.set_size(9)
        axes.set_title(axes.get_title(loc="left"), loc="left", fontsize=10)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    save_figure(figure, path)


def _errors(axes: "Axes", office: Office, options: Sequence[Option]) -> None:
    leads = [option.lead_needed for option in options if option.lead_needed is not None]
    furthest = max(10.0, *(1.2 * lead for lead in leads))
    gaps = np.unique(np.linspace(0, furthest, 200).astype(np.int64))
    ends = {}
    for option in options:
        if _lead_is(office, option) == "unknown":
            continue
        error = [100 * passed_over(option.mechanism, int(gap), office.audits) for gap in gaps]
        _line(axes, option, gaps, error)
        ends[option.mechanism_id] = error[-1]
        if option.mechanism_id == "tca":
            axes.annotate("at most", (gaps[np.argmax(np.array(error) < 50)], 50), (4, 0), textcoords="offset points",
                          fontsize=8, color=MECHANISM_COLOURS["tca"])  # fmt: skip
    axes.set(xlim=(0, furthest), ylim=(0, 102), xlabel="lead over all others, in reports")
    axes.set_title("Rounds in 100 that miss the leader", loc="left")
    label_lines(axes, ends)


def _waits(axes: "Axes", options: Sequence[Option]) -> None:
    ends = {}
    for option in options:
        extra = np.array([wait.extra_reports for wait in option.waits])
        mean = np.array([wait.rounds for wait in option.waits])
        spread = 2 * np.array([wait.standard_error for wait in option.waits])
        _line(axes, option, extra, mean)
        axes.fill_between(
            extra, mean - spread, mean + spread, color=MECHANISM_COLOURS[option.mechanism_id], alpha=0.15, linewidth=0
        )
        ends[option.mechanism_id] = float(mean[-1])
    axes.set(xlim=(0, CHART_REPORTS[-1]), xlabel="reports more than usual")
    axes.set_ylim(bottom=0)
    cut_short = any(wait.cut_short for option in options for wait in option.waits)
    axes.set_title(f"Rounds until audited{', at least' if cut_short else ''}", loc="left")
    label_lines(axes, ends)


def _curves(axes: "Axes", options: Sequence[Option]) -> None:
    """TPR - FPR: the trade-off curve above the diagonal, which would hide it at a small delta."""
    fpr = np.linspace(0, 1, 401)
    protected = [option for option in options if option.mechanism_id != "greedy"]
    highest = 100 * max(option.guarantee.delta for option in protected)
    peaks = {}
    for option in protected:
        gain = 100 * (option.guarantee.tradeoff(fpr) - fpr)
        _line(axes, option, 100 * fpr, gain)
        peaks[option.mechanism_id] = float(gain[320])
    axes.set(xlim=(0, 80), ylim=(0, 1.15 * highest), xlabel="wrongly suspected, of 100")
    axes.set_title("Rightly minus wrongly suspected, at most", loc="left")
    label_lines(axes, peaks)
    axes.text(0.03, 0.97, "greedy: no limit", transform=axes.transAxes, va="top", fontsize=8,
              color=MECHANISM_COLOURS["greedy"])  # fmt: skip


def _line(axes: "Axes", option: Option, x: "np.typing.ArrayLike", y: "np.typing.ArrayLike") -> None:
    name = option.mechanism_id
    axes.plot(x, y, color=MECHANISM_COLOURS[name], linestyle=STYLES.get(name, "-"), linewidth=1.8)
