"""Whole runs by enumeration: with all that an office does between rounds, they follow the definition, keep the bounds,
and are the code that runs in production; one wrong line in it is caught.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
import pytest
from tests.attack.courses import Doings, Transcripts, as_round, defined_law, law, random_course, with_a_report
from tests.programme.test_parameters import RACE, RICH

import deniable as dn
import deniable.mechanisms.sparse_race
import deniable.run
from deniable.attack.exact import Audits, ScriptedNoise, likelihood_ratio, outcomes, total_variation
from deniable.mechanisms import Mechanism
from deniable.mechanisms.sparse_race import SparseRace
from deniable.noise import ExactNoise, Noise
from deniable.programme.parameters import Parameters

MECHANISMS = [
    pytest.param(dn.Race(3, 2.0), True, id="race"),
    pytest.param(dn.Race(3, 2.0, (1.0, 3.0, 0.2)), False, id="race-weights"),
    pytest.param(dn.Race(3, 2.0, dn.forecast), True, id="race-forecast"),
    pytest.param(dn.Race(3, 2.0, dn.steady_forecast), True, id="race-steady-forecast"),
    pytest.param(dn.Race(3, 2.0, rules=dn.Rules(max_gap=8, cooldown=1)), True, id="race-rules"),
    pytest.param(dn.RandomizedResponse.calibrate(3, 0.3, rules=dn.Rules(cooldown=1)), False, id="rr-cooldown"),
    pytest.param(dn.RandomizedResponse.calibrate(3, 0.3), False, id="rr"),
    pytest.param(dn.UniformRandom(3), True, id="uniform"),
]


def assert_follows(mechanism: Mechanism[Any], joins: bool, audits: int, rounds: int, courses: int) -> None:
    rng = np.random.default_rng(20260101)
    for _ in range(courses):
        course = random_course(rng, mechanism.n_targets, joins, audits, rounds)
        more = with_a_report(rng, course)
        filed, not_filed = law(mechanism, more), law(mechanism, course)
        assert filed == defined_law(mechanism, more)
        assert not_filed == defined_law(mechanism, course)
        assert total_variation(filed, not_filed) <= mechanism.guarantee().delta
        assert likelihood_ratio(filed, not_filed) <= mechanism.guarantee().likelihood_cap


@pytest.mark.parametrize(("mechanism", "joins"), MECHANISMS)
def test_copying_the_run_for_every_outcome_changes_nothing(mechanism: Mechanism[Any], joins: bool) -> None:
    """The law of runs that are each played from their start, and never copied."""
    rng = np.random.default_rng(20260102)
    for _ in range(2):
        course = random_course(rng, mechanism.n_targets, joins, audits=1, rounds=3)
        uncopied: Transcripts = {}
        for noise, transcript in outcomes(partial(played, mechanism, course)):
            uncopied[transcript] = uncopied.get(transcript, Fraction(0)) + noise.probability
        assert law(mechanism, course) == uncopied


def played(mechanism: Mechanism[Any], course: Sequence[Doings], noise: ExactNoise) -> tuple[Audits, ...]:
    run, transcript = dn.AuditRun(mechanism, noise), []
    for doings in course:
        run, audits = as_round(doings)(run, noise)
        transcript.append(audits)
    return tuple(transcript)


@pytest.mark.parametrize(("mechanism", "joins"), MECHANISMS)
def test_runs_follow_the_definition_whatever_the_office_does(mechanism: Mechanism[Any], joins: bool) -> None:
    assert_follows(mechanism, joins, audits=1, rounds=3, courses=12)


@pytest.mark.parametrize(("mechanism", "joins"), [one for one in MECHANISMS if not str(one.id).startswith("rr")])
def test_several_audits_follow_the_definition_whatever_the_office_does(mechanism: Mechanism[Any], joins: bool) -> None:
    assert_follows(mechanism, joins, audits=2, rounds=2, courses=6)


@pytest.mark.long
@pytest.mark.parametrize(("mechanism", "joins"), MECHANISMS)
def test_many_runs_follow_the_definition(mechanism: Mechanism[Any], joins: bool) -> None:
    assert_follows(mechanism, joins, audits=1, rounds=4, courses=60)


# One wrong line


def planted(module: ModuleType, *edits: tuple[str, str]) -> dict[str, Any]:
    """The module with these pieces of its source replaced."""
    source = inspect.getsource(module)
    for right, wrong in edits:
        assert source.count(right) == 1, right
        source = source.replace(right, wrong)
    names: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source, str(module.__file__), "exec"), names)
    return names


SPARSE_BUGS = {
    "an audit does not reset the count": (
        [
            ("            self._counts[0, target] = 0\n", ""),
            ("self._weigh(target, 0)", "self._weigh(target, int(self._counts[0, target]))"),
        ],
        dn.Race(2, 3.0),
        [Doings(reports={0: 1}), Doings(), Doings()],
    ),
    "an audit resets the count and not its weight": (
        [("self._weigh(target, 0)", "self._weigh(target, active.get(target, 0))")],
        dn.Race(2, 3.0),
        [Doings(reports={0: 1}), Doings(), Doings()],
    ),
    "the weight of a drawn target stays for the second draw": (
        [("                self._tree.set(drawn[-1], 0)\n", "")],
        dn.Race(3, 3.0),
        [Doings(reports={0: 1}, audits=2)],
    ),
    "a report counts twice after an interrupted round": (
        [("self._weigh(target, count)\n", "self._weigh(target, count); self._counts[0, target] = count\n")],
        dn.Race(2, 3.0),
        [Doings(reports={0: 1}, interrupted=0)],
    ),
    "what was drawn before an interrupt cannot be drawn again": (
        [("{*active, *drawn}", "active")],
        dn.Race(3, 3.0),
        [Doings(reports={0: 1}, audits=2, interrupted=1)],
    ),
    "a target that leaves keeps its weight": (
        [
            (
                "np.where(state.history.present, mechanism.whole_weights(state.history), 0)",
                "mechanism.whole_weights(state.history)",
            )
        ],
        dn.Race(3, 3.0),
        [Doings(reports={0: 1}), Doings(leaving=(2,))],
    ),
}
RUN_BUGS = {
    "a restored run has lost a report": (
        [
            (
                "return cls(mechanism, noise, state)\n",
                "state.private[0, 0] -= bool(state.private[0, 0]); return cls(mechanism, noise, state)\n",
            )
        ],
        dn.Race(2, 3.0),
        [Doings(reports={0: 1}), Doings(reopened=True)],
    ),
    "an order does not end the run": (
        [("self.mechanism.forget(state.private, ordered)", "state.private")],
        dn.Race(2, 3.0),
        [Doings(reports={0: 1}), Doings(ordered=(0,))],
    ),
    "an adopted audit is forgotten": (
        [("state.history.after(audited)", "state.history")],
        dn.Race(3, 3.0, dn.forecast),
        [Doings(adopted=(0,))],
    ),
    "whoever joins cannot be drawn": (
        [("state.history.after_join(n)", "state.history.after_join(n).after_leave(np.arange(ever + n)[None] >= ever)")],
        dn.Race(2, 3.0),
        [Doings(joining=1)],
    ),
}
Bug = tuple[list[tuple[str, str]], Mechanism[Any], list[Doings]]


def named(bugs: dict[str, Any]) -> list[Any]:
    return [pytest.param(bug, id=name) for name, bug in bugs.items()]


def law_through_step(mechanism: Mechanism[Any], course: Sequence[Doings]) -> Transcripts:
    """The law of the mechanism's own `step` alone, without a run around it."""

    def play(noise: Noise) -> tuple[tuple[int, ...], ...]:
        state, transcript = mechanism.init(), []
        for doings in course:
            counts = np.zeros((1, mechanism.n_targets), dtype=np.int64)
            counts[0, list(doings.reports)] = list(doings.reports.values())
            drawn, state = mechanism.step(state, counts, noise, doings.audits)
            transcript.append(tuple(drawn[0].tolist()))
        return tuple(transcript)

    return {transcript: noise.probability for noise, transcript in outcomes(play)}


