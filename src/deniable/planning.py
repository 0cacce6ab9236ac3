"""What each mechanism would promise an audit office, and how well its audits would follow the reports.

The promises and the lead needed are formulas. The waits are simulated: after a warm-up, in which every target gets
its usual reports, one target gets some more, and the rounds until its audit are counted.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.calibration import delta_for_person, gaussian_delta_for_person, race_delta_for_person
from deniable.counters import GaussianCounter
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.guarantee import Guarantee
from deniable.mechanisms import CounterAuditing, Greedy, Mechanism, Race, RandomizedResponse, State, calibrate
from deniable.rules import NO_RULES, Rules
from deniable.simulation import SimulationNoise
from deniable.utility import (
    operational_error_bound,
    operational_gap_needed,
    race_gap_needed,
    race_static_error,
    rr_error,
    uniform_error,
)

S = TypeVar("S")

PLANNED = ("greedy", "race", "tca", "rr", "uniform")
OTHER_COUNTERS = ("counter:blt", "counter:tree", "counter:input_perturbation", "counter:output_perturbation")
EXTRA_REPORTS = (3, 10, 30)
ERROR = 0.05
"""A lead is large enough where the leader is passed over in one round of twenty."""
LONGEST_WAIT = 10_000
MOST_REPORTS = 1_000_000_000
# Targets times runs in one batch; bounds memory, and is part of the seeding.
CELLS_AT_ONCE = 500_000


@dataclass(frozen=True)
class Office:
    """What is public about an audit programme before its mechanism is chosen.

    Either `delta`, the promise about one report, or `advantage`, the promise about all the reports of a person who
    files at most `reports_per_person`. `reports_per_round` are spread evenly over the targets, in the mean.
    """

    n_targets: int
    delta: float | None = None
    advantage: float | None = None
    horizon: int | None = None
    rules: Rules = NO_RULES
    audits: int = 1
    reports_per_round: float = 0.0
    reports_per_person: int = 3

    def __post_init__(self) -> None:
        C = check_whole("targets", self.n_targets, least=2)
        if (self.delta is None) == (self.advantage is None):
            raise DeniableError("give either delta, a promise about one report, or advantage, one about a person")
        if self.delta is not None:
            check_delta(self.delta)
        if self.advantage is not None and not 0 < self.advantage < 0.5:
            raise DeniableError(
                f"advantage must be more than 0 and less than 0.5, got {self.advantage}; 5 points in 100 is 0.05"
            )
        check_whole("reports_per_person", self.reports_per_person, least=1)
        if self.horizon is not None:
            check_whole("horizon", self.horizon, least=1)
        if check_whole("audits", self.audits, least=1) > C:
            raise DeniableError(f"audits must be at most the number of targets, {C}, got {self.audits}")
        if self.rules.max_gap is not None and self.rules.max_gap * self.audits < C:
            raise DeniableError(
                f"max_gap must be at least {-(-C // self.audits)} to audit each of {C} targets in time "
                f"with {self.audits} a round, got {self.rules.max_gap}"
            )
        if not 0 <= self.reports_per_round <= MOST_REPORTS:
            raise DeniableError(
                f"reports_per_round must be between 0 and {MOST_REPORTS:,}, got {self.reports_per_round}"
            )

    @property
    def warm_up(self) -> int:
        """Rounds simulated before the extra reports: two turns of all targets, at most half of the horizon."""
        turns = -(-2 * self.n_targets // self.audits)
        return turns if self.horizon is None else min(turns, self.horizon // 2)

    @property
    def longest_wait(self) -> int:
        """Rounds for which a simulated wait is followed."""
        return LONGEST_WAIT if self.horizon is None else min(LONGEST_WAIT, self.horizon - self.warm_up)


@dataclass(frozen=True)
class Wait:
    """Rounds until a target with `extra_reports` more than the usual is audited; 1 is the round they arrive in."""

    extra_reports: int
    rounds: float
    """The mean over the runs; at least this where some were cut short, which count as one round longer."""
    standard_error: float
    cut_short: float
    """The share of runs in which the target was not audited within `Office.longest_wait`."""
    nine_in_ten: int
    """The rounds within which the target was audited in 9 runs of 10; more than these where over a tenth were cut
    short.
    """


@dataclass(frozen=True)
class Option:
    """A mechanism that the office may choose."""

    mechanism_id: str
    mechanism: Mechanism[Any]
    person: Guarantee
    """The guarantee for `Office.reports_per_person` reports."""
    lead_needed: float | None
    """The gap at which a leader in the static setting is passed over in at most ERROR of the rounds, in reports; an
    upper bound for counters, and for several audits a round. None where no gap is enough.
    """
    waits: tuple[Wait, ...]

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one report."""
        return self.mechanism.guarantee()

    @property
    def worst_case(self) -> float:
        """How probable somebody who watches may come to hold one report that they held as likely as not to be filed.

        That is in the course of the audits which tells most; `Guarantee.advantage` is the average over all courses.
        """
        cap = self.guarantee.likelihood_cap
        return 1.0 if math.isinf(cap) else cap / (1 + cap)

    def wait(self, extra_reports: int) -> Wait:
        return next(wait for wait in self.waits if wait.extra_reports == extra_reports)


