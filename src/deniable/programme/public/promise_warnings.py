"""What a person who considers a report must read before the promise: that it has lapsed, that the programme has
ended, and which reports lead to a visit at once.
"""

from dataclasses import dataclass

from deniable.languages.voice import Voice
from deniable.programme.calendar import day_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.guarantee_wording import classes_in_words
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import is_made


@dataclass(frozen=True)
class Warned:
    """What must be read before anything else."""

    title: str
    paragraphs: tuple[str, ...]
    is_lapse: bool = False
    is_grave: bool = False
    """Whether nothing is promised, as opposed to what concerns some reports only."""
    is_end: bool = False
    """Whether the office ended the programme."""

    @property
    def text(self) -> str:
        return " ".join(self.paragraphs)


def warnings_of(parameters: Parameters, now: Situation, say: Voice) -> tuple[Warned, ...]:
    told = []
    if now.is_over(parameters):
        no_more = say("There are no more draws, and a new report changes nothing here.")
        told.append(Warned(
            say("This programme has ended."),
            (_end(parameters, now, say) if now.is_past else " ".join((no_more, *still_visited(parameters, now, say))),),
            is_end=now.ended,
        ))  # fmt: skip
    elif now.takes_no_more(parameters):
        no_more = say("It counts no new report: a new report changes nothing here.")
        told.append(Warned(
            say("Only the last draw is still to come."), (" ".join((no_more, *still_visited(parameters, now, say))),)
        ))  # fmt: skip
    if now.coverage.lapses:
        told.append(_lapse(parameters, now, say))
    if now.is_past:
        return tuple(told)
    if parameters.visit_classes:
        told.append(_visits(parameters, now, say))
    if now.is_paused:
        told.append(Warned(
            say("Some reports do not count now."),
            (say("The office lost records and went on from a backup. Until it has sorted this out, reports from a "
                 "hotline do not count, now or later. Ask the office before you report."),),
        ))  # fmt: skip
    return tuple(told)


def _end(parameters: Parameters, now: Situation, say: Voice) -> str:
    after = say(
        "There are no more draws. Visits that were drawn before may still take place. A new report changes nothing "
        "here: report it elsewhere. If a person is in danger, call people who can act at once."
    )
    after = " ".join((*(kept_at_the_end(parameters, now, say) if now.ended else ()), after))
    if parameters.horizon is not None and now.open_round > parameters.horizon:
        return after
    calendar = parameters.calendar
    ended = say(
        "It ended in round {round}, which began on {begun}: the draw planned for {day} was cancelled.",
        round=now.open_round,
        begun=day_in_words(calendar.first_day(now.open_round), say).words,
        day=day_in_words(calendar.day(now.open_round), say).words,
    )
    return f"{ended} {after}"


def kept_at_the_end(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """That reports keep what is promised about them when the programme ends, where anything is."""
    if not is_made(parameters) or now.standing(parameters) == "lost":
        return ()
    if now.coverage.lapses or parameters.visit_classes:
        return (say("What is promised about reports made before the end stays promised after it."),)
    return (say("The promise stays for all reports made before the end."),)


def still_visited(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """That an emergency needs no draw, where there are no more of them and the programme has not ended."""
    if now.ended or not parameters.visit_classes:
        return ()
    classes = say.one_of(parameters.visit_classes)
    return (say("Only a new report of class {classes} still leads to a visit.", classes=classes),)


def _visits(parameters: Parameters, now: Situation, say: Voice) -> Warned:
    classes, standing = say.one_of(parameters.visit_classes), now.standing(parameters)
    if not is_made(parameters) or standing == "lost":
        others = say("Reports of the other classes count in the draw.")
    elif standing == "lapsed":
        others = say(
            "Reports of the other classes made from {since} on stay protected after such a visit.",
            since=now.since(say),
        )
    else:
        others = say("Reports of the other classes stay protected after such a visit.")
    visit = say(
        "The office visits at once after a report of class {classes}. The public record then names the {target} and "
        "the class of the report, and not the person. So anyone can see that there was such a report.",
        classes=classes,
    )
    refused = say(
        "Say so if you do not want class {classes}. That they keep to it is a matter of trust.", classes=classes
    )
    title = say("A report of class {classes} is not protected.", classes=classes)
    return Warned(title, (f"{visit} {others}", f"{classes_in_words(parameters, say)} {refused}", *now.reached(say)))


def _lapse(parameters: Parameters, now: Situation, say: Voice) -> Warned:
    standing, last, since = now.standing(parameters), now.coverage.last, now.since(say)
    assert last is not None
    why = " ".join((
        say(last.because),
        say("So the promise was lost."),
    ))  # fmt: skip
    gone = say("Nothing is promised about reports made before {since}.", since=since)
    about = say("This is about every report made before then, whatever {target} it was about.")
    advice = say(
        "Did you report before then? This does not mean that your boss knows of it. Get advice if you are worried."
    )
    counts = _still_counts(parameters, now, say)
    second = say("A second report does not protect the first one.")
    told: tuple[str, ...]
    if standing == "lapsed":
        title = gone
        later = say(
            "Reports made from then on are covered, unless the promise is lost once more. Look here again before you "
            "report."
        )
        wait = [
            say("Do not report before then if you need this protection."),
            *((later,) if is_made(parameters) else ()),
            say("If a person is in danger, do not wait: call people who can act at once."),
        ]
        reported = (
            say("Have you reported already? Then nothing is promised about that report."),
            say("This does not mean that your boss knows of it."),
            *counts,
            say("Get advice if you are worried."),
            second,
        )
        told = (" ".join(wait), f"{why} {gone} {about}", " ".join(reported))
    elif standing == "lost":
        title = say("Nothing is promised about any report.")
        told = (" ".join((why, gone, say("No draw comes after that."), about)), advice)
    else:
        title = say("The promise does not cover all reports.")
        covered = say("Reports made since then are covered.")
        told = (" ".join((why, gone, about, covered)), " ".join((advice, *counts, second)))
    return Warned(title, told, is_lapse=True, is_grave=standing != "holds")


def _still_counts(parameters: Parameters, now: Situation, say: Voice) -> tuple[str, ...]:
    """That a report about which nothing is promised is not lost for the draws."""
    if now.is_over(parameters):
        return ()
    return (say("A report that counts goes on counting until the {target} is {audited} or leaves the programme."),)
