"""`deniable programme report` and `withdraw`: reports that are entered by hand. Nothing here prints a count."""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer
from deniable.errors import MAX_REPORTS, DeniableError
from deniable.message import Message, noted
from deniable.programme.imports import Malformed
from deniable.programme.imports.reading import Table, line_of, opened, pieces
from deniable.report_classes import ReportClass, named

commands = typer.Typer(rich_markup_mode=None)


Target = Annotated[
    str | None, typer.Argument(metavar="TARGET", show_default=False, help="The name of the target they are about.")
]
Number = Annotated[str | None, typer.Argument(metavar="N", show_default=False, help="How many; 1 by default.")]
File = Annotated[Path | None, shared("--file", show_default=False)]


@commands.command(cls=Command)
def report(
    target: Target = None,
    number: Number = None,
    *,
    file: File = None,
    report_class: Annotated[
        str | None,
        shared("--class", "the one of these reports, if the programme has several. A file can have a column class."),
    ] = None,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Count reports about a target, or those of a file.

    They belong to the open round. Only their number is kept, encrypted, until the target is audited. When the command
    returns, the reports are on the disk. A line of a file that cannot be read, or that names no target of the
    programme, is set aside and named; all others count. The public sees nothing of it.

    If the console or deniable programme run is running on this computer, it takes the reports at the next second, so
    that the disk does not show when they came. Otherwise they are written at once.

    It prints a receipt. Keep it until the round is closed: you need it to withdraw these reports.

    A report of a class that leads to a visit counts in no draw: it waits until the office records the visit with
    deniable programme visit.

    \b
    Examples
      deniable programme report "Ash Mill"
      deniable programme report "Ash Mill" --class serious
      deniable programme report --file today.csv
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    _check_one([] if target is None else [target], file)
    lines = None if file is None else _lines(file)
    typed = 1 if number is None else _whole(number)
    if typed is None:
        raise DeniableError(
            'the number of reports must be {whole}; a name of several words needs quotes, such as "Ash Mill"',
            whole=_WHOLE,
        )
    with options.unlocked(database, key, passphrase) as programme:
        classes = programme.parameters.classes
        if lines is None:
            name_of = programme.naming()
            by_class = {named(classes, report_class).name: Counter({name_of(target or ""): typed})}
            aside = list[Malformed]()
        else:
            by_class, aside = _sorted_out(lines, programme.targets(), classes, report_class, programme.naming())
        receipt = None
        for name, reports in by_class.items():
            receipt = programme.report(reports, receipt, report_class=name)
    visits = [one.name for one in classes if one.leads_to_visit and one.name in by_class]
    answer(
        as_json,
        {
            "counted": receipt is not None,
            "receipt": receipt,
            "set_aside": [{"place": str(place), "why": str(why)} for place, why in aside],
            "leads_to_visit": visits,
        },
        *_aside_in_words(aside),
        *(
            f"A report of class {name} leads to a visit at once: deniable programme visit TARGET --class {name}"
            for name in visits
        ),
        *(
            ["Nothing was counted: " + ("all lines were set aside." if aside else "the file has no lines to count.")]
            if receipt is None
            else [  # the receipt last, where scripts look for it
                "Counted. The receipt, with which these reports can be withdrawn while the round is open:",
                f"  {receipt}",
            ]
        ),
    )


@commands.command(cls=Command)
def withdraw(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET", show_default=False, help="The names of the targets they are about."),
    ] = None,
    *,
    receipt: Annotated[
        str, typer.Option(metavar="CODE", show_default=False, help="What was printed when these reports were entered.")
    ],
    file: File = None,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Take back reports that were entered by mistake.

    Give the receipt that was printed when they were entered, and name their target, or the same file: all that was
    entered with this receipt about these targets is taken back. Only reports of the open round can be withdrawn, and
    only while their target was not audited since: a draw has used the others. The public sees nothing of it, and the
    promise covers it like a report that was never filed.

    \b
    Example
      deniable programme withdraw "Ash Mill" --receipt ABCD-EFGH-2345-WXYZ
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    _check_one(targets or [], file)
    names = targets if file is None else [cells[0] for _, cells in _lines(file) if not isinstance(cells, Message)]
    with options.unlocked(database, key, passphrase) as programme:
        named = programme.naming()
        left = programme.withdraw([named(name) for name in names or () if name.isprintable()], receipt)
    not_withdrawn = (
        f"Not withdrawn: {', '.join(left)}. Reports about these targets were not entered with this receipt, or the "
        "targets were audited since, or the reports were withdrawn before."
    )
    answer(
        as_json,
        {"withdrawn": True, "not_withdrawn": left},
        *([not_withdrawn] if left else []),
        "Withdrawn, but for these." if left else "Withdrawn.",
    )


def _aside_in_words(aside: Sequence[Malformed]) -> list[str]:
    if not aside:
        return []
    rows = ", ".join(f"{place} ({why})" for place, why in aside)
    return [f"Set aside: {rows}. These lines do not count. Put them right, and enter them alone."]


def _check_one(targets: Sequence[str], file: Path | None) -> None:
    if bool(targets) == (file is not None):
        raise DeniableError(
            "give either a TARGET or --file FILE, got {value}", value="neither" if file is None else "both"
        )


def _lines(file: Path) -> list[tuple[int, list[str] | Message]]:
    """The number and the cells of every line below the header, or why it cannot be read; each line by itself."""
    what = noted("standard input") if str(file) == "-" else noted("{file}", file=file)
    with opened(sys.stdin.buffer if str(file) == "-" else file, what) as binary:
        table = Table(pieces(binary.read, what), what)
        if {*table.names} - {"class"} != {"reports", "target"}:
            raise DeniableError(
                "{what} must have the columns target,reports, and class where reports have "
                "several, named in the first line",
                what=what,
            )
        return [*table.columns("target", "reports", *(["class"] if "class" in table.names else []))]


def _sorted_out(
    lines: Iterable[tuple[int, list[str] | Message]],
    targets: Sequence[str],
    classes: Sequence[ReportClass],
    report_class: str | None,
    name_of: Callable[[str], str],
) -> tuple[dict[str, Counter[str]], list[Malformed]]:
    """The reports by class and target, and the lines that are set aside. A sum stops at the limit of what can count.

    The class is that of the line, or else the one that is given, or the only one. `name_of` is for a target's number in
    the public register.
    """
    by_class, aside = defaultdict[str, Counter[str]](Counter), list[Malformed]()
    taking_part, names = set(targets), {one.name for one in classes}
    for line, cells in lines:
        if isinstance(cells, Message):
            aside.append(Malformed(line_of(line), cells))
            continue
        digits, given = cells[1], cells[2:]
        name = given[0] if given else named(classes, report_class).name
        number = _whole(digits)
        if number is None:
            aside.append(Malformed(line_of(line), noted("the number of reports must be {whole}", whole=_WHOLE)))
        elif (target := name_of(cells[0])) not in taking_part:
            aside.append(Malformed(line_of(line), noted("no target of this name takes part")))
        elif name not in names:
            why = noted("the class must be one of {classes}", classes=", ".join(sorted(names)))
            aside.append(Malformed(line_of(line), why))
        else:
            reports = by_class[name]
            reports[target] = min(reports[target] + number, MAX_REPORTS)
    return by_class, aside


_WHOLE = "a whole number from 1, in digits"


def _whole(digits: str) -> int | None:
    """None where it is none. It is not shown: it may be a count all the same."""
    number = digits.lstrip("0") if re.fullmatch("[0-9]+", digits) else ""
    return min(int(number[:18]), MAX_REPORTS) if number else None
