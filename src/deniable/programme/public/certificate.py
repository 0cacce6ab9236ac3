"""A printable page on one draw, for a court or an audited organisation: public facts alone, from a verified folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deniable.errors import DeniableError
from deniable.programme.calendar import due_in_words, moment_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.frozen_rounds import frozen_rounds
from deniable.programme.public.page import facts_of, templates
from deniable.programme.public.verify import VerificationResult
from deniable.programme.randomness.drand import Beacon
from deniable.programme.randomness.source import Dice, Drand, Source
from deniable.programme.transcript.chain import digest
from deniable.programme.transcript.draws import Draw
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import DrawnHidden, Freeze, FrozenDraw
from deniable.programme.transcript.outcomes import present_names
from deniable.programme.transcript.replay import parse, replay
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.programme.transcript.waiting import read_instant
from deniable.wording import count


class Row(NamedTuple):
    """A fact of the page."""

    name: str
    text: str
    code: str = ""
    """A hash or the like, in type that is easy to compare."""


@dataclass(frozen=True)
class Certificate:
    """What the page says."""

    name: str
    round: int
    audited: tuple[str, ...]
    """In the order drawn, with their numbers in the public register where they have some."""
    facts: tuple[Row, ...]
    shows: tuple[str, ...]
    does_not_show: tuple[str, ...]
    fingerprint: str
    extras: str
    """What a reader must install."""

    @property
    def page(self) -> str:
        """The text of the file: one sheet of A4 for all but very many targets."""
        return templates().get_template("certificate.html.j2").render(page=self)


def certificate(checked: VerificationResult, round_: int) -> Certificate:
    """Of a round that was drawn, and whose names are public; `checked` is the folder as it was verified."""
    parameters, entries = checked.parameters, [parse(line) for line in checked.lines]
    closing, draw, naming = _entries(parameters, entries, round_)
    before, when_named = (_state_before(parameters, entries, entry) for entry in (closing, naming))
    present = present_names(entries)
    has_value = isinstance(draw, FrozenDraw) and draw.value is not None
    return Certificate(
        name=checked.name,
        round=round_,
        audited=tuple(_registered(when_named, name, present.get(name, name)) for name in naming.audited),
        facts=(
            *_rules(checked, before),
            *_closed(parameters, closing, checked.lines[closing.number - 1]),
            *_value(parameters, closing, draw),
            *_drawn(draw, naming),
            *_witnessed(checked, round_),
            Row("Record", f"{count(checked.entries, 'entry', 'entries')}, signed; fingerprint", checked.head),
            Row("Public key", "of the office (Ed25519)", checked.public_key),
        ),
        shows=_shows(parameters.randomness, has_value=has_value, witnessed=_is_witnessed(checked, round_)),
        does_not_show=_does_not_show(checked, round_, has_value=has_value),
        fingerprint=checked.head,
        extras="programme,drand" if isinstance(parameters.randomness, Drand) else "programme",
    )


def _entries(parameters: Parameters, entries: Sequence[Entry], round_: int) -> tuple[Draw, Entry, Entry]:
    """The entries that closed the round, drew it and have the names; refused where it has no public names."""
    closing = next((entry for entry in entries if entry.closes_round and entry.round == round_), None)
    if closing is None:
        raise DeniableError(f"round {round_} is not closed in this folder; choose a round that was drawn")
    if not isinstance(closing, Draw):
        raise DeniableError(f"round {round_} was skipped, and nothing was drawn")
    draw: Entry = closing
    if isinstance(closing, Freeze):
        frozen = frozen_rounds(parameters, entries)[round_]
        if frozen.number is None:
            raise DeniableError(f"round {round_} is frozen, and not drawn: {frozen.sentence.rstrip('.')}")
        draw = entries[frozen.number - 1]
    if not isinstance(draw, Selection | DrawnHidden):
        return closing, draw, draw
    naming = next((entry for entry in entries if isinstance(entry, Reveal) and entry.of == round_), None)
    if naming is None:
        raise DeniableError(f"the names of round {round_} are not public before round {draw.public_after} is closed")
    return closing, draw, naming


def _state_before(parameters: Parameters, entries: Sequence[Entry], entry: Entry) -> PublicState:
    return replay(parameters, entries[: entry.number - 1])


def _registered(state: PublicState, name: str, present: str) -> str:
    """The name as it was published, with the number in the public register and the name since."""
    registered = state.registered_as(state.numbers[name])
    return name + (f" (no. {registered})" if registered else "") + (f", now {present}" if present != name else "")


def _rules(checked: VerificationResult, before: PublicState) -> list[Row]:
    parameters = checked.parameters
    targets = f"{count(parameters.audits, 'target')} of {len(before.present):,} that took part"
    how = dict(facts_of(parameters))["How targets are chosen"]
    return [
        Row("Rules", "programme.json, fixed when the programme began; SHA-256", checked.programme),
        Row("The draw", f"{targets}. {how[0].upper()}{how[1:]}."),
    ]


def _closed(parameters: Parameters, closing: Draw, line: str) -> list[Row]:
    late = f", {count(closing.late, 'day')} late: {closing.reason}" if closing.late else ", in time"
    due = Row("Due", f"{due_in_words(parameters.calendar, closing.round).words}")
    entry = f"entry {closing.number} of the record{late}"
    if not isinstance(closing, Freeze):
        return [due, Row("Closed", f"{entry}; SHA-256 of the entry", digest(line))]
    return [
        due,
        Row("Frozen", f"{entry}; SHA-256 of the entry", digest(line)),
        Row("Fixed then", "salted hash of the reports, the state and the secret seed", closing.inputs),
    ]


def _value(parameters: Parameters, closing: Draw, draw: Entry) -> list[Row]:
    source = parameters.randomness
    if source is None or not isinstance(closing, Freeze) or not isinstance(draw, FrozenDraw):
        return [Row("Public value", "none: the programme draws without public values")]
    if draw.value is None:
        return [Row("Public value", f"none. It did not come, or the office says so: {draw.reason}")]
    if isinstance(source, Drand) and closing.beacon is not None:
        out = moment_in_words(source.chain.time_of(closing.beacon)).words
        whose = "drand’s own (quicknet)" if source.is_known else "not drand’s own"
        return [
            Row("Public value", f"drand’s beacon {closing.beacon}, out {out}; signature", draw.value),
            Row("Chain", f"{whose}; chain hash", source.chain.hash),
            Row("Its public key", "with which the signature is checked", source.chain.public_key),
            Row("Mixed in", "SHA-256 of the signature", Beacon(closing.beacon, draw.value).randomness),
        ]
    assert isinstance(source, Dice)
    thrown = moment_in_words(read_instant(draw.time or "")).words
    return [Row("Public value", f"numbers thrown in public on {thrown}: {source.place}", draw.value)]


def _drawn(draw: Entry, naming: Entry) -> list[Row]:
    names = "" if naming is draw else f"; the names became public in entry {naming.number}"
    return [Row("Drawn", f"entry {draw.number}{names}")]


def _witnessed(checked: VerificationResult, round_: int) -> list[Row]:
    """When each witness that was asked for first saw the entry that fixed the draw."""
    fixed = next((one for one in checked.values.fixed if one.round == round_), None)
    if fixed is None:
        return []
    rows = []
    for witness in checked.witnessed:
        times = [one.time for one in witness.countersignatures if one.size >= fixed.entry]
        if times:
            when = "before" if min(times) < fixed.value_out else "after"
            seen = f"saw the frozen round by {moment_in_words(min(times)).words}, {when} the value was out"
            rows.append(Row(f"Witness {witness.name}", seen))
    return rows


def _is_witnessed(checked: VerificationResult, round_: int) -> bool:
    has_value = any(one.round == round_ for one in checked.values.fixed)
    return bool(checked.witnessed) and has_value and round_ not in checked.frozen_unseen


def _shows(source: Source | None, *, has_value: bool, witnessed: bool) -> tuple[str, ...]:
    whole = (
        "The record is whole up to this fingerprint, the office signed it, and the rules allowed these audits.",
        "A hash in an earlier entry, or in the rules, had fixed the secret seed of the draw.",
    )
    if not has_value:
        return whole
    if not isinstance(source, Drand):
        genuine = "The public value is what the office says was thrown; people who were there can confirm it."
    elif source.is_known:
        genuine = "The public value is genuine: drand signed it, and no one could choose it."
    else:
        genuine = "The chain that the rules name signed the public value. Who has the key of that chain knew it before."
    when = " Witnesses saw that entry before the value was out." if witnessed else ""
    fixed = "The frozen entry fixes, by a hash, all that the round was drawn from but for the public value."
    return (*whole, f"{fixed}{when}", genuine)


def _does_not_show(checked: VerificationResult, round_: int, *, has_value: bool) -> tuple[str, ...]:
    oversight = (
        "the oversight body that the rules name can, with deniable programme oversight replay"
        if checked.parameters.oversight
        else "this programme has named no oversight body that could"
    )
    found = [
        "That anyone reported these targets. The draw is partly random: an audit is no evidence of a report.",
        f"That the draw follows from the reports and the seed: readers cannot draw again; {oversight}.",
        "That the reports counted are those that came in.",
    ]
    if has_value and not _is_witnessed(checked, round_):
        found.append("When the round was frozen: copies or witnesses from before the value was out show that.")
    if not has_value:
        found.append("That the office did not foresee the draw: no public value went into it.")
    return tuple(found)
