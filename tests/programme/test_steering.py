"""An office that tries to steer a draw, and who shows it.

The office has every key of its own, leaves out every check of its own and signs what it likes. It wants one target
drawn. Each test says what it does and who shows it: `verify`, a witness, or `oversight replay`.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyrage
import pytest
from tests.programme.frozen_offices import DICE, DRAND, OWN, draw, freeze, made, value_of
from tests.programme.offices import TARGETS, Clock, Office, make_tables_at_once
from tests.programme.public import published
from tests.programme.public.published import chained, fresh, frozen, lines_in
from tests.programme.randomness.own_chain import OwnChain

from deniable.errors import DeniableError
from deniable.programme import rounds
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public.countersign import Countersigning, countersign
from deniable.programme.public.publish import contents
from deniable.programme.public.verify import verify
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import QUICKNET
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.secrets.oversight import Replayed, Seals, replay
from deniable.programme.secrets.sealed_inputs import Inputs
from deniable.programme.transaction import SIGNING_KEY, Transaction
from deniable.programme.transcript.chain import digest, signed_head, to_file
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import Drawn, PublicValue, mixed_in
from deniable.programme.transcript.merkle import root
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.waiting import Waiting, written_instant

IDENTITY = pyrage.x25519.Identity.generate()
RECIPIENT = str(IDENTITY.to_public())
WANTED = 2
"""The target that the office wants drawn in round 2, by its number."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)


@pytest.fixture
def public(tmp_path: Path) -> Path:
    return tmp_path / "public"


def begun(folder: Path, source: Drand | Dice = DICE, witness: "Witness | None" = None) -> Office:
    """An office that was honest in round 1, and has reports about another target than the one it wants in round 2."""
    office = made(folder, randomness=source, oversight=RECIPIENT)
    public = office.programme.publish(folder / "public")
    office.programme.report({TARGETS[0]: 3})
    if witness is not None:
        witness.looks(public, office.clock.now)
    waiting = freeze(office)
    office.programme.publish()
    if witness is not None:
        witness.looks(public, waiting.expected - timedelta(minutes=30))
    office.programme.draw_round(value_of(waiting))
    office.programme.report({TARGETS[1]: 3})
    office.programme.publish()
    return office


def entries_in(folder: Path) -> list[Entry]:
    return [parse(line) for line in lines_in(folder)]


def replayed(office: Office, folder: Path, seals: Seals | None = None) -> Replayed:
    """What the oversight body finds."""
    handed_over = office.programme.seals() if seals is None else seals
    return replay(office.programme.parameters, entries_in(folder), handed_over, IDENTITY)


@dataclass
class Witness:
    """With a clock of its own, which is right."""

    key: Path
    clock: Clock

    def looks(self, folder: Path, now: datetime) -> Countersigning:
        self.clock.now = now
        return countersign(folder, self.key, name=None if self.key.exists() else "union.example", clock=self.clock)


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "union.key", Clock())


def value_known(office: Office) -> PublicValue:
    """That of round 2."""
    parameters, due = office.programme.parameters, office.programme.parameters.calendar.due(2)
    assert parameters.randomness is not None
    value_at = parameters.randomness.value_at(due, due)
    return value_of(Waiting(2, 0, "", parameters.randomness.beacon(value_at), written_instant(value_at)))


def hits(one: Frozen, parameters: Parameters, value: PublicValue) -> bool:
    """Whether it leads to the target wanted."""
    return one.drawn(parameters, mixed_in(parameters, value.text))[1] == (WANTED,)


def other_seeds(inputs: Inputs) -> Iterator[Inputs]:
    return (replace(inputs, seed=Random(number).randbytes(32)) for number in count())


def other_counts(inputs: Inputs) -> Iterator[Inputs]:
    return (replace(inputs, reports=np.array([[0, 0, number, 0]])) for number in count(1))


