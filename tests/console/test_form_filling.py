"""A form is filled in with what was typed: every kind of control, the right one of several forms, and nothing else."""

import pytest

from deniable.console.form_filling import fill
from deniable.console.kept_forms import KeptForm

PAGE = """<p>Some text
<form method="post" action="/one#found">
<input type="hidden" name="csrf" value="new"><input type="hidden" name="round" value="2">
<input id="a" name="a" type="text" value="before">
<input name="many" type="text" value=""><input name="many" type="text" value="">
<input type="checkbox" name="b" value="1" checked><input type="checkbox" name="b" value="2">
<input type="radio" name="c" value="x" required><input type="radio" name="c" value="y" checked required>
<select name="d"><option value="p" selected>P</option><option value="q">Q</option></select>
<select name="f"><option value="">Choose</option><option>R &amp; S</option></select>
<textarea name="e" rows="3">
before</textarea>
<input type="password" name="password" value=""><input type="file" name="file">
<button name="start" value="0" formaction="/one/find#found">Search</button>
</form>
<input name="a" value="outside">
"""
TYPED = (("csrf", "old"), ("round", "1"), ("a", 'x" y'), ("many", "1"), ("many", "2"), ("b", "2"), ("c", "x"),
         ("d", "q"), ("f", "R & S"),
         ("e", "<b>&\nline"), ("password", "secret"), ("file", "name"), ("start", "0"))  # fmt: skip


@pytest.mark.parametrize("path", ["/one", "/one/find"])
def test_every_kind_of_control(path: str) -> None:
    filled = fill(PAGE, KeptForm(path, TYPED))
    assert filled is not None
    for part in (
        'name="csrf" value="new"',
        'name="round" value="2"',
        '<input id="a" name="a" type="text" value="x&quot; y">',
        '<input name="many" type="text" value="1"><input name="many" type="text" value="2">',
        'name="b" value="1"><input type="checkbox" name="b" value="2" checked>',
        'value="x" required checked><input type="radio" name="c" value="y" required>',
        '<option value="p">P</option><option value="q" selected>Q</option>',
        '<option value="">Choose</option><option selected>R &amp; S</option>',
        '<textarea name="e" rows="3">\n&lt;b&gt;&amp;\nline</textarea>',
        '<input type="password" name="password" value=""><input type="file" name="file">',
        '<input name="a" value="outside">',
    ):
        assert part in filled
    assert "secret" not in filled
    assert "old" not in filled


def test_what_was_not_sent_stays_as_it_is() -> None:
    filled = fill(PAGE, KeptForm("/one", ()))
    assert filled is not None
    assert '<input id="a" name="a" type="text" value="before">' in filled
    assert 'name="b" value="1">' in filled  # a box that was not ticked is not sent


def test_a_form_that_is_gone() -> None:
    assert fill(PAGE, KeptForm("/two", TYPED)) is None


ROWS = "".join(
    f'<form action="/rows"><input type="hidden" name="csrf" value="t"><input type="hidden" name="row" value="{row}">'
    '<input name="day" type="date"></form>'
    for row in ("7 Ash Mill", "8 Ash Mill")
)


def test_of_several_forms_the_one_about_the_same_thing() -> None:
    filled = fill(ROWS, KeptForm("/rows", (("row", "8 Ash Mill"), ("day", "2026-01-05"))))
    assert filled is not None
    first, second = filled.split("</form>")[:2]
    assert ("2026-01-05" in first, "2026-01-05" in second) == (False, True)
    assert fill(ROWS, KeptForm("/rows", (("row", "9 Ash Mill"), ("day", "2026-01-05")))) is None
