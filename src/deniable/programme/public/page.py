"""The public page: the transcript, the guarantee and how to check both, for a reader who knows no statistics.

One file for each language, without scripts or outside resources. Its text is a function of what is published beside it,
and of nothing else: no clock, no locale of the machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import chain
from typing import NamedTuple, Self

from jinja2 import Environment, PackageLoader, StrictUndefined

from deniable.languages.language import language
from deniable.languages.voice import Voice, breakable, kept_together
from deniable.programme.calendar import Day, day_in_words, due_in_words, moment_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.check_table import told
from deniable.programme.public.folder import CALENDAR, PAGE, in_language
from deniable.programme.public.frozen_rounds import FrozenRound, Moment, frozen_rounds
from deniable.programme.public.promise import promise_of
from deniable.programme.public.questions import chosen_by_an_office_that_knows
from deniable.programme.public.rules_in_words import every_period, facts_of
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import is_made
from deniable.programme.public.timeline import timeline
from deniable.programme.randomness.source import is_foreseeable, value_in_words
from deniable.programme.transcript.closings import NO_REASON, Closing
from deniable.programme.transcript.decision import Decision
from deniable.programme.transcript.entries import End
from deniable.programme.transcript.entry import Entry, Outcome
from deniable.programme.transcript.frozen import DrawnHidden, Freeze, FrozenDraw
from deniable.programme.transcript.outcomes import outcomes, present_names
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.programme.transcript.yearly_figures import Figures
from deniable.programme.witness.notes import office_key

NEWEST = 20
"""Entries that are shown at once; the reader unfolds some more."""
MOST_ENTRIES = 50
"""With those; all others are in the files."""
MOST_TARGETS = 250
"""In the table of targets."""
MOST_OF_REASON = 300
"""Characters of the office's reason in the box of a lapse; the record has all."""
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
    made: str
    """When the entry was made where it closes no round, as far as the record tells; empty where it closes one."""
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
    def last_entry(self) -> int:
        """The number of the last entry that stands in this row."""
        return self.number if self.frozen is None or self.frozen.number is None else self.frozen.number

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


class Rounds(NamedTuple):
    number: int
    words: str
    """Each of them."""

    @classmethod
    def of(cls, rounds: Sequence[int], say: Voice) -> Self:
        return cls(len(rounds), say.language.locale.comma.join(say("round {round}", round=number) for number in rounds))


class InLanguage(NamedTuple):
    """The page in one of the programme's languages."""

    code: str
    name: str
    """Of the language, in the language."""
    direction: str
    page: str
    is_here: bool


def render(parameters: Parameters, entries: Sequence[Entry], known: PublicState | None, say: Voice) -> str:
    """The text of the page after these entries, in one language; `known` is the public state after them, worked out
    here where the caller does not have it.
    """
    state = replay(parameters, entries) if known is None else known
    calendar = parameters.calendar
    events = events_of(parameters, entries, say)
    frozen = [event.frozen for event in events if event.frozen is not None]
    targets = _targets(state, events, present_names(entries))
    now = Situation.after(state)
    is_over = now.takes_no_more(parameters)
    promise, last = promise_of(parameters, now, say), now.coverage.last
    template = templates().get_template("index.html.j2")
    return template.render(
        say=say,
        counted=say.counted,
        html=say.html,
        parameters=parameters,
        languages=_languages(parameters, say),
        checked_page=in_language(PAGE, "en", parameters) if "en" in parameters.languages else None,
        calendar_name=in_language(CALENDAR, say.language.code, parameters),
        every=every_period(calendar, say),
        closed=state.closed,
        ended=now.is_past,
        latest=next((event for event in events if event.audited), None),
        next_round=state.open_round,
        next_due=None if is_over else due_in_words(calendar, state.open_round, say),
        waiting=next((one for one in frozen if one.state == "waits"), None),
        without=Rounds.of([one.round for one in reversed(frozen) if one.state == "without"], say),
        undrawn=Rounds.of([one.round for one in reversed(frozen) if one.state == "never"], say),
        public_value=_public_value(parameters, say),
        foreseen=chosen_by_an_office_that_knows(say) if is_foreseeable(parameters.randomness) else "",
        promise=promise,
        contact=next(part for part in promise.parts if part.id == "contact"),
        no_reason=NO_REASON,
        figures=tuple(entry for entry in reversed(entries) if isinstance(entry, Figures)),
        next_figures=None if is_over else due_in_words(calendar, calendar.last_of_year(state.open_round), say),
        is_visited=any(audited.visited for event in events for audited in event.audited),
        timeline=timeline(parameters, entries, state.coverage.holds_from, say),
        newest=events[:NEWEST],
        earlier=events[NEWEST:MOST_ENTRIES],
        older=sum(event.n_entries for event in events[MOST_ENTRIES:]),
        lapse_reason=None if last is None else shortened(entries[last.entry - 1].reason),
        end_reason=next((shortened(entry.reason) for entry in reversed(entries) if isinstance(entry, End)), None),
        lapses=tuple(lapse.entry for lapse in state.coverage.lapses[-MOST_NAMES:]),
        declared=_declared(parameters, entries, now),
        late=_late(entries),
        shown_entries={event.number for event in events[:MOST_ENTRIES]},
        most_names=MOST_NAMES,
        n_targets=len(state.targets),
        n_present=int(state.history.present.sum()),
        targets=targets,
        left_out=len(state.targets) - len(targets),
        facts=facts_of(parameters, say),
        commitment=state.commitment,
        checks=told(parameters, say),
        n_entries=state.entries,
        fingerprint=state.head,
    )


