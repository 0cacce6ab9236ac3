"""A claim of the paper, what was found about it, and the verdict."""

from dataclasses import dataclass

from scipy.special import stdtrit

from deniable.simulation.experiments.dynamic import RunMean

HOLDS, IN_PART, DIFFERS, UNDECIDED = "holds", "holds in part", "differs", "undecided"
FAILURE = 1e-6
"""How often chance alone may make a simulated mean look wrong, on either side together."""


@dataclass(frozen=True)
class Claim:
    statement: str
    source: str
    """The paper's label."""
    finding: str
    verdict: str
    figure: str = ""


def verdict(as_claimed: bool, best: str = HOLDS) -> str:
    """`best` where all is as claimed."""
    return best if as_claimed else DIFFERS


def errors_off(runs: int) -> float:
    """How many estimated standard errors a mean of so many runs is off, on either side, with probability FAILURE."""
    return float(stdtrit(runs - 1, 1 - FAILURE / 2))


def plus_minus(row: RunMean) -> str:
    """The mean deficit and its standard error."""
    return f"{row.deficit:.2f} ± {row.deficit_error:.2f}"


def listed(numbers: list[int]) -> str:
    """With commas."""
    return ", ".join(map(str, numbers))
