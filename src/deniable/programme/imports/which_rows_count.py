"""Which rows of an export count, and why others do not: its reports as they are held between reading and counting."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from deniable.message import all_of
from deniable.programme.imports.channels import Mapping
from deniable.programme.imports.classes import ClassField
from deniable.programme.imports.reading import Malformed

MAX_SHOWN = 20
"""The most channels, values and rows that are listed as set aside."""

MOST_DISTINCT = 1000
"""The most channels, or values, that are told apart where no mapping names them."""
_BEYOND = "\0"
"""Stands for all others; no channel and no value is called so."""
EMPTY = "(empty)"
"""How a cell without anything in it is listed."""
_WORD = r"[^\W_][\w.-]*"
_NAME = re.compile(rf"(?=.{{1,64}}$){_WORD}( {_WORD}){{0,2}}")
"""What looks like a name: at most three words. Anything else may be a sentence of a report, in the wrong column."""


class Fate(Enum):
    """What becomes of a report."""

    COUNTS = "counts"
    KNOWN = "known"
    UNASSIGNED = "unassigned"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class ChannelCounts:
    """What becomes of the reports on one channel of a file. Confidential."""

    channel: str
    target: str | None
    fates: "Counter[Fate]"


@dataclass(frozen=True)
class SetAside:
    """What in an export cannot count yet, and why. It is told to the person who brings the file, and not remembered."""

    channels: tuple[str, ...]
    """Channels that the mapping does not name and that look like names; at most MAX_SHOWN."""
    more_channels: int
    """How many others it does not name."""
    malformed: tuple[Malformed, ...]
    """Rows that cannot be read; at most MAX_SHOWN."""
    more_malformed: int
    """How many others there are."""
    reports: int
    """How many reports were set aside. Confidential."""
    values: tuple[str, ...] = ()
    """What the class column has, for which there is no class, as with channels."""
    more_values: int = 0

    @property
    def unreadable(self) -> int:
        """How many reports cannot be read. Confidential."""
        return len(self.malformed) + self.more_malformed

    def in_words(self, *, counts: bool = True) -> tuple[str, ...]:
        """What was set aside and what to do, in a paragraph for each cause; none where all is well.

        In an import that does not count, every report that can be read becomes known, whatever its channel and class.
        """
        told = []
        if counts and (self.channels or self.more_channels):
            told.append(
                f"Set aside: the mapping does not name these channels: {_in_words(self.channels, self.more_channels)}. "
                "Give each of them a target, or an empty target to leave it out, and import the same export again. "
                "Until then the reports on them do not count."
            )
        if counts and (self.values or self.more_values):
            told.append(
                "Set aside: these values of the class column stand for no class: "
                f"{_in_words(self.values, self.more_values)}. Give each of them a class in the class mapping, or an "
                "empty class to leave it out, and import the same export again. Until then the reports with them do "
                "not count."
            )
        if self.malformed:
            rows = [f"{place} ({why})" for place, why in self.malformed]
            more = [f"{self.more_malformed:,} more"] if self.more_malformed else []
            until_then = "they do not count" if counts else "they are not noted, and could count later"
            told.append(
                f"Set aside: these reports cannot be read: {all_of([*rows, *more])}. Export again or correct them, "
                f"and import again. Until then {until_then}."
            )
        return tuple(told)


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """The reports of one export, in the file's order, and the mappings that say which of them count.

    Iterating gives (outside id, target, class) for each that can be read; both are None where a mapping does not name
    one of them, and the class where there is only one. There may be any number of reports, so the ids are kept as one
    string of bytes and decoded one at a time: 9 bytes a report, and its id.
    """

    mapping: Mapping
    class_field: ClassField | None
    malformed: tuple[Malformed, ...]
    """Rows that cannot be read; at most MAX_SHOWN."""
    n_malformed: int
    """How many there are. Confidential."""
    _channels: tuple[str, ...]
    """Those that the mapping named when the file was read, and others of the file up to a limit; the last stands for
    all that are beyond it."""
    _values: tuple[str, ...]
    """Of the class column, in the same way."""
    _ids: bytes
    _lengths: "array[int]"
    """Of each report's id."""
    _channel_of: "array[int]"
    """The place of its channel in `_channels`."""
    _value_of: "array[int]"
    """The place of its value in `_values`."""

    def mapped(self, mapping: Mapping, class_field: ClassField | None) -> "Batch":
        """The same reports under other mappings, which name channels that these did not. The class column stays.

        Not where `has_too_many`: what the mappings now name could be among those that are not told apart, and then
        other rows would decide whether these reports count. Read the file again.
        """
        return replace(self, mapping=mapping, class_field=class_field)

    @property
    def n_reports(self) -> int:
        """How many can be read. Confidential."""
        return len(self._lengths)

    @property
    def has_too_many(self) -> bool:
        """Whether it has more than MOST_DISTINCT channels, or values, that no mapping named when the file was read."""
        return _BEYOND in (self._channels[-1:] + self._values[-1:])

    @property
    def classes(self) -> tuple[str, ...]:
        """Those that the mappings name; none where there is only one."""
        named = (self._class_of or {}).values()
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @cached_property
    def set_aside(self) -> SetAside:
        """What cannot count yet."""
        channels = {self._channels[channel] for channel, value in self._pairs if self._lacks_channel(channel, value)}
        values = {self._values[value] for channel, value in self._pairs if self._lacks_value(channel, value)}
        shown, more = _shown(channels)
        shown_values, more_values = _shown(values)
        reports = sum(n for pair, n in self._pairs.items() if self._fate(*pair) is Fate.UNASSIGNED)
        not_shown = self.n_malformed - len(self.malformed)
        total = reports + self.n_malformed
        return SetAside(shown, more, self.malformed, not_shown, total, shown_values, more_values)

    @property
    def left_out(self) -> int:
        """How many reports are on channels, or have values, that the mappings leave out on purpose. Confidential."""
        return sum(n for pair, n in self._pairs.items() if self._fate(*pair) is Fate.LEFT_OUT)

    @property
    def with_target(self) -> int:
        """How many reports have one, and a class. Confidential."""
        return sum(n for pair, n in self._pairs.items() if self._fate(*pair) is Fate.COUNTS)

    def by_class(self) -> dict[str, int]:
        """How many reports of each class have a target. Confidential."""
        counts = Counter[str | None]()
        for pair, n in self._pairs.items():
            counts[self._resolved(*pair)[1]] += n
        return {name: counts[name] for name in self.classes}

    def by_channel(self, is_new: Sequence[bool]) -> "tuple[ChannelCounts, ...]":
        """What becomes of the reports on each channel of the file, in the order of the alphabet. is_new: whether each
        report, in the file's order, is not known yet. Confidential.
        """
        found: dict[int, Counter[Fate]] = {}
        for channel, value, new in zip(self._channel_of, self._value_of, is_new, strict=True):
            fate = self._fate(channel, value)
            found.setdefault(channel, Counter())[fate if new or fate is not Fate.COUNTS else Fate.KNOWN] += 1
        named = sorted((self._channels[channel], fates) for channel, fates in found.items())
        return tuple(ChannelCounts(name, self.mapping.target_of.get(name), fates) for name, fates in named)

    def __iter__(self) -> Iterator[tuple[str, str | None, str | None]]:
        start = 0
        for length, channel, value in zip(self._lengths, self._channel_of, self._value_of, strict=True):
            yield self._ids[start : start + length].decode("ascii"), *self._resolved(channel, value)
            start += length

    @cached_property
    def _pairs(self) -> Counter[tuple[int, int]]:
        """How many reports have each channel and value."""
        return Counter(zip(self._channel_of, self._value_of, strict=True))

    @property
    def _class_of(self) -> AnyMapping[str, str | None] | None:
        return self.mapping.class_of if self.class_field is None else self.class_field.class_of

    @cached_property
    def _resolving(self) -> dict[tuple[int, int], tuple["Fate", str | None, str | None]]:
        """What each pair comes to."""
        return {}

    def _look(self, channel: int, value: int) -> tuple["Fate", str | None, str | None]:
        known = self._resolving.get((channel, value))
        if known is None:
            known = self._resolving[channel, value] = self._looked_up(channel, value)
        return known

    def _looked_up(self, channel: int, value: int) -> tuple["Fate", str | None, str | None]:
        name, class_of = self._channels[channel], self._class_of
        key = name if self.class_field is None else self._values[value]
        target = self.mapping.target_of.get(name, "")
        its_class = None if class_of is None else class_of.get(key, "")
        if target is None or (class_of is not None and its_class is None):
            return Fate.LEFT_OUT, None, None
        if not target or its_class == "":
            return Fate.UNASSIGNED, None, None
        return Fate.COUNTS, target, its_class

    def _fate(self, channel: int, value: int) -> "Fate":
        return self._look(channel, value)[0]

    def _resolved(self, channel: int, value: int) -> tuple[str | None, str | None]:
        return self._look(channel, value)[1:]

    def _lacks_channel(self, channel: int, value: int) -> bool:
        """Whether the mapping must name the channel, or its class, before such reports count."""
        name = self._channels[channel]
        by_channel = self.mapping.class_of if self.class_field is None else None
        lacks = name not in self.mapping.target_of or (by_channel is not None and name not in by_channel)
        return lacks and self._fate(channel, value) is Fate.UNASSIGNED

    def _lacks_value(self, channel: int, value: int) -> bool:
        field = self.class_field
        lacks = field is not None and self._values[value] not in field.class_of
        return lacks and self._fate(channel, value) is Fate.UNASSIGNED


class Distinct:
    """The names that a column has: those that a mapping names, and others up to a limit."""

    def __init__(self, named: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(named)}
        self._most = len(self._places) + MOST_DISTINCT

    def place(self, name: str) -> int:
        """Where it is in `names`."""
        if name not in self._places and len(self._places) >= self._most:
            name = _BEYOND
        return self._places.setdefault(name, len(self._places))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._places)


def looks_like_a_name(channel: str) -> bool:
    """Whether a channel of a file may be shown to the person who brings it."""
    return _NAME.fullmatch(channel) is not None


def _shown(names: "set[str]") -> tuple[tuple[str, ...], int]:
    """Those that may be shown, at most MAX_SHOWN, and how many others there are."""
    told_apart = names - {_BEYOND}
    shown = sorted(name or EMPTY for name in told_apart if not name or looks_like_a_name(name))[:MAX_SHOWN]
    return tuple(shown), len(told_apart) - len(shown)


def _in_words(shown: Sequence[str], more: int) -> str:
    least = "at least " if len(shown) + more == MOST_DISTINCT else ""
    return str(all_of([*shown, *([f"{least}{more:,} not shown here"] if more else [])]))
