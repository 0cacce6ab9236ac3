"""What people read has next to none of the words that we avoid."""

from pathlib import Path

import pytest
from scripts import avoided_words
from scripts.avoided_words import Text


def test_less_than_one_word_in_2000_is_one_that_we_avoid() -> None:
    counted = avoided_words.count(avoided_words.read_by_people())
    assert counted.words > 100_000  # pages, templates and code were found
    assert counted.per_2000 < 1, counted.hits


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("README.md", "# Title\n\nFor whoever reports.\n", 3),
        ("CHANGELOG.md", "- Nobody waits.\n", 1),
        ("docs/howto/page.md", "```sh\nls\n```\n\nA number such\nthat it fits.\n", 5),
        ("examples/a.ipynb", '{"cells": [{"cell_type": "markdown", "source": ["For ", "whoever reads."]}]}', 1),
        ("src/deniable/page.html", '<p>One</p>\n{{ parts.field("again", "The same once more") }}\n', 2),
        ("src/deniable/index.html.j2", "{# nobody #}\n<p>\nWorth a look</p>\n", 3),
        ("src/deniable/docstring.py", '"""What somebody reads."""\n', 1),
        ("src/deniable/message.py", 'name = "x"\nraise ValueError(f"the target {name} is for everybody: {name}")\n', 2),
        ("src/deniable/nested.py", "f\"{name or 'the name of somebody'} is known\"\n", 1),
    ],
)
def test_a_planted_one_is_found_with_its_place(tmp_path: Path, name: str, text: str, line: int) -> None:
    """Negative control."""
    for needed in ("README.md", "CHANGELOG.md"):
        (tmp_path / needed).write_text("Words.\n", encoding="utf-8")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    (hit,) = avoided_words.count(avoided_words.read_by_people(tmp_path)).hits
    assert (hit.place, hit.line) == (name, line)


def test_code_names_and_markup_are_not_read() -> None:
    assert "nobody" not in avoided_words.prose("```sh\nsu nobody\n```\n")
    assert list(avoided_words.sentences('user = "nobody"\n')) == []
    assert "nobody" not in avoided_words.shown("{# nobody #}<!-- nobody --><p class='nobody'>{{ nobody }}")


def test_one_in_2000_words_is_too_many() -> None:
    """Negative control."""
    assert avoided_words.count(iter([Text("page", 1, "word " * 1999 + "whoever")])).per_2000 == 1
