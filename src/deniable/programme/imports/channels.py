"""Which channel of the hotline stands for which target: a CSV file that the office keeps.

UTF-8, the columns `channel,target`, one line a channel; where the programme has several classes of reports, a third
column `class` may say which one all reports on the channel have. Several channels may have one target. A channel with
an empty target is left out on purpose. Reports on a channel that is not in the file at all are set aside, and the
person who brings the export is told, so that a new channel cannot be forgotten. Nothing of either is remembered: as
soon as the file gives the channel a target, the same export counts. An apostrophe before what looks like a formula, as
spreadsheets and the console put it there, is not part of a name.

The file is the office's own, so anything wrong with it refuses it as a whole.
"""

from collections.abc import Callable, Collection, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from types import MappingProxyType

from deniable.csv_files import as_it_was
from deniable.errors import DeniableError
from deniable.message import Message, why_not
from deniable.programme.imports.reading import File, Table, is_name, opened, pieces, quietly
from deniable.report_classes import ONE_CLASS, ReportClass

WHAT = why_not("the mapping")

MAX_CHANNELS = 100_000


@dataclass(frozen=True)
class Mapping:
    """target_of: a channel's target by its public name, or None for a channel that is left out on purpose."""

    target_of: AnyMapping[str, str | None]
    class_of: AnyMapping[str, str | None] | None = None
    """A channel's class, or None for a channel that is left out; without it, classes do not follow from channels."""


def read_mapping(
    file: File,
    targets: Collection[str],
    classes: Sequence[ReportClass] = ONE_CLASS,
    named: Callable[[str], str] = str,
    what: Message = WHAT,
) -> Mapping:
    r"""The mapping in a file. targets: the programme's public names, to which its targets must belong. named: from a
    number in the public register to a name. what: what refusals call the file.

    >>> import io
    >>> file = io.BytesIO(b"channel,target\nnorth,Acme\nsouth,Acme\ntest,\n")
    >>> dict(read_mapping(file, ["Acme", "Bravo"]).target_of)
    {'north': 'Acme', 'south': 'Acme', 'test': None}
    """
    return quietly(lambda: _read(file, targets, [one.name for one in classes], named, what), what)


def _read(
    file: File, targets: Collection[str], classes: Collection[str], named: Callable[[str], str], what: Message
) -> Mapping:
    public = {*targets}
    target_of: dict[str, str | None] = {}
    class_of: dict[str, str | None] = {}
    with opened(file, what) as binary:
        table = Table(pieces(binary.read, what), what)
        has_class = "class" in table.names
        names = ("channel", "target", *(("class",) if has_class else ()))
        if sorted(table.names) != sorted(names):
            raise DeniableError(
                "{what} must have the columns channel and target, and class if reports have "
                "several, named in the first line, only these",
                what=what,
            )
        if has_class and len(classes) == 1:
            raise DeniableError(
                "{what} must have no column class: all reports of this programme have the same class", what=what
            )
        # No cell is shown: if this is the wrong file, it may be anything.
        for line, cells in table.columns(*names):
            if isinstance(cells, Message):
                raise table.refusal(line, cells)
            channel, given, *its_class = map(as_it_was, cells)
            target = named(given)
            if not is_name(channel):
                raise table.refusal(
                    line, why_not("the {column} must be 1 to 200 printable characters", column="channel")
                )
            if target and target not in public:
                raise table.refusal(
                    line,
                    why_not("the target must be the name of a target that takes part, spelt exactly so, or empty"),
                )
            if has_class and its_class[0] not in classes and (target or its_class[0]):
                raise table.refusal(line, why_not("the class must be one of {classes}", classes=", ".join(classes)))
            if channel in target_of:
                raise table.refusal(line, why_not("a channel must come only once"))
            if len(target_of) == MAX_CHANNELS:
                raise DeniableError(
                    "{what} must have at most {max_channels} channels", what=what, max_channels=MAX_CHANNELS
                )
            target_of[channel] = target or None
            class_of[channel] = its_class[0] if has_class and target else None
    if not target_of:
        raise DeniableError("{what} must give at least one channel a target", what=what)
    return Mapping(MappingProxyType(target_of), MappingProxyType(class_of) if has_class else None)
