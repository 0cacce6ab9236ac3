"""In states that the demonstration never comes to, every page still speaks the reader's language."""

import re
from typing import Any

import pytest
from tests.console.offices import Office
from tests.console.test_languages import FILES, NAMES, PSEUDO, Unsaid, looked_at, speak
from tests.console.whole.states import STATES

from deniable.languages.language import CONSOLE

TYPED = ("The town hall", "The disk broke.", "hotline", "minor", "serious", "danger", "CSV", "JSON")
"""By the people of these offices, and kinds of files."""
ENGLISH = re.compile(
    r"\b(?:the|of|and|with|from|that|this|which|has|have|been|cannot|must|not|does|did|is|are|round|reports|file)\b"
)
"""Words that none of the other languages has, or needs on these pages."""


class Words(Unsaid):
    """Texts of a page with English words in them."""

    def _look(self, text: str) -> None:
        if any(is_silent for _, is_silent in self._open):
            return
        rest = FILES.sub(" ", text)
        for name in sorted((*NAMES, *TYPED), key=len, reverse=True):
            rest = rest.replace(name, " ")
        if ENGLISH.search(rest):
            self.found.append(" ".join(text.split()))


def english_on(name: str, answer: Any) -> list[str]:
    parser = Words()
    parser.feed(answer.text if answer.headers.get("content-type", "").startswith("text/html") else "")
    return [f"{name}: {text}" for text in dict.fromkeys(parser.found)]


@pytest.mark.parametrize("state", STATES)
def test_a_voice_says_every_page_of_the_state(office: Office, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    speak(monkeypatch)
    monkeypatch.setattr("tests.console.test_languages.NAMES", (*NAMES, *TYPED))
    found = [text for name, answer in STATES[state](office, PSEUDO) for text in looked_at(name, answer)]
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize("code", CONSOLE[1:])
@pytest.mark.parametrize("state", STATES)
def test_no_english_is_left_on_the_pages_of_the_state(office: Office, state: str, code: str) -> None:
    found = [
        text for name, answer in STATES[state](office, {"accept-language": code}) for text in english_on(name, answer)
    ]
    assert not found, "\n".join(found)


def test_english_that_is_left_is_found(office: Office) -> None:
    """Negative control."""
    office.begin()
    answer = office.browser("Otto").get("/round")
    assert english_on("Otto /round", answer)
