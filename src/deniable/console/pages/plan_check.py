"""The last look at a plan: what becomes fixed for good, what was not chosen, and the command that does the same."""

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain

from deniable.console.help_pages import help_texts
from deniable.console.pages.plan_choices import Doubt, Measures, doubts, measures_of
from deniable.console.pages.plan_form import PlanForm, advantage_of
from deniable.languages.terms import DEFAULT_TERMS, Terms
from deniable.programme.parameters import Parameters
from deniable.programme.public.facts import facts_of
from deniable.programme.public.page import Day, due_in_words
from deniable.programme.public.promise import Promise, promise_of
from deniable.programme.randomness.source import Dice, Drand
from deniable.report_classes import ONE_CLASS

TARGET_LIST = "targets.txt"
"""The file that the command reads the targets from."""
_MADE_LATER = ("programme", "key")
"""Facts that come about when the programme starts."""
_FOR_EXPERTS = (*_MADE_LATER, "level")

Facts = tuple[tuple[str, str], ...]


def split_facts(parameters: Parameters, *, is_begun: bool) -> tuple[Facts, Facts]:
    """The public parameters, each with what it means: those for all, and those for experts."""
    facts = [fact for fact in facts_of(parameters, parameters.voice()) if is_begun or fact.id not in _MADE_LATER]
    return (
        tuple((fact.name, fact.text) for fact in facts if fact.id not in _FOR_EXPERTS),
        tuple((fact.name, fact.text) for fact in facts if fact.id in _FOR_EXPERTS),
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
    error: str | None


def check_page(form: PlanForm, parameters: Parameters, overdue: int, error: str | None = None) -> CheckPage:
    facts, expert_facts = split_facts(parameters, is_begun=False)
    return CheckPage(
        name=parameters.name,
        targets=parameters.targets,
        promise=promise_of(parameters, None, parameters.voice()),
        measures=measures_of(parameters),
        warnings=doubts(parameters),
        facts=(*_words(parameters.terms), *facts),
        expert_facts=expert_facts,
        first=due_in_words(parameters.calendar, 1),
        overdue=overdue,
        not_chosen=tuple(_not_chosen(parameters)),
        command=command(form, parameters),
        typed=tuple(asdict(form).items()),
        shown=form.fingerprint,
        error=error,
    )


def _words(terms: Terms) -> Iterator[tuple[str, str]]:
    if terms != DEFAULT_TERMS:
        yield "Words", f"an audit is called {terms.an_audit}, and a target is called {terms.a_target}"


_TERMINAL = (
    "It is not on the form: ask the person who runs the server to start the programme with the command at the end of "
    "this page, and with"
)


def _not_chosen(parameters: Parameters) -> Iterator[NotChosen]:
    terms, weight = parameters.terms, "Reports of different weight, and floods"
    if parameters.classes == ONE_CLASS:
        means = "A serious report could count more than a minor one, or lead to a visit at once."
        yield NotChosen("Classes of reports", means, weight)
    if parameters.most_counted is None:
        means = f"More reports than this about one {terms.target} in one round would change nothing."
        yield NotChosen("A limit for floods of reports", means, weight)
    if not parameters.reveal_after:
        means = f"The public would learn some rounds later which {terms.targets} were drawn."
        yield NotChosen("Unannounced visits", means, "Unannounced visits")
    if parameters.randomness is None:
        means = "Readers could check that the office neither chose nor foresaw a draw."
        yield NotChosen("A public value in every draw", means, "Public values", help="public-value")
    if parameters.oversight is None:
        means = "It could replay every draw and check it. It would see the counts."
        yield NotChosen("An oversight body", means, help="oversight")
    if parameters.weights is None:
        means = f"Past {terms.audits} could say which {terms.targets} are more likely before any report."
        yield NotChosen(f"A forecast from past {terms.audits}", means, "Weights that learn from the transcript")
    if terms == DEFAULT_TERMS:
        means = "The pages could say inspection or visit in place of audit, and employer or site in place of target."
        yield NotChosen("Words of your own", means)
    if parameters.yearly_figures_delta is None:
        means = "The public would learn once a year how many reports came in, give or take some."
        where = f"{_TERMINAL} --yearly-figures-delta 0.02."
        yield NotChosen("Yearly figures", means, "Yearly figures", where)
    if parameters.registered is None:
        means = f"Each {terms.target} would have its number in the register beside its name."
        where = f"{_TERMINAL} a list of {terms.targets} that has the columns target,number."
        yield NotChosen("Numbers of a public register", means, where=where)


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
