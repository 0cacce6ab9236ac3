"""Help: pages of the handbook, which the console serves itself, and which of them explains which page of the console.

`help/` has links to the files in `docs/` from which they are made; the wheel has the files themselves.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

PLACE = "/help/"
SIGNING_IN = "signing-in"
"""The page that people read who are not signed in."""
FIRST = "index"
FOLDED = ("At the terminal", "Try it on an invented programme")
"""Sections for technicians and for practice, which a page shows folded: they come after all that is for a clerk."""

HELP: Mapping[str, str] = {
    "/": FIRST,
    "/account": "signing-in#your-account",
    "/activity": "console#health-and-activity",
    "/api": "console#machines",
    "/emergencies": "emergencies",
    "/first-run": SIGNING_IN,
    "/guarantee": "reporters",
    "/health": "health",
    "/help": FIRST,
    "/hotlines": "console#hotlines",
    "/import": "import",
    "/invitation": SIGNING_IN,
    "/language": "signing-in#your-account",
    "/login": SIGNING_IN,
    "/people": "console#people",
    "/plan": "first-day",
    "/public": "every-round#3-publish-and-check",
    "/report": "console#reports",
    "/round": "every-round",
    "/round/close": "every-round#2-close-the-round-when-it-is-due",
    "/round/decisions/details": "first-day#contact-and-hotline",
    "/round/decisions/not-carried-out": "audit-that-cannot-happen",
    "/round/decisions/override": "every-round#an-audit-that-cannot-wait-for-the-draw",
    "/round/decisions/rename": "changing-targets#another-name-for-a-target",
    "/round/decisions/skip": "audit-that-cannot-happen#you-know-beforehand-that-your-inspectors-cannot-go",
    "/round/decisions/targets": "changing-targets",
    "/round/draw": "public-value",
    "/round/pending": "every-round#decisions-that-need-two-people",
    "/tokens": "console#machines",
    "/transcript": "every-round#3-publish-and-check",
    "/work-list": "every-round#then-audit",
}
"""The help of each page: by its address, for everything below that address which has no line of its own."""


def help_for(path: str) -> str:
    """The address of the help of the page at this address."""
    above = [place for place in HELP if f"{path}/".startswith(f"{place}/")]
    return PLACE + (HELP[max(above, key=len)] if above else FIRST)


@dataclass(frozen=True)
class HelpText:
    """A page of the handbook."""

    name: str
    title: str
    html: Markup
    """All that is not ours in it is escaped."""
    anchors: frozenset[str]
    """Of its headings."""
    parts: tuple[tuple[str, str], ...]
    """Anchors and headings of its sections, in their order, without those within a folded one."""

    @property
    def address(self) -> str:
        return PLACE + self.name


@cache
def help_texts() -> Mapping[str, HelpText]:
    """All of them by name, in the order of the handbook's first page, which leads to the others."""
    sources = dict(_sources(files("deniable.console").joinpath("help"), ""))
    names = {source: source.rpartition("/")[2].removesuffix(".md") for source in sources}
    made = {name: _made(name, sources[source], source, names) for source, name in names.items()}
    order = [FIRST, *re.findall(rf'href="{PLACE}([\w-]+)', made[FIRST].html)]
    return {name: made[name] for name in dict.fromkeys([*order, *sorted(made)])}


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    """Where each file is in docs/, and its text."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _sources(entry, f"{path}{entry.name}/")
        else:
            yield f"{path}{entry.name}", entry.read_text(encoding="utf-8")


def _made(name: str, text: str, source: str, names: Mapping[str, str]) -> HelpText:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("fence", _block)
    tokens = [*_without_pictures(reader.parse(text))]
    title, anchors, parts, is_folded = "", set[str](), list[tuple[str, str]](), False
    for token, following in pairwise([*tokens, Token("", "", 0)]):
        if token.type == "heading_open":
            heading = "".join(child.content for child in following.children or ())
            title = title or heading
            token.attrs["id"] = _anchor(heading)
            anchors.add(_anchor(heading))
            is_folded = heading in FOLDED if token.tag == "h2" else is_folded
            if token.tag == "h2" or (token.tag == "h3" and not is_folded):
                parts.append((_anchor(heading), heading))
        if token.type == "fence":
            token.meta["title"] = "".join(re.findall('title="(.*)"', token.info))
        if token.type in _TABLE_ROLES:
            token.attrs["role"] = _TABLE_ROLES[token.type]
        if token.type == "table_open":
            token.attrs["class"] = "stacked"
        if token.attrs.pop("style", None):  # how the cells of a column are set, which style.css says
            token.attrs["class"] = "centre"
        token.children = [*_linked(token.children, source, names)] if token.children else token.children
    _label_cells(tokens)
    html = Markup(reader.renderer.render([*_folded(tokens)], reader.options, {}))
    return HelpText(name, title, html, frozenset(anchors), tuple(parts))


def _folded(tokens: Sequence[Token]) -> Iterator[Token]:
    """Sections of `FOLDED` open when a reader chooses their heading."""
    is_open = False
    for token, following in pairwise([*tokens, Token("", "", 0)]):
        begins = token.type == "heading_open" and token.tag == "h2"
        if begins and is_open:
            yield _raw("</details>\n")
            is_open = False
        if begins and following.content in FOLDED:
            yield _raw('<details class="fold"><summary>')
            is_open = True
        yield token
        if is_open and token.type == "heading_close" and token.tag == "h2":
            yield _raw("</summary>\n")
    if is_open:
        yield _raw("</details>\n")


def _raw(html: str) -> Token:
    return Token("html_block", "", 0, content=html)


_TABLE_ROLES = {
    "table_open": "table",
    "thead_open": "rowgroup",
    "tbody_open": "rowgroup",
    "tr_open": "row",
    "th_open": "columnheader",
    "td_open": "cell",
}
"""On a narrow screen a table is stacked (style.css), after which browsers no longer know that it is one."""


def _label_cells(tokens: Sequence[Token]) -> None:
    """Each cell of a table, after the first of its row, has the heading of its column, for narrow screens."""
    headings, column = list[str](), 0
    for token, following in pairwise(tokens):
        if token.type == "table_open":
            headings = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            headings.append("".join(child.content for child in following.children or ()))
        elif token.type == "td_open":
            if column and following.content and headings[column]:
                token.attrs["data-label"] = headings[column]
            column += 1


def _block(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    """Commands or output, under its title if it has one."""
    block = tokens[index]
    title = Markup("<p><strong>{}:</strong></p>\n").format(block.meta["title"]) if block.meta["title"] else ""
    return title + Markup("<pre><code>{}</code></pre>\n").format(block.content)


def _anchor(heading: str) -> str:
    """As the documentation's own pages name it."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def _without_pictures(tokens: list[Token]) -> Iterator[Token]:
    """Paragraphs that are a picture are left out: pictures of the console are of no use within it."""
    pictures = {at for at, token in enumerate(tokens) if any(child.type == "image" for child in token.children or ())}
    left_out = {at + beside for at in pictures for beside in (-1, 0, 1)}
    return (token for at, token in enumerate(tokens) if at not in left_out)


