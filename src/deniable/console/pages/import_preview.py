"""The preview of an import: what would count and why not, for those who may see it, and what to do about the rest."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from deniable.arrays import BoolArray
from deniable.console.accounts.people import Person
from deniable.console.pages.channels import ChannelRow, Choices, choices_of, row_of
from deniable.console.pages.common import auditors_of, counting
from deniable.console.pending_imports import KEPT_FOR, Held
from deniable.console.rendering import render
from deniable.console.security import MOST_MEGABYTES, may
from deniable.console.voices import voice_of
from deniable.message import Message
from deniable.programme.imports import EXPORTS, Malformed
from deniable.programme.imports.classes import visit_classes
from deniable.programme.imports.hotline_settings import Kept
from deniable.programme.imports.which_rows_count import EMPTY, MOST_DISTINCT, ChannelCounts, Fate, looks_like_a_name
from deniable.programme.programme import Programme
from deniable.programme.status import PAUSED

MOST_LINES = 50
"""Channels in the table of a preview."""


@dataclass(frozen=True)
class PreviewPage:
    """Public facts, and what in the file cannot count yet: for the person who brought it. The same whatever was
    reported before, and whatever else is in the file.
    """

    pending: str
    """The name by which the file is confirmed."""
    file: str
    """The name of the file; empty where it cannot be shown."""
    kind: str
    source: str
    round: int
    has_open_round: bool
    """Not after the last round, or the end of the programme."""
    minutes: int
    megabytes: int
    paused: Message | None
    is_large: bool
    """Whether the file has more than half of the bytes that a file may have."""
    choices: Choices
    new_channels: tuple[ChannelRow, ...]
    has_channel_ids: bool
    """Whether there are new channels, and the export names them by ids that say nothing to a person."""
    hidden_channels: int
    """How many more have no target: those that do not look like names, and those for which there is no room."""
    new_values: tuple[ChannelRow, ...]
    hidden_values: int
    chosen_again: int
    """Where the file has more new channels or values than these, it must be chosen again after some are assigned; 0
    where it has not.
    """
    malformed: tuple[Malformed, ...]
    more_malformed: int
    assigned: tuple[ChannelRow, ...]
    """What this person has just chosen for new channels of the file, and is kept."""
    assigned_values: tuple[ChannelRow, ...]
    """The same for entries of the class column."""
    is_nothing_saved: bool
    """Whether this person pressed Save just now, and had decided about no channel and no entry."""
    without_class: int
    """New channels whose target is chosen or proposed, and whose class is missing."""
    visits: tuple[str, ...]
    """The classes that lead to a visit, of those that the mappings name: whether the file has such a report or not."""
    sees_emergencies: bool
    """Whether this person has a page that names the targets of visits."""
    auditors: tuple[str, ...]
    """Who can do so otherwise, by name."""
    is_complete: bool
    """Whether all channels and values are assigned."""
    error: Message | None


@dataclass(frozen=True)
class ChannelLine:
    """What becomes of the reports on a channel. Confidential."""

    channel: str
    """Empty where it does not look like a name."""
    target: str | None
    counts: int
    known: int
    left_out: int
    unassigned: int


@dataclass(frozen=True)
class CountedPreviewPage(PreviewPage):
    """Confidential: for auditors."""

    new: int
    by_target: tuple[tuple[str, int], ...]
    """The new ones, the most first; of a few targets."""
    more_targets: int
    others: int
    """Reports that were known before, or, while imports are paused, all that could count otherwise."""
    unassigned: int
    unreadable: int
    left_out: int
    by_class: tuple[tuple[str, int], ...]
    """Of the file, those that were known before included; none where there is only one class."""
    lines: tuple[ChannelLine, ...]
    more_lines: int


@dataclass(frozen=True, repr=False)
class Preview:
    """A file that is looked at."""

    pending: str
    """The name by which it is confirmed."""
    held: Held
    person: Person
    error: Message | None = None
    typed: Mapping[str, ChannelRow] = field(default_factory=dict)
    """What was chosen for new channels, by channel."""
    typed_values: Mapping[str, ChannelRow] = field(default_factory=dict)
    """The same for entries of the class column."""
    pressed_save: bool = False


def _would_count(programme: Programme, person: Person, held: Held) -> BoolArray | None:
    """Which reports of a file would count, for those who may see it."""
    if not may(person, "counts"):
        return None
    return counting(partial(programme.hotlines.look, held.source, held.batch))


def preview_page(request: Request, programme: Programme, preview: Preview) -> Response:
    held, person, code = preview.held, preview.person, 422 if preview.error else 200
    is_new = _would_count(programme, person, held)
    status, batch, aside = programme.status(), held.batch, held.batch.set_aside
    kept, classes, present = programme.hotlines.kept(held.source), programme.parameters.classes, {*programme.targets()}
    typed, typed_values = preview.typed, preview.typed_values
    chosen = [] if preview.error else [name for name in typed if name in kept.channels]
    names = programme.all_targets() if chosen else ()
    assigned = [row_of(name, kept.channels[name], names, present) for name in chosen]
    assigned = [row for row in assigned if row.choice]
    assigned_values = [row for row in typed_values.values() if row.choice and not preview.error]
    choices = choices_of(programme, kept)
    new_channels = [
        typed.get(name, ChannelRow(name, f"is:{name}" if name in present else ""))
        for name in aside.channels
        if not status.is_paused
    ]
    lacks_class = [row for row in new_channels if row.choice.startswith("is:") and not row.report_class]
    public = PreviewPage(
        pending=preview.pending,
        file=held.file,
        kind=voice_of(request)(EXPORTS[held.kind].label),
        source=held.source,
        round=status.open_round,
        has_open_round=status.has_open_round,
        minutes=int(KEPT_FOR.total_seconds()) // 60,
        megabytes=MOST_MEGABYTES,
        paused=PAUSED if status.is_paused else None,
        is_large=held.is_large,
        choices=choices,
        new_channels=tuple(new_channels),
        has_channel_ids=held.kind == "globaleaks" and bool(new_channels),
        hidden_channels=0 if status.is_paused else aside.more_channels,
        new_values=tuple(
            typed_values.get(name, ChannelRow(name))
            for name in ("" if shown == EMPTY else shown for shown in aside.values)
            if not status.is_paused
        ),
        hidden_values=0 if status.is_paused else aside.more_values,
        chosen_again=MOST_DISTINCT if batch.has_too_many else 0,
        malformed=aside.malformed,
        more_malformed=aside.more_malformed,
        assigned=tuple(assigned),
        assigned_values=tuple(assigned_values),
        is_nothing_saved=preview.pressed_save and not preview.error and not assigned and not assigned_values,
        without_class=len(lacks_class) if choices.asks_class else 0,
        visits=() if status.is_paused else visit_classes(classes, batch.mapping, batch.class_field),
        sees_emergencies=may(person, "decide"),
        auditors=auditors_of(request),
        is_complete=status.is_paused or aside.reports == batch.n_malformed,
        error=preview.error,
    )
    if is_new is None:
        return render(request, "import_preview.html", public, code)
    lines = batch.by_channel(is_new.tolist())
    by_target = Counter[str]()
    for line in lines:
        by_target[line.target or ""] += line.fates[Fate.COUNTS]
    ranked = [(name, number) for name, number in by_target.most_common() if number]
    new = int(is_new.sum())
    page = CountedPreviewPage(
        **vars(public),
        new=new,
        by_target=tuple(ranked[:3]),
        more_targets=max(0, len(ranked) - 3),
        others=batch.with_target - new,
        unassigned=aside.reports - batch.n_malformed,
        unreadable=batch.n_malformed,
        left_out=batch.left_out,
        by_class=tuple(batch.by_class().items()),
        lines=tuple(_line(line, kept) for line in lines[:MOST_LINES]),
        more_lines=max(0, len(lines) - MOST_LINES),
    )
    return render(request, "import_preview_counts.html", page, code)


def _line(line: ChannelCounts, kept: Kept) -> ChannelLine:
    fates = line.fates
    is_shown = line.channel in kept.channels or looks_like_a_name(line.channel)
    numbers = (fates[fate] for fate in (Fate.COUNTS, Fate.KNOWN, Fate.LEFT_OUT, Fate.UNASSIGNED))
    return ChannelLine(line.channel if is_shown else "", line.target, *numbers)
