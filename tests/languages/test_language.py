"""Which languages there are, and which can be chosen for a new programme."""

from pathlib import Path

import pytest
from tests.languages.translated import translate, translated

from deniable.errors import DeniableError
from deniable.languages.language import PUBLIC, available, language, usable_languages
from deniable.languages.voice import Voice


def test_a_language_is_there_once_all_is_translated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    translated(monkeypatch, tmp_path)
    assert available() == ("en",)
    folder = translated(monkeypatch, tmp_path / "more", "fr", "de")
    assert available() == ("en", "de", "fr")
    assert Voice(language("de"))("Rounds").startswith("[Rô")
    assert not language("de").is_reviewed
    translate(folder / "it", without="Rounds")
    monkeypatch.setattr("deniable.languages.language.FOLDER", folder / ".." / "languages")  # read again
    assert available() == ("en", "de", "fr")


def test_english_needs_no_catalogue() -> None:
    assert usable_languages(["en"]) == ("en",)
    assert available()[0] == "en"
    assert set(available()) <= set(PUBLIC)


@pytest.mark.parametrize(
    ("codes", "why"),
    [([], "one at least"), (["de", "de"], "once"), (["xx"], "no language 'xx'"), (["de", "fr"], "cannot be used yet")],
)
def test_others_are_refused_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, codes: list[str], why: str
) -> None:
    translated(monkeypatch, tmp_path, "de")
    assert usable_languages(["de", "en"]) == ("de", "en")
    with pytest.raises(DeniableError, match=f"{why}.*; there are en and de$"):
        usable_languages(codes)
