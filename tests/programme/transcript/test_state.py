"""The fold: what the world knows after each entry, and which entries it refuses."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.programme.public.published import (
    NAMES,
    RECIPIENT,
    Said,
    chained,
    drawn,
    fresh,
    frozen,
    made,
    programmes,
    selected,
    skip,
)

from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.message import noted
from deniable.noise import ReplayNoise
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.programme.randomness.source import Dice
from deniable.programme.transcript.chain import digest
from deniable.programme.transcript.coverage import Coverage, Lapse
from deniable.programme.transcript.entries import Override, Round, Skip, Targets
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun
from deniable.state import pack

A, B, C, D = NAMES
DECIDED: dict[str, Any] = {"reason": "flood", "independent": True}


def a_round(state: PublicState, number: int, audits: Sequence[str]) -> Round:
    return Round.following(state, audits=audits, commitment=fresh(number), late=0, reason=None, sealed=None)


def override(number: int, *audits: str, independent: bool = True, during: int | None = None) -> Said:
    said = {"audits": audits, "reason": "a court ordered it", "independent": independent, "during": during or number}
    return "override", number, said


def targets(number: int, added: Sequence[str] = (), removed: Sequence[str] = (), independent: bool = True) -> Said:
    changed = {"added": tuple(added), "removed": tuple(removed)}
    return "targets", number, {**changed, "reason": "merger", "independent": independent, "during": number}


def undone(number: int, of: int, target: str, independent: bool = True) -> Said:
    audit = {"of": of, "target": target}
    return "not-carried-out", number, {**audit, "reason": "strike", "independent": independent, "during": number}


def visited(number: int, of: int, target: str, day: str, during: int | None = None) -> Said:
    said = {"of": of, "target": target, "day": day, "during": during or number, "reason": None}
    return "carried-out", number, said


def renamed(number: int, target: str, name: str) -> Said:
    return "renamed", number, {**DECIDED, "target": target, "name": name, "during": number}


def recovery(number: int, hash_: str, *, complete: bool = True) -> Said:
    said = {"lost": 1, "commitment": hash_, "inputs_lost": False, "paused": True, "complete": complete}
    return "recovery", number, {**said, "during": number, "reason": "the disk broke"}


def end(number: int) -> Said:
    return "end", number, {"reason": "the law was repealed"}


def folded(parameters: Parameters, *said: Said) -> PublicState:
    return replay(parameters, chained(parameters, said))


# What is known


def test_before_the_first_entry() -> None:
    parameters = made()
    state = PublicState.start(parameters)
    assert (state.entries, state.closed, state.open_round) == (0, 0, 1)
    assert (state.head, state.commitment) == (parameters.digest, parameters.commitment)
    assert state.targets == state.present == NAMES
    assert state.coverage.holds_from == 1
    assert not state.ended


def test_a_round_a_skip_and_an_override() -> None:
    state = folded(made(), drawn(1, A), skip(2), override(3, B, C), drawn(3, A))
    assert (state.entries, state.closed, state.open_round, state.commitment) == (4, 3, 4, fresh(3))
    assert state.history.rounds == 2
    assert state.history.last.tolist() == [[2, 1, 1, 0]]
    assert state.history.since.tolist() == [[0, 1, 1, 2]]
    assert state.history.audits.tolist() == [[2, 1, 1, 0]]
    assert state.latest_audit.tolist() == [3, 3, 3, 0]


def test_targets_come_and_go() -> None:
    state = folded(made(), drawn(1, A), targets(2, added=["Emden", "Faro"], removed=[B]), drawn(2, "Faro"))
    assert state.targets == (*NAMES, "Emden", "Faro")
    assert state.present == (A, C, D, "Emden", "Faro")
    assert state.numbers["Faro"] == 5
    assert state.history.last.tolist() == [[1, 0, 0, 0, 1, 2]]
    assert state.history.audits.tolist() == [[1, 0, 0, 0, 0, 1]]


def test_a_recovery_replaces_the_open_rounds_commitment() -> None:
    state = folded(made(), drawn(1, A), recovery(2, fresh(99)))
    assert (state.commitment, state.open_round) == (fresh(99), 2)


def test_an_audit_is_struck_once() -> None:
    state = folded(made(), drawn(1, A), skip(2), undone(3, 1, A))
    assert state.latest_audit.tolist() == [0, 0, 0, 0]
    assert state.history.audits.tolist() == [[1, 0, 0, 0]]


def test_an_audit_is_open_until_what_became_of_it_is_on_record() -> None:
    state = folded(made(), drawn(1, A), override(2, B), drawn(2, C), visited(3, 1, A, "2026-01-12"), undone(3, 2, C))
    assert state.latest_audit.tolist() == [0, 2, 0, 0]
    assert state.coverage.lapses == ()


def test_a_target_keeps_its_number_when_it_is_renamed() -> None:
    state = folded(made(), drawn(1, A), renamed(2, A, "Ash"), renamed(2, "Ash", "Ashford North"), drawn(2, B))
    assert state.targets == ("Ashford North", B, C, D)
    assert (state.numbers["Ashford North"], A in state.numbers, state.takes_part("Ash")) == (0, False, False)
    assert state.history.audits.tolist() == [[1, 1, 0, 0]]
    after = visited(3, 1, "Ashford North", "2026-01-13")
    assert folded(made(), drawn(1, A), skip(2), renamed(3, A, "Ashford North"), after).latest_audit.tolist() == [0] * 4


def naive(parameters: Parameters, entries: Sequence[Entry]) -> dict[str, tuple[int, int, bool]]:
    """For every target the rounds with a draw since its last audit, its audits, and whether it takes part."""
    known = dict.fromkeys(parameters.targets, (0, 0, True))
    ordered = dict.fromkeys(parameters.targets, False)
    """Since the last round was closed."""
    for entry in entries:
        fields = entry.own()
        if entry.kind in ("round", "drawn"):
            known = {
                name: (since if ordered.get(name) and entry.kind == "drawn" else since + 1, audits, present)
                for name, (since, audits, present) in known.items()
            }
        if entry.closes_round:
            ordered = {}
        for name in fields.get("audits", ()):
            known[name] = (0, known[name][1] + 1, True)
            ordered[name] = True
        for name in fields.get("added", ()):
            known[name] = (0, 0, True)
        for name in fields.get("removed", ()):
            known[name] = (*known[name][:2], False)
        if entry.kind == "renamed":
            known[fields["name"]] = known.pop(fields["target"])
            ordered[fields["name"]] = ordered.pop(fields["target"], False)
    return known


@given(programmes(most=20))
def test_random_programmes_fold_to_what_their_entries_say(programme: tuple[Parameters, list[Entry]]) -> None:
    parameters, entries = programme
    state = replay(parameters, entries)
    history = state.history
    columns = zip(state.targets, history.since[0], history.audits[0], history.present[0], strict=True)
    assert {name: (since, audits, present) for name, since, audits, present in columns} == naive(parameters, entries)
    assert state.entries == len(entries)
    assert state.closed == sum(entry.kind in ("round", "freeze", "skip") for entry in entries)
    assert state.history.rounds == sum(entry.kind in ("round", "drawn") for entry in entries)
    assert state.head == (digest(entries[-1].line()) if entries else parameters.digest)
    assert state.ended == (bool(entries) and entries[-1].kind == "end")
    lapses = [entry for entry in entries if False in (entry.own().get("independent"), entry.own().get("complete"))]
    assert state.coverage.holds_from == max((entry.own()["during"] + 1 for entry in lapses), default=1)


@given(programmes(most=20))
def test_a_state_does_not_change_and_survives_its_bytes(programme: tuple[Parameters, list[Entry]]) -> None:
    parameters, entries = programme
    state = PublicState.start(parameters)
    for entry in entries:
        before = state.to_bytes()
        after = entry.after(state)
        assert state.to_bytes() == before
        state = PublicState.from_bytes(parameters, after.to_bytes())
        assert state.to_bytes() == after.to_bytes()
        assert pack(state.history) == pack(after.history)
        assert (state.coverage, state.numbers) == (after.coverage, after.numbers)
    assert state.to_bytes() == replay(parameters, entries).to_bytes()


@pytest.mark.parametrize("settings", [
    {"audits": 2, "max_gap": 3, "cooldown": 1},
    {"audits": 1, "max_gap": 5, "weights": "forecast"},
    {"mechanism": "tca", "horizon": 69, "cooldown": 2},
])  # fmt: skip
def test_whatever_a_run_draws_is_accepted(settings: dict[str, Any]) -> None:
    """Sixty rounds with skips, a target that leaves and one that joins; histories stay the same to the bit."""
    parameters = made(**settings)
    run, state = AuditRun(parameters.built(), ReplayNoise(bytes(32))), PublicState.start(parameters)
    for number in range(1, 70):
        if number == 20:
            state = Targets.following(state, added=[], removed=[B], **DECIDED, during=number).after(state)
            run.remove_targets([1])
        if number == 30:
            state = Targets.following(state, added=["Emden"], removed=[], **DECIDED, during=number).after(state)
            run.add_targets(1)
        if number % 7 == 0:
            state = Skip.following(state, commitment=fresh(number), late=0, **DECIDED, during=number).after(state)
            continue
        audits = run.select([number % 3] * state.n_targets, parameters.audits)
        state = a_round(state, number, [state.targets[target] for target in audits]).after(state)
        assert pack(state.history) == pack(run._state.history)
    assert state.history.rounds == 60


def test_a_state_holds_no_past() -> None:
    """Its size does not depend on how many entries there were, but for the digits of their number: a hash each."""
    state = PublicState.start(made())
    sizes = []
    for number in range(1, 3001):
        state = a_round(state, number, [NAMES[number % 4]]).after(state)
        sizes.append(len(state.to_bytes()) - len(json.dumps(state.tree.to_list())))
        assert len(state.tree.subtrees) == number.bit_count()
    assert sizes[-1] - sizes[10] < 60


# What is refused

RULES = "the public rules did not allow an audit of Ashford"
REPEATED = "the commitment to a seed must be a new one"
NOT_ROUND_1 = "in round 1 is open"
UNKNOWN = "there is no target named Emden"
IS_LAST = "the last round is closed: end the programme"
REFUSED: dict[str, tuple[dict[str, Any], list[Said], str]] = {
    "a round of the past": ({}, [drawn(1, A), drawn(1, B)], "it belongs to round 1, but round 2 is open"),
    "a round left out": ({}, [drawn(1, A), drawn(3, B)], "it belongs to round 3, but round 2 is open"),
    "an unknown target": ({}, [drawn(1, "Emden")], UNKNOWN),
    "an unknown target by hand": ({}, [override(1, "Emden")], UNKNOWN),
    "a removed target": ({}, [targets(1, removed=[A]), drawn(1, A)], "Ashford was removed before"),
    "a removed target by hand": ({}, [targets(1, removed=[A]), override(1, A)], "Ashford was removed before"),
    "a target removed twice": ({}, [targets(1, removed=[A]), targets(1, removed=[A])], "Ashford was removed before"),
    "too many audits": ({}, [drawn(1, A, B)], "a round has 1 audits, got 2"),
    "too few audits": ({"audits": 2}, [drawn(1, A)], "a round has 2 audits, got 1"),
    "the cool-down": ({"cooldown": 2}, [drawn(1, A), drawn(2, B), drawn(3, A)], RULES),
    "the cool-down after an override": ({"cooldown": 1}, [override(1, A), drawn(1, A)], RULES),
    "the cool-down despite a skip": ({"cooldown": 1}, [drawn(1, A), skip(2), drawn(3, A)], RULES),
    "the coverage": ({"max_gap": 4}, [drawn(1, A), drawn(2, A)], RULES),
    "the coverage at the second draw": (
        {"max_gap": 2, "audits": 2}, [drawn(1, A, B), drawn(2, C, A)], RULES
    ),
    "a target too many for the coverage": ({"max_gap": 4}, [targets(1, added=["Emden"])], "gap, 4, cannot be kept"),
    "a target for fixed weights": ({"weights": (1.0, 2.0, 1.0, 1.0)}, [targets(1, added=["Emden"])], "fixed weights"),
    "a round beyond the horizon": (
        {"mechanism": "tca", "horizon": 2}, [drawn(1, A), drawn(2, B), drawn(3, C)], IS_LAST
    ),
    "a round beyond the horizon, of which one was skipped": (
        {"mechanism": "tca", "horizon": 2}, [skip(1), drawn(2, B), drawn(3, C)], IS_LAST
    ),
    "a commitment repeated at once": ({}, [drawn(1, A, commitment=fresh(0))], REPEATED),
    "a commitment repeated later": ({}, [drawn(1, A), drawn(2, A), drawn(3, A, commitment=fresh(1))], REPEATED),
    "a commitment repeated by a skip": ({}, [drawn(1, A), skip(2, commitment=fresh(0))], REPEATED),
    "a commitment repeated in a recovery": ({}, [drawn(1, A), recovery(2, fresh(1))], REPEATED),
    "an entry after the end": ({}, [end(1), drawn(1, A)], "nothing can come after its end"),
    "a second end": ({}, [end(1), end(1)], "the programme has ended"),
    "a name of the start again": ({}, [targets(1, added=[A])], "Ashford takes part already"),
    "the name of a removed target": (
        {}, [targets(1, removed=[A]), targets(1, added=[A])], "the name Ashford was used before"
    ),
    "a name of the start in capitals": ({}, [targets(1, added=["ASHFORD"])], "Ashford and ASHFORD differ only in"),
    "two new names that differ in case": ({}, [targets(1, added=["Elm", "elm"])], "Elm and elm differ"),
    "no change": ({}, [targets(1)], "must add or remove a target"),
    "one target left": ({}, [targets(1, removed=[A, B, C])], "targets left must be at least 2"),
    "fewer targets than audits": ({"audits": 3}, [targets(1, removed=[A, B])], "targets left must be at least 3"),
    "a late round without a reason": ({}, [drawn(1, A, late=1)], "a round that is closed late needs a reason"),
    "a sealed record for nobody": ({}, [drawn(1, A, sealed=fresh(7))], "just if there is an oversight body"),
    "no sealed record": ({"oversight": RECIPIENT}, [drawn(1, A)], "a sealed record"),
    "an audit undone that never was": ({}, [drawn(1, A), undone(2, 1, B)], NOT_ROUND_1),
    "an audit undone of another round": ({}, [drawn(1, A), drawn(2, A), undone(3, 1, A)], NOT_ROUND_1),
    "an audit undone twice": ({}, [drawn(1, A), undone(2, 1, A), undone(2, 1, A)], NOT_ROUND_1),
    "a visit that was never to be": ({}, [drawn(1, A), visited(2, 1, B, "2026-01-12")], NOT_ROUND_1),
    "a visit of another round": ({}, [drawn(1, A), drawn(2, A), visited(3, 1, A, "2026-01-12")], NOT_ROUND_1),
    "a visit twice": (
        {}, [drawn(1, A), visited(2, 1, A, "2026-01-12"), visited(2, 1, A, "2026-01-12")], NOT_ROUND_1
    ),
    "a visit that was not carried out": (
        {}, [drawn(1, A), undone(2, 1, A), visited(2, 1, A, "2026-01-12")], NOT_ROUND_1
    ),
    "a visit undone": ({}, [drawn(1, A), visited(2, 1, A, "2026-01-12"), undone(2, 1, A)], NOT_ROUND_1),
    "a visit before the round": (
        {}, [drawn(1, A), visited(2, 1, A, "2026-01-04")], "from 2026-01-05 to 2026-01-19, not on 2026-01-04"
    ),
    "a visit after the round": ({}, [drawn(1, A), visited(2, 1, A, "2026-01-20")], "not on 2026-01-20"),
    "a visit before its time": ({}, [drawn(1, A), visited(2, 1, A, "2026-01-12", during=1)], "during round 2 or later"),
    "an unknown target renamed": ({}, [renamed(1, "Emden", "Faro")], UNKNOWN),
    "a removed target renamed": ({}, [targets(1, removed=[A]), renamed(1, A, "Faro")], "Ashford was removed before"),
    "a target renamed to another's name": ({}, [renamed(1, A, B)], "takes part already"),
    "a target renamed to its own name": ({}, [renamed(1, A, A)], "Ashford takes part already"),
    "a target renamed in case alone": ({}, [renamed(1, A, "ASHFORD")], "differ only in upper and lower case"),
    "a target renamed back": ({}, [renamed(1, A, "Ash"), renamed(1, "Ash", A)], "the name Ashford was used before"),
    "a former name again": ({}, [renamed(1, A, "Ash"), targets(1, added=[A])], "the name Ashford was used before"),
    "a former name in capitals": ({}, [renamed(1, A, "Ash"), targets(1, added=["ASHFORD"])], "differ only in"),
    "a draw under a former name": ({}, [renamed(1, A, "Ash"), drawn(1, A)], "there is no target named Ashford"),
    "an audit undone of an unknown target": ({}, [drawn(1, A), undone(2, 1, "Emden")], UNKNOWN),
}  # fmt: skip


def test_a_skipped_round_counts_to_the_horizon_of_rounds_that_are_frozen_or_hide_names() -> None:
    dice = made(mechanism="tca", horizon=1, randomness=Dice("the town hall"))
    hidden = made(mechanism="tca", horizon=2, reveal_after=1)
    for parameters, said in (
        (dice, [skip(1), frozen(2, dice)]),
        (hidden, [skip(1), skip(2), selected(3, B, parameters=hidden)]),
    ):
        entries = chained(parameters, said)
        replay(parameters, entries[:-1])
        with pytest.raises(DeniableError, match=IS_LAST):
            replay(parameters, entries)


def test_no_round_after_the_last_one_is_skipped() -> None:
    entries = chained(made(mechanism="tca", horizon=1), [skip(1), skip(2)])
    replay(made(mechanism="tca", horizon=1), entries[:-1])
    with pytest.raises(DeniableError, match=IS_LAST):
        replay(made(mechanism="tca", horizon=1), entries)


@pytest.mark.parametrize("what", REFUSED)
def test_an_entry_that_does_not_fit_is_refused(what: str) -> None:
    """The last one; those before it are accepted."""
    settings, said, why = REFUSED[what]
    parameters = made(**settings)
    entries = chained(parameters, said)
    replay(parameters, entries[:-1])
    with pytest.raises(DeniableError) as refused:
        replay(parameters, entries)
    last = entries[-1]
    assert str(refused.value).startswith(f"entry {last.number} ({last.kind}) is not valid: ")
    assert why in str(refused.value)


def accepted(state: PublicState) -> set[str]:
    """Whom the open round's draw may name."""
    names = set()
    for name in state.present:
        try:
            a_round(state, state.open_round, [name]).after(state)
        except DeniableError as error:
            if f"the public rules did not allow an audit of {name}" not in str(error):
                raise
        else:
            names.add(name)
    return names


