"""Frozen rounds in the console: fetched, brought, or entered by two people, and drawn once."""

import json
import random
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from tests.console.offices import Browser, Office
from tests.programme.randomness.own_chain import OwnChain
from tests.programme.randomness.test_mirrors import Mirror, as_json, mirror, says

from deniable.console.accounts import people
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.randomness.drand import Beacon
from deniable.programme.randomness.mirrors import MIRRORS
from deniable.programme.randomness.source import Dice, Drand, Source
from deniable.programme.transcript.frozen import PublicValue
from deniable.programme.transcript_copies import KeyCopy

OWN = OwnChain()
DICE = Dice("The town hall")
AT = {"time": "2026-01-06T13:00"}
ONE = {"round": "1"}


def thrown(seed: int = 1) -> str:
    return "".join(map(str, random.Random(seed).choices(range(1, 7), k=DICE.throws.times)))


def frozen(office: Office, **settings: Any) -> Programme:
    """A programme whose first round is frozen; it is some hours later."""
    programme = office.begin(**({"randomness": DICE} | settings))
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    office.clock.now += timedelta(hours=15)
    return programme


def enter(browser: Browser, numbers: str, **fields: str) -> Any:
    return browser.post("/round/draw/numbers", {**ONE, **AT, "numbers": numbers} | fields)


def text_of(answer: Any) -> str:
    """Without what marks up names."""
    return unescape(answer.text).replace("<bdi>", "").replace("</bdi>", "")


def step_marked(page: str) -> str:
    """The heading of the step that comes next."""
    (heading,) = re.findall(r'<li aria-current="step">\s*<h2>([^<]*?) <span class="state warn">next', page)
    return str(heading)


def awaited(programme: Programme) -> Beacon:
    """The beacon for which the round waits."""
    waiting = programme.status().waiting
    assert waiting is not None
    assert waiting.beacon is not None
    return OWN.sign(waiting.beacon)


@pytest.fixture
def drand() -> Iterator[Mirror]:
    """One that has every beacon of our own chain."""

    def answer(asked: Any) -> None:
        says(json.dumps(as_json(OWN.sign(int(asked.path.rpartition("/")[2])))).encode())(asked)

    with mirror(answer) as ours:
        yield ours


def test_two_people_who_agree_draw_the_round(office: Office) -> None:
    programme = frozen(office)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    assert "39 times" in otto.get("/round/draw").text
    assert "cannot see yet" in otto.get("/round/draw").text
    programme.publish(office.public)
    assert "cannot see yet" not in otto.get("/round/draw").text
    numbers = thrown()
    assert enter(otto, numbers).headers["location"] == "/round/draw"
    spaced = " ".join(numbers)
    for browser in (otto, anna):
        page = browser.get("/round/draw").text
        assert numbers not in page
        assert spaced[:19] not in page
    told = text_of(otto.get("/round/draw"))
    assert "Now Anna enters them too." in told
    assert "Enter the numbers" not in told
    assert told.index("Your numbers are entered.") < told.index("<summary>Correct your numbers")
    seen = text_of(anna.get("/round/draw"))
    assert "<summary>Correct your numbers" not in seen
    assert "Otto entered the numbers" in seen
    assert "The town hall" in seen
    assert 'value="2026-01-06T13:00"' in seen
    assert programme.status().waiting is not None
    answer = enter(anna, " ".join(numbers))
    assert "Round 1 is drawn" in answer.text
    (drawn,) = programme.close_round(1).audits
    assert drawn in answer.text
    transcript = text_of(anna.get("/transcript"))
    assert "on Tuesday 6 January 2026, 13:00 (UTC time): The town hall" in transcript
    assert spaced in transcript
    log = unescape(office.log())
    assert "entered the numbers thrown for round 1" in log
    assert "drew round 1 with its public value, which Otto had entered too" in log
    assert spaced not in log
    assert numbers not in log


