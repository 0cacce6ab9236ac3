"""Small programmes and what they publish, for the tests of the transcript and of its verification."""

import datetime
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.randomness.source import Dice
from deniable.programme.transcript.chain import digest, signed_head, to_file
from deniable.programme.transcript.entries import KINDS, End, Override, Renamed, Round, Skip, Targets
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import Drawn, Freeze
from deniable.programme.transcript.hidden import capsule_digits, names_commitment
from deniable.programme.transcript.merkle import root
from deniable.programme.transcript.office_details import Details
from deniable.programme.transcript.outcomes import CarriedOut, NotCarriedOut
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.signatures import pem, public_key
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.waiting import written_instant

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
NAMES = ("Ashford", "Brühl", "Calais", "Delft")
START = datetime.date(2026, 1, 5)
RECIPIENT = "age1" + "q" * 58
DICE = Dice("the town hall")
THROWN = {"value": DICE.throws.read("1 2 3 4 5 6 " * 6 + "1 2 3")}
"""What people threw for some round."""


def lines_in(folder: Path) -> list[str]:
    """The entries' lines in a public folder, unchecked; the last line is the signed head."""
    return (folder / "transcript.jsonl").read_text(encoding="utf-8").splitlines()[:-1]


def fresh(number: int) -> str:
    """A commitment, or any other hash, of its own."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def made(**settings: Any) -> Parameters:
    fixed: dict[str, Any] = {
        "programme": "ab" * 16,
        "name": "Ports",
        "targets": NAMES,
        "mechanism": "race",
        "delta": 0.1,
        "calendar": Calendar(START, "1W", "Europe/Berlin"),
        "public_key": public_key(KEY).hex(),
        "commitment": fresh(0),
    }
    return Parameters(**fixed | settings)


def drawn(number: int, *audits: str, **fields: Any) -> tuple[str, int, dict[str, Any]]:
    """What an entry that closes round `number` says besides its place in the chain."""
    said: dict[str, Any] = {"audits": audits, "commitment": fresh(number), "late": 0, "reason": None, "sealed": None}
    return "round", number, said | fields


Said = tuple[str, int, dict[str, Any]]


def skip(number: int, **fields: Any) -> Said:
    """A round that is closed without a draw."""
    said = {"reason": "flood", "independent": True, "commitment": fresh(number), "late": 0, "during": number}
    return "skip", number, said | fields


def salt(number: int) -> bytes:
    return bytes.fromhex(fresh(1000 + number))


def selected(number: int, *audits: str, parameters: Parameters | None = None, salted: bytes | None = None) -> Said:
    """A draw of these targets, whose names follow: by default after two rounds."""
    parameters = made(reveal_after=2) if parameters is None else parameters
    targets = [parameters.targets.index(name) for name in audits]
    said = {
        "commitment": fresh(number),
        "late": 0,
        "reason": None,
        "sealed": None,
        "names": names_commitment(parameters.programme, number, salt(number) if salted is None else salted, targets),
        "capsule": "0" * capsule_digits(parameters.audits),
        "public_after": number + parameters.reveal_after,
    }
    return "selection", number, said


def revealed(round_: int, of: int, *audits: str, salted: bytes | None = None) -> Said:
    with_salt = (salt(of) if salted is None else salted).hex()
    return "reveal", round_, {"of": of, "audits": audits, "salt": with_salt, "reason": None}


def frozen(number: int, parameters: Parameters, **fields: Any) -> Said:
    """A round that is frozen, and waits for its public value."""
    source = parameters.randomness
    assert source is not None
    value_at = source.value_at(
        due := parameters.calendar.due(number), due + datetime.timedelta(days=fields.get("late", 0))
    )
    value = {"value_at": written_instant(value_at), "beacon": source.beacon(value_at)}
    said = {"commitment": fresh(number), "late": 0, "reason": None, "sealed": None}
    return "freeze", number, said | {"inputs": fresh(-number)} | value | fields


def drawn_with(of: int, value: str | None, *audits: str, **fields: Any) -> Said:
    """A frozen round that is drawn during the next one; without its public value where there is none."""
    said: dict[str, Any] = {"of": of, "value": value, "time": None, "reason": None, "audits": audits}
    return "drawn", of + 1, said | fields


def chained(parameters: Parameters, said: Iterable[Said]) -> list[Entry]:
    """Entries of this content, each in its place in the chain, whether the programme's rules allow them or not."""
    entries: list[Entry] = []
    previous = parameters.digest
    for number, (kind, round_, fields) in enumerate(said, start=1):
        entries.append(KINDS[kind](number=number, round=round_, previous=previous, **fields))
        previous = digest(entries[-1].line())
    return entries


def write(folder: Path, parameters: Parameters, entries: Sequence[Entry], key: bytes = KEY) -> None:
    """The folder as the office with this key would publish it, without the page."""
    folder.mkdir(exist_ok=True)
    lines = [entry.line() for entry in entries]
    signed = signed_head(key, parameters.digest, len(lines), root(lines))
    (folder / "programme.json").write_bytes(parameters.to_bytes())
    (folder / "transcript.jsonl").write_bytes(to_file(lines, signed))
    (folder / "public_key.pem").write_text(pem(public_key(KEY)), encoding="ascii")


