"""The checks that our own mechanisms and counters pass, for you to run on yours.

Each takes the object under test and raises AssertionError with a sentence when it fails.
"""

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.attack import Pair, hard_pairs, likelihood_ratio, total_variation, transcript_distribution
from deniable.attack.exact import Law
from deniable.attack.game import proven
from deniable.calibration import gaussian_delta
from deniable.counters import Counter
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import largest, one_hot
from deniable.noise import Growth, Noise, ReplayNoise
from deniable.run import AuditRun
from deniable.state import pack
from deniable.streams import active_counts, leaders


class ZeroNoise:
    """No noise where a mechanism would add some; ties are still broken uniformly, races won by the largest.

    >>> ZeroNoise().gaussian(Fraction(1), (2,))
    array([0, 0], dtype=object)
    """

    def __init__(self) -> None:
        self._ties = ReplayNoise(bytes(32))

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        return np.full(runs, probability == 1)

    def choose(self, eligible: BoolArray) -> IntArray:
        return self._ties.choose(eligible)

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        return self.choose(largest(counts, weights > 0))

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        return np.zeros(shape, dtype=object)


class PerRunNoise:
    """B noises side by side: run b draws from the b-th and from no other."""

    def __init__(self, noises: Sequence[Noise]) -> None:
        self._noises = noises

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        return np.concatenate([noise.bernoulli(probability, 1) for noise in self._rows(runs)])

    def choose(self, eligible: BoolArray) -> IntArray:
        rows = self._rows(len(eligible))
        return np.concatenate([noise.choose(eligible[b : b + 1]) for b, noise in enumerate(rows)])

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        rows = [(noise, slice(b, b + 1)) for b, noise in enumerate(self._rows(len(counts)))]
        return np.concatenate([noise.race(growth, counts[b], weights[b]) for noise, b in rows])

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        return np.concatenate([noise.gaussian(variance, (1, *shape[1:])) for noise in self._rows(shape[0])])

    def _rows(self, runs: int) -> Sequence[Noise]:
        of = len(self._noises)
        _require(runs == of, f"each draw must be made for all {of} runs in one call, but a call asked for {runs}")
        return self._noises


def check_mechanism(mechanism: Mechanism[Any], rounds: int = 12, follows_reports: bool = True) -> None:
    """All checks of how a mechanism works. `follows_reports` is False for one that ignores them, like uniform.

    None of them asks whether the claimed delta is true: that needs a proof. `check_guarantee` looks for a
    counterexample on small streams, `deniable.attack.find_worst` on larger ones.
    """
    if follows_reports:
        check_zero_noise_is_greedy(mechanism, rounds)
    check_batch_equals_loop(mechanism, rounds)
    check_resume_equals_uninterrupted(mechanism, rounds)
    check_step_is_pure(mechanism)
    check_audit_forgets(mechanism, rounds)
    check_active_counts(mechanism, rounds)
    check_guarantee_is_public(mechanism, rounds)
    check_state_shows_nothing(mechanism, rounds)


def check_zero_noise_is_greedy(mechanism: Mechanism[Any], rounds: int) -> None:
    """Without noise every audit goes to a target with the largest active count."""
    stream = _example_stream(rounds, mechanism.n_targets)
    transcript = _play(mechanism, stream, ZeroNoise())
    active = active_counts(stream, transcript)
    missed = ~leaders(active)[np.arange(rounds), transcript]
    _require(not missed.any(), f"without noise, round {missed.argmax() + 1} did not audit a leader")


def check_batch_equals_loop(mechanism: Mechanism[Any], rounds: int) -> None:
    """B runs at once give what B runs one by one give, each with its own noise."""
    streams = np.stack([_example_stream(rounds, mechanism.n_targets, seed) for seed in range(3)])
    state, noise = mechanism.init(3), PerRunNoise([ReplayNoise(bytes([b]) * 32) for b in range(3)])
    together = np.empty((3, rounds), dtype=np.int64)
    for t in range(rounds):
        audits, state = mechanism.step(state, streams[:, t], noise)
        together[:, t] = audits[:, 0]
    for b in range(3):
        alone = _play(mechanism, streams[b], ReplayNoise(bytes([b]) * 32))
        _require(np.array_equal(together[b], alone), f"run {b} of a batch differs from the same run alone")


def check_resume_equals_uninterrupted(mechanism: Mechanism[Any], rounds: int) -> None:
    """Saved and restored after every round, a run makes the same audits."""
    stream = _example_stream(rounds, mechanism.n_targets)
    noise = ReplayNoise(bytes(32))
    run, resumed = AuditRun(mechanism, noise), []
    for reports in stream:
        resumed.append(run.step(reports))
        run = AuditRun.restore(mechanism, run.save(), noise)
    _require(resumed == _play(mechanism, stream, ReplayNoise(bytes(32))).tolist(), "a resumed run went another way")


