"""`deniable programme oversight`: the office hands over the sealed rounds, and the oversight body replays them."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.new_files import check_new_file, create
from deniable.cli.options import DEFAULT_DATABASE, AsJson, Database, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer, please_note, spans
from deniable.csv_files import not_a_formula
from deniable.errors import DeniableError, cannot_write
from deniable.programme.public.verify import VerificationResult, verify
from deniable.programme.secrets.oversight import Replayed, read_identity, read_seals, write_seals
from deniable.programme.secrets.oversight import counts as counted
from deniable.programme.secrets.oversight import replay as replayed
from deniable.programme.transcript.replay import parse
from deniable.wording import count, plural

commands = typer.Typer(rich_markup_mode=None)
oversight = typer.Typer(name="oversight", rich_markup_mode=None)
commands.add_typer(oversight)


@oversight.callback(invoke_without_command=True)
def _(context: typer.Context) -> None:
    """Let an oversight body check that the office followed the mechanism.

    With --oversight at init, every round's reports and seed are sealed to the oversight body's age key, and the
    public transcript holds the hash of each seal. A person with the private key can read the counts of every round.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@oversight.command(cls=Command)
def seals(
    *,
    out: Annotated[Path, shared("--out", "a new file, for the sealed rounds.", show_default=False)],
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Write the sealed rounds into one file for the oversight body.

    Only the oversight body can read what is in it, so you can send it in any way. Its length depends on the number of
    rounds and targets alone. Hand it over often: rounds whose seals are lost with the database cannot be checked. A
    round that no copy of the transcript has yet is not handed over: publish first.
    """
    with options.opened(database) as programme:
        if programme.parameters.oversight is None:
            raise DeniableError("this programme has no oversight body, so nothing was sealed; only init can name one")
        sealed = programme.seals(options.key_files(database))
    write_seals(sealed, out)
    thing = "sealed round" if programme.parameters.figures is None else "sealed record"
    answer(as_json, {"file": str(out), "rounds": len(sealed)}, f"{count(len(sealed), thing)} in", f"  {out}")


@oversight.command(cls=Command)
def replay(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", show_default=False, help="The public folder.")],
    sealed: Annotated[Path, typer.Argument(metavar="SEALS", show_default=False, help="The file of sealed rounds.")],
    *,
    identity: Annotated[
        Path, typer.Option(metavar="FILE", show_default=False, help="The age private key, as age-keygen writes it.")
    ],
    out: Annotated[
        Path | None,
        shared(
            "--out",
            "a new CSV file, for round,target,class,reports, to compare with the hotline's own records. Confidential.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every round again, as the oversight body.

    The public folder is verified first. Then each round is drawn again from its sealed reports and seed: the seed must
    be the one that was committed to before the round, and the audits must come out as published. If the programme
    draws with public values, reports and seed must also be those that were frozen, and the value goes into the draw. It
    says which rounds are confirmed. Exit code 0: all of them. 2: one contradicts its inputs, or inputs are missing, or
    the file or the key belongs to another programme, and one line says which.

    It shows that the audits follow from the reports which the office says it had. It cannot show that those are the
    reports that came in: compare them with the hotline's own records. If the programme draws without public values, it
    cannot show either that the office did not choose its seed: on the day it fixed the seed, it could see what it would
    draw from the reports that waited.
    """
    if out is not None:
        check_new_file("--out", out)
    checked = verify(folder)
    inputs = checked.parameters, [parse(line) for line in checked.lines], read_seals(sealed), read_identity(identity)
    verdict = replayed(*inputs)
    if out is not None and verdict.contradicted is None:
        _write_counts(out, counted(*inputs))
    answer(as_json, _document(checked, verdict), *_lines(checked, verdict))
    if verdict.verdict != "confirmed":
        raise DeniableError(_refusal(verdict))


def _refusal(verdict: Replayed) -> str:
    if verdict.contradicted is not None:
        return f"contradicted: round {verdict.contradicted} does not follow from its inputs: {verdict.why}"
    missing = [
        *([f"those of {_rounds(verdict.missing)}, so ask the office for a newer file"] if verdict.missing else []),
        *([f"those of {_rounds(verdict.lost)}, which the office says it lost"] if verdict.lost else []),
        *([f"those of the yearly figures of {spans(verdict.missing_figures)}"] if verdict.missing_figures else []),
    ]
    return f"missing inputs: the file does not have {', and '.join(missing)}"


def _write_counts(path: Path, rows: Iterable[tuple[int, str, str, int]]) -> None:
    create(path, confidential=True)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("round", "target", "class", "reports"))
            writer.writerows(
                (round_, not_a_formula(target), not_a_formula(of), reports) for round_, target, of, reports in rows
            )
    except OSError as error:
        raise cannot_write(path, error) from None


def _document(checked: VerificationResult, verdict: Replayed) -> dict[str, object]:
    shown = checked.to_dict()
    return {"verdict": verdict.verdict, **asdict(verdict), **{name: shown[name] for name in _OF_THE_FOLDER}}


_OF_THE_FOLDER = ("name", "programme", "head", "entries", "rounds", "draws", "remarkable", "overdue", "warnings")


def _lines(checked: VerificationResult, verdict: Replayed) -> list[str]:
    rounds = {
        f"Confirmed, since the audits follow from the {_inputs(checked)}": verdict.confirmed or None,
        "Not in the file of sealed rounds": verdict.missing,
        "Lost by the office, as it said in public": verdict.lost,
        "Not drawn again, since they follow on those": verdict.waiting,
    }
    extra = ", ".join(map(str, verdict.not_public))
    return [
        f"{checked.name}: {count(checked.rounds, 'round')} closed, {count(checked.entries, 'entry', 'entries')}. "
        "Fingerprint:",
        f"  {checked.head}",
        "",
        checked.values.in_words,
        *(f"{what}: {_rounds(numbers or ())}." for what, numbers in rounds.items() if numbers != ()),
        *([f"Yearly figures confirmed: {spans(verdict.figures)}."] if verdict.figures else []),
        *(
            [f"CONTRADICTED: round {verdict.contradicted}. No later one was drawn again."]
            if verdict.contradicted
            else []
        ),
        *([f"In the file, but not in the public folder: entries {extra}. Take the newest folder."] if extra else []),
        *please_note(checked),
    ]


def _inputs(checked: VerificationResult) -> str:
    if checked.parameters.randomness is None:
        return "reports and the seed"
    return "reports and the seed, as they were frozen, and the public value"


def _rounds(numbers: Sequence[int]) -> str:
    return f"{plural(len(numbers), 'round')} {spans(numbers)}" if numbers else "no round"
