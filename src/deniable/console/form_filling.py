"""Puts what a person typed before back into a form of a page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

from deniable.console.kept_forms import KeptForm

_NOT_TYPED = {"hidden", "password", "file"}


@dataclass(frozen=True)
class _Control:
    """An input, a text area or an option of a page, and where its tag is."""

    start: int
    tag: str
    attributes: dict[str, str | None]
    source: str


@dataclass
class _Form:
    addresses: set[str]
    """Where its buttons send it."""
    hidden: dict[str, str] = field(default_factory=dict)
    controls: list[_Control] = field(default_factory=list)


class _Forms(HTMLParser):
    """The forms of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self._lines = [0, *(found.end() for found in re.finditer("\n", page))]
        self._inside = False
        self._select: str | None = None
        self._option: _Control | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._inside = True
            self.forms.append(_Form({_path(given.get("action"))}))
        elif self._inside:
            self._add(self.forms[-1], tag, given)

    def handle_data(self, data: str) -> None:
        """An option stands for its text, unless it says otherwise."""
        if self._option is not None:
            self._option.attributes.setdefault("value", data.strip())
            self._option = None

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "select":
            self._select = None

    def _add(self, form: _Form, tag: str, given: dict[str, str | None]) -> None:
        if tag == "button" and given.get("formaction"):
            form.addresses.add(_path(given["formaction"]))
        elif tag == "select":
            self._select = given.get("name")
        elif tag == "input" and given.get("type") == "hidden":
            form.hidden[given.get("name") or ""] = given.get("value") or ""
        elif tag in {"input", "textarea", "option"} and given.get("type") not in _NOT_TYPED:
            line, column = self.getpos()
            named = given | {"name": self._select} if tag == "option" else given
            form.controls.append(_Control(self._lines[line - 1] + column, tag, named, self.get_starttag_text() or ""))
            self._option = form.controls[-1] if tag == "option" else None


def fill(page: str, kept: KeptForm) -> str | None:
    """The page with its form filled in; None where it has no such form any more.

    Where several forms are sent to the same place, such as one for each row of a list, it is the one that is about the
    same thing. What is hidden in a form stays as the page has it.
    """
    typed = dict(kept.fields)
    forms = [form for form in _Forms(page).forms if kept.path in form.addresses]
    if len(forms) > 1:
        forms = [form for form in forms if all(typed.get(n) == v for n, v in form.hidden.items() if n != "csrf")]
    if len(forms) != 1:
        return None
    for start, end, text in sorted(_edits(page, forms[0], kept), reverse=True):
        page = page[:start] + text + page[end:]
    return page


def _edits(page: str, form: _Form, kept: KeptForm) -> Iterator[tuple[int, int, str]]:
    """What to put in place of which part of the page."""
    texts: dict[str, list[str]] = {}
    for name, value in kept.fields:
        texts.setdefault(name, []).append(value)
    for control in form.controls:
        name, end = control.attributes.get("name") or "", control.start + len(control.source)
        values = texts.get(name, [])
        if control.tag == "option" or control.attributes.get("type") in {"checkbox", "radio"}:
            mark = "selected" if control.tag == "option" else "checked"
            plain = re.sub(rf" {mark}\b", "", control.source)
            is_chosen = control.attributes.get("value", "") in values
            yield control.start, end, _with(plain, mark) if is_chosen else plain
        elif values and control.tag == "textarea":
            yield end, page.index("</textarea>", end), "\n" + escape(values.pop(0))
        elif values:
            plain = re.sub(r' value="[^"]*"', "", control.source)
            yield control.start, end, _with(plain, f'value="{escape(values.pop(0))}"')


def _with(tag: str, attribute: str) -> str:
    return f"{tag.removesuffix('>')} {attribute}>"


def _path(address: str | None) -> str:
    return (address or "").partition("#")[0]