def check_step_is_pure(mechanism: Mechanism[Any]) -> None:
    """`step` does not change the state it is given."""
    stream, state = _example_stream(4, mechanism.n_targets), mechanism.init()
    noise = ReplayNoise(bytes(32))
    for reports in stream:
        before = copy.deepcopy(state)
        _, after = mechanism.step(state, reports[None], noise)
        _require(_same(before, state), "step changed the state it was given")
        state = after


def check_audit_forgets(mechanism: Mechanism[Any], rounds: int) -> None:
    """Once its target is audited, a report has left no trace in the state.

    Two runs that differ in one report make the same draws; while their audits agree, their states are equal again
    from the first audit of the report's target on.
    """
    agreed = 0
    for seed in range(40):
        stream = _example_stream(rounds, mechanism.n_targets, seed)
        target = seed % mechanism.n_targets
        other = stream.copy()
        other[0, target] += 1
        states = mechanism.init(), mechanism.init()
        noises = ReplayNoise(bytes([seed]) * 32), ReplayNoise(bytes([seed]) * 32)
        for reports, extra in zip(stream, other, strict=True):
            ((audit,),), first = mechanism.step(states[0], reports[None], noises[0])
            ((same,),), second = mechanism.step(states[1], extra[None], noises[1])
            states = first, second
            if audit != same:
                break
            if audit == target:
                _require(_same(*states), "after the audit of its target a report is still in the state")
                agreed += 1
                break
    _require(agreed, "no run audited the report's target in time: raise rounds")


def check_active_counts(mechanism: Mechanism[Any], rounds: int) -> None:
    """The active counts that the mechanism reads off its state, if any, are the reports since the last audit."""
    streams = np.stack([_example_stream(rounds, mechanism.n_targets, seed) for seed in range(3)])
    state, noise = mechanism.init(3), PerRunNoise([ReplayNoise(bytes([b]) * 32) for b in range(3)])
    expected = np.zeros_like(streams[:, 0])
    for t in range(rounds):
        audits, state = mechanism.step(state, streams[:, t], noise)
        expected = np.where(one_hot(audits[:, 0], mechanism.n_targets), 0, expected + streams[:, t])
        counts = mechanism.active_counts(state.private)
        _require(counts is None or np.array_equal(counts, expected), f"the active counts after round {t + 1} are wrong")


def check_guarantee_is_public(mechanism: Mechanism[Any], rounds: int) -> None:
    """The guarantee is the same before and after any reports."""
    before = mechanism.guarantee()
    _play(mechanism, _example_stream(rounds, mechanism.n_targets), ReplayNoise(bytes(32)))
    _require(mechanism.guarantee() == before, "the guarantee changed with the data")


def check_state_shows_nothing(mechanism: Mechanism[Any], rounds: int) -> None:
    """The repr of a run and of its state is the same whatever was reported."""
    shown = []
    for busy in (0, 10**6):
        run = AuditRun(mechanism, ReplayNoise(bytes(32)))
        for reports in _example_stream(rounds, mechanism.n_targets):
            run.step(reports * busy)
        shown.append(
            (repr(run), repr(run._state), repr(run._state.private) if hasattr(run._state.private, "__dict__") else "")
        )
    _require(shown[0] == shown[1], "the repr of the state shows what was reported")


def check_guarantee(mechanism: Mechanism[Any], pairs: Sequence[Pair] | None = None) -> None:
    """What the guarantee claims is true on these pairs of adjacent streams: delta, trade-off curve, likelihood cap.

    The transcripts of both streams are enumerated, so a claim that fails here is refuted; one that passes is not
    proven, since other streams may leak more. By default the pairs are `deniable.attack.hard_pairs` of 4 rounds. Few
    targets, 2 or 3, are enough. A mechanism with Gaussian noise cannot be enumerated and is refused: use
    `check_counter_sensitivity` for its counter, and `deniable.attack.find_worst`.
    """
    claimed = mechanism.guarantee()
    rounds = 4 if claimed.horizon is None else min(4, claimed.horizon)
    for pair in hard_pairs(mechanism.n_targets, rounds) if pairs is None else pairs:
        filed, not_filed = (transcript_distribution(mechanism, stream) for stream in (pair.filed, pair.not_filed))
        allowed = proven(claimed, pair)
        ratio = likelihood_ratio(filed, not_filed)
        _require(
            ratio <= allowed.likelihood_cap,
            f"on {pair.name!r} a transcript is {float(ratio):.6g} times as likely with the report, "
            f"but at most {allowed.likelihood_cap:.6g} times is claimed",
        )
        distance = total_variation(filed, not_filed)
        _require(
            distance <= allowed.delta,
            f"on {pair.name!r} the total variation is {float(distance):.6g}, but {allowed.delta:.6g} is claimed",
        )
        for fpr, tpr in _best_tests(filed, not_filed):
            limit = allowed.tradeoff(fpr)
            _require(
                tpr <= limit + 1e-9,
                f"on {pair.name!r} a test with FPR {fpr:.6g} has TPR {tpr:.6g}, but at most {limit:.6g} is claimed",
            )


