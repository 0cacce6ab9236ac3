"""Draws with hidden names: what the public state knows of them, and what is refused."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.public.published import NAMES, Said, chained, fresh, made, revealed, salt, skip
from tests.programme.public.published import selected as drawn

from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.hidden import Hidden, Step, names_commitment
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState
from deniable.rules import History, no_history
from deniable.run import AuditRun

A, B, C, D = NAMES
DECIDED: dict[str, Any] = {"reason": "flood", "independent": True}
LATER = made(reveal_after=2)


def override(number: int, *audits: str) -> Said:
    return "override", number, {**DECIDED, "audits": audits, "during": number}


def targets(number: int, added: Sequence[str] = (), removed: Sequence[str] = ()) -> Said:
    return "targets", number, {**DECIDED, "added": tuple(added), "removed": tuple(removed), "during": number}


def undone(number: int, of: int, target: str) -> Said:
    return "not-carried-out", number, {**DECIDED, "of": of, "target": target, "during": number}


END: Said = ("end", 3, {"reason": "the law was repealed"})


def folded(*said: Said, parameters: Parameters = LATER) -> PublicState:
    return replay(parameters, chained(parameters, said))


def refused(match: str, *said: Said, parameters: Parameters = LATER) -> None:
    folded(*said[:-1], parameters=parameters)  # what comes before stands
    with pytest.raises(DeniableError, match=match):
        folded(*said, parameters=parameters)


def test_names_are_not_in_the_public_state_before_they_are_revealed() -> None:
    state = folded(drawn(1, A), drawn(2, B))
    assert state.history.rounds == 2
    assert not state.history.audits.any()
    assert not state.latest_audit.any()
    assert [draw.round for draw in state.hidden.draws] == [1, 2]
    state = folded(drawn(1, A), drawn(2, B), drawn(3, C), revealed(4, 1, A))
    assert state.history.audits[0].tolist() == [1, 0, 0, 0]
    assert state.history.last[0].tolist() == [1, 0, 0, 0]
    assert state.latest_audit.tolist() == [1, 0, 0, 0]
    assert [draw.round for draw in state.hidden.draws] == [2, 3]


def test_names_come_when_a_round_is_skipped_too() -> None:
    refused("names of round 1 are due, and must be revealed", drawn(1, A), drawn(2, B), skip(3), drawn(4, C))
    state = folded(drawn(1, A), drawn(2, B), skip(3), revealed(4, 1, A), drawn(4, C), revealed(5, 2, B))
    assert state.history.audits[0].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("other", [override(4, B), targets(4, ["Emden"]), undone(4, 1, A), skip(4), ("end", 4, END[2])])
def test_nothing_comes_before_names_that_are_due(other: Said) -> None:
    refused("names of round 1 are due, and must be revealed", drawn(1, A), drawn(2, B), drawn(3, C), other)


def test_nothing_but_the_end_comes_after_names_that_came_early() -> None:
    early = drawn(1, A), drawn(2, B), revealed(3, 1, A)
    for other in (override(3, B), drawn(3, C), targets(3, ["Emden"])):
        refused("revealed early", *early, other)
    refused("names of round 2 must be revealed before the end", *early, END)
    assert folded(*early, revealed(3, 2, B), END).ended
    refused("revealed early", *early, revealed(3, 2, B), drawn(3, C))
    refused("names of round 1 must be revealed before the end", drawn(1, A), drawn(2, B), END)


def test_other_names_than_those_committed_to_are_refused() -> None:
    before = drawn(1, A), drawn(2, B), drawn(3, C)
    for wrong in (revealed(4, 1, B), revealed(4, 1, A, salted=bytes(32)), revealed(4, 1, A, B)):
        refused("the names or the salt are not those", *before, wrong)
    refused("names of round 2 are not the next", *before, revealed(4, 2, B))
    refused("names of round 7 are not the next", *before, revealed(4, 7, B))
    refused("names of round 1 are not the next", *before, revealed(4, 1, A), revealed(4, 1, A))
    refused("no target named Emden", *before, revealed(4, 1, "Emden"))


def test_the_order_in_which_names_were_drawn_is_committed_to() -> None:
    two = made(reveal_after=1, audits=2)
    before = drawn(1, A, B, parameters=two), drawn(2, C, D, parameters=two)
    refused("the names or the salt are not those", *before, revealed(3, 1, B, A), parameters=two)
    assert folded(*before, revealed(3, 1, A, B), parameters=two).history.audits.sum() == 2


def test_the_rules_are_those_of_the_time_of_the_draw() -> None:
    rested = made(reveal_after=2, cooldown=1)
    twice = drawn(1, A, parameters=rested), drawn(2, A, parameters=rested), drawn(3, B, parameters=rested)
    up_to = *twice, revealed(4, 1, A), drawn(4, C, parameters=rested)
    refused("public rules did not allow an audit of Ashford", *up_to, revealed(5, 2, A), parameters=rested)
    # An order since then does not count against a draw before it, and one before it does.
    since = drawn(1, A, parameters=rested), override(2, B), skip(2), skip(3), revealed(4, 1, A)
    assert folded(*since, parameters=rested).history.audits[0].tolist() == [1, 1, 0, 0]
    before = override(1, A), drawn(1, A, parameters=rested), skip(2), skip(3), revealed(4, 1, A)
    refused("did not allow", *before, parameters=rested)


def test_a_target_that_left_since_is_revealed_all_the_same_and_one_that_joined_since_was_not_drawn() -> None:
    state = folded(drawn(1, A), targets(2, removed=[A]), skip(2), skip(3), revealed(4, 1, A))
    assert state.history.audits[0].tolist() == [1, 0, 0, 0]
    assert not state.takes_part(A)
    joined = replace(LATER, targets=(*NAMES, "Emden"))
    before = drawn(1, "Emden", parameters=joined), targets(2, ["Emden"]), skip(2), skip(3)
    refused("did not allow an audit of Emden", *before, revealed(4, 1, "Emden"))


def test_a_hidden_audit_cannot_be_said_not_to_have_been_carried_out() -> None:
    for target in (A, B):  # whichever target was drawn
        refused("not public before round 3 is closed; record it then", drawn(1, A), undone(2, 1, target))
    up_to = drawn(1, A), skip(2), skip(3), revealed(4, 1, A)
    assert folded(*up_to, undone(4, 1, A)).latest_audit[0] == 0
    # An order in the same round is another audit.
    assert folded(override(1, A), drawn(1, B), undone(2, 1, A)).latest_audit[0] == 0


def test_a_later_order_stays_the_latest_audit() -> None:
    state = folded(drawn(1, A), override(2, A), skip(2), skip(3), revealed(4, 1, A))
    assert state.latest_audit[0] == 2
    assert (state.history.audits[0, 0], state.history.last[0, 0]) == (2, 1)


def test_each_kind_of_programme_has_its_kind_of_draw() -> None:
    at_once = made()
    selected = "selection", 1, {**drawn(1, A)[2], "public_after": 1}
    refused("publishes at once whom it draws", selected, parameters=at_once)
    shown = {"audits": (A,), "commitment": fresh(1), "late": 0, "reason": None, "sealed": None}
    refused("does not publish at once", ("round", 1, shown))
    refused("public when round 3 is closed, not round 4", ("selection", 1, {**drawn(1, A)[2], "public_after": 4}))
    refused("capsule has 128 digits", ("selection", 1, {**drawn(1, A)[2], "capsule": "00"}))


def test_the_state_is_read_back_after_every_entry() -> None:
    said = [drawn(1, A), override(2, C), drawn(2, B), targets(3, ["Emden"], [D]), drawn(3, C), revealed(4, 1, A)]
    for number in range(len(said) + 1):
        state = folded(*said[:number])
        again = PublicState.from_bytes(LATER, state.to_bytes())
        assert again.to_bytes() == state.to_bytes()
        assert again.hidden.steps == state.hidden.steps
    early = folded(drawn(1, A), revealed(2, 1, A))
    assert PublicState.from_bytes(LATER, early.to_bytes()).hidden.is_ending


def guessed(commitment: str, programme: str, round_: int, n_targets: int, audits: int) -> tuple[int, ...] | None:
    """What a reader finds who hashes all targets with the salts that need no guessing."""
    guesses = permutations(range(n_targets), audits)
    salts = [bytes(32), b"", fresh(round_).encode(), programme.encode()]
    return next((guess for guess in guesses for salt in salts
                 if names_commitment(programme, round_, salt, guess) == commitment), None)  # fmt: skip


def test_names_cannot_be_guessed_from_the_commitment() -> None:
    committed = names_commitment(LATER.programme, 1, salt(1), [2, 0])
    assert guessed(committed, LATER.programme, 1, 50, 2) is None
    planted = names_commitment(LATER.programme, 1, bytes(32), [2, 0])  # a planted bug: no salt
    assert guessed(planted, LATER.programme, 1, 50, 2) == (2, 0)


def test_a_commitment_is_bound_to_everything() -> None:
    about = (LATER.programme, 1, salt(1), [1, 2])
    others = [("cd" * 16, *about[1:]), (about[0], 2, *about[2:]), (*about[:2], salt(2), about[3]), (*about[:3], [2, 1])]
    assert len({names_commitment(*one) for one in [about, *others]}) == 5


@given(st.lists(st.sampled_from(["draw", "draw", "order", "leave", "join"]), max_size=12), st.integers(0, 2**32))
def test_with_the_names_the_history_is_that_of_the_run(steps: list[str], seed: int) -> None:
    """Whatever is decided between the draws, and however many of them are revealed since."""
    chance, mechanism = np.random.default_rng(seed), made().built()
    run, public, hidden = AuditRun(mechanism, ReplayNoise(seed.to_bytes(32, "big"))), no_history(1, 4), Hidden()
    names: dict[int, tuple[int, ...]] = {}

    def opened(state: Hidden, shown: History) -> History:
        return state.history(shown, lambda draw: names[draw.round])

    for number, kind in enumerate(steps, start=1):
        if kind == "draw":
            names[number] = run.select([0] * len(run.history.present[0]))
            step = Step(round=number)
        elif kind == "join" or len(run.targets) < 3:
            run.add_targets(1)
            step = Step(joined=1)
        elif kind == "order":
            step = Step(ordered=(int(chance.choice(run.targets)),))
            run.order(step.ordered)
        else:
            step = Step(left=(int(chance.choice(run.targets)),))
            run.remove_targets(step.left)
        public, hidden = step.applied(public.copied()), hidden.after(step, public)
        assert opened(hidden, public).equals(run.history)
        assert Hidden.from_bytes(hidden.to_bytes()).to_bytes() == hidden.to_bytes()
        if hidden.draws and chance.random() < 0.3:
            hidden, public = hidden.revealed(names[hidden.draws[0].round])
            assert opened(hidden, public).equals(run.history)
    while hidden.draws:
        hidden, public = hidden.revealed(names[hidden.draws[0].round])
    assert public.equals(run.history)
