"""`deniable programme certificate`: one draw on one sheet of paper. No database, no key, no network."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.new_files import check_new_file
from deniable.cli.options import AsJson, Witnesses, shared
from deniable.cli.programme.output import answer
from deniable.errors import DeniableError, why
from deniable.languages.language import language as language_of
from deniable.languages.voice import Voice
from deniable.message import all_of
from deniable.programme.public.certificate import certificate as certified
from deniable.programme.public.cosignatures import read_key
from deniable.programme.public.verify import verify

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def certificate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", show_default=False, help="The public folder.")],
    *,
    round_: Annotated[int, shared("--round", "one that was drawn, and whose names are public.", show_default=False)],
    out: Annotated[Path, shared("--out", "a new HTML file, to be printed.", show_default=False)],
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            show_default=False,
            help="One of the languages of the programme's public page, such as de. By default the first.",
        ),
    ] = None,
    witness: Witnesses = None,
    as_json: AsJson = False,
) -> None:
    """Write a page that shows how one round was drawn, for a court or an audited organisation.

    The folder is verified first, as with deniable programme verify. The page holds only public facts: the rules, when
    the round was due and how it was frozen, the public value and its proof, whom the draw selected, the fingerprint of
    the record, what all this shows and what it does not, and how anyone can check it. It prints on one sheet. A round
    that is not drawn yet is refused, and so is one whose names are not public yet.

    \b
    Example
      deniable programme certificate public --round 12 --out round-12.html
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    check_new_file("--out", out)
    checked = verify(folder, witnesses=[read_key(text) for text in witness or ()])
    languages = checked.parameters.languages
    if language is not None and language not in languages:
        raise DeniableError(f"--language must be one of the programme's, {all_of(languages)}, got {language}")
    # Never in a translation of the office's own: a court reads what this shows, and what it does not.
    found = certified(checked, round_, Voice(language_of(language or languages[0]), checked.parameters.terms))
    try:
        with out.open("x", encoding="utf-8", newline="") as file:
            file.write(found.page)
    except OSError as error:
        raise DeniableError(f"cannot write {out}: {why(error)}") from None
    document = {"file": str(out), "round": round_, "audits": list(found.audited), "head": found.fingerprint}
    answer(as_json, document, f"How round {round_} was drawn, checked and written for print, is in", f"  {out}")
