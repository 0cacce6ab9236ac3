"""An office's life in two worlds whose inputs differ in one row. Hypothesis chooses the row and every step."""

import functools
import io
import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.programme.twin_exports import CHANNELS, DAMAGES, HOTLINES, Row
from tests.programme.twin_worlds import (
    Outcome,
    Stage,
    World,
    backup_sizes,
    differing_before,
    differing_parts,
    differing_targets,
    fate_of_both,
    seen,
)

from deniable.programme import backup, counting, imports
from deniable.programme.buffer import Slots
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.frozen import WITHOUT_VALUE, PublicValue
from deniable.programme.transcript.waiting import Waiting

TARGETS = ("Ash Mill", "Birch Works", "Cedar Bank", "Dogwood Clinic")
LEAST_TARGETS, MOST_TARGETS = 3, 8
WHY = "the office says why"
THROWN = " ".join("123456" * 6 + "123")
HEAVIEST = 3
CLASS_OF_CHANNEL = dict(zip(CHANNELS, ("minor", "serious", "minor", "serious"), strict=True))

Reports = Mapping[str, int]
T = TypeVar("T")
Operation = Callable[..., None]


@dataclass(frozen=True)
class Difference:
    """The row that one world has and the other has not."""

    way: str
    """How it comes: through a hotline, entered by hand, or pushed by a machine."""
    target: int
    """About whom it is entered or pushed."""
    company: str | None
    """What is entered or pushed together with it: nothing, reports about another target, or about the same one."""
    source: str
    channel: str
    number: str
    """Where its number stands among those of its hotline."""
    damage: str | None
    comes_after: int
    """Steps."""
    comes_twice: bool
    """Before the next tick, where it is entered or pushed."""


class Entering(NamedTuple):
    """Reports that are entered or pushed under a name: in the world with the row, and in the other one if at all."""

    name: str
    with_row: Reports
    without_row: Reports | None


class Backup(NamedTuple):
    """How many entries of the transcript it has, and the runs in which the row had counted."""

    number: int
    entries: int
    runs_of_row: frozenset[tuple[int, int]]


class Import(NamedTuple):
    """What is brought of a hotline, and how."""

    source: str
    content: str
    part: int
    """Which rows, where it is not all of them."""
    place_of_row: str | None
    """Where in the file the row is; None where it is not in the file."""
    way: str


DIFFERENCES = st.builds(
    Difference,
    way=st.sampled_from([*["hotline"] * 4, "entered", "entered", "pushed"]),
    target=st.integers(0, len(TARGETS) - 1),
    company=st.sampled_from([None, "other", "other", "same"]),
    source=st.sampled_from([*HOTLINES]),
    channel=st.sampled_from(["main", "main", *CHANNELS]),
    number=st.sampled_from([*["highest"] * 4, "lowest", "between", "huge", "repeated", "repeated elsewhere"]),
    damage=st.sampled_from([*[None] * 6 * len(DAMAGES), *DAMAGES]),
    comes_after=st.integers(1, 3),
    comes_twice=st.booleans(),
)
SOURCES = st.sampled_from([*["the row's"] * 8, *HOTLINES])
IMPORTS = st.builds(
    Import,
    source=SOURCES,
    content=st.sampled_from(["all", "all", "part", "part", "reversed", "twice", "none"]),
    part=st.integers(0, 2**12 - 1),
    place_of_row=st.sampled_from(["first", "middle", "last", "last", None]),
    way=st.sampled_from([*["count"] * 6, "held", "held", "held", "by command", "dry run", "do not count"]),
)
AFTERWARDS = st.lists(IMPORTS, min_size=1, max_size=2)
ENDS = st.sampled_from(["close", "close", "order", "order", "leave"])
ANY = st.integers(0, 99)
"""Which of some things, however many there are."""
ROW_OR_ANY = st.integers(-99, 99)
"""The row's if negative, or else any."""
SELDOM = st.sampled_from([*[False] * 7, True])
KINDS = ("", " with oversight", " with dice", " with oversight and dice")

OPERATIONS: list[tuple[Operation, dict[str, int], dict[str, st.SearchStrategy[Any]]]] = []


def operation(hotline: int, by_hand: int, **arguments: st.SearchStrategy[Any]) -> Callable[[Operation], Operation]:
    """How often it is taken where the row comes through a hotline, and where it is entered or pushed."""

    def add(method: Operation) -> Operation:
        OPERATIONS.append((method, {"hotline": hotline, "entered": by_hand, "pushed": by_hand}, arguments))
        return method

    return add


