"""`deniable programme init`: a new programme, and in words what it promises."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from zoneinfo import ZoneInfo

import typer

from deniable.cli.groups import Command
from deniable.cli.options import (
    DEFAULT_DATABASE,
    AsJson,
    AskPassphrase,
    Audits,
    Cooldown,
    Database,
    Forecast,
    KeyPath,
    MaxGap,
    MostCounted,
    SteadyForecast,
    WeightsFile,
    as_options,
    chosen_classes,
    chosen_forecast,
    delta_or_advantage,
)
from deniable.cli.programme import init_options as chosen
from deniable.cli.programme import options, sources
from deniable.cli.programme.output import answer, local
from deniable.errors import DeniableError
from deniable.languages.language import DEFAULT_TERMS, Sentences, Terms, check_known, language, usable_languages
from deniable.languages.own_translation import read_translation
from deniable.message import all_of
from deniable.programme.access import NotBegunError
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Calendar
from deniable.programme.creation import read_register
from deniable.programme.programme import Programme
from deniable.programme.public.guarantee_wording import LITTLE, coin, exact_figures
from deniable.programme.public.promise import promise_of
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript import office_details
from deniable.report_classes import ONE_CLASS, heaviest
from deniable.report_files import read_weights
from deniable.storage.store import ExistsError
from deniable.wording import count
from deniable.yearly_figures import advantage_left

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def init(
    target_list: chosen.TargetList,
    *,
    name: chosen.Name,
    delta: chosen.Delta = None,
    advantage: chosen.Advantage = None,
    reports_per_person: chosen.ReportsPerPerson = 1,
    mechanism: chosen.Mechanism = "race",
    horizon: chosen.Horizon = None,
    start: chosen.Start = None,
    period: chosen.Period = "1W",
    zone: chosen.Zone = "UTC",
    at: chosen.TimeOfDay = "09:00",
    audits: Audits = 1,
    max_gap: MaxGap = None,
    cooldown: Cooldown = 0,
    weights: WeightsFile = None,
    forecast: Forecast = False,
    steady_forecast: SteadyForecast = False,
    classes: chosen.Classes = None,
    most_counted: MostCounted = None,
    yearly_figures_delta: chosen.YearlyFiguresDelta = None,
    oversight: chosen.Oversight = None,
    reveal_after: chosen.RevealAfter = 0,
    randomness: sources.Randomness = "none",
    value_minutes: sources.ValueMinutes = None,
    dice_place: sources.DicePlace = None,
    wait_days: sources.WaitDays = None,
    drand_chain: sources.DrandChain = None,
    dice_sides: sources.DiceSides = None,
    lottery: sources.Lottery = None,
    audit_term: chosen.AuditTerm = DEFAULT_TERMS.audit,
    target_term: chosen.TargetTerm = DEFAULT_TERMS.target,
    languages: chosen.Languages = "en",
    translation: chosen.Translations = None,
    contact: chosen.Contact = "",
    hotline: chosen.Hotline = "",
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Set up a programme in a new database, with a new key.

    What is chosen here (targets, calendar, mechanism, privacy level, rules, terms, languages) is public and fixed: it
    becomes programme.json in the public folder, and the transcript's chain of hashes starts from it. Targets can change
    later, with a reason that is published, and so can the contact and the hotline (deniable programme details). Rounds
    are due on the calendar whatever reports come in, so that nothing can be read from when an audit takes place.

    With --randomness, a round is drawn in two steps. At its due time it is frozen: what it is drawn from is fixed, and
    the hash of it is published. When the public value is out, it is drawn. drand needs a connection to
    the internet, on the machine that draws.

    The key locks the counts and signs the transcript. It is never in the database nor in a backup, and without it the
    programme cannot go on.

    \b
    Example: weekly rounds, at most 5 points in 100 about up to 3 reports of one person
      deniable programme init targets.txt --name "Site visits" \\
          --advantage 0.05 --reports-per-person 3 \\
          --period 1W --zone Europe/Berlin --time 09:00

    \b
    Example: a serious report counts as three, a report of danger leads to a visit at once
      deniable programme init targets.txt --name "Site visits" --delta 0.1 \\
          --class minor=1 --class serious=3 --class danger=visit

    \b
    Example: draws with drand's beacons, or with numbers that a lottery draws
      deniable programme init targets.txt --name "Site visits" --delta 0.1 --randomness drand
      deniable programme init targets.txt --name "Site visits" --delta 0.1 \\
          --randomness dice --lottery 6/49 --dice-place "The Saturday draw of the state lottery"

    \b
    Example: an office that calls an audit an inspection and a target an employer
      deniable programme init employers.txt --name "Site visits" --delta 0.1 \\
          --audit-term inspection --target-term employer

    \b
    Example: the public page in German, with further pages in French and English
      deniable programme init targets.txt --name "Site visits" --delta 0.1 --languages de,fr,en

    \b
    Example: once a year, how many reports came in, ± 20
      deniable programme init targets.txt --name "Site visits" --advantage 0.05 --yearly-figures-delta 0.02
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    level = delta_or_advantage(delta, advantage)
    kinds = chosen_classes(classes) or ONE_CLASS
    learnt = chosen_forecast(weights, forecast=forecast, steady_forecast=steady_forecast)
    source = sources.chosen_source(
        randomness,
        minutes=value_minutes,
        days=wait_days,
        chain=drand_chain,
        place=dice_place,
        sides=dice_sides,
        lottery=lottery,
    )
    terms, details = Terms(audit_term, target_term), office_details.typed(contact, hotline)
    codes = usable_languages([code.strip() for code in languages.split(",") if code.strip()])
    calendar = _calendar(start, period, zone, at)
    sources.check_started(source, calendar)
    targets, registered = read_register(target_list)
    chosen_weights = learnt if weights is None else read_weights(weights, targets)
    chosen_key = options.key_of(database, key, passphrase, new=True)
    with _refusals_as_typed(database):
        if level is None:
            weight = reports_per_person * heaviest(kinds)
            for_audits = _advantage_of_audits(advantage or 0, yearly_figures_delta, reports_per_person)
            level = delta_for(for_audits, weight, mechanism, _rounds_covered(horizon, max_gap))
        programme = Programme.create(
            database,
            chosen_key,
            clock=options.now,
            name=name,
            targets=targets,
            registered=registered,
            mechanism=mechanism,
            delta=level,
            horizon=horizon,
            reports_per_person=reports_per_person,
            audits=audits,
            max_gap=max_gap,
            cooldown=cooldown,
            weights=chosen_weights,
            classes=kinds,
            most_counted=most_counted,
            yearly_figures_delta=yearly_figures_delta,
            calendar=calendar,
            oversight=oversight,
            reveal_after=reveal_after,
            randomness=source,
            terms=terms,
            languages=codes,
            translations=_translations(translation or []),
        )
    if any(details):
        programme.tell_details(*details)
    programme.close()
    _tell(programme, database, chosen_key.path if isinstance(chosen_key, KeyFile) else None, as_json)


def _advantage_of_audits(advantage: float, yearly_figures_delta: float | None, reports_per_person: int) -> float:
    """What is left of the advantage for the audits, where yearly figures take a part of it."""
    if yearly_figures_delta is None:
        return advantage
    return advantage_left(advantage, yearly_figures_delta, reports_per_person)


def _rounds_covered(horizon: int | None, max_gap: int | None) -> int | None:
    """The longest run of a target; None where neither bounds it."""
    return min((bound for bound in (horizon, max_gap) if bound is not None), default=None)


@contextmanager
def _refusals_as_typed(database: str) -> Iterator[None]:
    """What the programme refuses, with the names of the options, and what to do about a database that exists."""
    try:
        yield
    except ExistsError as error:
        _check_begun(database)
        raise DeniableError(
            f"{error}, or, to begin again after a mistake, delete this one, its key and the transcript beside the key, "
            "unless it was published"
        ) from None
    except DeniableError as error:
        raise DeniableError(as_options(str(error))) from None


def _check_begun(database: str) -> None:
    """Refuse a console's database in which no programme has begun: to delete it would delete the accounts, too."""
    try:
        Programme.open(database).close()
    except NotBegunError:
        raise
    except DeniableError:
        return


