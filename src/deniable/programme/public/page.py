"""The public page: the transcript, the guarantee and how to check both, for a reader who knows no statistics.

One file without scripts or outside resources. Its text is a function of what is published beside it, and of nothing
else: no clock, no locale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from itertools import chain

from jinja2 import Environment, PackageLoader, StrictUndefined

from deniable.programme.calendar import Day, day_in_words, due_in_words, rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.checks import CHECKS, NOT_HERE, Shown
from deniable.programme.public.frozen_rounds import FrozenRound, frozen_rounds, randomness_rule, value_in_words
from deniable.programme.public.guarantee_wording import class_in_words, figures_rule, flood_cap, in_public_words, level
from deniable.programme.public.promise import promise_of
from deniable.programme.public.situation import Situation
from deniable.programme.public.timeline import timeline
from deniable.programme.transcript.draws import NO_REASON
from deniable.programme.transcript.entry import Entry, Outcome
from deniable.programme.transcript.figures import Figures
from deniable.programme.transcript.frozen import DrawnHidden, Freeze, FrozenDraw
from deniable.programme.transcript.outcomes import outcomes, present_names
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.programme.witness.checkpoints import office_key
from deniable.wording import count

__all__ = ["Day", "Event", "day_in_words", "due_in_words", "events_of", "every_period", "facts_of", "render",
           "verify_text"]  # fmt: skip
"""What publishing and the console's pages use; they write days as this page does."""

NEWEST = 20
"""Entries that are shown at once; the reader unfolds some more."""
MOST_ENTRIES = 50
"""With those; all others are in the files."""
MOST_TARGETS = 250
"""In the table of targets."""
MOST_NAMES = 10
"""Of what an entry names; where there are more, the rest is counted."""


@dataclass(frozen=True)
class Audited:
    name: str
    """When it was published."""
    carried_out: bool
    """As far as is known: no entry says that it was not."""
    visited: Day | None
    """The day on which the office says that it took place; None where it says nothing yet."""


@dataclass(frozen=True)
class Event:
    """One row of the transcript's table."""

    number: int
    kind: str
    round: int
    due: Day | None
    """Of the round that the entry closes; None where it closes none."""
    audited: tuple[Audited, ...]
    heading: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    reason: str | None
    effect: str
    """What the entry means for the guarantee; empty where that goes without saying."""
    lapse: bool
    frozen: FrozenRound | None = None
    """Of the round that the entry froze."""

    @property
    def n_entries(self) -> int:
        """That stand in this row: a frozen round has one that froze it, and one that drew it."""
        return 1 if self.frozen is None or self.frozen.number is None else 2

    @property
    def is_noted(self) -> bool:
        """Whether a reader should see at once that the row is not an everyday one."""
        return self.kind not in _EVERYDAY or (self.frozen is not None and self.frozen.is_remarkable)


_EVERYDAY = {"round", "selection", "reveal", "freeze", "carried-out"}


@dataclass(frozen=True)
class Target:
    name: str
    audits: int
    last: int
    """The round of its last audit that was carried out, or 0."""
    joined: int
    """The round during which it joined, or 0: it was there from the start."""
    left: int
    """The round during which it left, or 0."""
    former: tuple[str, ...]
    """Names that it had before, the oldest first."""
    registered: str
    """Its number in the public register, or empty."""


def render(parameters: Parameters, entries: Sequence[Entry], known: PublicState | None = None) -> str:
    """The text of index.html after these entries; `known` is the public state after them, worked out here where the
    caller does not have it.
    """
    state = replay(parameters, entries) if known is None else known
    calendar = parameters.calendar
    events = events_of(parameters, entries)
    frozen = [event.frozen for event in events if event.frozen is not None]
    targets = _targets(state, events, present_names(entries))
    shown = {event.number for event in events[:MOST_ENTRIES]}
    promise = promise_of(parameters, Situation.after(state))
    template = templates().get_template("index.html.j2")
    return template.render(
        parameters=parameters,
        every=every_period(calendar.period),
        closed=state.closed,
        ended=state.ended,
        latest=next((event for event in events if event.audited), None),
        next_round=state.open_round,
        next_due=None if state.ended else due_in_words(calendar, state.open_round),
        waiting=next((one for one in frozen if one.state == "waits"), None),
        without=tuple(one.round for one in reversed(frozen) if one.state == "without"),
        undrawn=tuple(one.round for one in reversed(frozen) if one.state == "never"),
        public_value=_public_value(parameters),
        promise=promise,
        contact=next(part for part in promise.parts if part.id == "contact"),
        no_reason=NO_REASON,
        t=parameters.terms,
        figures=tuple(entry for entry in reversed(entries) if isinstance(entry, Figures)),
        next_figures=None if state.ended else due_in_words(calendar, calendar.last_of_year(state.open_round)),
        is_visited=any(audited.visited for event in events for audited in event.audited),
        timeline=timeline(parameters, entries, state.coverage.holds_from),
        newest=events[:NEWEST],
        earlier=events[NEWEST:MOST_ENTRIES],
        older=sum(event.n_entries for event in events[MOST_ENTRIES:]),
        lapses=tuple((lapse.entry, lapse.entry in shown) for lapse in state.coverage.lapses[-MOST_NAMES:]),
        most_names=MOST_NAMES,
        n_targets=len(state.targets),
        n_present=int(state.history.present.sum()),
        targets=targets,
        left_out=len(state.targets) - len(targets),
        facts=facts_of(parameters),
        commitment=state.commitment,
        checks=_checks(parameters),
        n_entries=state.entries,
        fingerprint=state.head,
    )


