"""What differs from what is committed is noticed: a digit, a picture, an output; and noise is told from it."""

from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from scripts import figures
from tests.docs import tables
from tests.docs.blocks import PAGES

PAGE = """# A page

<!-- table: rounding_distances -->

| s | distance |
| --- | --- |
| 1 | 4.688e-4 |
| 2 | 4.928e-4 |

| s | distance |
| --- | --- |
| 1 | 1 |
"""


def fresh() -> tables.Rows:
    return tables.rounding_distances()[:2]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only one, with a wrong digit; and a picture, the only one, with its maker."""
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(figures, "PAGES", [path])
    monkeypatch.setattr(figures, "TRANSLATED", [])
    monkeypatch.setattr(figures, "named", lambda path: path.name)
    monkeypatch.setattr(figures, "computed", lambda *_: fresh())
    monkeypatch.setattr(figures, "IMAGES", tmp_path)
    monkeypatch.setattr(figures, "MAKERS", {("picture.png",): lambda folder: picture(folder / "picture.png")})
    monkeypatch.setattr(figures, "pages_followed", lambda _: iter(()))
    picture(tmp_path / "picture.png")
    return path


def picture(path: Path, marks: int = 0, size: int = 200) -> Path:
    """A white one, with so many black pixels and a faint square."""
    image = Image.new("RGB", (size, size), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((50, 50, 60, 60), fill=(225, 225, 225) if marks else "white")
    for number in range(marks):
        draw.point((number, 3), fill="black")
    image.save(path)
    return path


def test_a_wrong_digit_is_found() -> None:
    (one,) = figures.marked(Path("page.md"), PAGE)
    result = figures.compared("page", figures.cells(one.table), fresh())
    assert result.beyond == ("4.928e-4 stands there, 4.929e-4 is computed",)
    assert figures.compared("page", figures.cells(one.table)[:1], fresh()).beyond
    right = figures.cells(one.table.replace("4.928", "4.929"))
    assert figures.compared("page", right, fresh()) == figures.Result("page")


@pytest.mark.parametrize(
    ("shown", "computed", "is_noise"),
    [
        ("0.0630 ± 0.0006", "0.0650 ± 0.0006", True),
        ("0.0630 ± 0.0006", "0.0690 ± 0.0006", False),
        ("0.0630 ± 0.0006", "0.0630", False),
        ("63 %", "64 %", False),
    ],
)
def test_noise_is_five_standard_errors(shown: str, computed: str, is_noise: bool) -> None:
    result = figures.compared("page", [[shown]], [[computed]])
    assert bool(result.within) == is_noise
    assert bool(result.beyond) != is_noise


def test_a_cell_of_words_is_left_alone() -> None:
    assert figures.compared("page", [["one report", "57 %"]], [[None, "57 %"]]) == figures.Result("page")


def test_a_changed_picture_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40,000 pixels 8 may look different; a faint shade counts for nothing."""
    monkeypatch.setattr(figures, "named", lambda path: path.name)
    white = picture(tmp_path / "white.png")
    results = [figures.compared_pictures(white, picture(tmp_path / f"{n}.png", marks=n)) for n in (0, 8, 9)]
    assert [(bool(one.within), bool(one.beyond)) for one in results] == [(False, False), (True, False), (False, True)]
    assert figures.compared_pictures(white, picture(tmp_path / "small.png", size=100)).beyond
    assert figures.compared_pictures(tmp_path / "none.png", white).beyond


def test_the_exit_code_and_a_line_for_each(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines[:2]] == ["page.md", "picture.png"]
    assert "DIFFERS" in lines[0]
    assert lines[1].endswith("the same")
    assert figures.main(["picture"]) == 0
    page.with_name("picture.png").unlink()
    assert figures.main(["picture"]) == 1


def test_what_differs_is_written_when_asked(page: Path) -> None:
    picture(page.with_name("picture.png"), marks=50)
    assert figures.main(["--write"]) == 0
    assert page.read_text(encoding="utf-8") == PAGE.replace("4.928", "4.929")
    assert figures.main([]) == 0


def test_records_are_listed(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page.write_text(PAGE.replace("table: rounding_distances", "record: 2026-01-01"), encoding="utf-8")
    assert figures.main([]) == 0
    assert "page.md, line 5: a record" in capsys.readouterr().out


def test_a_page_that_prints_something_else_is_found() -> None:
    printed = (
        "some output\nPASSED tests/docs/test_shell.py::test_a_page_can_be_followed[docs/howto/audit.md]\n"
        "FAILED tests/docs/test_shell.py::test_a_page_can_be_followed[docs/howto/attack.md] - AssertionError: prints\n"
        "ERROR tests/docs/test_handbook.py::test_the_restore_drill\n"
    )
    results = figures.followed(printed)
    assert [bool(result.beyond) for result in results] == [False, True, True]
    assert "attack.md" in results[1].name
    assert figures.followed("no tests ran")[0].beyond


def test_every_picture_has_its_maker() -> None:
    made = {name for names in figures.MAKERS for name in names}
    assert made == {path.name for path in figures.IMAGES.iterdir()}
    shown = "".join(page.read_text("utf-8") for page in PAGES)
    assert [name for name in made if f"images/{name})" not in shown] == []
