"""An honest year is confirmed, and every way to depart from it is named."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyrage
import pytest
from tests.programme.offices import TARGETS, Office, new_office
from tests.programme.public.published import lines_in

from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.programme import backup, rounds
from deniable.programme.programme import Programme
from deniable.programme.secrets.oversight import Replayed, read_identity, read_seals, replay, write_seals
from deniable.programme.secrets.sealed_inputs import Inputs, check_recipient
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.replay import parse
from deniable.run import AuditRun

IDENTITY = pyrage.x25519.Identity.generate()
RECIPIENT = str(IDENTITY.to_public())


def office(database: str, folder: Path, **settings: Any) -> Office:
    return new_office(database, folder, oversight=RECIPIENT, **settings)


def replayed(programme: Programme, folder: Path, seals: dict[int, bytes] | None = None) -> Replayed:
    lines = lines_in(programme.publish(folder))
    entries = [parse(line) for line in lines]
    return replay(programme.parameters, entries, programme.seals() if seals is None else seals, IDENTITY)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"audits": 2, "cooldown": 1, "max_gap": 6, "reveal_after": 3},
        {"weights": "forecast"},
        {"weights": "steady-forecast"},
        {"mechanism": "tca", "horizon": 60},
    ],
    ids=["race", "race with rules, unannounced", "race with a forecast", "race with a steady forecast", "tca"],
)
def test_an_honest_programme_is_confirmed(database: str, tmp_path: Path, settings: dict[str, Any]) -> None:
    honest = office(database, tmp_path, **settings)
    programme = honest.programme
    for day in range(25):
        programme.report({TARGETS[day % 3]: 1 + day % 4})
        if day == 7:
            programme.override([TARGETS[0]], "a court order", independent=True)
        if day == 11:
            programme.change_targets("a merger", independent=True, add=["Elm Yard"], remove=[TARGETS[3]])
        if day == 13:
            honest.clock.now = programme.parameters.calendar.due(programme.status().open_round)
            programme.skip("a public holiday", independent=True)
        honest.close()
    drawn = tuple(number for number in range(1, 27) if number != 14)  # that one was skipped
    assert replayed(programme, tmp_path / "public") == Replayed(drawn)


@pytest.mark.long
def test_an_honest_year_is_confirmed(tmp_path: Path) -> None:
    honest = office(str(tmp_path / "programme.db"), tmp_path)
    for day in range(365):
        honest.programme.report({TARGETS[day % 4]: 1 + day % 3})
        honest.close()
    assert replayed(honest.programme, tmp_path / "public") == Replayed(tuple(range(1, 366)))


def ran(folder: Path, rounds: int = 12, **settings: Any) -> Office:
    honest = office(str(folder / "programme.db"), folder, entropy=Random(1).randbytes, **settings)
    for _ in range(rounds):
        honest.programme.report({TARGETS[0]: 4, TARGETS[1]: 3})
        honest.close()
    return honest


def test_a_missing_seal_is_named(tmp_path: Path) -> None:
    programme = ran(tmp_path).programme
    seals = programme.seals()
    del seals[5]
    verdict = replayed(programme, tmp_path / "public", seals)
    assert verdict == Replayed((1, 2, 3, 4), missing=(5,), waiting=tuple(range(6, 13)))
    assert verdict.verdict == "missing inputs"


def test_a_seal_put_in_place_of_another_is_named(tmp_path: Path) -> None:
    programme = ran(tmp_path).programme
    seals = programme.seals()
    seals[5] = seals[6]
    verdict = replayed(programme, tmp_path / "public", seals)
    assert (verdict.contradicted, verdict.why) == (5, "its sealed inputs are not those whose hash is in the transcript")


@pytest.mark.parametrize("changed", [{"round": 2}, {"reports": np.array([[4, 3]])}], ids=["round", "targets"])
def test_inputs_of_another_round_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    """Sealed and hashed into the transcript by the office itself."""
    seal = Inputs.sealed
    monkeypatch.setattr(Inputs, "sealed", lambda inputs, recipient: seal(replace(inputs, **changed), recipient))
    programme = ran(tmp_path, rounds=1).programme
    verdict = replayed(programme, tmp_path / "public")
    assert (verdict.contradicted, verdict.why) == (1, "its sealed inputs are those of another round")


def test_a_seal_that_the_programmes_key_does_not_open_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The office seals to somebody else than it says."""
    sealed = Inputs.sealed
    somebody = str(pyrage.x25519.Identity.generate().to_public())
    monkeypatch.setattr(Inputs, "sealed", lambda inputs, _: sealed(inputs, somebody))
    verdict = replayed(ran(tmp_path, rounds=1).programme, tmp_path / "public")
    assert (verdict.verdict, verdict.contradicted) == ("contradicted", 1)
    assert verdict.why is not None
    assert "cannot be opened with this key" in verdict.why


