"""Yearly figures in a programme: each report counts in one year, and what both years and audits tell is as stated."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyrage
import pytest
import sqlalchemy as sa
from tests.programme.offices import TARGETS, Office, new_office
from tests.programme.public.published import lines_in, made

from deniable.arrays import FloatArray, IntArray
from deniable.attack.exact import transcript_distribution
from deniable.errors import MAX_REPORTS, DeniableError
from deniable.noise import ReplayNoise
from deniable.programme import backup, creation, rounds
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public import suspicion
from deniable.programme.public.verify import verify
from deniable.programme.secrets import nonces, oversight
from deniable.programme.secrets.frozen import noise_of_draw
from deniable.programme.secrets.sealed_inputs import noise_of_figures
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.yearly_figures import Figures
from deniable.report_classes import parsed
from deniable.storage import tables
from deniable.yearly_figures import YearlyFigures

ASH, BIRCH, *_ = TARGETS
NEW_YEAR = Calendar(date(2026, 12, 29), "1D", "UTC")
"""Round 2 is the last of 2026."""
CLASSES = tuple(map(parsed, ("minor=1", "serious=3", "danger=visit")))
IDENTITY = pyrage.x25519.Identity.generate()


class NoNoise(ReplayNoise):
    def discrete_gaussian(self, variance: Fraction) -> int:
        return 0


@pytest.fixture
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures are the numbers of reports."""
    monkeypatch.setattr(rounds, "noise_of_figures", lambda *_: NoNoise(bytes(32)))


def new(folder: Path, **settings: Any) -> Office:
    chosen = {"calendar": NEW_YEAR, "yearly_figures_delta": 0.02} | settings
    folder.mkdir(exist_ok=True)
    office = new_office(str(folder / "programme.db"), folder, **chosen)
    office.clock.now = datetime(2026, 12, 29, 12, tzinfo=UTC)
    return office


def skip(office: Office) -> None:
    office.clock.now = office.programme.parameters.calendar.due(office.programme.status().open_round)
    office.programme.skip("a flood", independent=True)


def published(office: Office, folder: Path) -> list[Figures]:
    """All figures so far, verified."""
    entries = [parse(line) for line in verify(office.programme.publish(folder / "public")).lines]
    return [entry for entry in entries if isinstance(entry, Figures)]


def numbers(figures: Sequence[Figures]) -> list[list[int]]:
    return [[number for _, number in year.reports] for year in figures]


@pytest.mark.usefixtures("without_noise")
def test_a_year_has_the_reports_that_were_counted_in_it(tmp_path: Path) -> None:
    office = new(tmp_path, classes=CLASSES, most_counted=2)
    programme = office.programme
    programme.report({ASH: 5, BIRCH: 1}, report_class="minor")  # a flood counts in full
    receipt = programme.report({ASH: 7}, report_class="serious")
    office.close()
    programme.report({BIRCH: 3}, report_class="danger")
    programme.visit(BIRCH, "danger")
    taken_back = programme.report({ASH: 4}, report_class="serious")
    programme.withdraw([ASH], taken_back)
    with pytest.raises(DeniableError, match="nothing was taken back"):
        programme.withdraw([ASH], receipt)
    programme.push("token", "one", {ASH: 2}, "minor")
    office.close()
    programme.report({ASH: 1}, report_class="minor")
    office.close()
    (year,) = published(office, tmp_path)
    assert (year.year, year.in_all, year.reports) == (2026, 18, (("minor", 8), ("serious", 7), ("danger", 3)))
    assert (year.round, year.complete, year.deviation) == (3, True, 20)


@pytest.mark.usefixtures("without_noise")
def test_a_round_that_is_closed_late_ends_the_year_it_was_due_in(tmp_path: Path) -> None:
    office = new(tmp_path)
    office.clock.now = datetime(2027, 1, 20, tzinfo=UTC)
    office.programme.report({ASH: 3})
    for _ in range(4):
        closed = office.programme.close_round(reason="a flood")
        assert (closed.figures is not None) == (closed.round == 2)
    (year,) = published(office, tmp_path)
    assert (year.year, year.in_all) == (2026, 3)


