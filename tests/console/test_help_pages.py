"""Help: every page of the console has some, and all that it leads to is there."""

import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.docs.blocks import DOCS

from deniable.console import help_pages
from deniable.console.app import PAGES
from deniable.console.help_pages import FIRST, HELP, PLACE, SIGNING_IN, HelpText, _made, help_for, help_texts
from deniable.console.pages.decision_kinds import KINDS


def missing(table: Mapping[str, str], texts: Mapping[str, HelpText]) -> list[str]:
    """Targets that are not there."""
    split = [target.partition("#") for target in table.values()]
    return [
        name + mark + heading
        for name, mark, heading in split
        if name not in texts or (heading and heading not in texts[name].anchors)
    ]


def test_every_target_of_the_table_is_there() -> None:
    assert missing(HELP, help_texts()) == []


@pytest.mark.parametrize("target", ["nowhere", "health#nowhere", "nowhere#key"])
def test_a_target_that_is_not_there_is_found(target: str) -> None:
    """Negative control."""
    assert missing({**HELP, "/round": target}, help_texts()) == [target]


def test_every_page_has_help_of_its_own() -> None:
    """Not only the first page of the handbook, which helps with whatever is not in the table."""
    for route in PAGES.routes:
        paths = [route.path.format(kind=kind, token="t", id_="i", name="n", topic="t") for kind in KINDS]
        for path in paths if "{kind}" in route.path else paths[:1]:
            if path not in {"/", "/logout"} and not path.startswith("/help"):
                assert help_for(path) != PLACE + FIRST, path
    assert help_for("/nowhere") == PLACE + FIRST


def test_a_long_address_takes_no_time() -> None:
    """What a person asks for who is signed in, and is not found."""
    began = time.thread_time()
    assert help_for("/round" + 2**16 * "/") == f"{PLACE}{HELP['/round']}"
    assert time.thread_time() - began < 0.1


def test_the_table_has_no_page_that_is_gone() -> None:
    served = {re.split("/{(?:token|name)}", route.path)[0] for route in PAGES.routes}
    served |= {f"/round/decisions/{kind}" for kind in KINDS}
    assert HELP.keys() <= served


def test_all_of_the_handbook_is_served() -> None:
    assert {page.stem for page in (DOCS / "handbook").glob("*.md")} < help_texts().keys()
    assert next(iter(help_texts())) == FIRST


@pytest.mark.parametrize("text", help_texts().values(), ids=help_texts())
def test_a_page(text: HelpText) -> None:
    assert text.title
    assert text.html.count("<h1") == 1
    for forbidden in ("<script", " style=", "<img", "javascript:", ".md", "{ width"):
        assert forbidden not in re.sub("<code>.*?</code>", "", text.html, flags=re.DOTALL)
    for address in re.findall(r'href="(.*?)"', text.html):
        if not address.startswith("https://"):
            name, _, heading = address.removeprefix(PLACE).partition("#")
            assert name in help_texts(), address
            assert not heading or heading in help_texts()[name].anchors, address


def folded(text: HelpText) -> str:
    """What a reader sees only after opening it."""
    return "".join(re.findall('<details class="fold">.*?</details>', text.html, flags=re.DOTALL))


def test_help_of_a_page_begins_with_what_is_not_folded() -> None:
    for target in HELP.values():
        name, _, heading = target.partition("#")
        assert not heading or f'id="{heading}"' not in folded(help_texts()[name]), target


@pytest.mark.parametrize("text", help_texts().values(), ids=help_texts())
def test_commands_come_after_what_a_clerk_does(text: HelpText) -> None:
    """Where a page has steps for the console, every block of commands is folded; other pages are for a technician."""
    if 'id="what-you-do-in-the-console"' in text.html:
        assert text.html.count("<pre>") == folded(text).count("<pre>")
        assert text.parts[0][0] == "what-you-do-in-the-console"