def _tell(programme: Programme, database: str, key: Path | None, as_json: bool) -> None:
    parameters = programme.parameters
    guarantee, calendar, say = parameters.guarantee(), parameters.calendar, parameters.voice()
    promised = promise_of(parameters, None, say)
    weak = f"with a delta above {LITTLE:g} the audits hide little. {coin(parameters, say)} See deniable plan."
    warnings = [weak] if guarantee.delta > LITTLE else []
    document = {
        "programme": parameters.programme,
        "name": parameters.name,
        "key": None if key is None else str(key.absolute()),
        "targets": len(parameters.targets),
        "delta": parameters.delta,
        "guarantee": guarantee.to_dict(),
        "due": calendar.due(1).isoformat(),
        "overdue": calendar.rounds_due(options.now()),
        "randomness": None if parameters.randomness is None else parameters.randomness.to_dict(),
        "warnings": warnings,
    }
    answer(
        as_json,
        document,
        f"The programme {parameters.name} is set up, with {len(parameters.targets):,} {parameters.terms.targets}.",
        *_words(parameters.terms),
        *_pages(parameters.languages),
        "\nWhat it promises to a person who reports",
        *(f"{one.title} {one.text}\n" for one in promised.warnings),
        promised.first,
        "\nThe exact figures",
        " ".join(exact_figures(parameters, say)),
        *(f"\nWARNING: {warning}" for warning in warnings),
        f"\n{_when(calendar, database, key)}",
        f"\n{sources.source_in_words(parameters.randomness)}",
        f"\n{_kept(key)}",
        *([] if key is None else [f"  {key.absolute()}"]),
        "\nNext, publish the rules and the commitment to the first draw, before the first report comes in:",
        "  deniable programme publish --public FOLDER",
    )


