"""The source of a programme's public values: as the options of `init` name it, and in words."""

import re
from pathlib import Path
from typing import Annotated

import typer

from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.calendar import Calendar
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import QUICKNET, check_chain
from deniable.programme.randomness.mirrors import read_chain
from deniable.programme.randomness.source import Dice, Drand, Source

Randomness = Annotated[
    str,
    typer.Option(
        metavar="SOURCE",
        help="The public value that goes into every draw, so that the office can neither choose nor foresee it. drand: "
        "the beacon of a public network on the internet. dice: numbers that people throw or draw in public. none: no "
        "value, and readers must trust the office with its random numbers.",
    ),
]
ValueMinutes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        show_default=False,
        help="For drand and dice: the public value comes N minutes after a round is due, by default 60. Close and "
        "publish the round in the first half of this time, so that others can see it frozen. If you close it later, "
        "its value comes later.",
    ),
]
WaitDays = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        show_default=False,
        help="For drand and dice: a round whose value does not come may be drawn without it after N days, by default "
        "7. The public sees it.",
    ),
]
DrandChain = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="For drand: another chain than the League of Entropy's quicknet, in the JSON that a mirror gives at "
        "/CHAIN/info.",
    ),
]
DicePlace = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        show_default=False,
        help="For dice, where it is required: where people can watch the throw, or which lottery it is. It is "
        "published, and fixed for good.",
    ),
]
DiceSides = Annotated[
    int | None,
    typer.Option(
        metavar="N", show_default=False, help="For dice: the sides of the die, by default 6. It decides how often "
        "the die is thrown."
    ),
]  # fmt: skip
Lottery = Annotated[
    str | None,
    typer.Option(
        metavar="K/N",
        show_default=False,
        help="For dice: instead of a die, K different numbers from 1 to N, as a lottery draws them, such as 6/49.",
    ),
]

_MINUTES, _DAYS, _CHAIN, _PLACE, _SIDES, _LOTTERY = (
    "--value-minutes",
    "--wait-days",
    "--drand-chain",
    "--dice-place",
    "--dice-sides",
    "--lottery",
)
_FITS = {
    "drand": {_MINUTES, _DAYS, _CHAIN},
    "dice": {_MINUTES, _DAYS, _PLACE, _SIDES, _LOTTERY},
    "none": set[str](),
}


def chosen_source(
    randomness: str,
    *,
    minutes: int | None,
    days: int | None,
    chain: Path | None,
    place: str | None,
    sides: int | None,
    lottery: str | None,
) -> Source | None:
    """The source that these options name; refuses those that do not fit it."""
    if randomness not in _FITS:
        raise DeniableError(f"--randomness must be drand, dice or none, got {randomness}")
    options = {_MINUTES: minutes, _DAYS: days, _CHAIN: chain, _PLACE: place, _SIDES: sides, _LOTTERY: lottery}
    for option, value in options.items():
        if value is not None and option not in _FITS[randomness]:
            fits = " or ".join(name for name in _FITS if option in _FITS[name])
            raise DeniableError(f"{option} is for --randomness {fits}, got --randomness {randomness}")
    times = {"minutes": 60 if minutes is None else minutes, "days": 7 if days is None else days}
    if randomness == "drand":
        source = Drand(QUICKNET if chain is None else read_chain(chain), **times)
        check_chain(source.chain)
        return source
    if randomness == "none":
        return None
    if place is None:
        raise DeniableError(f"say where people can watch the throw, or which lottery it is, with {_PLACE}")
    return Dice(place, _throws(sides, lottery), **times)


def check_started(source: Source | None, calendar: Calendar) -> None:
    """Refuse a calendar that begins before the drand chain did."""
    if source is not None:
        source.value_at(calendar.due(1), calendar.due(1))


def _throws(sides: int | None, lottery: str | None) -> Throws:
    if lottery is None:
        return Throws() if sides is None else Throws(of=sides)
    if sides is not None:
        raise DeniableError(f"give either {_SIDES} or {_LOTTERY}, got both")
    numbers = re.fullmatch("([0-9]{1,4})/([0-9]{1,4})", lottery)
    if numbers is None:
        raise DeniableError(f"{_LOTTERY} must be written like 6/49, which is 6 numbers of 49, got {lottery[:20]!a}")
    return Throws(int(numbers[1]), int(numbers[2]))


def source_in_words(source: Source | None) -> str:
    """What the source means for the draws, and what is left open without one."""
    if isinstance(source, Drand):
        beacon = "drand" if source.is_known else f"the chain {source.chain.hash}, which is not drand's own,"
        return (
            f"A round is frozen when it is due, and drawn with the beacon that {beacon} publishes "
            f"{source.minutes:,} minutes later: close it in the first half of that time, or let deniable programme run "
            "do both."
        )
    if isinstance(source, Dice):
        return (
            f"A round is frozen when it is due, and drawn with numbers that people throw in public {source.minutes:,} "
            f"minutes later ({source.place}): {source.throws.in_words(plain())}."
        )
    return (
        "The draws have no public value: the office could try random numbers until it likes what they would draw, and "
        "no reader could tell (--randomness drand or dice prevents it)."
    )
