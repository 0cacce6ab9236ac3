"""`deniable programme verify`: check what was published. No database, no key, no network."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.options import AsJson, Witnesses
from deniable.cli.programme.output import answer, please_note, spans
from deniable.errors import DeniableError
from deniable.programme.public.cosignatures import Witnessed, read_key
from deniable.programme.public.folder import PAGE, in_languages
from deniable.programme.public.verify import VerificationResult
from deniable.programme.public.verify import verify as verified
from deniable.programme.randomness.source import Drand
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", show_default=False, help="The public folder.")],
    *,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="EARLIER",
            show_default=False,
            help="An earlier copy of the folder or of its transcript.jsonl, or an earlier fingerprint: what was "
            "public then must still be there, unchanged.",
        ),
    ] = None,
    witness: Witnesses = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help="So many of these witnesses must have countersigned every entry up to the last closed round and, "
            "since so many of them began, every frozen round before its public value was out. When they began, the "
            "files in the folder show, and the office can take the first ones out: a warning names the rounds before.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a public folder, as anyone can.

    The transcript must be complete, unaltered, signed by the office, and by the programme's own public rules. Exit code
    0: everything fits. 2: something does not, and one line says what. Warnings (a round that is overdue, a page that
    was changed) do not change the exit code. It runs offline and needs no key.

    One copy alone cannot tell whether the office shows different people different transcripts, or whether rounds were
    closed, or frozen, when it says so: name witnesses whom you trust with --witness, or keep a copy soon after each due
    date, before the public value is out, and use --against. Nor can it tell whether the office counted the reports it
    received or, where the programme draws without public values, how it chose its random numbers.

    \b
    Examples
      deniable programme verify public
      deniable programme verify public --against copy-of-last-month
      deniable programme verify public --witness union.txt --witness paper.txt --at-least 2
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if folder.is_file():
        raise DeniableError(f"{folder} is a file: give the folder that holds it")
    report = verified(folder, against, witnesses=[read_key(text) for text in witness or ()], at_least=at_least)
    answer(as_json, report.to_dict() | {"against": against}, *_lines(report, against))


def _lines(report: VerificationResult, against: str | None) -> list[str]:
    return [
        f"{report.name}: {count(report.rounds, 'round')} closed, {count(report.entries, 'entry', 'entries')}. Checked, "
        "and in order:",
        "  programme.json and the guarantee in it follow from its parameters",
        "  every entry follows on the one before, and the office signed the last",
        "  every audit was one that the public rules allowed",
        *_names(report),
        *_values(report),
        *([] if against is None else ["  everything in the earlier transcript is still there, unchanged"]),
        *_pages(report),
        report.values.in_words,
        *_witnesses(report),
        *([f"Not in the folder: {', '.join(report.missing)}."] if report.missing else []),
        *please_note(report),
        f"\n{report.coverage.in_words(report.parameters.voice())}{' The programme has ended.' if report.ended else ''}",
        "\nPublic key: compare it with one that you have from elsewhere.",
        f"  {report.public_key}",
        "Fingerprint: note it, with the date, for --against.",
        f"  {report.head}",
    ]


_OWN_WORDS = (
    "has the facts of the transcript in sentences of the office's own, which deniable cannot check: let a person who "
    "knows the language compare them with another page, or with what is said here"
)


def _pages(report: VerificationResult) -> list[str]:
    codes = in_languages(PAGE, report.parameters)
    said = [
        f"{name} {_OWN_WORDS if codes[name] in report.parameters.translations else 'says what the transcript says'}."
        for name, found in report.pages.items()
        if found == "matches"
    ]
    unchecked = [name for name, found in report.pages.items() if found == "unchecked"]
    libraries = "jinja2" if report.parameters.languages == ("en",) else "jinja2 babel"
    return [*said, *(f"{name} was not compared: pip install {libraries}." for name in unchecked)]


def _values(report: VerificationResult) -> list[str]:
    """On programmes that draw with public values."""
    source = report.parameters.randomness
    if source is None:
        return []
    if isinstance(source, Drand):
        return ["  drand signed every beacon, and each is the one that was named when its round was frozen"]
    return ["  the numbers of every draw are as many as the rules say"]


def _witnesses(report: VerificationResult) -> list[str]:
    if not report.witnessed:
        return []
    return [
        "\nWitnesses who were shown this same history, and by when:",
        *(f"  {one.name}: {_countersigned(one, report.entries)}" for one in report.witnessed),
        *_frozen_in_time(report),
    ]


def _frozen_in_time(report: VerificationResult) -> list[str]:
    """On programmes with public values, where enough witnesses saw each round before its own was out."""
    if not report.values.fixed or report.frozen_unseen:
        return []
    enough = report.at_least or 1
    who = "They saw every round" if enough == len(report.witnessed) else f"At least {enough} of them saw each round"
    return [f"{who} frozen before its public value was out."]


def _countersigned(one: Witnessed, entries: int) -> str:
    if one.last is None:
        return "no countersignature"
    seen = "all entries" if one.last.size == entries else f"{one.last.size:,} of {entries:,} entries"
    return f"{seen} by {one.last.time:%Y-%m-%d %H:%M} UTC"


def _names(report: VerificationResult) -> list[str]:
    """On programmes whose names follow later."""
    after = report.parameters.reveal_after
    if not after:
        return []
    kept = "all names that are due are there, and are those committed to when they were drawn"
    if not report.hidden:
        return [f"  {kept}"]
    return [f"  {kept}; those of {count(len(report.hidden), 'round')} ({spans(report.hidden)}) follow "
            f"{count(after, 'round')} later"]  # fmt: skip
