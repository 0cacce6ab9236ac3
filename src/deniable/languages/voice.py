"""How a programme speaks: in one language, and with the words that the office chose for audits and targets.

Every sentence that people read is said by a voice, as a whole: `say("Round {round} is due on {day}.", round=3, day=…)`.
The English text is its key in the catalogues. In braces stand values, which the caller gives, and forms of the terms,
such as {target} and {an_audit}, which the language knows; a form with a capital first letter begins a sentence.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError
from deniable.languages.language import DEFAULT_TERMS, Language, Terms, english
from deniable.message import Listed, Message

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Voice:
    """Call it to say a sentence. Whole numbers, days and moments are written as the language writes them, and messages
    are said.

    >>> say = plain()
    >>> say("At most {most} reports about {a_target} count.", most=1200)
    'At most 1,200 reports about a target count.'
    >>> say.counted("{number} day", "{number} days", 1), say.counted("{number} day", "{number} days", 2)
    ('1 day', '2 days')
    """

    language: Language
    terms: Terms = DEFAULT_TERMS

    def __call__(self, text: str | Message, /, **values: Any) -> str:
        if isinstance(text, Message):
            said, values = text.text, dict(text.values)
            return self(said, **values) if text.many is None else self._counted(said, text.many, values)
        return self._translated(text).format_map(self._words(values))

    def counted(self, one: str, many: str, number: int, /, **values: Any) -> str:
        """The sentence that goes with this number, which it has as {number}."""
        return self._counted(one, many, {"number": number, **values})

    def html(self, text: str, /, **values: Any) -> "Markup":
        """A sentence that has tags in it; the values are escaped."""
        from markupsafe import Markup  # noqa: PLC0415, only pages need it

        return Markup(self._translated(text)).format_map(self._words(values))

    def counted_html(self, one: str, many: str, number: int, /, **values: Any) -> "Markup":
        """The same of the sentence that goes with this number, which it has as {number}.

        >>> one, many = "{number} report about <bdi>{name}</bdi>", "{number} reports about <bdi>{name}</bdi>"
        >>> str(plain().counted_html(one, many, 1200, name="A & B"))
        '1,200 reports about <bdi>A &amp; B</bdi>'
        """
        from markupsafe import Markup  # noqa: PLC0415, only pages need it

        return Markup(self._plural(one, many, number)).format_map(self._words({"number": number, **values}))

    def number(self, number: int) -> str:
        """As the language writes it, its digits in groups."""
        locale, digits = self.language.locale, str(abs(number))
        last, others = locale.group_sizes
        groups = [digits[-last:]]
        digits = digits[:-last]
        while digits:
            groups.insert(0, digits[-others:])
            digits = digits[:-others]
        return ("\N{MINUS SIGN}" if number < 0 else "") + self.digits(locale.group.join(groups))

    def figure(self, figure: str) -> str:
        """A number that was rounded for readers, such as 99.91 or 1,235."""
        whole, point, decimals = figure.partition(".")
        written = self.number(int(whole.replace(",", "")))
        return f"{written}{self.language.locale.decimal}{self.digits(decimals)}" if point else written

    def plural_of(self, figure: str) -> int:
        """The whole number whose plural form goes with such a number: of one with decimals, as in 4.2 rounds, that of
        100; but of 1.8 that of 1 in a language that says 0 like 1, as French does.

        >>> [plain().plural_of(figure) for figure in ("1", "1,235", "4.2", "1.8")]
        [1, 1235, 100, 100]
        """
        whole, point, _ = figure.replace(",", "").partition(".")
        says_zero_like_one = self.language.plural(0) == self.language.plural(1)
        return int(whole) if not point or (says_zero_like_one and int(whole) < 2) else 100

    def digits(self, text: str) -> str:
        """With the language's own digits: times, years."""
        own = self.language.locale.digits
        return text if own == _DIGITS else text.translate(str.maketrans(_DIGITS, own))

    def apart(self, typed: str) -> str:
        """What people typed, as it stands: between words from right to left, numbers in it would change places."""
        return f"\u2068{typed}\u2069" if self.language.locale.direction == "rtl" else typed

    def day(self, day: date) -> str:
        locale = self.language.locale
        number = locale.first_day if day.day == 1 else day.day
        written = locale.date.format(day=number, month=locale.months[day.month - 1], year=day.year)
        return self.digits(written)

    def weekday(self, day: date) -> str:
        return self.language.locale.weekdays[day.weekday()]

    def all_of(self, things: Sequence[str]) -> str:
        """'id, channel and score'."""
        return self._list("and", things)

    def one_of(self, things: Sequence[str]) -> str:
        """'id, channel or score'."""
        return self._list("or", things)

    def _list(self, kind: str, things: Sequence[str]) -> str:
        goes_on, ends, two = self.language.locale.lists[kind]
        if len(things) <= 2:
            return two.format(*things) if len(things) == 2 else "".join(things)
        *first, before, last = things
        text = first[0]
        for thing in (*first[1:], before):
            text = goes_on.format(text, thing)
        return ends.format(text, last)

    def _translated(self, text: str) -> str:
        return self.language.sentences.get(text, (text,))[0]

    def _plural(self, one: str, many: str, number: int) -> str:
        forms = self.language.sentences.get(one, (one, many))
        return forms[self.language.plural(abs(number))]

    def _counted(self, one: str, many: str, values: Mapping[str, Any]) -> str:
        return self._plural(one, many, values["number"]).format_map(self._words(values))

    def _words(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return self._forms | {name: self._written(value) for name, value in values.items()}

    def _written(self, value: Any) -> Any:
        if isinstance(value, Message | DeniableError):
            return self(value if isinstance(value, Message) else value.message)
        if isinstance(value, Listed):
            return self._list(value.word, [str(self._written(thing)) for thing in value.things])
        if isinstance(value, datetime):
            return self("{day}, {time}", day=self.day(value.date()), time=self.digits(f"{value:%H:%M}"))
        if isinstance(value, date):
            return self.day(value)
        return self.number(value) if isinstance(value, int) else value

    @cached_property
    def _forms(self) -> dict[str, str]:
        forms = self.language.forms
        own = {**forms["audit"][self.terms.audit], **forms["target"][self.terms.target]}
        return own | {_capital(name): _capital(form) for name, form in own.items()}


@cache
def plain() -> Voice:
    """English, with the words that the library has."""
    return Voice(english())


def kept_together(words: str) -> str:
    """No per cent sign begins a line, and no line ends within a telephone number or a day; also of markup."""

    def kept(found: re.Match[str]) -> str:
        return found["tag"] or found[0].replace(" ", "\N{NO-BREAK SPACE}")

    return type(words)(_TAG_DAY_OR_NUMBER.sub(kept, words.replace(" %", "\N{NO-BREAK SPACE}%")))


def breakable(words: str) -> "Markup":
    """The same, escaped: a line may end within an address, but only where its parts do.

    >>> str(breakable("Room 7 & https://hotline.example/report"))
    'Room 7 &amp; https://<wbr>hotline<wbr>.example/<wbr>report'
    """
    from markupsafe import Markup, escape  # noqa: PLC0415, only pages need it

    return Markup("").join(
        Markup("<wbr>").join(map(escape, _PARTS.findall(word))) if _ADDRESS.search(word) else escape(word)
        for word in _WORDS.findall(words)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_DIGITS = "0123456789"

# English has a plain space after the day, and one word for the month; all others have a no-break space there.
_WORD = r"[^\W\d_][^\s\d<>%]*"
_TAG_DAY_OR_NUMBER = re.compile(
    rf"(?P<tag><[^>]*>)|\b\d{{1,2}}(?: [A-Z][a-z]+|(?:er|[.º])?\xa0{_WORD}(?: {_WORD}){{0,2}}) \d{{4}}\b|\d+(?: \d+)+"
)
_WORDS = re.compile(r"\s+|\S+")
_ADDRESS = re.compile(r"://|@")
_PARTS = re.compile(r"[.@]?[^.@/?&=_-]+[/?&=_-]*|[.@/?&=_-]+")
