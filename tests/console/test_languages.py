"""Every page of the console speaks the reader's language.

The pages are opened in a language that no one speaks, in which every word is accented. What is plain on a page was not
said by a voice, or is a name.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.console.offices import CHEAP, CLASSES, PASSWORD, Browser, Office, form_token, new_office
from tests.console.pages.test_plan import check, show
from tests.languages.pseudo import ACCENTED, Accented, pseudo
from tests.programme.offices import Clock

from deniable.console import demo, voices
from deniable.console.accounts import invitations
from deniable.console.accounts.passwords import Passwords
from deniable.console.app import PAGES, create_app
from deniable.console.help_pages import help_texts
from deniable.console.pages import language as language_page
from deniable.console.pages.decision_kinds import KINDS
from deniable.languages.language import Language, english

PSEUDO = {"accept-language": "de-AT,de;q=0.9"}
"""What a browser sends whose console speaks the pseudo-language in these tests."""
PUBLIC_FILES = ("/public/", "/transcript/")
"""Files, in the languages of the programme."""
NAMES = (
    *demo.TARGETS,
    *demo.PEOPLE.values(),
    *("Ada", "Otto", "Ida", "Anna", "Berta"),
    *(one.name for one in demo.CLASSES),
    demo.NAME,
    demo.HOTLINE,
    demo.CONTACT,
    demo.ADDRESS,
    "A fire, reported in the newspapers.",
    "The whole office was moving house.",
    "Site visits",
    "north",
    "deniable",
    "GlobaLeaks",
    "Hush Line",
    "target,number",  # columns of a file
    "UTC",
)
"""What people typed, and what is called so everywhere."""
ZONES = re.compile(r"\b[A-Z]\w+(?:/[\w+-]+)+")
FILES = re.compile(
    r"\S+\.(?:csv|html|ics|json|jsonl|md|pem|public|zip)\b|(?<!\w)/[\w./-]+|https?://\S+|[0-9a-f]{32,64}|--[a-z-]+"
)
PLAIN = re.compile(r"[A-Za-z]*[aceinosuyACEINOSUY][A-Za-z]*")
"""A word with a letter that the pseudo-language accents."""
SPOKEN = {"alt", "aria-label", "data-label", "placeholder", "title"}
SILENT = {"code", "pre", "script", "style"}
VOID = {"input", "img", "br", "link", "meta", "hr", "line", "rect", "polyline", "wbr"}


class Unsaid(HTMLParser):
    """Texts of a page with words that no voice said. What is marked as another language is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[tuple[str, bool]] = []
        """The elements around a text, and whether each is left out."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name in sorted(SPOKEN & given.keys()):
            self._look(given[name] or "")
        if tag not in VOID:
            is_other = tag != "html" and "lang" in given
            self._open.append((tag, tag in SILENT or is_other))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """It has no text."""

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self._look(data)

    def _look(self, text: str) -> None:
        if any(is_silent for _, is_silent in self._open):
            return
        rest = ZONES.sub(" ", FILES.sub(" ", text))
        for name in sorted(NAMES, key=len, reverse=True):
            rest = rest.replace(name, " ")
        if any(len(word) > 1 for word in PLAIN.findall(rest)):
            self.found.append(" ".join(text.split()))


def unsaid(page: str) -> list[str]:
    parser = Unsaid()
    parser.feed(page)
    return parser.found


def accented_all() -> Language:
    """The pseudo-language, whose months, lists and terms are accented as well."""
    language = pseudo()
    locale = replace(
        language.locale,
        months=tuple(one.translate(ACCENTED) for one in language.locale.months),
        weekdays=tuple(one.translate(ACCENTED) for one in language.locale.weekdays),
        lists={
            word: (forms[0].translate(ACCENTED), forms[1].translate(ACCENTED), forms[2].translate(ACCENTED))
            for word, forms in language.locale.lists.items()
        },
    )
    forms = {
        kind: {
            term: {form: text.translate(ACCENTED) for form, text in of_term.items()} for term, of_term in terms.items()
        }
        for kind, terms in language.forms.items()
    }
    return replace(language, locale=locale, forms=forms, sentences=WithForms())


class WithForms(Accented):
    """As every other language, it has forms of its own in the place of English words."""

    def __getitem__(self, text: str) -> tuple[str, ...]:
        return super().__getitem__(re.sub(r"{(\w+)_word}", r"{\1}", text))


def speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """The console speaks English, and the pseudo-language under the code de."""
    spoken = {"en": english(), "de": accented_all()}
    monkeypatch.setattr(voices, "language", spoken.__getitem__)
    for module in (voices, language_page):
        monkeypatch.setattr(module, "console_languages", lambda: tuple(spoken))


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    clock = Clock()
    console = demo.demonstration(tmp_path_factory.mktemp("demo"), clock=clock, passwords=Passwords(CHEAP))
    office = Office(console, clock, create_app(console, "http://testserver"))
    office.people = {one.person.name: one.person for one in console.demo}
    yield office
    console.close()


@pytest.fixture
def shown(demonstration: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    speak(monkeypatch)
    return demonstration


def signed_in(office: Office, role: str) -> Browser:
    one = next(one for one in office.console.demo if one.person.role == role)
    browser = office.browser(headers=PSEUDO)
    assert browser.sign_in(one.person.name, one.password, office.code(one.person.name)).status_code == 303
    return browser


def addresses(office: Office) -> Iterator[str]:
    """Of every page to look at, with what may stand in the braces."""
    person = office.console.demo[0].person.id
    topics, kinds = tuple(help_texts()), tuple(KINDS)
    fills = {"{topic}": topics, "{kind}": kinds, "{id_}": (person, "nobody"), "{token}": ("gone",), "{name}": ("gone",)}
    for route in PAGES.routes:
        if route.method == "GET":
            brace = next((one for one in fills if one in route.path), "")
            yield from (route.path.replace(brace, fill) for fill in fills.get(brace, ("",)))


def looked_at(path: str, answer: Any) -> list[str]:
    """What is left plain of an answer, if it is a page of the console's own."""
    is_page = answer.headers.get("content-type", "").startswith("text/html")
    is_own = not (path.startswith(PUBLIC_FILES) and answer.status_code == 200)
    if not is_page or not is_own:
        return []
    shown = answer.text.replace("<wbr>", "").replace("\N{NO-BREAK SPACE}", " ")  # as the names were typed
    return [f"{path}: {text}" for text in dict.fromkeys(unsaid(shown))]