def drawn_by(run: AuditRun, names: Sequence[str]) -> set[str]:
    """Whom the run draws next, with one seed or another."""
    seeds = (bytes([seed]) * 32 for seed in range(60))
    runs = (AuditRun.restore(run.mechanism, run.save(), ReplayNoise(seed)) for seed in seeds)
    return {names[one.step([0] * len(names))] for one in runs}


@pytest.mark.parametrize(("settings", "said", "allowed"), [
    ({"cooldown": 3, "targets": (A, B)}, [drawn(1, A), drawn(2, B), drawn(3, A)], ["AB", "B", "AB"]),
    (
        {"max_gap": 4},
        [drawn(1, A), skip(2), override(3, B), drawn(3, A), drawn(4, C), drawn(5, D), drawn(6, B)],
        ["ABCD", "ABCD", "CD", "D", "B"],
    ),
])  # fmt: skip
def test_rules_that_cannot_be_met_give_way_as_in_a_run(
    settings: dict[str, Any], said: Sequence[Said], allowed: list[str]
) -> None:
    """No target but those that a run could draw is accepted, and each of them is: the cool-down counts where that is
    possible, a round that is skipped not at all, and an order as an audit. Histories are the same to the bit.
    """
    parameters = made(**settings)
    run, state, found = AuditRun(parameters.built()), PublicState.start(parameters), []
    for entry in chained(parameters, said):
        if entry.kind == "round":
            found.append(accepted(state))
            assert found[-1] == drawn_by(run, state.targets)
            run.adopt([state.number_of(name) for name in entry.audited])
        else:
            entry.change_run(run, np.zeros((1, state.n_targets), dtype=np.int64), state)
        state = entry.after(state)
        assert pack(state.history) == pack(run.history)
    assert ["".join(sorted(name[0] for name in names)) for names in found] == allowed


