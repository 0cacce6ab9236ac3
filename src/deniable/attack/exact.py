"""The strong adversary by enumeration: exact transcript laws, total variation and likelihood ratios.

The laws come from `AuditRun` itself, driven through every outcome of its draws by a generator that follows a script.
The script takes the place of `ExactNoise.pick` and of nothing else, so what is enumerated is the code that runs in a
programme: the run, its sparse race, the mechanism's integer weights, and the way from a uniform number to a target.
"""

import copy
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import DeniableError, UnsuitableError, check_whole
from deniable.mechanisms import Mechanism
from deniable.noise import ExactNoise
from deniable.run import AuditRun
from deniable.streams import check_counts

Audits = tuple[int, ...]
Law = dict[tuple[int | Audits, ...], Fraction]
"""Transcript -> probability: an audit a round, or a tuple of audits where there are several a round."""

Round = Callable[[AuditRun, ExactNoise], tuple[AuditRun, Audits]]
"""What is done to a run up to the audits that are published next. It returns those, and the run to go on with: the
same, or one that was restored from it with the generator that is given.
"""

T = TypeVar("T")

# Transcripts, not branches: beyond this the enumeration would take hours.
MAX_TRANSCRIPTS = 100_000


class Taken(NamedTuple):
    """One draw's outcome: the points from `first` to before `end`, of `total`."""

    first: int
    end: int
    total: int


class ScriptedNoise(ExactNoise):
    """A generator whose picks take the outcomes of `script`; after it that of the point `then`, and then of 0, 0, ….

    `taken` are all that were taken, from which their probability follows.
    """

    __slots__ = ("_script", "_then", "taken")

    def __init__(self, script: Sequence[Taken] = (), then: int = 0) -> None:
        self._script, self._then = script, then
        self.taken: list[Taken] = []

    def pick(self, total: int, outcome: Callable[[int], T]) -> T:
        place = len(self.taken)
        if place < len(self._script):
            one = self._script[place]
        else:
            first = self._then if place == len(self._script) else 0
            one = Taken(first, _end(total, outcome, first), total)
        result = outcome(one.first)
        if one.total != total or outcome(one.end - 1) != result:
            _refuse_other_randomness()
        self.taken.append(one)
        return result

    def below(self, n: int) -> int:
        raise UnsuitableError("Gaussian noise has no finite list of outcomes, so this mechanism cannot be enumerated")

    @property
    def probability(self) -> Fraction:
        points = math.prod(one.end - one.first for one in self.taken)
        return Fraction(points, math.prod(one.total for one in self.taken))

    def following(self) -> "ScriptedNoise | None":
        """For the next of all courses: the last draw that has another outcome takes it."""
        script = list(self.taken)
        while script and script[-1].end == script[-1].total:
            script.pop()
        return ScriptedNoise(script[:-1], then=script[-1].end) if script else None


def outcomes(play: Callable[[ScriptedNoise], T]) -> Iterator[tuple[ScriptedNoise, T]]:
    """Whatever `play` can return, once for every course of the draws from the noise that it is given.

    >>> [(noise.probability, coin) for noise, coin in outcomes(lambda noise: noise.flip(Fraction(3, 7)))]
    [(Fraction(3, 7), True), (Fraction(4, 7), False)]
    """
    noise: ScriptedNoise | None = ScriptedNoise()
    while noise is not None:
        yield noise, play(noise)
        noise = noise.following()


class Branch(NamedTuple):
    """Where a run can come to: with the probability of this way, or of all ways that are merged into it."""

    probability: Fraction
    transcript: tuple[Audits, ...]
    run: AuditRun
    noise: ScriptedNoise


def law_of_run(start: Callable[[ExactNoise], AuditRun], rounds: Sequence[Round]) -> dict[tuple[Audits, ...], Fraction]:
    """The exact law of what is published over these rounds of the run: transcript -> probability."""
    return law_of(reduce(after_round, rounds, before_rounds(start)))


def before_rounds(start: Callable[[ExactNoise], AuditRun]) -> list[Branch]:
    noise = ScriptedNoise()
    return [Branch(Fraction(1), (), start(noise), noise)]


def after_round(branches: Sequence[Branch], one_round: Round) -> list[Branch]:
    """Where the run can come to with one more round. Ways to the same transcript and the same content are one."""
    merged: dict[tuple[tuple[Audits, ...], Hashable], Branch] = {}
    for branch in branches:
        for held, further in _outcomes_of_round(branch, one_round):
            key = further.transcript, held
            so_far = merged[key].probability if key in merged else 0
            merged[key] = further._replace(probability=so_far + further.probability)
    return list(merged.values())