def test_two_people_who_differ_are_both_told(office: Office) -> None:
    programme = frozen(office)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    enter(otto, thrown(1))
    assert enter(anna, thrown(2)).headers["location"] == "/round/draw"
    for browser, other, own in ((otto, "Anna", 1), (anna, "Otto", 2)):
        page = text_of(browser.get("/round/draw"))
        assert "The numbers differ" in page
        assert f"You and {other} entered" in page
        assert " ".join(thrown(own)[:10]) in page
        assert " ".join(thrown(3 - own)[:10]) not in page
    assert programme.status().waiting is not None
    assert "other numbers for round 1 than Otto" in unescape(office.log())
    assert "Round 1 is drawn" in enter(anna, thrown(1)).text
    assert programme.status().waiting is None


def test_two_people_who_differ_in_the_time_are_both_told(office: Office) -> None:
    """The public sees the time, so two people attest it too. Neither is taken for the right one."""
    programme = frozen(office)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    enter(otto, thrown())
    assert enter(anna, thrown(), time="2026-01-06T13:05").headers["location"] == "/round/draw"
    assert programme.status().waiting is not None
    for browser, other, own in ((otto, "Anna", "13:00"), (anna, "Otto", "13:05")):
        page = text_of(browser.get("/round/draw"))
        assert "The times differ" in page
        assert "The numbers differ" not in page
        assert f"You and {other} entered different times" in page
        assert f'value="2026-01-06T{own}"' in page
        assert " ".join(thrown()[:10]) in page
    assert "entered another time of the throwing for round 1 than Otto" in unescape(office.log())
    assert "Round 1 is drawn" in enter(otto, thrown(), time="2026-01-06T13:05").text
    assert "on Tuesday 6 January 2026, 13:05 (UTC time): The town hall" in text_of(anna.get("/transcript"))


def test_numbers_and_time_must_agree_with_the_same_person(office: Office) -> None:
    """Not the numbers with one, and the time with another."""
    programme = frozen(office)
    office.add("Olga", "operator")
    otto, anna, olga = (office.browser(name) for name in ("Otto", "Anna", "Olga"))
    enter(otto, thrown(1), time="2026-01-06T13:00")
    enter(anna, thrown(2), time="2026-01-06T13:05")
    enter(olga, thrown(1), time="2026-01-06T13:05")
    assert programme.status().waiting is not None
    assert "Round 1 is drawn" in enter(olga, thrown(1), time="2026-01-06T13:00").text


def test_no_person_confirms_their_own_numbers(office: Office) -> None:
    programme = frozen(office)
    otto = office.browser("Otto")
    for _ in range(2):
        assert enter(otto, thrown()).headers["location"] == "/round/draw"
    assert enter(office.browser("Otto"), thrown()).status_code == 303
    assert programme.status().waiting is not None


def test_what_a_person_entered_who_was_disabled_since_does_not_count(office: Office) -> None:
    programme = frozen(office)
    enter(office.browser("Otto"), thrown())
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, office.people["Otto"].id, True)
    anna = office.browser("Anna")
    assert "Otto" not in anna.get("/round/draw").text
    assert enter(anna, thrown()).headers["location"] == "/round/draw"
    assert "No other person can enter" in anna.get("/round/draw").text
    assert programme.status().waiting is not None


def test_the_second_person_tries_to_fetch_before_they_confirm(office: Office) -> None:
    programme = frozen(office, randomness=Drand(OWN.chain))
    programme.publish(office.public)
    office.clock.now += timedelta(days=7)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    assert step_marked(otto.get("/round/draw").text) == "Draw with the public value"
    otto.post("/round/draw/without", {**ONE, "reason": "drand is away."})
    assert step_marked(otto.get("/round/draw").text) == "If the value does not come"
    page = anna.get("/round/draw").text
    assert step_marked(page) == "Draw with the public value"
    assert '<button class="final">Fetch' in page
    assert '<button class="quiet">Confirm' in page
    with mirror(says(b"", 404)) as missing:
        office.console.mirrors = [missing.url]
        page = anna.post("/round/draw/fetch", ONE).text
    assert step_marked(page) == "If the value does not come"
    assert '<button class="final">Confirm' in page


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Drand(), "The result cannot be known before."),
        (DICE, "The result cannot be known before."),
        (Drand(OWN.chain), "A person with the sender’s key can know the result before."),
    ],
)
def test_the_form_says_if_one_person_can_know_the_result_before(office: Office, source: Source, told: str) -> None:
    office.clock.now = office.begin(randomness=source).parameters.calendar.due(1)
    page = office.browser("Otto").get("/round/close").text
    assert told in page
    assert ("cannot be known before" in page) == ("cannot" in told)


