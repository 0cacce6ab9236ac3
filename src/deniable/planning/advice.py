"""Advice in words, from what was assessed: which mechanism, at what price, and what to do next."""

import math
from collections.abc import Mapping, Sequence

from deniable.guarantee import Guarantee
from deniable.planning.assessment import PLANNED, NotCovered, Option
from deniable.planning.requirements import Office
from deniable.planning.waits import Wait
from deniable.promptness import bounds_lead
from deniable.rounding import rounded_up

NAMES = {"tca": "counter auditing (tca)", "rr": "randomized response (rr)", "race": "race"}
ADVISED = (3, 10, 30)
"""The extra reports that the advice looks at."""
# A third sooner than by lot is worth a mechanism, a tenth is a difference.
USEFUL, DIFFERENT = 2 / 3, 0.9
IN_PROGRAMMES = ("race", "tca")
WEAK = 0.25
"""An advantage above this, half of what there is to give away, protects little."""
NEARLY_ALL = 0.49


def advice(office: Office, options: Sequence[Option | NotCovered]) -> str:
    """At most five sentences, for a reader who has to choose and knows no statistics; then, on lines of their own, the
    next commands.

    The options must include greedy and uniform, which the others are measured against, all with the waits of ADVISED.
    """
    by_id = {option.mechanism_id: option for option in options if isinstance(option, Option)}
    greedy, lots = by_id["greedy"], by_id["uniform"]
    protected = {name: option for name, option in by_id.items() if option not in (greedy, lots)}
    if office.audits == office.n_targets:
        return "Every target is audited in every round, so there is nothing to choose."
    fewest, few, many = ADVISED
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
                _weakness(office, best, by_id, few if n == many else fewest),
                "This is about what the audits show, not about leaked logs or an audit so narrow that it points to a "
                "person.",
            ]
            if _is_weak(office, best):
                sentences = [_warning(office, best), *sentences]
            else:
                sentences.insert(2, _given_away(best))
            return f"{' '.join(sentences)}\n\n{_next(office, best)}"
    return _too_strict(office, list(protected.values()), lots)


def _points(advantage: float) -> str:
    """How much more often a guess is right, in 100, rounded up: '1', '14.7'."""
    return rounded_up(advantage, 100, places=1).removesuffix(".0")


def figure(rounds: float) -> str:
    """Rounds as precisely as a simulation gives them: '1.2', '7', '49'."""
    return f"{rounds:.1f}".removesuffix(".0") if rounds < 9.95 else f"{rounds:,.0f}"


def _is_weak(office: Office, option: Option) -> bool:
    asked_for = option.person if office.delta is None else option.guarantee
    return asked_for.advantage > WEAK or option.person.advantage > NEARLY_ALL


def _warning(office: Office, best: Option) -> str:
    instead = "" if office.delta is None else " in place of --delta"
    return (
        f"This promise protects little: an observer {_is_right(best.person)}, where 50 would mean that the "
        f"audits may tell everything, so rather run this again with --advantage 0.05{instead}."
    )


def _given_away(best: Option) -> str:
    k = best.person.reports
    several = "" if k == 1 else f", and {_points(best.person.advantage)} about all {k:,} reports of one person"
    return f"An observer {_is_right(best.guarantee)}{several}."


def _is_right(guarantee: Guarantee) -> str:
    k, often = guarantee.reports, _points(guarantee.advantage)
    about = "one report" if k == 1 else f"all {k:,} reports of one person"
    return f"is right at most {often} {'time' if often == '1' else 'times'} in 100 more often about {about}"


def _choice(office: Office, best: Option, options: Mapping[str, Option], n: int) -> str:
    fewest, few, many = ADVISED
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
        f"a target would need a lead of {min(leads):,} reports over all others to be audited at once"
        if leads
        else "no number of reports is known to get a target audited at once"
        if not all(bounds_lead(option.mechanism, office.audits) for option in options)
        else "no number of reports gets a target audited at once"
    )
    within = _within(office, lots.wait(ADVISED[-1]))
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
    rules: dict[str, object] = {
        "horizon": best.guarantee.horizon,
        "audits": office.audits if office.audits > 1 else None,
        "max-gap": office.rules.max_gap,
        "cooldown": office.rules.cooldown or None,
    }
    mechanism: dict[str, object] = {"mechanism": best.mechanism_id}
    delta: dict[str, object] = {"delta": _delta_to_give(office, best)}
    k = office.reports_per_person
    promise = {
        **(delta if office.delta is not None else {"advantage": office.advantage}),
        "reports-per-person": k if k > 1 else None,
    }
    audit = f"  deniable audit STREAM {_given(mechanism | delta | rules)}"
    if best.mechanism_id not in IN_PROGRAMMES:
        return f"Next, where STREAM is your file (deniable audit --help says what else to give):\n{audit}"
    return (
        "Next, where TARGET_LIST lists your targets:\n"
        f"  deniable programme init TARGET_LIST --name NAME {_given(mechanism | promise | rules)}\n"
        f"or, for reports that are in one file already, STREAM:\n{audit}"
    )


def _given(options: Mapping[str, object]) -> str:
    return " ".join(f"--{name} {value}" for name, value in options.items() if value is not None)


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
