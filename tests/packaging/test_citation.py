import yaml
from tests.packaging.building import ROOT

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_it_has_what_version_1_2_of_the_format_asks_for() -> None:
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["type"] == "software"
    assert all(isinstance(CITATION[key], str) for key in ("message", "title", "version", "license", "abstract"))
    for work in (CITATION, *CITATION["references"]):
        assert work["title"]
        assert all(
            set(author) == {"name"} or {"given-names", "family-names"} <= set(author) for author in work["authors"]
        )


def test_it_cites_the_paper_as_the_readme_does() -> None:
    (paper,) = CITATION["references"]
    names = " and ".join(author["family-names"] for author in paper["authors"])
    assert f"*{paper['title']}* ({names})" in " ".join((ROOT / "README.md").read_text().split())