@functools.cache
def steps_where_the_row_is(way: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    weighted = [
        st.tuples(st.just(method.__name__), st.fixed_dictionaries(arguments))
        for method, weights, arguments in OPERATIONS
        for _ in range(weights[way])
    ]
    return st.integers(0, len(weighted) - 1).flatmap(weighted.__getitem__)


class TwinWorlds(RuleBasedStateMachine):
    """The first of the two `worlds` has the row, the second has not."""

    def __init__(self, stage: Stage, born: Callable[[Path, str], World], counts: Counter[str]) -> None:
        super().__init__()
        self.stage, self.born, self.counts = stage, born, counts
        self.folder = TemporaryDirectory(prefix="twins-")
        self.worlds: tuple[World, ...] = ()
        self.steps = 0
        self.has_acted = False
        self.numbers = itertools.count(1)
        self.names = list(TARGETS)
        self.rows: dict[str, list[Row]] = {source: [] for source in HOTLINES}
        self.mapping: dict[str, dict[str, str | None]] = {
            source: {"main": TARGETS[0], "side": TARGETS[1], "shut": None} for source in HOTLINES
        }
        self.enterings: list[Entering] = []
        self.pushes: list[Entering] = []
        self.audits: list[tuple[int, str]] = []
        self.backups: list[Backup] = []
        self.entries = 0
        """The most that the transcript ever had."""
        self.resets: list[int] = []
        """The entries with which all runs ended."""
        self.row: Row | Entering | None = None
        self.row_can_be_entered_again = True
        self.targets_of_row: set[str] = set()
        self.runs_of_row: set[tuple[int, int]] = set()
        self.differing: dict[int, int] = {}

    @initialize(
        kind=st.sampled_from(KINDS),
        difference=DIFFERENCES,
        has_own_channel=st.sampled_from([True, True, False]),
        channels=st.lists(st.sampled_from(CHANNELS), min_size=2, max_size=12),
        has_one_left=st.sampled_from([False, False, False, True]),
    )
    def begin(
        self,
        kind: str,
        difference: Difference,
        has_own_channel: bool,
        channels: list[str],
        has_one_left: bool,
    ) -> None:
        self.difference = difference
        self.channels = [channel for channel in CHANNELS if channel != difference.channel or not has_own_channel]
        folders = [Path(self.folder.name) / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        self.worlds = tuple(self.born(folder, kind) for folder in folders)
        self.receive(difference.source, channels, are_late=False)
        self.publish(by_command=False)
        self.back_up()
        self.sight = seen(self.stage, self.worlds[0])
        if has_one_left:
            of_channel = {"main": 0, "side": 1}.get(difference.channel, difference.target)
            self.change_targets(of_channel if difference.way == "hotline" else difference.target, do_join=False)

    @rule(step=st.runner().flatmap(lambda self: steps_where_the_row_is(self.difference.way)))
    def take(self, step: tuple[str, dict[str, Any]]) -> None:
        name, arguments = step
        self.counts[f"step: {name}"] += 1
        getattr(self, name)(**arguments)

    def teardown(self) -> None:
        for world in self.worlds:
            world.programme.close()
        self.folder.cleanup()

    # What is compared

    @invariant()
    def nothing_differs_but_the_row(self) -> None:
        if not self.worlds:
            return
        self.steps += 1
        if self.row is None and self.steps > self.difference.comes_after:
            self.the_row_comes()
        if self.has_acted:
            self.compare()

    def compare(self) -> None:
        self.counts["operations"] += 1
        self.has_acted = False
        one, other = (seen(self.stage, world) for world in self.worlds)
        differing = differing_targets(one, other, self.is_of_the_row, self.rows_with_its_id() == 2)
        assert {self.names[target] for target in differing_before(one, other)} <= self.targets_of_row
        self.sight = one
        assert len(differing) <= self.rows_with_its_id()
        came_meanwhile = 0
        for target, by in differing.items():
            assert self.names[target] in {*one.status.targets} & self.targets_of_row
            assert abs(by) <= (HEAVIEST if self.has_classes() else 1)
            came_meanwhile += self.note_runs_of_row(target, differing_parts(one, other, target))
        assert len(self.runs_of_row) + came_meanwhile <= self.rows_with_its_id(), "the row counts in one run"
        if differing and not self.differing:
            self.counts["the row counts"] += 1
        if self.differing and not differing:
            self.counts[f"the row counts no more: {self.last}"] += 1
        if differing and not differing_before(one, other):
            self.counts["the row is not counted yet"] += 1
        if one.status.waiting is not None:
            for part in {part for target in differing for part in differing_parts(one, other, target)}:
                self.counts[f"a round waits, and the row is in the {part} one"] += 1
        self.counts["most blocks"] = max(self.counts["most blocks"], len(one.blocks))
        self.differing, self.entries = differing, max(self.entries, one.status.entries)

    def note_runs_of_row(self, target: int, parts: set[str]) -> bool:
        """Returns whether the row came in while a round waits, which decides to which run of its target it belongs."""
        if "frozen" in parts:
            self.runs_of_row.add((target, self.run(target, is_frozen=True)))
        if "drawn" in parts or ("open" in parts and self.sight.status.waiting is None):
            self.runs_of_row.add((target, self.run(target)))
        if "open" not in parts or self.sight.status.waiting is None:
            return False
        assert "frozen" not in parts or self.rows_with_its_id() == 2, "the row counts once"
        return self.runs_of_row.isdisjoint({(target, self.run(target)), (target, self.run(target) + 1)})

    def rows_with_its_id(self) -> int:
        """A hotline that gives one id to two reports moves it from one to the other; no third one may be touched."""
        return 2 if isinstance(self.row, Row) and self.difference.number == "repeated elsewhere" else 1

    def run(self, target: int, is_frozen: bool = False) -> int:
        """Which of the target's runs goes on, or went on when the round that waits was frozen."""
        assert self.sight.secrets is not None
        audits = self.sight.secrets.frozen_audits if is_frozen else self.sight.secrets.audits
        return audits[target] + sum(entry <= self.sight.status.entries for entry in self.resets)

    def is_of_the_row(self, id_: list[Any]) -> bool:
        match self.row:
            case Row(number):
                return id_ == ["imported", self.difference.source, HOTLINES[self.difference.source].outside_id(number)]
            case Entering(name, _, None):
                return name in id_
            case Entering(name, _, _):  # what came together with it is not of the row
                is_company = id_[0] in {"entered", "withdrawn"} and self.names[id_[2]] not in self.targets_of_row
                return name in id_ and not is_company
        return False

    def both(self, what: str, step: Callable[[World], Any]) -> Outcome:
        """The same step in both worlds, with the same outcome."""
        one, other = self.worlds
        outcome = self.stage.take(one, step)
        assert self.stage.take(other, step) == outcome, what
        self.stage.same_clock(self.worlds)
        self.count(what, outcome)
        return outcome

    def count(self, what: str, outcome: Outcome) -> None:
        self.last, self.has_acted = what, True
        self.counts[f"{what}, refused" if outcome.refused else what] += 1

    # The row

    def the_row_comes(self) -> None:
        match self.difference.way:
            case "hotline":
                self.row = self.row_of_hotline()
            case "entered":
                self.row = self.entering_with_row(receipt(next(self.numbers)))
                self.enterings.append(self.row)
                self.come_at_once([("enter", -1)] * 2) if self.difference.comes_twice else self.enter_again(-1)
            case _:
                self.row = self.entering_with_row(f"push {next(self.numbers)}")
                self.pushes.append(self.row)
                self.come_at_once([("push", -1)] * 2) if self.difference.comes_twice else self.push_again(-1)

    def row_of_hotline(self) -> Row:
        rows, number = self.rows[self.difference.source], 500
        numbers = sorted(row.number for row in rows)
        match self.difference.number:
            case "repeated":
                return rows[-1]
            case "repeated elsewhere":
                number = numbers[-1]
            case "between":
                number = numbers[len(rows) // 2] + 500
            case "highest":
                number = numbers[-1] + 500
            case "huge":
                number = 10**30
        return Row(number, self.difference.channel, self.difference.damage)

    def entering_with_row(self, name: str) -> Entering:
        target, other = (self.names[(self.difference.target + by) % len(TARGETS)] for by in (0, 1))
        self.targets_of_row = {target}
        if self.difference.company is None:
            return Entering(name, {target: 1}, None)
        company = {other: 2} if self.difference.company == "other" else {target: 2}
        return Entering(name, {**company, target: company.get(target, 0) + 1}, company)

    # Reports come in

    @operation(hotline=3, by_hand=1, source=SOURCES, channels=st.lists(ANY, min_size=1, max_size=9), are_late=SELDOM)
    def hotline_receives(self, source: str, channels: list[int], are_late: bool) -> None:
        self.receive(self.source(source), [chosen(self.channels, channel) for channel in channels], are_late)

    def receive(self, source: str, channels: Sequence[str], are_late: bool) -> None:
        """Late reports have numbers below those of reports that were there before."""
        for channel in channels:
            number = next(self.numbers)
            self.rows[source].append(Row(number if are_late else 1000 * number, channel))

    @operation(hotline=3, by_hand=1, channel=st.sampled_from(["the row's", *CHANNELS]), which=ANY, is_left_out=SELDOM)
    def change_mapping(self, channel: str, which: int, is_left_out: bool) -> None:
        channel = self.difference.channel if channel == "the row's" else channel
        self.mapping[self.difference.source][channel] = None if is_left_out else self.target(which)

    @operation(hotline=8, by_hand=1, brought=IMPORTS)
    def bring(self, brought: Import) -> None:
        source = self.source(brought.source)
        rows = self.rows[source]
        common = {
            "all": rows,
            "part": [row for place, row in enumerate(rows) if brought.part >> place % 12 & 1],
            "reversed": rows[::-1],
            "twice": rows + rows,
            "none": [],
        }[brought.content]
        with_row = self.with_row(source, common, brought.place_of_row)
        mapping = self.current_mapping(source, is_held=brought.way == "held")
        self.import_file(source, with_row, common, brought.way, mapping)

    @operation(
        hotline=1,
        by_hand=3,
        about=st.lists(ROW_OR_ANY, min_size=1, max_size=2),
        count=st.integers(1, 3),
        by_command=SELDOM,
    )
    def enter(self, about: list[int], count: int, by_command: bool = False) -> None:
        reports = {self.target(which): count for which in about}
        if by_command:
            (target, *_), number = reports, str(count)
            words = ("report", target, number, *(("--class", "minor") if self.has_classes() else ()))
            self.both("report", lambda world: world.command(*words, "--key", world.key_path))
            return
        self.enterings.append(Entering(receipt(next(self.numbers)), reports, reports))
        self.enter_again(-1)

    @operation(hotline=1, by_hand=3, which=ROW_OR_ANY)
    def enter_again(self, which: int) -> None:
        entering = self.entering(self.enterings, which)
        if entering is None or (entering is self.row and not self.row_can_be_entered_again):
            return
        report_class = self.class_of(entering.name)
        self.in_worlds(
            "enter",
            entering,
            lambda reports: lambda world: world.programme.report(reports, entering.name, report_class=report_class),
        )

    @operation(
        hotline=3,
        by_hand=6,
        which=ROW_OR_ANY,
        part=st.sampled_from(["all", "all", "one", "others, too"]),
        is_forged=st.booleans(),
    )
    def withdraw(self, which: int, part: str, is_forged: bool) -> None:
        entering = self.entering(self.enterings, which)
        if entering is None:
            return
        name = receipt(10**9) if is_forged and entering is not self.row else entering.name

        about = chosen([*entering.with_row], which)

        def taken_back(reports: Reports) -> Callable[[World], Any]:
            some = {
                "all": [*reports],
                "one": [target for target in reports if target == about],
                "others, too": self.names,
            }[part]
            return lambda world: world.programme.withdraw(some, name) if some else None

        self.in_worlds("withdraw", entering, taken_back)

    @operation(hotline=1, by_hand=2, about=st.lists(ROW_OR_ANY, min_size=1, max_size=2), count=st.integers(1, 3))
    def push(self, about: list[int], count: int) -> None:
        reports = {self.target(which): count for which in about}
        self.pushes.append(Entering(f"push {next(self.numbers)}", reports, reports))
        self.push_again(-1)

    @operation(hotline=1, by_hand=4, which=ROW_OR_ANY)
    def push_again(self, which: int) -> None:
        pushed = self.entering(self.pushes, which)
        if pushed is not None:
            report_class = self.class_of(pushed.name)
            self.in_worlds(
                "push",
                pushed,
                lambda reports: lambda world: world.programme.push("token", pushed.name, reports, report_class),
            )

    @operation(
        hotline=2,
        by_hand=4,
        things=st.lists(st.tuples(st.sampled_from(["enter", "push", "withdraw"]), ROW_OR_ANY), min_size=2, max_size=4),
    )
    def come_at_once(self, things: list[tuple[str, int]]) -> None:
        """What comes in before the next tick, the same thing twice perhaps; none of it sees the others."""
        for world in self.worlds:
            world.ticker.is_held = True
        for kind, which in things:
            entering = self.entering(self.pushes if kind == "push" else self.enterings, which)
            if entering is not None and (entering is not self.row or self.row_can_be_entered_again):
                self.in_worlds(f"{kind} at once", entering, brought(kind, entering.name, self.class_of(entering.name)))
        for world in self.worlds:
            world.ticker.is_held = False
        self.both("tick", lambda world: world.ticker.tick())

    @operation(hotline=3, by_hand=3, do_count=st.booleans())
    def time_passes(self, do_count: bool) -> None:
        """A page is written, or what came in is counted, or both."""
        self.both("count" if do_count else "tick", lambda world: world.ticker.tick(do_count=do_count))

    # Rounds and decisions

    @operation(hotline=2, by_hand=2, which=ROW_OR_ANY, is_late=SELDOM, by_command=SELDOM)
    def close(self, which: int, is_late: bool, by_command: bool) -> None:
        """Or freeze it; one that was frozen is drawn."""
        if self.waiting() is not None:
            self.draw(which, has_value=not is_late, by_command=by_command)
            return
        self.wait_until_due(days=3 if is_late else 0)
        if self.has_dice():
            what = "freeze"
        else:
            what = "close"
            self.choose_fate(which)
        if by_command:
            self.both(what, lambda world: world.command("close-round", "--reason", WHY, "--key", world.key_path))
            return
        closed = self.both(what, lambda world: world.programme.close_round()).answer
        if closed is not None:
            self.audits += [(closed.round, target) for target in closed.audits]

    @operation(
        hotline=1, by_hand=1, which=ROW_OR_ANY, has_value=st.sampled_from([True] * 5 + [False]), by_command=SELDOM
    )
    def draw(self, which: int, has_value: bool, by_command: bool) -> None:
        waiting = self.waiting()
        if waiting is None:
            self.both("draw", lambda world: world.programme.draw_round(WITHOUT_VALUE, WHY))
            return
        for world in self.worlds:
            world.clock.now = max(world.clock.now, waiting.expected + timedelta(days=0 if has_value else 8))
        self.choose_fate(which)
        if by_command:
            words = ("--throws", THROWN, "--yes") if has_value else ("--without-value", "--reason", WHY)
            self.both("draw", lambda world: world.command("draw-round", *words, "--key", world.key_path))
            return
        value, reason = (PublicValue(THROWN, waiting.value_at), None) if has_value else (WITHOUT_VALUE, WHY)
        closed = self.both("draw", lambda world: world.programme.draw_round(value, reason)).answer
        if closed is not None:
            self.audits += [(closed.round, target) for target in closed.audits]

    def choose_fate(self, which: int) -> None:
        if not self.sight.status.ended:
            self.stage.fate = fate_of_both(self.stage, self.worlds, self.names.index(self.target(which)), self.steps)

    @operation(
        hotline=5,
        by_hand=4,
        first=IMPORTS,
        meanwhile=st.sampled_from(["nothing", "order", "order", "restore", "restore and draw"]),
        which=ROW_OR_ANY,
        then=IMPORTS,
    )
    def wait_for_the_value(self, first: Import, meanwhile: str, which: int, then: Import) -> None:
        """A round is frozen; then reports come in, an order is given, or the database is lost; then it is drawn."""
        if not self.has_dice():
            self.bring_before_and_after(first, "close", which, then)
            return
        if self.waiting() is None:
            self.close(which, is_late=False, by_command=False)
        self.compare()
        if meanwhile.startswith("restore"):
            self.back_up()
        last = len(self.backups) - 1
        self.bring(first)
        self.compare()
        if meanwhile == "order":
            self.end_a_run("order", which)
            self.compare()
        if meanwhile == "restore":
            self.lose_the_database(last, do_recover=True, then=[])
            self.compare()
        self.draw(which, has_value=True, by_command=False)
        self.compare()
        if meanwhile == "restore and draw":
            self.lose_the_database(last, do_recover=True, then=[])
            self.compare()
        self.bring(then)

    @operation(hotline=7, by_hand=1, first=IMPORTS, how=ENDS, which=ROW_OR_ANY, then=IMPORTS)
    def bring_before_and_after(self, first: Import, how: str, which: int, then: Import) -> None:
        """The end of a run, that of the row if possible."""
        self.bring(first)
        self.compare()
        self.end_a_run(how, which)
        self.compare()
        self.bring(then)

    @operation(hotline=1, by_hand=4, how=ENDS, which=ROW_OR_ANY, count=st.integers(1, 3))
    def enter_and_withdraw_after(self, how: str, which: int, count: int) -> None:
        """The end of a run; others report its target again before reports from before it are taken back."""
        target = self.target(which)
        self.end_a_run(how, which)
        self.compare()
        self.enter([self.sight.status.targets.index(target)] if target in self.sight.status.targets else [which], count)
        self.compare()
        self.withdraw(which, "all", is_forged=False)

    def end_a_run(self, how: str, which: int) -> None:
        match how:
            case "close":
                self.close(which, is_late=False, by_command=False)
                if self.waiting() is not None:
                    self.compare()
                    self.draw(which, has_value=True, by_command=False)
            case "order" if self.has_classes() and which % 2:
                self.visit_at_once(which)
            case "order":
                self.order(which, by_command=False)
            case _:
                self.change_targets(which, do_join=len(self.sight.status.targets) == LEAST_TARGETS)

    @operation(hotline=1, by_hand=1, is_independent=st.booleans(), is_due=st.booleans())
    def skip(self, is_independent: bool, is_due: bool) -> None:
        if is_due:
            self.wait_until_due()
        self.both("skip", lambda world: world.programme.skip(WHY, independent=is_independent))

    @operation(hotline=2, by_hand=3, which=ROW_OR_ANY, by_command=SELDOM)
    def order(self, which: int, by_command: bool) -> None:
        target = self.target(which)
        if by_command:
            words = ("override", target, "--reason", WHY, "--independent-of-reports")
            self.both("order", lambda world: world.command(*words, "--key", world.key_path))
            return
        entry = self.both("order", lambda world: world.programme.override([target], WHY, independent=True)).answer
        if entry is not None:
            self.audits.append((entry.round, target))

    def visit_at_once(self, which: int) -> None:
        """Because of a report of danger, which both worlds have."""
        target = self.target(which)
        self.both("report danger", lambda world: world.programme.report({target: 1}, report_class="danger"))
        waiting = self.both("visits", lambda world: world.programme.waiting_visits()).answer
        entry = self.both("order", lambda world: world.programme.visit(target, "danger")).answer
        if entry is not None:
            assert (target, "danger") in waiting
            self.audits.append((entry.round, target))

    @operation(hotline=1, by_hand=1, which=ROW_OR_ANY, do_join=st.booleans())
    def change_targets(self, which: int, do_join: bool) -> None:
        add = [f"Elm {next(self.numbers)}"] if do_join and len(self.names) < MOST_TARGETS else []
        remove = [self.target(which)] if len(self.sight.status.targets) + len(add) > LEAST_TARGETS else []
        outcome = self.both(
            "change targets",
            lambda world: world.programme.change_targets(WHY, independent=False, add=add, remove=remove),
        )
        if outcome.refused is None:
            self.names += add

    @operation(hotline=1, by_hand=1, which=ANY)
    def say_what_was_not_carried_out(self, which: int) -> None:
        if self.audits:
            round_, target = chosen(self.audits, which)
            self.both(
                "not carried out", lambda world: world.programme.not_carried_out(round_, target, WHY, independent=True)
            )
        else:
            self.both("details", lambda world: world.programme.tell_details(f"room {which}", None))

    # What is kept, lost and shown

    @operation(hotline=1, by_hand=1, by_command=SELDOM)
    def publish(self, by_command: bool) -> None:
        if by_command:
            self.both("publish", lambda world: world.command("publish"))
        else:
            self.both("publish", lambda world: world.nameless(str(world.programme.publish(world.public))))

    @operation(hotline=1, by_hand=1)
    def back_up(self) -> None:
        number = next(self.numbers)
        outcome = self.both("back up", lambda world: world.programme.backup(world.backup(number)))
        if outcome.refused is not None:  # one that was restored and not recovered
            return
        one, other = self.worlds
        assert backup_sizes(one.backup(number)) == backup_sizes(other.backup(number))
        self.backups.append(Backup(number, one.programme.status().entries, frozenset(self.runs_of_row)))

    @operation(hotline=3, by_hand=1, which=ANY, do_recover=st.sampled_from([True, True, True, False]), then=AFTERWARDS)
    def lose_the_database(self, which: int, do_recover: bool, then: list[Import]) -> None:
        """Go on from a backup; those that were made since are lost as well."""
        self.backups = self.backups[: which % len(self.backups) + 1]
        number, entries, runs_of_row = self.backups[-1]

        def restore(world: World) -> None:
            world.programme.close()
            world.wipe(world)
            backup.restore(world.backup(number), world.database)
            world.open()

        assert self.both("restore", restore).refused is None
        if entries == self.entries:  # nothing was drawn since, and the row may be entered for the first time again
            self.runs_of_row = {*runs_of_row}
        self.compare()
        if do_recover:
            self.recover()
            for brought in then:
                self.compare()
                self.bring(brought)

    @operation(hotline=2, by_hand=2)
    def recover(self) -> None:
        known, most = self.sight.status.entries, self.entries
        outcome = self.both("recover", lambda world: world.programme.recover(world.public, WHY))
        if outcome.refused is None and known < most:
            kinds = [json.loads(row[2])["kind"] for row in seen(self.stage, self.worlds[0]).stored["entries"]]
            self.row_can_be_entered_again = self.row is None
            draws = [kind for kind in kinds[known:] if kind in {"round", "selection", "drawn", "drawn hidden"}]
            lost = draws[1:] if self.sight.status.waiting is not None else draws  # the first is drawn again
            if self.sight.status.parameters.mechanism == "tca" and lost:
                self.resets.append(outcome.answer.number)

    @operation(hotline=1, by_hand=1)
    def lose_the_copy(self) -> None:
        """The key was brought back without the transcript beside it."""
        if self.sight.status.ended:
            return
        self.both("lose the copy", lambda world: world.key.transcript.unlink(missing_ok=True))
        reports, report_class = {self.target(0): 1}, self.class_of("")
        refused = self.both(
            "count without a copy", lambda world: world.programme.push("token", "", reports, report_class)
        ).refused
        assert refused is not None
        self.recover()

    @operation(hotline=4, by_hand=2)
    def resume(self) -> None:
        """As they are told to, hotlines and machines bring all they have before."""
        if not self.sight.status.is_paused:
            return
        for source, rows in self.rows.items():
            mapping = self.current_mapping(source, is_held=False)
            self.import_file(source, self.with_row(source, rows, "last"), rows, "count", mapping)
        for pushed in self.pushes:
            self.push_again(self.pushes.index(pushed))
        self.both("resume", lambda world: world.programme.resume_imports(WHY))

    @operation(hotline=1, by_hand=1)
    def look(self) -> None:
        """At what everybody in the office may see, and at what those may see who may see counts."""
        self.both("status", lambda world: world.command("status"))
        self.both("targets", lambda world: world.command("targets", "list"))
        one, other = (self.stage.take(world, lambda world: world.programme.active_counts()) for world in self.worlds)
        assert one.refused == other.refused
        if one.refused is None:
            by = {self.names.index(name): count - other.answer[name] for name, count in one.answer.items()}
            assert all(by[target] == self.differing.get(target, 0) for target in by)

    @operation(hotline=1, by_hand=1, what=st.sampled_from(["renew", "rekey", "end"]))
    def maintain(self, what: str) -> None:
        match what:
            case "renew":
                self.both("renew", lambda world: world.programme.renew())
            case "rekey" if self.both("rekey", rekey).refused is None:
                self.backups.clear()  # the old key is destroyed, and opens them no more
                self.back_up()
            case "end" if self.steps > 15:
                self.both("end", lambda world: world.programme.end(WHY))

    # Helpers

    def has_classes(self) -> bool:
        return len(self.worlds[0].programme.parameters.classes) > 1

    def has_dice(self) -> bool:
        return self.worlds[0].programme.parameters.randomness is not None

    def waiting(self) -> Waiting | None:
        """The round that is frozen now."""
        return self.worlds[0].programme.status().waiting

    def class_of(self, name: str) -> str | None:
        """Of what is entered or pushed under this name."""
        return ("minor", "serious")[sum(map(ord, name)) % 2] if self.has_classes() else None

    def source(self, name: str) -> str:
        return self.difference.source if name == "the row's" else name

    def target(self, which: int) -> str:
        """One that takes part. Where `which` is negative, the one of which the row counts, or would count."""
        present, wanted = self.sight.status.targets, [self.names[target] for target in self.differing]
        if not wanted and which < -66:
            of_row = {self.mapping[self.difference.source].get(self.difference.channel), *self.targets_of_row}
            wanted = [name for name in present if name in of_row]
        return chosen(wanted if which < 0 and wanted else present, which)

    def entering(self, enterings: Sequence[Entering], which: int) -> Entering | None:
        """One of them; the row if it is there, where `which` is negative."""
        if which < 0 and self.row in enterings:
            assert isinstance(self.row, Entering)
            return self.row
        return chosen(enterings, which) if enterings else None

    def wait_until_due(self, days: int = 0) -> None:
        for world in self.worlds:
            world.clock.now = max(world.clock.now, world.programme.status().due) + timedelta(days=days)

    def current_mapping(self, source: str, is_held: bool) -> dict[str, str | None]:
        """One that was read a while ago may name targets that have left since."""
        present = self.names if is_held else self.sight.status.targets
        return {channel: to if to in present else None for channel, to in self.mapping[source].items()}

    def with_row(self, source: str, rows: Sequence[Row], place: str | None) -> Sequence[Row]:
        """The rows of a file where there is the row."""
        if not isinstance(self.row, Row) or source != self.difference.source or place is None:
            return rows
        is_repeated = self.row.number in {row.number for row in self.rows[source]}
        if is_repeated and self.row.number not in {row.number for row in rows}:  # listed twice, but in one file
            return rows
        at = {"first": 0, "middle": len(rows) // 2, "last": len(rows)}[place]
        return [*rows[:at], self.row, *rows[at:]]

    def has_its_id(self, rows: Sequence[Row]) -> bool:
        """Whether a report with the row's id is among them. Where the row was counted, another one does not count."""
        return isinstance(self.row, Row) and any(row.number == self.row.number for row in rows)

    def note_targets_of_row(self, mapping: Mapping[str, str | None]) -> None:
        """About whom a report with the row's id may have been counted, unless the two are the same."""
        assert isinstance(self.row, Row)
        rows = self.rows[self.difference.source]
        if self.row not in rows:
            channels = {self.row.channel} | {row.channel for row in rows if row.number == self.row.number}
            self.targets_of_row |= {to for channel, to in mapping.items() if channel in channels and to is not None}

    def in_worlds(self, what: str, entering: Entering, step: Callable[[Reports], Callable[[World], Any]]) -> None:
        if entering is not self.row:
            self.both(what, step(entering.with_row))
            return
        one, other = self.worlds
        self.count(f"{what} the row", self.stage.take(one, step(entering.with_row)))
        if entering.without_row is not None:  # who enters it may know what became of it
            self.stage.take(other, step(entering.without_row))
        self.stage.same_clock(self.worlds)

    def import_file(
        self,
        source: str,
        with_row: Sequence[Row],
        without_row: Sequence[Row],
        way: str,
        mapping: Mapping[str, str | None],
    ) -> None:
        targets = self.names if way == "held" else self.sight.status.targets
        steps = [import_step(source, rows, way, mapping, targets) for rows in (with_row, without_row)]
        one, other = (self.stage.take(world, step) for world, step in zip(self.worlds, steps, strict=True))
        self.stage.same_clock(self.worlds)
        assert one.refused == other.refused
        if self.rows_with_its_id() == 2 and one.refused is None:  # the same id counts earlier in one world
            assert abs(one.answer - other.answer) <= 1
        elif len(with_row) == len(without_row):
            assert one == other
        elif one.refused is None:  # who brings a file may know what is in it
            assert one.answer - other.answer in {0, 1}
        if one.refused is None and source == self.difference.source and self.has_its_id(with_row):
            self.note_targets_of_row(mapping)
        self.count(f"import, {way}", one)


def import_step(
    source: str, rows: Sequence[Row], way: str, mapping: Mapping[str, str | None], targets: Sequence[str]
) -> Callable[[World], int]:
    hotline = HOTLINES[source]
    export = hotline.written(rows)

    def channels(world: World) -> bytes:
        has_classes = len(world.programme.parameters.classes) > 1
        header = f"channel,target{',class' if has_classes else ''}"
        lines = [
            f"{channel},{to or ''}{',' + CLASS_OF_CHANNEL[channel] if has_classes else ''}"
            for channel, to in mapping.items()
        ]
        return "\n".join([header, *lines]).encode()

    def by_command(world: World) -> int:
        export_file, mapping_file = world.folder / "export", world.folder / "mapping.csv"
        export_file.write_bytes(export)
        mapping_file.write_bytes(channels(world))
        words = ("import", str(export_file), "--mapping", str(mapping_file), "--from", hotline.option)
        return world.command(*words, "--source", source, "--key", world.key_path)

    def imported(world: World) -> int:
        known = imports.read_mapping(io.BytesIO(channels(world)), targets, world.programme.parameters.classes)
        batch = imports.read(hotline.kind, io.BytesIO(export), known)
        return world.programme.import_reports(source, batch, dry_run=way == "dry run", count=way != "do not count")

    return by_command if way == "by command" else imported


def brought(kind: str, name: str, report_class: str | None) -> Callable[[Reports], Callable[[World], None]]:
    """What is not on the disk yet when this returns; whether it comes there is not asked."""

    def made(reports: Reports) -> Callable[[World], None]:
        makes: dict[str, Callable[[Transaction], tuple[Slots, Any]]] = {
            "enter": partial(counting.entered, reports=reports, receipt=name, report_class=report_class),
            "push": partial(counting.pushed, sender="token", name=name, reports=reports, report_class=report_class),
            "withdraw": partial(counting.withdrawn, names=[*reports], receipt=name),
        }
        return lambda world: discard(world.programme._intake.bring(makes[kind]))

    return made


def discard(_: object) -> None:
    """Not even whether it was refused is the same in both worlds."""


def rekey(world: World) -> None:
    """The old key is destroyed."""
    old = world.key
    world.programme.rekey(KeyFile(world.folder / f"{world.keys + 1}.key"))
    world.keys += 1
    old.path.unlink()


def receipt(number: int) -> str:
    letters = "".join(chr(ord("A") + int(digit)) for digit in f"{number:016d}")
    return "-".join(letters[start : start + 4] for start in range(0, 16, 4))


def chosen(things: Sequence[T], which: int) -> T:
    return things[which % len(things)]
