"""An offline check of what a programme published: complete, unaltered, signed, and by its own rules.

It needs the public folder and nothing else. What it cannot tell from one copy alone is whether the office keeps two
stories, one for each reader; an earlier copy, or an earlier fingerprint (the hash of the last entry), tells. Nor does a
copy tell when its entries were made: copies taken soon after each due date do. Witnesses whom the reader trusts tell
both, by the countersignatures in the folder.
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from deniable.errors import DeniableError, check_whole
from deniable.message import Message, all_of
from deniable.programme.parameters import Parameters
from deniable.programme.public import compared, warnings
from deniable.programme.public.compared import Compared
from deniable.programme.public.cosignatures import Witnessed, check_witnesses, read_countersignatures
from deniable.programme.public.folder import (
    CHECKPOINT,
    PROGRAMME,
    PUBLIC_KEY,
    TRANSCRIPT,
    exists,
    published_names,
    read_published,
)
from deniable.programme.public.values import Fixed, Values, check_values
from deniable.programme.transcript.chain import Head, check_head, check_lines, digest, from_file, parse_head
from deniable.programme.transcript.coverage import Coverage
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parsed, replay
from deniable.programme.transcript.signatures import pem
from deniable.programme.transcript.state import PublicState
from deniable.programme.witness.notes import VerifierKey, signed_checkpoint
from deniable.wording import count


@dataclass(frozen=True)
class VerificationResult:
    """What was verified, and what a reader should look at all the same."""

    name: str
    programme: str
    """SHA-256 of programme.json."""
    public_key: str
    entries: int
    rounds: int
    """Closed so far, with a draw or without."""
    head: str
    coverage: Coverage
    remarkable: tuple[Entry, ...]
    """All entries but rounds closed in time: skips, overrides, changes of targets and the like, and late rounds."""
    overdue: tuple[int, ...]
    """Rounds that are due but not closed."""
    early: tuple[int, ...]
    """Rounds that are closed but not due yet."""
    hidden: tuple[int, ...]
    """Rounds whose names are not public yet."""
    withheld: tuple[int, ...]
    """Those of them that a round after the last one would reveal, had it been due by now: the end reveals them."""
    values: Values
    """With which public values the rounds were drawn."""
    slow: tuple[Message, ...]
    """Of a round that waits for longer than it should."""
    pages: Mapping[str, Compared]
    """index.html, and the pages in further languages, by name: each is what the transcript says (`matches`), is not
    (`differs`) or was not compared (`missing`, or `unchecked` where jinja2 is not installed). In a language of
    `parameters.translations` the sentences are the office's own, and nothing tells whether they are right.
    """
    instructions: Compared
    """VERIFY.md, in the same way."""
    calendar_files: Mapping[str, Compared]
    """calendar.ics, and those in further languages, in the same way."""
    unexpected: tuple[str, ...]
    """Pages and calendars in the folder, in languages that the programme has not."""
    checkpoint: Compared
    """In the same way."""
    missing: tuple[str, ...]
    """Files of the folder without which the check can do, and which are not there."""
    ended: bool
    witnessed: tuple[Witnessed, ...]
    """What each witness that was asked for countersigned, in the order in which they were."""
    at_least: int | None
    """How many of them must have."""
    left_aside: tuple[str, ...]
    """Why files among the countersignatures were not read."""
    last_closing: int
    """The number of the entry that closed, or drew, the last round, or 0."""
    parameters: Parameters = field(repr=False)
    lines: tuple[str, ...] = field(repr=False)
    """The entries that were checked, byte for byte: use these, and do not read the folder again."""
    head_line: str = field(repr=False)
    """The line of the signed head."""

    def seen_by(self, entry_number: int, before: datetime.datetime | None = None) -> int:
        """How many of the witnesses asked for countersigned at least so many entries, before that time if there is one.

        A countersignature names the whole second in which it was made; `before` should be a whole second, too.
        """
        return sum(one.has_seen(entry_number, before) for one in self.witnessed)

    @property
    def unseen(self) -> tuple[Fixed, ...]:
        """Rounds that too few of the witnesses asked for saw frozen before the public value was out."""
        needed = (self.at_least or 1) if self.witnessed else 0
        return tuple(one for one in self.values.fixed if self.seen_by(one.entry, one.value_out) < needed)

    @property
    def frozen_unseen(self) -> tuple[int, ...]:
        return tuple(one.round for one in self.unseen)

    def watched_from(self, at_least: int) -> int:
        """The number of entries from which on so many witnesses had begun to countersign, as the folder shows it."""
        begun = sorted(one.countersignatures[0].size for one in self.witnessed if one.countersignatures)
        return begun[at_least - 1] if len(begun) >= at_least else self.entries

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not make the transcript wrong, but is not as it should be."""
        return tuple(map(str, self.remarks))

    @property
    def remarks(self) -> tuple[Message, ...]:
        """The same, for the console to say in other languages."""
        after = self.parameters.reveal_after
        found = [
            *warnings.missing(self.overdue),
            *warnings.early(self.early),
            *warnings.unnamed([one for one in self.hidden if one + after in self.overdue or one in self.withheld]),
            *self.slow,
            *warnings.other_pages(self.pages),
            *warnings.other_calendars(self.calendar_files),
            *warnings.unexpected(self.unexpected),
        ]
        if self.instructions == "differs":
            found.append(warnings.OTHER_INSTRUCTIONS)
        if self.checkpoint == "differs":
            found.append(warnings.OTHER_CHECKPOINT)
        return (*found, *map(warnings.at_the_terminal, self._of_witnesses()))

    def _of_witnesses(self) -> Iterator[str]:
        """Only the terminal asks for witnesses."""
        if self.at_least is not None and self.seen_by(self.entries) < self.at_least:
            seen = f"fewer than {count(self.at_least, 'witness', 'witnesses')} countersigned"
            yield f"{seen} the entries after entry {self.last_closing} so far"
        if self.frozen_unseen:
            yield warnings.frozen_unseen(self.frozen_unseen, self.at_least or 1)
        yield from self.left_aside

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        say = self.parameters.voice()
        return {
            "name": self.name,
            "programme": self.programme,
            "public_key": self.public_key,
            "entries": self.entries,
            "rounds": self.rounds,
            "head": self.head,
            "holds_from": self.coverage.holds_from,
            "lapses": [lapse._asdict() | {"because": say(lapse.because)} for lapse in self.coverage.lapses],
            "remarkable": [entry.described(self.parameters.calendar, say) for entry in self.remarkable],
            "overdue": list(self.overdue),
            "early": list(self.early),
            "hidden": list(self.hidden),
            "draws": self.values.to_dict(),
            "pages": dict(self.pages),
            "own_translations": sorted(self.parameters.translations),
            "instructions": self.instructions,
            "calendar_files": dict(self.calendar_files),
            "unexpected": list(self.unexpected),
            "checkpoint": self.checkpoint,
            "missing": list(self.missing),
            "ended": self.ended,
            "witnessed": [one.to_dict() for one in self.witnessed],
            "at_least": self.at_least,
            "frozen_unseen": list(self.frozen_unseen),
            "warnings": list(self.warnings),
        }


