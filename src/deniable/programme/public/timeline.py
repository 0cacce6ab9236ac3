"""The chart of the public page: one row a target, one column a round, a mark for every audit.

Everything across is in per cent of the chart's width, everything down in pixels, so that the picture fits a phone
and a desktop without scaling its text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.programme.parameters import Parameters
from deniable.programme.transcript.entry import Entry

MOST_ROWS = 40
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
    """An audit: `drawn`, ordered by `hand`, or announced and then not carried out (`missed`)."""

    kind: str
    round: int
    x: str


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
    rounds: int
    skips: tuple[Span, ...]
    uncovered: Span | None
    """The rounds whose reports the guarantee does not cover."""
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
    audits: list[tuple[int, str]]


def timeline(parameters: Parameters, entries: Sequence[Entry], holds_from: int) -> Timeline:
    """The chart after these entries; the guarantee covers reports from round `holds_from` on."""
    targets = _targets(parameters, entries)
    last = max((entry.round for entry in entries), default=0)
    columns = max(last, FEWEST_COLUMNS)
    shown = _shown(targets)
    rows = tuple(_row(name, targets[name], TOP + ROW * i, columns, last) for i, name in enumerate(shown))
    skips = tuple(
        _span(entry.round, entry.round, columns) for entry in entries if entry.closes_round and not entry.audited
    )
    kinds = {mark.kind for row in rows for mark in row.marks} | ({"skip"} if skips else set())
    lapsed = min(holds_from - 1, last)
    return Timeline(
        rows=rows,
        left_out=len(targets) - len(shown),
        rounds=last,
        skips=skips,
        uncovered=_span(1, lapsed, columns) if lapsed else None,
        ticks=tuple(Tick(number, _middle(number, columns)) for number in _ticks(last)),
        mark_width=6 if columns <= 40 else 3 if columns <= 120 else 2,
        kinds=frozenset(kinds),
    )


def _targets(parameters: Parameters, entries: Sequence[Entry]) -> dict[str, _Target]:
    targets = {name: _Target(1, None, []) for name in parameters.targets}
    for entry in entries:
        targets |= {name: _Target(entry.round, None, []) for name in entry.joined}
        for name in entry.left:
            targets[name].left = entry.round
        for name in entry.audited:
            targets[name].audits.append((entry.round, "drawn" if entry.closes_round else "hand"))
        if entry.struck is not None:
            latest = targets[entry.struck].audits
            latest[-1] = (latest[-1][0], "missed")
    return targets


def _shown(targets: dict[str, _Target]) -> list[str]:
    """All targets, or where they are too many those audited last, in the order of the list."""
    if len(targets) <= MOST_ROWS:
        return list(targets)
    audited = [name for name, target in targets.items() if target.audits]
    latest = set(sorted(audited, key=lambda name: -targets[name].audits[-1][0])[:MOST_ROWS])
    return [name for name in targets if name in latest]


def _row(name: str, target: _Target, y: int, columns: int, last: int) -> Row:
    end = last if target.left is None else target.left - 1
    marks = tuple(Mark(kind, round_, _middle(round_, columns)) for round_, kind in target.audits)
    return Row(
        name=name,
        label=shortened(name),
        y=y,
        start=_percent(min(target.joined - 1, end), columns),
        end=_percent(end, columns),
        marks=marks,
    )


def _span(first: int, last: int, columns: int) -> Span:
    return Span(_percent(first - 1, columns), _percent(last - first + 1, columns))


def _middle(round_: int, columns: int) -> str:
    return _percent(round_ - 0.5, columns)


def _percent(position: float, columns: int) -> str:
    return f"{100 * position / columns:.2f}".rstrip("0").rstrip(".") + "%"


def _ticks(last: int) -> list[int]:
    """Round 1, and multiples of the smallest 1, 2 or 5 times a power of ten that keeps the numbers apart."""
    step = next(step for power in range(20) for step in (10**power, 2 * 10**power, 5 * 10**power)
                if last <= step * TICKS)  # fmt: skip
    return [1, *(number for number in range(step, last + 1, step) if number > 1)]


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