def law_of(branches: Sequence[Branch]) -> dict[tuple[Audits, ...], Fraction]:
    law: dict[tuple[Audits, ...], Fraction] = defaultdict(Fraction)
    for branch in branches:
        law[branch.transcript] += branch.probability
    return dict(law)


def _outcomes_of_round(branch: Branch, one_round: Round) -> Iterator[tuple[Hashable, Branch]]:
    """With all that the run holds then. Every outcome is played twice, to see whether the noise alone decides it."""
    mechanism = branch.run.mechanism

    def play(noise: ScriptedNoise) -> tuple[AuditRun, Audits, Hashable]:
        # The copy holds what the run holds, but for the mechanism, which is constant, and the noise.
        fork = copy.deepcopy(branch.run, {id(mechanism): mechanism, id(branch.noise): noise})
        run, audits = one_round(fork, noise)
        return run, audits, _held(run)

    for noise, (run, audits, held) in outcomes(play):
        again = ScriptedNoise(noise.taken)
        if (audits, held, noise.taken) != (*play(again)[1:], again.taken):
            _refuse_other_randomness()
        yield held, Branch(branch.probability * noise.probability, (*branch.transcript, audits), run, noise)


def transcript_distribution(mechanism: Mechanism[Any], stream: ArrayLike, audits: int = 1) -> Law:
    """The exact law of the transcript of one stream (T, C): transcript -> probability.

    For mechanisms whose draws have finitely many outcomes, with few rounds and targets.

    >>> import deniable as dn
    >>> dn.transcript_distribution(dn.Greedy(2), [[1, 0], [0, 0]])
    {(0, 0): Fraction(1, 2), (0, 1): Fraction(1, 2)}
    """
    counts = check_counts(stream, mechanism.n_targets)
    if counts.ndim != 2 or not len(counts):
        raise DeniableError(f"a stream must have shape (rounds, targets), got shape {counts.shape}")
    if mechanism.n_targets ** (len(counts) * check_whole("audits", audits, least=1)) > MAX_TRANSCRIPTS:
        raise DeniableError(
            f"{mechanism.n_targets} targets and {len(counts)} rounds have more than {MAX_TRANSCRIPTS} transcripts; "
            "enumerate fewer rounds or targets"
        )
    law = law_of_run(partial(AuditRun, mechanism), [closing(reports, audits) for reports in counts])
    return {tuple(one[0] if audits == 1 else one for one in past): chance for past, chance in law.items()}


def closing(reports: Any, audits: int = 1) -> Round:
    """The round in which these reports came in, and nothing else happened."""
    return lambda run, _: (run, run.select(reports, audits))


def total_variation(law: Mapping[Any, Fraction], other: Mapping[Any, Fraction]) -> Fraction:
    """d_TV of two transcript laws: the delta of `app:prop:tv-char` for this pair of streams."""
    return sum((max(law[a] - other.get(a, Fraction(0)), Fraction(0)) for a in law), Fraction(0))


def likelihood_ratio(filed: Mapping[Any, Fraction], not_filed: Mapping[Any, Fraction]) -> float | Fraction:
    """The largest P[transcript | filed] / P[transcript | not filed]; inf where only filing explains one."""
    if any(transcript not in not_filed for transcript in filed):
        return math.inf
    return max(probability / not_filed[transcript] for transcript, probability in filed.items())


def _end(total: int, outcome: Callable[[int], Any], first: int) -> int:
    """Where the points with the outcome of `first` end, by bisection, since they lie together."""
    if first >= total:
        _refuse_other_randomness()
    result, inside, outside = outcome(first), first, total
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if outcome(middle) == result:
            inside = middle
        else:
            outside = middle
    return outside


def _held(value: Any) -> Hashable:
    """All that an object holds, and what that holds in turn, but for noise and mechanism."""
    if isinstance(value, int):
        return value
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, tuple(value.ravel()) if value.dtype == object else value.tobytes()
    if isinstance(value, list | tuple):
        return tuple(map(_held, value))
    if isinstance(value, ExactNoise | Mechanism):
        return None
    if hasattr(value, "__dict__"):
        return type(value), *((name, _held(inner)) for name, inner in vars(value).items())
    held: Hashable = value
    return held


def _refuse_other_randomness() -> NoReturn:
    raise UnsuitableError("the mechanism must draw from its noise alone, but the same draws gave another outcome")
