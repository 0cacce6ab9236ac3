"""The public folder: the transcript, the rules, a page to read and a calendar in each language, and how to check them.

Its files are a function of the programme's parameters, its entries and the signed head; the database is not read
here, nor the clock. A static web server can serve it as it is.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from deniable.errors import DeniableError, PlaceError, why
from deniable.programme.parameters import Parameters
from deniable.programme.public.calendar_file import calendar_file
from deniable.programme.public.folder import (
    CALENDAR,
    CHECKPOINT,
    INSTRUCTIONS,
    PAGE,
    PROGRAMME,
    PUBLIC_KEY,
    TRANSCRIPT,
    in_languages,
    public_folder,
    read_public,
    touch,
)
from deniable.programme.public.page import render, verify_text
from deniable.programme.transcript.chain import check_head, check_lines, from_file, parse_head, to_file
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse, parsed, replay
from deniable.programme.transcript.signatures import pem
from deniable.programme.transcript.state import PublicState
from deniable.programme.witness.notes import signed_checkpoint
from deniable.storage.files import replace_file, sync_folder


def publish(
    parameters: Parameters, lines: Sequence[str], head_line: str, folder: Path, state: PublicState | None = None
) -> None:
    """Write the public folder, or bring it up to date. `state` is that after these lines, if the caller has it.

    Each file that has another content is replaced as a whole, the transcript first: interrupted at any point, the
    folder never claims more than the transcript holds, and publishing again completes it. A folder that belongs to
    another programme, or has entries other than these, is left as it is, and so are the countersignatures of witnesses.
    The caller sees to it that there is one publication at a time.
    """
    files = contents(parameters, lines, head_line, state)
    modified = _modified(parameters, lines)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_folder(parameters, lines, folder, files)
        for name, content in files.items():
            if not touch(folder / name, content, modified):
                replace_file(folder / name, content, modified=modified)
        sync_folder(folder)
    except OSError as error:
        raise PlaceError("cannot publish into {folder}: {why}", folder=public_folder(folder), why=why(error)) from error


def contents(
    parameters: Parameters, lines: Sequence[str], head_line: str, state: PublicState | None = None
) -> Mapping[str, bytes]:
    """The files of the public folder by name, in the order in which they are written."""
    entries = _checked(parameters, lines, head_line)
    state = replay(parameters, entries) if state is None else state
    return {
        TRANSCRIPT: to_file(lines, head_line),
        CHECKPOINT: signed_checkpoint(parameters, parse_head(head_line)).to_bytes(),
        PROGRAMME: parameters.to_bytes(),
        PUBLIC_KEY: pem(parameters.verification_key).encode("ascii"),
        INSTRUCTIONS: verify_text(parameters).encode("utf-8"),
        **{
            name: calendar_file(state, parameters.voice(code))
            for name, code in in_languages(CALENDAR, parameters).items()
        },
        **{
            name: render(parameters, entries, state, parameters.voice(code)).encode("utf-8")
            for name, code in in_languages(PAGE, parameters).items()
        },
    }


def _checked(parameters: Parameters, lines: Sequence[str], head_line: str) -> list[Entry]:
    """The entries, where the head is theirs; that they fit one another the page finds out."""
    check_lines(parameters.verification_key, parameters.digest, lines, head_line)
    return parsed(lines)


def _modified(parameters: Parameters, lines: Sequence[str]) -> float:
    """When the last closed round was due, in seconds since 1970, and a second more for every entry since then.

    Files do not tell when they were written, and still a cache sees that they changed.
    """
    calendar = parameters.calendar
    closed = next((entry for entry in map(parse, reversed(lines)) if entry.closes_round), None)
    if closed is None:
        return calendar.opens(1).timestamp() + len(lines)
    return calendar.due(closed.round).timestamp() + len(lines) - closed.number


def _check_folder(parameters: Parameters, lines: Sequence[str], folder: Path, names: Mapping[str, bytes]) -> None:
    rules, transcript = _content(folder / PROGRAMME), _content(folder / TRANSCRIPT)
    if rules is not None and rules != parameters.to_bytes():
        raise PlaceError(
            "{folder} belongs to another programme; publish into a folder of its own", folder=public_folder(folder)
        )
    if transcript is not None:
        _check_published(parameters, lines, folder, transcript)
    elif rules is None:
        # The transcript is written first, so whatever else is there is not ours.
        foreign = [name for name in names if os.path.lexists(folder / name)]
        if foreign:
            raise PlaceError(
                "{folder} has a file {foreign} that no programme published; publish into a folder of its own",
                folder=public_folder(folder),
                foreign=foreign[0],
            )


def _check_published(parameters: Parameters, lines: Sequence[str], folder: Path, transcript: bytes) -> None:
    try:
        published, head_line = from_file(transcript)
        check_head(parameters.verification_key, parameters.digest, parse_head(head_line))
    except DeniableError as error:
        raise PlaceError(
            "the transcript in {folder} is not one that this programme published: {error}",
            folder=public_folder(folder),
            error=error,
        ) from None
    for number, (there, here) in enumerate(zip(published, lines, strict=False), start=1):
        if there != here:
            raise PlaceError(
                "entry {number} in {folder} differs from the database's; keep the folder as evidence, find "
                "out which of the two was changed, and publish into another folder",
                number=number,
                folder=public_folder(folder),
            )
    if len(published) > len(lines):
        raise PlaceError(
            "{folder} has entries the database does not know: {published} against {lines}; the database "
            "is older than what was published and must be recovered first",
            folder=public_folder(folder),
            published=len(published),
            lines=len(lines),
        )


def _content(path: Path) -> bytes | None:
    try:
        return read_public(path)
    except FileNotFoundError:
        return None
