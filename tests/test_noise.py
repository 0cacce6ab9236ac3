import ast
import copy
import itertools
import math
import os
import pickle
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from hashlib import shake_256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable.noise
from deniable.arrays import ExactArray, FloatArray, IntArray
from deniable.errors import DeniableError
from deniable.noise import ExactNoise, Noise, ReplayNoise, SystemNoise

SEED = bytes(32)
SECRET = b"0123456789abcdef0123456789abcdef"

fractions = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 10**6))


class Cubes:
    """A growth far beyond 64 bits."""

    def exact(self, counts: IntArray) -> ExactArray:
        return 2**64 + 10**20 * counts.astype(object) ** 3

    def log(self, counts: IntArray) -> FloatArray:
        return np.log(2.0**64 + 1e20 * counts.astype(np.float64) ** 3)


class Same(Cubes):
    """The given weights, whatever the counts."""

    def __init__(self, weights: ExactArray) -> None:
        self.weights = weights

    def exact(self, counts: IntArray) -> ExactArray:
        assert counts.shape == self.weights.shape
        return self.weights


# Golden vectors. An oversight body replays an audit from its seed years later: changing any of these numbers
# is a breaking change of every recorded programme.


def test_golden_below() -> None:
    assert draws(lambda noise: noise.below(1000), 5) == [426, 20, 952, 656, 187]
    assert draws(lambda noise: noise.below(10**24), 2) == [503780953587834122153726, 632523437027770181969739]


def test_golden_coins() -> None:
    assert bits(lambda noise: noise.flip(Fraction(3, 7)), 10) == "0011101100"
    assert bits(lambda noise: noise.flip_exp(Fraction(1, 2)), 10) == "0111111001"
    assert bits(lambda noise: noise.flip_exp(Fraction(7, 3)), 20) == "00000000011000000000"


def test_golden_integers() -> None:
    assert draws(lambda noise: noise.discrete_laplace(Fraction(5, 2)), 10) == [
        -4,
        1,
        0,
        6,
        -5,
        0,
        -5,
        0,
        2,
        -3,
    ]
    assert draws(lambda noise: noise.discrete_gaussian(Fraction(50, 3)), 10) == [
        -8,
        3,
        4,
        -2,
        1,
        1,
        0,
        0,
        2,
        -5,
    ]


def test_golden_arrays() -> None:
    def fresh() -> ReplayNoise:
        return ReplayNoise(SEED)

    eligible = np.tile(np.array([True, False, True, True, False]), (6, 1))
    counts = np.arange(24).reshape(6, 4) % 5
    gaussian = fresh().gaussian(Fraction(2**64) + Fraction(1, 12), (2, 2))

    assert np.flatnonzero(fresh().bernoulli(Fraction(1, 3), 8)).tolist() == [2, 3, 4, 6, 7]
    assert fresh().choose(eligible).tolist() == [2, 3, 0, 0, 0, 3]
    assert fresh().race(Cubes(), counts, np.ones_like(counts)).tolist() == [3, 0, 1, 0, 2, 3]
    assert gaussian.tolist() == [[636122470, -2134790968], [2873925338, -2700184861]]


def test_bytes_are_the_documented_expansion_of_the_seed() -> None:
    size = 3000  # across blocks of 1088 bytes
    blocks = [shake_256(b"deniable.noise.1" + SECRET + i.to_bytes(8, "big")).digest(1088) for i in range(3)]
    expected = b"".join(blocks)[:size]

    assert ReplayNoise(SECRET).below(256**size) == int.from_bytes(expected, "big")
    noise = ReplayNoise(SECRET)
    assert bytes(noise.below(256) for _ in range(size)) == expected


# Exact checks: follow every byte that `below` can take, then every value that it can return, and add up the
# probabilities.


@pytest.mark.parametrize("numbers", [range(1, 257), (257, 300, 4097, 65535)], ids=["one byte", "two bytes"])
def test_below_gives_each_number_the_same_probability(numbers: Iterable[int]) -> None:
    for n in numbers:
        size = ((n - 1).bit_length() + 7) // 8
        times = Counter(GivenBytes(value.to_bytes(size, "big")).below(n) for value in range(256**size))
        refused = times.pop(-1, 0)
        assert set(times) == set(range(n))
        assert len(set(times.values())) == 1
        assert refused <= 256**size // 2


