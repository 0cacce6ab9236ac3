"""What an office chooses for a new programme: the options of `deniable programme init` that no other command has, and
those of several commands with what they mean here.
"""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.options import CLASS, OPTIONS, shared
from deniable.languages.language import AUDIT_TERMS, PUBLIC, TARGET_TERMS
from deniable.message import all_of

TargetList = Annotated[
    Path,
    typer.Argument(
        metavar="TARGET_LIST",
        show_default=False,
        help=f"{OPTIONS['--target-list'].meaning} Or a CSV with the columns target,number: each target's number in a "
        "public register.",
    ),
]
Name = Annotated[str, shared("--name", "of the programme.", show_default=False)]
Delta = Annotated[
    list[str] | None, shared("--delta", "If there are classes: of a report of weight 1. Give this or --advantage.")
]
Advantage = Annotated[float | None, shared("--advantage")]
ReportsPerPerson = Annotated[
    int, shared("--reports-per-person", "The default of deniable plan is 3: give the number that its advice names.")
]
Mechanism = Annotated[str, shared("--mechanism", "race or tca. See deniable plan.")]
Horizon = Annotated[int | None, shared("--horizon", "tca needs it, or --max-gap.")]
Start = Annotated[str | None, shared("--start", "By default today.", show_default=False)]
Period = Annotated[str, shared("--period", "Or in months: 1M.")]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="Time zone, such as Europe/Berlin.")]
TimeOfDay = Annotated[str, shared("--time", "when rounds are due, written HH:MM.")]
Classes = Annotated[list[str] | None, shared("--class", f"{CLASS}.")]
YearlyFiguresDelta = Annotated[
    float | None,
    shared("--yearly-figures-delta", "It is added to the promise from the start.", show_default=False),
]
Oversight = Annotated[
    str | None,
    typer.Option(
        metavar="age1…",
        help="The age recipient of an oversight body. Every round's counts and seed are sealed to it, and it alone "
        "can replay the draw.",
    ),
]
RevealAfter = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="For unannounced visits: the public learns N rounds later whom a draw selected, whatever happened "
        "since. At once it learns only that the selection is fixed. With 0 it learns the names at once.",
    ),
]
AuditTerm = Annotated[
    str, typer.Option(metavar="WORD", help=f"What the office calls an audit: {', '.join(AUDIT_TERMS)}.")
]
TargetTerm = Annotated[
    str, typer.Option(metavar="WORD", help=f"What the office calls a target: {', '.join(TARGET_TERMS)}.")
]
Languages = Annotated[
    str,
    typer.Option(
        metavar="CODES",
        help="Languages of the public page, that of index.html first, with commas between them, such as de,fr,en. "
        f"There are {all_of(PUBLIC)}; one whose translation is not complete is refused.",
    ),
]
Translations = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODE=FILE",
        help="Your own translation of the public page in the place of ours, complete and checked by a native "
        "speaker, such as de=german.po. Repeat the option for several languages.",
    ),
]
Contact = Annotated[str, shared("--contact", show_default=False)]
Hotline = Annotated[str, shared("--hotline", show_default=False)]
