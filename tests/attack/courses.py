"""Whatever an office can do to a run, round by round, and the law of the transcript by definition."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any
from unittest import mock

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import IntArray
from deniable.attack.exact import (
    Audits,
    Branch,
    Round,
    ScriptedNoise,
    after_round,
    before_rounds,
    closing,
    law_of,
    law_of_run,
)
from deniable.mechanisms import Mechanism
from deniable.noise import ExactNoise

Rows = tuple[tuple[int, ...], ...]
Transcripts = dict[tuple[Audits, ...], Fraction]


@dataclass(frozen=True)
class Doings:
    """One round: the doings before it, in this order, and its reports."""

    adopted: Audits = ()
    """Audits of a round before it whose draw was lost."""
    joining: int = 0
    leaving: tuple[int, ...] = ()
    ordered: tuple[int, ...] = ()
    reopened: bool = False
    """The run is saved, and another is restored from that."""
    interrupted: int | None = None
    """The round was tried before, and interrupted after so many of its draws."""
    reports: dict[int, int] = field(default_factory=dict)
    audits: int = 1


def as_round(doings: Doings) -> Round:
    def one_round(run: dn.AuditRun, noise: ExactNoise) -> tuple[dn.AuditRun, Audits]:
        if doings.adopted:
            run.adopt(doings.adopted)
        if doings.joining:
            run.add_targets(doings.joining)
        if doings.leaving:  # a change of any kind, even of nothing, builds the run's index anew, and could hide a bug
            run.remove_targets(doings.leaving)
        if doings.ordered:
            run.order(doings.ordered)
        if doings.reopened:
            run = type(run).restore(run.mechanism, run.save(), noise, rounds=run.rounds)
        if doings.interrupted is not None:
            with interrupt_after(doings.interrupted), pytest.raises(KeyboardInterrupt):
                run.select(doings.reports, doings.audits)
        return run, run.select(doings.reports, doings.audits)

    return one_round


@contextmanager
def interrupt_after(draws: int) -> Iterator[None]:
    pick, left = ScriptedNoise.pick, draws

    def interrupted(self: ScriptedNoise, total: int, outcome: Callable[[int], Any]) -> Any:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return pick(self, total, outcome)

    with mock.patch.object(ScriptedNoise, "pick", interrupted):
        yield


def law(
    mechanism: Mechanism[Any], course: Sequence[Doings], run: Callable[..., dn.AuditRun] = dn.AuditRun
) -> Transcripts:
    """By enumeration of the run."""
    return law_of_run(lambda noise: run(mechanism, noise), [as_round(doings) for doings in course])


def laws_of_streams(mechanism: Mechanism[Any], audits: int = 1) -> Callable[[IntArray], Transcripts]:
    """The laws of many streams, in which nothing else happens; those that begin in the same way share this."""

    @cache
    def law_of_rows(stream: Rows) -> Transcripts:
        return law_of(after_round(branches(stream[:-1]), closing(stream[-1], audits)))

    @cache
    def branches(stream: Rows) -> list[Branch]:
        if not stream:
            return before_rounds(partial(dn.AuditRun, mechanism))
        return after_round(branches(stream[:-1]), closing(stream[-1], audits))

    return lambda stream: law_of_rows(tuple(tuple(reports) for reports in stream.tolist()))


@dataclass(frozen=True)
class Log:
    """All that has happened; every figure is worked out from it afresh, as it is defined."""

    events: tuple[tuple[str, int, int], ...]
    """What, about which target, how many."""

    def then(self, what: str, *targets: int, number: int = 1) -> "Log":
        return Log((*self.events, *((what, target, number) for target in targets)))

    @property
    def n_targets(self) -> int:
        return sum(what == "joins" for what, _, _ in self.events)

    def active_counts(self) -> list[int]:
        """The reports of every target since its last audit."""
        active = [0] * self.n_targets
        for what, target, number in self.events:
            if what == "report":
                active[target] += number
            elif what in ("audit", "leaves"):
                active[target] = 0
        return active

    def history(self) -> dn.History:
        rounds, last, audits, present = (
            0,
            *np.zeros((2, 1, self.n_targets), np.int64),
            np.ones((1, self.n_targets), bool),
        )
        for what, target, _ in self.events:
            if what == "round":
                rounds += 1
            elif what in ("audit", "joins"):
                last[0, target] = rounds
                audits[0, target] += what == "audit"
            elif what == "leaves":
                present[0, target] = False
        return dn.History(rounds, last, audits, present)


def defined_law(mechanism: Mechanism[Any], course: Sequence[Doings]) -> Transcripts:
    """By definition: the active counts, the public rules and weights, and the chance that they give each target."""
    start = Log(()).then("joins", *range(mechanism.n_targets))
    paths: dict[tuple[Audits, ...], tuple[Fraction, Log]] = {(): (Fraction(1), start)}
    for doings in course:
        longer = {}
        for past, (probability, log) in paths.items():
            before = _before_the_round(log, doings)
            for drawn, chance in _drawn(mechanism, before, doings.audits):
                after = before.then("round", 0).then("audit", *drawn)
                longer[*past, drawn] = probability * chance, after
        paths = longer
    return {transcript: probability for transcript, (probability, _) in paths.items()}


def _before_the_round(log: Log, doings: Doings) -> Log:
    if doings.adopted:
        log = log.then("round", 0).then("audit", *doings.adopted)
    log = log.then("joins", *range(log.n_targets, log.n_targets + doings.joining))
    log = log.then("leaves", *doings.leaving).then("audit", *doings.ordered)
    present = log.history().present[0]
    for target, number in doings.reports.items():
        if present[target]:
            log = log.then("report", target, number=number)
    return log


def _drawn(mechanism: Mechanism[Any], log: Log, audits: int) -> Iterator[tuple[Audits, Fraction]]:
    history, counts = log.history(), log.active_counts()
    some: list[tuple[Audits, Fraction]] = [((), Fraction(1))]
    for _ in range(audits):
        more = []
        for drawn, probability in some:
            chosen = np.isin(np.arange(log.n_targets), drawn)[None]
            eligible = np.flatnonzero(mechanism.rules.eligible(history, chosen, audits)[0]).tolist()
            weights = _weights(mechanism, counts, eligible, history)
            more += [((*drawn, c), probability * weight / sum(weights.values())) for c, weight in weights.items()]
        some = more
    yield from some


def _weights(
    mechanism: Mechanism[Any], counts: list[int], eligible: list[int], history: dn.History
) -> dict[int, Fraction]:
    match mechanism:
        case dn.Race():
            public: IntArray = mechanism.whole_weights(history)[0]
            return {c: Fraction(int(public[c]) * _phi(mechanism.rho, counts[c])) for c in eligible}
        case dn.RandomizedResponse():
            explore, best = Fraction(mechanism.p_rand), max(counts[c] for c in eligible)
            leaders = [c for c in eligible if counts[c] == best]
            return {c: explore / len(eligible) + (1 - explore) * (c in leaders) / len(leaders) for c in eligible}
        case _:
            return dict.fromkeys(eligible, Fraction(1))


def _phi(rho: float, count: int) -> int:
    """phi(0) = 2**64, phi(n + 1) = floor(rho phi(n))."""
    phi = 2**64
    for _ in range(count):
        phi = int(Fraction(rho) * phi)
    return phi


def random_course(rng: np.random.Generator, n_targets: int, joins: bool, audits: int, rounds: int) -> list[Doings]:
    present, ever = set(range(n_targets)), n_targets
    course = []
    for _ in range(rounds):
        joining = int(joins and rng.random() < 0.3)
        adopted = tuple(rng.choice(sorted(present), audits, replace=False).tolist()) if rng.random() < 0.2 else ()
        present |= set(range(ever, ever + joining))
        ever += joining
        leaving = tuple(rng.choice(sorted(present), 1).tolist()) if rng.random() < 0.3 and len(present) > 2 else ()
        present -= set(leaving)
        course.append(
            Doings(
                adopted=adopted,
                joining=joining,
                leaving=leaving,
                ordered=tuple(rng.choice(sorted(present), 1).tolist()) if rng.random() < 0.3 else (),
                reopened=bool(rng.random() < 0.4),
                interrupted=int(rng.integers(audits)) if rng.random() < 0.3 else None,
                reports=dict(enumerate(rng.poisson(0.7, ever).tolist())),
                audits=audits,
            )
        )
    return course


def with_a_report(rng: np.random.Generator, course: Sequence[Doings]) -> list[Doings]:
    """The same course with one report more."""
    at = int(rng.integers(len(course)))
    reports = course[at].reports
    target = int(rng.choice(list(reports)))
    filed = replace(course[at], reports=reports | {target: reports[target] + 1})
    return [*course[:at], filed, *course[at + 1 :]]