ROLES = ("administrator", "operator", "importer", "auditor")


@pytest.mark.parametrize("role", ROLES)
def test_every_page_is_said(shown: Office, role: str) -> None:
    browser = signed_in(shown, role)
    found: list[str] = []
    for path in addresses(shown):
        answer = browser.get(path)
        assert answer.status_code < 500, path
        found += looked_at(path, answer)
    assert not found, "\n".join(found)


LEAVES = {"/logout", "/account/sign-out", "/login", "/account/password"}


@pytest.mark.parametrize("role", ROLES)
def test_what_a_form_is_refused_with_is_said(shown: Office, role: str) -> None:
    """Every form is sent empty."""
    browser = signed_in(shown, role)
    found: list[str] = []
    for route in PAGES.routes:
        if route.method == "POST" and route.path not in LEAVES:
            path = re.sub(r"{\w+}", "nobody", route.path)
            found += looked_at(f"POST {path}", browser.post(path))
    assert not found, "\n".join(found)


def test_what_forms_answer_is_said(shown: Office) -> None:
    ada, anna = signed_in(shown, "administrator"), signed_in(shown, "auditor")
    ida = signed_in(shown, "importer")
    importer = shown.people["Imogen"].id
    work = anna.get("/work-list").text
    audit = re.search(r'name="audit" value="([^"]+)"', work)
    day = re.search(r'max="([^"]+)"', work)
    assert audit is not None
    assert day is not None
    exported = {"file": ("a.csv", b"id,channel\n1,Ash Mill\n2,north\nbad\n")}
    sent: tuple[tuple[Browser, str, dict[str, str], Any], ...] = (
        (ada, "/people/invite", {"name": "Berta", "role": "auditor"}, None),
        (ada, "/people/invite", {"name": "Ada", "role": "auditor"}, None),
        (ada, "/tokens/new", {"name": "north", "scope": "reports"}, None),
        (ada, "/hotlines/new", {"name": "north", "person": importer}, None),
        (ada, "/hotlines/hand-over", {"hotline": demo.HOTLINE, "person": importer}, None),
        (ada, "/activity/find", {"who": "Ada"}, None),
        (anna, "/round/counts", {}, None),
        (anna, "/transcript/find", {"find": "Ash Mill"}, None),
        (anna, "/work-list/find", {"find": "Ash Mill"}, None),
        (anna, "/work-list", {"audit": audit[1], "day": day[1]}, None),
        (anna, "/round/decisions/details", {"contact": demo.CONTACT, "independent": "yes"}, None),
        (anna, "/round/decisions/skip", {"reason": "north", "independent": "no"}, None),
        (anna, "/round/decisions/override", {"target": "Ash Mill", "reason": "north", "independent": "yes"}, None),
        (anna, "/import", {"kind": "csv", "source": demo.HOTLINE}, exported),
        (ida, "/import", {"kind": "csv", "source": demo.HOTLINE}, exported),
    )
    found = [
        text
        for browser, path, data, files in sent
        for text in looked_at(f"POST {path}", browser.post(path, data, **({} if files is None else {"files": files})))
    ]
    assert not found, "\n".join(found)
    for path in ("/hotlines?done=assigned", "/people?done=withdrawn", "/tokens", "/activity"):
        found += looked_at(path, ada.get(path))
    assert not found, "\n".join(found)


