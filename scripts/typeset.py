"""Typesets the formulas of the docs while the site is built: $…$ becomes MathML, which needs no script."""

import re
from html import unescape

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
"""What the Markdown extension arithmatex leaves of a formula."""
_OPEN = r"(?:<mo[^>]*>&#x(?:00028|0005B|0002C|0003D|02264|02265|0003C|0003E);</mo>)"
_SPACE = '<mspace width="0.167em" />'
_FINE_PRINT = {
    r"<mi>&#x0007E;</mi>": "<mo>&#x0223C;</mo>",  # a relation, with the space around it
    rf"({_OPEN})<mo>&#x02212;</mo>": r'\1<mo form="prefix">&#x02212;</mo>',  # a sign, not a difference
    r"(</(?:mi|mn|msub|msup|msubsup|mrow)>)(<mi>(?:exp|ln|log)</mi>)": rf"\1{_SPACE}\2",
    r"(<mi>(?:ln|log)</mi>)(?!<mo)": rf"\1{_SPACE}",
}
"""What the converter leaves to be done -> how it is done."""


def on_page_content(html: str, **_: object) -> str:
    """Called by MkDocs with the HTML of every page."""
    return _FORMULA.sub(lambda formula: typeset(formula[2], is_block=formula[1] == "div"), html)


def typeset(formula: str, *, is_block: bool) -> str:
    """A formula, as it is written in a page, in MathML."""
    written: str = convert(" ".join(unescape(formula).split()), display="block" if is_block else "inline")
    for pattern, better in _FINE_PRINT.items():
        written = re.sub(pattern, better, written)
    return written