@dataclass(frozen=True)
class NotCovered:
    """A mechanism that cannot promise what the office asks for."""

    mechanism_id: str
    reason: str


def assess(
    office: Office, mechanism_id: str, extra_reports: Sequence[int] = EXTRA_REPORTS, runs: int = 200, seed: int = 0
) -> Option | NotCovered:
    """What this mechanism offers the office. The same seed gives the same reports to every mechanism.

    >>> race = assess(Office(n_targets=50, delta=0.1), "race", extra_reports=[10], runs=20)
    >>> math.ceil(race.lead_needed), round(race.person.advantage, 4)
    (26, 0.1464)
    >>> assess(Office(n_targets=50, delta=0.1, audits=2), "rr").reason
    'the guarantee of RandomizedResponse covers one audit a round, got 2; use race instead'
    """
    check_whole("runs", runs, least=2)
    try:
        mechanism = _calibrated(office, mechanism_id)
        mechanism.check_round(0, office.n_targets, office.audits)
    except DeniableError as error:
        return NotCovered(mechanism_id, str(error))
    # The BLT counter stands in: its noise is the Toeplitz counter's within 0.05 %, and needs no history.
    simulated = _calibrated(office, "counter:blt") if mechanism_id in ("tca", "counter:toeplitz") else mechanism
    waits = [_waits(simulated, office, extra_reports, size, seed + i) for i, size in enumerate(_batches(office, runs))]
    return Option(
        mechanism_id,
        mechanism,
        mechanism.guarantee().for_reports(office.reports_per_person),
        lead_needed(mechanism, office.audits),
        tuple(
            _summary(n, np.concatenate(rounds), office.longest_wait)
            for n, *rounds in zip(extra_reports, *waits, strict=True)
        ),
    )


def static_error(mechanism: Mechanism[Any], gap: float, audits: int = 1) -> float:
    """P[the leader is not audited] where it is ahead of all other targets by `gap` reports, the counts held fixed.

    Rules are left aside: the leader is one that may be audited. Exact for one audit a round with count mechanisms,
    an upper bound for several. For counters it bounds a comparison of fixed runs, as long as they may become; the
    noise of a target that has long been passed over is not like that of a fixed run, so it is a guide there.
    """
    C = mechanism.n_targets
    if audits == C:
        return 0.0
    match mechanism:
        case Race():
            error = race_static_error(min(gap, mechanism.growth.longest), C, mechanism.rho)
        case CounterAuditing():
            return min(1.0, operational_error_bound(gap, C, _noise_std(mechanism)))
        case RandomizedResponse() if gap > 0:
            error = rr_error(mechanism.p_rand, C)
        case Greedy() if gap > 0:
            error = 0.0
        case _:
            error = 1.0
    # These prefer no smaller count, so a leader is chosen at least as often as by lot.
    return min(error, uniform_error(C, audits))


def lead_needed(mechanism: Mechanism[Any], audits: int = 1, error: float = ERROR) -> float | None:
    """The smallest gap with `static_error` at most `error`, in reports; None where there is none.

    >>> lead_needed(Greedy(50)), lead_needed(RandomizedResponse.calibrate(50, 0.1))
    (1.0, None)
    """
    if static_error(mechanism, 0, audits) <= error + 1e-12:  # 1 - 19/20 is a little above 0.05
        return 0.0
    match mechanism:
        case Race():
            gap = race_gap_needed(error, mechanism.n_targets, mechanism.rho)
            return gap if gap <= mechanism.growth.longest else None
        case CounterAuditing():
            return operational_gap_needed(error, mechanism.n_targets, _noise_std(mechanism))
    return 1.0 if static_error(mechanism, 1, audits) <= error else None


def _noise_std(mechanism: CounterAuditing[Any]) -> float:
    """The standard deviation of a noisy count in the round of a run where it is largest, in reports."""
    assert isinstance(mechanism.counter, GaussianCounter)  # as all are that have an id
    return mechanism.counter.max_error


