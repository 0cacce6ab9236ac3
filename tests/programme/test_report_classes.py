"""Reports of several classes in a programme: what they come to in the draw, visits that wait, floods."""

from datetime import date
from pathlib import Path

import numpy as np
import pyrage
import pytest
from tests.programme.insight import blobs_of, lines_of, unsealed
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import counting
from deniable.programme.calendar import Calendar
from deniable.programme.public.verify import verify
from deniable.programme.secrets.oversight import counts, replay
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.replay import parse
from deniable.report_classes import ReportClass

ASH, BIRCH, *_ = TARGETS
CLASSES = (ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None))
IDENTITY = pyrage.x25519.Identity.generate()
RECEIPT = "ABCD-EFGH-2345-WXYZ"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    oversight = str(IDENTITY.to_public())
    return new_office(str(tmp_path / "programme.db"), tmp_path, classes=CLASSES, most_counted=5, oversight=oversight)


def test_a_report_counts_as_its_class_says(office: Office) -> None:
    office.programme.report({ASH: 2}, report_class="minor")
    office.programme.report({ASH: 1, BIRCH: 1}, report_class="serious")
    office.programme.push("sender", "push 1", {BIRCH: 1}, "minor")
    office.programme.import_reports("hotline", [("1", BIRCH, "serious"), ("2", BIRCH, "unknown"), ("3", BIRCH)])
    counted = office.programme.active_counts()
    assert (counted[ASH], counted[BIRCH]) == (5, 7)


def test_a_report_that_comes_again_with_another_class_stays_what_it_was(office: Office) -> None:
    programme = office.programme
    programme.import_reports("hotline", [("1", ASH, "minor")])
    assert programme.import_reports("hotline", [("1", ASH, "serious")]) == 0
    programme.push("sender", "push 1", {BIRCH: 1}, "minor")
    programme.push("sender", "push 1", {BIRCH: 1}, "serious")
    assert (programme.active_counts()[ASH], programme.active_counts()[BIRCH]) == (1, 1)


@pytest.mark.parametrize("name", [None, "grave"])
def test_a_class_must_be_one_of_those_there_are(office: Office, name: str | None) -> None:
    with pytest.raises(DeniableError, match="one of minor, serious, danger"):
        office.programme.report({ASH: 1}, report_class=name)
    assert office.programme.active_counts()[ASH] == 0


def test_a_flood_counts_up_to_the_limit_of_each_class(office: Office) -> None:
    office.programme.report({ASH: 700}, report_class="minor")
    assert office.programme.active_counts()[ASH] == 5
    office.programme.report({ASH: 700}, report_class="serious")
    assert office.programme.active_counts()[ASH] == 5 + 3 * 5
    assert office.programme.active_counts()[BIRCH] == 0


def test_one_receipt_takes_back_reports_of_all_its_classes(office: Office) -> None:
    for name in ("minor", "serious", "danger"):
        office.programme.report({ASH: 2, BIRCH: 1}, RECEIPT, report_class=name)
    assert office.programme.withdraw([ASH], RECEIPT) == ()
    assert office.programme.active_counts()[ASH] == 0
    assert office.programme.active_counts()[BIRCH] == 4
    assert office.programme.waiting_visits() == [(BIRCH, "danger")]


# Emergencies


def test_a_report_of_danger_waits_for_its_visit_and_counts_in_no_draw(office: Office) -> None:
    programme = office.programme
    programme.report({ASH: 1, BIRCH: 2}, report_class="danger")
    assert set(programme.active_counts().values()) == {0}
    assert programme.waiting_visits() == [(ASH, "danger"), (BIRCH, "danger")]
    programme.report({ASH: 2}, report_class="minor")
    entry = programme.visit(ASH, "danger")
    assert entry.audited == (ASH,)
    assert entry.lapse is None
    assert programme.waiting_visits() == [(BIRCH, "danger")]
    assert programme.active_counts()[ASH] == 0  # its run ended
    assert not programme.status().coverage.lapses


@pytest.mark.parametrize(
    ("target", "name", "why"),
    [
        (ASH, "danger", "no report of class danger"),
        (ASH, "minor", "counts in the draw"),
        ("Nowhere", "danger", "Nowhere"),
    ],
)
def test_a_visit_without_its_report_is_refused(office: Office, target: str, name: str, why: str) -> None:
    office.programme.report({ASH: 1}, report_class="minor")
    with pytest.raises(DeniableError, match=why):
        office.programme.visit(target, name)
    assert office.programme.status().entries == 0


def test_a_visit_does_not_depend_on_the_draw(office: Office) -> None:
    """Not even the target's own audit ends it: with hidden names it would tell them."""
    office.programme.report({ASH: 1}, report_class="danger")
    office.programme.override([ASH], "a fire", independent=True)
    assert office.programme.waiting_visits() == [(ASH, "danger")]


@pytest.mark.parametrize("how", ["close", "skip"])
def test_a_visit_that_waits_is_recorded_before_the_round_is_closed(office: Office, how: str) -> None:
    """So that a person who sees counts cannot hold it back because of them."""
    office.programme.report({BIRCH: 2, ASH: 1}, report_class="danger")
    office.clock.tomorrow()
    closed = office.programme.close_round() if how == "close" else office.programme.skip("a feast", independent=True)
    assert closed.visits == (ASH, BIRCH)
    assert office.programme.waiting_visits() == []
    kinds = [parse(line).kind for line in lines_of(office.database)]
    assert kinds == ["emergency", "emergency", "round" if how == "close" else "skip"]


