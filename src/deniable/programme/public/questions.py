"""Answers to the questions of a person who considers a report."""

from collections.abc import Iterator

from deniable.languages.voice import Voice
from deniable.programme.calendar import due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.guarantee_wording import who_chooses
from deniable.programme.public.not_protected import Item
from deniable.programme.public.promise_warnings import kept_at_the_end
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import is_made
from deniable.programme.randomness.source import is_foreseeable


def answers(parameters: Parameters, now: Situation, say: Voice) -> tuple[Item, ...]:
    """To what people ask."""
    return (
        *(_to_a_reporter(parameters, now, say) if now.ended else _before_a_report(parameters, now, say)),
        Item(say("What if a person is in danger?"), " ".join((_danger(parameters, now, say), *now.reached(say)))),
        *(() if now.is_past else (_take_back(say), _lost_key(say), _lost_records(say))),
        *(() if now.ended else (_at_the_end(parameters, now, say),)),
        *(() if now.is_past else (_chosen(parameters, say),)),
        _broken(now, say),
        Item(
            say("How can I check all this?"),
            say("Keep a copy of the record. Then you can check later that nothing in it was changed or taken out. You "
                "can also check that the rules allowed each draw. You cannot check that no {audit} was hidden, or that "
                "the office counts each report. That is a matter of trust."),
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
    if now.is_past:
        return
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
            "if you should report again. Two reports can give away more than one report does. A lost key gives "
            "nothing away. A stolen one may: see “Theft” above."),
    )  # fmt: skip


def _lost_records(say: Voice) -> Item:
    return Item(
        say("What if the office loses its records?"),
        say("It goes on from a backup, and the record shows this. Reports may be lost then, above all those that came "
            "in after the backup. If a draw was lost, too, the promise is lost for all reports made before "
            "the round ends, and this page says so at the top. With a backup, a report may also count twice, and show "
            "as much as two reports. Without a backup the programme stops for good. Ask where you reported if you "
            "should report again. Two reports can give away more than one report does."),
    )  # fmt: skip


def _at_the_end(parameters: Parameters, now: Situation, say: Voice) -> Item:
    told = [
        say("There are no more draws then. A report that still waits leads to no {audit} here: ask where you can "
            "report it."),
        say("The programme deletes its numbers of reports and its codes. Old backups have them until the office "
            "destroys these."),
    ]  # fmt: skip
    return Item(say("What happens when the programme ends?"), " ".join((*told, *kept_at_the_end(parameters, now, say))))


def _chosen(parameters: Parameters, say: Voice) -> Item:
    title = say("Can the office choose whom to visit?")
    by_hand = say("By hand it can: see the next question. The draw should leave it no choice.")
    counts = say("You cannot see if the office counts reports that it made up.")
    number = say("It depends on a random number of the office.")
    if parameters.randomness is None:
        chosen = say(
            "No one outside can see how the office chose this number. On the day it is fixed, a dishonest office could "
            "try several numbers, see whom each would draw from the reports that wait, and keep the one it likes. "
            "Reports that come in later make this less sure. A number from outside the office would prevent it: this "
            "programme does not use any."
        )
        return Item(title, f"{by_hand} {number} {chosen} {counts}")
    if is_foreseeable(parameters.randomness):
        value = " ".join((
            say("It also depends on a public value. This value is not drand’s own: a person with the key that makes "
                "it, perhaps in the office, can know all values before they are public."),
            chosen_by_an_office_that_knows(say),
        ))  # fmt: skip
        return Item(title, f"{by_hand} {number} {value} {counts}")
    value = say(
        "It also depends on a public value, which comes out only when the office has fixed its own number and the "
        "reports. So the office cannot look for a result that it likes. If it draws without the value, or does not "
        "draw, the record shows this for good."
    )
    return Item(title, f"{by_hand} {number} {value} {counts}")


def chosen_by_an_office_that_knows(say: Voice) -> str:
    """The values of its draws in advance."""
    return say(
        "An office that knows them can look for a result that it likes, and the record does not show this. If it draws "
        "without the value, or does not draw, the record shows that for good."
    )


def _take_back(say: Voice) -> Item:
    return Item(
        say("Can I take my report back?"),
        say("Usually not. Ask at once where you reported. A report that a person at the office typed in can be taken "
            "out until the round closes. A report that the hotline sent in a list stays. It counts until the {target} "
            "is {audited}."),
    )  # fmt: skip


