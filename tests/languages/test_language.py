"""Which languages there are, and which can be chosen for a new programme."""

from datetime import date, datetime
from pathlib import Path

import pytest
from tests.languages.translated import translate, translated

from deniable.errors import DeniableError
from deniable.languages.language import PUBLIC, available, language, usable_languages
from deniable.languages.voice import Voice, kept_together
from deniable.message import noted
from deniable.programme.calendar import day_in_words


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


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "yearly numbers of 2026, −1 report ± 20"),
        ("fr", "chiffres annuels de 2026, −1 signalement ±\xa020"),
        ("pl", "liczby roczne za 2026, −1 zgłoszenie ± 20"),
    ],
)
def test_a_number_below_zero_has_the_form_of_the_one_above_it(code: str, said: str) -> None:
    say = Voice(language(code))
    figures = (
        "yearly numbers of {year}, {number} report ± {error}",
        "yearly numbers of {year}, {number} reports ± {error}",
    )
    assert say.counted(*figures, -1, year="2026", error=20) == said
    below, above = (say.counted(*figures, number, year="2026", error=20) for number in (-38, 38))
    assert below.replace("−38", "38") == above


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "about 1.8 weeks"),
        ("es", "cerca de 1,8 semanas"),
        ("fr", "environ 1,8 semaine"),
        ("pt-BR", "cerca de 1,8 semana"),
        ("de", "etwa 1,8 Wochen"),
    ],
)
def test_less_than_two_is_one_where_zero_is(code: str, said: str) -> None:
    say = Voice(language(code))
    figure = "1.8"
    weeks = say.counted("about {figure} week", "about {figure} weeks", say.plural_of(figure), figure=say.figure(figure))
    assert weeks == said


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        ("fr", "1er\xa0janvier 2026", "2\xa0janvier 2026"),
        ("pt-BR", "1º\xa0de janeiro de 2026", "2\xa0de janeiro de 2026"),
        ("it", "1\xa0gennaio 2026", "2\xa0gennaio 2026"),
        ("bn", "১\xa0জানুয়ারী, ২০২৬", "২\xa0জানুয়ারী, ২০২৬"),
    ],
)
def test_the_first_day_of_a_month_is_an_ordinal_where_people_write_one(code: str, first: str, second: str) -> None:
    say = Voice(language(code))
    assert [say.day(date(2026, 1, day)) for day in (1, 2)] == [first, second]


@pytest.mark.parametrize(
    ("code", "day", "moment"),
    [
        ("en", "6 January 2026", "6 January 2026, 09:30"),
        ("de", "6.\xa0Januar 2026", "6.\xa0Januar 2026, 09:30 Uhr"),
        ("fr", "6\xa0janvier 2026", "6\xa0janvier 2026 à 09:30"),
        ("es", "6\xa0de enero de 2026", "6\xa0de enero de 2026, 09:30"),
    ],
)
def test_days_and_moments_within_a_message_are_in_words(code: str, day: str, moment: str) -> None:
    at = datetime(2026, 1, 6, 9, 30)
    message = noted("{day}, {at}", day=at.date(), at=at)
    assert Voice(language(code))(message).replace("\u202f", "\xa0") == f"{day}, {moment}"
    assert str(message) == "2026-01-06, 2026-01-06 09:30"


NO_BREAK = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize("month", range(1, 13))
@pytest.mark.parametrize("code", PUBLIC)
def test_no_line_ends_within_a_day(code: str, month: int) -> None:
    for day in (1, 23):
        whole = day_in_words(date(2026, month, day), Voice(language(code))).words
        assert kept_together(f"<p>by {whole}, and") == f"<p>by {whole.replace(' ', NO_BREAK)}, and"


def test_no_line_ends_within_a_telephone_number_or_before_a_per_cent_sign() -> None:
    assert kept_together("Call 01234 555 012 for 50 %") == f"Call 01234{NO_BREAK}555{NO_BREAK}012 for 50{NO_BREAK}%"


@pytest.mark.parametrize(
    "words",
    [
        "2 audits in round 1000",
        f"20{NO_BREAK}% in round 1000",
        f"2{NO_BREAK}: au tour 1000",
        '<svg viewBox="0 0 640 300"><polyline points="0,1 20,30"/></svg>',
    ],
)
def test_a_line_may_end_between_other_numbers_and_words(words: str) -> None:
    assert kept_together(words) == words
