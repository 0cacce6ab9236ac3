"""A register: targets with a public number besides their names."""

from pathlib import Path
from typing import Any

import pytest
from tests.programme.offices import new_office
from tests.programme.public.published import NAMES, chained, drawn, fresh, made
from tests.programme.public.test_page import rendered

from deniable.errors import DeniableError
from deniable.programme.creation import read_register
from deniable.programme.names import check_not_reports
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.replay import replay

A, B, C, D = NAMES
REGISTERED = ("DE-1", "DE-2", "FR/7", A)
WHY: dict[str, Any] = {"reason": "sold", "independent": True, "during": 1}


def test_a_list_of_names_or_a_register(tmp_path: Path) -> None:
    file = tmp_path / "targets"
    file.write_text("# mills\nAsh Mill\nBirch, Works\n", encoding="utf-8")
    assert read_register(file) == (("Ash Mill", "Birch, Works"), None)
    file.write_text('target,number\nAsh Mill,A-17\n"Birch, Works",B-1\n', encoding="utf-8")
    assert read_register(file) == (("Ash Mill", "Birch, Works"), ("A-17", "B-1"))
    file.write_text("target,number\nAsh Mill\n", encoding="utf-8")
    with pytest.raises(DeniableError, match="line 2: expected 2 cells"):
        read_register(file)


def test_no_programme_begins_with_reports_for_targets(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match="this is a file of reports, not a list of targets"):
        new_office(str(tmp_path / "programme.db"), tmp_path, targets=("2026-01-05,Ash Mill,2", "2026-01-05,Birch,1"))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "text",
    [
        "date,target,reports\n2025-01-06,acme,2\n",
        "Target; Reports\nacme\nbravo\n",
        "id,channel\n1,acme\n2,bravo\n",
        "2025-01-06,acme,2\n2025-01-07,bravo,1\n",
        "acme,2\nbravo,1\n",
        "company,number\nacme,2\nbravo,1\n",
        "date,acme,bravo\n2025-01-06,2,1\n2025-01-07,0,1\n",
    ],
)
def test_a_file_of_reports_is_no_list_of_targets(text: str) -> None:
    with pytest.raises(DeniableError, match="this is a file of reports"):
        check_not_reports(text.splitlines())


@pytest.mark.parametrize("text", ["Smith, Jones and Co\nAsh Mill", "Ash Mill\nBirch, 12", "Mill 1\nMill 2"])
def test_names_with_commas_and_numbers_are_targets(text: str) -> None:
    check_not_reports(text.splitlines())


def test_the_numbers_are_among_the_rules() -> None:
    parameters = made(registered=REGISTERED)
    assert Parameters.from_bytes(parameters.to_bytes()) == parameters
    assert parameters.digest != made().digest
    assert b'"registered": null' in made().to_bytes()


@pytest.mark.parametrize(
    ("numbers", "why"),
    [(("1", "2", "3"), "a number for each"), (("1", "2", "3", "1"), "one comes twice"), ("1234", "a number for each"),
     (("1", "2", "3", ""), "a register number"), (("1", "2", "3", "4" * 41), "at most 40"),
     (("1", "2", "3", 4), "a register number")],
)  # fmt: skip
def test_numbers_that_cannot_be(numbers: Any, why: str) -> None:
    with pytest.raises(DeniableError, match=why):
        made(registered=numbers)


def test_a_number_names_its_target_unless_it_is_a_name() -> None:
    parameters = made(registered=REGISTERED)
    said = [("renamed", 1, {"target": B, "name": "Bremen", **WHY}),
            ("targets", 1, {"added": ("FR/7", "Emden"), "removed": (), **WHY})]  # fmt: skip
    before, after = replay(parameters, []), replay(parameters, chained(parameters, said))
    assert [*map(before.named, (*REGISTERED, B, "none"))] == [A, B, C, A, B, "none"]
    assert [*map(after.named, (*REGISTERED, B))] == [A, "Bremen", "FR/7", A, B]
    assert [after.registered_as(number) for number in range(6)] == [*REGISTERED, "", ""]
    assert made().registered is None
    assert replay(made(), []).named("DE-1") == "DE-1"


def test_the_page_shows_them() -> None:
    page = rendered(made(registered=("DE-1", "<b>", "x", "y")), [drawn(1, A, commitment=fresh(1))])
    assert "no. <bdi>DE-1</bdi>" in page
    assert "no. <bdi>&lt;b&gt;</bdi>" in page
    assert "no. <bdi>" not in rendered(made())