def test_below_takes_again_when_it_refuses() -> None:
    assert GivenBytes(bytes([6 << 5, 7 << 5, 4 << 5])).below(6) == 4


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_a_race_finds_every_point_for_all_small_weights(width: int) -> None:
    growth = Same(np.ones((1, width), dtype=object))
    for weights in itertools.product(range(4), repeat=width):
        if any(weights):
            shares = [c for c, weight in enumerate(weights) for _ in range(weight)]
            row = np.array([weights])
            assert [int(AtAPoint(point).race(growth, row, row)[0]) for point in range(len(shares))] == shares


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_a_choice_finds_every_point_for_all_masks(width: int) -> None:
    for mask in itertools.product([False, True], repeat=width):
        eligible = np.flatnonzero(mask).tolist()
        found = [int(AtAPoint(point).choose(np.array([mask]))[0]) for point in range(len(eligible))]
        assert found == eligible


def test_choose_gives_each_eligible_target_the_same_probability() -> None:
    eligible = np.array([[False, True, True, False, True]])
    chances, undecided = tree(lambda noise: int(noise.choose(eligible)[0]))
    assert chances == dict.fromkeys((1, 2, 4), Fraction(1, 3))
    assert undecided == 0


def test_race_gives_each_target_its_share_of_the_weights() -> None:
    growth = Same(np.array([[3, 1, 7, 2]], dtype=object))
    chances, undecided = tree(
        lambda noise: int(noise.race(growth, np.zeros((1, 4), dtype=np.int64), np.ones((1, 4), dtype=np.int64))[0])
    )
    assert chances == {c: Fraction(weight, 13) for c, weight in enumerate((3, 1, 7, 2))}
    assert undecided == 0


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1), Fraction(3, 7), Fraction(9, 10)])
def test_flip_has_probability_p(p: Fraction) -> None:
    chances, undecided = tree(lambda noise: noise.flip(p))
    assert chances.get(True, 0) == p
    assert undecided == 0


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_flip_exp_has_probability_exp_minus_x(x: Fraction) -> None:
    chances, undecided = tree(lambda noise: noise.flip_exp(x), least=Fraction(1, 10**6))
    assert undecided < 1e-3
    assert_within(chances[True], math.exp(-x), undecided)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 2)])
def test_discrete_laplace_has_its_probabilities(scale: Fraction) -> None:
    chances, undecided = tree(lambda noise: noise.discrete_laplace(scale), least=Fraction(1, 10**6))
    ratio = math.exp(-1 / scale)
    assert undecided < 0.05
    for x in range(-3, 4):
        assert_within(chances[x], (1 - ratio) / (1 + ratio) * ratio ** abs(x), undecided)


# Ranges, shapes and kinds.


@given(n=st.integers(1, 2**200), seed=st.binary(min_size=32, max_size=32))
def test_below_is_below(n: int, seed: bytes) -> None:
    assert 0 <= ReplayNoise(seed).below(n) < n


@given(variance=fractions, seed=st.binary(min_size=32, max_size=32))
def test_draws_are_python_integers(variance: Fraction, seed: bytes) -> None:
    noise = ReplayNoise(seed)
    drawn = noise.gaussian(variance, (2, 3))
    assert drawn.shape == (2, 3)
    assert {type(x) for x in drawn.flat} == {int}
    assert type(noise.discrete_laplace(variance)) is int


@given(shape=st.lists(st.integers(0, 3), max_size=3).map(tuple))
def test_gaussian_has_the_shape_asked_for(shape: tuple[int, ...]) -> None:
    drawn = ReplayNoise(SEED).gaussian(Fraction(9), shape)
    assert drawn.shape == shape
    assert drawn.dtype == object


def test_arrays_have_their_types() -> None:
    noise: Noise = SystemNoise()
    assert noise.bernoulli(Fraction(1, 2), 5).dtype == np.bool_
    assert noise.bernoulli(Fraction(1, 2), 0).shape == (0,)
    assert noise.choose(np.ones((4, 3), dtype=np.bool_)).dtype == np.int64
    assert noise.choose(np.ones((0, 3), dtype=np.bool_)).shape == (0,)
    assert noise.race(Cubes(), np.zeros((4, 3), dtype=np.int64), np.ones((4, 3), dtype=np.int64)).dtype == np.int64
    assert noise.race(Cubes(), *np.zeros((2, 0, 3), dtype=np.int64)).shape == (0,)


def test_race_weights_may_be_of_any_size() -> None:
    growth = Same(np.array([[1, 2**5000, 1]], dtype=object))
    assert ReplayNoise(SEED).race(
        growth, np.zeros((1, 3), dtype=np.int64), np.ones((1, 3), dtype=np.int64)
    ).tolist() == [1]


