"""The last look at a plan: what becomes fixed for good, what was not chosen, and the command that does the same."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain

from deniable.console.help_pages import help_texts
from deniable.console.pages.plan_choices import Measures, measures_of
from deniable.console.pages.plan_doubts import Doubt, doubts
from deniable.console.pages.plan_form import PlanForm, advantage_of
from deniable.languages.language import DEFAULT_TERMS, Terms
from deniable.languages.voice import Voice
from deniable.message import Message
from deniable.programme.calendar import Day, due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.promise import Promise, promise_of
from deniable.programme.public.rules_in_words import Fact, facts_of
from deniable.programme.randomness.source import Dice, Drand
from deniable.report_classes import ONE_CLASS

TARGET_LIST = "targets.txt"
"""The file that the command reads the targets from."""
_MADE_LATER = ("programme", "key")
"""Facts that come about when the programme starts."""
_FOR_EXPERTS = (*_MADE_LATER, "level")

Facts = tuple[Fact, ...]


def facts_of_begun(parameters: Parameters, say: Voice) -> tuple[Facts, Facts]:
    """What is fixed, for the office to read: those for all, and those for experts. A rule that there is not has no
    line, and the way of choosing comes in words before its name.
    """
    facts = [fact for fact in facts_of(parameters, say) if fact.id != "gap" or parameters.max_gap is not None]
    return _split([fact._replace(text=_way(parameters, say)) if fact.id == "mechanism" else fact for fact in facts])


def _way(parameters: Parameters, say: Voice) -> str:
    if parameters.mechanism == "race":
        return say(
            "chance decides, and each report that waits makes its {target} somewhat more likely to be drawn (race)"
        )
    return say(
        "chance is added to the number of reports that wait about each {target}, and the largest result is drawn "
        "(counter auditing)"
    )


def _split(facts: Iterable[Fact]) -> tuple[Facts, Facts]:
    """Those for all, and those for experts."""
    every = tuple(facts)
    return (
        tuple(fact for fact in every if fact.id not in _FOR_EXPERTS),
        tuple(fact for fact in every if fact.id in _FOR_EXPERTS),
    )


@dataclass(frozen=True)
class NotChosen:
    name: str
    means: str
    """What it would do."""
    read: str = ""
    """The page of the documentation that has more, where the console does not serve it."""
    where: str = ""
    """How it can be chosen, where the form does not have it under More choices."""
    option: str = ""
    """What is added to the command for it."""
    help: str = "first-day"
    """The help page that explains it."""

    @property
    def title(self) -> str:
        return help_texts()[self.help].title


@dataclass(frozen=True)
class CheckPage:
    name: str
    targets: tuple[str, ...]
    promise: Promise
    measures: Measures
    warnings: tuple[Doubt, ...]
    facts: Facts
    expert_facts: Facts
    first: Day
    overdue: int
    """Rounds that would be due, and not closed, when it starts now."""
    not_chosen: tuple[NotChosen, ...]
    command: tuple[str, ...]
    typed: tuple[tuple[str, str], ...]
    """The fields of the form, to be sent again."""
    shown: str
    """Fingerprint of the plan that the page is about."""
    error: Message | None


def check_page(form: PlanForm, parameters: Parameters, overdue: int, error: Message | None, say: Voice) -> CheckPage:
    facts, expert_facts = _split(fact for fact in facts_of(parameters, say) if fact.id not in _MADE_LATER)
    return CheckPage(
        name=parameters.name,
        targets=parameters.targets,
        promise=promise_of(parameters, None, say),
        measures=measures_of(parameters, say),
        warnings=doubts(parameters, say),
        facts=(*_words(parameters.terms, say), *facts),
        expert_facts=expert_facts,
        first=due_in_words(parameters.calendar, 1, say),
        overdue=overdue,
        not_chosen=tuple(_not_chosen(parameters, say)),
        command=command(form, parameters),
        typed=tuple(asdict(form).items()),
        shown=form.fingerprint,
        error=error,
    )


def _words(terms: Terms, say: Voice) -> Iterator[Fact]:
    if terms != DEFAULT_TERMS:
        text = say("an audit is called {an_audit}, and a target is called {a_target}")
        yield Fact("words", say("Words"), text)


def _not_chosen(parameters: Parameters, say: Voice) -> Iterator[NotChosen]:
    weight = "Reports of different weight, and floods"
    if parameters.classes == ONE_CLASS:
        means = say("A serious report could count more than a minor one, or lead to a visit at once.")
        yield NotChosen(say("Classes of reports"), means, weight)
    if parameters.most_counted is None:
        means = say("More reports than this about one {target} in one round would change nothing.")
        yield NotChosen(say("A limit for floods of reports"), means, weight)
    if not parameters.reveal_after:
        means = say("The public would learn some rounds later which {targets} were drawn.")
        yield NotChosen(say("Unannounced visits"), means, "Unannounced visits")
    if parameters.randomness is None:
        means = say("Readers could check that the office neither chose nor foresaw a draw.")
        yield NotChosen(say("A public value in every draw"), means, "Public values", help="public-value")
    if parameters.oversight is None:
        means = say("It could replay every draw and check it. It would see the counts.")
        yield NotChosen(say("An oversight body"), means, help="oversight")
    if parameters.weights is None:
        means = say("Past {audits} could say which {targets} are more likely before any report.")
        yield NotChosen(say("A forecast from past {audits}"), means, "Weights that learn from the transcript")
    if len(parameters.languages) == 1:
        means = say("People could read the public page, and the promise, in other languages as well.")
        yield NotChosen(say("Further languages"), means, where=say("On the form it is above More choices."))
    if parameters.terms == DEFAULT_TERMS:
        means = say(
            "The pages could say inspection or visit in place of audit, and employer or site in place of target."
        )
        yield NotChosen(say("Words of your own"), means)
    if parameters.yearly_figures_delta is None:
        means = say("The public would learn once a year how many reports came in, give or take some.")
        where = say(
            "It is not on the form: ask the person who runs the server to start the programme with the command at the "
            "end of this page, and with what is named below it."
        )
        yield NotChosen(say("Yearly numbers"), means, "Yearly figures", where, option="--yearly-figures-delta 0.02")
    if parameters.registered is None:
        means = say("Each {target} would have its number in the register beside its name.")
        where = say(
            "It is not on the form: ask the person who runs the server to start the programme with the command at the "
            "end of this page, and with a list of {targets} that has the columns {columns}.",
            columns="target,number",
        )
        yield NotChosen(say("Numbers of a public register"), means, where=where)


def command(form: PlanForm, parameters: Parameters) -> tuple[str, ...]:
    """`deniable programme init` with this plan, in words that a shell understands."""
    options = chain.from_iterable(_options(form, parameters))
    return tuple(map(shlex.quote, ("deniable", "programme", "init", TARGET_LIST, *options)))


def _options(form: PlanForm, parameters: Parameters) -> Iterator[tuple[str, ...]]:
    calendar = parameters.calendar
    yield "--name", parameters.name
    yield "--advantage", repr(advantage_of(form)), "--reports-per-person", str(parameters.reports_per_person)
    yield "--mechanism", parameters.mechanism
    if parameters.horizon is not None:
        yield "--horizon", str(parameters.horizon)
    yield "--audits", str(parameters.audits)
    if parameters.max_gap is not None:
        yield "--max-gap", str(parameters.max_gap)
    yield "--cooldown", str(parameters.cooldown)
    if parameters.weights is not None:
        yield (f"--{parameters.weights}",)
    yield "--start", calendar.start.isoformat(), "--period", calendar.period
    yield "--zone", calendar.zone, "--time", f"{calendar.time:%H:%M}"
    if parameters.classes != ONE_CLASS:
        for one in parameters.classes:
            yield "--class", one.written
    if parameters.most_counted is not None:
        yield "--most-counted", str(parameters.most_counted)
    if parameters.reveal_after:
        yield "--reveal-after", str(parameters.reveal_after)
    if parameters.terms != DEFAULT_TERMS:
        yield "--audit-term", parameters.terms.audit, "--target-term", parameters.terms.target
    if parameters.languages != ("en",):
        yield "--languages", ",".join(parameters.languages)
    yield from _source(parameters)
    if parameters.oversight is not None:
        yield "--oversight", parameters.oversight


def _source(parameters: Parameters) -> Iterator[tuple[str, ...]]:
    source = parameters.randomness
    if source is None:
        return
    times = ("--value-minutes", str(source.minutes), "--wait-days", str(source.days))
    if isinstance(source, Drand):
        yield "--randomness", "drand", *times
    if isinstance(source, Dice):
        yield "--randomness", "dice", *times
        yield "--dice-place", source.place
        numbers, of = source.throws.numbers, source.throws.of
        yield ("--dice-sides", str(of)) if numbers == 1 else ("--lottery", f"{numbers}/{of}")
