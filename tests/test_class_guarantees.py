"""The guarantee of each class and of a person's mix, in figures and in words."""

import json
from typing import Any

import pytest

import deniable as dn
from deniable.class_guarantees import (
    as_json,
    guarantee_of_heaviest,
    guarantee_of_mix,
    guarantees_by_class,
    sentences,
)
from deniable.errors import DeniableError
from deniable.report_classes import ONE_CLASS, ReportClass

MINOR, SERIOUS, DANGER = ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None)
CLASSES = (MINOR, SERIOUS, DANGER)
RACE = dn.Race.calibrate(50, 0.1)


def test_each_class_has_the_guarantee_of_its_weight() -> None:
    minor, serious, danger = guarantees_by_class(RACE, CLASSES).values()
    assert minor is not None
    assert serious is not None
    assert danger is None
    assert (minor.filed, serious.filed) == ("a report of class minor", "a report of class serious")
    assert (minor.curve, serious.curve) == (RACE.guarantee().curve, RACE.guarantee_for([3]).curve)


def test_one_plain_class_changes_no_word() -> None:
    assert guarantees_by_class(RACE, ONE_CLASS) == {"report": RACE.guarantee()}
    assert guarantee_of_heaviest(RACE, ONE_CLASS, 3) == RACE.guarantee().for_reports(3)
    assert sentences(RACE, ONE_CLASS) == []


def test_a_mix_adds_up_weights_and_says_what_was_filed() -> None:
    mix = guarantee_of_mix(RACE, CLASSES, {"minor": 2, "serious": 1, "danger": 0})
    assert mix is not None
    assert mix.curve == RACE.guarantee().for_reports(5).curve
    assert "This is about 3 reports (2 of class minor and 1 of class serious)." in mix.in_words()
    assert guarantee_of_mix(RACE, CLASSES, {"minor": 2, "danger": 1}) is None
    assert guarantee_of_mix(RACE, CLASSES, {"serious": 2}) == guarantee_of_heaviest(RACE, CLASSES, 2)


@pytest.mark.parametrize(
    ("mix", "words"),
    [({}, "at least one"), ({"minor": 0}, "at least one"), ({"grave": 1}, "named grave"), ({"minor": 1.5}, "whole")],
)
def test_a_mix_that_says_nothing_is_refused(mix: dict[str, Any], words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        guarantee_of_mix(RACE, CLASSES, mix)


def test_the_heaviest_class_covers_the_others() -> None:
    heaviest = guarantee_of_heaviest(RACE, CLASSES)
    assert heaviest.of_class == "serious"
    assert all(one is None or one.delta <= heaviest.delta for one in guarantees_by_class(RACE, CLASSES).values())
    words = heaviest.in_words()
    assert "whether you filed a report of class serious" in words
    assert "one report of class serious" in words
    assert "3 such reports" in words


def test_sentences_say_before_a_report_is_filed_what_protects_it() -> None:
    minor, serious, danger, together = sentences(RACE, CLASSES)
    assert "class minor" in minor
    assert "5 points in 100" in minor
    assert "14.7 points in 100" in serious
    assert "2.27 times" in serious
    assert danger == (
        "A report of class danger is not protected: it leads to a visit at once, and the visit shows it. "
        "All other reports keep their promise."
    )
    assert "one of each of the classes minor and serious" in together
    assert "19.2 points" in together


def test_sentences_of_other_mechanisms() -> None:
    tca = sentences(dn.CounterAuditing.calibrate(50, 0.1, horizon=100), CLASSES)
    assert not any("times as likely" in one for one in tca)  # there is no cap
    rr = sentences(dn.RandomizedResponse.calibrate(50, 0.1), CLASSES)
    assert rr[0].replace("minor", "") == rr[1].replace("serious", "")
    uniform = sentences(dn.UniformRandom(50), CLASSES)
    assert "do not depend on it" in uniform[0]
    assert len(uniform) == 3
    assert "nothing is promised" in sentences(dn.Greedy(50), CLASSES)[0]


def test_figures_for_json() -> None:
    document = json.loads(json.dumps(as_json(RACE, CLASSES)))
    assert [(one["class"], one["weight"]) for one in document] == [("minor", 1), ("serious", 3), ("danger", None)]
    assert document[1]["guarantee"] == RACE.guarantee_for([3]).to_dict()
    assert document[2]["guarantee"] is None
