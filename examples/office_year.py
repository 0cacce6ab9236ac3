"""A fictional regulator's year, end to end: reports in, audits out, and what an adversary could learn from them.

Run it with `make demo`. What it writes goes into a temporary folder; the audits differ from run to run.
"""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

import deniable as dn
from deniable.arrays import IntArray
from deniable.attack import total_variation
from deniable.cli.main import main as deniable
from deniable.mechanisms import calibrate
from deniable.promptness import lead_needed, least_lead
from deniable.report_files import read_csv, read_targets
from deniable.streams import active_counts, add_report

STORY = (
    "An employee reports wrongdoing to an audit office. Soon afterwards the office audits the employee's organisation, "
    "and the organisation works out who must have talked. A hotline hides the name, but not what the office does next.",
    "deniable chooses whom to audit next from confidential report counts, with calibrated randomness. An observer of "
    "all audits, the audited organisation included, cannot tell by more than a stated, proven margin whether any one "
    "report was filed.",
)
"""As README and docs/index.md begin."""
REPORTS, TARGET_LIST = (Path(__file__).parent / name for name in ("reports.csv", "targets.txt"))
TARGETS = read_targets(TARGET_LIST)
START, PERIOD, WEEKS = "2025-01-06", "7D", 52
DELTA = 0.1
TURNS_BAD, BAD_FROM = TARGETS.index("Kestrelby Chemicals"), 19  # week 20, counted from 0
BURST, BURST_IN = TARGETS.index("Silverlode Mining"), 32
SHADES = ((0, "·", "grey50"), (1, "░", "yellow"), (3, "▒", "dark_orange"), (6, "▓", "red"), (10, "█", "magenta"))
"""Least active count, its cell in the picture of the year, and the colour."""

console = Console(highlight=False)


def audit_year(folder: Path) -> IntArray:
    """Run the command on the office's two files, and read the public transcript back."""
    public = folder / "public"
    calendar = f"--start {START} --period {PERIOD} --rounds {WEEKS}"
    choice = f"--mechanism race --delta {DELTA}"
    console.print("The folder public of this command is a temporary one here, and is deleted afterwards.\n")
    console.print("$ deniable audit examples/reports.csv --target-list examples/targets.txt \\", style="cyan")
    console.print(f"    {calendar} \\\n    {choice} --out public\n", style="cyan")
    files = ["audit", str(REPORTS), "--target-list", str(TARGET_LIST), "--out", str(public)]
    if code := deniable([*files, *calendar.split(), *choice.split()]):
        raise SystemExit(code)
    with (public / "transcript.csv").open(encoding="utf-8", newline="") as file:
        return np.array([TARGETS.index(row["target"]) for row in csv.DictReader(file)])


def show_year(year: dn.ReportStream, audits: IntArray) -> None:
    """One line a target, one cell a week: its active reports, and its audits."""
    active = active_counts(year, audits)
    console.print("week".ljust(24) + "".join(f"{week:<10}" for week in range(1, WEEKS + 1, 10)).rstrip())
    for c, target in enumerate(TARGETS):
        line = Text(target.ljust(24))
        for week in range(WEEKS):
            _, cell, colour = [shade for shade in SHADES if active[week, c] >= shade[0]][-1]
            audited = audits[week] == c
            line.append("●" if audited else cell, f"bold black on {colour}" if audited else colour)
        console.print(line)
    console.print(
        "\n· no active report   ░ 1 or 2   ▒ 3 to 5   ▓ 6 to 9   █ 10 or more   ● audited"
        f"\n{TARGETS[TURNS_BAD]} turns bad in week {BAD_FROM + 1}; "
        f"{TARGETS[BURST]} has a burst of reports in week {BURST_IN + 1}."
    )


def compare_mechanisms(year: dn.ReportStream, runs: int) -> Table:
    """The same year, audited `runs` times by each mechanism with simulated noise."""
    table = Table("mechanism")
    for heading in ("delta", "advantage", "mean deficit", "reports resolved", "weeks to first audit"):
        table.add_column(heading, justify="right")
    streams = np.broadcast_to(year.counts, (runs, *year.counts.shape))
    for name in ("greedy", "race", "tca", "rr", "uniform"):
        mechanism = calibrate(name, len(TARGETS), DELTA, horizon=WEEKS)
        result = dn.simulate(mechanism, streams)
        promise = mechanism.guarantee()
        resolved = result.resolved.sum(axis=1).mean() / year.counts.sum()
        table.add_row(
            name,
            f"{promise.delta:.2f}",
            f"{promise.advantage:.2f}",
            f"{result.deficit.mean():.1f}",
            f"{resolved:.0%}",
            f"{weeks_to_first_audit(result.audits).mean():.1f}",
        )
    return table


