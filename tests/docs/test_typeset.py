"""The built pages: every formula is typeset, and nothing comes from elsewhere."""

import os
import re
import subprocess
import sys

import pytest
from scripts import typeset
from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The HTML of the whole site, by path."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    built = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def not_typeset(page: str) -> list[str]:
    """What is left of formulas in the text of a page."""
    text = re.sub(r"<(pre|code|script|style|math)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.findall(r"\$[^$\s]|\\[(\[]|\\[a-z]{2,}", re.sub(r"<[^>]+>", "", text))


def from_elsewhere(page: str) -> list[str]:
    """What a browser would load from other hosts."""
    loaded = re.findall(r"<(?:script|img|link|iframe|source|object|embed)\b[^>]*", page)
    loaded = [tag for tag in loaded if 'rel="canonical"' not in tag]
    return [tag for tag in loaded if re.search(r"""\b(?:src|href|data|srcset)=["']?(?:[a-z]+:)?//""", tag)]


def test_every_formula_is_typeset(pages: dict[str, str]) -> None:
    assert {path: left for path, page in pages.items() if (left := not_typeset(page))} == {}
    assert pages["explanation/race/index.html"].count("<math") > 100


def test_nothing_comes_from_elsewhere(pages: dict[str, str]) -> None:
    assert {path: tags for path, page in pages.items() if (tags := from_elsewhere(page))} == {}


@pytest.mark.parametrize("page", ["<p>$x^2$</p>", r"<p>\(x\)</p>", r"<p>\text{TPR}</p>"])
def test_one_that_is_left_is_found(page: str) -> None:
    """Negative control."""
    assert not_typeset(page)
    assert not not_typeset("<p>It costs 5 euros.</p><pre>$ deniable plan</pre><code>$HOME</code>")


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://example.org/a.js">',
        "<img alt='' src=//example.org/a>",
        '<link href="http://example.org/a">',
    ],
)
def test_what_comes_from_elsewhere_is_found(page: str) -> None:
    """Negative control."""
    assert from_elsewhere(page)
    assert not from_elsewhere('<script src="../a.js"></script><a href="https://example.org">a link</a>')


@pytest.mark.parametrize(
    ("formula", "piece"),
    [
        (r"\rho &gt; 1", "<mo>&#x0003E;</mo>"),
        (r"\exp(-x)", '<mo form="prefix">&#x02212;</mo>'),
        (r"1 - x", "<mo>&#x02212;</mo>"),
        (r"X \sim Y", "<mo>&#x0223C;</mo>"),
        (r"v_c \exp(x)", "<mspace"),
        (r"\ln \rho", "<mspace"),
    ],
)
def test_how_a_formula_is_typeset(formula: str, piece: str) -> None:
    assert piece in typeset.typeset(formula, is_block=False)


def test_a_block_has_its_own_line() -> None:
    page = typeset.on_page_content('<div class="arithmatex">\\[\nx\n\\]</div>')
    assert page.startswith("<math")
    assert 'display="block"' in page
