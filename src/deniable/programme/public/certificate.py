"""A printable page on one draw, for a court or an audited organisation: public facts alone, from a verified folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.programme.calendar import due_in_words, moment_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.frozen_rounds import frozen_rounds
from deniable.programme.public.page import templates
from deniable.programme.public.verify import VerificationResult
from deniable.programme.randomness.drand import Beacon
from deniable.programme.randomness.source import Dice, Drand, Source
from deniable.programme.transcript.chain import digest
from deniable.programme.transcript.closings import NO_REASON, Closing
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import DrawnHidden, Freeze, FrozenDraw
from deniable.programme.transcript.outcomes import present_names
from deniable.programme.transcript.replay import parse, replay
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.programme.transcript.waiting import read_instant


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
    say: Voice
    is_first_language: bool
    """Of the programme: the command that writes the page again need not name it."""

    @property
    def page(self) -> str:
        """The text of the file: one sheet of A4 for all but very many targets."""
        say = self.say
        template = templates().get_template("certificate.html.j2")
        return template.render(page=self, say=say, counted=say.counted, html=say.html)


def certificate(checked: VerificationResult, round_: int, say: Voice) -> Certificate:
    """Of a round that was drawn, and whose names are public; `checked` is the folder as it was verified."""
    parameters, entries = checked.parameters, [parse(line) for line in checked.lines]
    closing, draw, naming = _entries(parameters, entries, round_)
    before, when_named = (_state_before(parameters, entries, entry) for entry in (closing, naming))
    present = present_names(entries)
    has_value = isinstance(draw, FrozenDraw) and draw.value is not None
    record = say.counted(
        "{number} entry, signed; fingerprint", "{number} entries, signed; fingerprint", checked.entries
    )
    return Certificate(
        name=checked.name,
        round=round_,
        audited=tuple(_registered(when_named, name, present.get(name, name), say) for name in naming.audited),
        facts=(
            *_rules(checked, before, say),
            *_closed(parameters, closing, checked.lines[closing.number - 1], say),
            *_value(parameters, closing, draw, say),
            *_drawn(draw, naming, say),
            *_witnessed(checked, round_, say),
            Row(say("Record"), record, checked.head),
            Row(say("Public key"), say("of the office (Ed25519)"), checked.public_key),
        ),
        shows=_shows(parameters.randomness, say, has_value=has_value, witnessed=_is_witnessed(checked, round_)),
        does_not_show=_does_not_show(checked, round_, say, has_value=has_value),
        fingerprint=checked.head,
        say=say,
        is_first_language=say.language.code == parameters.languages[0],
    )


def _entries(parameters: Parameters, entries: Sequence[Entry], round_: int) -> tuple[Closing, Entry, Entry]:
    """The entries that closed the round, drew it and have the names; refused where it has no public names."""
    closing = next((entry for entry in entries if entry.closes_round and entry.round == round_), None)
    if closing is None:
        raise DeniableError(f"round {round_} is not closed in this folder; choose a round that was drawn")
    if not isinstance(closing, Closing):
        raise DeniableError(f"round {round_} was skipped, and nothing was drawn")
    draw: Entry = closing
    if isinstance(closing, Freeze):
        frozen = frozen_rounds(parameters, entries, parameters.voice())[round_]
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


def _registered(state: PublicState, name: str, present: str, say: Voice) -> str:
    """The name as it was published, with the number in the public register and the name since."""
    registered = state.registered_as(state.numbers[name])
    if registered and present != name:
        return say("{name} (no. {registered}), now {present}", name=name, registered=registered, present=present)
    if registered:
        return say("{name} (no. {registered})", name=name, registered=registered)
    return say("{name}, now {present}", name=name, present=present) if present != name else name


def _rules(checked: VerificationResult, before: PublicState, say: Voice) -> list[Row]:
    parameters = checked.parameters
    targets = say.counted(
        "{number} {target} of {all} that took part.",
        "{number} {targets} of {all} that took part.",
        parameters.audits,
        all=len(before.present),
    )
    how = (
        say("Race: chance decides, and each report that waits makes its {target} somewhat more likely to be drawn.")
        if parameters.mechanism == "race"
        else say(
            "Counter auditing (tca): chance is added to the number of reports that wait about each {target}, and the "
            "largest result is drawn."
        )
    )
    fixed = say("programme.json, fixed when the programme began; SHA-256")
    return [Row(say("Rules"), fixed, checked.programme), Row(say("The draw"), f"{targets} {how}")]


def _closed(parameters: Parameters, closing: Closing, line: str, say: Voice) -> list[Row]:
    due = Row(say("Due"), due_in_words(parameters.calendar, closing.round, say).words)
    entry = _entry(closing, say)
    if not isinstance(closing, Freeze):
        return [due, Row(say("Closed"), entry, digest(line))]
    fixed = say("salted hash of the reports, the state and the secret seed")
    return [due, Row(say("Frozen"), entry, digest(line)), Row(say("Fixed then"), fixed, closing.inputs)]


def _entry(closing: Closing, say: Voice) -> str:
    if not closing.late:
        return say("entry {entry} of the record, in time; SHA-256 of the entry", entry=closing.number)
    if closing.reason == NO_REASON:
        return say.counted(
            "entry {entry} of the record, {number} day late: no reason was given; SHA-256 of the entry",
            "entry {entry} of the record, {number} days late: no reason was given; SHA-256 of the entry",
            closing.late,
            entry=closing.number,
        )
    return say.counted(
        "entry {entry} of the record, {number} day late: {reason}; SHA-256 of the entry",
        "entry {entry} of the record, {number} days late: {reason}; SHA-256 of the entry",
        closing.late,
        entry=closing.number,
        reason=closing.reason,
    )


def _value(parameters: Parameters, closing: Closing, draw: Entry, say: Voice) -> list[Row]:
    source, name = parameters.randomness, say("Public value")
    if source is None or not isinstance(closing, Freeze) or not isinstance(draw, FrozenDraw):
        return [Row(name, say("none: the programme draws without public values"))]
    if draw.value is None:
        return [Row(name, say("none. It did not come, or the office says so: {reason}", reason=draw.reason))]
    if isinstance(source, Drand) and closing.beacon is not None:
        out = moment_in_words(source.chain.time_of(closing.beacon), say).words
        beacon = say("drand’s beacon {beacon}, out {moment}; signature", beacon=str(closing.beacon), moment=out)
        whose = say("drand’s own (quicknet); chain hash") if source.is_known else say("not drand’s own; chain hash")
        return [
            Row(name, beacon, draw.value),
            Row(say("Chain"), whose, source.chain.hash),
            Row(say("Its public key"), say("with which the signature is checked"), source.chain.public_key),
            Row(say("Mixed in"), say("SHA-256 of the signature"), Beacon(closing.beacon, draw.value).randomness),
        ]
    assert isinstance(source, Dice)
    thrown = moment_in_words(read_instant(draw.time or ""), say).words
    told = say("numbers thrown in public on {moment}: {place}", moment=thrown, place=say.apart(source.place))
    return [Row(name, told, draw.value)]


def _drawn(draw: Entry, naming: Entry, say: Voice) -> list[Row]:
    if naming is draw:
        return [Row(say("Drawn"), say("entry {entry}", entry=draw.number))]
    told = say("entry {entry}; the names became public in entry {naming}", entry=draw.number, naming=naming.number)
    return [Row(say("Drawn"), told)]


def _witnessed(checked: VerificationResult, round_: int, say: Voice) -> list[Row]:
    """When each witness that was asked for first saw the entry that fixed the draw."""
    fixed = next((one for one in checked.values.fixed if one.round == round_), None)
    if fixed is None:
        return []
    rows = []
    for witness in checked.witnessed:
        times = [one.time for one in witness.countersignatures if one.size >= fixed.entry]
        if times:
            moment = moment_in_words(min(times), say).words
            seen = (
                say("saw the frozen round by {moment}, before the value was out", moment=moment)
                if min(times) < fixed.value_out
                else say("saw the frozen round by {moment}, after the value was out", moment=moment)
            )
            rows.append(Row(say("Witness {name}", name=witness.name), seen))
    return rows


def _is_witnessed(checked: VerificationResult, round_: int) -> bool:
    has_value = any(one.round == round_ for one in checked.values.fixed)
    return bool(checked.witnessed) and has_value and round_ not in checked.frozen_unseen


def _shows(source: Source | None, say: Voice, *, has_value: bool, witnessed: bool) -> tuple[str, ...]:
    whole = (
        say("The record is whole up to this fingerprint, the office signed it, and the rules allowed these {audits}."),
        say("A hash in an earlier entry, or in the rules, had fixed the secret seed of the draw."),
    )
    if not has_value:
        return whole
    if not isinstance(source, Drand):
        genuine = say("The public value is what the office says was thrown; people who were there can confirm it.")
    elif source.is_known:
        genuine = say("The public value is genuine: drand signed it, and no one could choose it.")
    else:
        genuine = say(
            "The chain that the rules name signed the public value. Who has the key of that chain knew it before."
        )
    fixed = say("The frozen entry fixes, by a hash, all that the round was drawn from but for the public value.")
    if witnessed:
        fixed = " ".join((fixed, say("Witnesses saw that entry before the value was out.")))
    return (*whole, fixed, genuine)


def _does_not_show(checked: VerificationResult, round_: int, say: Voice, *, has_value: bool) -> tuple[str, ...]:
    follows = (
        say(
            "That the draw follows from the reports and the seed: readers cannot draw again; the oversight body that "
            "the rules name can, with deniable programme oversight replay."
        )
        if checked.parameters.oversight
        else say(
            "That the draw follows from the reports and the seed: readers cannot draw again; this programme has named "
            "no oversight body that could."
        )
    )
    found = [
        say("That anyone reported these {targets}. The draw is partly random: {an_audit} is no proof of a report."),
        follows,
        say("That the reports counted are those that came in."),
    ]
    if has_value and not _is_witnessed(checked, round_):
        found.append(say("When the round was frozen: copies or witnesses from before the value was out show that."))
    if not has_value:
        found.append(say("That the office did not foresee the draw: no public value went into it."))
    return tuple(found)