def made(source: str, text: str) -> str:
    names = {"handbook/a.md": "a", "handbook/b.md": "b", "reporters.md": "reporters", "howto/import.md": "import"}
    return _made("a", text, source, names).html


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[t](b.md)", '<a href="/help/b">t</a>'),
        ("[t](b.md#c-d)", '<a href="/help/b#c-d">t</a>'),
        ("[t](#c)", '<a href="/help/a#c">t</a>'),
        ("[t](../reporters.md)", '<a href="/help/reporters">t</a>'),
        ("[t](../howto/import.md#x)", '<a href="/help/import#x">t</a>'),
        ("[t *u*](../explanation/race.md)", "<p>t <em>u</em></p>"),
        ("A. [Why\nso](../explanation/race.md). B.", "<p>A. B.</p>"),
        ("A.\n[Race](../explanation/race.md) says why.", "<em>Race</em>, in the documentation, says why."),
        ("A, `1` ([why\nso](../explanation/race.md)), B.", "<p>A, <code>1</code>, B.</p>"),
        ("A is [a\nrace](../explanation/race.md). B.", "<p>A is a\nrace. B.</p>"),
        ("[t](https://a.example/b)", '<a href="https://a.example/b">t</a>'),
        ("[t](http://a.example/b)", "<p>t</p>"),
        ("[t](/round)", "<p>t</p>"),
        ("<script>alert(1)</script> <b>", "&lt;script&gt;"),
        ("[t](javascript:alert(1))", "<p>[t](javascript:alert(1))</p>"),
        ("![t](../images/a.png){ width=9 }", ""),
        (
            '```sh title="Refused: <none>"\na < b\n```',
            "<p><strong>Refused: &lt;none&gt;:</strong></p>\n<pre><code>a &lt; b",
        ),
        ("| a |\n| :-: |\n| b |", '<td role="cell" class="centre">b</td>'),
        ("| | c |\n| - | - |\n| b | d |", '<td role="cell">b</td>\n<td role="cell" data-label="c">d</td>'),
        ("| a |\n| - |\n| b |", '<table role="table" class="stacked">'),
        ("## A `b`, c!", '<h2 id="a-b-c">A <code>b</code>, c!</h2>'),
        (
            "## At the terminal\nb\n### C\nd\n## E",
            '<details class="fold"><summary><h2 id="at-the-terminal">At the terminal</h2>\n</summary>\n<p>b</p>\n'
            '<h3 id="c">C</h3>\n<p>d</p>\n</details>\n<h2 id="e">E</h2>',
        ),
        ("## Try it on an invented programme\na", "<p>a</p>\n</details>\n"),
    ],
)
def test_how_it_is_made(written: str, shown: str) -> None:
    html = made("handbook/a.md", written)
    assert shown in html
    assert "<img" not in html
    assert "<script" not in html


def test_the_files_are_those_of_the_documentation() -> None:
    folder = Path(__file__).parents[2] / "src" / "deniable" / "console" / "help"
    for file in (*folder.glob("*.md"), *folder.glob("*/*.md")):
        assert file.read_bytes() == (DOCS / file.relative_to(folder)).read_bytes()


def test_how_to_sign_in_leads_to_no_other_page() -> None:
    """People who are not signed in can read no other."""
    assert "href=" not in help_texts()[SIGNING_IN].html


PRESSED = re.compile(r"\b[Pp]ress(?:es)? \*([^*]+)\*")
ELEMENT = re.compile(r"<(button|a)\b[^>]*>(.*?)</\1>", re.DOTALL)


def buttons(template: str) -> set[str]:
    """What the buttons and links of a template say, with an ellipsis for what is filled in."""
    found = set[str]()
    for _, content in ELEMENT.findall(template.replace('\\"', "'")):
        texts = re.findall(r'"([^"]*)"', content) or [re.sub(r"{{.*?}}", "{x}", re.sub(r"{%.*?%}", "", content))]
        found |= {re.sub(r"{\w+}", "…", re.sub(r"<.*?>", "", text)).strip().removesuffix("…") for text in texts}
    return found


def is_button(name: str, known: set[str]) -> bool:
    """Whether a button is called so, or goes on with a name or a number."""
    wanted = re.sub(r"\s+", " ", name)
    return any(
        one.startswith(f"{wanted} ") or re.fullmatch(re.escape(one).replace("…", ".+"), wanted) for one in known if one
    )


def test_buttons_are_called_as_in_the_console() -> None:
    templates = (Path(help_pages.__file__).parent / "templates").iterdir()
    known = set[str]().union(*(buttons(path.read_text(encoding="utf-8")) for path in templates))
    help_folder = Path(help_pages.__file__).parent / "help"
    sources = [*(help_folder / "handbook").glob("*.md"), *(help_folder / "howto").glob("*.md")]
    pressed = {(path.name, name) for path in sources for name in PRESSED.findall(path.read_text(encoding="utf-8"))}
    assert ("console.md", "Hand over the hotline") in pressed
    assert {one for one in pressed if not is_button(one[1], known)} == set()


def test_a_button_of_another_name_is_found() -> None:
    """Negative control."""
    known = buttons('<h2>Invite a person</h2><button>{{ say("Make a link") }}</button>')
    known |= buttons('<button>{{ html("Close round {round} <b>now</b>") }}</button>')
    assert is_button("Make a link", known)
    assert is_button("Close round … now", known)
    assert is_button("Close round", known)
    assert not is_button("Invite", known)
    assert not is_button("Close it", known)