def near_the_limit() -> str:
    """How far ahead of all others a target must be for an audit in 19 weeks of 20: with race, and at the least."""
    race = dn.Race.calibrate(len(TARGETS), DELTA)
    return (
        f"Race audits a target in 19 weeks of 20 if it is {lead_needed(race)} reports ahead of all "
        "others. It is near the limit: no mechanism with this delta that goes by the reports since the last audits "
        f"alone, and treats all targets alike, can do with fewer than {least_lead(len(TARGETS), DELTA)}."
    )


def weeks_to_first_audit(audits: IntArray) -> IntArray:
    """Weeks from turning bad to the next audit, (B,); where the year ends before it, the weeks that were left."""
    hit = audits[:, BAD_FROM:] == TURNS_BAD
    weeks: IntArray = np.where(hit.any(axis=1), hit.argmax(axis=1), hit.shape[1])
    return weeks


def measure_leaks() -> Table:
    """The exact leak about one report, filed in round 1 of 6, in the worst of ten cases.

    There are two targets: the one reported, and a rival that gets the same number of reports in every round.
    """
    table = Table("mechanism")
    table.add_column("measured leak", justify="right")
    table.add_column("proven bound (delta)", justify="right")
    for name in ("greedy", "race", "rr"):
        mechanism = calibrate(name, 2, DELTA, horizon=6)
        leaks = []
        for rival in range(10):
            without = np.tile([0, rival], (6, 1))
            filed = add_report(without, at_round=0, target=0)
            laws = [dn.transcript_distribution(mechanism, stream) for stream in (filed, without)]
            leaks.append(float(total_variation(*laws)))
        table.add_row(name, f"{max(leaks):.4f}", f"{mechanism.guarantee().delta:.4f}")
    return table


def main(runs: int = 200) -> None:
    year = read_csv(REPORTS, TARGETS, PERIOD, WEEKS, START)
    for part in STORY:
        console.print(f"\n{part}")
    section("1. The office draws its audits")
    console.print(
        f"{len(TARGETS)} organisations, {WEEKS} weeks, one audit a week. The names and reports are made up.\n"
    )
    with TemporaryDirectory() as folder:
        audits = audit_year(Path(folder))

    section("2. The year as the office saw it (confidential: do not publish)")
    show_year(year, audits)

    section(f"3. The same year under five mechanisms, {runs} simulated runs each")
    console.print(compare_mechanisms(year, runs))
    console.print(
        "delta, advantage: proven limits on what the audits reveal about one report; greedy has none.\n"
        "mean deficit: by how many active reports the audited target was behind the leader.\n"
        f"weeks to first audit: of {TARGETS[TURNS_BAD]}, after it turned bad; at the latest, the year's end.\n"
    )
    console.print(near_the_limit())

    section("4. The adversary, exactly")
    console.print(measure_leaks())
    console.print(
        "2 targets, 6 rounds, every possible transcript. The leak is how much more often an adversary who knows "
        "every other report says 'filed' when the report was filed than when it was not, in the worst of ten "
        "streams: the rival gets 0, 1, … or 9 reports in every round. tca is left out: its noise has too many outcomes "
        "to go through."
    )

    section("What to look at next")
    console.print(
        "docs/tutorial.md            set up a first programme, in a quarter of an hour\n"
        "make console                what an office can do: deniable serve --demo\n"
        "make test                   everything that is claimed, checked\n"
        ". .venv/bin/activate        puts deniable on the path of this shell\n"
        "deniable audit --help       audit a stream of your own\n"
        "examples/office_year.py     change delta, and run it again\n"
        "examples/make_reports.py    make another year of reports\n"
        "docs/explanation/race.md    how these audits were drawn, and the proof\n"
        "docs/index.md               all pages, for each reader"
    )


def section(title: str) -> None:
    console.print()
    console.rule(title, align="left")
    console.print()


if __name__ == "__main__":
    main()