def test_an_entry_of_another_place_is_refused() -> None:
    parameters = made()
    first, second = chained(parameters, [drawn(1, A), drawn(2, B)])
    start = PublicState.start(parameters)
    with pytest.raises(DeniableError, match=r"entry 1 is expected here: a line was moved or taken out"):
        second.after(start)
    with pytest.raises(DeniableError, match=r"does not follow on programme\.json"):
        first.after(PublicState.start(made(name="Harbours")))
    other = chained(parameters, [drawn(1, C)])[0]
    with pytest.raises(DeniableError, match="does not follow on entry 1"):
        second.after(other.after(start))


def test_fields_that_an_entry_needs_are_checked_when_it_is_made() -> None:
    state = PublicState.start(made())
    with pytest.raises(DeniableError, match="write the reason: at most 500 characters"):
        Override.following(state, audits=[A], reason="", independent=True, during=1)


# A stored state


def test_a_stored_state_of_another_programme_is_refused() -> None:
    with pytest.raises(DeniableError, match="belongs to another programme or version"):
        PublicState.from_bytes(made(name="Harbours"), PublicState.start(made()).to_bytes())


@given(st.data())
def test_a_damaged_stored_state_is_refused(data: st.DataObject) -> None:
    parameters = made()
    stored = folded(parameters, drawn(1, A), override(2, B, independent=False)).to_bytes()
    at, byte = data.draw(st.integers(0, len(stored) - 1)), data.draw(st.binary(min_size=1, max_size=1))
    damaged = stored[:at] + byte + stored[at + data.draw(st.integers(0, 1)) :]
    assume(damaged != stored)
    with pytest.raises(DeniableError, match="the stored public state is damaged"):
        PublicState.from_bytes(parameters, damaged)


