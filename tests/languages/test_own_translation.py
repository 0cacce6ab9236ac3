"""An office's own translation: complete, with the values and tags of the English sentences, and part of the rules."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from babel.messages.pofile import read_po, write_po
from tests.programme.public.published import chained, made

from deniable.errors import DeniableError
from deniable.languages.language import FOLDER, PUBLIC, check_languages, language
from deniable.languages.own_translation import check_translation, read_translation
from deniable.programme.parameters import Parameters
from deniable.programme.public.page import render

OURS = FOLDER / "de" / "public.po"
KEY = "Rounds"


def changed(folder: Path, change: Callable[[str], str], key: str = KEY) -> Path:
    """Our German file with another translation of one sentence."""
    with OURS.open("rb") as opened:
        catalogue = read_po(opened, locale="de")
    message = catalogue[key]
    assert message is not None
    assert isinstance(message.string, str)
    message.string = change(message.string)
    file = folder / "own.po"
    with file.open("wb") as opened:
        write_po(opened, catalogue)
    return file


def in_german(parameters: Parameters) -> str:
    return render(parameters, chained(parameters, []), None, parameters.voice("de"))


def test_it_is_said_in_the_place_of_ours(tmp_path: Path) -> None:
    own = read_translation("de", changed(tmp_path, lambda _: "Runden unseres Amts"))
    parameters = made(languages=("de", "en"), translations={"de": own})
    assert parameters.voice("de")(KEY) == "Runden unseres Amts"
    assert parameters.voice("de").language.is_reviewed
    assert not language("de").is_reviewed
    assert parameters.voice("en")(KEY) == KEY
    assert Parameters.from_bytes(parameters.to_bytes()) == parameters


def test_an_office_can_translate_every_language_itself() -> None:
    """Each sentence is a list of its forms, and programme.json has all of them."""
    codes = [code for code in PUBLIC if code != "en"]
    own = {code: read_translation(code, FOLDER / code / "public.po") for code in codes}
    parameters = made(languages=(*codes, "en"), translations=own)
    assert Parameters.from_bytes(parameters.to_bytes()) == parameters


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda _: "", "lacks 1 sentence"),
        (lambda said: said + " {of_no_value}", "which is no value"),
        (lambda said: said + " <b>", "tags"),
        (lambda said: said + " <img src=x onerror=", "no part of a tag"),
        (lambda said: said + " {", "braces"),
        (lambda said: said + " {Audits.__class__}", "braces with more than a name|no value"),
        (lambda said: said + " {audits:999999999}", "braces with more than a name"),
        (lambda said: said + " {number}", "which is no value"),
        (lambda said: said + "\nURL:https://elsewhere.example", "line break"),
        (lambda said: said + " \u202e", "not to be seen"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, change: Callable[[str], str], why: str) -> None:
    with pytest.raises(DeniableError, match=why):
        read_translation("de", changed(tmp_path, change))


@pytest.mark.parametrize(
    ("header", "instead", "why"),
    [
        (r"plural=[^;]*", "plural=(n $ 1)", "invalid token in plural form"),
        (r"plural=[^;]*", "plural=(n", "unbalanced parenthesis"),
        (r"nplurals=\d+", "nplurals=99999999", "more plural forms than any language"),
        (r"nplurals=\d+", 'npl"\n"urals= 099999999', "more plural forms than any language"),
        (r"charset=[\w-]+", "charset=nonsense", "unknown encoding"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused_at_once(tmp_path: Path, header: str, instead: str, why: str) -> None:
    """Translators bring the file. Room for a hundred million forms of every sentence would take all memory."""
    file = tmp_path / "own.po"
    text, number = re.subn(header, instead, OURS.read_text(encoding="utf-8"), count=1)
    assert number == 1
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DeniableError, match=f"cannot read the sentences in .*: .*{why}"):
        read_translation("de", file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match=r"none\.po"):
        read_translation("de", tmp_path / "none.po")


@pytest.mark.parametrize(
    ("code", "sentences", "why"),
    [
        ("en", {KEY: ["Rounds"]}, "another language"),
        ("de", [KEY], "object"),
        ("de", {KEY: "Runden"}, "object"),
        ("de", {KEY: []}, "object"),
        ("de", {KEY: ["Runde", "Runden"]}, "plural forms"),
        ("de", {KEY: ["Runden \ud800"]}, "not to be seen"),
    ],
)
def test_what_a_programme_states_is_checked(code: str, sentences: object, why: str) -> None:
    """programme.json may come from others."""
    with pytest.raises(DeniableError, match=why):
        check_translation(code, sentences)


def test_a_row_of_angle_brackets_is_refused_at_once() -> None:
    row = "<" * 1_000_000
    with pytest.raises(DeniableError, match="no part of a tag"):
        check_translation("de", {row: [row]})


@pytest.mark.parametrize("languages", [[["de"]], [{}], [None], ["de", []]])
def test_languages_that_are_no_names_are_refused(languages: object) -> None:
    """programme.json may come from others."""
    with pytest.raises(DeniableError, match="name each language once"):
        check_languages(languages)


def test_it_must_be_of_a_language_of_the_page() -> None:
    with pytest.raises(DeniableError, match="one of the languages of the public page, en, got"):
        made(translations={"de": {KEY: ("Runden",)}})


def test_the_page_is_in_it_and_says_no_longer_that_no_one_checked_it(tmp_path: Path) -> None:
    unchecked = "Muttersprach"
    ours = made(languages=("de",))
    assert unchecked in in_german(ours)
    own = read_translation("de", changed(tmp_path, lambda _: "Runden unseres Amts"))
    text = in_german(made(languages=("de",), translations={"de": own}))
    assert unchecked not in text
    assert "Runden unseres Amts" in text
