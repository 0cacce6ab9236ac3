"""What the promise leaves unprotected, and answers to the questions of a person who considers a report."""

from typing import NamedTuple

from deniable.programme.calendar import due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion import NO_LIMIT, filed_in, heaviest_class, is_made, nearly_sure, right_at_most
from deniable.programme.transcript.coverage import either_class
from deniable.report_classes import ReportClass


class Item(NamedTuple):
    """A few words in bold, and what they are about."""

    title: str
    text: str


def limits(parameters: Parameters, now: Situation) -> tuple[Item, ...]:
    """What is not protected."""
    t, visits = parameters.terms, parameters.visit_classes
    told = []
    if now.coverage.lapses:
        told.append(Item(
            f"A report made before {now.since}.",
            f"Nothing is promised about it, whatever {t.target} it was about.",
        ))  # fmt: skip
    if visits:
        told.append(Item(
            "An emergency.",
            f"A report of {either_class(visits)} leads to a visit at once. The record says why the office came.",
        ))  # fmt: skip
    told += [
        Item("Several reports.", "The more often you report, the more can show."),
        Item("A choice between two people.", two_people(parameters, now)),
        Item(
            "People who report together.",
            "If your boss thinks that you and others reported together or not at all, all these reports count as one "
            "person's. The more there are, the more can show.",
        ),
        Item(
            "The way you report.",
            "Your boss may see what you do on a phone, a computer or a network at work. Use a device and a connection "
            "of your own.",
        ),
        Item(
            "What you write.",
            "If only three people know a thing, a report about it points to three people.",
        ),
        Item(
            "Questions that give you away.",
            "If the office asks only about what you reported, the people there can see what it was about.",
        ),
        Item(
            "What people know already.",
            f"If you complained in the open, your boss needs no {t.audit} to suspect you.",
        ),
        Item(
            "The hotline and the office.",
            "The people who take your report read what you write. The office can see how many reports there are. You "
            "have to trust them to count your report and to keep it secret.",
        ),
    ]
    if parameters.figures:
        told.append(Item(
            "The yearly numbers.",
            "They are noisy, but there is no limit in a single case: now and then a number may point to a report.",
        ))  # fmt: skip
    if parameters.oversight:
        told.append(Item(
            "The oversight body.",
            f"It can read how many reports there were about each {t.target} in each round, even after the office has "
            "deleted them. You have to trust it, too. The rules of the programme name its key.",
        ))  # fmt: skip
    return (
        *told,
        Item("Theft.", "A thief who has the records and the key of the office can read how many reports there are."),
        Item("Revenge.", "An unfair boss may act on a hunch. No method can stop that. Many countries have laws "
                         "against it. Ask a union, a lawyer or an advice centre how the law helps you."),
    )  # fmt: skip


def two_people(parameters: Parameters, now: Situation) -> str:
    """What holds if a boss is sure that exactly one of two people reported."""
    t, most = parameters.terms, heaviest_class(parameters)
    alike = ", with a report of the same class" if len(parameters.classes) > 1 else ""
    advice = "If only two people could know, get advice first."
    more = f"If your boss is sure that it was you or one other person, the {t.audits} can show more."
    if now.standing(parameters) == "lost":
        return f"{more} {advice}"
    same = (
        f"If both of you would report the same {t.target} before the same draw{alike}, the {t.audits} show nothing "
        "about which of you it was."
    )
    right = _right_one(parameters, most, 1)
    if right is None:
        return f"If your boss is sure that it was you or one other person, nothing is promised. {same} {advice}"
    told = [
        "When the promise holds again, these limits hold." if now.standing(parameters) == "lapsed" else "",
        "Without watching, a boss picks the right one 50 times in 100. With watching, if there is one report, a boss "
        f"picks the right one at most {right} times in 100.",
    ]
    promised = parameters.reports_per_person
    if promised > 1:
        several = _right_one(parameters, most, promised)
        told.append(
            f"With up to {promised:,} reports each, nothing is promised."
            if several is None
            else f"With up to {promised:,} reports each, it is at most {several} times in 100."
        )
    told.append(f"In a few cases the {t.audits} may make your boss nearly sure which of you it was.")
    return " ".join(one for one in (more, *told, same, advice) if one)


def _right_one(parameters: Parameters, one: ReportClass, reports: int) -> str | None:
    """How often, in 100, the right one of two is picked at most; None where nothing is promised."""
    together = filed_in(parameters, one, reports).together
    assert together is not None
    right = right_at_most(together.between_two())
    return None if right == NO_LIMIT else right