def test_what_belongs_to_another_programme_is_no_contradiction(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    programme, other = ran(tmp_path, rounds=2).programme, ran(tmp_path / "other", rounds=2).programme
    entries = [parse(line) for line in lines_in(programme.publish(tmp_path / "public"))]
    with pytest.raises(DeniableError, match="the file is another programme's"):
        replay(programme.parameters, entries, other.seals(), IDENTITY)
    with pytest.raises(DeniableError, match="does not belong to the oversight body that the programme names"):
        replay(programme.parameters, entries, programme.seals(), pyrage.x25519.Identity.generate())
    with pytest.raises(DeniableError, match="names no oversight body"):
        replay(replace(programme.parameters, oversight=None), entries, programme.seals(), IDENTITY)
    mixed = {1: programme.seals()[1], 2: other.seals()[2]}
    assert replay(programme.parameters, entries, mixed, IDENTITY).contradicted == 2


def test_sealed_rounds_that_are_not_public_are_told(tmp_path: Path) -> None:
    programme = ran(tmp_path, rounds=3).programme
    entries = [parse(line) for line in lines_in(programme.publish(tmp_path / "public"))]
    verdict = replay(programme.parameters, entries[:1], programme.seals(), IDENTITY)
    assert verdict == Replayed((1,), not_public=(2, 3))
    assert verdict.verdict == "confirmed"
    assert replay(programme.parameters, entries, {}, IDENTITY) == Replayed((), missing=(1, 2, 3))


def dishonest(monkeypatch: pytest.MonkeyPatch, at: int, **changed: Any) -> None:
    """From now on the office seals other inputs in this round than those it drew with."""
    sealed = Transaction.seal

    def lie(transaction: Transaction, inputs: Inputs) -> Any:
        return sealed(transaction, replace(inputs, **changed) if inputs.round == at else inputs)

    monkeypatch.setattr(Transaction, "seal", lie)


def test_an_altered_count_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dishonest(monkeypatch, at=3, reports=np.array([[0, 0, 0, 500]]))
    verdict = replayed(ran(tmp_path).programme, tmp_path / "public")
    assert (verdict.contradicted, verdict.why) == (3, "its audits do not follow from its reports and its seed")


def test_reports_about_targets_that_left_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They count nowhere, so the office could try one number of them after the other until it likes the draw."""
    programme = (left := ran(tmp_path, rounds=2)).programme
    programme.change_targets("a merger", independent=True, remove=[TARGETS[3]])
    fixed = rounds._fixed

    def invented(transaction: Transaction) -> Any:
        frozen, run, tally = fixed(transaction)
        inputs = replace(frozen.inputs, reports=frozen.inputs.reports + np.array([0, 0, 0, 7]))
        return replace(frozen, inputs=inputs), run, tally

    left.close()
    monkeypatch.setattr(rounds, "_fixed", invented)
    left.close()
    verdict = replayed(programme, tmp_path / "public")
    why = "it has reports about targets that do not take part"
    assert verdict == Replayed((1, 2, 3), contradicted=4, why=why)


def test_an_altered_seed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dishonest(monkeypatch, at=3, seed=bytes(32))
    verdict = replayed(ran(tmp_path).programme, tmp_path / "public")
    assert (verdict.contradicted, verdict.why) == (3, "its seed is not the one that was committed to")


def test_a_redrawn_round_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    select = AuditRun.select

    def until_liked(run: AuditRun, reports: Any, audits: int = 1) -> tuple[int, ...]:
        before, disliked = run.save(), select(run, reports, audits)
        if run.rounds != 3:
            return disliked
        for attempt in range(256):
            again = AuditRun.restore(run.mechanism, before, ReplayNoise(bytes([attempt]) * 32))
            liked = select(again, reports, audits)
            if liked != disliked:
                run._state = again._state
                return liked
        raise AssertionError

    monkeypatch.setattr(AuditRun, "select", until_liked)
    redrawn = ran(tmp_path).programme
    monkeypatch.undo()
    verdict = replayed(redrawn, tmp_path / "public")
    assert (verdict.contradicted, verdict.why) == (3, "its audits do not follow from its reports and its seed")


def test_a_dropped_round_is_named(tmp_path: Path) -> None:
    programme = ran(tmp_path).programme
    lines = lines_in(programme.publish(tmp_path / "public"))
    entries = [parse(line) for line in lines if parse(line).round != 4]
    with pytest.raises(DeniableError, match="entry 4 is expected here"):
        replay(programme.parameters, entries, programme.seals(), IDENTITY)


@pytest.mark.parametrize("reveal_after", [0, 2, 9])
def test_rounds_lost_before_a_recovery_are_told_apart(tmp_path: Path, reveal_after: int) -> None:
    """Names that are neither public nor in the seals leave the rounds since waiting."""
    first = ran(tmp_path, rounds=3, reveal_after=reveal_after)
    first.programme.backup(tmp_path / "backup")
    for _ in range(2):
        first.programme.report({TARGETS[1]: 3})
        first.close()
    folder = first.programme.publish(tmp_path / "public")
    handed_over = first.programme.seals()
    backup.restore(tmp_path / "backup", str(tmp_path / "second.db"), folder, first.key)
    second = Office(
        str(tmp_path / "second.db"),
        first.key,
        first.clock,
        Programme.open(str(tmp_path / "second.db"), first.key, clock=first.clock),
    )
    second.programme.recover(folder, "the disk broke")
    for _ in range(3):
        second.programme.report({TARGETS[2]: 5})
        second.close()
    verdict = replayed(second.programme, folder)
    confirmed, waiting = ((1, 2, 3), (6, 7, 8)) if reveal_after == 9 else ((1, 2, 3, 6, 7, 8), ())
    assert verdict == Replayed(confirmed, lost=(4, 5), waiting=waiting)
    assert verdict.verdict == "missing inputs"
    complete = handed_over | second.programme.seals()
    assert replayed(second.programme, folder, complete) == Replayed(tuple(range(1, 9)))


def test_a_recovery_does_not_excuse_what_came_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An office that is caught could claim to have lost its records; the seals that were handed over tell."""
    dishonest(monkeypatch, at=3, reports=np.array([[0, 0, 0, 500]]))
    programme = ran(tmp_path, rounds=5).programme
    seals = programme.seals()
    with programme._access.writing() as transaction:
        lost = {"lost": 1, "commitment": "0" * 64, "inputs_lost": False, "paused": True, "complete": True, "during": 9}
        transaction.append(Recovery.following(transaction.state, **lost, reason="we lost it all"))
    verdict = replayed(programme, tmp_path / "public", seals)
    assert (verdict.contradicted, verdict.why) == (3, "its audits do not follow from its reports and its seed")


def test_the_seals_length_depends_on_the_number_of_targets_alone() -> None:
    few, many = (np.full((2, 4), number) for number in (0, 10**9))
    sealed = [Inputs(*inputs, bytes(32)).sealed(RECIPIENT) for inputs in [(1, few), (10**6, many)] * 50]
    assert len({len(seal) for seal in sealed}) == 1


def test_seals_travel_in_a_file(tmp_path: Path) -> None:
    seals = {3: b"three", 5: b"\0five"}
    write_seals(seals, tmp_path / "seals.jsonl")
    assert read_seals(tmp_path / "seals.jsonl") == seals


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "{}\n",
        '{"entry":1,"sealed":"?"}\n',
        "[]\n",
        "é",
        '{"entry":"\\u001b[2Jconfirmed","sealed":""}\n',
        '{"entry":"1","sealed":""}\n',
        '{"entry":true,"sealed":""}\n',
        '{"entry":1.0,"sealed":""}\n',
        '{"entry":null,"sealed":""}\n',
        '{"entry":[1],"sealed":""}\n',
        '{"entry":0,"sealed":""}\n',
        '{"entry":1000000001,"sealed":""}\n',
        '{"entry":1,"sealed":""}\n{"entry":1,"sealed":"AAAA"}\n',
        '{"entry":1,"sealed":7}\n',
        "[" * 200_000 + "\n",
    ],
    ids=lambda content: content[:40],
)
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "seals.jsonl").write_text(content, encoding="latin-1")
    with pytest.raises(DeniableError, match="is not a file of sealed rounds"):
        read_seals(tmp_path / "seals.jsonl")
    with pytest.raises(DeniableError, match="cannot read"):
        read_seals(tmp_path / "nowhere")


