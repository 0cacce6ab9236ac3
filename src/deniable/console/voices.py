"""In which language the console speaks to each person, and with which words for audits and targets.

People choose on the sign-in page or under Your account. The browser keeps the choice in a cookie; until there is one,
the browser's own languages decide. So nothing is written, and the sign-in page knows it as well.
"""

import re

from starlette.requests import Request

from deniable.console.console import console_of
from deniable.languages.language import DEFAULT_TERMS, Terms, console_languages, language
from deniable.languages.voice import Voice

COOKIE = "language"


def voice_of(request: Request, terms: Terms | None = None) -> Voice:
    """How to speak to the person who asks: with the programme's words, if not with those given here."""
    if terms is None:
        programme = console_of(request).programme() if is_signed_in(request) else None
        terms = programme.parameters.terms if programme else DEFAULT_TERMS
    return Voice(language(language_of(request)), terms)


def is_signed_in(request: Request) -> bool:
    """Strangers learn nothing of the programme."""
    who = getattr(request.state, "visitor", None)
    return who is not None and who.person is not None


def language_of(request: Request) -> str:
    chosen = request.cookies.get(console_of(request).cookie_name(COOKIE), "")
    return chosen if chosen in console_languages() else _preferred(request.headers.get("accept-language", ""))


def _preferred(header: str) -> str:
    """The first language of the browser's list that the console speaks. Its weights are left aside: browsers send the
    list in order.

    >>> _preferred("pt-BR,pt;q=0.9,en;q=0.8"), _preferred("")
    ('en', 'en')
    """
    for wanted in header[:200].split(","):
        code = wanted.partition(";")[0].strip().lower().partition("-")[0]
        if code in console_languages():
            return code
    return "en"


_MENU_WORDS = {"transcript": "public record", "guarantee": "promise"}


def in_menu_words(words: str) -> str:
    """As the menu calls things. The programme's own sentences say "transcript" and "guarantee", as its files do.

    >>> in_menu_words("round 1 is not in the transcript: transcript.jsonl was changed")
    'round 1 is not in the public record: transcript.jsonl was changed'
    """
    return re.sub(r"(?<![\w./-])(transcript|guarantee)\b(?!\.\w)", lambda found: _MENU_WORDS[found[0]], words)


def sentence(words: str) -> str:
    """With a capital and a full stop, where words of the programme stand alone.

    >>> sentence("index.html was changed"), sentence("the disk is full")
    ('index.html was changed.', 'The disk is full.')
    """
    words = in_menu_words(words)
    begins = words if _FILE.match(words) else words[:1].upper() + words[1:]
    return begins + ("" if words.endswith((".", "?", "!")) else ".")


_FILE = re.compile(r"\w+\.\w")
"""A file keeps its name where a sentence begins with it."""