def test_certain_coins_use_no_randomness() -> None:
    noise = ReplayNoise(SEED)
    assert not noise.bernoulli(Fraction(0), 10).any()
    assert noise.bernoulli(Fraction(1), 10).all()
    assert noise.below(1) == 0
    assert noise.below(1000) == ReplayNoise(SEED).below(1000)


def test_a_very_unlikely_coin_is_quick() -> None:
    assert not ReplayNoise(SEED).flip_exp(Fraction(2**200))


@pytest.mark.parametrize("variance", [Fraction(1, 2**80), Fraction(2**80), Fraction(2**80 + 1, 3**50)])
def test_variances_of_every_size(variance: Fraction) -> None:
    assert abs(ReplayNoise(SEED).discrete_gaussian(variance)) <= 20 * (math.isqrt(math.ceil(variance)) + 1)


def test_no_floating_point_in_the_module() -> None:
    nodes = list(ast.walk(ast.parse(Path(deniable.noise.__file__).read_text(encoding="utf-8"))))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    from_math = [node.attr for node in nodes if isinstance(node, ast.Attribute) and is_name(node.value, "math")]
    assert not any(isinstance(value, float) for value in constants)
    assert not any(isinstance(node, ast.Div) or is_name(node, "float") for node in nodes)
    assert set(from_math) == {"isqrt", "prod"}


# Refusals.


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda noise: noise.below(0), "n must be a whole number of at least 1"),
        (lambda noise: noise.below(2.0), "n must be a whole number of at least 1"),
        (lambda noise: noise.flip(Fraction(3, 2)), "probability must be in [0, 1], got 3/2"),
        (lambda noise: noise.flip(Fraction(-1, 2)), "probability must be in [0, 1], got -1/2"),
        (lambda noise: noise.flip(0.5), "probability must be a Fraction, got float"),
        (lambda noise: noise.bernoulli(0.5, 3), "probability must be a Fraction, got float"),
        (
            lambda noise: noise.bernoulli(Fraction(1, 2), -1),
            "runs must be a whole number of at least 0, got -1",
        ),
        (lambda noise: noise.flip_exp(Fraction(-1, 2)), "x must be at least 0"),
        (lambda noise: noise.flip_exp(0.5), "x must be a Fraction, got float"),
        (lambda noise: noise.discrete_laplace(Fraction(0)), "scale must be positive, got 0"),
        (lambda noise: noise.discrete_laplace(2.0), "scale must be a Fraction, got float"),
        (lambda noise: noise.discrete_gaussian(Fraction(-1, 3)), "variance must be positive, got -1/3"),
        (lambda noise: noise.gaussian(2.0, (2,)), "variance must be a Fraction, got float"),
        (
            lambda noise: noise.choose(np.array([[True, False], [False, False]])),
            "every run needs at least one eligible target, got a run with none",
        ),
    ],
)
def test_bad_arguments(draw: Callable[[ExactNoise], object], message: str) -> None:
    with pytest.raises(DeniableError) as caught:
        draw(ReplayNoise(SEED))
    assert str(caught.value) == message


@pytest.mark.parametrize("weight", [0, -3, 2.5, np.int64(7), Fraction(1)])
def test_race_refuses_weights_that_are_not_positive_integers(weight: object) -> None:
    growth = Same(np.array([[1, weight]], dtype=object))
    with pytest.raises(DeniableError, match=r"^growth must give a positive Python integer for every count$"):
        ReplayNoise(SEED).race(growth, np.array([[4711, 4711]]), np.array([[1, 1]]))


@pytest.mark.parametrize("seed", [SECRET[:31], SECRET + b"0", b"", SECRET.decode(), bytearray(SECRET), 32])
def test_a_seed_is_32_bytes_and_is_not_echoed(seed: object) -> None:
    with pytest.raises(DeniableError, match=r"^seed must be exactly 32 bytes, got") as caught:
        ReplayNoise(seed)  # type: ignore[arg-type]
    assert "0123" not in str(caught.value)


# Secrecy of the seed.


def test_two_system_noises_differ() -> None:
    assert SystemNoise().below(2**256) != SystemNoise().below(2**256)


@pytest.mark.parametrize("noise", [ReplayNoise(SECRET), SystemNoise()])
def test_repr_shows_only_the_class(noise: ExactNoise) -> None:
    assert repr(noise) == str(noise) == f"{type(noise).__name__}()"


