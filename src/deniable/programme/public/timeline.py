"""The chart of the public page: one row a target, one column a round, a mark for every audit.

Everything across is in per cent of the chart's width, everything down in pixels, so that the picture fits a phone
and a desktop without scaling its text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain

from deniable.languages.voice import Voice
from deniable.programme.parameters import Parameters
from deniable.programme.public.frozen_rounds import frozen_rounds
from deniable.programme.transcript.entry import Entry, Outcome
from deniable.programme.transcript.frozen import DrawnHidden
from deniable.programme.transcript.outcomes import outcomes, present_names
from deniable.programme.transcript.unannounced import Selection

MOST_ROWS = 40
MOST_MARKS = 120
"""The chart goes back as far as it has no more audits than these."""
ROW = 26
TOP = 6
LABEL_WIDTH = 26
"""What fits beside a row on a desktop, in Latin letters."""
FIRST_WIDE = "\u1100"
"""From about here on scripts tend to be wide. Python's own table of widths changes with its version, and the page
must not.
"""
FEWEST_COLUMNS = 12
"""So that the first rounds of a programme are not drawn a hand wide."""
TICKS = 6


@dataclass(frozen=True)
class Mark:
    """An audit: `drawn`, ordered by `hand`, because of an `emergency`, or announced and then not carried out
    (`missed`).
    """

    kind: str
    round: int
    x: str
    visited: str
    """The day on which the office says that it took place; empty where it says nothing yet."""
    title: str
    """Whose it is, in which round, and what became of it."""


@dataclass(frozen=True)
class Row:
    name: str
    label: str
    y: int
    start: str
    end: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Span:
    x: str
    width: str


@dataclass(frozen=True)
class Tick:
    round: int
    x: str


@dataclass(frozen=True)
class Timeline:
    rows: tuple[Row, ...]
    left_out: int
    """Targets without a row."""
    first: int
    """The first round that is drawn."""
    rounds: int
    """The last one."""
    skips: tuple[Span, ...]
    hidden: tuple[Span, ...]
    """Rounds whose names are not public yet."""
    waiting: tuple[Span, ...]
    """The round that is frozen and not drawn yet, if there is one."""
    undrawn: tuple[Span, ...]
    """Rounds that were frozen and are never drawn."""
    uncovered: Span | None
    """The rounds whose reports the guarantee does not cover."""
    end: str
    """Where the last round ends."""
    ticks: tuple[Tick, ...]
    mark_width: int
    kinds: frozenset[str]
    """What the legend must explain."""

    @property
    def floor(self) -> int:
        """Where the rows end and the axis begins, in pixels."""
        return TOP + ROW * len(self.rows)


@dataclass
class _Target:
    joined: int
    left: int | None
    audits: list[tuple[int, str, date | None]]
    """The round, and the kind and the day of its mark."""


def timeline(parameters: Parameters, entries: Sequence[Entry], holds_from: int, say: Voice) -> Timeline:
    """The chart after these entries; the guarantee covers reports from round `holds_from` on."""
    total = len(parameters.targets) + sum(len(entry.joined) for entry in entries)
    present = present_names(entries)
    listed = [present.get(name, name) for name in parameters.targets] if total <= MOST_ROWS else []
    targets = _targets(listed, entries, present)
    shown = list(targets) if total <= MOST_ROWS else _latest(parameters, entries, targets, present)
    told = (entry for entry in entries if entry.closes_round or not (entry.is_usual or entry.kind == "end"))
    last = max((entry.audited_in for entry in told), default=0)
    last = max(last, holds_from - 1)
    across = _Across(_first([targets[name] for name in shown], last), last)
    rows = tuple(_row(name, targets[name], TOP + ROW * i, across, say) for i, name in enumerate(shown))
    skips = across.spans(entry.round for entry in entries if entry.closes_round and not entry.is_drawn)
    frozen = frozen_rounds(parameters, entries, say).values()
    marks = [mark for row in rows for mark in row.marks]
    kinds = {mark.kind for mark in marks} | ({"skip"} if skips else set())
    kinds |= {"visited"} if any(mark.visited and mark.kind == "drawn" for mark in marks) else set()
    lapsed = holds_from - 1
    return Timeline(
        rows=rows,
        left_out=total - len(shown),
        first=across.first,
        rounds=last,
        skips=skips,
        hidden=across.spans(_hidden(entries)),
        waiting=across.spans(one.round for one in frozen if one.state == "waits"),
        undrawn=across.spans(one.round for one in frozen if one.state == "never"),
        uncovered=across.span(across.first, lapsed) if lapsed >= across.first else None,
        end=across.left_of(last + 1),
        ticks=tuple(Tick(number, across.middle(number)) for number in _ticks(across.first, last)),
        mark_width=6 if across.columns <= 40 else 3 if across.columns <= 120 else 2,
        kinds=frozenset(kinds),
    )


def _hidden(entries: Sequence[Entry]) -> list[int]:
    """The rounds whose names are not public yet."""
    revealed = {entry.audited_in for entry in entries if entry.audited and entry.is_drawn}
    hidden = (entry.audited_in for entry in entries if isinstance(entry, Selection | DrawnHidden))
    return [number for number in hidden if number not in revealed]


def _targets(names: Sequence[str], entries: Sequence[Entry], present: Mapping[str, str]) -> dict[str, _Target]:
    """These and all that an entry names, by their present names."""
    targets = {name: _Target(1, None, []) for name in names}
    known = outcomes(entries, present)

    def of(name: str) -> _Target:
        return targets.setdefault(present.get(name, name), _Target(1, None, []))

    for entry in entries:
        targets |= {present.get(name, name): _Target(entry.round, None, []) for name in entry.joined}
        for name in entry.left:
            of(name).left = entry.round
        for name in entry.audited:
            outcome = known.get((entry.number, present.get(name, name)))
            of(name).audits.append((entry.audited_in, *_became(_kind(entry), outcome)))
            of(name).audits.sort(key=lambda audit: audit[0])  # names may be revealed after a later order
    return targets


def _kind(entry: Entry) -> str:
    if entry.is_drawn:
        return "drawn"
    return "emergency" if entry.kind == "emergency" else "hand"


def _became(kind: str, outcome: Outcome | None) -> tuple[str, date | None]:
    if outcome is None:
        return kind, None
    return ("missed", None) if outcome.day is None else (kind, date.fromisoformat(outcome.day))


def _latest(
    parameters: Parameters, entries: Sequence[Entry], targets: Mapping[str, _Target], present: Mapping[str, str]
) -> list[str]:
    """Those audited last, in the order of the list."""
    listed = chain(parameters.targets, *(entry.joined for entry in entries))
    names = (present.get(name, name) for name in listed) if present else listed
    audited = [name for name in names if name in targets and targets[name].audits]
    latest = set(sorted(audited, key=lambda name: -targets[name].audits[-1][0])[:MOST_ROWS])
    return [name for name in audited if name in latest]


def _first(shown: Sequence[_Target], last: int) -> int:
    """The first round that is drawn."""
    rounds = sorted((round_ for target in shown for round_, _, _ in target.audits), reverse=True)
    return 1 if len(rounds) <= MOST_MARKS else min(rounds[MOST_MARKS] + 1, last)


@dataclass(frozen=True)
class _Across:
    """Where rounds are, from left to right."""

    first: int
    last: int

    @property
    def columns(self) -> int:
        return max(self.last - self.first + 1, FEWEST_COLUMNS)

    def left_of(self, round_: int) -> str:
        return _percent(max(0, round_ - self.first), self.columns)

    def middle(self, round_: int) -> str:
        return _percent(round_ - self.first + 0.5, self.columns)

    def span(self, first: int, last: int) -> Span:
        return Span(self.left_of(first), _percent(last - first + 1, self.columns))

    def spans(self, rounds: Iterable[int]) -> tuple[Span, ...]:
        """One for each of these rounds that is drawn."""
        return tuple(self.span(number, number) for number in rounds if number >= self.first)


def _row(name: str, target: _Target, y: int, across: _Across, say: Voice) -> Row:
    end = across.last + 1 if target.left is None else target.left
    marks = tuple(
        Mark(kind, round_, across.middle(round_), *_told(name, kind, round_, day, say))
        for round_, kind, day in target.audits
        if round_ >= across.first
    )
    start = across.left_of(min(target.joined, end))
    return Row(name=name, label=shortened(name), y=y, start=start, end=across.left_of(end), marks=marks)


def _told(name: str, kind: str, round_: int, day: date | None, say: Voice) -> tuple[str, str]:
    """The day of the visit, and the title of the mark."""
    visited = "" if day is None else say.day(day)
    if kind == "missed":
        title = say("{name}, round {round}: not carried out", name=name, round=round_)
    elif visited:
        title = say("{name}, round {round}: visited on {day}", name=name, round=round_, day=visited)
    else:
        title = say("{name}, round {round}: selected", name=name, round=round_)
    return visited, title


def _percent(position: float, columns: int) -> str:
    return f"{100 * position / columns:.2f}".rstrip("0").rstrip(".") + "%"


def _ticks(first: int, last: int) -> list[int]:
    """Every round, as long as they are few; then round 1, and multiples of the smallest 1, 2 or 5 times a power of ten
    that keeps the numbers apart.
    """
    if last - first < FEWEST_COLUMNS:
        return list(range(first, last + 1))
    step = next(step for power in range(20) for step in (10**power, 2 * 10**power, 5 * 10**power)
                if last - first < step * TICKS)  # fmt: skip
    multiples = range(-(-first // step) * step, last + 1, step)
    return [*([1] if first == 1 else []), *(number for number in multiples if number > 1)]


def shortened(name: str, width: int = LABEL_WIDTH) -> str:
    """The name, cut to what fits beside a row.

    >>> shortened("Regional depot, northern and north-western division")
    'Regional depot, northern…'
    """
    widths = [2 if letter >= FIRST_WIDE else 1 for letter in name]
    if sum(widths) <= width:
        return name
    kept, used = "", 1
    for letter, taken in zip(name, widths, strict=True):
        used += taken
        if used > width:
            break
        kept += letter
    return kept.rstrip() + "…"