@cache
def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("deniable.programme.public"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["count"] = count
    return environment


def verify_text(parameters: Parameters) -> str:
    """The text of VERIFY.md."""
    template = templates().get_template("VERIFY.md.j2")
    return template.render(
        parameters=parameters, office_key=str(office_key(parameters)), public_value=_public_value(parameters)
    )


def _checks(parameters: Parameters) -> tuple[tuple[str, Shown, Shown | None], ...]:
    """What can be checked, by whom, and by whom where witnesses countersign the record, if those are others; without
    what there is not in this programme.
    """
    values = parameters.randomness is not None
    told = []
    for one in CHECKS:
        alone, seen = (_here(parameters, one.of(values=values, witnesses=witnesses)) for witnesses in (False, True))
        if alone.to not in NOT_HERE:
            told.append((in_public_words(one.what, parameters.terms), alone, None if seen == alone else seen))
    return tuple(told)


def _here(parameters: Parameters, shown: Shown) -> Shown:
    """To whom, where the programme may have named no oversight body."""
    if parameters.oversight or "oversight body" not in shown.to:
        return shown
    return Shown(shown.to.partition(";")[0] if shown.to.startswith("no one") else "no one here")


def _public_value(parameters: Parameters) -> str:
    return "" if parameters.randomness is None else value_in_words(parameters.randomness)


def events_of(parameters: Parameters, entries: Sequence[Entry]) -> tuple[Event, ...]:
    """Newest first. What was drawn stands in the row of its round, and so do its names, once they are public."""
    calendar, terms, present = parameters.calendar, parameters.terms, present_names(entries)
    known, frozen = outcomes(entries, present), frozen_rounds(parameters, entries)
    later = {entry.of: entry for entry in entries if isinstance(entry, FrozenDraw)}
    revealed = {entry.of: entry for entry in entries if isinstance(entry, Reveal)}

    def event(entry: Entry) -> Event:
        draw = later.get(entry.round) if isinstance(entry, Freeze) else entry
        naming = revealed.get(draw.audited_in) if isinstance(draw, Selection | DrawnHidden) else draw
        names = () if naming is None or isinstance(entry, Reveal) else naming.audited
        number = entry.number if naming is None else naming.number
        here = frozen[entry.round] if isinstance(entry, Freeze) else None
        if here is not None and here.state == "without":
            here = replace(here, sentence=in_public_words(here.sentence, terms))
        follow = draw.follow(calendar) if isinstance(draw, Selection | DrawnHidden) and naming is None else ""
        usual = "" if entry.is_usual or entry.kind == "details" else entry.effect(calendar)
        kept = quoted(entry)
        return Event(
            number=entry.number,
            kind=entry.kind,
            round=entry.round,
            due=day_in_words(calendar.day(entry.round)) if entry.closes_round else None,
            audited=tuple(_audited(name, known.get((number, present.get(name, name)))) for name in names),
            heading=in_public_words(entry.heading, terms, kept),
            added=entry.joined,
            removed=entry.left,
            reason=entry.reason,
            effect=in_public_words(f"{follow} {usual}".strip(), terms, kept),
            lapse=entry.lapse is not None,
            frozen=here,
        )

    return tuple(event(entry) for entry in reversed(entries) if not isinstance(entry, FrozenDraw))


def quoted(entry: Entry) -> set[str]:
    """What others wrote and the entry's own sentences may quote."""
    texts = {text for field, text in entry.own().items() if isinstance(text, str) and field != "reason"}
    return texts | {*entry.audited, *entry.joined, *entry.left}


def _audited(name: str, outcome: Outcome | None) -> Audited:
    if outcome is None or outcome.day is None:
        return Audited(name, outcome is None, None)
    return Audited(name, True, day_in_words(date.fromisoformat(outcome.day)))


def _targets(state: PublicState, events: Sequence[Event], present: Mapping[str, str]) -> tuple[Target, ...]:
    """All targets there ever were, with the audits that were carried out; where they are too many for a page, those of
    which there is something to tell, the ones audited last first.
    """
    are_few = len(state.targets) <= MOST_TARGETS
    joined: dict[str, int] = {}
    left: dict[str, int] = {}
    rounds: dict[str, list[int]] = {name: [] for name in state.targets} if are_few else {}
    for event in events:
        joined |= {present.get(name, name): event.round for name in event.added}
        left |= {present.get(name, name): event.round for name in event.removed}
        for audited in event.audited:
            if audited.carried_out:
                rounds.setdefault(present.get(audited.name, audited.name), []).append(event.round)
    former: dict[str, tuple[str, ...]] = {}
    for one in state.renamed:
        name = state.targets[one.number]
        former[name] = (*former.get(name, ()), one.former)
    if not are_few:
        told = {name: max(rounds.get(name, ()), default=0) for name in chain(rounds, joined, left, former)}
        rounds = {name: rounds.get(name, []) for name in sorted(told, key=lambda name: -told[name])[:MOST_TARGETS]}
    return tuple(
        Target(
            name,
            len(audits),
            max(audits, default=0),
            joined.get(name, 0),
            left.get(name, 0),
            former.get(name, ()),
            state.registered_as(state.numbers[name]),
        )
        for name, audits in rounds.items()
    )


def facts_of(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    """The public parameters, each with what it means."""
    return tuple((name, text) for name, text in _all_facts(parameters) if text)


def _all_facts(parameters: Parameters) -> list[tuple[str, str]]:
    calendar, weights, t = parameters.calendar, parameters.weights, parameters.terms
    return [
        ("Rounds", f"{every_period(calendar.period)}, at {calendar.time:%H:%M} ({calendar.zone} time), counted from "
                   f"{day_in_words(calendar.start).words}. A round closes at its time whatever reports came in"),
        (f"{t.audits.capitalize()} a round", f"{parameters.audits}"),
        ("Names of those selected", f"public {count(parameters.reveal_after, 'round')} after the draw, whatever "
                                    "happened since. Until then the record has a fingerprint that fixes them"
                                    if parameters.reveal_after else ""),
        (f"How {t.targets} are chosen", _mechanism(parameters)),
        ("Random numbers", randomness_rule(parameters)),
        ("Privacy level of one report", f"delta = {level(parameters)}"),
        ("Reports by one person", "the exact figures above are about "
                                  f"{count(parameters.reports_per_person, 'report')}"
                                  f"{' of the heaviest class' if len(parameters.classes) > 1 else ''}"),
        ("Classes of reports", "; ".join(map(class_in_words, parameters.classes))
                               if len(parameters.classes) > 1 else ""),
        ("Floods of reports", flood_cap(parameters)),
        ("Horizon", rounds_in_words(calendar, parameters.horizon) if parameters.horizon else ""),
        ("Longest gap", f"every {t.target} is {t.audited} at least once in "
                        f"{rounds_in_words(calendar, parameters.max_gap)}; skipped rounds do not count"
                        if parameters.max_gap else f"none: {t.a_target} may go without {t.an_audit} for long"),
        (f"Rest after {t.an_audit}", f"{rounds_in_words(calendar, parameters.cooldown)}, where that is possible"
                                     if parameters.cooldown else f"none: {t.a_target} may be {t.audited} twice in a "
                                                                 "row"),
        ("Weights", _FORECASTS[weights].format(t=t) if weights is None or isinstance(weights, str)
                    else _weights(parameters.targets, weights)),
        ("Yearly figures", figures_rule(parameters)),
        ("Oversight", f"an oversight body can repeat every draw; its key is {parameters.oversight}"
                      if parameters.oversight else "no oversight body can repeat the draws"),
        ("Programme", parameters.programme),
        ("Public key (Ed25519)", parameters.public_key),
    ]  # fmt: skip


_FORECASTS = {
    None: "",
    "forecast": "a forecast from past {t.audits}, which are public",
    "steady-forecast": "a forecast from past {t.audits}, which are public, for rates of reports that never change",
}


def _weights(targets: Sequence[str], weights: Sequence[float]) -> str:
    some = [f"{name} {weight:g}" for name, weight in zip(targets[:MOST_TARGETS], weights, strict=False)]
    others = [f"and those of {len(targets) - len(some):,} others, which programme.json has"]
    return f"fixed by the office at the start: {'; '.join(some + (others if len(targets) > len(some) else []))}"


def _mechanism(parameters: Parameters) -> str:
    t = parameters.terms
    if parameters.mechanism == "race":
        return f"race: chance decides, and each report that waits makes its {t.target} somewhat more likely to be drawn"
    return (
        f"counter auditing (tca): chance is added to the number of reports that wait about each {t.target}, and the "
        "largest result is drawn"
    )


_UNITS = {"D": "day", "W": "week", "M": "month"}


def every_period(period: str) -> str:
    number, unit = int(period[:-1]), _UNITS[period[-1]]
    return f"every {unit}" if number == 1 else f"every {count(number, unit)}"
