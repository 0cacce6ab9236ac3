"""`deniable programme report`, `withdraw` and `import`: reports come in. Nothing here prints a count unasked."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer
from deniable.errors import MAX_REPORTS, DeniableError
from deniable.programme.imports import EXPORTS, Batch, Malformed, SetAside, read, read_mapping
from deniable.programme.imports.reading import Table, opened, pieces
from deniable.programme.status import PAUSED
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)


_HOW_TO_RESUME = (
    "To end this, the office imports the newest export of every hotline, and then runs deniable programme "
    "resume-imports --reason TEXT."
)

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
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Count reports about a target, or those of a file.

    They belong to the open round. Only their number is kept, encrypted, until the target is audited. When the command
    returns, the reports are on the disk. A line of a file that cannot be read, or that is about no target that takes
    part, is set aside and named, and holds back no other. The public sees nothing of it.

    Where the console or deniable programme run is up on this computer, it takes the reports at the next second, so that
    the disk does not tell when they came. Where neither is, they are written at once.

    It prints a receipt. Keep it until the round is closed: with it, and in no other way, these reports can be
    withdrawn.

    \b
    Examples
      deniable programme report "Ash Mill"
      deniable programme report --file today.csv
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    _check_one([] if target is None else [target], file)
    lines = None if file is None else _lines(file)
    typed = 1 if number is None else _whole(number)
    if typed is None:
        raise DeniableError(f"the number of reports must be {_WHOLE}")
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        if lines is None:
            reports, aside = {target or "": typed}, list[Malformed]()
        else:
            reports, aside = _sorted_out(lines, programme.status().targets)
        receipt = programme.report(reports) if reports else None
    answer(
        as_json,
        {"counted": receipt is not None, "receipt": receipt, "set_aside": [row._asdict() for row in aside]},
        *_aside_in_words(aside),
        *(
            ["Nothing was counted: " + ("all lines were set aside." if aside else "the file has no lines to count.")]
            if receipt is None
            else [
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
    guarantee covers it like a report that was never filed.

    \b
    Example
      deniable programme withdraw "Ash Mill" --receipt ABCD-EFGH-2345-WXYZ
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    _check_one(targets or [], file)
    names = targets if file is None else [cells[0] for _, cells in _lines(file) if not isinstance(cells, str)]
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        left = programme.withdraw([name for name in names or () if name.isprintable()], receipt)
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


@commands.command("import", cls=Command)
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="The export of the hotline.")],
    *,
    kind: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="KIND",
            show_default=False,
            help="What wrote the file: globaleaks (audit log of reports, CSV or JSON), hushline (its ZIP of a user's "
            "data), or csv (the columns id,channel).",
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="What you call this hotline, the same name at every import. Each account or site needs a name of its "
            "own, since two of them may give the same id to different reports.",
        ),
    ],
    mapping: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="CSV file with the columns channel,target: which channel of the hotline is about which target. An "
            "empty target leaves the channel out; a channel that is not in the file is set aside.",
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything and change nothing.")] = False,
    do_not_count: Annotated[
        bool,
        typer.Option(
            "--do-not-count",
            help="Count none of these reports, now or later: they were dealt with before, or counted elsewhere.",
        ),
    ] = False,
    show_counts: Annotated[bool, shared("--show-counts", "how many were new, and how many not.")] = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Count what is new in the export of a hotline.

    A report is known by a keyed hash of its id for as long as the programme lasts, so importing the same export again,
    a longer one or a part of it counts nothing twice. Nothing else of the export is kept. The public sees nothing of
    it.

    Whether a report counts depends on that report alone. Where one cannot be read, or is on a channel that the mapping
    does not name, it is set aside, the command says so, and all others count. Set right what it names, and import the
    same export again.

    After deniable programme recover, imports are paused: nothing that is imported counts, until deniable programme
    resume-imports.

    Import on a fixed schedule, not when something interesting has come in.

    \b
    Example
      deniable programme import export.csv --from csv --source hotline --mapping mapping.csv
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if kind not in EXPORTS:
        raise DeniableError(f"--from must be one of {', '.join(EXPORTS)}, got {kind}")
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        known, status = programme.sources(), programme.status()
        batch = read(kind, file, read_mapping(mapping, status.targets))
        if status.is_paused and not as_json:
            answer(False, {}, PAUSED)
        new = programme.import_reports(source, batch, dry_run=dry_run, count=not do_not_count)
    counted = not do_not_count and not status.is_paused
    counts = _counts(batch, new) if show_counts else {}
    document = {
        "dry_run": dry_run,
        "new_source": source not in known,
        "paused": status.is_paused,
        "set_aside": _set_aside(batch.set_aside),
        **counts,
    }
    answer(
        as_json,
        document,
        *_new_source(source, known),
        _done(dry_run, counted),
        *([_HOW_TO_RESUME] if status.is_paused else []),
        *batch.set_aside.in_words(counts=counted),
        *_confidential(counts, counted, batch.set_aside.unreadable),
    )


def _done(dry_run: bool, counted: bool) -> str:
    if dry_run:
        return "The file can be imported; nothing was changed."
    return "Imported." if counted else "The reports are noted. None of them counts, now or later."


def _set_aside(aside: SetAside) -> dict[str, Any]:
    return {
        "channels": aside.channels,
        "more_channels": aside.more_channels,
        "malformed": [row._asdict() for row in aside.malformed],
        "more_malformed": aside.more_malformed,
    }


def _counts(batch: Batch, new: int) -> dict[str, int]:
    return {
        "new_reports": new,
        "other_reports": batch.with_target - new,
        "set_aside_reports": batch.set_aside.reports,
        "left_out_reports": batch.left_out,
    }


def _confidential(counts: Mapping[str, int], counted: bool, unreadable: int) -> list[str]:
    if not counts:
        return []
    if not counted:
        known = sum(counts.values()) - unreadable
        return [f"Confidential: {count(known, 'report')} that do not count, {unreadable:,} that cannot be read."]
    return [
        f"Confidential: {count(counts['new_reports'], 'new report')}, {counts['other_reports']:,} known already, "
        f"{counts['set_aside_reports']:,} set aside, {counts['left_out_reports']:,} left out on purpose."
    ]


def _aside_in_words(aside: Sequence[Malformed]) -> list[str]:
    if not aside:
        return []
    rows = ", ".join(f"{place} ({why})" for place, why in aside)
    return [f"Set aside: {rows}. These lines do not count. Put them right, and enter them alone."]


def _new_source(source: str, known: Sequence[str]) -> list[str]:
    """A name that was mistyped would count everything again."""
    if source in known:
        return []
    return [f"{source} is a new source; known: {', '.join(known) or 'none yet'}."]


def _check_one(targets: Sequence[str], file: Path | None) -> None:
    if bool(targets) == (file is not None):
        raise DeniableError(f"give either a TARGET or --file FILE, got {'neither' if file is None else 'both'}")


def _lines(file: Path) -> list[tuple[int, list[str] | str]]:
    """The number and the cells of every line below the header, or why it cannot be read; each line by itself."""
    what = "standard input" if str(file) == "-" else str(file)
    with opened(sys.stdin.buffer if str(file) == "-" else file, what) as binary:
        table = Table(pieces(binary.read, what), what)
        if sorted(table.names) != ["reports", "target"]:
            raise DeniableError(f"{what} must have the columns target,reports, named in the first line")
        return [*table.columns("target", "reports")]


def _sorted_out(
    lines: Iterable[tuple[int, list[str] | str]], targets: Sequence[str]
) -> tuple[Counter[str], list[Malformed]]:
    """The reports by target, and the lines that are set aside. A sum stops at the limit of what can count."""
    reports, aside = Counter[str](), list[Malformed]()
    for line, cells in lines:
        number = None if isinstance(cells, str) else _whole(cells[1])
        if isinstance(cells, str):
            aside.append(Malformed(f"line {line}", cells))
        elif number is None:
            aside.append(Malformed(f"line {line}", f"the number of reports must be {_WHOLE}"))
        elif cells[0] not in targets:
            aside.append(Malformed(f"line {line}", "no target of this name takes part"))
        else:
            reports[cells[0]] = min(reports[cells[0]] + number, MAX_REPORTS)
    return reports, aside


_WHOLE = "a whole number from 1, in digits"


def _whole(digits: str) -> int | None:
    """None where it is none. It is not shown: it may be a count all the same."""
    number = digits.lstrip("0") if re.fullmatch("[0-9]+", digits) else ""
    return min(int(number[:18]), MAX_REPORTS) if number else None