def _declared(parameters: Parameters, entries: Sequence[Entry], now: Situation) -> Decision | None:
    """The latest decision that the promise survived because the office declares that no report led to it; None where no
    report is concerned about which anything is promised.
    """
    if now.standing(parameters) != "holds" or not is_made(parameters):
        return None
    declared = [entry for entry in entries if isinstance(entry, Decision) and entry.independent]
    latest = max(declared, key=lambda entry: (entry.during, entry.number), default=None)
    return latest if latest is not None and latest.during >= now.coverage.holds_from else None


def shortened(reason: str | None) -> str | None:
    """Why the office did what cost the promise, in its own words, for the box of the lapse."""
    if reason is None or len(reason) <= MOST_OF_REASON:
        return reason
    return f"{reason[: MOST_OF_REASON - 1].rstrip()}…"


def _late(entries: Sequence[Entry]) -> tuple[int, int] | None:
    """How many rounds were closed for a draw too late, and how many in all; None where none was late."""
    closed = [entry for entry in entries if isinstance(entry, Closing)]
    late = sum(entry.late > 0 for entry in closed)
    return (late, len(closed)) if late else None


def _languages(parameters: Parameters, say: Voice) -> tuple[InLanguage, ...]:
    return tuple(
        InLanguage(
            code,
            language(code).locale.name,
            language(code).locale.direction,
            in_language(PAGE, code, parameters),
            code == say.language.code,
        )
        for code in parameters.languages
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
    environment.filters.update(kept_together=kept_together, breakable=breakable)
    return environment


def verify_text(parameters: Parameters) -> str:
    """The text of VERIFY.md."""
    template = templates().get_template("VERIFY.md.j2")
    return template.render(
        parameters=parameters,
        office_key=str(office_key(parameters)),
        public_value=_public_value(parameters, parameters.voice()),
    )


def _public_value(parameters: Parameters, say: Voice) -> str:
    return "" if parameters.randomness is None else value_in_words(parameters.randomness, say)


def events_of(
    parameters: Parameters, entries: Sequence[Entry], say: Voice, moment: Moment = moment_in_words
) -> tuple[Event, ...]:
    """Newest first. What was drawn stands in the row of its round, and so do its names, once they are public."""
    calendar, present = parameters.calendar, present_names(entries)
    known, frozen = outcomes(entries, present), frozen_rounds(parameters, entries, say, moment)
    later = {entry.of: entry for entry in entries if isinstance(entry, FrozenDraw)}
    revealed = {entry.of: entry for entry in entries if isinstance(entry, Reveal)}

    def event(entry: Entry) -> Event:
        draw = later.get(entry.round) if isinstance(entry, Freeze) else entry
        naming = revealed.get(draw.audited_in) if isinstance(draw, Selection | DrawnHidden) else draw
        names = () if naming is None or isinstance(entry, Reveal) else naming.audited
        number = entry.number if naming is None else naming.number
        follow = draw.follow(calendar, say) if isinstance(draw, Selection | DrawnHidden) and naming is None else ""
        usual = "" if entry.is_usual or entry.kind == "details" else entry.effect(calendar, say)
        return Event(
            number=entry.number,
            kind=entry.kind,
            round=entry.round,
            due=day_in_words(calendar.day(entry.round), say) if entry.closes_round else None,
            made="" if entry.closes_round else entry.made(calendar, say),
            audited=tuple(_audited(name, known.get((number, present.get(name, name))), say) for name in names),
            heading=entry.heading(say),
            added=entry.joined,
            removed=entry.left,
            reason=entry.reason,
            effect=" ".join(filter(None, [follow, usual])),
            lapse=entry.lapse is not None,
            frozen=frozen[entry.round] if isinstance(entry, Freeze) else None,
        )

    return tuple(event(entry) for entry in reversed(entries) if not isinstance(entry, FrozenDraw))


def _audited(name: str, outcome: Outcome | None, say: Voice) -> Audited:
    if outcome is None or outcome.day is None:
        return Audited(name, outcome is None, None)
    return Audited(name, True, day_in_words(date.fromisoformat(outcome.day), say))


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
        last = {name: max(rounds.get(name, ()), default=0) for name in chain(rounds, joined, left, former)}
        rounds = {name: rounds.get(name, []) for name in sorted(last, key=lambda name: -last[name])[:MOST_TARGETS]}
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
