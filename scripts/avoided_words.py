"""Counts the words that we avoid in all that people read: `python scripts/avoided_words.py`.

People read the README, the docs, the notebooks, the change log, the pages of the console and of a programme, and the
sentences in the code: messages, help texts and docstrings.
"""

import ast
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from deniable.languages.language import PUBLIC

ROOT = Path(__file__).parents[1]
WRITTEN_FROM_THE_CODE = {"docs/reference/api.md", "docs/reference/cli.md"}
"""Pages whose words are counted where they are written."""
AVOIDED = (
    "whoever",
    "whomever",
    "somebody",
    "nobody",
    "everybody",
    "such that",
    "which is that of",
    "the same once more",
    "anything to do with reports",
    "hotline that you bring",
    "look at it first",
    "look at first",
    "reports a person need",
    "chance has a say",
    "the record limits",
    "thinks of reporting",
    "cannot stand",
    "worth a look",
    "the backup before",
    "are nowhere",
    "may come to hold",
)
LEAST_WORDS = 3
"""A string of the code with fewer is a name or a key, not a sentence."""
_AVOIDED = re.compile(r"\b(?:" + "|".join(AVOIDED).replace(" ", r"\s+") + r")\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


class Text(NamedTuple):
    place: str
    line: int
    text: str


class Hit(NamedTuple):
    place: str
    line: int
    phrase: str


class Count(NamedTuple):
    words: int
    hits: tuple[Hit, ...]

    @property
    def per_2000(self) -> float:
        return 2000 * len(self.hits) / self.words


def count(texts: Iterator[Text]) -> Count:
    words, hits = 0, list[Hit]()
    for place, first, text in texts:
        words += len(_WORD.findall(text))
        hits += (
            Hit(place, first + text.count("\n", 0, found.start()), " ".join(found[0].split()).lower())
            for found in _AVOIDED.finditer(text)
        )
    return Count(words, tuple(hits))


def read_by_people(root: Path = ROOT) -> Iterator[Text]:
    translated = {root / "docs" / folder for folder in ("translations", *PUBLIC)}
    english = (path for path in sorted((root / "docs").rglob("*.md")) if path.parent not in translated)
    for path in (root / "README.md", root / "CHANGELOG.md", *english):
        if path.relative_to(root).as_posix() not in WRITTEN_FROM_THE_CODE:
            yield Text(str(path.relative_to(root)), 1, prose(path.read_text(encoding="utf-8")))
    for path in sorted((root / "examples").glob("*.ipynb")):
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], start=1):
            if cell["cell_type"] == "markdown":  # its number stands for the line
                yield Text(str(path.relative_to(root)), number, prose("".join(cell["source"])))
    for path in sorted({*(root / "src").rglob("*.html"), *(root / "src").rglob("*.j2")}):
        yield Text(str(path.relative_to(root)), 1, shown(path.read_text(encoding="utf-8")))
    for path in sorted((root / "src").rglob("*.py")):
        for line, sentence in sentences(path.read_text(encoding="utf-8")):
            yield Text(str(path.relative_to(root)), line, sentence)


def prose(page: str) -> str:
    """A page without its blocks of code, and with every line where it was."""
    return re.sub(r"^```.*?^```", lambda found: "\n" * found[0].count("\n"), page, flags=re.DOTALL | re.MULTILINE)


def shown(template: str) -> str:
    """A template without its markup and comments, and with every line where it was: strings within a tag are shown."""

    def kept(markup: re.Match[str]) -> str:
        code = "" if markup[0].startswith(("{#", "<!--")) else markup[0]
        strings = " ".join(text for text in re.findall(r'"([^"]*)"', code) if " " in text)
        return f" {strings} " + "\n" * (markup[0].count("\n") - strings.count("\n"))

    return re.sub(r"\{#.*?#\}|<!--.*?-->|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", kept, template, flags=re.DOTALL)


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """The strings of a Python file that are longer than a name, with their lines; what is filled in is an ellipsis."""

    def visit(node: ast.AST) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.JoinedStr):
            whole = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield node.lineno, whole
            filled = (part for part in node.values if isinstance(part, ast.FormattedValue))
            yield from chain.from_iterable(map(visit, filled))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        else:
            yield from chain.from_iterable(map(visit, ast.iter_child_nodes(node)))

    return ((line, text) for line, text in visit(ast.parse(source)) if len(_WORD.findall(text)) >= LEAST_WORDS)


def main() -> None:
    counted = count(read_by_people())
    for hit in counted.hits:
        print(f"{hit.place}:{hit.line}: {hit.phrase}")
    print(f"{len(counted.hits)} in {counted.words:,} words: {counted.per_2000:.2f} per 2,000")


if __name__ == "__main__":
    main()