def verify(
    folder: Path,
    against: Path | str | None = None,
    now: datetime.datetime | None = None,
    *,
    witnesses: Sequence[VerifierKey] = (),
    at_least: int | None = None,
) -> VerificationResult:
    """Check the public folder; refuses with the reason where anything does not fit.

    `against` is an earlier copy of the folder or of its transcript.jsonl, or an earlier fingerprint. `now`, by default
    the present, is the time by which rounds are due. `witnesses` are those whose countersignatures are read; `at_least`
    so many of them must have countersigned the entries up to that which closed the last round.
    """
    folder = Path(folder)
    raw, parameters, lines, head_line, head, entries, state = _checked(folder)
    if against is not None:
        _check_not_mistaken(against, parameters, entries)
        _check_against(against, parameters, raw, lines)
    asked = check_witnesses(witnesses, parameters)
    witnessed, left_aside = read_countersignatures(folder, parameters, lines, asked) if asked else ((), ())
    moment = datetime.datetime.now(datetime.UTC) if now is None else now
    due, planned = state.rounds_due(moment), parameters.calendar.rounds_due(moment)
    hidden = tuple(draw.round for draw in state.hidden.draws)
    values = Values.of(parameters, entries, state.waiting)
    result = VerificationResult(
        name=parameters.name,
        programme=parameters.digest,
        public_key=parameters.public_key,
        entries=state.entries,
        rounds=state.closed,
        head=state.head,
        coverage=state.coverage,
        remarkable=tuple(entry for entry in entries if not entry.is_usual),
        overdue=() if state.ended else tuple(range(state.closed + 1, due + 1)),
        early=tuple(range(due + 1, state.closed + 1)),
        hidden=hidden,
        withheld=tuple(number for number in hidden if due < number + parameters.reveal_after <= planned),
        values=values,
        slow=tuple(values.warnings(moment)),
        pages=compared.pages(folder, parameters, entries, state),
        instructions=compared.instructions(folder, parameters),
        calendar_files=compared.calendars(folder, parameters, state),
        unexpected=compared.unexpected(folder, parameters),
        checkpoint=compared.compared(folder / CHECKPOINT, lambda: signed_checkpoint(parameters, head).to_bytes()),
        missing=tuple(name for name in published_names(parameters) if not (folder / name).exists()),
        ended=state.ended,
        witnessed=witnessed,
        at_least=at_least,
        left_aside=left_aside,
        last_closing=next((entry.number for entry in reversed(entries) if entry.closes_round or entry.is_drawn), 0),
        parameters=parameters,
        lines=tuple(lines),
        head_line=head_line,
    )
    if at_least is not None:
        _check_witnessed(result, at_least)
    return result


