"""Every option that more than one command has, declared once: its name, its words, and how what is typed is read."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from deniable.errors import DeniableError, check_delta, check_whole
from deniable.report_classes import ReportClass, check_classes, parsed
from deniable.wording import count

if TYPE_CHECKING:
    from deniable.rules import Rules

DATABASE, KEY, PASSPHRASE = "DENIABLE_DATABASE", "DENIABLE_KEY", "DENIABLE_PASSPHRASE"
CLASS = (
    "NAME=WEIGHT, where a report counts as WEIGHT reports, or NAME=visit, where it leads to a visit at once and is not "
    "protected. Repeat the option for every class"
)
SEVERAL = "Several with commas, or repeat the option."


class Words(NamedTuple):
    """What an option's value is called, and what the option means in every command that has it."""

    metavar: str | None
    meaning: str


OPTIONS = {
    "--advantage": Words(
        "A",
        "Instead of --delta: the promise about all reports of one person, up to --reports-per-person. An observer of "
        "the audits who guesses whether they were filed is right at most 100 A times in 100 more often.",
    ),
    "--audits": Words("N", "Audits a round."),
    "--because-of-reports": Words(
        None,
        "The decision may have been connected with reports. The promise lapses for all reports filed in this round "
        "of the calendar or before, and the public page says so; it holds for reports filed from the next round on. "
        "The command shows what is lost, and asks before it records the decision.",
    ),
    "--chart": Words("FILE", "Draw a chart as well, into a .png or .svg file."),
    "--class": Words("CLASS", "A class of reports:"),
    "--cluster": Words("ADDRESS", "Simulate on a Dask cluster, such as tcp://10.0.0.1:8786."),
    "--contact": Words(
        "TEXT",
        "How the public reaches the office: an address, a phone number, an e-mail address. It is published word for "
        "word.",
    ),
    "--cooldown": Words("N", "No target is audited again within N rounds, if that is possible."),
    "--database": Words("DB", "The programme's database: a SQLite file, or a URL such as postgresql://user@host/name."),
    "--delta": Words(
        "DELTA",
        "Privacy level of one report, above 0 and below 1: watching the audits improves a guess whether it was filed "
        "by at most DELTA / 2.",
    ),
    "--end": Words("YYYY-MM-DD", "Last day of the last round."),
    "--file": Words(
        "FILE",
        "CSV file with the columns target,reports instead, or - for standard input. What is typed as an argument stays "
        "in the shell's history; this does not.",
    ),
    "--forecast": Words(None, "Learn the targets' weights from past audits, which are public; for race only."),
    "--horizon": Words("N", "Rounds that the guarantee must cover."),
    "--hotline": Words(
        "ADDRESS",
        "Where people report: a link that begins with https://, an onion link that begins with http://, or a phone "
        "number. It is published word for word.",
    ),
    "--independent-of-reports": Words(
        None,
        "Declare in public that the decision had nothing to do with any confidential report. The promise then covers "
        "it.",
    ),
    "--json": Words(None, "Print one JSON document instead of text."),
    "--key": Words("FILE", "The key file"),
    "--max-gap": Words("N", "Every target is audited at least once in N rounds."),
    "--most-counted": Words(
        "N",
        "Of the reports of one class about one target in one round, count at most N in the draw, however many a flood "
        "brings.",
    ),
    "--mirror": Words(
        "URL", "A mirror of drand to ask for the beacon, instead of the usual ones. Repeat the option for several."
    ),
    "--mechanism": Words("ID", "How targets are chosen:"),
    "--name": Words("TEXT", "The public name"),
    "--out": Words("PATH", "Where to write:"),
    "--passphrase": Words(None, f"The programme's key is a passphrase: ask for it, or take it from {PASSPHRASE}."),
    "--period": Words("PERIOD", "Length of a round, such as 1D, 7D or 2W."),
    "--public": Words("FOLDER", "The public folder of the programme."),
    "--reason": Words("TEXT", "Why, in a sentence. It is published word for word."),
    "--reports-per-person": Words("N", "The most reports that one person files: the promise is about all of them."),
    "--round": Words("N", "The number of a round:"),
    "--rounds": Words("N", "Number of rounds."),
    "--runs": Words("N", "Number of simulated runs. More take longer and give more exact figures."),
    "--seed": Words("N", "The same seed gives the same figures."),
    "--show-counts": Words(None, "Show numbers of reports, which are confidential:"),
    "--start": Words("YYYY-MM-DD", "First day of the first round."),
    "--steady-forecast": Words(None, "Like --forecast, but for reports that come in at rates which never change."),
    "--stream": Words("FILE", "Reports from this CSV file."),
    "--target-list": Words(
        "FILE", "The public list of targets: one name a line, no header; lines starting with # are skipped."
    ),
    "--targets": Words("N", "Number of targets."),
    "--weights": Words(
        "FILE",
        "CSV file with the columns target,weight: a target with weight 2 is chosen as if it were two. Public, and for "
        "race only.",
    ),
    "--time": Words("TIME", "Time in the programme's time zone:"),
    "--yearly-figures-delta": Words(
        "DELTA",
        "Publish once a year, with random noise, how many reports came in, in all and by class. DELTA limits what "
        "these figures tell about one report: 0.02 means ± 20 in each number, 0.01 means ± 40.",
    ),
    "--witness": Words(
        "KEY",
        "The public key of a witness whom you trust, or a file with it: read its countersignatures. Repeat the option "
        "for every witness.",
    ),
    "--workers": Words("N", "Number of processes. By default as many as the machine has cores."),
    "--yes": Words(None, "Do not ask."),
}


