"""What is kept of a form: for one person, for half a day, without passwords, and unreadable."""

import base64
from datetime import timedelta

import pytest
from tests.programme.offices import Clock

from deniable.console import kept_forms
from deniable.console.kept_forms import LASTS, MOST, KeptForm, is_sealed, opened, seal

KEY, NOW = bytes(range(32)), Clock().now
FORM = KeptForm("/report", (("target", "Ash Mill"), ("target", "Cedar Bank"), ("number", "3")))


def sealed(form: KeptForm = FORM) -> str:
    kept = seal(KEY, "id-Ida", form, NOW)
    assert kept is not None
    return kept


def test_it_comes_back_to_the_same_person() -> None:
    assert opened(KEY, "id-Ida", sealed(), NOW) == FORM


@pytest.mark.parametrize(
    ("key", "person", "later"),
    [(KEY, "id-Anna", timedelta()), (KEY, "", timedelta()), (bytes(32), "id-Ida", timedelta()), (KEY, "id-Ida", LASTS)],
)
def test_and_to_no_other_with_no_other_key_and_not_for_ever(key: bytes, person: str, later: timedelta) -> None:
    assert opened(key, person, sealed(), NOW + later) is None


@pytest.mark.parametrize("given", ["", "x", "x" * 100, "=", "é", "a b", "A" * (MOST + 3), '"><script>'])
def test_what_is_not_ours_opens_nothing(given: str) -> None:
    assert opened(KEY, "id-Ida", given, NOW) is None
    assert is_sealed(given) is (given in {"x", "x" * 100})


def test_a_part_that_was_altered_opens_nothing() -> None:
    kept = bytearray(base64.urlsafe_b64decode(sealed()))
    kept[20] ^= 1
    assert opened(KEY, "id-Ida", base64.urlsafe_b64encode(kept).decode(), NOW) is None


def test_it_tells_nothing() -> None:
    content = base64.urlsafe_b64decode(sealed())
    assert b"Ash" not in content
    assert b"report" not in content
    assert "Ash" not in repr(FORM)
    assert sealed() != sealed()


@pytest.mark.parametrize("name", sorted(kept_forms.NEVER_KEPT))
def test_no_password_is_kept(name: str) -> None:
    kept = opened(KEY, "id-Ida", sealed(KeptForm("/x", ((name, "secret"), ("reason", "A fire.")))), NOW)
    assert kept is not None
    assert kept.fields == (("reason", "A fire."),)


def test_what_is_too_long_is_not_kept() -> None:
    for letters, is_kept in ((33_000, True), (36_000, False)):
        form = KeptForm("/plan", (("targets", "é" * (letters // 2)),))
        kept = seal(KEY, "id-Ida", form, NOW)
        assert (kept is not None) == is_kept
        assert kept is None or opened(KEY, "id-Ida", kept, NOW) == form


TYPED = [("Ash Mill", "1"), ("Dogwood Clinic of the Northern District", "10000"), ("é山" * 100, "3"), ("A" * 200, "3")]


def lengths() -> set[int]:
    return {len(sealed(KeptForm("/report", (("target", target), ("number", number))))) for target, number in TYPED}


def test_its_length_does_not_tell_what_was_typed() -> None:
    assert len(lengths()) == 1


def test_the_check_catches_a_length_that_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_forms, "STEP", 1)
    assert len(lengths()) == len(TYPED)