def steered(
    office: Office,
    others: Callable[[Inputs], Iterator[Inputs]],
    *,
    hashed: bool = False,
    sealed: bool = False,
) -> Inputs:
    """Freeze round 2, draw it from the first of these inputs that lead to the target wanted, and return them.

    The public hash, or the sealed record, may be theirs as well: as if the office had known the value before.
    """
    fixed, seal, at = rounds._fixed, Transaction.seal, value_known(office).time
    parameters, kept, values = office.programme.parameters, dict[str, Frozen](), list[PublicValue]()

    def lied(transaction: Transaction) -> Any:
        kept["true"], run, tally = fixed(transaction)
        found = (PublicValue(numbers, at) for numbers in throws())
        values.append(value := next(one for one in found if not hits(kept["true"], parameters, one)))
        candidates = (Frozen(inputs, kept["true"].run) for inputs in others(kept["true"].inputs))
        kept["other"] = next(one for one in candidates if hits(one, parameters, value))
        return kept["other" if hashed else "true"], run, tally

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rounds, "_fixed", lied)
        patched.setattr(Transaction, "seal", lambda one, _: seal(one, kept["other" if sealed else "true"].inputs))
        freeze(office)
        patched.setattr(Transaction, "frozen", lambda _: kept["other"])
        assert office.programme.draw_round(values[0]).audits == (TARGETS[WANTED],)
    office.programme.publish()
    return kept["other"].inputs


def throws() -> Iterator[str]:
    """One series of numbers after the other, in the form in which they are published."""
    return (" ".join(map(str, Random(number).choices(range(1, 7), k=DICE.throws.times))) for number in count())


def rewritten(office: Office, folder: Path, number: int, **changes: Any) -> Path:
    """A second folder, in which this entry says something else, chained and signed by the office as the first."""
    parameters, entries = office.programme.parameters, entries_in(folder)
    entries[number - 1] = replace(entries[number - 1], **changes)
    lines, previous = list[str](), parameters.digest
    for entry in entries:
        lines.append(replace(entry, previous=previous).line())
        previous = digest(lines[-1])
    with office.programme._access.writing() as transaction:
        head = signed_head(transaction._read(SIGNING_KEY), parameters.digest, len(lines), root(lines))
    other = folder.with_name("other")
    other.mkdir()
    for name, content in contents(parameters, lines, head).items():
        (other / name).write_bytes(content)
    return other


NOT_FOLLOWING = "its audits do not follow from its reports, its seed and its public value"
NOT_FROZEN = "its reports, its state or its seed are not those that were frozen"
NOT_COMMITTED = "its seed is not the one that was committed to"
NOT_PUBLIC = "its sealed inputs are not those whose hash is in the transcript"


def test_an_honest_office_passes_every_check(tmp_path: Path, public: Path, witness: Witness) -> None:
    """The control: `verify` with a witness and with an earlier copy, and `oversight replay`."""
    office = begun(tmp_path, DRAND, witness)
    shutil.copytree(public, tmp_path / "earlier")
    waiting = freeze(office)
    office.programme.publish()
    witness.looks(public, waiting.expected - timedelta(minutes=30))
    office.programme.draw_round(value_of(waiting))
    office.programme.publish()
    key = witness.looks(public, office.clock.now).key
    result = verify(public, tmp_path / "earlier", office.clock.now, witnesses=[key], at_least=1)
    assert (result.values.drawn, result.remarkable, result.unseen) == ((1, 2), (), ())
    (warning,) = result.warnings
    assert "is not drand's own" in warning
    assert replayed(office, public) == Replayed((1, 2))


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ({}, NOT_FOLLOWING),
        ({"hashed": True}, NOT_FROZEN),
        ({"sealed": True}, NOT_COMMITTED),
        ({"hashed": True, "sealed": True}, NOT_COMMITTED),
    ],
    ids=str,
)
def test_another_seed_is_shown_by_replay(tmp_path: Path, public: Path, records: dict[str, bool], why: str) -> None:
    """Than the one that was committed to and frozen. `verify` cannot tell: the seed stays secret."""
    office = begun(tmp_path)
    steered(office, other_seeds, **records)
    assert verify(public, now=office.clock.now).warnings == ()
    assert replayed(office, public) == Replayed((1,), contradicted=2, why=why)