def shared(name: str, note: str = "", **settings: Any) -> Any:
    """The option of this name, in the words that it has everywhere; the note is what one command adds."""
    words = OPTIONS[name]
    settings.setdefault("metavar", words.metavar)
    return typer.Option(name, help=f"{words.meaning} {note}".strip(), **settings)


DEFAULT_DATABASE = "programme.db"

AsJson = Annotated[bool, shared("--json")]
AskPassphrase = Annotated[bool, shared("--passphrase")]
Audits = Annotated[int, shared("--audits")]
Chart = Annotated[Path | None, shared("--chart")]
Classes = Annotated[list[str] | None, shared("--class", f"{CLASS}; the file of reports then has a column class.")]
Cluster = Annotated[str | None, shared("--cluster")]
Cooldown = Annotated[int, shared("--cooldown")]
Database = Annotated[str, shared("--database", envvar=DATABASE)]
Forecast = Annotated[bool, shared("--forecast")]
SteadyForecast = Annotated[bool, shared("--steady-forecast")]
KeyPath = Annotated[
    Path | None,
    shared(
        "--key",
        f"of the programme. By default the file that {KEY} names, or else the one beside the database with the same "
        "name and the ending .key. With PostgreSQL you must name it.",
        show_default=False,
    ),
]
MaxGap = Annotated[int | None, shared("--max-gap")]
MostCounted = Annotated[int | None, shared("--most-counted")]
Seed = Annotated[int, shared("--seed")]
StreamFile = Annotated[
    Path,
    typer.Argument(
        metavar="STREAM",
        show_default=False,
        help="CSV file with the columns date,target,reports or round,target,reports, or with one column a target; with "
        "classes of reports, date,target,class,reports or round,target,class,reports.",
    ),
]
Witnesses = Annotated[list[str] | None, shared("--witness", show_default=False)]
WeightsFile = Annotated[Path | None, shared("--weights")]
Workers = Annotated[int | None, shared("--workers")]


def several(texts: Sequence[str] | None) -> list[str]:
    """The values of an option that may be repeated and may hold several with commas."""
    return [part for text in texts or () for part in text.split(",")]


def deltas(texts: Sequence[str] | None) -> list[float]:
    """The values of --delta, no two the same."""
    found = [check_delta(_number(part, text)) for text in texts or () for part in text.split(",")]
    if len(set(found)) < len(found):
        raise DeniableError(f"give each --delta once, got {', '.join(f'{delta:g}' for delta in found)}")
    return found


def chosen_classes(texts: Sequence[str] | None) -> tuple[ReportClass, ...] | None:
    """The classes of --class; None where it is not given."""
    return check_classes(map(parsed, texts)) if texts else None


def checked_most_counted(number: int | None) -> int | None:
    """The value of --most-counted."""
    return None if number is None else check_whole("--most-counted", number, least=1)


def _number(part: str, text: str) -> float:
    """Of a decimal comma there are two parts, each a whole number."""
    try:
        number = None if re.fullmatch("[0-9]+,[0-9]+", text) else float(part)
    except ValueError:
        number = None
    if number is None:
        raise DeniableError(f"--delta must be a number such as 0.1, got {text!r}: write it with a point and without %")
    return number


def one_delta(texts: Sequence[str] | None) -> float | None:
    """The value of --delta where a command can have no more than one."""
    found = deltas(texts)
    if len(found) > 1:
        raise DeniableError(f"this command takes one --delta, got {len(found)}")
    return found[0] if found else None


def delta_or_advantage(texts: Sequence[str] | None, advantage: float | None) -> float | None:
    """The value of --delta; None where --advantage is given instead. One of them must be."""
    level = one_delta(texts)
    if (level is None) == (advantage is None):
        raise DeniableError(
            "give either --delta, the promise about one report, or --advantage, the promise about a person, "
            f"got {'neither' if level is None else 'both'}; for example --delta 0.1"
        )
    return level


def checked_rules(max_gap: int | None, cooldown: int, n_targets: int, audits: int) -> "Rules":
    """The rules of these options, which so many audits a round can keep."""
    from deniable.rules import Rules  # noqa: PLC0415  (NumPy)

    try:
        check_whole("audits", audits, least=1)
        rules = Rules(max_gap, cooldown)
        rules.check_reach(n_targets, audits)
    except DeniableError as error:
        raise DeniableError(as_options(str(error))) from None
    return rules


def checked_horizon(horizon: int | None, rounds: int) -> int | None:
    """The value of --horizon, for a stream of so many rounds."""
    if horizon is not None and check_whole("--horizon", horizon, least=1) < rounds:
        raise DeniableError(f"--horizon must cover every round of the stream, {rounds}, got {horizon}")
    return horizon


def chosen_forecast(weights: Path | None, *, forecast: bool, steady_forecast: bool) -> str | None:
    """The name of the forecast that the options ask for, of which at most one may be given."""
    options = {"--weights": weights is not None, "--forecast": forecast, "--steady-forecast": steady_forecast}
    given = [name for name, is_given in options.items() if is_given]
    if len(given) > 1:
        raise DeniableError(f"give one of {', '.join(options)}, got {' and '.join(given)}")
    return None if weights is not None or not given else given[0].removeprefix("--")


def rules_in_words(rules: "Rules") -> list[str]:
    """What the rules say, for a line about a programme; nothing where there are none."""
    return [
        *([f"every target at least once in {count(rules.max_gap, 'round')}"] if rules.max_gap is not None else []),
        *([f"none twice within {count(rules.cooldown, 'round')}"] if rules.cooldown else []),
    ]


def as_options(message: str) -> str:
    """The message with the names of Python as they are typed here: max_gap is --max-gap."""
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda name: f"--{name[0].replace('_', '-')}", message)
