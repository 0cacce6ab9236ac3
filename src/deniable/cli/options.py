"""What several commands have: their usage line, and options in the same words."""

import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from deniable.mechanisms import MECHANISM_IDS
from deniable.rules import Rules

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Audits = Annotated[int, typer.Option(metavar="N", help="Audits a round.")]
Cooldown = Annotated[
    int, typer.Option(metavar="N", help="No target is audited again within N rounds, where that is possible.")
]
DeltaOrNone = Annotated[
    float | None,
    typer.Option(metavar="DELTA", help="Privacy level of one report, in (0, 1); not for greedy and uniform."),
]
Mechanisms = Annotated[
    list[str],
    typer.Option(
        metavar="ID",
        help=f"How targets are chosen: {', '.join(MECHANISM_IDS)}. Several with commas, or repeat the option.",
    ),
]
MaxGap = Annotated[int | None, typer.Option(metavar="N", help="Every target is audited at least once in N rounds.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same figures.")]
Workers = Annotated[
    int | None, typer.Option(metavar="N", help="Processes; as many as the machine has cores by default.")
]


class Command(TyperCommand):
    """A command whose usage line names its arguments without the braces of newer versions of Typer."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]


def in_words(rules: Rules) -> list[str]:
    """What the rules say, for a line about a programme; nothing where there are none."""
    return [
        *([f"every target at least once in {_rounds(rules.max_gap)}"] if rules.max_gap is not None else []),
        *([f"none twice within {_rounds(rules.cooldown)}"] if rules.cooldown else []),
    ]


def _rounds(n: int) -> str:
    return "1 round" if n == 1 else f"{n:,} rounds"


def as_options(message: str) -> str:
    """The message with the names of Python as they are typed here: max_gap is --max-gap."""
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda name: f"--{name[0].replace('_', '-')}", message)
