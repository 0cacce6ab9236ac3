"""A transcript read back: its lines as entries, and what the world knows after them."""

import reprlib
from collections.abc import Iterable

from deniable.errors import DeniableError
from deniable.message import why_not
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.chain import read_canonical
from deniable.programme.transcript.entries import KINDS
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.state import PublicState


def parse(text: str, number: int | None = None) -> Entry:
    """The entry on this line; `number` is where the line stands, for the error.

    >>> parse('{"entry":1,"kind":"end","previous":"' + "0" * 64 + '","reason":"the law was repealed","round":1}').kind
    'end'
    """
    name = why_not("the entry") if number is None else why_not("entry {number}", number=number)
    values = read_canonical(text, name)
    missing = [field for field in ("entry", "kind", "round", "previous") if field not in values]
    if missing:
        raise DeniableError("{name} must have the field {missing}", name=name, missing=missing[0])
    stated, kind = values.pop("entry"), values.pop("kind")
    if number is not None and stated != number:
        raise DeniableError(
            "{name} is numbered {stated}: a line was changed, moved or taken out",
            name=name,
            stated=reprlib.repr(stated),
        )
    if not isinstance(kind, str) or kind not in KINDS:
        raise DeniableError(
            "{name}: this version knows no entry of kind {kind}, only {kinds}; a newer version of deniable may have "
            "written it: check with the newest one",
            name=name,
            kinds=", ".join(KINDS),
            kind=reprlib.repr(kind),
        )
    own = KINDS[kind].own_fields()
    if values.keys() != {"round", "previous", *own}:
        raise DeniableError(
            "{name}: the fields of the kind {kind} must be {own}", name=name, kind=kind, own=", ".join(own)
        )
    try:
        return KINDS[kind](number=stated, **values)
    except DeniableError as error:
        raise DeniableError("{name}: {error}", name=name, error=error) from None


def parsed(lines: Iterable[str]) -> list[Entry]:
    """The entries on the lines of a whole transcript."""
    return [parse(line, number) for number, line in enumerate(lines, start=1)]


def replay(parameters: Parameters, entries: Iterable[Entry]) -> PublicState:
    """What the world knows after these entries, the first one first.

    Beyond `Entry.after` it refuses a commitment that was published at any time before, which takes the memory of all of
    them. No seed drawn afresh can lead to one, since the commitment also names its round.
    """
    state = PublicState.start(parameters)
    published = {state.commitment}
    for entry in entries:
        try:
            state = entry.after(state)
            entry.check_commitment_is_new(published)
        except DeniableError as error:
            raise DeniableError(
                "entry {number} ({kind}) is not valid: {error}", number=entry.number, kind=entry.kind, error=error
            ) from None
        published.add(state.commitment)
    return state
