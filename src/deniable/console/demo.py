"""A demonstration: an office that does not exist, in the middle of a programme, with a round that is due now."""

import random
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deniable.console.accounts import activity, hotlines, people, totp
from deniable.console.accounts.passwords import Passwords
from deniable.console.accounts.people import ROLE_NAMES, Person, Role
from deniable.console.console import Console, DemoPerson
from deniable.message import noted
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Calendar, Clock, system_clock
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile
from deniable.report_classes import ReportClass, heaviest

NAME = "Site visits (demonstration)"
TARGETS = (
    "Ash Mill",
    "Birch Works",
    "Cedar Bank",
    "Dogwood Clinic",
    "Elm Logistics",
    "Fir Foundry",
    "Gorse Energy",
    "Hazel Foods",
    "Ivy Chemicals",
    "Juniper School",
    "Larch Housing",
    "Maple Transit",
)
ROUNDS = 16
"""Of a week each; all but the last are closed."""
BUSY = {"Fir Foundry": 4.0, "Ivy Chemicals": 2.0}
"""Reports a week, on average; about the others there is one in five weeks."""
RARE = 0.2
CLASSES = (ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None))
SERIOUS = 0.2
"""The share of serious ones among the reports."""
EMERGENCIES = {12: "Maple Transit", ROUNDS: "Hazel Foods"}
"""A report of danger, by the round in which it came; the visit to which the last one leads waits."""
VISITED = ROUNDS - 3
"""The last round whose audits are carried out; those of the two after it are to be recorded."""
HOTLINE = "hotline"
CONTACT, ADDRESS = "Inspectorate of Newtown, 1 High Street, +44 1632 960 123", "https://hotline.example.org/"

PEOPLE: dict[Role, str] = {"auditor": "Audrey", "administrator": "Ada", "operator": "Otto", "importer": "Imogen"}
"""The first one sees most."""


def demonstration(folder: Path, *, clock: Clock = system_clock, passwords: Passwords | None = None) -> Console:
    """The console of a made-up office, whose database, key and public files are in this folder."""
    database, key = str(folder / "programme.db"), KeyFile(folder / "programme.key")
    _programme(database, key, folder / "public", clock())
    console = Console.open(database, key, clock=clock)
    if passwords is not None:
        console.passwords = passwords
    console.demo = tuple(_person(console, role) for role in PEOPLE)
    importer = next(one.person for one in console.demo if one.person.role == "importer")
    with console.store.writing() as connection:
        hotlines.assign(connection, console.key, HOTLINE, importer.id)
    return console


def _programme(database: str, key: KeyFile, public: Path, now: datetime) -> None:
    this_minute = now.astimezone(UTC).replace(second=0, microsecond=0)  # the last round is due now, not last night
    calendar = Calendar((this_minute - timedelta(weeks=ROUNDS)).date(), "1W", "UTC", this_minute.time())
    then = [calendar.opens(1)]
    programme = Programme.create(
        database,
        key,
        clock=lambda: then[0],
        name=NAME,
        targets=TARGETS,
        mechanism="race",
        delta=delta_for(0.05, heaviest(CLASSES), "race"),
        calendar=calendar,
        cooldown=1,
        classes=CLASSES,
        most_counted=20,
    )
    programme.tell_details(CONTACT, ADDRESS)
    chance = random.Random(4)  # of the made-up reports; the draws are real
    for round_ in range(1, ROUNDS + 1):
        if round_ == 6:
            programme.override(["Larch Housing"], "A fire, reported in the newspapers.", independent=True)
        reports = {name: _reports(chance, BUSY.get(name, RARE)) for name in TARGETS}
        for one, counts in _by_class(chance, reports).items():
            if counts:
                programme.report(counts, report_class=one)
        if round_ in EMERGENCIES:
            programme.report({EMERGENCIES[round_]: 1}, report_class="danger")
            if round_ < ROUNDS:
                programme.visit(EMERGENCIES[round_], "danger")
                programme.carried_out(round_, EMERGENCIES[round_], calendar.today(then[0]))
        then[0] = calendar.due(round_) - timedelta(hours=1)
        for open_ in programme.work_list():
            if open_.round < round_ and open_.round <= VISITED:
                programme.carried_out(open_.round, open_.target, open_.day + timedelta(days=2))
        then[0] = calendar.due(round_)
        if round_ == 10:
            programme.skip("The whole office was moving house.", independent=True)
        elif round_ < ROUNDS:
            programme.close_round(round_)
        programme.publish(public)
    programme.hotlines.add(HOTLINE)
    programme.close()


def _reports(chance: random.Random, rate: float) -> int:
    """About `rate`, give or take."""
    return sum(chance.random() < rate / 10 for _ in range(10))


def _by_class(chance: random.Random, reports: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Those that are minor and those that are serious, by target; none are 0."""
    serious = {name: sum(chance.random() < SERIOUS for _ in range(count)) for name, count in reports.items()}
    minor = {name: count - serious[name] for name, count in reports.items()}
    return {
        "minor": {name: count for name, count in minor.items() if count},
        "serious": {name: count for name, count in serious.items() if count},
    }


def _person(console: Console, role: Role) -> DemoPerson:
    person, password = Person(secrets.token_hex(8), PEOPLE[role], role), f"{role}-{secrets.token_hex(4)}"
    salt, stored = totp.new_salt(), console.passwords.hashed(password)
    with console.store.writing() as connection:
        people.add(connection, console.key, person, password=stored, totp_salt=salt)
        activity.record(
            connection, console.clock(), person.name, noted("joined as {role}", role=ROLE_NAMES[role]), "people"
        )
    return DemoPerson(person, password, salt)
