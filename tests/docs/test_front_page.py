"""README, the first page of the documentation and `make demo` tell the same story in the same words."""

import re

from examples.office_year import STORY
from tests.docs.blocks import DOCS, README

from deniable.mechanisms import Race
from deniable.promptness import lead_needed, least_lead

README_TEXT = README.read_text("utf-8")
INDEX = (DOCS / "index.md").read_text("utf-8")


def opening(page: str) -> str:
    return page.partition("\n## ")[0]


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


def paragraphs(text: str) -> list[str]:
    return [part for part in text.strip().split("\n\n") if not part.startswith("|")]


def pictures(page: str) -> list[str]:
    return re.findall(r"^\| !\[.*\|$", page, re.MULTILINE)


def plain(text: str) -> str:
    return " ".join(text.replace("*", "").split())


def test_the_documentation_begins_as_the_readme_does() -> None:
    readme = README_TEXT.replace("](docs/", "](")
    assert len(paragraphs(opening(readme))) == 1 + len(STORY)
    assert paragraphs(opening(INDEX)) == paragraphs(opening(readme))
    assert paragraphs(section(INDEX, "What is promised")) == paragraphs(section(readme, "What is promised"))
    assert pictures(INDEX) == pictures(opening(readme)) != []


def test_the_documentation_says_at_once_where_to_begin() -> None:
    assert re.findall("^## (.*)$", INDEX, re.MULTILINE) == ["Where to begin", "What is promised"]


def test_the_demo_begins_as_the_readme_does() -> None:
    assert all(part in plain(opening(README_TEXT)) for part in STORY)
    assert len(STORY) == 2


def test_the_readme_states_the_leads_that_plan_prints() -> None:
    least, race = least_lead(50, 0.1), lead_needed(Race.calibrate(50, 0.1))
    assert f"a lead of at least {least} reports to audit the leader in 19 rounds of 20; race needs {race}." in plain(
        README_TEXT
    )
