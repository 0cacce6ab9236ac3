"""A frozen round: its random numbers and its hash follow from everything that it is drawn from."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.programme import planted_bugs
from tests.programme.offices import DAILY, TARGETS

from deniable.programme.parameters import Parameters
from deniable.programme.secrets.frozen import Frozen, noise_of_draw
from deniable.programme.secrets.sealed_inputs import Inputs
from deniable.run import AuditRun

PARAMETERS = Parameters(
    programme="ab" * 16,
    name="Test programme",
    targets=TARGETS,
    mechanism="race",
    delta=0.1,
    calendar=DAILY,
    public_key="ab" * 32,
    commitment="cd" * 32,
)
DRAW = {"programme": "ab" * 16, "round_": 3, "seed": bytes(32), "public_value": "ef" * 32, "counted": "01" * 32}
INPUTS = Inputs(3, np.array([[1, 0, 2, 0]]), bytes(32), bytes(range(32)), bytes(range(32, 64)))


def frozen(run: AuditRun | None = None, **changes: Any) -> Frozen:
    return Frozen(replace(INPUTS, **changes), (AuditRun(PARAMETERS.built()) if run is None else run).save())


def another_run() -> AuditRun:
    run = AuditRun(PARAMETERS.built())
    run.order([2])
    return run


def taken(**changes: Any) -> bytes:
    return noise_of_draw(**{**DRAW, **changes})._take(32)


def test_the_same_inputs_give_the_same_numbers_and_the_same_hash() -> None:
    assert taken() == taken()
    assert frozen().hash("ab" * 16) == frozen().hash("ab" * 16)


@pytest.mark.parametrize(
    "changes",
    [
        {"programme": "cd" * 16},
        {"round_": 4},
        {"seed": bytes(31) + b"1"},
        {"public_value": "ef" * 31 + "ee"},
        {"public_value": ""},
        {"counted": "01" * 31 + "02"},
    ],
    ids=str,
)
def test_any_other_input_gives_other_numbers(changes: dict[str, object]) -> None:
    assert taken(**changes) != taken()


BOUND: dict[str, dict[str, Any]] = {
    "the round": {"round": 4},
    "a report more": {"reports": np.array([[1, 0, 3, 0]])},
    "a report about another target": {"reports": np.array([[0, 1, 2, 0]])},
    "another target": {"reports": np.array([[1, 0, 2, 0, 0]])},
    "the seed": {"seed": bytes(31) + b"1"},
    "the salt": {"salt": bytes(32)},
    "the run": {"run": another_run()},
}


def numbers(one: Frozen, parameters: Parameters = PARAMETERS) -> bytes:
    """The first that the draw takes."""
    used = list[bytes]()

    def remembered(*given: Any) -> Any:
        used.append(noise_of_draw(*given)._take(32))
        return noise_of_draw(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("deniable.programme.secrets.frozen.noise_of_draw", remembered)
        one.drawn(parameters, "ef" * 32)
    return used[0]


@pytest.mark.parametrize("changes", BOUND.values(), ids=BOUND)
def test_the_hash_binds_everything_and_so_does_the_draw_but_for_the_salts(changes: dict[str, Any]) -> None:
    """Also what `noise_of_draw` is not given itself: the run and the reports. The office chooses a salt when it knows
    the rest, so that another salt must not be another draw.
    """
    one, other = frozen(), frozen(**changes)
    assert one.hash("ab" * 16) != other.hash("ab" * 16)
    if len(other.inputs.reports[0]) == len(TARGETS):
        assert (numbers(one) == numbers(other)) == ("salt" in changes)


def test_the_draw_does_not_follow_from_the_salt_of_the_names() -> None:
    assert numbers(frozen(names_salt=bytes(32))) == numbers(frozen())


def test_a_draw_from_the_salt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a planted bug."""
    planted_bugs.a_draw_that_follows_from_the_salt(monkeypatch)
    with pytest.raises(AssertionError):
        test_the_hash_binds_everything_and_so_does_the_draw_but_for_the_salts(BOUND["the salt"])


def test_reports_that_do_not_count_do_not_change_the_draw() -> None:
    """Above the most that count: otherwise the office could try one number of them after the other."""
    limited = replace(PARAMETERS, most_counted=3, calibrated=None)
    few, many, fewer = (frozen(reports=np.array([[1, 0, count, 0]])) for count in (3, 900, 2))
    assert few.hash("ab" * 16) != many.hash("ab" * 16)
    assert numbers(few, limited) == numbers(many, limited) != numbers(fewer, limited)
    assert numbers(few) != numbers(many)


def test_the_hash_is_that_of_one_programme() -> None:
    assert frozen().hash("ab" * 16) != frozen().hash("cd" * 16)


def test_a_hash_without_the_salt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a planted bug."""
    honest = Frozen.hash
    monkeypatch.setattr(
        Frozen, "hash", lambda self, programme: honest(replace(self, inputs=replace(self.inputs, salt=b"")), programme)
    )
    with pytest.raises(AssertionError):
        test_the_hash_binds_everything_and_so_does_the_draw_but_for_the_salts(BOUND["the salt"])


def test_what_is_stored_comes_back() -> None:
    one = frozen(run=another_run())
    again = Frozen.from_bytes(one.to_bytes())
    assert again.run == one.run
    assert again.inputs.reports.tolist() == one.inputs.reports.tolist()
    assert replace(again.inputs, reports=one.inputs.reports).__dict__ == one.inputs.__dict__
    assert again.hash("ab" * 16) == one.hash("ab" * 16)
    assert again.drawn(PARAMETERS, "ef" * 32)[1] == one.drawn(PARAMETERS, "ef" * 32)[1]


def test_its_length_does_not_tell_how_many_reports_there_are() -> None:
    lengths = {len(frozen(reports=np.array([[count, 0, 2, 0]])).to_bytes()) for count in (0, 1, 9, 10, 2**32 - 1)}
    assert len(lengths) == 1


def test_targets_ordered_since_do_not_change_the_draw_and_their_runs_end() -> None:
    run, drawn = frozen().drawn(PARAMETERS, "ef" * 32)
    other = next(target for target in (0, 2) if target not in drawn)
    ordered, same = frozen().drawn(PARAMETERS, "ef" * 32, [[other]])
    assert same == drawn
    assert run.active_counts()[other] == INPUTS.reports[0, other]
    assert ordered.active_counts()[other] == 0


def test_no_repr_shows_a_secret() -> None:
    assert repr(frozen()) == "Frozen(secret)"
    assert repr(frozen().inputs) == "Inputs(secret)"