@st.composite
def programmes(draw: st.DrawFn, most: int = 12) -> tuple[Parameters, list[Entry]]:
    """A valid programme with up to `most` entries of all kinds."""
    n_targets = draw(st.integers(2, 6))
    audits = draw(st.integers(1, min(2, n_targets)))
    max_gap = draw(st.none() | st.integers(-(-n_targets // audits), 6))
    parameters = made(
        targets=tuple(f"target {number}" for number in range(n_targets)),
        audits=audits,
        max_gap=max_gap,
        cooldown=draw(st.integers(0, 3)),
        oversight=draw(st.sampled_from([None, RECIPIENT])),
        randomness=draw(st.sampled_from([None, DICE])),
    )
    state, entries = PublicState.start(parameters), []
    for _ in range(draw(st.integers(0, most))):
        entry = _next_entry(draw, state)
        entries.append(entry)
        state = entry.after(state)
        if state.ended:
            break
    return parameters, entries


def _next_entry(draw: st.DrawFn, state: PublicState) -> Entry:
    why = draw(st.sampled_from(["Überschwemmung im Hafen", "by law", "\u65e5\u672c"]))
    struck = [number for number in range(state.n_targets) if state.latest_audit[number]]
    kinds = [_recovery, _end, _order, _rename, _details] + [_carried_out, _not_carried_out] * bool(struck)
    if state.waiting is None:
        kinds += [_skip] + [_round if state.parameters.randomness is None else _freeze] * 6
        kinds += [_leave] * (len(state.present) > max(2, state.parameters.audits))
        kinds += [_join] * (state.parameters.max_gap is None)
    else:
        kinds += [_drawn] * 6
    return draw(st.sampled_from(kinds))(draw, state, why)


def _decided(draw: st.DrawFn, state: PublicState, why: str) -> dict[str, Any]:
    return {"reason": why, "independent": draw(st.booleans()), "during": state.open_round + draw(st.integers(0, 3))}


def _round(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    return Round.following(state, audits=_audits(draw, state), **_closing(draw, state, why))


def _freeze(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    closing = _closing(draw, state, why)
    day = state.parameters.calendar.day(state.open_round) + datetime.timedelta(days=min(closing["late"], 3))
    said = {"inputs": fresh(10_000 + state.entries), "beacon": None, "value_at": f"{day}T10:00:00Z"}
    return Freeze.following(state, **said, **closing)


def _drawn(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    assert state.waiting is not None
    at = {**THROWN, "time": state.waiting.value_at}
    thrown: dict[str, Any] = draw(st.sampled_from([at, at, dict.fromkeys(at)]))
    reason = None if thrown["value"] else why
    return Drawn.following(state, of=state.waiting.round, audits=_audits(draw, state), **thrown, reason=reason)


def _skip(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    return Skip.following(state, commitment=fresh(state.entries + 1), late=0, **_decided(draw, state, why))


def _order(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    ordered = draw(st.lists(st.sampled_from(state.present), min_size=1, unique=True))
    return Override.following(state, audits=ordered, **_decided(draw, state, why))


def _leave(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    most = len(state.present) - max(2, state.parameters.audits)
    gone = draw(st.lists(st.sampled_from(state.present), min_size=1, max_size=most, unique=True))
    return Targets.following(state, added=[], removed=gone, **_decided(draw, state, why))


def _join(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    name = f"newcomer {state.entries + 1}"
    return Targets.following(state, added=[name], removed=[], **_decided(draw, state, why))


def _struck(draw: st.DrawFn, state: PublicState) -> dict[str, Any]:
    """An audit that is open."""
    number = draw(st.sampled_from(np.flatnonzero(state.latest_audit).tolist()))
    return {"of": int(state.latest_audit[number]), "target": state.targets[number]}


def _not_carried_out(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    return NotCarriedOut.following(state, **_struck(draw, state), **_decided(draw, state, why))


def _carried_out(draw: st.DrawFn, state: PublicState, _: str) -> Entry:
    audit, during, calendar = (
        _struck(draw, state),
        state.open_round + draw(st.integers(0, 3)),
        state.parameters.calendar,
    )
    day = draw(st.dates(calendar.first_day(audit["of"]), calendar.day(during))).isoformat()
    return CarriedOut.following(state, **audit, day=day, during=during, reason=None)


def _rename(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    target, name = draw(st.sampled_from(state.present)), f"renamed {state.entries + 1}"
    return Renamed.following(state, target=target, name=name, **_decided(draw, state, why))


def _details(draw: st.DrawFn, state: PublicState, _: str) -> Entry:
    contact, hotline = f"Room {state.entries}", draw(st.sampled_from([None, "https://hotline.example.org"]))
    day = state.parameters.calendar.day(max(1, state.closed)).isoformat()
    return Details.following(state, contact=contact, hotline=hotline, day=day, reason=None)


def _recovery(draw: st.DrawFn, state: PublicState, why: str) -> Entry:
    sure, during = draw(st.booleans()), state.open_round + draw(st.integers(0, 3))
    said = {"inputs_lost": state.waiting is not None, "paused": sure, "complete": sure, "during": during, "reason": why}
    return Recovery.following(state, lost=1, commitment=fresh(state.entries + 1), **said)


def _end(_: st.DrawFn, state: PublicState, why: str) -> Entry:
    return End.following(state, reason=why)


def _closing(draw: st.DrawFn, state: PublicState, why: str) -> dict[str, Any]:
    """The fields of every entry that closes a round to draw it."""
    late, number = draw(st.integers(0, 2)), state.entries + 1
    sealed = None if state.parameters.oversight is None else fresh(-number)
    return {"commitment": fresh(number), "late": late, "reason": why if late else None, "sealed": sealed}


def _audits(draw: st.DrawFn, state: PublicState) -> list[str]:
    """By the rules as they were when the round was frozen, if it was."""
    history = state.history if state.waiting is None else state.hidden.before
    assert history is not None
    chosen = np.zeros_like(history.present)
    audits = []
    for _ in range(state.parameters.audits):
        eligible = state.parameters.rules.eligible(history, chosen, state.parameters.audits)
        target = draw(st.sampled_from(np.flatnonzero(eligible[0]).tolist()))
        chosen[0, target] = True
        audits.append(state.targets[target])
    return audits
