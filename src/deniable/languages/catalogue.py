"""A catalogue: the sentences of one language in a gettext file, and what must hold for each of them."""

import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from gettext import c2py
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog
from babel.messages.pofile import PoFileError, read_po

from deniable.errors import DeniableError, why
from deniable.languages.language import Sentences


@dataclass(frozen=True)
class Catalogue:
    sentences: Sentences
    plural: Callable[[int], int]


def read_catalogue(file: Path) -> Catalogue:
    """What the file has. A sentence that is fuzzy or has no translation is left out."""
    try:
        catalogue = _read(file.read_bytes())
        plural = c2py(catalogue.plural_expr)
    except (OSError, PoFileError, ValueError, LookupError) as error:  # the last for an encoding that there is not
        reason = why(error) if isinstance(error, OSError) else str(error)
        raise DeniableError("cannot read the sentences in {file}: {reason}", file=file, reason=reason) from None
    sentences: dict[str, tuple[str, ...]] = {}
    for message in catalogue:
        key, said = message.id, message.string
        if not key or not said or message.fuzzy:
            continue
        forms = (said,) if isinstance(said, str) else tuple(said)
        if all(forms):
            sentences[key if isinstance(key, str) else key[0]] = forms
    return Catalogue(sentences, plural)


def _read(content: bytes) -> Catalog:
    if _MANY_FORMS.search(_BROKEN.sub(b"", content)):
        raise ValueError("it has more plural forms than any language")
    return read_po(io.BytesIO(content), abort_invalid=True)


@cache
def keys(sources: Path) -> frozenset[str]:
    """The English sentences of a template file."""
    with sources.open("rb") as opened:
        ids = [message.id for message in read_po(opened) if message.id]
    return frozenset(key if isinstance(key, str) else key[0] for key in ids)


def mistakes(
    english: str, translations: Collection[str], forms: Collection[str], own: Collection[str]
) -> Iterator[str]:
    """What is wrong with the translations of a sentence: a value or a tag that is lost, changed or added. `forms` are
    those of the terms in English, `own` in the language of the translations.
    """
    values = placeholders(english) - {*forms}
    for said in translations:
        named = placeholders(said)
        for lost in sorted(values - named):
            # A plural form of one or two may say its number as a word. For an English word of the office's terms, a
            # translation has a form of its own.
            if (lost != "number" or len(translations) == 1) and not lost.endswith("_word"):
                yield f"it has no {{{lost}}}"
        known = values | {*own, "number"} if len(translations) > 1 else values | {*own}
        yield from (f"it has {{{extra}}}, which is no value" for extra in sorted(named - known))
        if _UNWRITABLE.search(said):
            yield "it has a line break, or another character that is not to be seen"
        if _tags(said) != _tags(english):
            yield "its tags are other ones"
        if re.search(r"[<>]", _TAG.sub("", said)):
            yield "it has a < or a > that is no part of a tag"
        if any(name is not None and (spec or how or not name.isidentifier()) for _, name, spec, how in _parsed(said)):
            yield "it has braces with more than a name in them"


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in _parsed(text) if name is not None}


# Room is made for as many as a file says, for every sentence.
_MANY_FORMS = re.compile(rb"nplurals\s*=\s*0*[1-9][0-9]")
_BROKEN = re.compile(rb'"\s*\n\s*"')  # a text that goes on in the next line
# Without a < inside: of a long row of them, none is looked at twice.
_TAG = re.compile(r"<[^<>]*>")
# Control characters, breaks of lines and paragraphs, changes of direction, and halves of characters. They would begin a
# new line in calendar.ics, turn round what follows them on the page, or have no place in a file at all.
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def _parsed(text: str) -> Iterable[tuple[str, str | None, str | None, str | None]]:
    """Of each part: the text before, the name in braces, how it is written, and a conversion."""
    return Formatter().parse(text)


def _tags(text: str) -> list[str]:
    return sorted(_TAG.findall(text))
