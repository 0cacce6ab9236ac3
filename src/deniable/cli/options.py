"""What several commands have: their usage line, and options in the same words."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from deniable.errors import DeniableError, check_whole
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
Forecast = Annotated[
    bool, typer.Option("--forecast", help="Weights that are learnt from past audits, which are public; for race.")
]
_MECHANISMS = typer.Option(
    metavar="ID",
    help=f"How targets are chosen: {', '.join(MECHANISM_IDS)}. Several with commas, or repeat the option.",
)
Mechanisms = Annotated[list[str], _MECHANISMS]
MechanismsOrNone = Annotated[list[str] | None, _MECHANISMS]
MaxGap = Annotated[int | None, typer.Option(metavar="N", help="Every target is audited at least once in N rounds.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same figures.")]
WeightsFile = Annotated[
    Path | None,
    typer.Option(
        "--weights",
        metavar="FILE",
        help="CSV file with the columns target,weight: a target with weight 2 is chosen as if it were two. Public, "
        "and for race only.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", help="Processes; as many as the machine has cores by default.")
]


class Command(TyperCommand):
    """A command whose usage line names its arguments without the braces of newer versions of Typer."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]


def checked_rules(max_gap: int | None, cooldown: int, n_targets: int, audits: int) -> Rules:
    """The rules of these options, which so many audits a round can keep."""
    try:
        check_whole("audits", audits, least=1)
        rules = Rules(max_gap, cooldown)
        rules.check_reach(n_targets, audits)
    except DeniableError as error:
        raise DeniableError(as_options(str(error))) from None
    return rules


def check_one_weighting(weights: Path | None, *, forecast: bool) -> None:
    if weights is not None and forecast:
        raise DeniableError("give either --weights or --forecast, got both")


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
