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
from deniable.programme.transcript.chain import digest, signed_head, to_file
from deniable.programme.transcript.entries import KINDS, End, Override, Recovery, Renamed, Round, Skip, Targets
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.hidden import capsule_digits, names_commitment
from deniable.programme.transcript.outcomes import CarriedOut, NotCarriedOut
from deniable.programme.transcript.signatures import pem, public_key
from deniable.programme.transcript.state import PublicState

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
NAMES = ("Ashford", "Brühl", "Calais", "Delft")
START = datetime.date(2026, 1, 5)
RECIPIENT = "age1" + "q" * 58


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
    head = digest(lines[-1]) if lines else parameters.digest
    signed = signed_head(key, parameters.digest, len(lines), head)
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
    entry: Entry
    number, present = state.entries + 1, state.present
    independent, why = draw(st.booleans()), draw(st.sampled_from(["Überschwemmung im Hafen", "by law", "\u65e5\u672c"]))
    during = state.open_round + draw(st.integers(0, 3))
    decided = {"reason": why, "independent": independent, "during": during}
    struck = [number for number in range(state.n_targets) if state.latest_audit[number]]
    room = state.parameters.audits * (state.parameters.max_gap or 100) - len(present)
    spare = len(present) - max(2, state.parameters.audits)
    kinds = ["round"] * 6 + ["skip", "override", "recovery", "end"]
    kinds += ["leave"] * (spare > 0) + ["join"] * (room > 0 and state.parameters.max_gap is None)
    kinds += ["carried-out", "not-carried-out"] * bool(struck) + ["rename"]
    match draw(st.sampled_from(kinds)):
        case "round":
            late = draw(st.integers(0, 2))
            entry = Round.following(
                state,
                audits=_audits(draw, state),
                commitment=fresh(number),
                late=late,
                reason=why if late else None,
                sealed=None if state.parameters.oversight is None else fresh(-number),
            )
        case "skip":
            entry = Skip.following(state, commitment=fresh(number), late=0, **decided)
        case "override":
            ordered = draw(st.lists(st.sampled_from(present), min_size=1, unique=True))
            entry = Override.following(state, audits=ordered, **decided)
        case "leave":
            gone = draw(st.lists(st.sampled_from(present), min_size=1, max_size=spare, unique=True))
            entry = Targets.following(state, added=[], removed=gone, **decided)
        case "join":
            entry = Targets.following(state, added=[f"newcomer {number}"], removed=[], **decided)
        case "not-carried-out":
            target = draw(st.sampled_from(struck))
            audit = {"of": int(state.latest_audit[target]), "target": state.targets[target]}
            entry = NotCarriedOut.following(state, **audit, **decided)
        case "carried-out":
            target = draw(st.sampled_from(struck))
            of, calendar = int(state.latest_audit[target]), state.parameters.calendar
            day = draw(st.dates(calendar.first_day(of), calendar.day(during))).isoformat()
            audit = {"of": of, "target": state.targets[target], "day": day, "during": during, "reason": None}
            entry = CarriedOut.following(state, **audit)
        case "rename":
            entry = Renamed.following(state, target=draw(st.sampled_from(present)), name=f"renamed {number}", **decided)
        case "recovery":
            said = {"paused": independent, "complete": independent, "during": during, "reason": why}
            entry = Recovery.following(state, lost=1, commitment=fresh(number), **said)
        case _:
            entry = End.following(state, reason=why)
    return entry


def _audits(draw: st.DrawFn, state: PublicState) -> list[str]:
    chosen = np.zeros_like(state.history.present)
    audits = []
    for _ in range(state.parameters.audits):
        eligible = state.parameters.rules.eligible(state.history, chosen, state.parameters.audits)
        target = draw(st.sampled_from(np.flatnonzero(eligible[0]).tolist()))
        chosen[0, target] = True
        audits.append(state.targets[target])
    return audits
