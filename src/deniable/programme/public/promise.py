"""The promise to a person who considers a report: one text, which the public page, the console and paper share.

Its order is that of what matters to this person: what is not covered at all, what one report can give away, what a
report achieves, what is not protected, how to report, questions, and the exact figures for experts. While the promise
has lapsed, no sentence says that it holds now. It is a function of public facts and of the voice that says it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from deniable.languages.voice import Voice
from deniable.programme.calendar import day_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.guarantee_wording import classes_in_words, exact_figures
from deniable.programme.public.not_protected import Item, limits
from deniable.programme.public.promise_warnings import Warned, still_visited, warnings_of
from deniable.programme.public.questions import answers, still_drawn_with
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import (
    HARDLY_SURE,
    caption,
    drawn_classes,
    filed_in,
    head,
    heaviest_class,
    in_hundred,
    is_capped,
    is_made,
    rows,
    sure_at_most,
)
from deniable.programme.public.suspicion_wording import (
    all_cases,
    in_most_cases,
    limit_of_one,
    single_case,
    until,
    with_several,
    yearly_numbers,
)
from deniable.programme.public.visit_chances import Effect, circumstances, effects


@dataclass(frozen=True)
class Table:
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Fact(NamedTuple):
    name: str
    text: str
    link: str | None = None


@dataclass(frozen=True)
class Part:
    """One part of the promise, under a heading of its own: paragraphs, a table, a list, facts, and more paragraphs, as
    far as there are any.
    """

    id: str
    title: str
    before: tuple[str, ...] = ()
    table: Table | None = None
    items: tuple[Item, ...] = ()
    facts: tuple[Fact, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Promise:
    warnings: tuple[Warned, ...]
    """Empty where there is nothing of the kind."""
    first: str
    """What one report changes, in one sentence or two; where nothing is promised now, that."""
    lead: str
    """The same in the page's own part and card: where there is no likelihood cap, what holds in most single cases, if
    that is promised.
    """
    parts: tuple[Part, ...]
    """For a person who considers a report."""
    experts: Part
    holds: Item
    """Whether the promise holds now: in a few words, and what these leave out."""


def promise_of(parameters: Parameters, situation: Situation | None, say: Voice) -> Promise:
    """In this situation; where none is given, before the first round."""
    now = Situation.at_start(parameters) if situation is None else situation
    return Promise(
        warnings=warnings_of(parameters, now, say),
        first=_first(parameters, now, say),
        lead=_lead(parameters, now, say),
        holds=_holds(parameters, now, say),
        parts=(
            _suspicion(parameters, now, say),
            _effect(parameters, now, say),
            Part("not-protected", say("What is not protected"), items=limits(parameters, now, say)),
            _contact(parameters, now, say),
            Part("questions", say("Questions and answers"), items=answers(parameters, now, say)),
        ),
        experts=Part("experts", say("For experts: the exact figures"), before=_exact(parameters, now, say)),
    )


def _holds(parameters: Parameters, now: Situation, say: Voice) -> Item:
    standing, visits = now.standing(parameters), ""
    if parameters.visit_classes:
        visits = say("never for reports of class {classes}", classes=say.one_of(parameters.visit_classes))
    if not is_made(parameters):
        return Item(say("no: there is none"), "")
    if standing == "lost":
        return Item(say("no, for no report"), "")
    if standing == "lapsed":
        return Item(say("no, not until {since}", since=now.since(say)), visits)
    if now.coverage.lapses:
        return _holds_again(now, visits, say)
    until = say("an order by hand can end the promise: see “What is not protected”")
    if now.is_past:
        return Item(say("yes, for reports made before it ended"), visits if now.ended else until)
    covered = say.one_of([one.name for one in drawn_classes(parameters)])
    held = say("yes, for reports of class {classes}", classes=covered) if visits else say("yes, for all reports")
    so_far = say("not lost so far")
    return Item(held, say.language.locale.semicolon.join(filter(None, (visits, so_far, until))))


def _holds_again(now: Situation, visits: str, say: Voice) -> Item:
    """After a lapse."""
    since = now.since(say)
    if now.is_past:
        return Item(say("yes, for reports made from {since} on", since=since), visits or say("not for earlier ones"))
    earlier = say("not for reports made before {since}", since=since)
    return Item(say("yes, for new reports"), say.language.locale.semicolon.join(filter(None, (earlier, visits))))


def _first(parameters: Parameters, now: Situation, say: Voice) -> str:
    standing = now.standing(parameters)
    if not is_made(parameters):
        return say(
            "This programme promises nothing to you: the {audits} may show your boss that you reported. Do not rely on "
            "them to hide it."
        )
    if standing == "lost":
        return say("This programme promises nothing about any report. There are no more draws for which it could.")
    if standing == "lapsed":
        return _not_yet(now, say)
    return " ".join((limit_of_one(parameters, now, say), *_for_later_ones(now, say)))


def _lead(parameters: Parameters, now: Situation, say: Voice) -> str:
    most = in_most_cases(parameters, now, say)
    return " ".join((most, *_for_later_ones(now, say))) if most else _first(parameters, now, say)


def _for_later_ones(now: Situation, say: Voice) -> tuple[str, ...]:
    """From when on a limit holds, after a lapse."""
    if not now.coverage.lapses:
        return ()
    return (say("This is for reports made from {since} on.", since=now.since(say)),)


def _not_yet(now: Situation, say: Voice) -> str:
    gone = say("Nothing is promised about reports made before {since}.", since=now.since(say))
    wait = say("Wait until then if you can.")
    return f"{gone} {wait}"


def _suspicion(parameters: Parameters, now: Situation, say: Voice) -> Part:
    capped, standing = is_capped(parameters), now.standing(parameters)
    title = say("Can your boss find out that you reported?")
    if standing == "lost":
        return Part("promise", title, before=(say("The {audits} may show it. Nothing is promised about any report."),))
    table = Table(caption(parameters, now, say), head(parameters, now, say), rows(parameters, say))
    if not is_made(parameters):
        return Part("promise", title, table=table, after=(say("“No limit” means that your boss may become sure."),))
    proven = (
        say(
            "For reports made from then on, the limits in this table are mathematically proven, as long as the office "
            "keeps to its rules. That goes even if your boss sees every {audit} there ever was, knows how the draw "
            "works and knows every other report."
        )
        if standing == "lapsed"
        else say(
            "This is mathematically proven, if the office kept to its rules. It holds even if your boss saw every "
            "{audit} there ever was, knows how the draw worked and knows every other report."
        )
        if now.is_past
        else say(
            "This is mathematically proven, as long as the office keeps to its rules. It holds even if your boss sees "
            "every {audit} there ever was, knows how the draw works and knows every other report."
        )
    )
    if capped and standing == "holds":
        unproven = say(
            "So draws alone never prove it, unless your boss knows already that you or one of a few others reported. "
            "Other things may: see “What is not protected”."
        )
        proven = f"{proven} {unproven}"
    rounded = [
        say("The numbers are rounded up. Your boss can also become less sure than before."),
        *_hardly_sure(parameters, now, say),
    ]
    if parameters.figures:
        rounded.append(say("The table counts what the yearly numbers tell as well."))
    if not capped:
        rounded.append(all_cases(say))
    return Part(
        "promise",
        title,
        before=(
            *_classes(parameters, now, say),
            proven,
            *_on_average(parameters, now, say),
            *yearly_numbers(parameters, now, say),
            *(() if capped else (_guesses(say),)),
        ),
        table=table,
        after=(
            " ".join(rounded),
            *_cases(parameters, now, say),
            *until(parameters, now, say),
        ),
    )


def _cases(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """What holds in single cases where there is no likelihood cap, as far as it does not lead."""
    if is_capped(parameters):
        return ()
    if in_most_cases(parameters, now, say):
        return with_several(parameters, say)
    return (single_case(parameters, now, say),)


def _hardly_sure(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """The limit on a boss who suspects almost no one, where each report in the programme has one."""
    if not is_capped(parameters) or parameters.visit_classes or now.is_past or now.standing(parameters) != "holds":
        return ()
    guarantee = filed_in(parameters, heaviest_class(parameters)).guarantee
    assert guarantee is not None
    sure = sure_at_most(guarantee, HARDLY_SURE)
    assert sure is not None
    before = say.figure(in_hundred(HARDLY_SURE))
    return (
        say(
            "If you report once, a boss who was only {before} % sure can become at most {sure} % sure.",
            before=before,
            sure=say.figure(sure),
        ),
    )


def _on_average(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """How often a guess is right, where what holds in most cases leads."""
    if not in_most_cases(parameters, now, say):
        return ()
    return (limit_of_one(parameters, now, say),)


def _guesses(say: Voice) -> str:
    """What leads to the table of guesses."""
    return say(
        "Without watching, a boss who is 80 % sure that you reported is right 80 times in 100. A boss who is only "
        "20 % sure guesses that you did not report, and is right just as often."
    )


def _classes(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """What the classes are, where there are several and no warning has told it."""
    if len(parameters.classes) == 1 or parameters.visit_classes or now.is_past:
        return ()
    return (classes_in_words(parameters, say),)


def _exact(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    if now.standing(parameters) == "lost":
        return (say("No limit covers any report: the promise was lost, and no draw comes after that."),)
    if now.coverage.lapses:
        since = say("These figures are about reports made from {since} on.", since=now.since(say))
        return (since, *exact_figures(parameters, say, ended=now.is_past))
    return exact_figures(parameters, say, ended=now.is_past)


def _effect(parameters: Parameters, now: Situation, say: Voice) -> Part:
    title = say("What your report does")
    if now.is_past:
        return Part("effect", title, before=(
            say("A new report changes nothing: the programme has ended, and there are no more draws."),
            say("A report from before the end counted in every draw until the {target} was {audited}. If that did not "
                "happen, the report leads to no {audit} here any more. Ask where you can report it now."),
        ))  # fmt: skip
    if now.is_over(parameters):
        nothing = say("Nothing: the programme has ended, and there are no more draws.")
        return Part("effect", title, before=(nothing, *still_visited(parameters, now, say)))
    if now.takes_no_more(parameters):
        nothing = say("Nothing: only the last draw is still to come, and it counts no new report.")
        return Part("effect", title, before=(nothing, *still_visited(parameters, now, say)))
    if parameters.audits >= now.n_targets:
        return Part(
            "effect", title, before=(say("Every {target} is {audited} in every round, with reports and without."),)
        )
    told = effects(parameters, now, say)
    return Part(
        "effect",
        title,
        before=(
            " ".join((
                say("Your report makes it more likely that this {target} is {audited}. It counts in every draw until "
                    "this happens."),
                *still_drawn_with(parameters, say),
                *_by_others(parameters, now, say),
            )),
            say("No report forces {an_audit} in the next draw, and the draw also selects {targets} without any report. "
                "So a draw never proves that there was a report. {An_audit} outside the draw may. The record marks "
                "it.")
            if is_capped(parameters) else
            say("No report forces {an_audit} in the next draw, and the draw also selects {targets} without any report. "
                "So one draw alone never proves that there was a report. {An_audit} outside the draw may. The record "
                "marks it."),
        ),
        table=_effects(parameters, now, told, say) if told else None,
        after=(
            *_whose_reports(parameters, now, told, say),
            " ".join(circumstances(parameters, now.n_targets, bool(told), say)),
        ),
    )  # fmt: skip


def _by_others(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """That their reports help, and cost nothing of what is promised now."""
    if now.standing(parameters) != "holds" or not is_made(parameters):
        return ()
    return (
        say("Reports that other people make about it on their own can help, too. They do not raise the numbers above."),
    )


def _effects(parameters: Parameters, now: Situation, told: Sequence[Effect], say: Voice) -> Table:
    """What a report does beside what it gives away, where anything is promised about that now, in single cases."""
    title = say("While nothing is reported about any other {target}")
    columns = (say("Reports"), say("Chance in the next draw"), say("Wait, on average"))
    if not _tells_risk(parameters, now):
        return Table(title, columns, tuple((one.reports, one.chance, one.wait) for one in told))
    risks = tuple((one.reports, one.chance, one.wait, one.risk) for one in told)
    return Table(title, (*columns, say("A boss who was 50 % sure becomes")), risks)


def _tells_risk(parameters: Parameters, now: Situation) -> bool:
    return now.standing(parameters) == "holds" and is_made(parameters) and is_capped(parameters)


def _whose_reports(parameters: Parameters, now: Situation, told: Sequence[Effect], say: Voice) -> tuple[str, ...]:
    """That the risk of several reports is that of one person who made all; with classes, each row is one report."""
    if not told or len(parameters.classes) > 1 or not _tells_risk(parameters, now):
        return ()
    return (say("The last column is for one person who made all these reports."),)


def _contact(parameters: Parameters, now: Situation, say: Voice) -> Part:
    title, details = say("How to report"), now.details
    if now.is_past:
        elsewhere = say(
            "Reports do not count here any more, since the programme has ended. Ask the office, a union or an advice "
            "centre where you can report now. Do not ask at work."
        )
        contact = "" if details is None else details.contact or ""
        return Part("contact", title, before=(elsewhere,), facts=(Fact(say("Contact"), contact),) if contact else ())
    device = say("Use a device and a connection of your own, and not those at work.")
    wait = (_not_yet(now, say),) if now.standing(parameters) == "lapsed" else ()
    danger = say("If a person is in danger, do not wait: call people who can act at once.")
    if details is None:
        asked = say(
            "The office has not published here how to report. Look for its hotline on its own website, or ask a union "
            "or an advice centre. Do not ask at work."
        )
        return Part("contact", title, before=(*wait, f"{asked} {device}", danger))
    told = (
        Fact(say("Hotline"), details.hotline or "", details.link),
        Fact(say("Contact"), details.contact or ""),
        Fact(say("Valid since"), day_in_words(date.fromisoformat(details.day), say).words),
    )
    return Part("contact", title, before=(*wait, device, danger), facts=tuple(fact for fact in told if fact.text))
