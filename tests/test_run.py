import json
import struct
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.run import FORMAT, identity
from deniable.state import pack

BAD_ROUNDS: list[tuple[Any, str]] = [
    ([1, 2], "a round has 3 counts"),
    ([1, 2, 3, 4], "a round has 3 counts"),
    ([1, -1, 0], "must not be negative"),
    ([1, 0.5, 0], "must be whole numbers"),
    ([1, float("nan"), 0], "must be whole numbers"),
    ([1, float("inf"), 0], "must be whole numbers"),
    (["a", "b", "c"], "must be whole numbers"),
    ([10**30, 0, 0], "at most 1000000000"),
    ({7: 1}, "target must be in 0..2, got 7"),
    ({0: -1}, "must not be negative"),
    ({"acme": 1}, "target must be in 0..2"),
]
MECHANISMS = [dn.Greedy(3), dn.Race(3, 1.5), dn.CounterAuditing.calibrate(3, 0.1, horizon=9)]


def test_what_is_no_mechanism_is_refused() -> None:
    name: Any = "race"
    with pytest.raises(dn.DeniableError, match=r"mechanism must be one such as dn\.Race\.calibrate.* got str"):
        dn.AuditRun(name)


def test_a_delta_must_be_a_number() -> None:
    text: Any = "0.1"
    with pytest.raises(dn.DeniableError, match="delta must be"):
        dn.Race.calibrate(3, text)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(("reports", "says"), BAD_ROUNDS)
def test_a_refused_round_leaves_the_run_as_it_was(mechanism: Any, reports: Any, says: str) -> None:
    run = dn.AuditRun(mechanism)
    run.step([1, 2, 3])
    before = run.save()
    with pytest.raises(dn.DeniableError, match=says):
        run.step(reports)
    assert run.save() == before
    assert run.rounds == 1


def test_sparse_and_dense_rounds_are_the_same() -> None:
    runs = [dn.AuditRun(dn.Greedy(3), dn.ReplayNoise(bytes(32))) for _ in range(2)]
    for dense, sparse in [([0, 2, 0], {1: 2}), ([0, 0, 0], {}), ([1, 0, 4], {2: 4, 0: 1})]:
        assert runs[0].step(dense) == runs[1].step(sparse)


def test_the_run_shows_no_secret() -> None:
    run = dn.AuditRun(RACE)
    run.step([987654, 0, 0])
    assert repr(run) == f"AuditRun({RACE!r}, rounds=1)"
    assert "987654" not in repr(vars(run))


def test_system_noise_is_the_default_and_differs_between_runs() -> None:
    transcripts = set()
    for _ in range(3):
        run = dn.AuditRun(dn.UniformRandom(10))
        transcripts.add(tuple(run.step([0] * 10) for _ in range(30)))
    assert len(transcripts) == 3


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_runs_resume_under_simulated_noise_too(mechanism: Any) -> None:
    stream = np.random.default_rng(1).poisson(2, (9, 3))
    noise = dn.SimulationNoise(5)
    run, resumed = dn.AuditRun(mechanism, noise), []
    for reports in stream:
        run = dn.AuditRun.restore(mechanism, run.save(), noise)
        resumed.append(run.step(reports))
    whole = dn.AuditRun(mechanism, dn.SimulationNoise(5))
    assert resumed == [whole.step(reports) for reports in stream]


def test_a_simulated_run_cannot_go_on_for_real() -> None:
    mechanism = dn.CounterAuditing.calibrate(3, 0.1, horizon=9)
    run = dn.AuditRun(mechanism, dn.SimulationNoise(5))
    run.step([1, 2, 3])
    with pytest.raises(dn.DeniableError, match="must not be mixed"):
        dn.AuditRun.restore(mechanism, run.save()).step([0, 0, 0])


def digested(raw: bytes) -> bytes:
    return sha256(raw).hexdigest().encode() + b"\n" + raw


RACE = dn.Race(3, 1.5)
ABOUT = {"format": FORMAT, "mechanism": identity(RACE)}
WHOLE, TRUE = {"dtype": "int64", "shape": [1, 3]}, {"dtype": "bool", "shape": [1, 3]}
ARRAYS = [WHOLE, WHOLE, TRUE, WHOLE]
"""Last audits, audits, presence and counts."""