def _best_tests(filed: Law, not_filed: Law) -> list[tuple[float, float]]:
    """FPR and TPR of the best tests (Neyman and Pearson): "filed" for transcripts of a large likelihood ratio."""

    def suspicion(transcript: Any) -> Fraction:
        return filed.get(transcript, Fraction(0)) / (filed.get(transcript, Fraction(0)) + not_filed.get(transcript, 0))

    tests, fpr, tpr = [], Fraction(0), Fraction(0)
    for transcript in sorted({*filed, *not_filed}, key=suspicion, reverse=True):
        fpr += not_filed.get(transcript, Fraction(0))
        tpr += filed.get(transcript, Fraction(0))
        tests.append((float(fpr), float(tpr)))
    return tests


def check_counter(counter: Counter[Any], rounds: int = 12) -> None:
    """All checks of a counter: exact counts without noise, and a restart that forgets."""
    check_counter_is_exact(counter, rounds)
    check_restart_forgets(counter, rounds)


def check_counter_is_exact(counter: Counter[Any], rounds: int) -> None:
    """Without noise the outputs are the prefix sums."""
    stream = _example_stream(rounds, 4)
    state = counter.init(1, 4)
    for t, reports in enumerate(stream):
        noisy, state = counter.step(state, reports[None], ZeroNoise())
        _require(np.array_equal(noisy[0], stream[: t + 1].sum(axis=0)), f"without noise, round {t + 1} is miscounted")


def check_restart_forgets(counter: Counter[Any], rounds: int) -> None:
    """After a restart an instance counts, and draws, like a fresh one; the other instances go on undisturbed."""
    stream = _example_stream(rounds, 2)
    half = rounds // 2
    noise, same_noise = ReplayNoise(bytes(32)), ReplayNoise(bytes(32))
    restarted = untouched = counter.init(1, 2)
    for reports in stream[:half]:
        _, restarted = counter.step(restarted, reports[None], noise)
        _, untouched = counter.step(untouched, reports[None], same_noise)
    restarted = counter.restart(restarted, np.array([[True, False]]))
    fresh, fresh_noise = counter.init(1, 2), ReplayNoise(bytes([1]) * 32)
    noise, same_noise = ReplayNoise(bytes([1]) * 32), ReplayNoise(bytes([1]) * 32)
    for reports in stream[half:]:
        counts, restarted = counter.step(restarted, reports[None], noise)
        same_counts, untouched = counter.step(untouched, reports[None], same_noise)
        fresh_counts, fresh = counter.step(fresh, reports[None], fresh_noise)
        _require(counts[0, 0] == fresh_counts[0, 0], "a restarted counter remembers its past")
        _require(counts[0, 1] == same_counts[0, 1], "restarting one counter disturbed another")


def check_counter_sensitivity(counter: Counter[Any]) -> None:
    """The claimed delta covers what the outputs of one run, of all its rounds, reveal about one report.

    Complete for a counter that is linear in its reports and in Gaussian noise, whatever it looks like inside; see
    `counter_delta`. Give it a short horizon: the privacy loss is largest over whole runs, so all rounds are played.
    """
    claimed = counter.guarantee().delta
    for exact, kind in ((True, "exact"), (False, "simulated")):
        delta = counter_delta(counter, exact)
        _require(delta <= claimed + 1e-9, f"with {kind} noise delta is {delta:.6g}, but {claimed:.6g} is claimed")