class _Checked(NamedTuple):
    """What is in a folder that fits together."""

    raw: bytes
    """Of programme.json."""
    parameters: Parameters
    lines: Sequence[str]
    head_line: str
    head: Head
    entries: Sequence[Entry]
    state: PublicState


def _checked(folder: Path) -> _Checked:
    """Refuse rules, entries, signed head or public key that do not fit one another."""
    raw = read_published(folder / PROGRAMME)
    parameters = Parameters.from_bytes(raw)
    public_key = parameters.verification_key
    lines, head_line = from_file(read_published(folder / TRANSCRIPT))
    head = parse_head(head_line)
    if head.entries != len(lines):
        raise DeniableError(
            "{transcript} must have the {entries} entries that its signed head speaks of, got "
            "{lines}: lines were taken out or added",
            transcript=TRANSCRIPT,
            entries=head.entries,
            lines=len(lines),
        )
    entries = parsed(lines)
    state = replay(parameters, entries)
    if state.owes_figures:
        raise DeniableError("the yearly figures must follow on the last entry, and do not: a line was taken out")
    if head.root != state.tree.root.hex():
        if not lines:
            raise DeniableError(
                "the empty transcript is not the one that the signed head speaks of: one of the two was changed"
            )
        raise DeniableError(
            "entry {last} is not the one that the signed head speaks of: one of the two was changed", last=len(lines)
        )
    check_head(public_key, parameters.digest, head)
    if not state.ended:
        state.check_revealed()
    check_values(parameters, entries)
    if (folder / PUBLIC_KEY).exists() and read_published(folder / PUBLIC_KEY) != pem(public_key).encode("ascii"):
        raise DeniableError(
            "{public_key} is not the public key that {programme} names", public_key=PUBLIC_KEY, programme=PROGRAMME
        )
    return _Checked(raw, parameters, lines, head_line, head, entries, state)