@pytest.mark.parametrize("is_known", [True, False])
def test_the_address_is_one_that_has_the_beacon(
    office: Office, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """The mirrors of drand have no beacons of other chains."""
    monkeypatch.setattr(Drand, "is_known", is_known)
    frozen(office, randomness=Drand(OWN.chain))
    office.console.mirrors = ["https://mirror.example/"]
    page = office.browser("Otto").get("/round/draw").text
    start = "https://api.drand.sh" if is_known else "https://mirror.example"
    assert f"{start}/{OWN.chain.hash}/public/" in page


def test_without_a_mirror_of_its_own_another_chain_has_no_address(office: Office) -> None:
    frozen(office, randomness=Drand(OWN.chain))
    otto = office.browser("Otto")
    for mirrors in (office.console.mirrors, [], [f"{MIRRORS[0]}/"]):
        office.console.mirrors = mirrors
        page = otto.get("/round/draw").text
        assert "api.drand.sh" not in page
        assert f"{OWN.chain.hash}/public/" not in page
        assert "get it as a file from its sender" in page
    office.console.mirrors = [*MIRRORS, "https://mirror.example/"]
    assert f"https://mirror.example/{OWN.chain.hash}/public/" in otto.get("/round/draw").text


@pytest.mark.parametrize(
    ("numbers", "fields", "words"),
    [
        ("1 2 3", {}, "39 throws"),
        ("7" * 39, {}, "numbers from 1 to 6"),
        (thrown(), {"time": ""}, "Choose the day and the time of the first throw"),
        (thrown(), {"time": "2026-01-06T00:59"}, "as announced"),
        (thrown(), {"time": "2026-01-06T23:00"}, "future"),
        (thrown(), {"round": "2"}, "not frozen"),
        (thrown(), {"round": "x"}, "whole number"),
    ],
)
def test_what_cannot_have_been_thrown_is_refused(
    office: Office, numbers: str, fields: dict[str, str], words: str
) -> None:
    programme = frozen(office)
    answer = enter(office.browser("Otto"), numbers, **fields)
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert numbers in answer.text
    assert ('id="numbers-wrong"' in answer.text) == (not fields)
    assert office.console.pending_draws.entered(1) == []
    assert programme.status().waiting is not None


def test_the_value_is_fetched_and_the_round_drawn_once(office: Office, drand: Mirror) -> None:
    programme = frozen(office, randomness=Drand(OWN.chain))
    office.console.mirrors = [drand.url]
    otto, anna = office.browser("Otto"), office.browser("Anna")
    page = otto.get("/round/draw").text
    assert "<h1>Publish, then draw round 1</h1>" in page
    places = [
        page.index(words)
        for words in (
            "although it is late",
            'class="button" href="/transcript"',
            "The public value was due on",
            '<button class="quiet">Fetch the value and draw',
            "If the value does not come",
        )
    ]
    assert places == sorted(places)
    assert step_marked(page) == "Publish"
    assert "has the sender’s key knows all its beacons in advance" in page
    programme.publish(office.public)
    page = otto.get("/round/draw").text
    assert "<h1>Draw round 1 now</h1>" in page
    assert step_marked(page) == "Draw with the public value"
    assert '<button class="final">Fetch the value and draw' in page
    assert f"{OWN.chain.hash}/public/{awaited(programme).round}" in page
    first = otto.post("/round/draw/fetch", ONE)
    (drawn,) = programme.close_round(1).audits
    assert drawn in first.text
    second = anna.post("/round/draw/fetch", ONE)
    assert "It was drawn before" in second.text
    assert drawn in second.text
    assert len(drand.asked) == 1
    assert programme.status().entries == 2
    assert office.log().count("drew round 1") == 1
    programme.publish(office.public)
    assert verify(office.public, now=office.clock.now).rounds == 1


def test_what_the_scheduler_drew_is_shown(office: Office) -> None:
    programme = frozen(office, randomness=Drand(OWN.chain))
    otto = office.browser("Otto")
    otto.get("/round/draw")
    programme.draw_round(PublicValue(awaited(programme).signature))
    office.console.mirrors = []
    (drawn,) = programme.close_round(1).audits
    for step in ("fetch", "file", "numbers", "without", "confirm", "withdraw"):
        answer = otto.post(f"/round/draw/{step}", ONE)
        assert drawn in answer.text, step
    assert otto.get("/round/draw").headers["location"] == "/round"
    assert "drew round" not in office.log()


def test_a_value_is_not_used_for_the_next_round(office: Office) -> None:
    """The numbers of round 1 come in when round 2 is frozen and waits."""
    programme = frozen(office)
    enter(office.browser("Otto"), thrown())
    programme.draw_round(PublicValue(DICE.throws.read(thrown(2)), "2026-01-06T12:00:00Z"))
    office.clock.now += timedelta(days=1)
    programme.close_round()
    assert "It was drawn before" in enter(office.browser("Anna"), thrown()).text
    waiting = programme.status().waiting
    assert waiting is not None
    assert waiting.round == 2


def test_an_early_or_missing_value_is_told_in_words(office: Office) -> None:
    programme = office.begin(randomness=Drand(OWN.chain))
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    otto = office.browser("Otto")
    page = otto.get("/round/draw").text
    assert "Fetch the value and draw" not in page
    assert "Come back then" in page
    assert "is not out before 6 January 2026, 01:00 (UTC time)" in text_of(otto.post("/round/draw/fetch", ONE))
    office.clock.now += timedelta(hours=2)
    with mirror(says(b"", 404)) as missing, mirror(says(b"{}")) as wrong:
        office.console.mirrors = [missing.url, wrong.url]
        answer = text_of(office.browser("Otto").post("/round/draw/fetch", ONE))
    assert "does not have it yet" in answer
    assert "gave a wrong answer" in answer
    assert programme.status().waiting is not None


def test_numbers_are_not_entered_before_they_are_thrown(office: Office) -> None:
    programme = office.begin(randomness=DICE)
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    otto = office.browser("Otto")
    page = otto.get("/round/draw").text
    assert "Enter these numbers" not in page
    assert "The numbers are thrown on" in page
    assert "6 January 2026, 01:00 (UTC time)" in page
    programme.publish(office.public)
    assert "<h1>Round 1 is frozen</h1>" in otto.get("/round/draw").text
    answer = enter(otto, thrown(), time="2026-01-06T01:00")
    assert answer.status_code == 422
    assert "future" in text_of(answer)


def test_the_value_is_brought_as_a_file(office: Office) -> None:
    programme = frozen(office, randomness=Drand(OWN.chain))
    beacon, otto = awaited(programme), office.browser("Otto")

    def bring(content: bytes) -> Any:
        return otto.post("/round/draw/file", ONE, files={"file": ("beacon.json", content)})

    for content, words in (
        (b"", "The file has no beacon"),
        (b"[1]", "The file has no beacon"),
        (json.dumps(as_json(OWN.sign(beacon.round + 1))).encode(), f"beacon {beacon.round + 1}, and round 1 waits"),
        (json.dumps(as_json(OwnChain(7).sign(beacon.round))).encode(), "not genuine"),
    ):
        answer = bring(content)
        assert answer.status_code == 422
        assert words in text_of(answer)
    assert "Round 1 is drawn" in bring(json.dumps(as_json(beacon)).encode()).text


def test_a_form_of_the_other_source_is_refused(office: Office) -> None:
    programme = frozen(office)
    otto = office.browser("Otto")
    assert "numbers that people throw" in text_of(otto.post("/round/draw/fetch", ONE))
    assert "numbers that people throw" in text_of(otto.post("/round/draw/file", ONE, files={"file": ("a", b"{}")}))
    assert programme.status().waiting is not None


def test_two_people_draw_without_the_value(office: Office) -> None:
    programme = frozen(office)
    otto, reason = office.browser("Otto"), {**ONE, "reason": "The dice were stolen."}
    assert "Ask to draw without" not in otto.get("/round/draw").text
    assert "must wait" in text_of(otto.post("/round/draw/without", reason))
    assert "withdrawn" in text_of(otto.post("/round/draw/confirm", ONE))
    office.clock.now += timedelta(days=7)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    assert "reason" in text_of(otto.post("/round/draw/without", ONE))
    assert otto.post("/round/draw/without", reason).headers["location"] == "/round/draw?done=asked"
    assert "asked for before" in text_of(anna.post("/round/draw/without", reason))
    asked = text_of(otto.get("/round/draw"))
    assert "Confirm, and draw" not in asked
    assert asked.index("Now tell Anna") < asked.index("Withdraw the request") < asked.index("Enter the numbers")
    assert "another person must confirm" in text_of(otto.post("/round/draw/confirm", ONE))
    told = text_of(anna.get("/round/draw"))
    assert "Otto asked to draw" in told
    assert "the value" not in told  # these are numbers
    assert "The dice were stolen." in told
    first = ("Otto asks you", "Otto asked to draw", "office could have known the result", "Confirm, and draw", "Refuse")
    places = [told.index(words) for words in (*first, "Enter the numbers")]
    assert places == sorted(places)
    assert anna.post("/round/draw/withdraw", ONE).headers["location"] == "/round/draw?done=refused"
    assert "withdrawn" in text_of(anna.post("/round/draw/confirm", ONE))
    otto.post("/round/draw/without", reason)
    assert "Round 1 is drawn" in anna.post("/round/draw/confirm", ONE).text
    transcript = text_of(anna.get("/transcript"))
    assert "Drawn without its public value" in transcript
    assert "The dice were stolen." in transcript
    log = unescape(office.log())
    for words in (
        "asked to draw round 1",
        "refused the request of Otto",
        "without its public value, as Otto had asked",
    ):
        assert words in log
    assert programme.status().waiting is None


def test_a_request_of_a_person_who_was_disabled_since_is_gone(office: Office) -> None:
    programme = frozen(office)
    office.clock.now += timedelta(days=7)
    reason = {**ONE, "reason": "The dice were stolen."}
    office.browser("Otto").post("/round/draw/without", reason)
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, office.people["Otto"].id, True)
    anna = office.browser("Anna")
    assert "no longer there" in text_of(anna.post("/round/draw/confirm", ONE))
    assert anna.post("/round/draw/without", reason).status_code == 303
    assert programme.status().waiting is not None


