"""What `deniable plan` says first, in the words of the console's Plan page, and what it adds on request: a deadline on
visits, and yearly figures.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.errors import DeniableError
from deniable.guarantee import Guarantee
from deniable.languages.voice import plain
from deniable.planning import DeadlineOption, DeadlineOptions, NotCovered, Office, Option, VisitedShare
from deniable.promptness import (
    FEW_REPORTS,
    VisitChance,
    audits_for_certainty,
    chance_of_visit,
    deadline_in_words,
    in_per_cent,
    is_bound,
    is_like_lots,
    least_audits,
    least_visited_anyway,
    quiet_waits,
)
from deniable.rounding import as_written, float_above, float_below, rounded_up
from deniable.rules import NO_RULES
from deniable.wording import count, plural
from deniable.yearly_figures import YearlyFigures, check_figures_delta


def show_summary(console: Console, office: Office, options: Sequence[Option | NotCovered]) -> None:
    """Nothing where race is not covered, or where every round audits all targets."""
    race = next((option for option in options if option.mechanism_id == "race"), None)
    if not isinstance(race, Option) or office.audits == office.n_targets:
        return
    console.print("\nIn plain words, with race", style="bold")
    console.print(_suspicion(race))
    console.print(_table(office, race))
    console.print(_remark(office, race))


def _suspicion(race: Option) -> str:
    people = race.person.reports
    several = f", and at most {_sure(race.person)} of {people:,} reports" if people > 1 else ""
    return f"A boss who was 50 % sure of one report by a person can become at most {_sure(race.guarantee)}{several}."


def _sure(guarantee: Guarantee) -> str:
    return f"{rounded_up(guarantee.posterior(Fraction(1, 2)), 100, places=0)} % sure"


def _table(office: Office, race: Option) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("a target", no_wrap=True, vertical="bottom")
    for name in ("chance of an audit\nat the next draw", "usual wait\nfor an audit"):
        table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    at_least = "≥ " if is_bound(race.mechanism, office.audits) else ""
    for wait in quiet_waits(race.mechanism, office.audits, FEW_REPORTS) or ():
        chance = chance_of_visit(race.mechanism, wait.reports, office.audits)
        name = f"with {count(wait.reports, 'report')}" if wait.reports else "without any report"
        rounds = plural(1 if str(wait) == "1" else 2, "round")
        table.add_row(name, f"{at_least}{in_per_cent(chance)}", f"{wait} {rounds}")
    return table


def _remark(office: Office, race: Option) -> str:
    free = " The chance is for a round that the rules leave free." if office.rules != NO_RULES else ""
    lots = " This is close to drawing lots." if is_like_lots(race.mechanism, office.audits) else ""
    return f"This is while no other target has any reports.{free}{lots}"


SPREAD = 1.96
"""Standard deviations within which 19 of 20 figures are."""


# Deadlines


def deadline_json(office: Office, options: Sequence[Option | NotCovered], found: DeadlineOptions) -> dict[str, Any]:
    race = _race(options)
    delta = race.guarantee.delta
    return {
        **asdict(found.deadline),
        "least_audits": least_audits(office.n_targets, found.deadline, delta),
        "least_visited_anyway": float_below(least_visited_anyway(found.deadline, delta)),
        "audits_for_certainty": audits_for_certainty(office.n_targets, found.deadline),
        "audits": found.audits,
        "mechanisms": [_deadline_entry(option) for option in found.options],
        "words": list(_deadline_words(office, race, found)),
    }


def _deadline_words(office: Office, race: Option, found: DeadlineOptions) -> tuple[str, ...]:
    words = deadline_in_words(race.mechanism, "race", found.deadline, office.audits, plain())
    return ("These sentences are about race.", *words)


def _deadline_entry(option: DeadlineOption) -> dict[str, Any]:
    simulated = {"alone": option.alone, "anyway": option.anyway, "usual": option.usual}
    return {
        "id": option.mechanism_id,
        "audits_needed": option.audits_needed,
        "calculated": None if option.cost is None else asdict(option.cost) | {"forced_delta": option.cost.forced_delta},
        "simulated": {
            name: None if share is None else asdict(share) | {"interval": share.interval}
            for name, share in simulated.items()
        },
    }


def show_deadline(office: Office, options: Sequence[Option | NotCovered], found: DeadlineOptions) -> None:
    console, rounds = _console(), count(found.deadline.rounds, "round")
    console.print(f"\nA visit within {rounds} of one report", style="bold")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("mechanism", no_wrap=True, vertical="bottom")
    for column in ("audits\nneeded", "visited,\nof 100", "without\nreport", "usual\nreports", "delta if\ncertain"):
        table.add_column(column, justify="right", no_wrap=True, vertical="bottom")
    for option in found.options:
        table.add_row(option.mechanism_id, *_cells(option))
    console.print(table)
    missing = [
        option.mechanism_id for option in options if option.mechanism_id not in {o.mechanism_id for o in found.options}
    ]
    for name in missing:
        console.print(f"{name}: its promise does not cover {count(found.audits, 'audit')} a round.")
    console.print()
    for sentence in _deadline_words(office, _race(options), found):
        console.print(sentence)
    console.print(
        f"\nThe table compares the mechanisms with {count(found.audits, 'audit')} a round, of 100 cases each: a target "
        "with one report while no other has any, the same without the report, and one report more than usual among the "
        "usual reports about all targets. Figures with a ± are simulated, at a moment that has nothing to do with the "
        "audits; the others are calculated, and rounded to the safe side. The last column is the delta that a report "
        "would need, at least, to make the visit certain."
        + (" What has a ~ is estimated." if _has_estimates(found) else "")
    )


def _has_estimates(found: DeadlineOptions) -> bool:
    costs = [option.cost for option in found.options if option.cost is not None]
    return any("about" in (cost.visited.kind, cost.anyway.kind) for cost in costs)


def _cells(option: DeadlineOption) -> tuple[str, ...]:
    needed = "-" if option.audits_needed is None else f"{option.audits_needed:,}"
    usual = _simulated(option.usual)
    if option.cost is None:
        return needed, _simulated(option.alone), _simulated(option.anyway), usual, "-"
    visited, anyway = option.cost.visited, option.cost.anyway
    if anyway.kind == "at least":  # nothing above it is known, so nothing is forced
        without, forced = _down(anyway.low), "-"
    else:
        delta = f"{math.floor(option.cost.forced_delta * 1000) / 1000:.3f}"
        without, forced = _up(anyway.high), _sign(anyway) + delta
    return needed, _sign(visited) + _down(visited.low), _sign(anyway) + without, usual, forced


def _sign(chance: VisitChance) -> str:
    return {"exact": "", "at least": "≥ ", "about": "~ "}[chance.kind]


def _simulated(share: VisitedShare | None) -> str:
    """The share with half of its interval, or the larger side of it."""
    if share is None:
        return "-"
    (low, high), measured = share.interval, share.visited / share.runs
    return f"{100 * measured:.0f} ± {math.ceil(100 * max(high - measured, measured - low)):.0f}"


def _down(share: float) -> str:
    return f"{math.floor(Fraction(share) * 1000) / 10:.1f}"


def _up(share: float) -> str:
    return rounded_up(share, 100, places=1)


# Yearly figures


def check_yearly_delta(delta: float, office: Office) -> None:
    """Refuse a delta for the figures that is none, or leaves no promise at all."""
    check_figures_delta(delta)
    asked = office.delta if office.delta is not None else 2 * (office.advantage or 0) / office.reports_per_person
    if asked + delta >= 1:
        raise DeniableError(
            f"yearly_figures_delta must leave something of the promise: {delta} and the audits' {asked:g} come to 1 or "
            "more, which promises nothing"
        )


def yearly_json(options: Sequence[Option | NotCovered], delta: float) -> dict[str, Any]:
    figures = YearlyFigures.calibrate(delta)
    return {
        "variance": figures.variance,
        "standard_deviation": figures.deviation(),
        "delta": float_above(figures.delta()),
        "mechanisms": [
            {
                "id": option.mechanism_id,
                "delta": _sum(option.guarantee.delta, figures.delta()),
                "delta_for_person": _sum(option.person.delta, figures.delta(option.person.reports)),
            }
            for option in options
            if isinstance(option, Option)
        ],
    }


def show_yearly(office: Office, options: Sequence[Option | NotCovered], delta: float) -> None:
    figures, race, k = YearlyFigures.calibrate(delta), _race(options), office.reports_per_person
    audits = race.guarantee.delta
    person = _sum(race.person.delta, figures.delta(k))
    asked = as_written(office.delta) if office.delta is not None else audits
    left = Fraction(asked) - figures.delta()
    instead = (
        f"To state {rounded_up(asked, digits=4)} in all, {math.floor(left * 10**4) / 10**4:g} is left for the audits."
        if left >= Fraction(1, 10**4)
        else f"Of {rounded_up(asked, digits=4)} in all, nothing would be left for the audits."
    )
    _console().print(
        Text.assemble(
            (f"\nYearly figures at {delta:g}: ", "bold"),
            f"each number of reports is published once a year with noise of ± {figures.deviation():,} (its standard "
            "deviation; in 19 years of 20 a figure is off by at most about "
            f"{math.ceil(SPREAD * figures.deviation()):,}). That adds "
            f"{rounded_up(figures.delta(), digits=4)} to what is stated about one report: with race "
            f"{rounded_up(_sum(audits, figures.delta()), digits=4)} in place of {rounded_up(audits, digits=4)}"
            + ("" if k == 1 else f", and {rounded_up(person, digits=4)} about {k:,} reports of one person")
            + f". {instead} The limit on the odds is about the audits alone: the noise has none.",
        )
    )


def _sum(*deltas: float | Fraction) -> float:
    return min(1.0, float_above(sum((Fraction(delta) for delta in deltas), Fraction(0))))


def _race(options: Sequence[Option | NotCovered]) -> Option:
    return next(option for option in options if isinstance(option, Option) and option.mechanism_id == "race")


def _console() -> Console:
    return Console(markup=False, emoji=False, highlight=False)