@pytest.mark.parametrize(("records", "why"), [({}, NOT_FOLLOWING), ({"sealed": True}, NOT_FROZEN)], ids=str)
def test_other_counts_after_the_value_are_shown_by_replay(
    tmp_path: Path, public: Path, records: dict[str, bool], why: str
) -> None:
    """The frozen inputs are replaced, and the hash of the first is public. `verify` cannot tell: counts are secret."""
    office = begun(tmp_path)
    inputs = steered(office, other_counts, **records)
    assert verify(public, now=office.clock.now).warnings == ()
    assert replayed(office, public) == Replayed((1,), contradicted=2, why=why)
    frozen_in = next(entry.number for entry in entries_in(public) if entry.kind == "freeze" and entry.round == 2)
    replaced = office.programme.seals() | {frozen_in: inputs.sealed(RECIPIENT)}
    assert replayed(office, public, replaced) == Replayed((1,), contradicted=2, why=NOT_PUBLIC)


@pytest.mark.parametrize("forged", ["of another key", "of the next round", "of the round before"])
def test_a_forged_beacon_is_shown_by_verify(
    tmp_path: Path, public: Path, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    """The office leaves its own check out."""
    office = made(tmp_path, randomness=DRAND)
    beacon = freeze(office).beacon or 0
    key, number = {
        "of another key": (OwnChain(7), beacon),
        "of the next round": (OWN, beacon + 1),
        "of the round before": (OWN, beacon - 1),
    }[forged]
    monkeypatch.setattr(rounds, "check_may_draw", lambda *_: None)
    office.programme.draw_round(PublicValue(key.sign(number).signature))
    office.programme.publish(public)
    with pytest.raises(DeniableError, match="not genuine"):
        verify(public, now=office.clock.now)


def test_a_chain_of_the_offices_own_is_shown_by_verify(tmp_path: Path, public: Path) -> None:
    """It warns before the first round, after each and when the programme has ended; quicknet is the control."""

    def warned() -> bool:
        warnings = verify(public, now=office.clock.now).warnings
        return any(f"{OWN.chain.hash} is not drand's own" in warning for warning in warnings)

    office = made(tmp_path, randomness=DRAND)
    office.programme.publish(public)
    assert warned()
    draw(office)
    office.programme.publish()
    assert warned()
    office.programme.end("the law was repealed")
    office.programme.publish()
    office.clock.now += timedelta(days=5000)
    assert warned()
    published.write(tmp_path / "honest", known := published.made(randomness=Drand()), [])
    assert not verify(tmp_path / "honest", now=known.calendar.due(1) - timedelta(days=1)).slow


def test_other_numbers_after_publication_are_shown_by_an_earlier_copy_and_by_a_witness(
    tmp_path: Path, public: Path, witness: Witness
) -> None:
    """The office looks for throws that lead to the target it wants: what follows is right, also by `oversight replay`,
    and `verify` alone cannot tell.
    """
    office = begun(tmp_path)
    waiting, parameters = freeze(office), office.programme.parameters
    with office.programme._access.writing() as transaction:
        inputs = transaction.frozen()
    office.programme.draw_round(value_of(waiting))
    office.programme.publish()
    witness.looks(public, office.clock.now)
    last = entries_in(public)[-1]
    assert isinstance(last, Drawn)
    others = (one for one in throws() if one != last.value)
    liked = next(one for one in others if inputs.drawn(parameters, DICE.mixed_in(one))[1] == (WANTED,))
    other = rewritten(office, public, last.number, value=liked, audits=(TARGETS[WANTED],))
    assert verify(other, now=office.clock.now).warnings == ()
    assert replayed(office, other) == Replayed((1, 2))
    with pytest.raises(DeniableError, match=f"entry {last.number} is not the same as in the earlier copy"):
        verify(other, public, office.clock.now)
    with pytest.raises(DeniableError, match="two histories"):
        witness.looks(other, office.clock.now)


@pytest.mark.parametrize("had_begun", [True, False])
def test_a_late_freeze_is_shown_by_a_witness(tmp_path: Path, public: Path, witness: Witness, had_begun: bool) -> None:
    """The office waits for the value, sets its clock back, and invents reports that lead to the target it wants.

    `verify` alone and `oversight replay` cannot tell. The witness's time is after the value: `verify` with the witness
    refuses, and only warns where the witness had not begun before.
    """
    office = begun(tmp_path, DRAND, witness if had_begun else None)
    value, fixed, parameters = value_known(office), rounds._fixed, office.programme.parameters

    def ground(transaction: Transaction) -> Any:
        true, run, tally = fixed(transaction)
        candidates = (Frozen(inputs, true.run) for inputs in other_counts(true.inputs))
        return next(one for one in candidates if hits(one, parameters, value)), run, tally

    if had_begun:
        witness.looks(public, parameters.calendar.due(2) + timedelta(minutes=55))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rounds, "_fixed", ground)
        waiting = freeze(office)
    office.programme.publish()
    witness.looks(public, waiting.expected + timedelta(minutes=2))
    assert office.programme.draw_round(value).audits == (TARGETS[WANTED],)
    office.programme.publish()
    key = witness.looks(public, now := waiting.expected + timedelta(minutes=5)).key
    assert len(verify(public, now=now).warnings) == 1  # the chain of the tests
    assert replayed(office, public) == Replayed((1, 2))
    if had_begun:
        with pytest.raises(DeniableError, match="saw round 2 frozen before the public value was out"):
            verify(public, now=now, witnesses=[key], at_least=1)
    result = verify(public, now=now, witnesses=[key], at_least=None if had_begun else 1)
    assert result.frozen_unseen == ((2,) if had_begun else (1, 2))
    assert any("frozen before the public value was out" in warning for warning in result.warnings)


