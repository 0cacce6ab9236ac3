"""Every sentence that is said is in the catalogues, and every translation keeps its values, tags and figures."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from scripts import messages
from tests.languages.test_sources import SOURCE, TEXTS, _name

from deniable.languages.catalogue import mistakes, placeholders, read_catalogue
from deniable.languages.language import CONSOLE, FOLDER, PUBLIC, available, console_languages, language

Key = str | tuple[str, ...]


def keys(file: Path) -> set[Key]:
    with file.open("rb") as opened:
        return {message.id for message in read_po(opened) if message.id}  # type: ignore[misc]


def said(source: str) -> Iterator[Key]:
    """All literals that a Python file says."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := _name(node.func)) in TEXTS:
            texts = tuple(
                text.value
                for text in node.args[: TEXTS[name]]
                if isinstance(text, ast.Constant) and isinstance(text.value, str)
            )
            if texts:
                yield texts[0] if TEXTS[name] == 1 else texts


@pytest.mark.parametrize("domain", ["public", "console"])
def test_the_sources_and_the_template_have_the_same_sentences(domain: str) -> None:
    extracted = {message.id for message in messages.extracted()[domain] if message.id}
    assert extracted == keys(FOLDER / f"{domain}.pot"), "run scripts/messages.py"


def test_what_is_said_is_extracted() -> None:
    """Babel does not see what is said inside an f-string, and loses a plural around a nested call of `say`."""
    files = [*(SOURCE / "programme").rglob("*.py"), SOURCE / "guarantee.py", SOURCE / "guarantee_sentences.py"]
    found = {key for file in files for key in said(file.read_text(encoding="utf-8"))}
    assert found <= keys(FOLDER / "public.pot")


def test_a_sentence_in_an_f_string_would_be_noticed() -> None:
    """Negative control."""
    assert list(said("""f"{say('Not extracted.')} {more}" """)) == ["Not extracted."]
    assert "Not extracted." not in keys(FOLDER / "public.pot")


def test_every_language_is_complete() -> None:
    assert available() == PUBLIC
    assert console_languages() == CONSOLE


@pytest.mark.parametrize(
    ("code", "domain"), [*((code, "public") for code in PUBLIC[1:]), *((code, "console") for code in CONSOLE[1:])]
)
def test_translations_keep_values_and_tags(code: str, domain: str) -> None:
    english, own = forms("en"), forms(code)
    for key in keys(FOLDER / f"{domain}.pot"):
        text = key if isinstance(key, str) else key[1]
        first = key if isinstance(key, str) else key[0]
        assert not list(mistakes(text, language(code).sentences[first], english, own)), first


@pytest.mark.parametrize("code", PUBLIC[1:])
def test_translations_keep_figures(code: str) -> None:
    """50 %, 100 guesses: a figure in a sentence is in its translation, in any digits; but "percentage point" may be a
    word.
    """
    digits = str.maketrans(language(code).locale.digits, "0123456789")
    for key, translations in language(code).sentences.items():
        for figure in re.findall(r"\b(?:50|90|100)\b", key.removesuffix(" point in 100")):
            assert all(figure in one.translate(digits) for one in translations), key


@pytest.mark.parametrize("code", PUBLIC[1:])
def test_no_translation_is_english(code: str) -> None:
    same = {
        key
        for key, translations in language(code).sentences.items()
        if key in translations and len(re.findall(r"[A-Za-z]{3,}", re.sub(r"\{[^}]*\}|<[^>]*>", "", key))) > 2
    }
    assert same == set()


@pytest.mark.parametrize("code", PUBLIC)
def test_every_term_has_every_form(code: str) -> None:
    for terms in language(code).forms.values():
        first, *others = (set(one) for one in terms.values())
        assert all(other == first for other in others)
        assert all(form.strip() == form and form for one in terms.values() for form in one.values())


@pytest.mark.parametrize(
    ("translation", "wrong"),
    [
        ("Höchstens {most} zählen.", []),
        ("Höchstens {viele} zählen.", ["it has no {most}", "it has {viele}, which is no value"]),
        ("Höchstens <b>{most}</b> zählen.", ["its tags are other ones"]),
    ],
)
def test_a_lost_value_or_tag_is_noticed(translation: str, wrong: list[str]) -> None:
    """Negative control."""
    assert list(mistakes("At most {most} of {a_target} count.", [translation], {"a_target"}, {"ziel"})) == wrong


def test_fuzzy_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "public.po"
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
    file.write_text(head + '#, fuzzy\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr ""\n\nmsgid "d"\nmsgstr "e"\n')
    assert read_catalogue(file).sentences == {"d": ("e",)}


def forms(code: str) -> set[str]:
    own = {form for terms in language(code).forms.values() for one in terms.values() for form in one}
    return own | {form[0].upper() + form[1:] for form in own}


def test_no_sentence_has_a_form_that_english_lacks() -> None:
    for key in keys(FOLDER / "public.pot"):
        for text in (key,) if isinstance(key, str) else key:
            assert not {name for name in placeholders(text) if name.lower() in forms("en") and name not in forms("en")}