@pytest.mark.parametrize("blob", [b"", b"[]", b"null", b"{}", b"[" * 100_000])
def test_something_else_than_a_stored_state_is_refused(blob: bytes) -> None:
    with pytest.raises(DeniableError, match="the stored public state"):
        PublicState.from_bytes(made(), blob)


# What the guarantee covers


def test_the_guarantee_lapses_for_what_was_filed_so_far() -> None:
    state = folded(
        made(), drawn(1, A), override(2, B), skip(2), targets(3, removed=[D], independent=False), drawn(3, A),
        undone(4, 3, A), skip(4, independent=False), drawn(5, B),
    )  # fmt: skip
    assert [lapse[:2] for lapse in state.coverage.lapses] == [(4, 3), (7, 4)]
    assert state.coverage.holds_from == 5
    assert state.coverage.in_words(plain()) == (
        "The promise holds for reports filed from round 5 on, that is, from Monday 2 February 2026, 00:00 "
        "(Europe/Berlin time) on. It does not cover reports filed in round 4 or earlier. The office closed a round "
        "without a draw (entry 7). It did not declare that no report was the reason. It lapsed also through entry 4."
    )


def test_the_latest_round_of_the_calendar_counts_whatever_is_declared_later() -> None:
    """Round 2 was open when the calendar had come to round 7; afterwards the office's clock was set back."""
    late, later = override(2, B, independent=False, during=7), override(2, C, independent=False, during=3)
    coverage = folded(made(), drawn(1, A), late, later).coverage
    assert [lapse[:2] for lapse in coverage.lapses] == [(2, 7), (3, 3)]
    assert coverage.holds_from == 8
    words = coverage.in_words(plain())
    assert "from Monday 23 February 2026, 00:00 (Europe/Berlin time) on" in words
    assert "filed in round 7 or earlier. The office ordered an audit by hand" in words
    assert words.endswith("It lapsed also through entry 3.")