def _after(parameters: Parameters, now: Situation, say: Voice) -> str:
    if now.is_over(parameters):
        return say("Nothing, as far as this programme goes. It has ended, and there are no more draws.")
    if now.takes_no_more(parameters):
        return say(
            "Nothing, as far as this programme goes. Only its last draw is still to come, and it counts no new report."
        )
    told = say(
        "The hotline tells the programme that there is one more report about this {target}. The next draw that counts "
        "it is due on {due}. That date does not change because of a report. Your report counts in every draw until the"
        " {target} is {audited}, by draw or otherwise. {Audits} elsewhere change nothing about that. No one tells you "
        "why {a_target} was drawn: the draw leaves no reason.",
        due=due_in_words(parameters.calendar, now.open_round, say).words,
    )
    return " ".join((told, *still_drawn_with(parameters, say)))


def still_drawn_with(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """That what is frozen does not change, where rounds are frozen."""
    if parameters.randomness is None:
        return ()
    return (say("If a round was closed before {an_audit} and is drawn after it, its draw still counts your report."),)


def _who_sees(parameters: Parameters, now: Situation, say: Voice) -> str:
    sentences = [
        say(
            "The people who took your report, at the hotline or in the office, have read what you wrote. They know "
            "your name if you gave it."
        )
        if now.ended
        else say(
            "The people who take your report, at the hotline or in the office, read what you write. They learn your "
            "name if you give it."
        ),
        say(
            "The programme got no name and no text. It knew how many reports there were about each {target}, and the "
            "office could see that."
        )
        if now.ended
        else say(
            "The programme gets no name and no text. It keeps how many reports there are about each {target}, and the "
            "office can see that. It also keeps a code for your report, so that it is not counted twice by mistake. "
            "The code says nothing about you."
        ),
    ]
    if not now.ended:
        sentences.append(
            say(
                "The programme deletes the number when the {target} is selected for {an_audit}, and the code when the "
                "programme ends. Old backups have both until the office destroys them."
            )
        )
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
    chosen = who_chooses(say)
    if not parameters.visit_classes:
        return chosen
    refused = say(
        "Say so if you do not want class {classes}. That they keep to it is a matter of trust.",
        classes=say.one_of(parameters.visit_classes),
    )
    return f"{chosen} {refused}"


def _danger(parameters: Parameters, now: Situation, say: Voice) -> str:
    if now.is_past:
        return say("Call people who can act at once.")
    call, standing = say("Do not wait for a draw. Call people who can act at once."), now.standing(parameters)
    if not parameters.visit_classes:
        if standing == "lost" or not is_made(parameters):
            return call
        by_hand = say(
            "If the office orders {an_audit} by hand because of any report, all reports made before the round ends "
            "lose the promise: yours too, whatever {target} it is about. This page would say so at the top."
        )
        return f"{call} {by_hand}"
    classes = say.one_of(parameters.visit_classes)
    visit = say("A report of class {classes} also leads to a visit at once, but it is not protected.", classes=classes)
    gone = say(
        "The office then visits this {target}, so all other reports about it are settled: they count in no round that "
        "closes later."
    )
    if standing != "holds" or not is_made(parameters):
        return f"{call} {visit} {gone}"
    own = say(
        "If another person reports danger, your own report keeps its protection, unless it is of class {classes}.",
        classes=classes,
    )
    return f"{call} {visit} {gone} {own}"


def _broken(now: Situation, say: Voice) -> Item:
    gone = (
        (say("Nothing is promised about reports made before {since}.", since=now.since(say)),)
        if now.coverage.lapses
        else ()
    )
    unseen = say(
        "The record marks each draw that is a day late or more. It cannot show a false declaration, {an_audit} that "
        "the office hides, or a report that was not counted. There you have to trust the office."
    )
    if now.is_past:
        marked = say(
            "The record shows for good if the office ordered {an_audit} by hand, left out a draw or changed the list "
            "of {targets}. The promise was then lost for all reports made before the end of that round, unless the "
            "office declared that no report led to it. If the promise was lost, this page says so at the top. The "
            "promise is only about whom a draw selected. It is not kept if the office drew late because of a "
            "report, or let one report decide whether or when others counted. It is not about when the office drew, or "
            "when it ended the programme."
        )
        return Item(say("What if the office broke its rules?"), " ".join((marked, *gone, unseen)))
    told = (
        say(
            "The office can order {an_audit} by hand. The record shows this for good. The promise stays only if the "
            "office declares that no report led to it. If not, it is lost for all reports made before the round ends, "
            "and this page says so at the top."
        ),
        say("The same goes if it leaves out a draw, or changes the list of {targets}."),
        *gone,
        say(
            "The promise is only about whom a draw selects. It is not kept if the office draws late because of a "
            "report, or lets one report decide whether or when others count. It is not about when the office draws, or "
            "when it ends the programme."
        ),
        unseen,
    )
    return Item(say("What if the office breaks its rules?"), " ".join(told))