def _check_witnessed(result: VerificationResult, at_least: int) -> None:
    """The newest entries may be minutes old: those since the last round was closed are not asked for."""
    check_whole("the number of witnesses", at_least, least=1)
    if at_least > len(result.witnessed):
        raise DeniableError(
            "name every witness that may count: at least {at_least} must have countersigned, got the names of {named}",
            at_least=at_least,
            named=len(result.witnessed),
        )
    unseen = [one.round for one in result.unseen if one.entry > result.watched_from(at_least)]
    if unseen:
        raise DeniableError.of(
            len(unseen),
            "fewer than {at_least} of the witnesses saw round {unseen} frozen before the public value was out: the "
            "office may have chosen what it drew from when it knew the value",
            "fewer than {at_least} of the witnesses saw rounds {unseen} frozen before the public value was out: the "
            "office may have chosen what it drew from when it knew the value",
            at_least=at_least,
            unseen=all_of(map(str, unseen)),
        )
    seen = result.seen_by(result.last_closing)
    if seen < at_least:
        if not result.rounds:
            raise DeniableError(
                "{programme} must be countersigned by at least {at_least} of the witnesses, and is by {seen}; if it is "
                "new, check again when the others have seen it",
                programme=PROGRAMME,
                at_least=at_least,
                seen=seen,
            )
        raise DeniableError(
            "entry {entry}, of round {round}, must be countersigned by at least {at_least} of the witnesses, and is by "
            "{seen}; if it is new, check again when the others have seen it",
            entry=result.last_closing,
            round=result.rounds,
            at_least=at_least,
            seen=seen,
        )


def _check_not_mistaken(against: Path | str, parameters: Parameters, entries: Sequence[Entry]) -> None:
    """Refuse what looks like a fingerprint and is none, and what is neither that nor a place."""
    text = str(against)
    if exists(text):
        return
    hexadecimal = re.fullmatch("([0-9a-fA-F]{4,})(?:…|[.]{3})?", text)
    if hexadecimal is None:
        raise DeniableError(
            "an earlier copy must be a folder, its transcript.jsonl or a fingerprint of 64 "
            "characters, got {text}, which is none of them",
            text=text,
        )
    if len(hexadecimal[1]) != 64:
        raise DeniableError(
            "a fingerprint must have 64 characters, got {hexadecimal}: give it in full", hexadecimal=len(hexadecimal[1])
        )
    if text.lower() == parameters.public_key:
        raise DeniableError(
            "{text} is the office's public key: give the fingerprint, the last line that verify prints", text=text
        )
    commitments = [parameters.commitment, *(entry.new_commitment for entry in entries)]
    if text.lower() in commitments:
        raise DeniableError(
            "{text} is the commitment to the random number of a round: give the fingerprint of the "
            "record, the last line that verify prints",
            text=text,
        )


def _check_against(against: Path | str, parameters: Parameters, raw: bytes, lines: Sequence[str]) -> None:
    """Refuse a transcript that does not continue the earlier one."""
    earlier = Path(against)
    if not exists(earlier):
        if str(against).lower() not in [parameters.digest, *map(digest, lines)]:
            raise DeniableError(
                "the transcript never had the fingerprint {against}: it was rewritten, or it is "
                "older than the fingerprint, or that was copied wrong",
                against=against,
            )
        return
    if earlier.is_dir():
        if read_published(earlier / PROGRAMME) != raw:
            raise DeniableError("{programme} is not the same as in the earlier copy", programme=PROGRAMME)
        earlier = earlier / TRANSCRIPT
    before, before_line = from_file(read_published(earlier))
    before_head = parse_head(before_line)
    if before_head.entries != len(before):
        raise DeniableError("the earlier copy is damaged: its signed head speaks of another number of entries")
    for number, (old, new) in enumerate(zip(before, lines, strict=False), start=1):
        if old != new:
            raise DeniableError(
                "entry {number} is not the same as in the earlier copy: the transcript was rewritten", number=number
            )
    if len(before) > len(lines):
        raise DeniableError(
            "the earlier copy has {before} entries and this one {lines}: entries were taken back, "
            "or the copies are in the wrong order",
            before=len(before),
            lines=len(lines),
        )
    try:
        check_lines(parameters.verification_key, parameters.digest, before, before_line)
    except DeniableError:
        raise DeniableError("the signed head of the earlier copy is not one that this transcript ever had") from None
