"""Options that several commands have, in the same words."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Audits = Annotated[int, typer.Option(metavar="N", help="Audits a round.")]
Cooldown = Annotated[
    int, typer.Option(metavar="N", help="No target is audited again within N rounds, where that is possible.")
]
MaxGap = Annotated[int | None, typer.Option(metavar="N", help="Every target is audited at least once in N rounds.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same figures.")]
Workers = Annotated[
    int | None, typer.Option(metavar="N", help="Processes; as many as the machine has cores by default.")
]
