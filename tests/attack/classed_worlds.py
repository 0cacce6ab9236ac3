"""Short programmes with classes of reports, emergency visits and a limit on floods, and the laws of what they show."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from tests.attack.controls import FreshOffsets

import deniable as dn
from deniable.arrays import BoolArray, IntArray
from deniable.attack.exact import Audits, Branch, Round, after_round, before_rounds, law_of
from deniable.classed_streams import counted, visited
from deniable.mechanisms import Mechanism
from deniable.noise import ExactNoise
from deniable.report_classes import ReportClass

Shown = tuple[Audits, ...]
"""Round by round: the targets visited, BETWEEN, and the targets drawn."""
Law = dict[Any, Fraction]

BETWEEN = -1
CLASSES = (ReportClass("light", 1), ReportClass("heavy", 2), ReportClass("danger", None))


@dataclass(frozen=True)
class World:
    """All that decides what is shown, round by round; `counted` and `visited` are those of the real thing."""

    mechanism: Mechanism[Any]
    classes: tuple[ReportClass, ...]
    reports: IntArray
    """(K, T, C), where C are all targets that there will ever be."""
    audits: int = 1
    joining: tuple[int, ...] = ()
    """So many targets join before each round."""
    most_counted: int | None = None
    by_hand: frozenset[tuple[int, int]] = frozenset()
    """Round and target of visits that no report led to."""
    cover: Fraction | None = None
    """The chance with which a target is visited anyway, each in each round."""
    counted: Callable[..., IntArray] = field(default=counted, repr=False)
    visited: Callable[..., BoolArray] = field(default=visited, repr=False)

    @property
    def rounds(self) -> int:
        return int(self.reports.shape[1])

    def with_report(self, layer: int, at: int, target: int) -> "World":
        more = self.reports.copy()
        more[layer, at, target] += 1
        return replace(self, reports=more)

    def round(self, t: int) -> Round:
        n_targets = self.mechanism.n_targets + sum(self.joining[: t + 1])
        reports = self.reports[:, t, :n_targets]
        counts = self.counted(reports, self.classes, self.most_counted)
        visits = {*np.flatnonzero(self.visited(reports, self.classes)).tolist()}
        visits |= {target for at, target in self.by_hand if at == t}

        def one_round(run: dn.AuditRun, noise: ExactNoise) -> tuple[dn.AuditRun, Audits]:
            if t < len(self.joining) and self.joining[t]:
                run.add_targets(self.joining[t])
            cover = () if self.cover is None else (c for c in range(n_targets) if noise.flip(self.cover))
            ordered = visits.union(cover)
            if ordered:
                run.order(ordered)
            return run, (*sorted(ordered), BETWEEN, *run.select(counts, self.audits))

        return one_round


def laws(one: World, other: World, differ_at: int) -> tuple[Law, Law]:
    """Of two worlds that are the same before this round, which is played once for both."""
    branches: list[Branch] = before_rounds(partial(dn.AuditRun, one.mechanism))
    for t in range(differ_at):
        branches = after_round(branches, one.round(t))
    found = []
    for world in (one, other):
        further = branches
        for t in range(differ_at, world.rounds):
            further = after_round(further, world.round(t))
        found.append(law_of(further))
    return found[0], found[1]


@dataclass(frozen=True)
class Case:
    """A world, and a report that it may have besides."""

    world: World
    layer: int
    at: int
    target: int

    @property
    def report_class(self) -> ReportClass:
        return self.world.classes[self.layer]

    @property
    def filed(self) -> World:
        return self.world.with_report(self.layer, self.at, self.target)


def random_cases(seed: int, cases: int) -> Iterator[Case]:
    """Of every kind: a quarter of them about a report that leads to a visit."""
    rng = np.random.default_rng(seed)
    for number in range(cases):
        yield _random_case(rng, kind=("race", "race", "race", "rr", "counter")[number % 5])


def _random_case(rng: np.random.Generator, kind: str) -> Case:
    n_targets, rounds, audits = int(rng.choice([2, 2, 2, 3])), int(rng.choice([1, 2, 2])), 1
    joining: tuple[int, ...] = ()
    most_counted = int(rng.integers(1, 3)) if rng.random() < 0.4 else None
    rules = dn.Rules()
    if rng.random() < 0.4:
        rules = dn.Rules(n_targets + int(rng.integers(2)) if rng.random() < 0.5 else None, int(rng.integers(2)))
    if kind == "race":
        rho = float(rng.choice([1.3, 2.0, 3.0]))
        mechanism: Mechanism[Any] = dn.Race(n_targets, rho, rules=rules)
        audits = 2 if n_targets == 3 and rng.random() < 0.3 else 1
        rounds = 3 if n_targets == 2 and rng.random() < 0.2 else rounds
    elif kind == "rr":
        rounds = min(rounds, 4 - n_targets)
        mechanism = dn.RandomizedResponse.calibrate(n_targets, float(rng.choice([0.1, 0.4])), rules=rules)
    else:
        n_targets, wide = 2, bool(rng.random() < 0.8)
        rounds = 1 if wide else 2
        mechanism = dn.CounterAuditing(n_targets, FreshOffsets(2, width=4 if wide else 2))
        joining = (0, 1) if not wide and rng.random() < 0.5 else ()
    if kind == "race" and rules.max_gap is None and rounds == 2 and n_targets == 2 and rng.random() < 0.5:
        joining = (0, 1)
    weights = rng.choice([1, 2, 3, 4], 2, replace=False)
    classes = (ReportClass("light", weights[0]), ReportClass("heavy", weights[1]), ReportClass("danger", None))
    shape = (rounds, n_targets + sum(joining))
    busy = float(rng.choice([0.2, 0.7, 2.0]))
    reports = np.stack([rng.poisson(busy, shape), rng.poisson(busy / 2, shape), rng.random(shape) < 0.2])
    layer = 2 if rng.random() < 0.25 else int(rng.integers(2))
    cover = None
    if layer == 2 and kind != "counter" and rounds == 2 and n_targets == 2 and not joining and rng.random() < 0.3:
        cover = Fraction(1, 4)
    world = World(mechanism, classes, reports.astype(np.int64), audits, joining, most_counted, cover=cover)
    at = int(rng.integers(rounds))
    return Case(world, layer, at, int(rng.integers(n_targets + sum(joining[: at + 1]))))


def map_law(law: Law, seen: Callable[[Shown], Any]) -> Law:
    """The law of what can be seen of what is shown."""
    mapped: Law = {}
    for shown, probability in law.items():
        mapped[seen(shown)] = mapped.get(seen(shown), Fraction(0)) + probability
    return mapped


def revealed(shown: Shown, after: int) -> Shown:
    """Where names are told so many rounds after the draw: visits at once, and drawn names that are old enough."""
    names = range(len(shown) - after)
    return tuple(one if t in names else one[: one.index(BETWEEN)] for t, one in enumerate(shown))
