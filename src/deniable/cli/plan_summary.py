"""What `deniable plan` says first: what race would mean, in the words of the console's Plan page."""

from collections.abc import Sequence
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from deniable.guarantee import Guarantee
from deniable.planning import NotCovered, Office, Option
from deniable.promptness import FEW_REPORTS, chance_of_visit, in_per_cent, is_bound, is_like_lots, quiet_waits
from deniable.rounding import rounded_up
from deniable.rules import NO_RULES
from deniable.wording import count, plural


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
    for name in ("chance of a visit\nat the next draw", "usual wait\nfor a visit"):
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
