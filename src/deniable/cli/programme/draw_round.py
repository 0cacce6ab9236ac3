"""`deniable programme draw-round`: the second step of a programme that draws with public values."""

import sys
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import local
from deniable.cli.programme.rounds import tell
from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.calendar import Calendar
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.mirrors import fetch, read_beacon
from deniable.programme.randomness.source import Dice, Drand, Source
from deniable.programme.status import Status
from deniable.programme.transcript.frozen import WITHOUT_VALUE, PublicValue
from deniable.programme.transcript.waiting import Waiting, read_instant, written_instant

commands = typer.Typer(rich_markup_mode=None)


@commands.command("draw-round", cls=Command)
def draw_round(
    *,
    mirror: options.Mirrors = None,
    beacon: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="The beacon from a file with the JSON that a mirror gives, for a machine without a connection.",
        ),
    ] = None,
    throws: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            show_default=False,
            help="The numbers that were thrown, in this order, between spaces or commas; - reads them from standard "
            "input, up to an empty line.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        shared(
            "--time",
            "when the numbers were thrown, YYYY-MM-DDTHH:MM. By default the announced time.",
            show_default=False,
        ),
    ] = None,
    without: Annotated[
        bool,
        typer.Option(
            "--without-value",
            help="Draw without the public value, which did not come. Refused before the round has waited for the days "
            "of the programme; needs --reason.",
        ),
    ] = False,
    reason: Annotated[str | None, shared("--reason", "For --without-value.", show_default=False)] = None,
    yes: options.Yes = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Draw the frozen round with its public value.

    Everything else that goes into the draw was fixed when close-round froze the round, so there is nothing to choose:
    the same value draws the same audits. In a programme that draws with drand, the beacon is fetched from a mirror and
    checked, so no mirror can change it. In one that draws with dice, the command shows the numbers as it read them,
    and asks. A round is never drawn twice.

    The public sees the audits and the value; of numbers that were thrown, also the time. The promise
    covers it. A round drawn without its value is covered too, but the office could foresee it, and the public sees
    that, and the reason.

    \b
    Examples
      deniable programme draw-round
      deniable programme draw-round --throws "4 1 6 2 …"
      deniable programme draw-round --without-value --reason "The network did not answer for a week."
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    asked = {
        "--beacon": beacon,
        "--mirror": mirror,
        "--throws": throws,
        "--time": time,
        "--without-value": without or None,
        "--reason": reason,
    }
    with options.unlocked(database, key, passphrase) as programme:
        status = programme.status()
        waiting, source = _waiting(status)
        _check_fit({name for name, value in asked.items() if value is not None}, waiting)
        if without:
            value = WITHOUT_VALUE
        elif isinstance(source, Drand):
            value = _beacon(source, waiting, status, beacon, mirror)
        else:
            value = _thrown(source.throws, status.parameters.calendar, waiting, throws, time)
            if not yes:
                _confirm(source, value, local(status.parameters.calendar, read_instant(value.time or "")))
        tell(programme, programme.draw_round(value, reason), as_json, value=value.text)


def _waiting(status: Status) -> tuple[Waiting, Source]:
    source = status.parameters.randomness
    if source is None:
        raise DeniableError(
            "this programme draws without public values and freezes no round; draw with deniable programme close-round"
        )
    if status.ended:
        raise DeniableError("the programme has ended, and no round of it is drawn any more")
    if status.waiting is None:
        last = status.open_round - 1
        shown = f"; deniable programme close-round --round {last} shows the last one" if last else ""
        raise DeniableError(f"no round is frozen and waits for a public value{shown}")
    return status.waiting, source


def _check_fit(given: Set[str], waiting: Waiting) -> None:
    """Refuse options that speak of another value than the one for which the round waits."""
    fits = {"--beacon", "--mirror"} if waiting.beacon is not None else {"--throws", "--time"}
    if "--without-value" in given:
        others = sorted(given - {"--without-value", "--reason"})
        if others:
            raise DeniableError(f"{others[0]} does not go with --without-value, which draws without the public value")
        return
    if "--reason" in given:
        raise DeniableError("--reason is for --without-value; a draw with its public value needs none")
    if others := sorted(given - fits):
        raise DeniableError(f"{others[0]} does not fit: round {waiting.round} waits for {waiting.awaited}")
    if given == {"--beacon", "--mirror"}:
        raise DeniableError("give either --beacon or --mirror, got both")


def _beacon(
    source: Drand, waiting: Waiting, status: Status, file: Path | None, mirrors: Sequence[str] | None
) -> PublicValue:
    assert waiting.beacon is not None
    if file is None:
        chosen = options.chosen_mirrors(mirrors)
        if options.now() < waiting.expected:
            when = local(status.parameters.calendar, waiting.expected)
            raise DeniableError(f"{waiting.awaited} is not out before {when}; run the command again then")
        return PublicValue(fetch(source.chain, waiting.beacon, chosen).signature)
    found = read_beacon(file)
    if found.round != waiting.beacon:
        raise DeniableError(
            f"{file} has drand's beacon {found.round}, and round {waiting.round} waits for {waiting.awaited}"
        )
    return PublicValue(found.signature)


def _thrown(throws: Throws, calendar: Calendar, waiting: Waiting, text: str | None, time: str | None) -> PublicValue:
    if text is None:
        how = throws.in_words(plain())
        raise DeniableError(f"give the numbers that were thrown with --throws ({how})")
    read = throws.read(_from_stdin() if text == "-" else text)
    return PublicValue(read, waiting.value_at if time is None else written_instant(calendar.instant(time)))


def _from_stdin() -> str:
    """Up to an empty line, so that a person can then answer."""
    return " ".join(iter(lambda: sys.stdin.readline().strip(), ""))


def _confirm(source: Dice, value: PublicValue, when: str) -> None:
    prompt = "\n".join(
        [
            f"The numbers as they were read ({source.throws.in_words(plain())}), thrown at {when}, {source.place}:",
            *(f"  {line}" for line in source.throws.grouped(value.text or "")),
            "Let another person compare them. To draw with them, type yes: ",
        ]
    )
    if options.typed(prompt) != "yes":
        raise DeniableError("the numbers were not confirmed; nothing was changed")
