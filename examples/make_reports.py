"""The recipe of reports.csv and targets.txt: a fictional year of reports about 24 organisations.

Run it to write them again, after changing a rate or the seed.
"""

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

TARGETS = (
    *("Alderbridge Bank", "Ashcombe Water", "Blackthorn Labs", "Brightmere Care", "Caldermoor Freight"),
    *("Copperlea Gas", "Dunmarsh Airport", "Eastmarch Hospital", "Fennelrow Clinics", "Glasswing Robotics"),
    *("Harrowfield Pharma", "Ivyhurst Schools", "Juniper Insurance", "Kestrelby Chemicals", "Larkmoor Foods"),
    *("Mistlewick Shipping", "Netherpool Trust", "Oxbowe Energy", "Pinecrest Homes", "Quarrenbank Steel"),
    *("Redfernley Housing", "Silverlode Mining", "Thistledown Telecom", "Westering Rail"),
)
WEEKS = 52
FIRST_MONDAY = date(2025, 1, 6)


def make(folder: Path) -> None:
    """Little everywhere, one organisation that turns bad in week 20, and one burst of reports in week 33."""
    rng = np.random.default_rng(2025)
    rates = np.tile(rng.uniform(0.02, 0.2, size=len(TARGETS)), (WEEKS, 1))
    rates[19:, TARGETS.index("Kestrelby Chemicals")] = 3.0
    rates[32, TARGETS.index("Silverlode Mining")] = 14.0
    counts = rng.poisson(rates)

    # As a hotline would export it: no row where there was no report.
    rows = ((FIRST_MONDAY + timedelta(weeks=int(t)), TARGETS[c], counts[t, c]) for t, c in np.argwhere(counts))
    with (folder / "reports.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("date", "target", "reports"), *rows])
    lines = ["# The organisations that can be audited, whether anybody reported them or not.", *TARGETS]
    (folder / "targets.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(Path(__file__).parent)