def test_first_countersignatures_that_are_taken_out(tmp_path: Path, public: Path, witness: Witness) -> None:
    """The witness seems to have begun when round 2 was frozen too late: `verify` only warns, and says whom to ask."""
    office = begun(tmp_path, DRAND, witness)
    waiting = freeze(office)
    office.programme.publish()
    witness.looks(public, waiting.expected + timedelta(minutes=2))
    office.programme.draw_round(value_of(waiting))
    office.programme.publish()
    key = witness.looks(public, now := waiting.expected + timedelta(minutes=5)).key
    with pytest.raises(DeniableError, match="saw round 2 frozen before the public value was out"):
        verify(public, now=now, witnesses=[key], at_least=1)
    for note in (public / "cosignatures" / "union.example").iterdir():
        if int(note.name) < waiting.entry:
            note.unlink()
    (warning,) = verify(public, now=now, witnesses=[key], at_least=1).warnings[1:]
    assert warning.startswith("fewer than 1 witness saw rounds 1, 2 frozen before the public value was out")
    assert warning.endswith("the office can leave countersignatures out, so ask the witnesses for theirs")


def test_a_second_history_is_shown_by_a_witness(tmp_path: Path, public: Path, witness: Witness) -> None:
    """It refuses, and with its countersignature of the first history so does the `verify` of any reader."""
    office = begun(tmp_path, DICE, witness)
    key = witness.looks(public, now := office.clock.now).key
    last = entries_in(public)[-1]
    audits = tuple(name for name in TARGETS if name not in last.audited)[:1]
    other = rewritten(office, public, last.number, audits=audits)
    assert verify(other, now=now, witnesses=[key]).entries == last.number  # the copy alone does not show it
    with pytest.raises(DeniableError, match="must be countersigned"):
        verify(other, now=now, witnesses=[key], at_least=1)
    with pytest.raises(DeniableError, match="two histories"):
        witness.looks(other, now)
    shutil.copytree(public / "cosignatures", other / "cosignatures")
    with pytest.raises(DeniableError, match="countersigned another history"):
        verify(other, now=now, witnesses=[key])
    assert verify(public, now=now, witnesses=[key], at_least=1).warnings == ()


# Entries that would let an office give a round up, or put its value off