def single_case(parameters: Parameters, *, lapsed: bool) -> str:
    """What may happen in single cases, where there is no likelihood cap; from then on, while the promise has lapsed."""
    t, most, promised = parameters.terms, heaviest_class(parameters), parameters.reports_per_person
    one, several = (filed_in(parameters, most, reports).together for reports in (1, promised))
    assert one is not None
    assert several is not None
    often = nearly_sure(one)
    rare = f"In a few cases the {t.audits} may make your boss nearly sure."
    if often is None:
        return rare
    condition = (
        "From then on, if you report once and your boss is" if lapsed else "If you report once, and your boss is"
    )
    told = f"{rare} {condition} 50 % sure, then your boss becomes 90 % sure or more at most {often} times in 100."
    if promised == 1:
        return told
    more = nearly_sure(several)
    if more is None:
        return f"{told} With {promised:,} reports there is no such limit."
    return f"{told} With up to {promised:,} reports it is at most {more} times in 100."


def answers(parameters: Parameters, now: Situation) -> tuple[Item, ...]:
    """To what people ask."""
    t = parameters.terms
    told = [
        Item("What happens after I report?", _after(parameters, now)),
        Item("Who sees my text and my name?", _who_sees(parameters)),
        Item(
            "Can a court get my name or my text?",
            "A court may order the people who took your report to hand out what they have: your text, and your name if "
            "you gave it. The programme has only numbers of reports, and a code for each. A court may order these as "
            "well.",
        ),
        Item(
            "Do I have to give my name?",
            "The programme does not need it. Before you write anything, ask if you can report without a name.",
        ),
    ]  # fmt: skip
    if len(parameters.classes) > 1:
        told.append(Item("Who decides the class of my report?", _class(parameters)))
    return (
        *told,
        Item("What if a person is in danger?", _danger(parameters, now)),
        Item("Can I take my report back?", "Usually not. A report that a person entered by hand can be taken out "
             "until the round closes: ask where you reported. A report from the file of the hotline stays. It "
             f"counts until the {t.target} is {t.audited}."),
        Item("What if the office breaks its rules?", _broken(parameters, now)),
        Item(
            "How can I check all this?",
            "You can check that the record is complete and unchanged, and that the rules allowed each draw. The record "
            f"marks each {t.audit} that was ordered by hand. You cannot check that the office counts each report. That "
            "is a matter of trust.",
        ),
    )  # fmt: skip


def _after(parameters: Parameters, now: Situation) -> str:
    t = parameters.terms
    if now.is_over(parameters):
        return "Nothing, as far as this programme goes. It has ended, and there are no more draws."
    due = due_in_words(parameters.calendar, now.open_round).words
    return (
        f"The hotline tells the programme that there is one more report about this {t.target}. The next draw is due on "
        f"{due}. That date does not change because of a report. Your report counts in every draw until the {t.target} "
        f"is {t.audited}. No one tells you why {t.a_target} was drawn: the draw leaves no reason."
    )


def _who_sees(parameters: Parameters) -> str:
    t = parameters.terms
    sentences = [
        "The people who take your report, at the hotline or in the office, read what you write. They learn your name "
        "if you give it.",
        f"The programme gets no name and no text. It keeps how many reports there are about each {t.target}, and the "
        "office can see that. It also keeps a code for your report, so that it is not counted twice. The code says "
        "nothing about you.",
    ]
    if parameters.oversight:
        sentences.append("The oversight body can read how many reports there were.")
    sentences.append(
        "The public sees whom the office visits, and the yearly numbers."
        if parameters.figures
        else "The public sees whom the office visits."
    )
    sentences.append(f"It also sees the reason, where the office ordered {t.an_audit} by hand.")
    if parameters.visit_classes:
        sentences.append(f"A visit because of a report of {either_class(parameters.visit_classes)} is marked as one.")
    return " ".join(sentences)


def _class(parameters: Parameters) -> str:
    chosen = "The people who enter your report choose it. Tell them which class you want."
    if not parameters.visit_classes:
        return chosen
    return (
        f"{chosen} Say so if you do not want {either_class(parameters.visit_classes)}. That they keep to it is a "
        "matter of trust."
    )


def _danger(parameters: Parameters, now: Situation) -> str:
    call = "Do not wait for a draw. Call people who can act at once."
    if not parameters.visit_classes:
        return call
    visited = either_class(parameters.visit_classes)
    own = f"{call} A report of {visited} also leads to a visit at once, but it is not protected."
    if now.standing(parameters) != "holds" or not is_made(parameters):
        return own
    return f"{own} If another person reports danger, your own report keeps its protection, unless it is of {visited}."


def _broken(parameters: Parameters, now: Situation) -> str:
    t = parameters.terms
    rule = (
        f"The office can order {t.an_audit} by hand. The record shows this for good. If the office does not declare "
        "that no report led to it, the promise is lost for all reports made before the round ends. Then this page says "
        "so at the top."
    )
    trust = "Whether the office tells the truth is a matter of trust."
    if not now.coverage.lapses:
        return f"{rule} {trust}"
    return f"{rule} Now nothing is promised about reports made before {now.since}. {trust}"