def test_what_follows_a_draw_is_said(shown: Office) -> None:
    """Last, since the demonstration goes on from here."""
    otto = signed_in(shown, "operator")
    answer = otto.post("/round/close", {"round": str(demo.ROUNDS)})
    found = looked_at("POST /round/close", answer)
    for path in ("/round", "/transcript", "/work-list", "/health"):
        found += looked_at(path, otto.get(path))
    assert not found, "\n".join(found)


def test_pages_before_a_programme_are_said(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    speak(monkeypatch)
    found: list[str] = []
    for name in ("Ada", "Otto", "Ida", "Anna"):
        browser = office.browser(name, headers=PSEUDO)
        for path in ("/", "/plan", "/health", "/people", "/tokens", "/hotlines", "/round", "/report", "/account"):
            found += looked_at(f"{name} {path}", browser.get(path))
    anna = office.browser("Anna", headers=PSEUDO)
    for answer in (show(anna), show(anna, name=""), check(anna)):
        found += looked_at("POST /plan", answer)
    with office.console.store.writing() as connection:
        joins = invitations.invite(connection, office.console.key, "Berta", "auditor", office.clock.now)
        codes = invitations.reset_codes(connection, office.console.key, "id-Otto", office.clock.now)
    stranger = office.browser(headers=PSEUDO)
    paths = ("/login", "/login?done=joined", "/login?lost=yes", "/help/signing-in", "/nowhere", f"/invitation/{joins}")
    for path in (*paths, f"/invitation/{codes}"):
        found += looked_at(path, stranger.get(path))
    found += looked_at("POST", stranger.post(f"/invitation/{joins}", {"password": "x", "again": "y", "code": "1"}))
    assert not found, "\n".join(found)


def test_the_first_page_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speak(monkeypatch)
    office = new_office(tmp_path, people=False)
    with office.console.store.writing() as connection:
        first = invitations.invite_first(connection, office.console.key, office.clock.now)
    stranger = office.browser(headers=PSEUDO)
    for path in (f"/first-run/{first}", "/", "/first-run/gone"):
        assert looked_at(path, stranger.get(path)) == []
    office.console.close()


@pytest.mark.parametrize(
    "planted",
    [
        "<p>Round 3 is open.</p>",
        "<p>[Rôûñd {x} ~~] is open</p>".replace("{x}", "3"),
        '<input aria-label="Search">',
        '<td data-label="Name">Ash Mill</td>',
        "<option>Choose a person</option>",
        "<p>[Thé ~~ public folder ~]</p>",
        "<p>Monday</p>",
    ],
)
def test_what_is_not_said_is_found(shown: Office, planted: str) -> None:
    """Negative control."""
    page = signed_in(shown, "administrator").get("/account").text
    assert unsaid(page) == []
    assert len(unsaid(page.replace("</main>", f"{planted}</main>"))) == 1


def test_what_is_left_out_is_marked_as_another_language() -> None:
    assert unsaid('<article lang="en"><p>Sign in</p><br><p>again</p></article><p>[Šîgñ ôût ~~]</p>') == []
    assert unsaid('<article lang="en"><p>Sign in</p></article><p>Sign out</p>') == ["Sign out"]


def spoken_on(page: str) -> str:
    found = re.search(r'<html lang="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_what_is_remembered_is_not_mixed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records, promises and what was found of the published files are kept from page to page."""
    speak(monkeypatch)
    programme = office.begin(classes=CLASSES)
    office.clock.tomorrow()
    programme.close_round()
    programme.publish(office.public)
    anna = office.browser("Anna")
    for path in ("/transcript", "/guarantee", "/health", "/plan", "/round", "/work-list"):
        first = anna.get(path).text
        other = anna.get(path, headers=PSEUDO).text
        assert "ôñ" not in first, path
        assert "ôñ" in other, path
        assert anna.get(path).text == first, path


def test_a_form_that_comes_back_speaks_the_same_language(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """After signing in again the page is made within that request."""
    speak(monkeypatch)
    browser = office.browser("Otto", headers=PSEUDO)
    office.begin()
    office.clock.tomorrow()
    kept = browser.post("/round/decisions/skip", {"reason": "moving"})
    assert kept.status_code == 403
    sealed = re.search(r'name="kept" value="([^"]+)"', kept.text)
    assert sealed is not None
    data = {"name": "Otto", "password": PASSWORD, "code": office.code("Otto"), "kept": sealed[1]}
    again = browser.post("/login", {**data, "csrf": form_token(kept.text)})
    assert again.status_code == 200
    assert spoken_on(again.text) == "en-x-pseudo"
