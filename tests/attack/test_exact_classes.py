"""Classes of reports by enumeration: each class keeps what is stated for it, emergency visits show themselves and
nothing else, and planted bugs are caught.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.attack.classed_worlds import BETWEEN, CLASSES, Case, Shown, World, laws, map_law, random_cases, revealed

import deniable as dn
from deniable.arrays import BoolArray, IntArray
from deniable.attack.exact import likelihood_ratio, total_variation
from deniable.class_guarantees import guarantees_by_class
from deniable.classed_streams import counted, visited
from deniable.report_classes import ReportClass

EVERY_DAY, LONG = 1_000, 20_000


def broken(case: Case) -> list[str]:
    """What is stated for the class of the report, and does not hold."""
    guarantee = guarantees_by_class(case.world.mechanism, case.world.classes)[case.report_class.name]
    if guarantee is None:
        return _beyond_the_visit(case)
    filed, not_filed = laws(case.filed, case.world, case.at)
    wrong = []
    for after in (0, 1):
        seen = [map_law(law, partial(revealed, after=after)) for law in (filed, not_filed)]
        if total_variation(*seen) > guarantee.delta:
            wrong.append("total variation")
        if likelihood_ratio(*seen) > guarantee.likelihood_cap:
            wrong.append("likelihood ratio")
    return wrong


def _beyond_the_visit(case: Case) -> list[str]:
    """Of a report that leads to a visit: with cover visits their figures; without, all that it shows is the visit."""
    if case.world.cover is not None:
        q = case.world.cover
        both = laws(case.filed, case.world, case.at)
        bounds = (total_variation(*both), 1 - q), (likelihood_ratio(*both), 1 / q)
        return [name for name, (found, most) in zip(("cover", "cover ratio"), bounds, strict=True) if found > most]
    ordered = replace(case.world, by_hand=frozenset({(case.at, case.target)}))
    filed, by_hand = laws(case.filed, ordered, case.at)
    return [] if filed == by_hand else ["more than the visit"]


def test_every_class_keeps_what_is_stated() -> None:
    assert not [(case, wrong) for case in random_cases(20260101, EVERY_DAY) if (wrong := broken(case))]


@pytest.mark.long
def test_every_class_keeps_what_is_stated_in_many_worlds() -> None:
    assert not [(case, wrong) for case in random_cases(20260102, LONG) if (wrong := broken(case))]


def test_the_cases_are_of_every_kind() -> None:
    """So that the two tests above say something."""
    cases = list(random_cases(20260101, EVERY_DAY))
    worlds = [case.world for case in cases]
    for kind in (dn.Race, dn.RandomizedResponse, dn.CounterAuditing):
        own = [case for case in cases if isinstance(case.world.mechanism, kind)]
        assert {case.report_class.weight for case in own} == {1, 2, 3, 4, None}
        assert any(visited(case.world.reports, case.world.classes).any() for case in own)
        assert any(case.world.most_counted for case in own)
    assert {world.audits for world in worlds} == {1, 2}
    for kind in (dn.Race, dn.CounterAuditing):  # randomized response is certified for a fixed number of targets
        assert {sum(world.joining) for world in worlds if isinstance(world.mechanism, kind)} == {0, 1}
    assert {world.mechanism.rules.cooldown for world in worlds} == {0, 1}
    assert {world.mechanism.rules.max_gap for world in worlds} == {None, 2, 3, 4}
    assert {world.cover for world in worlds} == {None, Fraction(1, 4)}


def test_a_heavy_report_uses_what_is_stated_for_it() -> None:
    """The bounds are not far off: a report of weight 2 among busy rivals shows most of delta and cap."""
    reports = np.zeros((3, 7, 2), dtype=np.int64)
    reports[0, :, 0] = 4
    world = World(dn.Race(2, 2.0), CLASSES, reports)
    filed, not_filed = laws(world.with_report(1, 0, 1), world, 0)
    light, heavy, _ = guarantees_by_class(world.mechanism, CLASSES).values()
    assert light is not None
    assert heavy is not None
    assert light.delta < 0.8 * heavy.delta < total_variation(filed, not_filed) <= heavy.delta
    assert light.likelihood_cap < 3 < likelihood_ratio(filed, not_filed) <= heavy.likelihood_cap == 4


# Planted bugs


def danger_counts_too(reports: IntArray, classes: Any, most_counted: int | None) -> IntArray:
    return counted(reports, [ReportClass(one.name, one.weight or 1) for one in classes], most_counted)


def weight_applied_twice(reports: IntArray, classes: Any, most_counted: int | None) -> IntArray:
    squared = [ReportClass(one.name, one.weight and one.weight**2) for one in classes]
    return counted(reports, squared, most_counted)


def cap_shared_by_targets(reports: IntArray, classes: Any, most_counted: int | None) -> IntArray:
    """At most so many reports a round: one more about a target takes the place of one about the next target."""
    most = most_counted or 2
    return counted(np.diff(np.minimum(reports.cumsum(axis=-1), most), prepend=0, axis=-1), classes, None)


def many_reports_lead_to_a_visit(reports: IntArray, classes: Any) -> BoolArray:
    """What must not happen: a report moves into the lane because of others."""
    return np.asarray(visited(reports, classes) | (counted(reports, classes) >= 3))


BUGS = {
    "an emergency report counts in the draw": ({"counted": danger_counts_too}, {"more than the visit", "cover ratio"}),
    "a weight is applied twice": ({"counted": weight_applied_twice}, {"total variation", "likelihood ratio"}),
    "the cap depends on other targets": ({"counted": cap_shared_by_targets}, {"likelihood ratio"}),
    "other reports decide about a visit": ({"visited": many_reports_lead_to_a_visit}, {"total variation"}),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(name: str) -> None:
    bug, expected = BUGS[name]
    found: set[str] = set()
    of_visits = "more than the visit" in expected
    for case in (one for one in random_cases(20260101, 400) if one.report_class.leads_to_visit == of_visits):
        found |= {*broken(replace(case, world=replace(case.world, **bug)))}  # type: ignore[arg-type]
        if expected <= found:
            return
    assert expected <= found


# Names that follow later


def published(shown: Shown, rounds: int, after: int) -> Shown:
    """What is public when so many rounds are closed."""
    return revealed(shown[:rounds], after)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_names_that_follow_later_show_no_more_at_any_time_and_the_same_in_the_end(after: int) -> None:
    rounds, earlier = 3, False
    for case in ordinary_cases(rounds):
        both = laws(case.filed, case.world, case.at)
        for closed in range(1, rounds + 1):
            at_once, later = (
                total_variation(*(map_law(law, partial(published, rounds=closed, after=delay)) for law in both))
                for delay in (0, after)
            )
            assert later <= at_once
            earlier |= later < at_once
        # The names of the last round follow when so many more rounds are closed, whatever is drawn in these.
        in_the_end = [map_law(law, partial(told_by_the_end, after=after)) for law in both]
        assert total_variation(*in_the_end) == total_variation(*both) > 0
    assert earlier  # they do hide something


def ordinary_cases(rounds: int) -> Iterator[Case]:
    """With and without rules, an emergency and a limit on floods."""
    for rules, most_counted in ((dn.Rules(), None), (dn.Rules(cooldown=1), None), (dn.Rules(max_gap=4), 2)):
        n_targets = 3 if rules.cooldown else 2
        reports = np.zeros((3, rounds, n_targets), dtype=np.int64)
        reports[0, :, 0] = 2
        reports[2, 1, 1] = 1
        world = World(dn.Race(n_targets, 2.0, rules=rules), CLASSES, reports, most_counted=most_counted)
        yield from (Case(world, layer, at, 1) for layer in (0, 1) for at in range(rounds))


def told_by_the_end(shown: Shown, after: int) -> tuple[Shown, ...]:
    """All that was ever public, with the rounds that are closed until the last names are public."""
    more = (*shown, *((BETWEEN,) for _ in range(after)))
    return tuple(published(more, closed, after) for closed in range(1, len(more) + 1))


def commitment(shown: Shown, salt: bytes) -> str:
    return hashlib.sha256(salt + repr(shown[-1][shown[-1].index(BETWEEN) :]).encode()).hexdigest()


def names_found(law: Iterable[Shown], salt: bytes) -> Fraction:
    """How many of the last round's drawn names an observer finds who hashes every possible one."""
    every = list(law)
    by_hash = {commitment(shown, b""): shown[-1] for shown in every}
    return Fraction(sum(commitment(shown, salt) in by_hash for shown in every), len(every))


def test_a_commitment_without_salt_gives_the_names_away() -> None:
    world = World(dn.Race(3, 2.0), CLASSES, np.ones((3, 1, 3), dtype=np.int64))
    law, _ = laws(world, world, 0)
    assert names_found(law, salt=bytes(range(32))) == 0
    assert names_found(law, salt=b"") == 1
    # What is seen before the names follow is then the whole transcript, and no part of it.
    seen: Callable[[Shown], Any] = lambda shown: (revealed(shown, 1), commitment(shown, b""))  # noqa: E731
    assert len(map_law(law, seen)) == len(law) > len(map_law(law, lambda shown: revealed(shown, 1)))


def test_an_unsalted_world_is_not_less_private_but_warns_earlier() -> None:
    world = World(dn.Race(2, 2.0), CLASSES, np.zeros((3, 2, 2), dtype=np.int64))
    filed, not_filed = laws(world.with_report(1, 1, 0), world, 1)
    hidden = [map_law(law, lambda shown: revealed(shown, 1)) for law in (filed, not_filed)]
    assert total_variation(*hidden) == 0 < total_variation(filed, not_filed)
    assert likelihood_ratio(*hidden) == 1 < likelihood_ratio(filed, not_filed) < math.inf
