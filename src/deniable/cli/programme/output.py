"""How the commands of a programme tell what happened."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from shutil import get_terminal_size
from textwrap import fill
from typing import Any
from zoneinfo import ZoneInfo

from deniable.languages.voice import plain
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public.values import waiting_dict
from deniable.programme.public.verify import VerificationResult
from deniable.programme.randomness.source import Dice
from deniable.programme.status import Status
from deniable.programme.transcript.closings import NOT_THE_TIME, Closing
from deniable.programme.transcript.entry import Entry


def answer(as_json: bool, document: Mapping[str, Any], *texts: str, wrap: bool = True) -> None:
    """Print the document, or the texts: a paragraph is wrapped, a line that is indented stays as it is."""
    if as_json:
        print(json.dumps(document, indent=1, allow_nan=False))
        return
    width = min(100, get_terminal_size().columns)
    for text in texts:
        # No word is broken: it may be a path that is copied.
        paragraph = fill(text, width, break_long_words=False, break_on_hyphens=False)
        print(text if not wrap or text.startswith(" ") else "\n" * text.startswith("\n") + paragraph.lstrip())


def local(calendar: Calendar, moment: datetime) -> str:
    """The moment by the programme's own clocks."""
    return f"{moment.astimezone(ZoneInfo(calendar.zone)):%Y-%m-%d %H:%M} ({calendar.zone})"


def due(status: Status) -> str:
    """When the open round is due, or why there is none."""
    if status.has_open_round:
        return f"Round {status.open_round} is due at {local(status.parameters.calendar, status.due)}."
    return no_open_round(status)


def no_open_round(status: Status) -> str:
    """Why there is none, and what to do; after the end or the last round."""
    if status.ended:
        return "The programme has ended, and its secrets are destroyed."
    closed = f"Round {status.open_round - 1}, the last one, is closed"
    return f"{closed}: run deniable programme end." if status.waiting is None else f"{closed}."


def why_late(status: Status) -> str:
    """How to tell the public why a round is closed late; nothing where it is not."""
    return "It is late, and the public sees by how many days; say why with --reason TEXT." if status.late else ""


def waits(status: Status) -> str:
    """For what the frozen round waits, and until when it must, to stand after its name."""
    waiting, source = status.waiting, status.parameters.randomness
    if waiting is None or source is None:
        return ""
    calendar = status.parameters.calendar
    out = "" if waiting.beacon is None else f", out at {local(calendar, waiting.expected)}"
    without = f"From {local(calendar, waiting.without_from(source.days))} on it may be drawn without."
    return f"waits for {waiting.awaited}{out}. {without}"


def to_draw(status: Status) -> str:
    """What to do about the frozen round."""
    waiting, source = status.waiting, status.parameters.randomness
    if waiting is None or source is None:
        return ""
    first = "Publish now, while the value is not out: deniable programme publish. Then " * (
        status.entries > status.published
    )
    if isinstance(source, Dice):
        when = local(status.parameters.calendar, waiting.expected)
        let = f"let people throw in public ({source.throws.in_words(plain())}) at {when}, {source.place}"
        what = f"{let}, and enter the numbers: deniable programme draw-round --throws TEXT."
    else:
        what = f"draw it, from {local(status.parameters.calendar, waiting.expected)} on: deniable programme draw-round."
    return f"{first}{what}" if first else what[0].upper() + what[1:]


def waiting_document(status: Status) -> dict[str, Any] | None:
    """The frozen round, ready for JSON."""
    waiting, source = status.waiting, status.parameters.randomness
    return None if waiting is None or source is None or status.ended else waiting_dict(waiting, source)


def described(entry: Entry, parameters: Parameters) -> dict[str, Any]:
    """An entry and its effect, ready for JSON."""
    return entry.described(parameters.calendar, parameters.voice())


def told(entry: Entry, parameters: Parameters) -> str:
    """An entry in a sentence or two, with its reason and what it means for the promise."""
    reason, say = entry.reason, parameters.voice()
    why = "" if reason is None else f" Reason: {reason}{'' if reason.endswith(('.', '!', '?')) else '.'}"
    effect = entry.effect(parameters.calendar, say)
    return f"Entry {entry.number}, round {entry.round}: {entry.deed(say)}.{why} {effect}"


def at_once(targets: Iterable[str]) -> str:
    return f"Visit at once, because of reports of an emergency class: {', '.join(targets)}."


def please_note(report: VerificationResult) -> list[str]:
    """What is in order but unusual in a transcript that was verified, and what is not as it should be."""
    late = any(isinstance(entry, Closing) for entry in report.remarkable)
    parameters, not_the_time = report.parameters, report.parameters.voice()(NOT_THE_TIME)
    return [
        *(["\nPlease note"] if report.remarkable else []),
        *(told(entry, parameters).removesuffix(f" {not_the_time}") for entry in report.remarkable),
        *([f"This holds for every round that was closed late. {not_the_time}"] if late else []),
        *(f"\nWARNING: {warning}." for warning in report.warnings),
    ]


def spans(numbers: Sequence[int]) -> str:
    """Whole numbers in ascending order, as a reader would list them.

    >>> spans([1, 2, 3, 5, 8, 9])
    '1 to 3, 5, 8, 9'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