def saved(
    counts: Sequence[int] = (7, 0, 0),
    last: Sequence[int] = (0, 0, 0),
    about: Any = ABOUT,
    arrays: Any = ARRAYS,
    numbers: Any = ("1",),
) -> bytes:
    """A run after one round, or one that is damaged in a way that its checksum does not tell."""
    body = struct.pack("<6q3?", *last, 0, 0, 0, True, True, True) + struct.pack(f"<{len(counts)}q", *counts)
    header = json.dumps({"arrays": arrays, "numbers": numbers}).encode()
    return digested(json.dumps(about).encode() + b"\n" + header + b"\n" + body)


def test_a_good_saved_run_is_not_refused() -> None:
    run = dn.AuditRun.restore(RACE, saved())
    assert (run.rounds, run.active_counts()) == (1, (7, 0, 0))


@pytest.mark.parametrize(
    ("blob", "says"),
    [
        (b"", "damaged"),
        (b"nonsense", "damaged"),
        (saved()[:-1], "damaged"),
        (saved(about=[]), "must have format"),
        (saved(about={"format": "deniable-run/99"}), "must have format deniable-run/2"),
        (saved(about=ABOUT | {"mechanism": "Greedy(n_targets=3)"}), "belongs to Greedy"),
        (saved(arrays=None), "damaged"),
        (saved(arrays={}), "damaged"),
        (saved(arrays=ARRAYS[:3]), "damaged"),
        (saved(arrays=[*ARRAYS, WHOLE]), "damaged"),
        (saved(arrays=[*ARRAYS[:3], WHOLE | {"shape": [3]}]), "damaged"),
        (saved((1, 2), arrays=[*ARRAYS[:3], WHOLE | {"shape": [1, 2]}]), "damaged"),
        (saved(arrays=[*ARRAYS[:3], WHOLE | {"shape": [1, -3]}]), "damaged"),
        (saved(arrays=[*ARRAYS[:3], WHOLE | {"shape": [1, 10**30]}]), "damaged"),
        (saved(arrays=[*ARRAYS[:3], WHOLE | {"dtype": "float64"}]), "damaged"),
        (saved(arrays=[*ARRAYS[:3], WHOLE | {"dtype": "complex"}]), "damaged"),
        (saved(arrays=[WHOLE, WHOLE, WHOLE, WHOLE]), "damaged"),
        (saved((1, 2, 3, 4)), "damaged"),
        (saved((-1, 0, 0)), "damaged"),
        (saved((2**63 - 1, 0, 0)), "damaged"),
        (saved(last=(2, 0, 0)), "damaged"),
        (saved(numbers=["-1"]), "damaged"),
        (saved(numbers=["one"]), "damaged"),
        (saved(numbers=[]), "damaged"),
        (saved(numbers=["1", "2"]), "damaged"),
        (digested(b"not json"), "damaged"),
        (digested(b"[" * 100_000), "damaged"),
    ],
)
def test_a_damaged_saved_run_is_refused(blob: bytes, says: str) -> None:
    with pytest.raises(dn.DeniableError, match=says) as caught:
        dn.AuditRun.restore(RACE, blob)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_every_damaged_byte_is_noticed() -> None:
    run = dn.AuditRun(dn.Race(3, 1.5))
    run.step([1, 2, 3])
    blob = run.save()
    for at in range(len(blob)):
        damaged = blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]
        with pytest.raises(dn.DeniableError):
            dn.AuditRun.restore(run.mechanism, damaged)


def test_a_copy_older_than_the_published_rounds_is_refused() -> None:
    run = dn.AuditRun(RACE)
    run.step([1, 2, 3])
    old = run.save()
    run.step([0, 0, 0])
    assert dn.AuditRun.restore(RACE, run.save(), rounds=2).rounds == 2
    with pytest.raises(dn.DeniableError, match="has closed 1 rounds, but 2 are published"):
        dn.AuditRun.restore(RACE, old, rounds=2)


