"""The draws are the library's own: from the round's reports and its seed they follow again, whatever came between."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyrage
import pytest
from tests.programme.insight import lines_of, unsealed
from tests.programme.offices import TARGETS, Office, new_office

from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.secrets.frozen import Frozen, noise_of_draw
from deniable.programme.secrets.oversight import replay
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse
from deniable.run import AuditRun

SETTINGS: dict[str, dict[str, Any]] = {
    "race": {},
    "race with weights": {"weights": (1.0, 2.0, 0.5, 1.0)},
    "race with a forecast": {"weights": "forecast"},
    "race with a steady forecast": {"weights": "steady-forecast"},
    "race with two audits": {"audits": 2},
    "race with rules": {"max_gap": 9, "cooldown": 1},
    "race with everything": {"audits": 2, "max_gap": 7, "cooldown": 2, "weights": "forecast"},
    "tca": {"mechanism": "tca", "horizon": 40},
    "tca with rules": {"mechanism": "tca", "max_gap": 9, "cooldown": 1},
}
IN_POSTGRESQL = ("race with everything", "tca")
"""Every day; the others in the long tests."""
CASES = [
    pytest.param(
        kind,
        settings,
        id=f"{kind}-{name}",
        marks=[pytest.mark.long] if kind == "postgresql" and name not in IN_POSTGRESQL else [],
    )
    for kind in ("sqlite", "postgresql")
    for name, settings in SETTINGS.items()
]


@dataclass
class Diary:
    """What was done, kept apart from the programme: the reports that each draw should have seen."""

    open: Counter[str] = field(default_factory=Counter)
    active: Counter[str] = field(default_factory=Counter)
    rounds: list[Counter[str]] = field(default_factory=list)

    def forget(self, targets: Sequence[str]) -> None:
        for target in targets:
            del self.open[target], self.active[target]

    def drawn(self, audits: Sequence[str]) -> None:
        self.rounds.append(self.open)
        self.active += self.open
        self.open = Counter()
        self.forget(audits)


def eventful(office: Office, rounds: int, seed: int, *, joining: bool) -> Diary:
    """Rounds with reports, withdrawals, imports, skips, overrides and changes of targets, and restarts in between."""
    dice, diary, exported = random.Random(seed), Diary(), list[tuple[str, str]]()
    for number in range(rounds):
        with closing(office.again()) as programme:
            present = programme.status().targets
            filed = Counter({target: dice.randint(1, 4) for target in dice.sample(present, 2)})
            programme.report(filed)
            diary.open += filed
            if number % 3 == 0:
                mistaken = {dice.choice(present): dice.randint(1, 3)}
                programme.withdraw(mistaken, programme.report(mistaken))
            if number % 4 == 1:
                target = dice.choice(present)
                exported.append((f"report {number}", target))
                assert programme.import_reports("hotline", exported) == 1
                diary.open[target] += 1
            if number % 5 == 2:
                target = dice.choice(present)
                programme.override([target], "an accident", independent=True)
                diary.forget([target])
            if number % 5 == 3 and joining:
                programme.change_targets(
                    "a reform", independent=True, add=[f"Yard {number}"], remove=[present[number % 3]]
                )
                diary.forget([present[number % 3]])
        with closing(office.again()) as programme:
            counts = diary.active + diary.open
            assert +Counter(programme.active_counts()) == +counts
            office.clock.now = programme.status().due
            if number % 6 == 4:
                programme.skip("a holiday", independent=True)
            else:
                diary.drawn(programme.close_round().audits)
    return diary


def follow(run: AuditRun, names: list[str], entry: Entry) -> None:
    """What an entry without a draw does to a run of the library."""
    if entry.kind == "override":
        run.order(names.index(target) for target in entry.own()["audits"])
    elif entry.kind == "targets":
        names.extend(entry.own()["added"])
        if entry.own()["added"]:
            run.add_targets(len(entry.own()["added"]))
        run.remove_targets(names.index(target) for target in entry.own()["removed"])


@pytest.mark.parametrize(("database", "settings"), CASES, indirect=["database"])
def test_every_draw_follows_again(database: str, tmp_path: Path, settings: dict[str, Any]) -> None:
    identity = pyrage.x25519.Identity.generate()
    office = new_office(database, tmp_path, oversight=str(identity.to_public()), **settings)
    office.programme.close()
    diary = eventful(office, rounds=14, seed=1, joining=not isinstance(settings.get("weights"), tuple))
    parameters, sealed = office.programme.parameters, unsealed(database, identity)
    mechanism, names = parameters.built(), list(TARGETS)
    run, rounds = AuditRun(mechanism), iter(diary.rounds)
    entries = [parse(line) for line in lines_of(database)]
    for entry in entries:
        if entry.kind != "round":
            follow(run, names, entry)
            continue
        inputs = sealed.pop(entry.number)
        assert +Counter(dict(zip(names, inputs.reports[0].tolist(), strict=True))) == +next(rounds)
        saved = run.save()
        counted = Frozen(inputs, saved)._counted(parameters)
        noise = noise_of_draw(parameters.programme, entry.round, inputs.seed, "", counted)
        run = AuditRun.restore(mechanism, saved, noise)
        drawn = run.select(inputs.reports[0], audits=parameters.audits)
        assert tuple(names[number] for number in drawn) == entry.own()["audits"]
    assert not sealed
    assert not list(rounds)
    with closing(office.again()) as programme:
        active = run.active_counts()
        assert programme.active_counts() == {name: active[names.index(name)] for name in programme.status().targets}
        # The oversight body comes to the same result, and so does the public as far as it can.
        assert replay(parameters, entries, programme.seals(), identity).confirmed
        assert verify(programme.publish(tmp_path / "public"), now=office.clock.now).entries == len(entries)


LOADED = """if True:
    import importlib
    import pkgutil
    import sys

    {planted}
    for name in ("deniable.programme", "deniable.console"):
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{{name}}."):
            importlib.import_module(module.name)
    sys.exit("deniable.simulation" in sys.modules)