def _linked(children: Sequence[Token], source: str, names: Mapping[str, str]) -> Iterator[Token]:
    """Links to what the console serves lead there; those to other pages of the documentation are no links."""
    places = iter(range(len(children)))
    for at in places:
        child = children[at]
        if child.type != "link_open":
            yield child
            continue
        end = next(place for place in places if children[place].type == "link_close")
        address, inside = _address(str(child.attrs["href"]), source, names), children[at + 1 : end]
        if address is not None:
            child.attrs["href"] = address
            yield from children[at : end + 1]
        else:
            before, after = children[:at], children[end + 1 :]
            if not _is_aside(before, after):
                yield from _without_link("".join(one.content or " " for one in before), inside, after)


def _is_aside(before: Sequence[Token], following: Sequence[Token]) -> bool:
    """Whether the link is all that is between two parentheses, which are then left out, too."""
    if not (before and following and before[-1].content.endswith("(") and following[0].content.startswith(")")):
        return False
    before[-1].content = before[-1].content[:-1].rstrip()
    following[0].content = following[0].content[1:]
    return True


def _without_link(before: str, inside: Sequence[Token], following: Sequence[Token]) -> Iterator[Token]:
    """The text of a link to a page that is not served. Where it is a sentence of its own, nothing is left of it."""
    after, begins = following[0].content if following else "", re.search(r"(^|[.!?])\s*$", before)
    if begins and before and after.startswith("."):
        following[0].content = after[1:].lstrip()
    elif begins and re.match(r" [a-z]", after):
        yield from (Token("em_open", "em", 1), *inside, Token("em_close", "em", -1))
        yield Token("text", "", 0, content=", in the documentation,")
    else:
        yield from inside


def _address(href: str, source: str, names: Mapping[str, str]) -> str | None:
    if href.startswith("https://"):
        return href
    path, _, heading = href.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
    if there not in names:
        return None
    return f"{PLACE}{names[there]}#{heading}" if heading else PLACE + names[there]