def test_no_attribute_holds_the_seed() -> None:
    noise = ReplayNoise(SECRET)
    noise.below(6)
    assert not hasattr(noise, "__dict__")
    assert not any(SECRET.decode() in repr(getattr(noise, name)) for name in dir(noise))


@pytest.mark.parametrize("noise", [ReplayNoise(SECRET), SystemNoise()])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_generator_cannot_be_copied(noise: ExactNoise, duplicate: Callable[[ExactNoise], object]) -> None:
    with pytest.raises(DeniableError, match=r"a copied generator would repeat its draws$"):
        duplicate(noise)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(("kind", "repeats"), [("SystemNoise()", False), ("ReplayNoise(bytes(32))", True)])
def test_after_a_fork_only_a_replay_repeats_its_draws(kind: str, repeats: bool) -> None:
    script = f"""if True:
        import os
        from deniable.noise import ReplayNoise, SystemNoise
        noise = {kind}
        noise.below(6)  # so that there are buffered bytes to repeat
        child = os.fork()
        if child:
            os.waitpid(child, 0)  # so that the two do not print into each other
        print(noise.below(2**128))
    """
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    first, second = result.stdout.split()
    assert (first == second) is repeats


# Helpers.


def draws(draw: Callable[[ExactNoise], int], times: int) -> list[int]:
    noise = ReplayNoise(SEED)
    return [draw(noise) for _ in range(times)]


def bits(draw: Callable[[ExactNoise], bool], times: int) -> str:
    return "".join(str(int(bit)) for bit in draws(draw, times))


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class Undecided(Exception):  # noqa: N818 - control flow, not an error
    def __init__(self, n: int) -> None:
        self.n = n


class GivenBytes(ReplayNoise):
    """Takes these bytes; -1 from `below` where they were not enough."""

    def __init__(self, given: bytes) -> None:
        super().__init__(SEED)
        self.given = given

    def _take(self, size: int) -> bytes:
        if len(self.given) < size:
            raise EOFError
        taken, self.given = self.given[:size], self.given[size:]
        return taken

    def below(self, n: int) -> int:
        try:
            return super().below(n)
        except EOFError:
            return -1


class AtAPoint(ReplayNoise):
    """Always the same point."""

    def __init__(self, point: int) -> None:
        super().__init__(SEED)
        self.point = point

    def below(self, n: int) -> int:
        assert self.point < n
        return self.point


class Scripted(ReplayNoise):
    """Returns the given values from `below`, then raises Undecided."""

    def __init__(self, script: tuple[int, ...]) -> None:
        super().__init__(SEED)
        self.script = list(script)

    def below(self, n: int) -> int:
        if n == 1:
            return 0
        if not self.script:
            raise Undecided(n)
        return self.script.pop(0)


def tree(
    draw: Callable[[ExactNoise], Hashable], least: Fraction = Fraction(0)
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """The probability of every outcome, and what is left in branches of probability below `least`."""
    chances: defaultdict[Hashable, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    branches: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while branches:
        script, chance = branches.pop()
        try:
            chances[draw(Scripted(script))] += chance
        except Undecided as choice:
            if chance < least:
                undecided += chance
            else:
                branches += [((*script, value), chance / choice.n) for value in range(choice.n)]
    return chances, undecided


def assert_within(least: Fraction, value: float, slack: Fraction) -> None:
    assert least - 1e-12 <= value <= least + slack + 1e-12


@pytest.mark.parametrize(("share", "target"), [(0, 0), (1, 0), (2, 2), (3, 2)])
def test_public_weights_multiply_and_zero_leaves_out(share: int, target: int) -> None:
    """The first 2 phi(0) points of the total lead to target 0, the other 3 phi(1) to target 2."""
    counts, weights = np.array([[0, 5, 1]]), np.array([[2, 0, 3]])
    phi = Cubes().exact(counts)[0]
    ends = 2 * phi[0], 2 * phi[0] + 3 * phi[2]
    point = int((0, ends[0] - 1, ends[0], ends[1] - 1)[share])
    assert AtAPoint(point).race(Cubes(), counts, weights).tolist() == [target]


def test_a_race_needs_a_runner() -> None:
    with pytest.raises(DeniableError, match="at least one eligible target"):
        ReplayNoise(SEED).race(Cubes(), np.zeros((1, 3), dtype=np.int64), np.zeros((1, 3), dtype=np.int64))
