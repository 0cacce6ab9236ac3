"""The last page before the start: what it fixes is what is begun, by the button and by the command."""

import html
import re
import shlex
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.console.offices import Office
from tests.console.pages.test_plan import FORM, begin, check, show
from tests.languages.translated import translated

from deniable.cli.main import main
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.rules_in_words import facts_of
from deniable.programme.secrets.keys import KeyFile

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
PLANS: list[dict[str, str]] = [
    {},
    {"name": '-- Anna\'s "visits" & $HOME; `ls` \\'},
    {"audits": "2", "max_gap": "9", "cooldown": "1", "points": "2,5", "reports_per_person": "1"},
    {"mechanism": "tca", "horizon": "50", "length": "2", "unit": "M", "time": "00:30", "zone": "UTC"},
    {"classes": "minor=1\nserious=3\ndanger=visit", "most_counted": "20", "reveal_after": "2"},
    {"randomness": "dice", "sides": "20", "days": "3", "minutes": "30", "place": "Town hall, main 'entrance'"},
    {"randomness": "lottery", "place": "State lottery"},
    {"randomness": "drand", "minutes": "20", "oversight": KEY},
    {"weights": "forecast", "audit_term": "inspection", "target_term": "employer"},
    {"weights": "steady-forecast"},
]


def command_on(page: Any) -> list[str]:
    found = re.search(r"<pre><code>(.*?)</code></pre>", page.text, re.DOTALL)
    assert found is not None
    return shlex.split(html.unescape(re.sub("<[^>]*>", "", found[1])))


def apart_from_what_is_drawn(parameters: Parameters) -> Parameters:
    return replace(parameters, programme="0" * 32, public_key="0" * 64, commitment="0" * 64)


@pytest.mark.parametrize("plan", PLANS)
def test_the_command_sets_up_what_the_button_starts(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[str, str]
) -> None:
    browser = office.browser("Anna")
    page = check(browser, **plan)
    assert page.status_code == 200
    assert begin(browser, page).headers["location"] == "/plan?done=begun"
    begun = office.console.programme()
    assert begun is not None
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("targets.txt").write_text("\n".join(begun.parameters.targets), encoding="utf-8")
    program, *arguments = command_on(page)
    assert program == "deniable"
    assert main(arguments) == 0
    with closing(Programme.open("programme.db", KeyFile(Path("programme.key")))) as made:
        assert apart_from_what_is_drawn(made.parameters) == apart_from_what_is_drawn(begun.parameters)


@pytest.mark.parametrize("plan", PLANS)
def test_the_page_has_the_rules_of_the_public_page(office: Office, plan: dict[str, str]) -> None:
    browser = office.browser("Anna")
    page = html.unescape(check(browser, **plan).text)
    begin(browser, check(browser, **plan))
    begun = office.console.programme()
    assert begun is not None
    for id_, name, text in facts_of(begun.parameters, begun.parameters.voice()):
        assert (f"<dt>{name}</dt><dd>{text}</dd>" in page) != (id_ in ("programme", "key"))
    for target in begun.parameters.targets:
        assert f"<bdi>{target}</bdi>" in page


def test_languages_are_chosen_shown_and_in_the_command(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translated(monkeypatch, tmp_path, "de", "ar")
    browser = office.browser("Anna")
    form = browser.get("/plan").text
    assert all(f'value="{code}"' in form for code in ("en", "de", "ar"))
    assert 'value="fr"' not in form
    page = check(browser, first_language="de", languages="ar en")
    assert "Deutsch; العربية; English" in page.text
    assert command_on(page)[-2:] == ["--languages", "de,ar,en"]
    begin(browser, page)
    begun = office.console.programme()
    assert begun is not None
    assert begun.parameters.languages == ("de", "ar", "en")


def test_a_language_that_is_not_complete_is_refused_with_those_there_are(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translated(monkeypatch, tmp_path, "de")
    page = check(office.browser("Anna"), first_language="fr")
    assert page.status_code == 422
    assert "cannot be used yet" in page.text
    assert "there are en and de" in page.text


NAMES = {
    "Classes of reports": {"classes": "minor=1\nserious=3"},
    "A limit for floods of reports": {"most_counted": "20"},
    "Unannounced visits": {"reveal_after": "2"},
    "A public value in every draw": {"randomness": "dice", "place": "Town hall"},
    "An oversight body": {"oversight": KEY},
    "A forecast from past audits": {"weights": "forecast"},
    "Further languages": {"languages": "de"},
    "Words of your own": {"audit_term": "inspection"},
}


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_chosen_is_named_and_only_that(office: Office, name: str) -> None:
    browser = office.browser("Anna")
    row = f'<th scope="row">{name}</th>'
    assert row in check(browser).text
    assert row not in check(browser, **NAMES[name]).text
    for elsewhere in ("--yearly-figures-delta", "target,number"):
        assert elsewhere in check(browser, **NAMES[name]).text


def test_what_it_tells_to_read_is_there() -> None:
    docs = Path(__file__).parents[3] / "docs"
    titles = {path.read_text(encoding="utf-8").split("\n")[0].removeprefix("# ") for path in docs.rglob("*.md")}
    source = (Path(__file__).parents[3] / "src/deniable/console/pages/plan_check.py").read_text(encoding="utf-8")
    told = {title for title in titles if f'"{title}"' in source}
    assert told >= {"Reports of different weight, and floods", "Unannounced visits", "Public values"}
    assert told >= {"Weights that learn from the transcript", "Yearly figures"}


def test_it_links_to_help_that_the_console_serves(office: Office) -> None:
    browser = office.browser("Anna")
    links = set(re.findall(r'<a href="(/help/[^"#]+)"[^>]*>', check(browser).text))
    assert links >= {"/help/first-day", "/help/oversight", "/help/public-value"}
    assert {browser.get(link).status_code for link in links} == {200}


def test_figures_for_experts_are_folded_away(office: Office) -> None:
    browser = office.browser("Anna")
    for page in (check(browser), browser.get(begin(browser, check(browser)).headers["location"])):
        before, after = page.text.split("<summary>For experts</summary>")
        assert "delta = " not in before
        assert "delta = " in after


def test_the_form_comes_back_with_all_that_was_typed(office: Office) -> None:
    browser = office.browser("Anna")
    page = check(browser, reveal_after="2", points="4")
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.text)
    back = browser.post("/plan", {name: html.unescape(value) for name, value in fields} | {"step": "show"})
    assert back.status_code == 200
    assert re.search(r'id="points"[^>]*value="4"', back.text)
    assert re.search(r'id="reveal_after"[^>]*value="2"', back.text)
    assert "Cedar Bank</textarea>" in back.text.replace(" \n", "").replace("\r", "").replace("\n</t", "</t")


def test_nothing_starts_by_looking(office: Office) -> None:
    browser = office.browser("Anna")
    assert "Start this programme" not in show(browser).text
    check(browser)
    assert office.console.programme() is None


def test_a_mistake_on_the_way_to_the_last_page_is_told_on_the_form(office: Office) -> None:
    page = check(office.browser("Anna"), points="0", name=FORM.name)
    assert page.status_code == 422
    assert 'id="points-wrong"' in page.text