def test_names_of_a_frozen_round_stay_secret_where_visits_are_unannounced(office: Office) -> None:
    programme = frozen(office, reveal_after=2)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    enter(otto, thrown())
    answer = enter(anna, thrown()).text
    (drawn,) = programme.close_round(1).audits
    assert drawn in answer
    assert "only to the people who go there" in answer
    transcript = otto.get("/transcript").text
    assert drawn not in transcript
    assert "names follow" in transcript


def test_what_was_drawn_is_shown_when_it_is_kept(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    programme = frozen(office)
    otto, anna = office.browser("Otto"), office.browser("Anna")
    enter(otto, thrown())
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    answer = enter(anna, thrown())
    drawn = office.console.public_records.current(programme.parameters).events[0].audited[0].name
    assert answer.status_code == 422
    assert "cannot be shown yet" in answer.text
    assert drawn not in answer.text
    monkeypatch.undo()
    assert drawn in anna.post("/round/close", ONE).text
    assert office.log().count("drew round 1") == 1


def test_after_the_end_nothing_is_drawn(office: Office) -> None:
    frozen(office).end("The law was repealed.")
    otto = office.browser("Otto")
    assert otto.get("/round/draw").headers["location"] == "/round"
    assert enter(otto, thrown()).status_code in (303, 422)
    assert "never drawn" in text_of(otto.get("/transcript"))
    assert "Frozen round" not in otto.get("/health").text