@pytest.mark.parametrize("bug", named(SPARSE_BUGS))
def test_a_wrong_line_in_the_sparse_race_is_caught(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    edits, mechanism, course = bug
    assert law(mechanism, course) == defined_law(mechanism, course)
    monkeypatch.setattr(deniable.run, "SparseRace", planted(deniable.mechanisms.sparse_race, *edits)["SparseRace"])
    assert law(mechanism, course) != defined_law(mechanism, course)


@pytest.mark.parametrize("bug", named(RUN_BUGS))
def test_a_wrong_line_in_the_run_is_caught(bug: Bug) -> None:
    edits, mechanism, course = bug
    assert law(mechanism, course) == defined_law(mechanism, course)
    assert law(mechanism, course, planted(deniable.run, *edits)["AuditRun"]) != defined_law(mechanism, course)


@pytest.mark.parametrize(
    "name", ["an audit does not reset the count", "the weight of a drawn target stays for the second draw"]
)
def test_what_breaks_the_promise_is_invisible_to_an_enumeration_of_step(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why the run itself is enumerated: a mechanism's `step` is not what `AuditRun` calls for a plain race."""
    edits, mechanism, course = SPARSE_BUGS[name]
    quiet = [Doings(audits=doings.audits) for doings in course]
    monkeypatch.setattr(deniable.run, "SparseRace", planted(deniable.mechanisms.sparse_race, *edits)["SparseRace"])
    for enumerate_law, caught in ((law_through_step, False), (law, True)):
        filed, not_filed = enumerate_law(mechanism, course), enumerate_law(mechanism, quiet)
        assert (likelihood_ratio(filed, not_filed) > mechanism.guarantee().likelihood_cap) == caught


# The code that runs in production


def code_of(play: Callable[[], object]) -> set[CodeType]:
    """The functions of deniable that `play` calls."""
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and str(frame.f_globals.get("__name__")).startswith("deniable."):
            called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        play()
    finally:
        sys.setprofile(before)
    return called


PROGRAMMES = [
    pytest.param(RACE, id="race"),
    pytest.param(RACE | {"audits": 2}, id="race-two-audits"),
    pytest.param(RACE | {"weights": (1.0, 2.5, 0.5)}, id="race-weights"),
    pytest.param(RACE | {"weights": "forecast"}, id="race-forecast"),
    pytest.param(RACE | {"weights": "steady-forecast"}, id="race-steady-forecast"),
    pytest.param(RACE | {"max_gap": 4, "cooldown": 1}, id="race-rules"),
    pytest.param(RICH, id="race-all"),
]


@pytest.mark.parametrize("fields", PROGRAMMES)
def test_what_a_programme_runs_is_what_is_enumerated(fields: dict[str, Any]) -> None:
    """Down to the uniform number: beyond what is enumerated, a real run executes three functions of its generator."""
    parameters = Parameters(**fields)
    mechanism, audits = parameters.built(), parameters.audits
    reports: dict[int, int] = {0: 2, 2: 1}
    course = [
        Doings(reports=reports, audits=audits),
        Doings(reports=reports, audits=audits, ordered=(1,), reopened=True),
    ]

    def produce(noise: ExactNoise) -> None:
        run = dn.AuditRun(mechanism, noise)
        run.select(reports, audits)
        run.order([1])
        dn.AuditRun.restore(mechanism, run.save(), noise, rounds=1).select(reports, audits)

    enumerated = code_of(lambda: law(mechanism, course))
    for noise in (dn.ReplayNoise(bytes(32)), dn.SystemNoise()):
        produced = code_of(partial(produce, noise))
        assert produced - enumerated == {one.__code__ for one in (ExactNoise.pick, ExactNoise.below, ExactNoise._take)}
        plain = not isinstance(fields.get("weights"), str) and "max_gap" not in fields
        assert (SparseRace.select.__code__ in produced) == plain
        assert (dn.Race.draw.__code__ in produced) != plain


def test_the_script_takes_the_place_of_one_function() -> None:
    """Of `pick`: `below`, under it, is refused, and the generators of real runs have both from `ExactNoise`."""
    own = {name for name in vars(ExactNoise) if not name.startswith("__")}
    assert own & vars(ScriptedNoise).keys() == {"pick", "below"}
    assert not own & (vars(dn.ReplayNoise).keys() | vars(dn.SystemNoise).keys())
