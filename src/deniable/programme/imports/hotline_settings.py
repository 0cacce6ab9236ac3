"""What the programme keeps of a hotline from one import to the next: which channel is about which target, and how a
report's class is found.

It is kept sealed, in one length whatever it says: a channel is assigned because a report came through it, so the number
of channels must not show. Targets are kept by their numbers, and so outlive a change of name. A channel that is called
exactly like a target is about this target without being assigned.
"""

import json
from collections.abc import Collection, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field, replace
from typing import Self

from deniable.errors import DeniableError
from deniable.programme.imports.channels import Mapping
from deniable.programme.imports.classes import ClassField
from deniable.report_classes import ReportClass
from deniable.state import Secret

ROOM = 1 << 18
"""Bytes: some 5,000 channels with names of 40 letters."""


@dataclass(frozen=True)
class Assigned:
    """What a channel is about."""

    target: int | None
    """Its number; None where the channel is left out on purpose."""
    report_class: str | None = None
    """Of all its reports; None where the class does not follow from the channel."""


@dataclass(frozen=True, repr=False)
class Kept(Secret):
    """Of one hotline."""

    channels: AnyMapping[str, Assigned] = field(default_factory=dict)
    class_column: str | None = None
    """The column of the export from which a report's class follows; None where it follows from the channel."""
    values: AnyMapping[str, str | None] = field(default_factory=dict)
    """The classes of this column's values, None for one that is left out; none where values are the classes' names."""

    def with_channels(self, changes: AnyMapping[str, Assigned | None]) -> Self:
        """With these channels changed; those with None are not assigned any more."""
        both = {**self.channels, **changes}
        return replace(self, channels={name: one for name, one in sorted(both.items()) if one is not None})

    def with_values(self, changes: AnyMapping[str, str | None]) -> Self:
        return replace(self, values={**self.values, **changes})

    def to_bytes(self) -> bytes:
        """In always the same length."""
        channels = {name: [one.target, one.report_class] for name, one in self.channels.items()}
        stored = json.dumps(
            {"channels": channels, "column": self.class_column, "values": dict(self.values)},
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
        if len(stored) > ROOM:
            raise DeniableError(
                "these are more channels than the programme can keep for a hotline; import at the terminal, with a "
                "mapping file"
            )
        return stored.ljust(ROOM)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        read = json.loads(stored)
        channels = {name: Assigned(*one) for name, one in read["channels"].items()}
        return cls(channels, read["column"], read["values"])

    def mapping(self, names: Sequence[str], present: Collection[str], classes: Sequence[ReportClass]) -> Mapping:
        """As an import needs it. names: of all targets, by number; present: of those that take part. A channel whose
        target left is not in it.
        """
        target_of: dict[str, str | None] = {name: name for name in present}
        public = {*present}
        for channel, one in self.channels.items():
            if one.target is None or names[one.target] in public:
                target_of[channel] = None if one.target is None else names[one.target]
        if len(classes) == 1 or self.class_column is not None:
            return Mapping(target_of)
        class_of = {
            channel: None if one.target is None else one.report_class
            for channel, one in self.channels.items()
            if one.target is None or one.report_class is not None
        }
        return Mapping(target_of, class_of)

    def class_field(self, classes: Sequence[ReportClass]) -> ClassField | None:
        """The column from which classes follow, if they do."""
        if len(classes) == 1 or self.class_column is None:
            return None
        own_names: AnyMapping[str, str | None] = {one.name: one.name for one in classes}
        return ClassField(self.class_column, self.values or own_names)

    def table(self, names: Sequence[str], *, has_classes: bool) -> tuple[list[str], list[list[str]]]:
        """The channels as a mapping file has them, which can be read again (`read_mapping`): its columns and rows."""
        columns = ["channel", "target", "class"]
        rows = [
            [channel, "" if one.target is None else names[one.target], one.report_class or ""]
            for channel, one in self.channels.items()
        ]
        shown = 3 if has_classes else 2
        return columns[:shown], [row[:shown] for row in rows]


def from_mapping(mapping: Mapping, number_of: AnyMapping[str, int], before: Kept) -> Kept:
    """With the channels of a mapping file in place of those before."""
    class_of = mapping.class_of or {}
    return replace(
        before,
        channels={
            channel: Assigned(None if target is None else number_of[target], class_of.get(channel))
            for channel, target in sorted(mapping.target_of.items())
        },
    )
