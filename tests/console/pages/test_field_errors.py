import pytest

from deniable.console.pages.field_errors import FieldError, about, field_of
from deniable.errors import DeniableError


def test_an_error_that_is_about_no_field_is_known_as_such() -> None:
    assert field_of(DeniableError("something else")) == ""


def test_what_is_refused_is_about_the_field_unless_it_names_another() -> None:
    for error, field in ((DeniableError("{n} is too many", n=7), "numbers"), (FieldError("time", "too late"), "time")):
        with pytest.raises(FieldError, match=str(error)) as refused, about("numbers"):
            raise error
        assert field_of(refused.value) == field