def test_a_mismatched_history_is_refused() -> None:
    """Toeplitz states whose parts are of different rounds."""
    tca = dn.CounterAuditing.calibrate(3, 0.1, horizon=9)
    run = dn.AuditRun(tca)
    run.step([1, 2, 3])
    _, about, header, *_ = run.save().split(b"\n")
    described = json.loads(header)
    at = next(
        number
        for number, array in enumerate(described["arrays"])
        if array["shape"][0] == 1 and len(array["shape"]) == 3
    )
    described["arrays"][at]["shape"] = [0, 1, 3]
    body = run.save().split(b"\n", 3)[3]
    with pytest.raises(dn.DeniableError, match="damaged"):
        dn.AuditRun.restore(tca, digested(b"\n".join([about, json.dumps(described).encode(), body])))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_the_length_of_a_saved_run_is_public(mechanism: Any) -> None:
    """Encryption keeps lengths, so they must not tell how many digits a count or a noise value has."""
    lengths = set()
    for seed, busy in enumerate([0, 1, 10**9]):
        run = dn.AuditRun(mechanism, dn.ReplayNoise(bytes([seed]) * 32))
        for _ in range(3):
            run.step([busy, 0, busy])
        lengths.add(len(run.save()))
    assert len(lengths) == 1


def a_weight_of_ones(history: dn.History) -> Any:
    return np.ones_like(history.last)


def test_functions_are_saved_by_name() -> None:
    named = dn.Race(3, 1.5, a_weight_of_ones)
    assert dn.AuditRun.restore(named, dn.AuditRun(named).save()).rounds == 0
    for nameless in (lambda history: 1.0 + history.audits, partial(a_weight_of_ones)):
        with pytest.raises(dn.DeniableError, match="weights must be a function with a name"):
            dn.AuditRun(dn.Race(3, 1.5, nameless)).save()


def test_a_saved_run_is_bytes() -> None:
    with pytest.raises(dn.DeniableError, match="must be bytes, got str"):
        dn.AuditRun.restore(RACE, "blob")  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", [RACE, dn.Greedy(3)], ids=["sparse", "dense"])
def test_an_interrupted_round_counts_nothing(mechanism: Any) -> None:
    class Interrupted(dn.ReplayNoise):
        armed = True

        def below(self, n: int) -> int:
            if self.armed:
                raise KeyboardInterrupt
            return super().below(n)

    noise = Interrupted(bytes(32))
    run = dn.AuditRun(mechanism, noise)
    before = run.save()
    with pytest.raises(KeyboardInterrupt):
        run.step([1, 1, 0])
    assert run.save() == before
    noise.armed = False
    fresh = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32)))
    assert run.step([1, 1, 0]) == fresh.step([1, 1, 0])
    assert run.save() == fresh.save()


COUNTING = [dn.Race(3, 1.5), dn.Race(3, 1.5, rules=dn.Rules(cooldown=1)), dn.Greedy(3)]
FOLLOWED = [*COUNTING, dn.CounterAuditing.calibrate(3, 0.1, horizon=9)]


def named(mechanism: Any) -> str:
    return f"{type(mechanism).__name__} with {mechanism.rules.cooldown} rounds of rest"


@pytest.mark.parametrize("mechanism", FOLLOWED, ids=named)
def test_active_counts_are_the_reports_since_the_last_audit(mechanism: Any) -> None:
    run, expected = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32))), np.zeros(3, dtype=np.int64)
    for reports in ([2, 1, 0], [0, 0, 0], [0, 3, 1], [1, 1, 1]):
        audited = run.step(reports)
        expected += reports
        expected[audited] = 0
        assert run.active_counts() == tuple(expected.tolist())
        assert all(type(count) is int for count in run.active_counts())


@pytest.mark.parametrize(
    "mechanism",
    [dn.CounterAuditing.calibrate(3, 0.1, horizon=9, counter="input_perturbation"), dn.UniformRandom(3)],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_active_counts_where_the_state_does_not_have_them(mechanism: Any) -> None:
    name = type(mechanism).__name__
    with pytest.raises(dn.DeniableError, match=f"the active counts of {name} cannot be read off its state"):
        dn.AuditRun(mechanism).active_counts()


@pytest.mark.parametrize("mechanism", FOLLOWED, ids=named)
def test_the_history_is_that_of_the_audits(mechanism: Any) -> None:
    run = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32)))
    audits = [run.step([1, 0, 2]) for _ in range(5)]
    history = run.history
    assert history.rounds == 5
    assert history.audits[0].tolist() == [audits.count(target) for target in range(3)]
    last = [
        max((number for number, audited in enumerate(audits, 1) if audited == target), default=0)
        for target in (0, 1, 2)
    ]
    assert history.last[0].tolist() == last
    assert history.present[0].all()