"""


@pytest.mark.parametrize("planted", ["", "import deniable.simulation.noise"])
def test_simulated_noise_is_out_of_reach(planted: str) -> None:
    """A process with all of the programme and the console in it has no simulation in it; one that has is noticed."""
    done = subprocess.run([sys.executable, "-c", LOADED.format(planted=planted)], check=False)
    assert done.returncode == bool(planted)


def test_seeds_are_fresh_in_every_round(database: str, tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    office = new_office(database, tmp_path, oversight=str(identity.to_public()))
    for _ in range(10):
        office.close()
    seeds = {inputs.seed for inputs in unsealed(database, identity).values()}
    assert len(seeds) == 10


def live(database: str, folder: Path, days: int) -> None:
    """Daily rounds with 1,000 targets and 274 reports each: nothing is lost, and all of it can be verified."""
    names, rng = [f"Target {number}" for number in range(1000)], np.random.default_rng(1)
    office = new_office(database, folder, targets=names, audits=3)
    programme: Programme = office.programme
    programme.publish(folder / "public")
    filed, active = 0, Counter[str]()
    for day in range(days):
        today = Counter(names[number] for number in rng.zipf(1.5, size=274) % 1000)
        programme.report(today)
        filed += today.total()
        active += today
        for audited in office.close():
            del active[audited]
        if day % 30 == 29:
            programme.publish()
    assert filed == 274 * days
    assert +Counter(programme.active_counts()) == active
    programme.publish()
    report = verify(folder / "public", now=office.clock.now)
    assert (report.rounds, report.overdue, report.pages) == (days, (), {"index.html": "matches"})


def test_two_months(tmp_path: Path) -> None:
    live(str(tmp_path / "programme.db"), tmp_path, 62)


@pytest.mark.long
def test_a_year(database: str, tmp_path: Path) -> None:
    """100,000 reports."""
    live(database, tmp_path, 365)
