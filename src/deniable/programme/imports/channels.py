"""Which channel of the hotline stands for which target: a CSV file that the office keeps.

UTF-8, the columns `channel,target`, one line a channel. Several channels may have one target. A channel with an empty
target is left out on purpose. Reports on a channel that is not in the file at all are set aside, and the person who
brings the export is told, so that a new channel cannot be forgotten. Nothing of either is remembered: as soon as the
file gives the channel a target, the same export counts.

The file is the office's own, so anything wrong with it refuses it as a whole.
"""

from collections.abc import Collection
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from types import MappingProxyType

from deniable.errors import DeniableError
from deniable.programme.imports.reading import File, Table, is_name, opened, pieces, quietly

WHAT = "the mapping"

MAX_CHANNELS = 100_000


@dataclass(frozen=True)
class Mapping:
    """target_of: a channel's target by its public name, or None for a channel that is left out on purpose."""

    target_of: AnyMapping[str, str | None]


def read_mapping(file: File, targets: Collection[str]) -> Mapping:
    r"""The mapping in a file. targets: the programme's public names, to which its targets must belong.

    >>> import io
    >>> file = io.BytesIO(b"channel,target\nnorth,Acme\nsouth,Acme\ntest,\n")
    >>> dict(read_mapping(file, ["Acme", "Bravo"]).target_of)
    {'north': 'Acme', 'south': 'Acme', 'test': None}
    """
    return quietly(lambda: _read(file, targets), WHAT)


def _read(file: File, targets: Collection[str]) -> Mapping:
    public = {*targets}
    target_of: dict[str, str | None] = {}
    with opened(file, WHAT) as binary:
        table = Table(pieces(binary.read, WHAT), WHAT)
        if sorted(table.names) != ["channel", "target"]:
            raise DeniableError(f"{WHAT} must have the columns channel and target, named in the first line, only these")
        # No cell is shown: if this is the wrong file, it may be anything.
        for line, cells in table.columns("channel", "target"):
            if isinstance(cells, str):
                raise table.refusal(line, cells)
            channel, target = cells
            if not is_name(channel):
                raise table.refusal(line, "the channel must be 1 to 200 printable characters")
            if target and target not in public:
                raise table.refusal(
                    line,
                    "the target must be a public name of the programme's targets, or empty; they are listed by: "
                    "deniable programme targets list",
                )
            if channel in target_of:
                raise table.refusal(line, "a channel must come only once")
            if len(target_of) == MAX_CHANNELS:
                raise DeniableError(f"{WHAT} must have at most {MAX_CHANNELS} channels")
            target_of[channel] = target or None
    if not target_of:
        raise DeniableError(f"{WHAT} must give at least one channel a target")
    return Mapping(MappingProxyType(target_of))