def test_danger_leads_to_a_visit_also_where_its_target_leaves(office: Office) -> None:
    """Of others the visit waits on."""
    programme = office.programme
    programme.report({ASH: 1, BIRCH: 1}, report_class="danger")
    new = programme.change_targets("it has closed", independent=True, remove=[ASH])
    *_, visit, left = [parse(line) for line in lines_of(office.database)]
    assert (visit.kind, visit.audited, left, new.visits) == ("emergency", (ASH,), new.entry, (ASH,))
    assert programme.waiting_visits() == [(BIRCH, "danger")]


def test_danger_leads_to_a_visit_also_where_the_programme_ends(office: Office) -> None:
    programme = office.programme
    programme.report({BIRCH: 1}, report_class="danger")
    new = programme.end("the law has changed")
    *_, visit, end = [parse(line) for line in lines_of(office.database)]
    assert (visit.kind, visit.audited, end, new.visits) == ("emergency", (BIRCH,), new.entry, (BIRCH,))


def test_danger_leads_to_a_visit_before_the_names_that_the_end_makes_public(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path, classes=CLASSES, reveal_after=2)
    office.close()
    office.programme.report({BIRCH: 1}, report_class="danger")
    office.programme.end("the law has changed")
    assert [parse(line).kind for line in lines_of(office.database)] == ["selection", "emergency", "reveal", "end"]


def test_danger_leads_to_a_visit_also_while_imports_are_paused(office: Office) -> None:
    programme = office.programme
    programme.hotlines.add("hotline")
    with programme._access.writing() as transaction:
        lost = {"lost": 1, "commitment": "0" * 64, "inputs_lost": False, "paused": True, "complete": True, "during": 1}
        transaction.append(Recovery.following(transaction.state, **lost, reason="we lost it all"))
    programme.push("sender", "push 1", {ASH: 1}, "danger")
    programme.push("sender", "push 2", {ASH: 1}, "minor")
    programme.import_reports("hotline", [("1", BIRCH, "danger"), ("2", BIRCH, "serious"), ("3", None, "danger")])
    programme.import_reports("hotline", [("4", TARGETS[2], "danger")], count=False)
    with programme._access.looking() as transaction:
        assert transaction.state.is_paused
        assert counting.waiting_visits(transaction) == [(ASH, "danger"), (BIRCH, "danger")]
        assert not counting.settle(transaction).tally[:2].any()


def test_emergencies_leave_every_ordinary_report_covered(tmp_path: Path) -> None:
    """One a month for a year; a planted lapse changes the sentence."""
    calendar = Calendar(date(2026, 1, 5), "1M", "UTC")
    office = new_office(str(tmp_path / "programme.db"), tmp_path, classes=CLASSES, calendar=calendar)
    programme, public, say = office.programme, tmp_path / "public", office.programme.parameters.voice()
    for month in range(12):
        programme.report({BIRCH: 1}, report_class="minor")
        programme.report({TARGETS[month % 4]: 1}, report_class="danger")
        programme.visit(TARGETS[month % 4], "danger")
        office.close()
    covered = programme.status().coverage.in_words(say)
    assert "covers every ordinary report filed since the programme began" in covered
    assert verify(programme.publish(public), now=office.clock.now).coverage.in_words(say) == covered
    programme.override([ASH], "Several people wrote to us.", independent=False)
    lapsed = programme.status().coverage.in_words(say)
    assert "100 %" not in lapsed
    assert "round 13 or earlier" in lapsed
    assert verify(programme.publish(public), now=office.clock.now).coverage.in_words(say) == lapsed


def test_a_report_of_danger_changes_nothing_that_is_drawn_from(office: Office) -> None:
    """What the oversight body has, and so the noise of the draw, is the same with it and without."""
    office.programme.report({ASH: 1}, report_class="danger")
    office.programme.report({BIRCH: 2}, report_class="serious")
    office.close()
    (inputs,) = unsealed(office.database, IDENTITY).values()
    assert inputs.reports.tolist() == [[0] * len(TARGETS), [0, 2, 0, 0]]


def test_sizes_do_not_tell_classes(office: Office) -> None:
    def sizes() -> dict[str, int]:
        return {name: len(blob) for name, blob in blobs_of(office.database).items()}

    before = sizes()
    for name in ("minor", "serious", "danger"):
        office.programme.report({ASH: 1}, report_class=name)
        office.count()
        assert sizes() == before


def test_the_oversight_body_follows_weights_and_emergencies(office: Office, tmp_path: Path) -> None:
    for number in range(6):
        office.programme.report({TARGETS[number % 4]: 9}, report_class="minor")
        office.programme.report({TARGETS[-1]: 1}, report_class="serious")
        if number == 3:
            office.programme.report({ASH: 1}, report_class="danger")
            office.programme.visit(ASH, "danger")
        office.close()
    folder = office.programme.publish(tmp_path / "public")
    assert verify(folder, now=office.clock.now).entries == 7
    inputs = office.programme.parameters, [*map(parse, lines_of(office.database))], office.programme.seals(), IDENTITY
    assert replay(*inputs).verdict == "confirmed"
    rows = [*counts(*inputs)]
    assert (1, ASH, "minor", 9) in rows
    assert (1, TARGETS[-1], "serious", 1) in rows
    assert all(name != "danger" for _, _, name, _ in rows)


def test_other_weights_are_a_contradiction(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """An office that draws with weights of its own."""
    parameters = type(office.programme.parameters)
    weighed = parameters.weighed
    with monkeypatch.context() as dishonest:
        dishonest.setattr(
            parameters, "weighed", lambda self, reports: weighed(self, reports) + np.array([200, 0, 0, 0])
        )
        for _ in range(12):
            office.close()
    inputs = office.programme.parameters, [*map(parse, lines_of(office.database))], office.programme.seals(), IDENTITY
    assert replay(*inputs).verdict == "contradicted"
