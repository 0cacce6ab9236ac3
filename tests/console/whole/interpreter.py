"""A walk that was written in English, taken in another language.

Labels, names and texts that the walk asks for in English are looked up in what the console said: every sentence is said
in English as well, behind the scenes, and both are remembered.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pytest
from markupsafe import Markup
from playwright.sync_api import Locator, Page

from deniable.languages.language import english
from deniable.languages.voice import Voice

SPOKEN = ("__call__", "_counted", "html", "counted_html")
"""The methods of `Voice` that say a sentence."""

LETTER = r"[\wÀ-ÿ]"
"""In patterns of a browser, whose words have the letters of English alone."""

LINK = re.compile(r"<a [^>]*>(.*?)</a>")
"""Within a sentence: it is asked for by its own words."""


@dataclass
class Interpreter:
    code: str
    sentences: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """What was said, by the same in English."""
    _in_english: dict[str, str] = field(default_factory=dict)

    def hear(self, heard: str, in_english: str) -> None:
        self.sentences[_text(in_english)].add(_text(heard))
        self._in_english[heard] = in_english
        for link, own in zip(LINK.findall(in_english), LINK.findall(heard), strict=True):
            self.sentences[_text(Markup(link))].add(_text(Markup(own)))

    def back(self, value: Any) -> Any:
        """A value of a sentence that was itself said before."""
        return self._in_english.get(value, value) if isinstance(value, str) else value

    def said(self, asked: str | re.Pattern[str], *, exact: bool | None = None) -> set[str]:
        """What the console said for it: as a whole sentence, or else as part of one. What was typed stays."""
        if isinstance(asked, str) and (exact or asked in self.sentences):
            return self.sentences.get(asked, set())
        part = asked if isinstance(asked, re.Pattern) else re.compile(re.escape(asked), re.IGNORECASE)
        return set().union(*(said for text, said in self.sentences.items() if part.search(text)))

    def wanted(self, asked: str | re.Pattern[str], *, exact: bool | None = None) -> re.Pattern[str]:
        """Any of it, or the words themselves: names, and pages in English."""
        itself = asked.pattern if isinstance(asked, re.Pattern) else _pattern(asked)
        words = "|".join([itself, *map(_pattern, self.said(asked, exact=exact))])
        return re.compile(rf"^\s*({words})\s*$" if exact else rf"(?<!{LETTER})({words})(?!{LETTER})", re.IGNORECASE)


class Shown(str):
    """Text of a page, which is asked in English whether it says something."""

    interpreter: Interpreter
    is_capital = False

    @classmethod
    def of(cls, text: str, interpreter: Interpreter) -> Self:
        shown = cls(" ".join(text.split()))
        shown.interpreter = interpreter
        return shown

    def __contains__(self, asked: object) -> bool:
        words, as_shown = _text(str(asked)), str.upper if self.is_capital else _sentence
        said = (one for text, one in self.interpreter.sentences.items() if words in as_shown(text) or words in text)
        return any(one in str(self) or as_shown(one) in str(self) for one in {words}.union(*said))

    def upper(self) -> Self:
        shown = type(self).of(super().upper(), self.interpreter)
        shown.is_capital = True
        return shown


def _sentence(said: str) -> str:
    """As an error is shown."""
    return said[:1].upper() + said[1:]


def _pattern(words: str) -> str:
    """For the browser, to which a slash is the end of a pattern."""
    return re.escape(words).replace(r"\ ", r"\s+").replace("/", r"\/")


def _text(said: str) -> str:
    return " ".join((said.striptags() if isinstance(said, Markup) else said).split())


@contextmanager
def interpreted(code: str) -> Iterator[None]:
    """Every walk finds its way on pages in this language."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _interpret(monkeypatch, Interpreter(code))
        yield


def _interpret(monkeypatch: pytest.MonkeyPatch, interpreter: Interpreter) -> None:
    for name in SPOKEN:
        monkeypatch.setattr(Voice, name, _heard(getattr(Voice, name), interpreter))
    for kind in (Page, Locator):
        monkeypatch.setattr(kind, "get_by_label", _by_words(kind.get_by_label, interpreter))
        monkeypatch.setattr(kind, "get_by_text", _by_words(kind.get_by_text, interpreter))
        monkeypatch.setattr(kind, "get_by_role", _by_role(kind.get_by_role, interpreter))
    read, choose = Page.inner_text, Locator.select_option
    monkeypatch.setattr(Page, "inner_text", lambda page, part: Shown.of(read(page, part), interpreter))
    monkeypatch.setattr(Locator, "select_option", lambda field, option: choose(field, _option(option, interpreter)))


def _heard(say: Callable[..., str], interpreter: Interpreter) -> Callable[..., str]:
    def said(voice: Voice, *texts: Any, **values: Any) -> str:
        heard = say(voice, *texts, **values)
        if voice.language.code == interpreter.code:
            in_english = replace(voice, language=english())
            interpreter.hear(
                heard, say(in_english, *texts, **{name: interpreter.back(values[name]) for name in values})
            )
        return heard

    return said


def _by_words(find: Callable[..., Locator], interpreter: Interpreter) -> Callable[..., Locator]:
    def found(place: Page | Locator, words: str | re.Pattern[str], *, exact: bool | None = None) -> Locator:
        return find(place, interpreter.wanted(words, exact=exact))

    return found


def _by_role(find: Callable[..., Locator], interpreter: Interpreter) -> Callable[..., Locator]:
    def found(
        place: Page | Locator, role: str, *, name: str | re.Pattern[str] | None = None, exact: bool | None = None
    ) -> Locator:
        return find(place, role) if name is None else find(place, role, name=interpreter.wanted(name, exact=exact))

    return found


def _option(option: str, interpreter: Interpreter) -> str:
    return min(interpreter.sentences[option]) if option in interpreter.sentences else option
