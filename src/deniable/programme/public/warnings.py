"""What is not as it should be in published files that check out, in sentences.

Only the console says them in other languages than English.
"""

from collections.abc import Iterator, Mapping, Sequence

from deniable.message import Message, why_not
from deniable.programme.public.compared import Compared
from deniable.programme.public.folder import CHECKPOINT, INSTRUCTIONS
from deniable.wording import count, plural

OTHER_INSTRUCTIONS = why_not(
    "{file} is not what this version of deniable writes for this programme: it was changed, or written by another "
    "version",
    file=INSTRUCTIONS,
)
OTHER_CHECKPOINT = why_not("{file} is not the one that follows from the signed head: it was changed", file=CHECKPOINT)


def missing(rounds: Sequence[int]) -> Iterator[Message]:
    if len(rounds) == 1:
        yield why_not("round {round} is due but not in the transcript", round=rounds[0])
    elif rounds:
        first, last = rounds[0], rounds[-1]
        yield why_not("rounds {first} to {last} are due but not in the transcript", first=first, last=last)


def early(rounds: Sequence[int]) -> Iterator[Message]:
    if len(rounds) == 1:
        yield why_not("round {round} is in the transcript but not due yet", round=rounds[0])
    elif rounds:
        first, last = rounds[0], rounds[-1]
        yield why_not("rounds {first} to {last} are in the transcript but not due yet", first=first, last=last)


def unnamed(rounds: Sequence[int]) -> Iterator[Message]:
    """Whose names should be public."""
    if len(rounds) == 1:
        yield why_not("the names of round {round} are due but not in the transcript", round=rounds[0])
    elif rounds:
        first, last = rounds[0], rounds[-1]
        yield why_not("the names of rounds {first} to {last} are due but not in the transcript", first=first, last=last)


def other_pages(files: Mapping[str, Compared]) -> Iterator[Message]:
    for name in _differing(files):
        yield why_not(
            "{file} is not the page that this version of deniable writes for this transcript: it was changed, or "
            "written by another version",
            file=name,
        )


def other_calendars(files: Mapping[str, Compared]) -> Iterator[Message]:
    for name in _differing(files):
        yield why_not(
            "{file} is not the calendar that this version of deniable writes for this transcript: it was changed, or "
            "written by another version",
            file=name,
        )


def unexpected(files: Sequence[str]) -> Iterator[Message]:
    for name in files:
        yield why_not(
            "{file} is not among the files that this programme publishes: it has no page or calendar in this language",
            file=name,
        )


def _differing(files: Mapping[str, Compared]) -> list[str]:
    return [name for name, found in files.items() if found == "differs"]


def frozen_unseen(rounds: Sequence[int], enough: int) -> str:
    """Of rounds that too few witnesses saw frozen in time. Only the terminal asks for witnesses."""
    which = f"{plural(len(rounds), 'round')} {', '.join(map(str, rounds))}"
    return (
        f"fewer than {count(enough, 'witness', 'witnesses')} saw {which} frozen before the public value was out, as "
        "far as this folder shows; the office can leave countersignatures out, so ask the witnesses for theirs"
    )


def at_the_terminal(text: str) -> Message:
    """What only the terminal says."""
    return why_not("{told}", told=text)