@pytest.mark.parametrize("said", [skip(2), override(2, B), targets(2, removed=[D]), undone(2, 1, A)])
def test_a_decision_is_not_made_before_its_round(said: Said) -> None:
    kind, number, fields = said
    with pytest.raises(DeniableError, match="made during round 2 or later, not during round 1"):
        folded(made(), drawn(1, A), (kind, number, fields | {"during": 1}))
    assert folded(made(), drawn(1, A), (kind, number, fields | {"during": 3})).entries == 2


def test_a_lapse_in_words() -> None:
    because = noted("The office ordered {audits} by hand (entry {entry}).", entry=9)
    words = Coverage(made().calendar, (Lapse(9, 7, because),)).in_words(plain())
    assert "from round 8 on" in words
    assert "round 7 or earlier. The office ordered audits by hand (entry 9)." in words


def test_a_lapse_of_a_programme_that_has_ended() -> None:
    """No words of rounds that never come, as on the public page; the same from the stored state."""
    lost = folded(made(), drawn(1, A), override(2, B, independent=False), end(2))
    held = folded(made(), drawn(1, A), override(2, B, independent=False), drawn(2, C), drawn(3, D), end(4))
    for state, standing, words in (
        (
            lost,
            "lost",
            "The promise holds for no report: it does not cover reports filed in round 2 or earlier, and the programme "
            "ended in round 2. The office ordered an audit by hand",
        ),
        (
            held,
            "holds",
            "The promise holds for reports filed from round 3 on, that is, from Monday 19 January 2026, 00:00 "
            "(Europe/Berlin time) on, until the programme ended in round 4. It does not cover reports filed in round 2 "
            "or earlier. The office ordered an audit by hand",
        ),
    ):
        assert state.coverage.in_words(plain()).startswith(words)
        assert Situation.after(state).standing(state.parameters) == standing
        assert PublicState.from_bytes(state.parameters, state.to_bytes()).coverage == state.coverage


def test_without_a_lapse() -> None:
    words = "The promise holds for every report filed since the programme began."
    assert folded(made(), drawn(1, A), override(2, B)).coverage.in_words(plain()) == words


@given(programmes())
def test_the_effect_of_an_entry_says_whether_it_is_covered(programme: tuple[Parameters, list[Entry]]) -> None:
    for entry in programme[1]:
        words = entry.effect(made().calendar, plain())
        if False in (entry.own().get("independent"), entry.own().get("complete")):
            assert f"The promise does not cover reports filed in round {entry.own()['during']} or earlier" in words
        elif "independent" in entry.own():
            assert "nothing to do with any report, so it does not weaken the promise." in words
        else:
            assert re.search("The promise( for reports)? covers|does not weaken the promise", words)
        assert ("late" in words) == (entry.kind in ("round", "freeze") and entry.own()["late"] > 0)
