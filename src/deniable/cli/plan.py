"""`deniable plan`: what each mechanism would promise an audit office, and what it would cost."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from deniable.cli.plan_chart import CHART_REPORTS, draw_chart
from deniable.counters import GaussianCounter
from deniable.errors import DeniableError
from deniable.mechanisms import CounterAuditing, Mechanism, Race, RandomizedResponse, UniformRandom
from deniable.planning import (
    EXTRA_REPORTS,
    OTHER_COUNTERS,
    PLANNED,
    NotCovered,
    Office,
    Option,
    Wait,
    advice,
    assess,
)
from deniable.rules import Rules
from deniable.simulation.figures import check_chart

DEFAULT_HORIZON = 1000
REPORTS_PER_TARGET = 0.2


def plan(
    *,
    targets: Annotated[int, typer.Option(metavar="N", help="Number of targets.")],
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="DELTA",
            help="The promise about one report, in (0, 1): watching the audits improves a guess whether it was filed "
            "by at most DELTA / 2.",
        ),
    ] = None,
    advantage: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="Instead of --delta, the promise about a person, in (0, 0.5): watching improves a guess whether "
            "all their reports were filed by at most A.",
        ),
    ] = None,
    reports_per_person: Annotated[int, typer.Option(metavar="K", help="The most reports that one person files.")] = 3,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help=f"Rounds that the promise must cover; {DEFAULT_HORIZON} where --max-gap is not given either.",
        ),
    ] = None,
    max_gap: Annotated[
        int | None, typer.Option(metavar="N", help="Every target is audited at least once in N rounds.")
    ] = None,
    cooldown: Annotated[
        int, typer.Option(metavar="N", help="No target is audited again within N rounds, where that is possible.")
    ] = 0,
    audits: Annotated[int, typer.Option(metavar="N", help="Audits a round.")] = 1,
    reports_per_round: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default=False,
            help="Reports that usually arrive in a round, about all targets together; one for every five targets "
            "if not given.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Compare the other counters as well.")] = False,
    runs: Annotated[
        int | None,
        typer.Option(metavar="N", show_default=False, help="Simulated runs: more take longer and are more exact."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False,
    chart: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the comparison as well, into a .png or .svg file.")
    ] = None,
) -> None:
    """Compare what each mechanism promises, and how well its audits follow the reports.

    Nothing here is confidential, and nothing is drawn for a programme: the waits are simulated.

    \b
    Example: 50 targets, one audit a round
      deniable plan --targets 50 --delta 0.1
    Example: people file up to 3 reports, every target's turn comes within 26 rounds
      deniable plan --targets 50 --advantage 0.05 --reports-per-person 3 \\
          --max-gap 26 --audits 2
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if (delta is None) == (advantage is None):
        raise DeniableError(
            "give either --delta, the promise about one report, or --advantage, the promise about a person, "
            f"got {'neither' if delta is None else 'both'}"
        )
    office = Office(
        targets,
        delta,
        advantage,
        horizon=DEFAULT_HORIZON if horizon is None and max_gap is None else horizon,
        rules=Rules(max_gap, cooldown),
        audits=audits,
        reports_per_round=REPORTS_PER_TARGET * targets if reports_per_round is None else reports_per_round,
        reports_per_person=reports_per_person,
    )
    if chart is not None:
        check_chart(chart)
    if runs is None:
        runs = min(500, max(50, 25_000 // targets))

    extra = EXTRA_REPORTS if chart is None else CHART_REPORTS
    console = Console(stderr=True)
    ids = track(
        (*PLANNED, *(OTHER_COUNTERS if every else ())),
        "Simulating",
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    options = [assess(office, mechanism_id, extra, runs) for mechanism_id in ids]
    if chart is not None:
        draw_chart(office, [option for option in options if isinstance(option, Option)], chart)
    if as_json:
        print(json.dumps(_document(office, options, runs), indent=1, allow_nan=False))
    else:
        _show(office, options, runs)


# JSON


def _document(office: Office, options: Sequence[Option | NotCovered], runs: int) -> dict[str, Any]:
    return {
        "office": asdict(office),
        "runs": runs,
        "warm_up": office.warm_up,
        "longest_wait": office.longest_wait,
        "mechanisms": [_entry(option) for option in options],
        "advice": advice(office, options),
    }


def _entry(option: Option | NotCovered) -> dict[str, Any]:
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
        "lead_needed": option.lead_needed,
        "waits": [asdict(option.wait(n)) for n in EXTRA_REPORTS],
    }


# Text


def _show(office: Office, options: Sequence[Option | NotCovered], runs: int) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    covered = [option for option in options if isinstance(option, Option)]
    console.print(_programme(office))
    console.print(_promise(office))
    console.print("\nWhat the audits give away, at most (proven)", style="bold")
    console.print(_promises(office, covered))
    console.print("\nHow soon the audits follow the reports (simulated)", style="bold")
    console.print(_uses(covered))
    for option in options:
        if isinstance(option, NotCovered):
            console.print(f"{option.mechanism_id}: not covered: {option.reason}.")
    console.print()
    legend = Table.grid(padding=(0, 2, 0, 0))
    for name, meaning in _notes(office, covered, runs).items():
        legend.add_row(name, meaning)
    console.print(legend)
    console.print(Text.assemble(("\nAdvice: ", "bold"), advice(office, options)))


def _programme(office: Office) -> str:
    rules = office.rules
    parts = [
        f"{office.n_targets:,} targets",
        f"{office.audits:,} {_plural('audit', office.audits)} a round",
        f"{_figure(office.reports_per_round)} reports a round in all",
        *([f"{office.horizon:,} {_plural('round', office.horizon)}"] if office.horizon is not None else []),
        *([f"every target at least once in {rules.max_gap:,} rounds"] if rules.max_gap is not None else []),
        *([f"none twice within {rules.cooldown:,} rounds"] if rules.cooldown else []),
    ]
    return ", ".join(parts) + "."


def _promise(office: Office) -> str:
    scale = "(0 would mean that watching tells nothing, 50 that it may tell everything.)"
    if office.delta is not None:
        return (
            f"Promise asked for: delta = {_figure(office.delta)}, that is, watching all the audits improves a guess "
            f"whether one given report was filed by at most {_figure(50 * office.delta)} points in 100. {scale}"
        )
    k = office.reports_per_person
    whose = "a person's only report was filed" if k == 1 else f"a person's reports, up to {k}, were filed"
    return (
        f"Promise asked for: watching all the audits improves a guess whether {whose} by at most "
        f"{_figure(100 * cast(float, office.advantage))} points in 100. {scale}"
    )


def _promises(office: Office, options: Sequence[Option]) -> Table:
    k = office.reports_per_person
    several = [] if k == 1 else [f"{k} reports"]
    table = _table(options, "delta", "1 report", *several, "odds ×", "holds for")
    for option in options:
        promise = option.guarantee
        table.add_row(
            option.mechanism_id,
            _above(promise.delta, 4),
            _above(100 * promise.advantage, 1),
            *(_above(100 * option.person.advantage, 1) for _ in several),
            "no limit" if math.isinf(promise.likelihood_cap) else _above(promise.likelihood_cap, 2),
            "-" if promise.delta == 1 else _duration(promise.horizon),
        )
    return table


def _uses(options: Sequence[Option]) -> Table:
    table = _table(options, "chance", "lead", *(f"wait +{n}" for n in EXTRA_REPORTS))
    for option in options:
        lead = "never" if option.lead_needed is None else f"{math.ceil(option.lead_needed - 1e-9):,}"
        waits = (_wait(option.wait(n)) for n in EXTRA_REPORTS)
        table.add_row(option.mechanism_id, _chance(option.mechanism), lead, *waits)
    return table


def _chance(mechanism: Mechanism[Any]) -> str:
    match mechanism:
        case Race():
            return f"× {_digits(mechanism.rho, mechanism.rho - 1)}"
        case CounterAuditing(counter=GaussianCounter() as counter):
            return f"± {_digits(counter.max_error, counter.max_error)}"
        case RandomizedResponse():
            return f"{_digits(100 * mechanism.p_rand, 100 * (1 - mechanism.p_rand))}% lots"
        case UniformRandom():
            return "100% lots"
    return "none"


def _notes(office: Office, options: Sequence[Option], runs: int) -> dict[str, str]:
    chances = [_chance(option.mechanism) for option in options]
    of_chance = {
        "chance ×": "lots are drawn, and each report multiplies a target's chance by this",
        "chance ±": "the most reports win, but each count is off by about this many reports",
        "chance % lots": "plain lots are drawn in so many rounds of 100; in the others the most reports win",
    }
    k, n = office.reports_per_person, EXTRA_REPORTS[1]
    counted = "1 report" if k == 1 else f"1, {k} reports"
    several = "" if k == 1 else f", or {k} by the same person,"
    notes = {
        counted: "points in 100 that watching adds, at most, to the chance of guessing right whether one "
        f"report{several} {'was' if k == 1 else 'were'} filed",
        "odds ×": "no sequence of audits is more than this many times as likely with a report as without it",
        **{name: text for name, text in of_chance.items() if any(name[7] in chance for chance in chances)},
        "lead": "how many reports a target must be ahead of all others to be audited in 19 rounds of 20; for counters, "
        "and with several audits a round, fewer may do",
        f"wait +{n}": f"rounds until a target that suddenly has {n} reports more than usual is audited (1: in the "
        f"round in which they arrive), the average of {runs:,} simulated runs ± its uncertainty",
    }
    if any(option.wait(n).cut_short for option in options for n in EXTRA_REPORTS):
        notes["≥"] = (
            f"at least: some runs had no such audit in the {office.longest_wait:,} "
            f"{_plural('round', office.longest_wait)} for which they were followed"
        )
    return notes


def _wait(wait: Wait) -> str:
    over = "≥ " if wait.cut_short else ""
    if wait.standard_error == 0:
        return f"{over}{wait.rounds:,.0f}"
    places = 0 if wait.standard_error >= 0.95 else 1 if wait.standard_error >= 0.095 else 2
    return f"{over}{wait.rounds:,.{places}f} ± {wait.standard_error:.{places}f}"


def _duration(horizon: int | None) -> str:
    return "ever" if horizon is None else f"{horizon:,} {_plural('round', horizon)}"


def _table(options: Sequence[Option], *columns: str) -> Table:
    # The long names of the other counters leave less room in 80 columns.
    space = 1 if any(option.mechanism_id in OTHER_COUNTERS for option in options) else 2
    table = Table(box=None, padding=(0, space, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("mechanism", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _figure(value: float) -> str:
    return f"{value:,.6g}"


def _digits(value: float, matters: float) -> str:
    """The value with two digits at least of the part that matters."""
    places = 0 if matters <= 0 else max(0, 1 - math.floor(math.log10(matters)))
    return f"{value:,.{places}f}"


def _above(value: float, places: int) -> str:
    """The value rounded up, since it states a bound; the last bits of a float do not count."""
    scaled = math.ceil(round(value * 10**places, 6))
    return f"{scaled / 10**places:,.{places}f}"