@pytest.mark.usefixtures("without_noise")
def test_no_count_is_so_high_that_one_report_more_makes_a_difference_of_two(tmp_path: Path) -> None:
    for more in (0, 1):
        office = new(tmp_path / str(more))
        office.programme.report({ASH: MAX_REPORTS, BIRCH: MAX_REPORTS})
        if more:
            office.programme.report({ASH: 1})
        receipt = office.programme.report({BIRCH: 5})
        office.count()
        office.programme.withdraw([BIRCH], receipt)
        office.close()
        office.close()
        assert numbers(published(office, tmp_path / str(more))) == [[MAX_REPORTS - 5]]


YEARS: dict[str, Any] = {"calendar": Calendar(date(2026, 1, 1), "6M", "UTC"), "targets": ("A", "B")}
"""Round 1 is the last of 2026, round 3 of 2027."""


@pytest.mark.usefixtures("without_noise")
def test_what_waits_over_the_year_counts_once_and_is_not_taken_back(tmp_path: Path) -> None:
    office = new(tmp_path, **YEARS)
    receipt = office.programme.report({"A": 1})
    skip(office)
    office.programme.report({"B": 1})
    with pytest.raises(DeniableError, match="nothing was taken back"):
        office.programme.withdraw(["A"], receipt)
    assert office.programme.active_counts() == {"A": 1, "B": 1}
    office.close()
    office.close()
    assert numbers(published(office, tmp_path)) == [[1], [1]]