def _calibrated(office: Office, mechanism_id: str) -> Mechanism[Any]:
    delta = office.delta
    if delta is None:
        for_person = delta_for_person
        if mechanism_id == "race":
            for_person = race_delta_for_person
        elif mechanism_id.startswith(("tca", "counter:")):
            for_person = gaussian_delta_for_person
        assert office.advantage is not None
        delta = for_person(office.advantage, office.reports_per_person)
    return calibrate(mechanism_id, office.n_targets, delta, office.horizon, rules=office.rules)


# Simulated waits


def _batches(office: Office, runs: int) -> list[int]:
    size = max(1, CELLS_AT_ONCE // office.n_targets)
    return [min(size, runs - start) for start in range(0, runs, size)]


def _waits(
    mechanism: Mechanism[Any], office: Office, extra_reports: Sequence[int], runs: int, seed: int
) -> list[IntArray]:
    """For each number of extra reports, (runs,) rounds; `longest_wait` + 1 where it was longer than that."""
    before, after = np.random.SeedSequence(seed).spawn(2)
    reports, noise = _sources(office, runs, before)
    usual = mechanism.init(runs)
    for _ in range(office.warm_up):
        _, usual = mechanism.step(usual, reports(), noise, office.audits)
    return [_wait(mechanism, usual, office, n, _sources(office, runs, after)) for n in extra_reports]


def _wait(
    mechanism: Mechanism[Any],
    state: State[Any],
    office: Office,
    extra: int,
    sources: tuple[Callable[[], IntArray], SimulationNoise],
) -> IntArray:
    reports, noise = sources
    waiting = np.arange(state.history.last.shape[0])
    rounds = np.full(len(waiting), office.longest_wait + 1)
    for elapsed in range(1, office.longest_wait + 1):
        new = reports()[waiting]
        if elapsed == 1:
            new[:, 0] += extra
        audited, state = mechanism.step(state, new, noise, office.audits)
        hit = (audited == 0).any(axis=1)
        rounds[waiting[hit]] = elapsed
        waiting = waiting[~hit]
        if not len(waiting):
            break
        if hit.any():
            state = _only(state, ~hit)
    return rounds


def _sources(office: Office, runs: int, seed: np.random.SeedSequence) -> tuple[Callable[[], IntArray], SimulationNoise]:
    """The usual reports, (runs, C) a round, and the noise; the same whenever the seed is."""
    # Not spawned, which would count up.
    of_reports, of_noise = (np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i)) for i in range(2))
    rng, rate = np.random.default_rng(of_reports), office.reports_per_round / office.n_targets
    return lambda: rng.poisson(rate, (runs, office.n_targets)), SimulationNoise(of_noise)


def _only(state: S, runs: BoolArray) -> S:
    """The state of these runs alone, (B,): runs and targets are the last two axes of all its arrays."""
    if isinstance(state, np.ndarray):
        return state[..., runs, :]  # type: ignore[return-value]
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        fields = {field.name: _only(getattr(state, field.name), runs) for field in dataclasses.fields(state)}
        return dataclasses.replace(state, **fields)
    return state


def _summary(extra: int, rounds: IntArray, longest: int) -> Wait:
    error = float(rounds.std(ddof=1)) / math.sqrt(len(rounds))
    nine_in_ten = int(np.quantile(rounds, 0.9, method="inverted_cdf"))
    return Wait(extra, float(rounds.mean()), error, float((rounds > longest).mean()), nine_in_ten)


# Advice

NAMES = {"tca": "counter auditing (tca)", "rr": "randomized response (rr)", "race": "race"}
# A third sooner than by lot is worth a mechanism, a tenth is a difference.
USEFUL, DIFFERENT = 2 / 3, 0.9
WEAK = 0.25
"""An advantage above this, half of what there is to give away, protects little."""
NEARLY_ALL = 0.49


