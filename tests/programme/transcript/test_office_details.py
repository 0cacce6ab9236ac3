"""How to reach the office: what it may write, what of it may become a link, and that the newest is known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.public.published import NAMES, Said, chained, drawn, made

from deniable.errors import DeniableError
from deniable.programme.transcript.fields import (
    LONGEST_CONTACT,
    LONGEST_HOTLINE,
    OfficeDetails,
    check_contact,
    check_hotline,
)
from deniable.programme.transcript.office_details import typed
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState

ONION = f"http://{'a2' * 28}.onion"
LINKS = [
    "https://hotline.example.org",
    "https://hotline.example.org:8443/report?lang=en&from=page#form",
    "HTTPS://Hotline.Example.ORG/",
    "https://xn--bcher-kva.example/",
    f"https://{'a2' * 28}.onion/",
    ONION,
    f"{ONION}/report",
    f"http://hotline.{'a2' * 28}.onion:80/",
]
WORDS = ["+49 30 1234567", "0800 123 456 (Monday to Friday, 9:00 to 17:00)", "hotline@example.org", "Room 7, in person"]
REFUSED = [
    "javascript:alert(1)",
    "JavaScript: alert(1)",
    "data:text/html,<script>",
    "vbscript:x",
    "file:///etc/passwd",
    "mailto:hotline@example.org",
    "http://hotline.example.org",
    "http://short.onion",
    f"http://{'a2' * 28}.onion.example.org",
    f"http://{'a1' * 28}.onion",
    "ftp://example.org",
    "https:example.org",
    "https://",
    "https://localhost",
    "https://office@evil.example",
    "https://example.org/a b",
    'https://example.org/"onclick="x',
    "https://example.org/<script>",
    "https://example.org\\@evil.example",
    "see https://example.org",
    "Call us: //example.org ://",
]
BAD_TEXT = ["", " ", "a\nb", "a\tb", " a", "a ", "\u202eabc", "a\u200bb", "a\u2028b", "e\u0301", 3, None, ["a"]]


@pytest.mark.parametrize("hotline", LINKS)
def test_what_becomes_a_link(hotline: str) -> None:
    assert check_hotline("hotline", hotline) == hotline
    assert OfficeDetails(None, hotline, "2026-01-05").link == hotline


@pytest.mark.parametrize("hotline", WORDS)
def test_words_are_shown_as_they_are(hotline: str) -> None:
    assert check_hotline("hotline", hotline) == hotline
    assert OfficeDetails(None, hotline, "2026-01-05").link is None


@pytest.mark.parametrize("hotline", REFUSED)
def test_what_looks_like_another_link_is_refused(hotline: str) -> None:
    with pytest.raises(DeniableError, match="hotline must be a link that begins with https://"):
        check_hotline("hotline", hotline)


@pytest.mark.parametrize("bad", BAD_TEXT)
def test_both_are_one_line_of_text(bad: object) -> None:
    for check in (check_contact, check_hotline):
        with pytest.raises(DeniableError, match=r"x must (have|be|not be empty)"):
            check("x", bad)


def test_both_are_short() -> None:
    assert check_contact("contact", "c" * LONGEST_CONTACT)
    assert check_hotline("hotline", "h" * LONGEST_HOTLINE)
    for check, longest in ((check_contact, LONGEST_CONTACT), (check_hotline, LONGEST_HOTLINE)):
        with pytest.raises(DeniableError, match=f"at most {longest} characters"):
            check("it", "x" * (longest + 1))


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_no_link_leads_to_a_script(text: str) -> None:
    for hotline in (text, f"javascript:{text}", f"https:{text}", f"https://{text}", f"http://{text}"):
        link = OfficeDetails(None, hotline, "2026-01-05").link
        assert link is None or link.lower().startswith("https://") or ".onion" in link.lower()
        assert link is None or not set(link) & set("\"'<>` \\\n")


def test_what_is_typed_is_trimmed_and_what_is_empty_is_not_given() -> None:
    assert typed(" Room 7 ", " \t") == ("Room 7", None)
    assert typed("", LINKS[0]) == (None, LINKS[0])
    with pytest.raises(DeniableError, match="the hotline must be a link"):
        typed("Room 7", "javascript:alert(1)")


CONTACT, HOTLINE = "Room 7, Town Hall", "https://hotline.example.org/"


def details(round_: int, day: str, contact: str | None = CONTACT, hotline: str | None = HOTLINE) -> Said:
    return "details", round_, {"contact": contact, "hotline": hotline, "day": day, "reason": None}


def after(*said: Said, **settings: Any) -> PublicState:
    parameters = made(**settings)
    return replay(parameters, chained(parameters, said))


def test_the_newest_are_known() -> None:
    assert after().details is None
    state = after(details(1, "2026-01-05"), drawn(1, NAMES[0]), details(2, "2026-01-13", hotline="+49 30 1"))
    assert state.details == (CONTACT, "+49 30 1", "2026-01-13")
    assert PublicState.from_bytes(state.parameters, state.to_bytes()).details == state.details


def test_they_can_be_taken_back() -> None:
    assert after(details(1, "2026-01-05"), details(1, "2026-01-06", None, None)).details is None
    part = after(details(1, "2026-01-05"), details(1, "2026-01-06", None)).details
    assert part == (None, HOTLINE, "2026-01-06")


def test_they_may_be_told_before_the_first_day() -> None:
    assert after(details(1, "2025-12-01")).details == (CONTACT, HOTLINE, "2025-12-01")


@pytest.mark.parametrize(
    "said",
    [
        [details(1, "2026-01-05"), details(1, "2026-01-06")],
        [details(1, "2026-01-05", None, None)],
        [details(1, "2026-01-05"), details(1, "2026-01-06", None, None), details(1, "2026-01-07", None, None)],
    ],
)
def test_what_changes_nothing_is_refused(said: list[Said]) -> None:
    with pytest.raises(DeniableError, match="the same as before"):
        after(*said)


def test_the_day_is_not_before_a_closed_round() -> None:
    assert after(drawn(1, NAMES[0]), details(2, "2026-01-12")).details
    with pytest.raises(DeniableError, match="cannot be before that of round 1"):
        after(drawn(1, NAMES[0]), details(2, "2026-01-11"))


def test_they_cost_no_report_its_guarantee() -> None:
    state = after(details(1, "2026-01-05"), drawn(1, NAMES[0]))
    assert state.coverage.holds_from == 1
    parameters, say = made(), made().voice()
    entry = chained(parameters, [details(1, "2026-01-05")])[0]
    assert entry.lapse is None
    assert "nothing to do with any report" in entry.effect(parameters.calendar, say)
    assert CONTACT in entry.heading(say)
    assert HOTLINE in entry.heading(say)
    assert "2026" in entry.heading(say)
    assert "none" in chained(parameters, [details(1, "2026-01-05", None)])[0].heading(say)
