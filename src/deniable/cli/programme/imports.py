"""`deniable programme import`: reports that a hotline exports. Nothing here prints a count unasked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer
from deniable.errors import DeniableError
from deniable.programme.imports import EXPORTS, Batch, ClassField, SetAside, read, read_mapping
from deniable.programme.imports import Mapping as ChannelMapping
from deniable.programme.imports.classes import chosen_field, visit_classes
from deniable.programme.imports.hotline_settings import Kept, from_mapping
from deniable.programme.programme import Programme
from deniable.programme.status import PAUSED
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)

_HOW_TO_RESUME = (
    "To end this, the office imports the newest export of every hotline, and then runs deniable programme "
    "resume-imports --reason TEXT."
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
            "data), or csv (the columns id,channel, and the class column if there is one).",
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
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="CSV file with the columns channel,target: which channel of the hotline is about which target. An "
            "empty target leaves the channel out; a channel that is not in the file is set aside. Where the programme "
            "has several classes of reports, a third column, class, can say of which class all reports on the channel "
            "are. By default the channels that the programme keeps for this hotline, as the console shows them.",
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help="Keep the channels and classes of these files in the programme, in place of those it kept for this "
            "hotline, so that later imports need no files.",
        ),
    ] = False,
    class_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column of the export from which a report's class follows, instead of the mapping's column class. "
            "For globaleaks its score, if no other is named; hushline has none.",
        ),
    ] = None,
    class_mapping: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file with the columns value,class: which value of that column stands for which class. An empty "
            "class leaves the reports with this value out; a value that is not in the file is set aside. Without it "
            "the values are the classes' own names.",
        ),
    ] = None,
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

    Whether a report counts depends on that report alone. If one cannot be read, or is on a channel or of a class
    that the mappings do not name, it is set aside, the command says so, and all others count. Set right what it names,
    and import the same export again.

    A report keeps the class that it had when it first counted, whatever later exports say.

    After deniable programme recover, imports are paused: nothing that is imported counts, until deniable programme
    resume-imports.

    Import on a fixed schedule, not when something interesting has come in.

    \b
    Example
      deniable programme import export.csv --from csv --source hotline --mapping mapping.csv --keep
      deniable programme import export.csv --from csv --source hotline

    \b
    Example: GlobaLeaks's score says how serious a report is
      deniable programme import rtips.json --from globaleaks --source globaleaks \\
          --mapping mapping.csv --class-mapping scores.csv
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if kind not in EXPORTS:
        raise DeniableError(f"--from must be one of {', '.join(EXPORTS)}, got {kind}")
    with options.unlocked(database, key, passphrase) as programme:
        known, status, classes = programme.hotlines.names(), programme.status(), programme.parameters.classes
        channels, field = programme.hotlines.mappings(programme.hotlines.kept(source))
        if mapping is not None:
            channels = read_mapping(mapping, status.targets, classes, programme.naming())
        if mapping is not None or class_column is not None or class_mapping is not None:
            usual = EXPORTS[kind].class_column
            field = chosen_field(classes, channels, class_column, class_mapping, usual_column=usual)
        batch = read(kind, file, channels, field)
        if keep and not dry_run:
            _keep(programme, source, channels, field)
        if status.is_paused and not as_json:
            answer(False, {}, str(PAUSED))
        new = programme.import_reports(source, batch, dry_run=dry_run, count=not do_not_count)
    counted = not do_not_count and not status.is_paused
    counts = _counts(batch, new) if show_counts else {}
    by_class = batch.by_class() if show_counts else {}
    visits = visit_classes(classes, channels, field)
    document = {
        "dry_run": dry_run,
        "new_source": source not in known,
        "paused": status.is_paused,
        "set_aside": _set_aside(batch.set_aside),
        "leads_to_visit": visits,
        **counts,
        **({"reports_by_class": by_class} if by_class else {}),
    }
    answer(
        as_json,
        document,
        *_new_source(source, known),
        _done(dry_run, counted),
        *([_HOW_TO_RESUME] if status.is_paused else []),
        *batch.set_aside.in_words(counts=counted),
        *(
            f"Every report of class {name} leads to a visit; deniable programme visits names the targets."
            for name in (visits if counted else ())
        ),
        *_confidential(counts, by_class, counted, batch.set_aside.unreadable),
    )


def _keep(programme: Programme, source: str, channels: ChannelMapping, field: ClassField | None) -> None:
    numbers = programme.numbers()
    made = Kept() if field is None else Kept(class_column=field.column, values=field.class_of)
    programme.hotlines.keep(source, lambda _: from_mapping(channels, numbers, made))


def _done(dry_run: bool, counted: bool) -> str:
    if dry_run:
        return "The file can be imported; nothing was changed."
    return "Imported." if counted else "The reports are noted. None of them counts, now or later."


def _set_aside(aside: SetAside) -> dict[str, Any]:
    return {
        "channels": aside.channels,
        "more_channels": aside.more_channels,
        "values": aside.values,
        "more_values": aside.more_values,
        "malformed": [{"place": str(place), "why": str(why)} for place, why in aside.malformed],
        "more_malformed": aside.more_malformed,
    }


def _counts(batch: Batch, new: int) -> dict[str, int]:
    return {
        "new_reports": new,
        "other_reports": batch.with_target - new,
        "set_aside_reports": batch.set_aside.reports,
        "left_out_reports": batch.left_out,
    }


def _confidential(counts: Mapping[str, int], by_class: Mapping[str, int], counted: bool, unreadable: int) -> list[str]:
    if not counts:
        return []
    of_classes = ", ".join(f"{number:,} of class {name}" for name, number in by_class.items())
    if not counted:
        known = sum(counts.values()) - unreadable
        return [f"Confidential: {count(known, 'report')} that do not count, {unreadable:,} that cannot be read."]
    return [
        f"Confidential: {count(counts['new_reports'], 'new report')}, {counts['other_reports']:,} known already, "
        f"{counts['set_aside_reports']:,} set aside, {counts['left_out_reports']:,} left out on purpose."
        + (f" New or known: {of_classes}." if by_class else "")
    ]


def _new_source(source: str, known: Sequence[str]) -> list[str]:
    """A name that was mistyped would count everything again."""
    if source in known:
        return []
    return [f"{source} is a new source; known: {', '.join(known) or 'none yet'}."]
