"""`deniable programme init`: a new programme, and in words what it promises."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from deniable.cli.groups import Command
from deniable.cli.options import (
    CLASS,
    DEFAULT_DATABASE,
    OPTIONS,
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
    shared,
)
from deniable.cli.programme import options, sources
from deniable.cli.programme.output import answer, due, local
from deniable.errors import DeniableError
from deniable.languages.language import PUBLIC, Sentences, check_known, language, usable_languages
from deniable.languages.own_translation import read_translation
from deniable.languages.terms import AUDIT_TERMS, DEFAULT_TERMS, TARGET_TERMS, Terms
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Calendar
from deniable.programme.programme import Programme
from deniable.programme.public.guarantee_wording import LITTLE, coin, exact_figures
from deniable.programme.public.promise import promise_of
from deniable.programme.register import read_register
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript import office_details
from deniable.report_classes import ONE_CLASS, heaviest
from deniable.report_files import read_weights
from deniable.storage.store import ExistsError
from deniable.wording import count, listed
from deniable.yearly_figures import advantage_left

commands = typer.Typer(rich_markup_mode=None)

TARGET_LIST = OPTIONS["--target-list"].meaning + (
    " Or a CSV with the columns target,number: each target's number in a public register."
)


@commands.command(cls=Command)
def init(
    target_list: Annotated[Path, typer.Argument(metavar="TARGET_LIST", show_default=False, help=TARGET_LIST)],
    *,
    name: Annotated[str, shared("--name", "of the programme.", show_default=False)],
    delta: Annotated[
        list[str] | None, shared("--delta", "If there are classes: of a report of weight 1. Give this or --advantage.")
    ] = None,
    advantage: Annotated[float | None, shared("--advantage")] = None,
    reports_per_person: Annotated[int, shared("--reports-per-person")] = 1,
    mechanism: Annotated[str, shared("--mechanism", "race or tca. See deniable plan.")] = "race",
    horizon: Annotated[int | None, shared("--horizon", "tca needs it, or --max-gap.")] = None,
    start: Annotated[str | None, shared("--start", "By default today.", show_default=False)] = None,
    period: Annotated[str, shared("--period", "Or in months: 1M.")] = "1W",
    zone: Annotated[str, typer.Option(metavar="ZONE", help="Time zone, such as Europe/Berlin.")] = "UTC",
    at: Annotated[str, shared("--time", "when rounds are due, written HH:MM.")] = "09:00",
    audits: Audits = 1,
    max_gap: MaxGap = None,
    cooldown: Cooldown = 0,
    weights: WeightsFile = None,
    forecast: Forecast = False,
    steady_forecast: SteadyForecast = False,
    classes: Annotated[list[str] | None, shared("--class", f"{CLASS}.")] = None,
    most_counted: MostCounted = None,
    yearly_figures_delta: Annotated[
        float | None,
        shared("--yearly-figures-delta", "It is added to the promise from the start.", show_default=False),
    ] = None,
    oversight: Annotated[
        str | None,
        typer.Option(
            metavar="age1…",
            help="The age recipient of an oversight body. Every round's counts and seed are sealed to it, and it alone "
            "can replay the draw.",
        ),
    ] = None,
    reveal_after: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="For unannounced visits: the public learns N rounds later whom a draw selected, whatever happened "
            "since. At once it learns only that the selection is fixed. With 0 it learns the names at once.",
        ),
    ] = 0,
    randomness: sources.Randomness = "none",
    value_minutes: sources.ValueMinutes = None,
    dice_place: sources.DicePlace = None,
    wait_days: sources.WaitDays = None,
    drand_chain: sources.DrandChain = None,
    dice_sides: sources.DiceSides = None,
    lottery: sources.Lottery = None,
    audit_term: Annotated[
        str, typer.Option(metavar="WORD", help=f"What the office calls an audit: {', '.join(AUDIT_TERMS)}.")
    ] = DEFAULT_TERMS.audit,
    target_term: Annotated[
        str, typer.Option(metavar="WORD", help=f"What the office calls a target: {', '.join(TARGET_TERMS)}.")
    ] = DEFAULT_TERMS.target,
    languages: Annotated[
        str,
        typer.Option(
            metavar="CODES",
            help="Languages of the public page, that of index.html first, with commas between them, such as de,fr,en. "
            f"There are {listed(PUBLIC)}; one whose translation is not complete is refused.",
        ),
    ] = "en",
    translation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE=FILE",
            help="Your own translation of the public page in the place of ours, complete and checked by a native "
            "speaker, such as de=german.po. Repeat the option for several languages.",
        ),
    ] = None,
    contact: Annotated[str, shared("--contact", show_default=False)] = "",
    hotline: Annotated[str, shared("--hotline", show_default=False)] = "",
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
      deniable programme init targets.txt --name "Site visits" --delta 0.1 --randomness dice --lottery 6/49

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
    chosen_languages = usable_languages([code.strip() for code in languages.split(",") if code.strip()])
    calendar = _calendar(start, period, zone, at)
    sources.check_started(source, calendar)
    targets, registered = read_register(target_list)
    chosen_weights = learnt if weights is None else read_weights(weights, targets)
    chosen_key = options.key_of(database, key, passphrase, new=True)
    try:
        if level is None:
            bounds = [bound for bound in (horizon, max_gap) if bound is not None]
            weight = reports_per_person * heaviest(kinds)
            for_audits = advantage or 0
            if yearly_figures_delta is not None:
                for_audits = advantage_left(for_audits, yearly_figures_delta, reports_per_person)
            level = delta_for(for_audits, weight, mechanism, min(bounds, default=None))
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
            languages=chosen_languages,
            translations=_translations(translation or []),
        )
    except ExistsError as error:
        raise DeniableError(
            f"{error}, or, to begin again after a mistake, delete this one, its key and the transcript beside the key, "
            "unless it was published"
        ) from None
    except DeniableError as error:
        raise DeniableError(as_options(str(error))) from None
    if any(details):
        programme.tell_details(*details)
    programme.close()
    _tell(programme, database, chosen_key.path if isinstance(chosen_key, KeyFile) else None, as_json)


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
    kept = (
        "Its key is your passphrase. It cannot be restored: write it down, and keep it in a safe place apart from the "
        "database and its backups."
        if key is None
        else "Its key is the file below. Copy it now to a safe place apart from the database and its backups: without "
        "it the programme cannot go on, and anyone who has it and the database can read the counts. The file "
        f"{key.name}.transcript beside it belongs to the key: move it with the key, and save it there anew after every "
        "round, never with the database. If it is missing, the programme goes on only in public (deniable programme "
        "recover)."
    )
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
        f"\n{kept}",
        *([] if key is None else [f"  {key.absolute()}"]),
        "\nNext, publish the rules and the commitment to the first draw, before the first report comes in:",
        "  deniable programme publish --public FOLDER",
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
    return [f"The public page is in {listed([language(code).locale.name for code in languages])}."]


def _when(calendar: Calendar, database: str, key: Path | None) -> str:
    overdue = calendar.rounds_due(options.now())
    if not overdue:
        return f"{due(calendar, 1)} Until then reports are counted: deniable programme report --help."
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