LOST = {"commitment": fresh(99), "paused": False, "complete": True, "during": 2, "reason": "the disk broke"}


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("lost", [1, 2])
@pytest.mark.parametrize("inputs_lost", [True, False])
def test_a_round_is_given_up_with_its_records_and_only_with_them(
    public: Path, waits: bool, lost: int, inputs_lost: bool
) -> None:
    """Shown by `verify`."""
    parameters = published.made(randomness=DICE)
    before = [frozen(1, parameters)]
    if not waits:
        at = before[0][2]["value_at"]
        before.append(published.drawn_with(1, published.THROWN["value"], published.NAMES[0], time=at))
    said = [*before, ("recovery", 2, {**LOST, "lost": lost, "inputs_lost": inputs_lost})]
    published.write(public, parameters, chained(parameters, said))
    if inputs_lost == (waits and lost == 1):
        assert verify(public).entries == len(said)
    else:
        with pytest.raises(DeniableError, match="only with them"):
            verify(public)


def with_value_at(folder: Path, parameters: Parameters, instant: str, **fields: Any) -> Path:
    """Round 1 is frozen, and its value is out at this instant, whatever form that has."""
    (entry,) = chained(parameters, [frozen(1, parameters, **fields)])
    lines = [entry.line().replace(frozen(1, parameters, **fields)[2]["value_at"], instant)]
    published.write(folder, parameters, [])
    head = signed_head(published.KEY, parameters.digest, 1, root(lines))
    (folder / "transcript.jsonl").write_bytes(to_file(lines, head))
    return folder


@pytest.mark.parametrize("source", [DICE, Drand()], ids=["dice", "drand"])
@pytest.mark.parametrize("days", [-3, 4, 40, 365 * 7000])
def test_a_value_far_from_the_calendar_is_refused_by_verify(public: Path, source: Drand | Dice, days: int) -> None:
    parameters = published.made(randomness=source)
    value_at = source.value_at(due := parameters.calendar.due(1), due) + timedelta(days=days)
    instant, beacon = written_instant(value_at), source.beacon(value_at)
    with pytest.raises(DeniableError, match="another public value than the programme's calendar says"):
        verify(with_value_at(public, parameters, instant, beacon=beacon))


@pytest.mark.parametrize(
    "instant", ["9999-12-31T23:59:59Z", "9991-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]
)
def test_an_instant_at_the_end_of_time_is_refused_by_verify(public: Path, instant: str) -> None:
    with pytest.raises(DeniableError, match="must be an instant"):
        verify(with_value_at(public, published.made(randomness=DICE), instant))


@pytest.mark.parametrize("late", [10**9, 4])
def test_a_value_from_before_the_freeze_is_refused_by_verify(public: Path, late: int) -> None:
    """By what the office itself says of when it froze the round."""
    parameters = published.made(randomness=DICE)
    instant = frozen(1, parameters)[2]["value_at"]
    fields = {"value_at": instant, "late": late, "reason": "a strike"}
    published.write(public, parameters, chained(parameters, [("freeze", 1, frozen(1, parameters)[2] | fields)]))
    with pytest.raises(DeniableError, match="another public value than the programme's calendar says"):
        verify(public)


@pytest.mark.parametrize(
    "source", [DICE, Drand(), Drand(replace(QUICKNET, hash="ab" * 32, period=10**30))], ids=["dice", "drand", "slow"]
)
def test_a_calendar_that_runs_out_is_refused(tmp_path: Path, source: Drand | Dice) -> None:
    """Near the last year that there is, and with a chain whose next beacon is after it."""
    office = made(tmp_path, randomness=source, calendar=Calendar(date(9997, 12, 30), "1D", "UTC"))
    office.clock.now = office.programme.parameters.calendar.due(1)
    with pytest.raises(DeniableError, match=r"instant|year"):
        office.programme.close_round()


def test_a_lottery_whose_numbers_cannot_be_published_is_refused() -> None:
    with pytest.raises(DeniableError, match="too many numbers"):
        Throws(600, 1000)
    assert Throws(6, 49).times == 5
