"""How much a guarantee leaves to be seen, in the words of everybody who reads a programme's pages."""

from deniable.guarantee import Guarantee, points, points_above_half
from deniable.programme.parameters import Parameters
from deniable.rounding import rounded_up

LITTLE = 0.3
"""Up to this delta the audits give little away: a guess improves by at most 15 points in 100. Above it `init` warns."""
A_GOOD_DEAL = 0.7
"""Up to this delta they can give a good deal away; above it, nearly everything."""


def given_away(delta: float) -> str:
    """What the audits give away of whether a report was filed: the end of a sentence on how targets are drawn.

    >>> given_away(0.1)
    'so that the audits give little away'
    """
    if delta <= LITTLE:
        return "so that the audits give little away"
    if delta <= A_GOOD_DEAL:
        return "yet the audits can give a good deal away"
    return "yet the audits can give nearly everything away" if delta < 1 else "yet the audits can give everything away"


def level(parameters: Parameters) -> str:
    """The delta of one report, whatever number of reports the programme's guarantee speaks of: rounded up."""
    return rounded_up(parameters.built().guarantee().delta, digits=4)


def at_most(guarantee: Guarantee) -> str:
    """The number, for those who read no further."""
    return f"at most {points(guarantee.delta)}"


def coin(guarantee: Guarantee) -> str:
    """The same number as somebody who knows no statistics may picture it."""
    return (
        "So somebody who could only toss a coin, and would be right 50 times in 100, is right at most "
        f"{points_above_half(guarantee.delta)} times in 100 after watching every audit."
    )


NO_CAP = (
    "There is no limit for single cases: a sequence of audits that is rare in any event may be many times as likely "
    "with your report as without it, and somebody who happens to see such a one may become nearly certain. The number "
    "above limits how often that happens."
)
"""For a guarantee without a likelihood cap, such as that of counter auditing."""
