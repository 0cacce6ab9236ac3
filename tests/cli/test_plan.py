"""`deniable plan`: what it prints, draws and refuses, and that the page about it shows what it prints today."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.cli.running import Run, assert_refused

from deniable.mechanisms import calibrate
from deniable.planning import OTHER_COUNTERS, PLANNED
from deniable.promptness import REPORTS, Deadline, audits_needed
from deniable.simulation.figures import MECHANISM_COLOURS

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "choose.md"
SMALL = ["plan", "--targets", "6", "--delta", "0.1", "--horizon", "40", "--runs", "10"]


def rows(out: str, mechanism_id: str) -> list[str]:
    return re.findall(rf"^{re.escape(mechanism_id)} .*$", out, re.MULTILINE)


def test_a_row_a_mechanism_in_both_tables_and_advice_at_the_end(run: Run) -> None:
    code, out, err = run(*SMALL)
    assert (code, err) == (0, "")
    assert all(len(rows(out, name)) == 3 for name in PLANNED)
    assert not any(rows(out, name) for name in OTHER_COUNTERS)
    assert "is right at most 5 times in 100 more often than without watching" in " ".join(out.split())
    assert "A round is whatever you make it" in " ".join(out.split())
    assert out.rindex("Advice: ") > out.rindex("wait +10")


@pytest.mark.parametrize("more", [[], ["--all"], ["--all", "--audits", "2", "--max-gap", "300", "--cooldown", "2"]])
def test_it_fits_eighty_columns(run: Run, more: list[str]) -> None:
    _, out, _ = run(*SMALL, "--targets", "60", "--reports-per-round", "500", *more)
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out


def test_all_shows_the_other_counters(run: Run) -> None:
    _, out, _ = run(*SMALL, "--all")
    assert all(len(rows(out, name)) == 3 for name in OTHER_COUNTERS)


def test_what_is_not_covered_is_a_line_and_no_error(run: Run) -> None:
    code, out, _ = run(*SMALL, "--audits", "2")
    assert code == 0
    assert rows(out, "rr") == []
    assert "rr: not covered: its promise is proven for one audit a round." in " ".join(out.split())
    assert "\n% by lot " in out  # uniform draws them


def test_bounds_are_rounded_up(run: Run) -> None:
    _, out, _ = run(*SMALL, "--reports-per-person", "3")
    promised = rows(out, "race")[0].split()
    assert promised[1:6] == ["0.1000", "5.0", "14.7", "1.32", "57"]  # 14.64, 1.3135 and 56.78
    assert rows(out, "greedy")[0].split()[1:7] == ["1.0000", "50.0", "50.0", "no", "limit", "100"]
    assert rows(out, "uniform")[0].split()[5] == "50"


def test_the_promise_asked_for_is_not_rounded_down(run: Run) -> None:
    _, out, _ = run("plan", "--targets", "6", "--delta", "0.1234564", "--runs", "2")
    assert "delta = 0.123457." in out
    assert "at most 6.17282 times" in " ".join(out.split())


def test_the_case_of_two_people_is_told(run: Run) -> None:
    _, out, _ = run(*SMALL)
    assert "sure that exactly one of two people filed can gain up to twice as many" in " ".join(out.split())


@pytest.mark.parametrize(
    ("delta", "race", "rr"),
    [("0.001", "× 1.0027 a", "99.983 %"), ("0.1", "× 1.31 a", "98.4 %"), ("0.999", "× 10,229 a", "86 %")],
)
def test_chance_has_the_digits_that_matter(run: Run, delta: str, race: str, rr: str) -> None:
    _, out, _ = run("plan", "--targets", "6", "--delta", delta, "--runs", "2")
    assert race in rows(out, "race")[1]
    assert rr in rows(out, "rr")[1]


def test_one_report_a_person_needs_no_second_column(run: Run) -> None:
    _, out, _ = run(*SMALL, "--reports-per-person", "1")
    assert "1 reports" not in out
    assert "at most, about one report: an average" in " ".join(out.split())


def test_one_in_a_hundred_is_one_time(run: Run) -> None:
    _, out, _ = run("plan", "--targets", "6", "--runs", "10", "--delta", "0.02", "--reports-per-person", "1")
    assert " ".join(out.split()).count("right at most 1 time in 100 more often") == 2  # in the promise and the advice


def test_a_promise_about_a_person(run: Run) -> None:
    _, out, _ = run("plan", "--targets", "6", "--advantage", "0.05", "--reports-per-person", "4", "--runs", "4")
    words = "whether a person's reports, up to 4, were filed is right at most 5 times in 100 more often"
    assert words in " ".join(out.split())
    assert all(rows(out, name)[0].split()[3] == "5.0" for name in ("race", "tca", "rr"))


def test_a_wait_that_was_cut_short_is_marked(run: Run) -> None:
    _, out, _ = run("plan", "--targets", "50", "--delta", "0.1", "--horizon", "6", "--runs", "10")
    assert rows(out, "uniform")[2].count("≥") == 6
    assert "the simulation ended, after 3 rounds, before some were audited" in " ".join(out.split())
    _, out, _ = run(*SMALL[:-4], "--runs", "10")
    assert "≥" not in out


def test_a_max_gap_needs_no_horizon(run: Run) -> None:
    _, out, _ = run("plan", "--targets", "6", "--delta", "0.1", "--max-gap", "8", "--runs", "4")
    assert rows(out, "tca")[0].endswith(" ever (max gap)")
    assert rows(out, "race")[0].endswith(" ever")
    assert "as long as the longest gap is kept" in " ".join(out.split())
    assert "every target at least once in 8 rounds" in " ".join(out.split())


def test_the_key_explains_the_signs_shown(run: Run) -> None:
    _, out, _ = run(*SMALL)
    assert "≤ at most" in " ".join(out.split())
    assert "there is no formula" in " ".join(out.split())
    assert "rules decide" not in " ".join(out.split())
    _, out, _ = run(*SMALL, "--horizon", "2000000")
    assert "≤" not in out  # there is no counter in it
    _, out, _ = run("plan", "--targets", "6", "--delta", "0.1", "--max-gap", "8", "--cooldown", "2", "--runs", "4")
    words = " ".join(out.split())
    assert "not counting audits that the rules decide" in words
    assert "no target waits longer than 8 rounds" in words
    assert "up to 60 audits of 100" in words  # (6 - 3) / (8 - 3)
    assert "there is no formula" not in words
    assert " - nothing is proven about this lead or wait" in words
    assert rows(out, "tca")[1].split()[4] == "-"  # after the name and "counts ± 9"


def test_small_numbers_of_reports_are_there(run: Run) -> None:
    _, out, _ = run(*SMALL)
    header = [line.split() for line in out.splitlines() if line.startswith("mechanism")]
    assert header[1][-5:] == ["1", "3", "5", "10", "30"]
    assert header[2][1:] == ["+1", "+3", "+5", "+10", "+30", "+10"]


def test_json_is_one_document_with_the_same_figures(run: Run) -> None:
    code, out, err = run(*SMALL, "--audits", "2", "--all", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["office"]["n_targets"] == 6
    assert document["runs"] == 10
    found = {entry["id"]: entry for entry in document["mechanisms"]}
    assert list(found) == [*PLANNED, *OTHER_COUNTERS]
    assert found["rr"] == {"id": "rr", "covered": False, "reason": found["rr"]["reason"]}
    assert found["race"]["guarantee_for_person"]["reports"] == 3
    assert (found["uniform"]["worst_case"], found["tca"]["worst_case"]) == (0.5, 1)
    assert found["tca"]["sigma"] < found["tca"]["noise_std"]
    assert [wait["extra_reports"] for wait in found["race"]["waits"]] == list(REPORTS)
    assert [wait["reports"] for wait in found["race"]["quiet_waits"]] == list(REPORTS)
    assert (found["race"]["lead_is"], found["tca"]["lead_is"]) == ("exact", "at most")
    assert found["tca"]["quiet_waits"] is None
    _, text, _ = run(*SMALL, "--audits", "2", "--all")
    assert " ".join(document["advice"].split()) in " ".join(text.replace(" \\\n", " ").split())


def test_the_least_lead_is_told_beside_those_of_race_and_counter_auditing(run: Run) -> None:
    asked = ["plan", "--targets", "50", "--delta", "0.1", "--runs", "2"]
    words = " ".join(run(*asked).out.split())
    assert "a lead of at least 24 for the leader to be audited in 19 rounds of 20, at this promise" in words
    assert "(proven). Race needs 26." in words
    assert "is not covered, needs at most 71." in words
    document = json.loads(run(*asked, "--json").out)
    assert document["least_lead"] == 24
    leads = {entry["id"]: entry["lead_needed"] for entry in document["mechanisms"]}
    assert (leads["race"], leads["tca"]) == (26, 71)


@pytest.mark.parametrize("more", [["--max-gap", "300"], ["--cooldown", "2"], ["--audits", "50"]])
def test_no_least_lead_is_told_where_none_is_proven_or_needed(run: Run, more: list[str]) -> None:
    asked = ["plan", "--targets", "50", "--delta", "0.1", "--runs", "2", *more]
    assert "at this promise (proven)" not in " ".join(run(*asked).out.split())
    assert not json.loads(run(*asked, "--json").out)["least_lead"]


def test_the_least_lead_of_a_promise_about_a_person(run: Run) -> None:
    asked = ["plan", "--targets", "50", "--advantage", "0.05", "--reports-per-person", "3", "--runs", "2", "--json"]
    document = json.loads(run(*asked).out)
    race = next(entry["lead_needed"] for entry in document["mechanisms"] if entry["id"] == "race")
    assert 3 * 23 + 1 == document["least_lead"] <= race


@pytest.mark.parametrize("delta", ["1e-16", "0.0001", "0.999999"])
def test_the_least_lead_of_any_delta(run: Run, delta: str) -> None:
    assert run("plan", "--targets", "6", "--delta", delta, "--runs", "2").code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--targets", "1", "--delta", "0.1"], "targets must be a whole number of at least 2, got 1"),
        (
            ["--targets", "5", "--delta", "1.5"],
            "delta must be above 0 and below 1, got 1.5; 0.1 lets a guess improve by",
        ),
        (["--targets", "5", "--delta", "0"], "delta must be above 0 and below 1"),
        (["--targets", "5"], "got neither; for example --delta 0.1"),
        (["--targets", "5", "--delta", "0.1", "--advantage", "0.1"], "got both"),
        (["--targets", "5", "--advantage", "5"], "more than 0 and less than 0.5, got 5.0; 5 points in 100 is 0.05"),
        (["--targets", "5", "--delta", "0.1", "--horizon", "0"], "horizon must be"),
        (
            ["--targets", "5", "--delta", "0.1", "--max-gap", "4"],
            "error: --max-gap must be at least 5 rounds for 5 targets with 1 audit a round, got 4",
        ),
        (["--targets", "5", "--delta", "0.1", "--audits", "6"], "audits must be at most the number of targets"),
        (["--targets", "5", "--delta", "0.1", "--reports-per-round", "-1"], "error: --reports-per-round must be"),
        (["--targets", "5", "--delta", "0.1", "--runs", "1"], "runs must be"),
        (["--targets", "5", "--delta", "0.1", "--chart", "plan.gif"], "must end in .png or .svg, got plan.gif"),
        (["--targets", "5", "--delta", "0.1", "--chart", "no/such/plan.png"], "is not a folder"),
        (["--targets", "many", "--delta", "0.1"], "--targets must be a whole number in digits"),
    ],
)
def test_bad_input_is_one_line(run: Run, args: list[str], words: str) -> None:
    code, out, err = run("plan", *args)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_chart_is_drawn_and_changes_no_figure(run: Run, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"plan{suffix}"
    assert run(*SMALL, "--all", "--chart", path).out == run(*SMALL, "--all").out
    drawn = path.read_bytes()
    assert drawn.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_a_chart_that_cannot_be_written_is_one_line(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "plan.png").mkdir()
    code, out, err = run(*SMALL, "--chart", tmp_path / "plan.png")
    assert (code, out) == (2, "")
    assert "cannot write" in err
    assert err.count("\n") == 1


def test_without_matplotlib_a_chart_says_how_to_get_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = run(*SMALL, "--chart", tmp_path / "plan.png")
    assert code == 2
    command = f"{sys.executable} -m pip install -c constraints.txt '.[research]'"
    assert err == f"error: charts need matplotlib: run {command} in a copy of the project\n"
    assert run(*SMALL).code == 0


def test_every_mechanism_has_a_colour_of_its_own() -> None:
    planned = [MECHANISM_COLOURS[name] for name in (*PLANNED, *OTHER_COUNTERS)]
    assert len(set(planned)) == len(planned)


def test_the_page_shows_what_the_command_prints(run: Run) -> None:
    page = PAGE.read_text(encoding="utf-8")
    command = re.search(r"^\$ deniable (plan .*)$", page, re.MULTILINE)
    shown = re.search(r"^\$ deniable plan[^\n]*\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert command
    assert shown
    _, out, _ = run(*shlex.split(command[1]))
    assert [line.rstrip() for line in out.splitlines()] == shown[1].splitlines()


def test_a_deadline_says_what_it_takes(run: Run) -> None:
    code, out, _ = run(*SMALL, "--deadline", "4", "--probability", "0.8")
    words = " ".join(out.split())
    assert code == 0
    assert len(rows(out, "race")) == 4
    assert "in at least 80 cases of 100" in words
    assert "at least 70 targets of 100 have to be visited within 4 rounds without any report" in words
    assert "A longest gap of 4 rounds makes the visit certain" in words
    assert "audited just before" in words
    assert max(map(len, out.splitlines())) <= 80


def test_a_lower_limit_in_the_table_is_rounded_down(run: Run) -> None:
    given = ["plan", "--targets", "5", "--delta", "0.1", "--audits", "2", "--cooldown", "2", "--runs", "2"]
    _, out, _ = run(*given, "--deadline", "4")
    needed, *visited, _, _, _, forced = rows(out, "race")[-1].split()[1:]
    assert (needed, visited, forced) == ("3", ["≥", "90.0", "≥", "83.9"], "-")


def test_an_estimate_in_the_table_is_marked_as_one(run: Run) -> None:
    given = ["plan", "--targets", "600", "--delta", "0.1", "--audits", "15", "--max-gap", "40", "--runs", "2"]
    _, out, _ = run(*given, "--deadline", "13")
    assert re.fullmatch(r"race +\d+ +~ [\d.]+ +~ [\d.]+ +\d+ ± \d+ +~ [\d.]+ *", rows(out, "race")[-1])
    assert "What has a ~ is estimated." in " ".join(out.split())
    _, out, _ = run(*SMALL, "--deadline", "4")
    assert "~" not in out


def test_a_deadline_in_json_is_what_the_calculation_says(run: Run) -> None:
    _, out, _ = run(*SMALL, "--deadline", "4", "--json")
    found = json.loads(out)["deadline"]
    by_id = {entry["id"]: entry for entry in found["mechanisms"]}
    race = calibrate("race", 6, 0.1)
    needed = audits_needed(race, Deadline(4))
    assert needed is not None
    assert (found["rounds"], found["probability"], found["audits"]) == (4, 0.9, needed)
    assert by_id["race"]["calculated"]["visited"]["low"] >= 0.9
    assert by_id["race"]["calculated"]["forced_delta"] == pytest.approx((1 - needed / 6) ** 4)
    assert found["least_audits"] <= needed
    assert found["audits_for_certainty"] == 2
    tca = by_id["tca"]
    assert (tca["audits_needed"], tca["calculated"]) == (None, None)
    low, high = tca["simulated"]["alone"]["interval"]
    assert 0 <= low <= tca["simulated"]["alone"]["visited"] / 10 <= high <= 1
    assert "rr" not in by_id


@pytest.mark.parametrize("given", [["--deadline", "3"], ["--yearly-figures-delta", "0.02"]])
def test_what_is_calculated_for_race_is_refused_where_race_is_not_covered(run: Run, given: list[str]) -> None:
    strict = ["plan", "--targets", "3", "--delta", "1e-16", "--runs", "2", "--horizon", "10"]
    assert run(*strict)[0] == 0
    code, out, err = run(*strict, *given)
    assert (code, out) == (2, "")
    assert "are calculated for race, which is not covered here: " in " ".join(err.split())


def test_yearly_figures_cost_what_they_add(run: Run) -> None:
    _, out, _ = run(*SMALL, "--yearly-figures-delta", "0.02")
    words = " ".join(out.split())
    assert "noise of ± 20" in words
    assert "with race 0.12 in place of 0.1" in words
    assert "0.08 is left for the audits" in words
    _, out, _ = run(*SMALL, "--yearly-figures-delta", "0.02", "--json")
    found = json.loads(out)
    assert found["deadline"] is None
    race = next(entry for entry in found["yearly_figures"]["mechanisms"] if entry["id"] == "race")
    assert 0.1199 < race["delta"] <= 0.12
    assert found["yearly_figures"]["variance"] == 398
    _, out, _ = run(*SMALL, "--yearly-figures-delta", "0.5")
    assert "nothing would be left for the audits" in " ".join(out.split())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--deadline", "0"], "deadline must be a whole number of at least 1"),
        (["--deadline", "2.5"], "--deadline"),
        (["--deadline", "41"], "horizon of 40 rounds"),
        (["--deadline", "3", "--probability", "1"], "give --max-gap in place of a deadline"),
        (["--deadline", "3", "--probability", "-0.1"], "more than 0"),
        (["--deadline", "3", "--cooldown", "3"], "longer than the rest"),
        (["--probability", "0.5"], "give --deadline"),
        (["--yearly-figures-delta", "0"], "--yearly-figures-delta must be at least"),
        (["--yearly-figures-delta", "0.95"], "promises nothing"),
    ],
)
def test_bad_deadlines_and_figures_are_one_sentence(run: Run, given: list[str], words: str) -> None:
    code, out, err = run(*SMALL, *given)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())


def test_too_many_targets_are_named_as_such(run: Run) -> None:
    assert_refused(
        run("plan", "--targets", "99999999999999", "--delta", "0.1"), "targets must be at most 1,000,000,000"
    )
