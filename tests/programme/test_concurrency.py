"""Processes that do the same thing at once: one of them does it, and nothing is lost between them."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pyrage
import pytest
from tests.programme.crashing import in_ten_years
from tests.programme.insight import lines_of, unsealed
from tests.programme.offices import TARGETS, Office, new_office
from tests.programme.processes import CONTEXT
from tests.programme.public.published import lines_in

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.programme import backup, counting
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript.replay import parse

Deed = Callable[..., Any]


def together(office: Office, deeds: list[tuple[Deed, tuple[Any, ...]]]) -> list[Any]:
    """Each deed in a process of its own, all starting at once; returns what each returned, or its error."""
    barrier, answers, processes = CONTEXT.Barrier(len(deeds)), [], []
    for deed, arguments in deeds:
        listening, speaking = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(
            target=_perform, args=((office.database, office.key), barrier, speaking, deed, arguments)
        )
        process.start()
        speaking.close()
        answers.append(listening)
        processes.append(process)
    results = [answer.recv() for answer in answers]
    for process, answer in zip(processes, answers, strict=True):
        process.join()
        assert process.exitcode == 0
        process.close()
        answer.close()
    return results


def _perform(
    where: tuple[str, KeyFile], barrier: Barrier, answer: Connection, deed: Deed, arguments: tuple[Any, ...]
) -> None:
    with closing(Programme.open(*where, clock=in_ten_years)) as programme:
        barrier.wait(60)
        try:
            answer.send(deed(programme, *arguments))
        except DeniableError as error:
            answer.send(error)


def close_next(programme: Programme) -> Any:
    return programme.close_round()


def close_rounds(programme: Programme, rounds: int) -> list[tuple[int, tuple[str, ...]]]:
    """Round by round, by its number; the same answers as everybody else's."""
    closed = [programme.close_round(number) for number in range(1, rounds + 1)]
    return [(done.round, done.audits) for done in closed]


def report(programme: Programme, seed: int, times: int) -> Counter[str]:
    filed: Counter[str] = Counter()
    for number in range(times):
        target = TARGETS[(seed + number) % len(TARGETS)]
        programme.report({target: 1})
        filed[target] += 1
    return filed


def report_in_two_steps(programme: Programme, seed: int, times: int) -> Counter[str]:
    """A planted bug: somebody else can write between the two transactions."""
    filed: Counter[str] = Counter()
    for number in range(times):
        target = (seed + number) % len(TARGETS)
        with programme._access.writing() as transaction:
            counts = transaction.tally()
        _until_another_wrote(programme, counts)
        counts[0, target] += 1
        with programme._access.writing() as transaction:
            transaction.write_tally(counts)
        filed[TARGETS[target]] += 1
    return filed


def _until_another_wrote(programme: Programme, counts: IntArray) -> None:
    """Or until none does: the others are done."""
    for _ in range(50):
        with programme._access.writing() as transaction:
            if (transaction.tally() != counts).any():
                return


def import_all(programme: Programme, reports: list[tuple[str, str]]) -> int:
    return programme.import_reports("hotline", reports)


def publish(programme: Programme, folder: Path, times: int) -> None:
    for _ in range(times):
        programme.close_round()
        programme.publish(folder)


def back_up(programme: Programme, path: Path) -> None:
    programme.backup(path)


def back_up_often(programme: Programme, path: Path, times: int) -> None:
    for number in range(times):
        programme.backup(path.with_name(f"{path.name} {number}"))


@pytest.mark.parametrize("processes", [2, 8])
def test_a_round_is_closed_once(database: str, tmp_path: Path, processes: int) -> None:
    office = new_office(database, tmp_path)
    office.programme.report({"Ash Mill": 3})
    answers = together(office, [(close_rounds, (5,))] * processes)
    assert all(answer == answers[0] for answer in answers)
    recorded = [(entry.round, entry.own()["audits"]) for entry in map(parse, lines_of(database))]
    assert recorded == answers[0]
    assert [round_ for round_, _ in recorded] == [1, 2, 3, 4, 5]