def advice(office: Office, options: Sequence[Option | NotCovered]) -> str:
    """At most five sentences, for somebody who has to choose and knows no statistics.

    The options must include greedy and uniform, which the others are measured against, all with EXTRA_REPORTS.
    """
    by_id = {option.mechanism_id: option for option in options if isinstance(option, Option)}
    greedy, lots = by_id["greedy"], by_id["uniform"]
    protected = {name: option for name, option in by_id.items() if option not in (greedy, lots)}
    if office.audits == office.n_targets:
        return "Every target is audited in every round, so there is nothing to choose."
    _, few, many = EXTRA_REPORTS
    if greedy.wait(many).rounds > USEFUL * lots.wait(many).rounds:
        if greedy.wait(many).cut_short:
            return (
                "The simulation cannot tell the mechanisms apart: even without any protection, some targets with "
                f"{many} reports more than usual were not audited in the {office.longest_wait:,} rounds that it "
                "followed. A longer --horizon or more --audits may show more."
            )
        return (
            "Draw lots (uniform), which gives nothing away: in this programme even audits without any protection "
            f"would hardly reach a target with {many} reports more than usual any sooner."
        )
    for n in (few, many):
        if any(_sooner(option.wait(n), lots.wait(n), USEFUL) for option in protected.values()):
            best = _best(protected, n)
            sentences = [
                _choice(office, best, by_id, n),
                _weakness(office, best, by_id, few if n == many else EXTRA_REPORTS[0]),
                "This is about what the audits show, not about leaked logs or an audit so narrow that it points to a "
                "person.",
                _next(office, best),
            ]
            if _is_weak(office, best):
                return " ".join([_warning(office, best), *sentences])
            return " ".join([*sentences[:2], _given_away(best), *sentences[2:]])
    return _too_strict(office, list(protected.values()), lots)


def rounded_up(value: float, places: int) -> str:
    """The value as text, rounded up, since it states a bound; the last bits of a float do not count.

    >>> rounded_up(14.64, 1), rounded_up(0.1 + 2e-17, 4)
    ('14.7', '0.1000')
    """
    scaled = math.ceil(round(value * 10**places, 6))
    return f"{scaled / 10**places:,.{places}f}"


def _points(advantage: float) -> str:
    """How much more often a guess is right, in 100, rounded up: '1', '14.7'."""
    return rounded_up(100 * advantage, 1).removesuffix(".0")


def figure(rounds: float) -> str:
    """Rounds as precisely as a simulation gives them: '1.2', '7', '49'."""
    return f"{rounds:.1f}".removesuffix(".0") if rounds < 9.95 else f"{rounds:,.0f}"


def _is_weak(office: Office, option: Option) -> bool:
    asked_for = option.person if office.delta is None else option.guarantee
    return asked_for.advantage > WEAK or option.person.advantage > NEARLY_ALL


def _warning(office: Office, best: Option) -> str:
    instead = "" if office.delta is None else " in place of --delta"
    return (
        f"This promise protects little: somebody who watches {_is_right(best.person)}, where 50 would mean that the "
        f"audits may tell everything, so rather run this again with --advantage 0.05{instead}."
    )


def _given_away(best: Option) -> str:
    k = best.person.reports
    several = "" if k == 1 else f", and {_points(best.person.advantage)} about all {k:,} reports of one person"
    return f"Somebody who watches {_is_right(best.guarantee)}{several}."


def _is_right(guarantee: Guarantee) -> str:
    k, often = guarantee.reports, _points(guarantee.advantage)
    about = "one report" if k == 1 else f"all {k:,} reports of one person"
    return f"is right at most {often} {'time' if often == '1' else 'times'} in 100 more often about {about}"


def _choice(office: Office, best: Option, options: Mapping[str, Option], n: int) -> str:
    fewest, few, many = EXTRA_REPORTS
    greedy, lots = options["greedy"], options["uniform"]
    others = [option for name, option in options.items() if option not in (best, greedy, lots) and name in PLANNED]
    choose = "If it has to be so, choose" if _is_weak(office, best) else "Choose"
    caution = ""
    if n == many:
        within = _within(office, best.wait(few))
        caution = f", but do not expect much, since {few} reports more than usual hardly count{within}"
    if greedy.wait(many).rounds > 2 and not _sooner(greedy.wait(many), greedy.wait(fewest)):
        caution = f", though {many} reports more than usual hardly stand out here even without any protection"
    compared = [_compared(option, best, lots, n) for option in others]
    cut_short = any(option.wait(n).cut_short for option in (best, greedy, lots, *others))
    return (
        f"{choose} {_name(best)}{caution}: at this promise a target with {n} reports more than usual is audited after "
        f"{_rounds(best.wait(n))} on average, against {_about(greedy.wait(n))} without any protection (greedy) and "
        f"{_about(lots.wait(n))} by lot (uniform)"
        + (f"; {' and '.join(compared)}" if compared else "")
        + ("; what is given as at least cannot be compared exactly, the simulation having ended" if cut_short else "")
        + "."
    )


