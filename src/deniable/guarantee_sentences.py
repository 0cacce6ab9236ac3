"""What a guarantee says to the person who files a report, in whole sentences; the figures come from the caller.

They are about so many `reports` of one person, all of the class `name` where that is not empty.
"""

from deniable.languages.voice import Voice


def nothing(reports: int, name: str, say: Voice) -> list[str]:
    told = (
        say.counted(
            "This programme promises nothing about what its {audits} reveal of a report of class {name}: someone who "
            "watches them may become certain of what was filed.",
            "This programme promises nothing about what its {audits} reveal of {number} reports of class {name} by one "
            "person: someone who watches them may become certain of what was filed.",
            reports,
            name=name,
        )
        if name
        else say.counted(
            "This programme promises nothing about what its {audits} reveal of a report: someone who watches them may "
            "become certain of what was filed.",
            "This programme promises nothing about what its {audits} reveal of {number} reports by one person: someone "
            "who watches them may become certain of what was filed.",
            reports,
        )
    )
    return [told, say("Do not rely on the {audits} to hide it.")]


def independent(say: Voice) -> list[str]:
    return [
        say("The {audits} do not depend on the reports at all, so they tell nothing about whether you filed one."),
        say("Nor can your report make {an_audit} more likely."),
    ]


def supposed(with_figures: bool, say: Voice) -> str:
    if with_figures:
        return say(
            "Suppose someone watches every {audit} and reads the yearly numbers, knows how {targets} are chosen, and "
            "knows every other report."
        )
    return say("Suppose someone watches every {audit}, knows how {targets} are chosen, and knows every other report.")


def sure(reports: int, name: str, sure: str, say: Voice) -> str:
    if name:
        return say.counted(
            "If they were 50 % sure that you filed a report of class {name}, they can become at most {sure} % sure.",
            "If they were 50 % sure that you filed your {number} reports of class {name}, they can become at most "
            "{sure} % sure.",
            reports,
            name=name,
            sure=sure,
        )
    return say.counted(
        "If they were 50 % sure that you filed a report, they can become at most {sure} % sure.",
        "If they were 50 % sure that you filed your {number} reports, they can become at most {sure} % sure.",
        reports,
        sure=sure,
    )


def improvement(reports: int, name: str, points: str, say: Voice) -> str:
    if name:
        return say.counted(
            "Watching improves their chance of guessing right whether you filed a report of class {name} by at most "
            "{points}, whatever they believed before.",
            "Watching improves their chance of guessing right whether you filed your {number} reports of class {name} "
            "by at most {points}, whatever they believed before.",
            reports,
            name=name,
            points=points,
        )
    return say.counted(
        "Watching improves their chance of guessing right whether you filed a report by at most {points}, whatever "
        "they believed before.",
        "Watching improves their chance of guessing right whether you filed your {number} reports by at most {points}, "
        "whatever they believed before.",
        reports,
        points=points,
    )


def factor(reports: int, name: str, factor: str, say: Voice) -> str:
    if name:
        return say.counted(
            "No sequence of {audits} is more than {factor} times as likely if you filed a report of class {name} as it "
            "would be if you had not, everything else equal, so watching multiplies the odds of that suspicion by at "
            "most this factor.",
            "No sequence of {audits} is more than {factor} times as likely if you filed your {number} reports of class "
            "{name} as it would be if you had not, everything else equal, so watching multiplies the odds of that "
            "suspicion by at most this factor.",
            reports,
            name=name,
            factor=factor,
        )
    return say.counted(
        "No sequence of {audits} is more than {factor} times as likely if you filed a report as it would be if you had "
        "not, everything else equal, so watching multiplies the odds of that suspicion by at most this factor.",
        "No sequence of {audits} is more than {factor} times as likely if you filed your {number} reports as it would "
        "be if you had not, everything else equal, so watching multiplies the odds of that suspicion by at most this "
        "factor.",
        reports,
        factor=factor,
    )


def two_people(reports: int, is_capped: bool, is_classed: bool, points: str | None, say: Voice) -> str:
    """About someone who is sure that exactly one of two people filed; `points` is None where nothing is promised."""
    limits = (
        say("None of these limits holds between two people.")
        if is_capped
        else say("This limit does not hold between two people.")
    )
    told = (
        say.counted(
            "If someone is sure that exactly one of two people filed, the {audits} may tell them which of the two it "
            "was, and nothing is promised about that.",
            "If someone is sure that exactly one of two people filed, with up to {number} such reports each, the "
            "{audits} may tell them which of the two it was, and nothing is promised about that.",
            reports,
        )
        if points is None
        else say.counted(
            "If someone is sure that exactly one of two people filed, watching improves their chance of guessing which "
            "of the two it was by at most {points}, and the odds between the two may shift without a fixed limit.",
            "If someone is sure that exactly one of two people filed, with up to {number} such reports each, watching "
            "improves their chance of guessing which of the two it was by at most {points}, and the odds between the "
            "two may shift without a fixed limit.",
            reports,
            points=points,
        )
    )
    return f"{limits} {told} {_alike(reports, is_classed, say)}"


def _alike(reports: int, is_classed: bool, say: Voice) -> str:
    if is_classed:
        return say.counted(
            "If both reports would be about the same {target}, have the same class and count from the same round on, "
            "with no entry of the record in between, the {audits} show nothing about which of them it was.",
            "If their reports would be about the same {targets}, have the same classes and count from the same rounds "
            "on, with no entry of the record in between, the {audits} show nothing about which of them it was.",
            reports,
        )
    return say.counted(
        "If both reports would be about the same {target} and count from the same round on, with no entry of the "
        "record in between, the {audits} show nothing about which of them it was.",
        "If their reports would be about the same {targets} and count from the same rounds on, with no entry of the "
        "record in between, the {audits} show nothing about which of them it was.",
        reports,
    )


def duration(horizon: int | None, say: Voice) -> str:
    if horizon is None:
        return say("This holds however long the programme runs.")
    return say.counted(
        "This holds at every moment of the programme's first round, and says nothing about later ones.",
        "This holds at every moment of the programme's first {number} rounds, and says nothing about later ones.",
        horizon,
    )


def scope(reports: int, name: str, say: Voice) -> str:
    if name:
        return say.counted(
            "It is a promise about one report of class {name}.",
            "It is a promise about {number} reports of class {name} by one person, whatever {targets} they concern.",
            reports,
            name=name,
        )
    return say.counted(
        "It is a promise about one report.",
        "It is a promise about {number} reports by one person, whatever {targets} they concern.",
        reports,
    )


def three_reports(points: str | None, factor: str | None, say: Voice) -> str:
    """What three reports come to where one is promised about; `points` is None where nothing is promised about them."""
    if points is None:
        return say("If you file 3 such reports, it promises nothing about them taken together.")
    if factor is None:
        return say(
            "If you file more, the limit for them taken together is higher: for 3 such reports the improvement is at "
            "most {points}.",
            points=points,
        )
    return say(
        "If you file more, the limit for them taken together is higher: for 3 such reports the improvement is at most "
        "{points}, and the factor at most {factor}.",
        points=points,
        factor=factor,
    )