def counter_delta(counter: Counter[Any], exact: bool = True) -> float:
    """The total variation distance between a run's outputs with and without a report, for the worst round of it.

    A linear counter shows S x + N w, where x are the reports and w are independent standard normal draws. Feeding
    it one report, or one draw, at a time gives the columns of S and N. A report in round j moves the outputs by
    S e_j; seen against the noise that is a shift of length ||N^+ S e_j||, or of infinite length where no noise can
    imitate it (`app:lem:tv-shifted`). Two targets are played, since noise that they share would cancel out in a
    comparison of their counts; and the columns must also foretell outputs with ordinary noise and few reports.
    """
    T = counter.horizon
    _require(
        T <= _LONGEST, f"the check needs a horizon of at most {_LONGEST} rounds: give a shorter counter of the kind"
    )
    draws = _Draws(np.zeros(0), exact)
    silent = _outputs(counter, np.zeros(2 * T), draws)
    _require(not silent.any(), "without reports and noise the outputs are not zero")
    from_draw = _responses(counter, np.zeros((draws.asked, 2 * T)), np.eye(draws.asked), exact)
    from_report = _responses(counter, np.eye(2 * T), np.zeros((2 * T, draws.asked)), exact)
    rng = np.random.default_rng(0)
    for scale in (_LARGE, 1.0):
        reports = rng.integers(0, 3, (1, 2 * T)).astype(np.float64)
        noise = rng.standard_normal((1, draws.asked))
        together = _responses(counter, reports, noise, exact, scale)[:, 0]
        expected = from_report @ reports[0] + from_draw @ noise[0]
        near = np.allclose(together, expected, rtol=1e-9, atol=1e-9 + 1e-5 * (scale == 1.0))  # outputs are rounded
        _require(near, "the outputs are not linear in reports and noise")
    first, second = from_draw[:T].any(axis=0), from_draw[T:].any(axis=0)
    _require(not (first & second).any(), "two targets share a noise draw")
    apart = not (from_report[:T, T:].any() or from_report[T:, :T].any())
    _require(apart, "the outputs of one target follow the reports of another")
    noise, moved = from_draw[:T], from_report[:T, :T]
    shift = np.linalg.lstsq(noise, moved)[0] if draws.asked else np.zeros((0, T))
    if not np.allclose(noise @ shift, moved, rtol=0, atol=1e-6):
        return 1.0
    return gaussian_delta(1, float(np.linalg.norm(shift, axis=0).max()))


class _Draws:
    """Noise that gives these draws, in standard deviations, one after another, and zeros after them."""

    def __init__(self, draws: FloatArray, exact: bool) -> None:
        self._draws, self._exact, self.asked = draws, exact, 0

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        size = math.prod(shape)
        taken = self._draws[self.asked : self.asked + size]
        self.asked += size
        values = np.zeros(size)
        values[: len(taken)] = taken * math.sqrt(variance)
        # Through int: a grid unit is far below the draws that are given.
        return (np.array([int(v) for v in values], dtype=object) if self._exact else values).reshape(shape)

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        raise AssertionError(_GAUSSIAN_ONLY)

    def choose(self, eligible: BoolArray) -> IntArray:
        raise AssertionError(_GAUSSIAN_ONLY)

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        raise AssertionError(_GAUSSIAN_ONLY)


_GAUSSIAN_ONLY = "the check is for counters whose only noise is Gaussian"
_LONGEST = 200
# Large enough that neither a grid nor the rounding of outputs matters, small enough for int64.
_LARGE = 2.0**40


def _responses(
    counter: Counter[Any], reports: FloatArray, draws: FloatArray, exact: bool, scale: float = _LARGE
) -> FloatArray:
    """(n, 2 T) reports and (n, draws) noise, in units of `scale` -> (2 T, n) outputs in the same units."""
    columns = []
    for x, w in zip(reports, draws, strict=True):
        noise = _Draws(w * scale, exact)
        columns.append(_outputs(counter, x * scale, noise) / scale)
        _require(noise.asked == len(w), "how often the counter draws depends on reports or on noise")
    return np.array(columns).reshape(len(reports), 2 * counter.horizon).T


def _outputs(counter: Counter[Any], reports: FloatArray, noise: _Draws) -> FloatArray:
    """(2 T,): the outputs of one target's run, then those of another's beside it."""
    state, outputs = counter.init(1, 2), []
    for counts in reports.astype(np.int64).reshape(2, -1).T:
        noisy, state = counter.step(state, counts[None], noise)
        outputs.append(noisy[0])
    return np.array(outputs).T.ravel()


def _require(holds: object, otherwise: str) -> None:
    """An assertion that `python -O` does not take away."""
    if not holds:
        raise AssertionError(otherwise)


def _example_stream(rounds: int, n_targets: int, seed: int = 0) -> IntArray:
    return np.random.default_rng(seed).poisson(1.5, (rounds, n_targets))


def _play(mechanism: Mechanism[Any], stream: IntArray, noise: Noise) -> IntArray:
    run = AuditRun(mechanism, noise)
    return np.array([run.step(reports) for reports in stream])


def _same(state: Any, other: Any) -> bool:
    return bool(pack(state) == pack(other))