def test_the_history_cannot_be_changed_from_outside() -> None:
    run = dn.AuditRun(RACE, dn.ReplayNoise(bytes(32)))
    run.step([1, 0, 0])
    run.history.audits[0, 0] += 7
    assert run.history.audits.sum() == 1


@pytest.mark.parametrize("mechanism", FOLLOWED, ids=named)
def test_an_order_ends_runs_and_closes_no_round(mechanism: Any) -> None:
    run = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32)))
    for _ in range(3):
        run.step([2, 2, 2])
    before, counts = run.history, run.active_counts()
    run.order([2, 0])
    assert run.rounds == 3
    assert run.active_counts() == (0, counts[1], 0)
    assert run.history.audits[0].tolist() == (before.audits[0] + [1, 0, 1]).tolist()
    assert run.history.since[0].tolist() == [0, before.since[0, 1], 0]
    run.order([])
    assert run.active_counts() == (0, counts[1], 0)
    assert dn.AuditRun.restore(mechanism, run.save()).active_counts() == (0, counts[1], 0)


@pytest.mark.parametrize("mechanism", FOLLOWED, ids=named)
def test_nothing_remains_of_what_was_reported_before_an_order(mechanism: Any) -> None:
    """`cond:reset`, for audits that were ordered by hand."""
    run = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32)))
    for _ in range(3):
        run.step([2, 5, 1])
    run.order([0, 1, 2])
    assert pack(run._state.private) == pack(mechanism.init().private)


def test_an_order_counts_for_the_rules() -> None:
    run = dn.AuditRun(dn.Race(3, 1.5, rules=dn.Rules(cooldown=2)), dn.ReplayNoise(bytes(32)))
    run.order([0, 1])
    assert run.step([50, 50, 0]) == 2  # the others were audited just now
    late = dn.AuditRun(dn.Race(3, 1.5, rules=dn.Rules(max_gap=3)), dn.ReplayNoise(bytes(32)))
    late.order([0])
    assert {late.step([0, 0, 0]), late.step([0, 0, 0]), late.step([0, 0, 0])} == {0, 1, 2}


@pytest.mark.parametrize("mechanism", COUNTING, ids=named)
def test_adopting_a_lost_round_forgets_the_audited(mechanism: Any) -> None:
    run = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32)))
    run.step([2, 2, 2])
    counts = run.active_counts()
    assert run.adopt([1]) == [1]
    assert run.rounds == 2
    assert run.active_counts() == (counts[0], 0, counts[2])
    assert run.history.last[0, 1] == 2
    run.step([0, 0, 0])


def test_adopting_a_lost_round_forgets_everything_where_noise_was_lost() -> None:
    tca = dn.CounterAuditing.calibrate(3, 0.1, horizon=9)
    run = dn.AuditRun(tca, dn.ReplayNoise(bytes(32)))
    run.step([2, 2, 2])
    assert run.adopt([1]) == [0, 1, 2]
    assert run.active_counts() == (0, 0, 0)
    assert run.history.audits[0].sum() == 2
    assert run.history.audits[0, 1] >= 1
    fresh = dn.AuditRun(tca, dn.ReplayNoise(bytes(32)))
    again = dn.AuditRun.restore(tca, run.save(), dn.ReplayNoise(bytes(32)))
    assert [again.step([1, 2, 0]) for _ in range(5)] == [fresh.step([1, 2, 0]) for _ in range(5)]


@pytest.mark.parametrize("mechanism", FOLLOWED, ids=named)
def test_adopting_what_was_drawn_gives_the_same_history(mechanism: Any) -> None:
    drawn = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32)))
    adopting = dn.AuditRun(mechanism)
    for _ in range(4):
        adopting.adopt([drawn.step([0, 0, 0])])
    assert pack(adopting.history) == pack(drawn.history)


@pytest.mark.parametrize("deed", [dn.AuditRun.order, dn.AuditRun.adopt])
def test_targets_that_cannot_be_ordered_or_adopted(deed: Any) -> None:
    run = dn.AuditRun(dn.Greedy(4))
    run.remove_targets([3])
    before = run.save()
    for target, says in ((4, "target must be in 0..3, got 4"), (-1, "target must be in"), (3, "3 was removed before")):
        with pytest.raises(dn.DeniableError, match=says):
            deed(run, [0, target])
    assert run.save() == before
