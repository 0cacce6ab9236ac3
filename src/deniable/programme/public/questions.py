"""What the promise leaves unprotected, and answers to the questions of a person who considers a report."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from deniable.languages.voice import Voice
from deniable.programme.calendar import due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import filed_in, heaviest_class, is_made, nearly_sure, right_at_most


class Item(NamedTuple):
    """A few words in bold, and what they are about."""

    title: str
    text: str


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
            if now.ended else
            say("A report of class {classes} leads to a visit at once. The record says why the office came.",
                classes=classes),
        ))  # fmt: skip
    told += [
        Item(say("Several reports."), say("The more often you report, the more can show.")),
        Item(say("A choice between two people."), two_people(parameters, now, say)),
        Item(
            say("People who report together."),
            say("If your boss thinks that you and others reported together or not at all, all these reports count as "
                "one person's. The more there are, the more can show."),
        ),
        Item(
            say("The way you report."),
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
            say("What people know already."),
            say("If you complained in the open, your boss needs no {audit} to suspect you."),
        ),
        Item(
            say("The hotline and the office."),
            say("The people who take your report read what you write. The office can see how many reports there are. "
                "You have to trust them to count your report and to keep it secret."),
        ),
    ]  # fmt: skip
    if parameters.figures:
        told.append(Item(
            say("The yearly numbers."),
            say("They are noisy, but there is no limit in a single case: now and then a number may point to a report."),
        ))  # fmt: skip
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
            say("A thief who has an old backup and the key of the office can read how many reports there were.")
            if now.ended else
            say("A thief who has the records and the key of the office can read how many reports there are."),
        ),
        Item(
            say("Revenge."),
            say("An unfair boss may act on a hunch. No method can stop that. Many countries have laws against it. Ask "
                "a union, a lawyer or an advice centre how the law helps you."),
        ),
    )  # fmt: skip


def two_people(parameters: Parameters, now: Situation, say: Voice) -> str:
    """What holds if a boss is sure that exactly one of two people reported."""
    standing = now.standing(parameters)
    advice = say("If only two people could know, get advice first.")
    more = say("If your boss is sure that it was you or one other person, the {audits} can show more.")
    if standing == "lost":
        return f"{more} {advice}"
    same = (
        say(
            "If both of you would report the same {target} before the same draw, with a report of the same class, the "
            "{audits} show nothing about which of you it was."
        )
        if len(parameters.classes) > 1
        else say(
            "If both of you would report the same {target} before the same draw, the {audits} show nothing about which "
            "of you it was."
        )
    )
    right = _right_one(parameters, 1)
    if right is None:
        none = say("If your boss is sure that it was you or one other person, nothing is promised.")
        return f"{none} {same} {advice}"
    told = [more]
    if standing == "lapsed":
        told.append(say("When the promise holds again, these limits hold."))
    told.append(
        say(
            "Without watching, a boss picks the right one 50 times in 100. With watching, if there is one report, a "
            "boss picks the right one at most {right} times in 100.",
            right=say.figure(right),
        )
    )
    promised = parameters.reports_per_person
    if promised > 1:
        several = _right_one(parameters, promised)
        told.append(
            say.counted(
                "With up to {number} report each, nothing is promised.",
                "With up to {number} reports each, nothing is promised.",
                promised,
            )
            if several is None
            else say.counted(
                "With up to {number} report each, it is at most {right} times in 100.",
                "With up to {number} reports each, it is at most {right} times in 100.",
                promised,
                right=say.figure(several),
            )
        )
    told.append(say("In a few cases the {audits} may make your boss nearly sure which of you it was."))
    return " ".join((*told, same, advice))


def _right_one(parameters: Parameters, reports: int) -> str | None:
    """How often, in 100, the right one of two is picked at most; None where nothing is promised."""
    guarantee = filed_in(parameters, heaviest_class(parameters), reports).guarantee
    assert guarantee is not None
    return right_at_most(guarantee.between_two())


def single_case(parameters: Parameters, lapsed: bool, say: Voice) -> str:
    """What may happen in single cases, where there is no likelihood cap; from then on, while the promise has lapsed."""
    most, promised = heaviest_class(parameters), parameters.reports_per_person
    one, several = (filed_in(parameters, most, reports).guarantee for reports in (1, promised))
    assert one is not None
    assert several is not None
    often = nearly_sure(one)
    rare = (
        say("In a few cases the {audits} may make your boss nearly sure.")
        if math.isinf(parameters.guarantee_of_audits().likelihood_cap)
        else say("In a few cases the yearly numbers may make your boss nearly sure.")
    )
    if often is None:
        return rare
    once = (
        say(
            "From then on, if you report once and your boss is 50 % sure, then your boss becomes 90 % sure or more at "
            "most {often} times in 100.",
            often=say.figure(often),
        )
        if lapsed
        else say(
            "If you report once, and your boss is 50 % sure, then your boss becomes 90 % sure or more at most {often} "
            "times in 100.",
            often=say.figure(often),
        )
    )
    if promised == 1:
        return f"{rare} {once}"
    more = nearly_sure(several)
    repeated = (
        say.counted(
            "With {number} report there is no such limit.", "With {number} reports there is no such limit.", promised
        )
        if more is None
        else say.counted(
            "With up to {number} report it is at most {often} times in 100.",
            "With up to {number} reports it is at most {often} times in 100.",
            promised,
            often=say.figure(more),
        )
    )
    return f"{rare} {once} {repeated}"


def answers(parameters: Parameters, now: Situation, say: Voice) -> tuple[Item, ...]:
    """To what people ask."""
    return (
        *(_to_a_reporter(parameters, now, say) if now.ended else _before_a_report(parameters, now, say)),
        Item(say("What if a person is in danger?"), _danger(parameters, now, say)),
        *(() if now.ended else (_take_back(say), _lost_key(say))),
        Item(say("What if the office breaks its rules?"), _broken(now, say)),
        Item(
            say("How can I check all this?"),
            say("You can check that the record is complete and unchanged, and that the rules allowed each draw. The "
                "record marks each {audit} that was ordered by hand. You cannot check that the office counts each "
                "report. That is a matter of trust."),
        ),
    )  # fmt: skip


def _before_a_report(parameters: Parameters, now: Situation, say: Voice) -> Iterator[Item]:
    yield Item(say("What happens after I report?"), _after(parameters, now, say))
    yield Item(say("Who sees my text and my name?"), _who_sees(parameters, now, say))
    yield Item(
        say("Can a court get my name or my text?"),
        say("A court may order the people who took your report to hand out what they have: your text, and your "
            "name if you gave it. The programme has only numbers of reports, and a code for each. A court may "
            "order these as well."),
    )  # fmt: skip
    yield Item(
        say("Do I have to give my name?"),
        say("The programme does not need it. Before you write anything, ask if you can report without a name."),
    )
    if len(parameters.classes) > 1:
        yield Item(say("Who decides the class of my report?"), _class(parameters, say))


def _to_a_reporter(parameters: Parameters, now: Situation, say: Voice) -> Iterator[Item]:
    """After the end, to a person who reported before."""
    yield Item(say("Is my report deleted now?"), _deleted(parameters, say))
    yield Item(say("Who sees my text and my name?"), _who_sees(parameters, now, say))
    yield Item(
        say("Can a court get my name or my text?"),
        say("A court may order the people who took your report to hand out what they have: your text, and your name "
            "if you gave it. The programme never had these. Old backups of the office have numbers of reports and "
            "codes. A court may order these as well, until the office destroys them."),
    )  # fmt: skip


def _deleted(parameters: Parameters, say: Voice) -> str:
    told = say(
        "When the programme ended, it deleted its numbers of reports and its codes. Old backups of the office have "
        "them until the office destroys these. The people who took your report may still have your text. Ask them."
    )
    return f"{told} {say('The oversight body can read how many reports there were.')}" if parameters.oversight else told


def _lost_key(say: Voice) -> Item:
    return Item(
        say("What if the office loses its key?"),
        say("Without its key the office cannot count or draw. If there is no copy of the key, the programme stops for "
            "good. Then a report that waits leads to no {audit}, and the office cannot read its numbers of reports any "
            "more. The record stays, but it cannot say why: you only see that draws are late. Ask where you reported "
            "if you should report again. Two reports can show more than one. A lost key gives nothing away. A stolen "
            "one may: see “Theft” above."),
    )  # fmt: skip


def _take_back(say: Voice) -> Item:
    return Item(
        say("Can I take my report back?"),
        say("Usually not. A report that a person entered by hand can be taken out until the round closes: ask where "
            "you reported. A report from the file of the hotline stays. It counts until the {target} is {audited}."),
    )  # fmt: skip


def _after(parameters: Parameters, now: Situation, say: Voice) -> str:
    if now.is_over(parameters):
        return say("Nothing, as far as this programme goes. It has ended, and there are no more draws.")
    return say(
        "The hotline tells the programme that there is one more report about this {target}. The next draw is due on "
        "{due}. That date does not change because of a report. Your report counts in every draw until the {target} is "
        "{audited}. No one tells you why {a_target} was drawn: the draw leaves no reason.",
        due=due_in_words(parameters.calendar, now.open_round, say).words,
    )


def _who_sees(parameters: Parameters, now: Situation, say: Voice) -> str:
    sentences = [
        say(
            "The people who take your report, at the hotline or in the office, read what you write. They learn your "
            "name if you give it."
        ),
        say(
            "The programme got no name and no text. It had how many reports there were about each {target}, and the "
            "office could see that."
        )
        if now.ended
        else say(
            "The programme gets no name and no text. It keeps how many reports there are about each {target}, and the "
            "office can see that. It also keeps a code for your report, so that it is not counted twice. The code says "
            "nothing about you."
        ),
    ]
    if parameters.oversight and not now.ended:
        sentences.append(say("The oversight body can read how many reports there were."))
    sentences.append(
        say("The public sees whom the office visits, and the yearly numbers.")
        if parameters.figures
        else say("The public sees whom the office visits.")
    )
    sentences.append(say("It also sees the reason, where the office ordered {an_audit} by hand."))
    if parameters.visit_classes:
        classes = say.one_of(parameters.visit_classes)
        sentences.append(say("A visit because of a report of class {classes} is marked as one.", classes=classes))
    return " ".join(sentences)


def _class(parameters: Parameters, say: Voice) -> str:
    chosen = say("The people who enter your report choose it. Tell them which class you want.")
    if not parameters.visit_classes:
        return chosen
    refused = say(
        "Say so if you do not want class {classes}. That they keep to it is a matter of trust.",
        classes=say.one_of(parameters.visit_classes),
    )
    return f"{chosen} {refused}"


def _danger(parameters: Parameters, now: Situation, say: Voice) -> str:
    call = say("Do not wait for a draw. Call people who can act at once.")
    if not parameters.visit_classes or now.ended:
        return call
    classes = say.one_of(parameters.visit_classes)
    visit = say("A report of class {classes} also leads to a visit at once, but it is not protected.", classes=classes)
    if now.standing(parameters) != "holds" or not is_made(parameters):
        return f"{call} {visit}"
    own = say(
        "If another person reports danger, your own report keeps its protection, unless it is of class {classes}.",
        classes=classes,
    )
    return f"{call} {visit} {own}"


def _broken(now: Situation, say: Voice) -> str:
    told = [
        say(
            "The office can order {an_audit} by hand. The record shows this for good. If the office does not declare "
            "that no report led to it, the promise is lost for all reports made before the round ends. Then this page "
            "says so at the top."
        )
    ]
    if now.coverage.lapses:
        told.append(say("Now nothing is promised about reports made before {since}.", since=now.since(say)))
    return " ".join((*told, say("Whether the office tells the truth is a matter of trust.")))
