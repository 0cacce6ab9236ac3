"""`deniable programme report`, `withdraw` and `import`: reports come in. Nothing here prints a count unasked."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli import programme_options as options
from deniable.cli.options import AsJson, Command
from deniable.cli.programme_words import answer, count
from deniable.errors import DeniableError
from deniable.programme.importers import read, read_mapping

commands = typer.Typer(rich_markup_mode=None)

KINDS = {"globaleaks": "globaleaks", "hushline": "hushline", "csv": "plain"}

Target = Annotated[
    str | None, typer.Argument(metavar="TARGET", show_default=False, help="The name of the target they are about.")
]
Number = Annotated[str | None, typer.Argument(metavar="N", show_default=False, help="How many; 1 by default.")]
File = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="CSV file with the columns target,reports instead, or - for standard input. What is typed as an argument "
        "stays in the shell's history; this does not.",
    ),
]


@commands.command(cls=Command)
def report(
    target: Target = None,
    number: Number = None,
    *,
    file: File = None,
    database: options.Database = options.DEFAULT,
    key: options.KeyPath = None,
    passphrase: options.AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Count reports about a target, or those of a file.

    They belong to the open round. Only their number is kept, encrypted, until the target is audited. When the command
    returns, the reports are on the disk, all of them; if it fails, none is counted. The public sees nothing of it.

    \b
    Examples
      deniable programme report "Ash Mill"
      deniable programme report --file today.csv
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    reports = _reports(target, number, file)
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        programme.report(reports)
    answer(as_json, {"counted": True}, "Counted.")


@commands.command(cls=Command)
def withdraw(
    target: Target = None,
    number: Number = None,
    *,
    file: File = None,
    database: options.Database = options.DEFAULT,
    key: options.KeyPath = None,
    passphrase: options.AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Take back reports that were entered by mistake.

    Only those of the open round: reports of closed rounds stand, since a draw has used them. The public sees nothing of
    it, and the guarantee covers it like a report that was never filed.
    """
    reports = _reports(target, number, file)
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        programme.withdraw(reports)
    answer(as_json, {"withdrawn": True}, "Withdrawn.")


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
            "data), or csv (the columns id,channel or id,sequence,channel).",
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="What you call this hotline, the same name at every import. Each account or site needs a name of its "
            "own, since an export must hold everything that came in under its name until then, and not a part of it.",
        ),
    ],
    mapping: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="CSV file with the columns channel,target: which channel of the hotline is about which target. An "
            "empty target leaves the channel out.",
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything and change nothing.")] = False,
    mark_only: Annotated[
        bool,
        typer.Option(
            "--mark-only",
            help="Count none of these reports, now or later: they were dealt with before, or counted elsewhere.",
        ),
    ] = False,
    show_counts: Annotated[
        bool, typer.Option("--show-counts", help="Print how many reports were new. Confidential.")
    ] = False,
    database: options.Database = options.DEFAULT,
    key: options.KeyPath = None,
    passphrase: options.AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Count what is new in the export of a hotline.

    Until its target is audited a report is known by a keyed hash of its id, and afterwards by the highest number that
    was counted, so importing the same export again, or a longer one, counts nothing twice. Nothing else of the
    export is kept. All of it is counted, or nothing where anything is amiss. The public
    sees nothing of it.

    Import on a fixed schedule, not when something interesting has come in.
    """
    if kind not in KINDS:
        raise DeniableError(f"--from must be globaleaks, hushline or csv, got {kind}")
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        known = programme.sources()
        batch = read(KINDS[kind], file, read_mapping(mapping, programme.status().targets))
        new = programme.import_reports(source, batch, dry_run=dry_run, mark_only=mark_only)
    done = "The file can be imported; nothing was changed." if dry_run else "Imported."
    counted = [f"Confidential: {count(new, 'new report')}."] if show_counts else []
    document = {"dry_run": dry_run, "new_source": source not in known} | ({"new_reports": new} if show_counts else {})
    answer(as_json, document, *_new_source(source, known), done, *counted)


def _new_source(source: str, known: Sequence[str]) -> list[str]:
    """A name that was mistyped would count everything again."""
    if source in known:
        return []
    return [f"{source} is a new source; known: {', '.join(known) or 'none yet'}."]


def _reports(target: str | None, number: str | None, file: Path | None) -> Counter[str]:
    if (target is None) == (file is None):
        raise DeniableError(f"give either a TARGET or --file FILE, got {'neither' if file is None else 'both'}")
    if file is None:
        assert target is not None
        return Counter({target: _whole("1" if number is None else number, "the number of reports")})
    try:
        with nullcontext(sys.stdin) if str(file) == "-" else file.open(encoding="utf-8-sig", newline="") as lines:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines, strict=True) if row]
    except (UnicodeDecodeError, csv.Error):
        raise DeniableError(f"{file} must be a CSV file in UTF-8") from None
    except OSError as error:
        raise DeniableError(f"cannot read {file}: {error.strerror}") from None
    if not rows or rows[0] != ["target", "reports"]:
        raise DeniableError(f"{file} must have the columns target,reports, named in the first line")
    reports: Counter[str] = Counter()
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != 2:
            raise DeniableError(f"{file}, line {line}: expected a target and its number of reports")
        reports[row[0]] += _whole(row[1], f"{file}, line {line}: the number of reports")
    return reports


def _whole(digits: str, what: str) -> int:
    """It is not shown where it is wrong: it may be a count all the same."""
    if not re.fullmatch("[0-9]{1,18}", digits) or not int(digits):
        raise DeniableError(f"{what} must be a whole number from 1, in digits")
    return int(digits)
