"""A programme without reports, followed exactly through all its states by the rules that run for real."""

from collections import defaultdict
from functools import cache

import numpy as np

from deniable.rules import History, Rules

Ages = tuple[int | None, ...]
"""Rounds since the last audit of every target; None before its first. All joined at the same time."""


class Chain:
    """Target 0 waits, with the odds `v` against any other in a free draw; the others are drawn by lot."""

    def __init__(self, n_targets: int, audits: int, rules: Rules) -> None:
        self.n_targets, self.audits, self.rules = n_targets, audits, rules
        self.outcomes = cache(self._outcomes)

    def _outcomes(self, ages: Ages, rounds: int, v: float) -> dict[frozenset[int], float]:
        """The sets of targets that a round may audit, with their chances."""
        since = np.array([[rounds if age is None else age for age in ages]])
        ever = np.array([[age is not None for age in ages]])
        history = History(rounds, rounds - since, ever.astype(np.int64), np.ones_like(ever))
        paths: dict[frozenset[int], float] = {frozenset(): 1.0}
        for _ in range(self.audits):
            longer: dict[frozenset[int], float] = defaultdict(float)
            for chosen, chance in paths.items():
                drawn = np.zeros_like(ever)
                drawn[0, list(chosen)] = True
                eligible = np.flatnonzero(self.rules.eligible(history, drawn, self.audits)[0])
                weights = np.where(eligible == 0, v, 1.0)
                for target, weight in zip(eligible.tolist(), weights / weights.sum(), strict=True):
                    longer[chosen | {target}] += chance * float(weight)
            paths = longer
        return dict(paths)

    def step(self, law: dict[Ages, float], rounds: int, v: float = 1.0, *, waiting: bool = False) -> dict[Ages, float]:
        """The law of the ages after one more round; while the target is `waiting`, without what audits it."""
        after: dict[Ages, float] = defaultdict(float)
        for ages, chance in law.items():
            # Once all were audited, only the ages matter.
            known = rounds if None in ages else 10**6
            for audited, likely in self.outcomes(ages, known, v).items():
                if waiting and 0 in audited:
                    continue
                new = tuple(0 if c in audited else None if age is None else age + 1 for c, age in enumerate(ages))
                after[new] += chance * likely
        return dict(after)

    def long_run(self, rounds: int = 150) -> dict[Ages, float]:
        """The law of the ages at a moment drawn by lot from the `window` rounds after so many."""
        law: dict[Ages, float] = {(None,) * self.n_targets: 1.0}
        total: dict[Ages, float] = defaultdict(float)
        window = self.rules.max_gap or 1
        for past in range(rounds + window):
            if past >= rounds:
                for ages, chance in law.items():
                    total[ages] += chance / window
            law = self.step(law, past)
        return dict(total)

    def expected_wait(self, law: dict[Ages, float], v: float) -> float:
        rounds = 0.0
        while (left := sum(law.values())) > 1e-12:
            rounds += left
            law = self.step(law, 10**6, v, waiting=True)
        return rounds
