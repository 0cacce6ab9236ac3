"""`deniable witness`: a union, a newspaper or an oversight body countersigns what an office publishes."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.options import AsJson, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer
from deniable.programme.public.countersign import Countersigning
from deniable.programme.public.countersign import countersign as countersigned
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def witness(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", show_default=False, help="The public folder, or a copy of it.")
    ],
    *,
    key: Annotated[Path, shared("--key", "of the witness, outside the public folder.", show_default=False)],
    name: Annotated[
        str | None,
        shared(
            "--name",
            "of the witness, such as union.example. Give it the first time, when the key file is made.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        shared(
            "--out",
            "a file for the countersignature, which you send to the office if you cannot write into its folder. By "
            "default it goes into the folder, below cosignatures.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Countersign a programme's public record, as a witness.

    The folder is verified as with deniable programme verify. Then it is compared with what this witness countersigned
    last: every entry must still be there, unchanged. If so, the number of entries, the root of their hash tree and the
    time are signed. So readers who trust the witness know that these entries existed by then, and that the witness was
    shown the same history as they are. Exit code 0: countersigned, now or before. 2: something does not fit, nothing
    was signed, and one line says what to keep as evidence.

    Run it often, such as every ten minutes. Beside the key file it keeps FILE.seen, the transcript that it saw last:
    without it a witness cannot tell whether anything was changed.

    \b
    Examples
      deniable witness public --key union.key --name union.example
      deniable witness public --key union.key
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    done = countersigned(folder, key, name=name, out=out, clock=options.now)
    answer(as_json, _document(done), *_lines(done))


def _document(done: Countersigning) -> dict[str, object]:
    seen = done.countersigned.seen
    return {
        "name": done.verified.name,
        "programme": done.verified.programme,
        "entries": len(seen.lines),
        "time": seen.time.isoformat(),
        "is_new": done.countersigned.is_new,
        "is_first": done.countersigned.is_first,
        "file": str(done.file),
        "key": str(done.key),
        "warnings": list(done.verified.warnings),
    }


def _lines(done: Countersigning) -> list[str]:
    seen = done.countersigned.seen
    entries = count(len(seen.lines), "entry", "entries")
    deed = "Countersigned" if done.countersigned.is_new else "Already countersigned"
    first = (
        "This witness sees the programme for the first time: compare its public key with one that you have from "
        f"elsewhere. It is {done.verified.public_key}."
    )
    return [
        f"{done.verified.name}: {entries}, checked and in order. {deed} at {seen.time:%Y-%m-%d %H:%M:%S} UTC, in",
        f"  {done.file}",
        *([first] if done.countersigned.is_first else []),
        *(f"\nWARNING: {warning}." for warning in done.verified.warnings),
        f"\nPublic key of {done.key.name}: hand it out, for deniable programme verify --witness.",
        f"  {done.key}",
    ]