@pytest.mark.usefixtures("without_noise")
def test_without_new_nonces_it_would_be_taken_back_in_another_year(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug."""
    for module in (nonces, creation):
        monkeypatch.setattr(module, "new_nonces", lambda n: nonces.cut(bytes(16 * n)))
    office = new(tmp_path, **YEARS)
    receipt = office.programme.report({"A": 1})
    skip(office)
    office.programme.report({"B": 1})
    office.programme.withdraw(["A"], receipt)
    office.close()
    office.close()
    assert numbers(published(office, tmp_path)) == [[1], [0]]


@pytest.mark.usefixtures("without_noise")
def test_a_broken_year_has_no_figures(tmp_path: Path) -> None:
    office = new(tmp_path)
    office.programme.report({ASH: 3})
    office.close()
    office.programme.end("the law was repealed")
    assert published(office, tmp_path) == []


@pytest.mark.usefixtures("without_noise")
def test_figures_that_a_backup_does_not_have_are_not_drawn_again(tmp_path: Path) -> None:
    office = new(tmp_path, **YEARS)
    office.programme.report({"A": 1})
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "backup")
    office.programme.report({"A": 1})
    office.close()
    before = published(office, tmp_path)
    assert numbers(before) == [[2]]
    office.programme.close()
    Path(office.database).unlink()
    backup.restore(tmp_path / "backup", office.database)
    office.programme = office.again()
    office.programme.recover(None, "a fire")
    office.programme.report({"B": 1})
    office.close()
    office.close()
    after = published(office, tmp_path)
    assert after[:1] == before
    assert numbers(after) == [[2], [1]]
    assert [year.complete for year in after] == [True, False]
    assert "may be missing" in after[1].effect(
        office.programme.parameters.calendar, office.programme.parameters.voice()
    )


def test_what_is_stored_is_as_long_whatever_came_in(tmp_path: Path) -> None:
    def lengths(office: Office) -> dict[str, int]:
        with office.programme._access.store.reading() as connection:
            rows = connection.execute(sa.select(tables.secrets.c.name, tables.secrets.c.blob)).all()
        return {row.name: len(row.blob) for row in rows}

    one, other = new(tmp_path / "one", classes=CLASSES), new(tmp_path / "other", classes=CLASSES)
    other.programme.report({ASH: 1000}, report_class="serious")
    for office in (one, other):
        office.count()
    assert lengths(one) == lengths(other)
    assert lengths(one)["received"] == 28 + 4 * len(CLASSES)
    assert "received" not in lengths(new(tmp_path / "none", yearly_figures_delta=None))


# Both together

WORLDS = ([[1, 0], [0, 1], [0, 0]], [[2, 0], [0, 1], [0, 0]])
"""Without a report of the first round, and with it: (rounds, targets)."""
Stream = Sequence[Sequence[int]]


def received(folder: Path, stream: Stream) -> list[int]:
    """The figures of a programme with these reports, without their noise."""
    office = new(folder, **YEARS)
    for reports in stream:
        for target, count in zip("AB", reports, strict=True):
            if count:
                office.programme.report({target: count})
        office.close()
    return [number for (number,) in numbers(published(office, folder))]


def joint(parameters: Parameters, stream: Stream, counted: Sequence[int]) -> FloatArray:
    """The law of all that is published: audits by enumeration of what draws them, figures by their law."""
    assert parameters.figures is not None
    audits = transcript_distribution(parameters.built(), stream)
    law = np.array([float(audits[past]) for past in product(range(2), repeat=len(stream))])
    for number in counted:
        weights = np.exp(-((np.arange(-40, 50) - number) ** 2) / (2 * parameters.figures.variance))
        law = np.multiply.outer(law, weights / weights.sum())
    return law


def told(counted: Sequence[Sequence[int]], delta: float, figures: float) -> tuple[float, float, float, float]:
    """What audits and figures tell, the audits alone, the figures at most, and what is stated of both."""
    parameters = made(targets=YEARS["targets"], delta=delta, yearly_figures_delta=figures)
    both, audits = (
        float(abs(np.subtract(*(joint(parameters, *world) for world in zip(WORLDS, numbers, strict=True)))).sum() / 2)
        for numbers in (counted, ([], []))
    )
    return both, audits, float(YearlyFigures.calibrate(figures).delta()), parameters.guarantee().delta


@pytest.mark.usefixtures("without_noise")
def test_audits_and_figures_tell_no_more_than_is_stated(tmp_path: Path) -> None:
    """In both worlds all that is published comes from the programme itself, but for the noise."""
    counted = [received(tmp_path / str(n), world) for n, world in enumerate(WORLDS)]
    for delta, figures in ((0.05, 0.3), (0.3, 0.1)):
        both, audits, added, stated = told(counted, delta, figures)
        assert max(audits, added) - 1e-12 <= both <= audits + added
        assert audits + added < stated < delta + figures
    assert both > max(audits, added) + 0.01  # where the audits tell enough, both together tell more than either


def nearly_sure(worlds: Sequence[FloatArray]) -> float:
    """How often, where the report was filed, what is published is at least nine times as likely as without it."""
    without, with_ = worlds
    return float(with_[with_ >= 9 * without].sum())


@pytest.mark.usefixtures("without_noise")
def test_a_boss_becomes_nearly_sure_no_more_often_than_is_stated(tmp_path: Path) -> None:
    """All that may be published is enumerated."""
    counted = [received(tmp_path / str(n), world) for n, world in enumerate(WORLDS)]
    most = 0.0
    for delta, figures in ((0.05, 0.9), (0.3, 0.6), (0.5, 0.4), (0.4, 0.1)):
        parameters = made(targets=YEARS["targets"], delta=delta, yearly_figures_delta=figures)
        audits = parameters.guarantee_of(parameters.classes[0], audits_only=True)
        assert audits is not None
        assert parameters.figures is not None
        added = parameters.figures.delta()
        bound = float(added * 9 / (9 - Fraction(audits.likelihood_cap)))
        often = nearly_sure([joint(parameters, *world) for world in zip(WORLDS, counted, strict=True)])
        assert often <= bound
        told = suspicion.nearly_sure_after(parameters, 1)
        assert told is None or 100 * often <= float(told)
        most = max(most, often)
    assert most > 0.03


@pytest.mark.usefixtures("without_noise")
def test_a_report_that_counts_in_two_years_tells_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the count goes on after the figures."""
    write = Transaction.write_received

    def no_zeros(transaction: Transaction, numbers: IntArray) -> None:
        if numbers.any() or not transaction.state.closed:
            write(transaction, numbers)

    monkeypatch.setattr(Transaction, "write_received", no_zeros)
    both, _, _, stated = told([received(tmp_path / str(n), world) for n, world in enumerate(WORLDS)], 0.05, 0.3)
    assert both > stated


def alike(generator: Callable[[bytes], ReplayNoise]) -> int:
    """How often, of 2,000 seeds, the first bit of the figures' noise is that of the draw's."""
    seeds = [number.to_bytes(32, "big") for number in range(2000)]
    draws = [noise_of_draw("ab" * 16, 2, seed, "", "cd" * 32).below(2) for seed in seeds]
    return sum(generator(seed).below(2) == drawn for seed, drawn in zip(seeds, draws, strict=True))


def test_the_noise_of_the_figures_is_not_that_of_the_draw() -> None:
    """2,000 fair coins are within 110 of 1,000 but with probability 9e-7."""
    assert abs(alike(lambda seed: noise_of_figures("ab" * 16, 2, seed, np.ones(2, np.int64))) - 1000) <= 110
    planted = alike(lambda seed: noise_of_draw("ab" * 16, 2, seed, "", "cd" * 32))
    assert abs(planted - 1000) > 110


def test_other_reports_have_other_noise() -> None:
    some, others = (noise_of_figures("ab" * 16, 2, bytes(32), np.array([n])) for n in (1, 2))
    assert some.below(2**64) != others.below(2**64)


# Oversight


def watched(folder: Path) -> Office:
    office = new(folder, classes=CLASSES, oversight=str(IDENTITY.to_public()))
    office.programme.report({ASH: 2}, report_class="serious")
    office.close()
    skip(office)  # the seed of a round without a draw, too
    office.close()
    return office


def replayed(office: Office, folder: Path, seals: dict[int, bytes] | None = None) -> oversight.Replayed:
    entries = [parse(line) for line in lines_in(office.programme.publish(folder / "public"))]
    found = office.programme.seals() if seals is None else seals
    return oversight.replay(office.programme.parameters, entries, found, IDENTITY)


def test_an_oversight_body_confirms_the_figures(tmp_path: Path) -> None:
    office = watched(tmp_path)
    assert replayed(office, tmp_path) == oversight.Replayed((1, 3), figures=(2026,))
    seals = office.programme.seals()
    assert seals.keys() == {1, 3, 4}
    del seals[3]
    verdict = replayed(office, tmp_path, seals)
    assert (verdict.verdict, verdict.missing_figures) == ("missing inputs", (2026,))
    seals[3] = seals[4]
    assert replayed(office, tmp_path, seals).contradicted == 2


def test_names_that_are_due_come_before_the_figures(tmp_path: Path) -> None:
    office = new(tmp_path, reveal_after=1, oversight=str(IDENTITY.to_public()))
    for _ in range(3):
        office.close()
    entries = [parse(line) for line in verify(office.programme.publish(tmp_path / "public")).lines]
    kinds = [entry.kind for entry in entries]
    assert kinds == ["selection", "selection", "reveal", "figures", "selection", "reveal"]
    assert replayed(office, tmp_path) == oversight.Replayed((1, 2, 3), figures=(2026,))
    assert [office.programme.close_round(number).figures for number in (1, 2, 3)] == [None, entries[3], None]


def test_figures_that_the_office_made_up_are_contradicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(YearlyFigures, "drawn", lambda _, __, received: (0,) * len(received))
        office = watched(tmp_path)
    verdict = replayed(office, tmp_path)
    assert (verdict.contradicted, verdict.figures) == (2, ())
    assert verdict.why is not None
    assert "do not follow" in verdict.why
