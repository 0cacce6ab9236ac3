"""Where the yearly figures stand in a transcript, and what is said of them."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.programme.public.published import NAMES, RECIPIENT, Said, chained, drawn, fresh, made, write

from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public.page import render
from deniable.programme.public.verify import verify
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState
from deniable.report_classes import parsed

A, B, *_ = NAMES
MONTHLY = Calendar(date(2026, 9, 1), "1M", "Europe/Berlin")
"""Round 3 is the last of 2026."""
CLASSES = tuple(map(parsed, ("minor=1", "serious=3")))


def programme(**settings: Any) -> Parameters:
    return made(**{"calendar": MONTHLY, "yearly_figures_delta": 0.02, "classes": CLASSES} | settings)


def figures(round_: int = 4, **fields: Any) -> Said:
    said = {"year": 2026, "reports": [["minor", 412], ["serious", -3]], "in_all": 409, "deviation": 20,
            "complete": True, "sealed": None, "reason": None}  # fmt: skip
    return "figures", round_, said | fields


YEAR = [drawn(1, A), drawn(2, B), drawn(3, A)]


def state_of(parameters: Parameters, *said: Said) -> PublicState:
    return replay(parameters, chained(parameters, said))


def test_figures_follow_on_the_last_round_of_a_year() -> None:
    parameters = programme()
    assert state_of(parameters, *YEAR).owes_figures
    state = state_of(parameters, *YEAR, figures(), drawn(4, B))
    assert (state.owes_figures, state.figures_after) == (False, 3)
    again = PublicState.from_bytes(parameters, state.to_bytes())
    assert (again.figures_after, again.misses_reports) == (3, False)


PAUSED = {"paused": True, "complete": True, "during": 2, "reason": "a fire"}
LOST = {"lost": 2, "commitment": fresh(9), "inputs_lost": False, **PAUSED}


def test_what_a_recovery_lost_is_said_for_as_long_as_reports_do_not_count() -> None:
    lost = [drawn(1, A), ("recovery", 2, LOST), drawn(2, B), drawn(3, A)]
    with pytest.raises(DeniableError, match="figures"):
        state_of(programme(), *lost, figures())
    state = state_of(programme(), *lost, figures(complete=False))
    assert state.misses_reports
    resumed = state_of(
        programme(), *lost, ("figures", 4, figures(complete=False)[2]), ("resumption", 4, {"reason": "x"})
    )
    assert resumed.misses_reports


@pytest.mark.parametrize(
    "said",
    [
        [*YEAR, drawn(4, B)],
        [*YEAR, ("end", 4, {"reason": "x"})],
        [*YEAR, figures(), figures()],
        [drawn(1, A), figures(2)],
        [*YEAR, figures(year=2027)],
        [*YEAR, figures(in_all=410)],
        [*YEAR, figures(deviation=1)],
        [*YEAR, figures(complete=False)],
        [*YEAR, figures(sealed=fresh(1))],
        [*YEAR, figures(reason="good news")],
        [*YEAR, figures(reports=[["minor", 409]])],
        [*YEAR, figures(reports=[["serious", 412], ["minor", -3]])],
    ],
)
def test_what_cannot_stand(said: list[Said]) -> None:
    with pytest.raises(DeniableError, match="figures"):
        state_of(programme(), *said)


@pytest.mark.parametrize(
    "reports", [None, [], [["minor", 1.0]], [["minor", True]], [["minor", 2**53]], [["minor"]], "x"]
)
def test_numbers_are_whole(reports: object) -> None:
    with pytest.raises(DeniableError):
        state_of(programme(), *YEAR, figures(reports=reports))


def test_a_programme_without_figures_has_none() -> None:
    parameters = programme(yearly_figures_delta=None)
    assert not state_of(parameters, *YEAR, drawn(4, B)).owes_figures
    with pytest.raises(DeniableError, match="figures"):
        state_of(parameters, *YEAR, figures())


def test_an_oversight_body_needs_its_seal() -> None:
    rounds = [("round", number, {**said, "sealed": fresh(-number)}) for _, number, said in YEAR]
    with pytest.raises(DeniableError, match="a sealed record of the figures"):
        state_of(programme(oversight=RECIPIENT), *rounds, figures())
    state_of(programme(oversight=RECIPIENT), *rounds, figures(sealed=fresh(-4)))


def test_verify_misses_figures_at_the_end(tmp_path: Path) -> None:
    parameters = programme()
    write(tmp_path / "whole", parameters, chained(parameters, [*YEAR, figures()]))
    assert verify(tmp_path / "whole").remarkable == ()
    write(tmp_path / "cut", parameters, chained(parameters, YEAR))
    with pytest.raises(DeniableError, match="yearly figures must follow"):
        verify(tmp_path / "cut")


def page(parameters: Parameters, *said: Said) -> str:
    entries = chained(parameters, said)
    text = render(parameters, entries, None, parameters.voice())
    return " ".join(text.split())


def test_the_page_has_the_figures_and_says_what_they_cost() -> None:
    before, after = page(programme()), page(programme(), *YEAR, figures())
    assert "No year has ended yet" in before
    assert "1 December 2026" in before
    assert "1 December 2027" in after
    for words in ("409 ± 29", "412 ± 20", 'about 0 <small><bdi dir="ltr">−3 ± 20', "Yearly numbers of 2026<"):
        assert words in after
    for words in (
        "watches every audit and reads the yearly numbers",
        "includes at most 1 point in 100 for that",
        "For the audits alone there is a limit in single cases as well",
        "For the yearly numbers there is none",
        "delta = 0.02",
    ):
        assert words in before
    assert "Reports by year" not in page(programme(yearly_figures_delta=None), *YEAR)


def test_of_one_class_there_is_one_number() -> None:
    parameters = programme(classes=tuple(map(parsed, ["report=1"])))
    (*_, year) = chained(parameters, [*YEAR, figures(reports=[["report", 1]], in_all=1)])
    assert year.deed(parameters.voice()) == "yearly numbers of 2026, 1 report ± 20"
    assert replay(parameters, chained(parameters, [*YEAR, figures(reports=[["report", 1]], in_all=1)])).entries == 4