def _weakness(office: Office, best: Option, options: Mapping[str, Option], n: int) -> str:
    wait, unprotected, by_lot = (option.wait(n) for option in (best, options["greedy"], options["uniform"]))
    if _sooner(wait, by_lot, USEFUL):
        return f"With only {n} reports more it takes {_rounds(wait)}, against {_about(unprotected)} without protection."
    hardly = (
        f"As few as {n} reports more hardly shorten the wait{_within(office, wait)} ({_rounds(wait)}, against "
        f"{_about(by_lot)} by lot)"
    )
    if unprotected.rounds > USEFUL * by_lot.rounds:
        return f"{hardly}, nor would they without any protection."
    weaker = _weaker(office)
    return f"{hardly}{f'; if that is too slow, run this again with {weaker}' if weaker else ''}."


def _within(office: Office, wait: Wait) -> str:
    """Where it was cut short, nothing is known about later rounds."""
    return f" within the {office.longest_wait:,} rounds simulated" if wait.cut_short else ""


def _too_strict(office: Office, options: Sequence[Option], lots: Option) -> str:
    leads = [option.lead_needed for option in options if option.lead_needed is not None]
    lead = (
        f"a target would have to be about {math.ceil(min(leads)):,} reports ahead of all others to be audited at once"
        if leads
        else "no number of reports gets a target audited at once"
    )
    within = _within(office, lots.wait(EXTRA_REPORTS[-1]))
    weaker = _weaker(office)
    changes = [
        *([f"a weaker promise ({weaker})"] if weaker else []),
        *(["a longer --max-gap"] if office.rules.max_gap is not None else []),
        "more --audits a round",
    ]
    return (
        f"At this promise the reports can hardly steer the audits{within}, since {lead}. "
        f"Run this again with {' or '.join(changes)}, or else draw lots (uniform), which gives nothing away."
    )


def _weaker(office: Office) -> str | None:
    """A weaker promise that may be enough and still is one."""
    name, asked, usual = ("advantage", office.advantage, 0.05) if office.delta is None else ("delta", office.delta, 0.1)
    assert asked is not None
    larger = max(usual, 2 * asked)
    return f"--{name} {larger:.6g}" if larger <= 5 * usual else None


def _next(office: Office, best: Option) -> str:
    missing = [
        *(["several audits a round"] if office.audits > 1 else []),
        *(["a maximum gap"] if office.rules.max_gap is not None else []),
        *(["a cooldown"] if office.rules.cooldown else []),
    ]
    if missing:
        return f"Next: draw the audits in Python (AuditRun), since deniable audit has no option for {missing[0]} yet."
    horizon = best.guarantee.horizon
    return (
        f"Next: deniable audit REPORTS --mechanism {best.mechanism_id} --delta {_delta_to_give(office, best)}"
        f"{'' if horizon is None else f' --horizon {horizon}'}, where REPORTS is your file; deniable audit --help says "
        "what else to give."
    )


def _delta_to_give(office: Office, best: Option) -> str:
    """In four digits, rounded down, which keeps the promise about a person."""
    if office.delta is not None:
        return f"{office.delta:g}" if float(f"{office.delta:g}") == office.delta else repr(office.delta)
    digit = 10.0 ** (math.floor(math.log10(best.guarantee.delta)) - 3)
    return f"{math.floor(best.guarantee.delta / digit) * digit:.4g}"


def _best(options: Mapping[str, Option], n: int) -> Option:
    """The one with the shortest wait; race where it is about as short, for its cap and its lack of a horizon."""
    shortest, race = min(options.values(), key=lambda option: option.wait(n).rounds), options.get("race")
    return shortest if race is None or _sooner(shortest.wait(n), race.wait(n)) else race


def _compared(option: Option, best: Option, lots: Option, n: int) -> str:
    wait, by_lot = option.wait(n), lots.wait(n)
    if wait.cut_short:  # how much longer than that is not known
        return f"{_name(option)} takes {_about(wait)}"
    if _sooner(by_lot, wait):
        return f"{_name(option)} is slower than drawing lots"
    if not _sooner(wait, by_lot):
        return f"{_name(option)} is no better than drawing lots"
    if not _sooner(best.wait(n), wait):
        return f"{_name(option)} takes about as long"
    return f"{_name(option)} takes {_about(wait)}"


def _sooner(a: Wait, b: Wait, ratio: float = DIFFERENT) -> bool:
    """Whether a is at most `ratio` of b, and shorter by more than chance explains."""
    return a.rounds <= ratio * b.rounds and b.rounds - a.rounds > 3 * math.hypot(a.standard_error, b.standard_error)


def _name(option: Option) -> str:
    return NAMES.get(option.mechanism_id, option.mechanism_id)


def _about(wait: Wait) -> str:
    return f"{'at least' if wait.cut_short else 'about'} {figure(wait.rounds)}"


def _rounds(wait: Wait) -> str:
    return f"{_about(wait)} round{'' if figure(wait.rounds) == '1' else 's'}"