def test_a_private_key_is_read_as_age_keygen_writes_it(tmp_path: Path) -> None:
    key = tmp_path / "oversight.key"
    key.write_text(f"# created: 2026-01-05\n# public key: {RECIPIENT}\n{IDENTITY}\n", encoding="ascii")
    assert str(read_identity(key).to_public()) == RECIPIENT
    key.write_text("AGE-SECRET-KEY-1NOTAKEY\n", encoding="ascii")
    with pytest.raises(DeniableError, match="holds no age private key"):
        read_identity(key)
    with pytest.raises(DeniableError, match="cannot read the key file"):
        read_identity(tmp_path / "nowhere")


def test_a_recipient_is_checked() -> None:
    with pytest.raises(DeniableError, match="begins with age1"):
        check_recipient(RECIPIENT[:-1] + ("q" if RECIPIENT[-1] != "q" else "p"))


def test_no_other_key_opens_a_seal() -> None:
    inputs = Inputs(1, np.full((1, 4), 0x01020304), bytes(range(32)))
    seal = inputs.sealed(RECIPIENT)
    assert Inputs.unsealed(seal, IDENTITY).seed == inputs.seed
    with pytest.raises(DeniableError, match="cannot be opened with this key"):
        Inputs.unsealed(seal, pyrage.x25519.Identity.generate())
    for secret in (inputs.seed, inputs.reports.astype(">u4").tobytes()):
        assert secret in inputs.packed()  # the check would see it
        assert secret not in seal


def test_inputs_show_nothing() -> None:
    assert repr(Inputs(1, np.full((1, 2), 7), bytes(32))) == "Inputs(secret)"