def _kept(key: Path | None) -> str:
    """Where the key is, and how to keep it."""
    if key is None:
        return (
            "Its key is your passphrase. It cannot be restored: write it down, and keep it in a safe place apart from "
            "the database and its backups."
        )
    return (
        "Its key is the file below. Copy it now to a safe place apart from the database and its backups: without "
        "it the programme cannot go on, and anyone who has it and the database can read the counts. The file "
        f"{key.name}.transcript beside it belongs to the key: move it with the key, and save it there anew after every "
        "round, never with the database. If it is missing, the programme goes on only in public (deniable programme "
        "recover)."
    )


def _words(terms: Terms) -> list[str]:
    if terms == DEFAULT_TERMS:
        return []
    return [f"You call an audit {terms.an_audit} and a target {terms.a_target}. The pages use these words."]


def _translations(given: Sequence[str]) -> dict[str, Sentences]:
    """The office's own, by language."""
    found = {}
    for one in given:
        code, _, file = one.partition("=")
        if not file or code in found:
            raise DeniableError(
                "--translation must be CODE=FILE, such as de=german.po, each language once, got {given}", given=one
            )
        check_known(code)
        found[code] = read_translation(code, Path(file))
    return found


def _pages(languages: Sequence[str]) -> list[str]:
    if languages == ("en",):
        return []
    return [f"The public page is in {all_of(language(code).locale.name for code in languages)}."]


def _when(calendar: Calendar, database: str, key: Path | None) -> str:
    overdue = calendar.rounds_due(options.now())
    if not overdue:
        first = f"Round 1 is due at {local(calendar, calendar.due(1))}."
        return f"{first} Until then reports are counted: deniable programme report --help."
    place = "the database" if "://" in database else database  # a URL may have a password in it
    secrets = place if key is None else f"{place}, {key} and {key.name}.transcript"
    return (
        f"Round 1 was due at {local(calendar, calendar.due(1))}: {count(overdue, 'round')} "
        f"{'is' if overdue == 1 else 'are'} overdue already, and a round that is closed a day or more after it was due "
        f"is published as late. If that is a mistake, delete {secrets} and begin again with another --start."
    )


def _calendar(start: str | None, period: str, zone: str, at: str) -> Calendar:
    try:
        of_day = time.fromisoformat(at)
    except ValueError:
        raise DeniableError(f"--time must be a time of day written HH:MM, got {at}") from None
    in_capitals = period.upper() if re.fullmatch("[0-9]+[dwm]", period) else period
    calendar = Calendar(options.now().date(), in_capitals, zone, of_day)
    try:
        first = options.now().astimezone(ZoneInfo(zone)).date() if start is None else date.fromisoformat(start)
    except ValueError:
        raise DeniableError(f"--start must be a calendar day written YYYY-MM-DD, got {start}") from None
    return replace(calendar, start=first)
