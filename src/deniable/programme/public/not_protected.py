"""What the promise leaves unprotected, in the words of a person who considers a report."""

from typing import NamedTuple

from deniable.languages.voice import Voice
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import filed_in, heaviest_class, is_made, right_at_most
from deniable.programme.public.suspicion_wording import all_cases, of_the_first, rare_case


class Item(NamedTuple):
    """A few words in bold, what they are about, and cases of it, if there are any."""

    title: str
    text: str
    cases: tuple[str, ...] = ()


def limits(parameters: Parameters, now: Situation, say: Voice) -> tuple[Item, ...]:
    """What is not protected."""
    told = []
    if now.coverage.lapses:
        told.append(Item(
            say("A report made before {since}.", since=now.since(say)),
            say("Nothing is promised about it, whatever {target} it was about."),
        ))  # fmt: skip
    if parameters.visit_classes:
        classes = say.one_of(parameters.visit_classes)
        told.append(Item(
            say("An emergency."),
            say("A report of class {classes} led to a visit at once. The record says why the office came.",
                classes=classes)
            if now.is_past else
            say("A report of class {classes} leads to a visit at once. The record says why the office came.",
                classes=classes),
        ))  # fmt: skip
    told += [
        Item(
            say("Several reports."),
            say("The more often you reported, the more can show.")
            if now.is_past else
            say("The more often you report, the more can show."),
        ),
        two_people(parameters, now, say),
        Item(
            say("People who report together."),
            say("If your boss thinks that you and others reported together or not at all, all these reports count as "
                "one person's. The more there are, the more can show."),
        ),
        Item(
            say("The way you report."),
            say("Your boss may have seen what you did on a phone, a computer or a network at work.")
            if now.is_past else
            say("Your boss may see what you do on a phone, a computer or a network at work. Use a device and a "
                "connection of your own."),
        ),
        Item(
            say("What you write."),
            say("If only three people know a thing, a report about it points to three people."),
        ),
        Item(
            say("Questions that give you away."),
            say("If the office asks only about what you reported, the people there can see what it was about."),
        ),
        Item(
            say("Timing that gives you away."),
            say("If the office entered, brought in or took back other reports because yours had come, or drew late "
                "because of it, the {audits} may show that. That the office did not do this is a matter of trust.")
            if now.is_past else
            say("If the office enters, brings in or takes back other reports because yours has come, or draws late "
                "because of it, the {audits} may show that. The office should do all this at fixed times. That it does "
                "is a matter of trust."),
        ),
        Item(
            say("What people know already."),
            say("If you complained in the open, your boss needs no {audit} to suspect you."),
        ),
        Item(
            say("The hotline and the office."),
            say("The people who took your report have read what you wrote. The office could see how many reports there "
                "were. Old backups show it until the office destroys them. You have to trust all these people to keep "
                "it secret.")
            if now.ended else
            say("The people who take your report read what you write. The office can see how many reports there are. "
                "You have to trust them to count your report and to keep it secret."),
        ),
    ]  # fmt: skip
    if is_made(parameters) and now.standing(parameters) != "lost" and not now.ended:
        told.append(Item(
            say("An order by hand."),
            " ".join((
                say("If the office orders {an_audit} by hand because of any report, all reports made before the round "
                    "ends lose the promise: yours too, whatever {target} it is about."),
                say("This does not mean that your boss knows of it."),
                *_no_order(parameters, say),
            )),
        ))  # fmt: skip
    if rare := rare_case(parameters, now, say):
        told.append(Item(say("A rare case."), rare))
    if parameters.oversight:
        told.append(Item(
            say("The oversight body."),
            say("It can read how many reports there were about each {target} in each round, even after the office has "
                "deleted them. You have to trust it, too. The rules of the programme name its key."),
        ))  # fmt: skip
    return (
        *told,
        Item(
            say("Theft."),
            _theft(now, say),
        ),
        Item(
            say("Revenge."),
            say("An unfair boss may act on a hunch. No method can stop that. Many countries have laws against it. Ask "
                "a union, a lawyer or an advice centre how the law helps you."),
        ),
    )  # fmt: skip


def _theft(now: Situation, say: Voice) -> str:
    numbers = (
        say("A thief who has an old backup and the key of the office can read how many reports there were.")
        if now.ended
        else say("A thief who has the records and the key of the office can read how many reports there are.")
    )
    text = say(
        "A thief or a hacker who breaks in where you reported can read what you wrote, and your name if you gave it."
    )
    return f"{numbers} {text}"


def _no_order(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """That an emergency is none, where there is a class of them."""
    if not parameters.visit_classes:
        return ()
    return (
        say(
            "A visit because of a report of class {classes} is no such order.",
            classes=say.one_of(parameters.visit_classes),
        ),
    )


def two_people(parameters: Parameters, now: Situation, say: Voice) -> Item:
    """What holds if a boss is sure that exactly one of two people reported."""
    standing = now.standing(parameters)
    title = say("Only you or one other person.")
    advice = (
        say("Get advice if you are worried.")
        if now.is_past
        else say("If only two people could know, get advice first.")
    )
    more = say("If your boss is sure that it was you or one other person, the {audits} can show more.")
    if standing == "lost":
        return Item(title, f"{more} {advice}")
    same = (
        say(
            "Would both reports be about the same {target} and have the same class? Would they count from the same "
            "draw on? And does nothing new come into the record between them? Then the {audits} show nothing about "
            "which of you it was."
        )
        if len(parameters.classes) > 1
        else say(
            "Would both reports be about the same {target}? Would they count from the same draw on? And does nothing "
            "new come into the record between them? Then the {audits} show nothing about which of you it was."
        )
    )
    right = _right_one(parameters, 1)
    if right is None:
        none = say("If your boss is sure that it was you or one other person, nothing is promised.")
        return Item(title, f"{none} {advice}", (same,))
    told = [
        say(
            "In all other cases, a boss who only guesses is right 50 times in 100. After watching, it is at most "
            "{right} times in 100 for one report.",
            right=say.figure(right),
        ),
        *of_the_first(parameters, say),
    ]
    promised = parameters.reports_per_person
    if promised > 1:
        several = _right_one(parameters, promised)
        told.append(
            say("If each of you made several reports, nothing is promised.")
            if several is None
            else say.counted(
                "With up to {number} report each, it is at most {right} times in 100.",
                "With up to {number} reports each, it is at most {right} times in 100.",
                promised,
                right=say.figure(several),
            )
        )
    told += [all_cases(say), say("In a single case your boss may become nearly sure.")]
    later = (say("When the promise holds again, these limits hold."),) if standing == "lapsed" else ()
    return Item(title, " ".join((more, advice, *later)), (same, " ".join(told)))


def _right_one(parameters: Parameters, reports: int) -> str | None:
    """How often, in 100, the right one of two is picked at most; None where nothing is promised."""
    guarantee = filed_in(parameters, heaviest_class(parameters), reports).guarantee
    assert guarantee is not None
    return right_at_most(guarantee.between_two())