def test_whoever_comes_first_closes_and_the_others_are_told(database: str, tmp_path: Path) -> None:
    """By default a process closes the round that was open when it asked."""
    office = new_office(database, tmp_path)
    answers = together(office, [(close_next, ())] * 8)
    by_round: dict[int, list[Any]] = {}
    for answer in answers:
        by_round.setdefault(answer.round, []).append(answer)
    assert sorted(by_round) == list(range(1, len(lines_of(database)) + 1))
    for closed in by_round.values():
        assert [answer.already for answer in closed].count(False) == 1
        assert len({answer.audits for answer in closed}) == 1


def race(database: str, folder: Path, reporting: Deed) -> tuple[Counter[str], Counter[str]]:
    """Three processes report while a fourth closes rounds; returns what was filed, and what was counted in all."""
    identity = pyrage.x25519.Identity.generate()
    office = new_office(database, folder, oversight=str(identity.to_public()))
    deeds: list[tuple[Deed, tuple[Any, ...]]] = [(reporting, (seed, 40)) for seed in range(3)]
    *filed, _ = together(office, [*deeds, (close_rounds, (12,))])
    with office.programme._access.writing() as transaction:
        counted = Counter(dict(zip(TARGETS, counting.settle(transaction).tally[0].tolist(), strict=True)))
    rounds = unsealed(database, identity)
    assert len(rounds) == 12
    for inputs in rounds.values():
        counted.update(dict(zip(TARGETS, inputs.reports[0].tolist(), strict=True)))
    return sum(filed, Counter()), counted


def test_reports_that_race_with_the_close_are_counted_once(database: str, tmp_path: Path) -> None:
    filed, counted = race(database, tmp_path, report)
    assert filed.total() == 120
    assert counted == filed


def test_the_race_would_notice_a_report_in_two_steps(database: str, tmp_path: Path) -> None:
    filed, counted = race(database, tmp_path, report_in_two_steps)
    assert counted != filed


def test_an_export_that_is_imported_twice_at_once_is_counted_once(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    export = [(str(number), TARGETS[number % 4]) for number in range(100)]
    answers = together(office, [(import_all, (export,))] * 4)
    assert sorted(answers) == [0, 0, 0, 100]
    assert sum(office.programme.active_counts().values()) == 100


def test_publications_at_once_never_go_back(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    folder = tmp_path / "public"
    assert together(office, [(publish, (folder, 4))] * 3) == [None] * 3
    assert lines_in(folder) == lines_of(database)
    assert verify(folder, now=in_ten_years()).pages == {"index.html": "matches"}


def test_backups_of_the_same_name_at_once(database: str, tmp_path: Path) -> None:
    """One of them is written, whole, and the others are told."""
    office = new_office(database, tmp_path)
    path = tmp_path / "backup"
    answers = together(office, [(back_up, (path,))] * 6)
    refused = [answer for answer in answers if answer is not None]
    assert len(refused) == 5
    assert all("exists already; a backup is never overwritten" in str(error) for error in refused)
    backup.restore(path, str(tmp_path / "restored.db"), never_published=True)
    assert [file.name for file in tmp_path.glob("backup*")] == ["backup"]


def test_a_backup_sees_one_moment(database: str, tmp_path: Path) -> None:
    """Made while rounds are closed: the state, the entries and the secrets in it are those of the same moment."""
    office = new_office(database, tmp_path)
    together(office, [(close_rounds, (15,)), (report, (0, 30)), (back_up_often, (tmp_path / "backup", 10))])
    lines = lines_of(database)
    for number in range(10):
        restored = str(tmp_path / f"restored {number}.db")
        backup.restore(tmp_path / f"backup {number}", restored, never_published=True)
        known = lines_of(restored)
        assert known == lines[: len(known)]
        with closing(Programme.open(restored, office.key, clock=in_ten_years)) as programme:
            assert programme.status().entries == len(known)
            with programme._access.looking() as transaction:
                assert counting.active(transaction).keys() == set(TARGETS)
