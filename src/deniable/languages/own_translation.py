"""An office's own translation of the public side, in the place of ours.

It is complete, and a native speaker checked it: the office says so by giving it. It is part of the public rules, so
that all who compare a page with the record have it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.languages import language as languages
from deniable.languages.language import Sentences, language


def read_translation(code: str, file: Path) -> Sentences:
    """The sentences of a gettext catalogue in this language; refused where one is missing or not as it must be."""
    from deniable.languages.catalogue import keys, read_catalogue  # noqa: PLC0415, it needs Babel, and English does not

    needed, read = keys(languages.FOLDER / "public.pot"), read_catalogue(file).sentences
    lacking = sorted(needed - read.keys())
    if lacking:
        raise DeniableError.of(
            len(lacking),
            "{file} lacks {number} sentence, which begins “{begins}”; translate it, and mark no sentence as fuzzy",
            "{file} lacks {number} sentences, the first of which begins “{begins}”; translate them all, and mark none "
            "as fuzzy",
            file=file,
            begins=lacking[0][:60],
        )
    return check_translation(code, {key: read[key] for key in needed})


def check_translation(code: str, sentences: object) -> Sentences:
    """These, where each keeps the values and tags of the English sentence and has as many plural forms as ours."""
    from deniable.languages.catalogue import mistakes  # noqa: PLC0415, it needs Babel, and English does not

    if code == "en":
        raise DeniableError(
            "the English sentences are those that were checked; give a translation into another language"
        )
    ours, english, own = language(code).sentences, _forms("en"), _forms(code)
    for key, said in _checked(sentences).items():
        try:
            wrong = next(mistakes(key, said, english, own), None)
        except ValueError:
            wrong = "its braces do not fit together"
        if wrong is None and len(said) != len(ours.get(key, said)):
            wrong = "it must have as many plural forms as the language has"
        if wrong is not None:
            raise DeniableError("the translation of “{begins}” cannot be used: {wrong}", begins=key[:60], wrong=wrong)
    return _checked(sentences)


def _checked(sentences: object) -> Sentences:
    if not isinstance(sentences, Mapping):
        raise DeniableError("a translation must be an object from English sentences to lists of plural forms")
    for key, said in sentences.items():
        is_list = isinstance(said, list | tuple) and said
        if not isinstance(key, str) or not is_list or not all(isinstance(one, str) and one for one in said):
            raise DeniableError("a translation must be an object from English sentences to lists of plural forms")
    return {key: tuple(said) for key, said in sorted(sentences.items())}


def _forms(code: str) -> set[str]:
    """The names of the forms that a sentence may use."""
    kinds: Mapping[str, Mapping[str, Mapping[str, Any]]] = language(code).forms
    names = {name for terms in kinds.values() for forms in terms.values() for name in forms}
    return names | {name[:1].upper() + name[1:] for name in names}
