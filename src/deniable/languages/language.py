"""A language: its sentences, the words of the office in it, and how it writes days, numbers and lists.

The sources are in English. Every other language has a folder here: `locale.toml` from the Unicode CLDR, `terms.toml`
with the words for audits and targets in the forms that its sentences need, and catalogues of sentences by gettext.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

from deniable.errors import DeniableError
from deniable.message import all_of, one_of

FOLDER = Path(__file__).parent
PUBLIC = ("en", "de", "fr", "es", "pt-BR", "it", "pl", "ar", "bn")
"""The languages of the public side."""
CONSOLE = ("en", "de", "fr", "es")
"""The languages of the console."""

Sentences = Mapping[str, tuple[str, ...]]
"""By the English ones: a translation, or several for the plural forms of a language."""


@dataclass(frozen=True)
class Locale:
    """How a language writes what is not a sentence."""

    name: str
    """Of the language, in the language."""
    direction: str
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    date: str
    first_day: str
    """Of a month: French says 1er janvier, and 2 janvier."""
    group: str
    decimal: str
    group_sizes: tuple[int, int]
    """Of digits: the last group, and all others."""
    digits: str
    comma: str
    semicolon: str
    """Between the things of a list without "and", with its spaces; names, which may have commas, have this."""
    lists: Mapping[str, tuple[str, str, str]]
    """For "and" and "or": how a list goes on, how it ends, and how two alone are joined."""


@dataclass(frozen=True)
class Language:
    code: str
    locale: Locale
    forms: Mapping[str, Mapping[str, Mapping[str, str]]]
    """Of the terms for an audit and for a target: by kind, term and form."""
    is_reviewed: bool = True
    """By a native speaker."""
    sentences: Sentences = field(default_factory=dict)
    plural: Callable[[int], int] = lambda number: int(number != 1)
    """Which of the plural forms goes with a number."""


def language(code: str) -> Language:
    """The one of this code, complete for the public side."""
    check_known(code)
    return _read(FOLDER / code)


@cache
def _read(folder: Path) -> Language:
    code, locale, words = folder.name, _toml(folder / "locale.toml"), _toml(folder / "terms.toml")
    is_reviewed, lists = words.pop("reviewed"), {name: tuple(locale.pop(name)) for name in ("and", "or")}
    facts: dict[str, Any] = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in locale.items()}
    known = Language(code, Locale(**facts, lists=lists), words, is_reviewed)
    if code == "en":
        return known
    from deniable.languages.catalogue import read_catalogue  # noqa: PLC0415, it needs Babel, and English does not

    sentences: dict[str, tuple[str, ...]] = {}
    plural = known.plural
    for file in sorted(folder.glob("*.po")):
        catalogue = read_catalogue(file)
        sentences |= catalogue.sentences
        plural = catalogue.plural
    return Language(code, known.locale, words, is_reviewed, sentences, plural)


def check_known(code: str) -> None:
    if code not in PUBLIC:
        raise DeniableError("a language must be one of {public}, got {code}", public=all_of(PUBLIC), code=ascii(code))


def check_languages(codes: object) -> tuple[str, ...]:
    """These, where each is known and named once, and there is one at least."""
    are_names = isinstance(codes, list | tuple) and all(isinstance(code, str) for code in codes)
    if not isinstance(codes, list | tuple) or not are_names or not codes or len(set(codes)) < len(codes):
        raise DeniableError("languages must name each language once, and one at least, such as de, fr")
    for code in codes:
        check_known(code)
    return tuple(codes)


def available() -> tuple[str, ...]:
    """Those in which every sentence of the public side can be said."""
    return _available(FOLDER)


@cache
def _available(folder: Path) -> tuple[str, ...]:
    from deniable.languages.catalogue import keys  # noqa: PLC0415, it needs Babel, and English does not

    def is_complete(own: Path) -> bool:
        is_there = (own / "public.po").exists() and (own / "terms.toml").exists()
        return is_there and keys(folder / "public.pot") <= _read(own).sentences.keys()

    return tuple(code for code in PUBLIC if code == "en" or is_complete(folder / code))


def console_languages() -> tuple[str, ...]:
    """Those in which every sentence of the console can be said."""
    return _of_console(FOLDER)


@cache
def _of_console(folder: Path) -> tuple[str, ...]:
    from deniable.languages.catalogue import keys  # noqa: PLC0415, it needs Babel, and English does not

    needed = keys(folder / "public.pot") | keys(folder / "console.pot")

    def is_complete(own: Path) -> bool:
        is_there = (own / "console.po").exists() and (own / "terms.toml").exists()
        return is_there and needed <= _read(own).sentences.keys()

    return tuple(code for code in CONSOLE if code == "en" or is_complete(folder / code))


def usable_languages(codes: Sequence[str]) -> tuple[str, ...]:
    """These, for a new programme: each is available and named once, and there is one at least."""
    if list(codes) == ["en"]:
        return ("en",)
    there = all_of(available())
    if not codes or len(set(codes)) < len(codes):
        raise DeniableError("name each language once, and one at least; there are {there}", there=there)
    for code in codes:
        if code not in PUBLIC:
            raise DeniableError("there is no language {code}; there are {there}", code=ascii(code), there=there)
        if code not in available():
            raise DeniableError(
                "the language {code} cannot be used yet: not all is translated; there are {there}",
                code=code,
                there=there,
            )
    return tuple(codes)


def english() -> Language:
    return language("en")


def _toml(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


AUDIT_TERMS = ("audit", "inspection", "visit")
TARGET_TERMS = ("target", "employer", "workplace", "organisation", "company", "site")
"""Each language has its own words for them, in the forms that its sentences need: terms.toml."""


@dataclass(frozen=True)
class Terms:
    """The two words, and the forms in which a sentence needs them.

    >>> terms = Terms("inspection", "company")
    >>> f"{terms.an_audit} of {terms.a_target}; {terms.targets} {terms.audited}: 3"
    'an inspection of a company; companies inspected: 3'
    """

    audit: str = "audit"
    target: str = "target"

    def __post_init__(self) -> None:
        _check("an audit", self.audit, AUDIT_TERMS)
        _check("a target", self.target, TARGET_TERMS)

    @property
    def audits(self) -> str:
        return english().forms["audit"][self.audit]["audits"]

    @property
    def an_audit(self) -> str:
        return english().forms["audit"][self.audit]["an_audit"]

    @property
    def audited(self) -> str:
        return english().forms["audit"][self.audit]["audited"]

    @property
    def targets(self) -> str:
        return english().forms["target"][self.target]["targets"]

    @property
    def a_target(self) -> str:
        return english().forms["target"][self.target]["a_target"]

    def to_dict(self) -> dict[str, str]:
        """As programme.json has them."""
        return {"audit": self.audit, "target": self.target}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The terms that `to_dict` wrote."""
        if stored.keys() != {"audit", "target"}:
            raise DeniableError("terms must have the fields audit and target")
        return cls(**stored)


def _check(what: str, term: object, known: tuple[str, ...]) -> None:
    if not isinstance(term, str) or term not in known:
        raise DeniableError(
            "the word for {what} must be {known}, got {term}",
            what=what,
            known=one_of(known),
            term=ascii(term),
        )


DEFAULT_TERMS = Terms()
