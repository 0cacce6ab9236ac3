"""What `deniable plan` says first, against the figures of its own JSON and of the console's words."""

import json
import re
from fractions import Fraction

import pytest
from tests.cli.running import Run

import deniable as dn
from deniable.promptness import FEW_REPORTS, chance_of_visit, in_per_cent, quiet_waits

ASKED = ("plan", "--targets", "50", "--runs", "2")


def summary(out: str) -> str:
    return out.split("In plain words, with race")[1].split("What the audits give away", maxsplit=1)[0]


def test_the_words_have_the_proven_figures(run: Run) -> None:
    words = " ".join(summary(run(*ASKED, "--delta", "0.1").out).split())
    one, three = (int(found) for found in re.findall(r"at most (\d+) % sure", words))
    document = json.loads(run(*ASKED, "--delta", "0.1", "--json").out)
    race = next(entry for entry in document["mechanisms"] if entry["id"] == "race")
    for shown, guarantee in ((one, "guarantee"), (three, "guarantee_for_person")):
        cap = Fraction(race[guarantee]["likelihood_cap"])
        assert shown - 1 < 100 * cap / (1 + cap) <= shown
    assert "of 3 reports" in words
    alone = " ".join(summary(run(*ASKED, "--delta", "0.1", "--reports-per-person", "1").out).split())
    assert alone.count("% sure") == 2


@pytest.mark.parametrize("rules", [(), ("--max-gap", "60"), ("--cooldown", "3", "--audits", "2")])
def test_the_table_has_the_calculated_figures(run: Run, rules: tuple[str, ...]) -> None:
    given = dict(zip(rules[::2], rules[1::2], strict=True))
    gap = int(given["--max-gap"]) if "--max-gap" in given else None
    race = dn.Race.calibrate(50, 0.1, rules=dn.Rules(gap, int(given.get("--cooldown", 0))))
    audits = int(given.get("--audits", 1))
    shown = summary(run(*ASKED, "--delta", "0.1", *rules).out)
    rows = [line for line in shown.splitlines() if line.startswith("with")]
    waits = quiet_waits(race, audits, FEW_REPORTS)
    assert waits is not None
    assert len(rows) == len(FEW_REPORTS)
    for row, reports, wait in zip(rows, FEW_REPORTS, waits, strict=True):
        assert in_per_cent(chance_of_visit(race, reports, audits)) in row
        assert row.rstrip().removesuffix("s").endswith(f" {wait} round")
    assert ("rules leave free" in " ".join(shown.split())) == bool(rules)


def test_a_plan_like_lots_is_called_so(run: Run) -> None:
    assert "close to drawing lots" in summary(run(*ASKED, "--delta", "0.01").out)
    assert "close to drawing lots" not in summary(run(*ASKED, "--delta", "0.1").out)


def test_nothing_is_said_where_every_round_audits_all(run: Run) -> None:
    assert "In plain words" not in run("plan", "--targets", "4", "--audits", "4", "--delta", "0.1", "--runs", "2").out
