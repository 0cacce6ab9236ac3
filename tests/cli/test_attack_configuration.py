"""What `deniable attack` attacks: options and public folders, in words and in games."""

import json
from pathlib import Path

import pytest
from tests.cli.programmes import BECAUSE, NAMES, Desk
from tests.cli.running import RACE, Run, assert_refused

import deniable as dn
from deniable.cli.attack_configuration import chosen
from deniable.rules import Rules

SMALL = ["attack", "--stream", "quiet", "--games", "200"]
THREE = [*SMALL, *RACE, "--targets", "3", "--rounds", "3"]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("forecast", "weights learnt from past audits."),
        ("steady-forecast", "weights learnt from past audits, for steady rates."),
    ],
)
def test_the_verdict_names_audits_rules_and_weights(run: Run, weights: str, words: str) -> None:
    options = ["--audits", "2", "--max-gap", "3", "--cooldown", "1", f"--{weights}"]
    code, out, err = run(*THREE, *options)
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert "not refuted: race, 3 targets, 2 audits a round, every target at least once in 3 rounds" in told
    assert f"none twice within 1 round, {words}" in told
    document = json.loads(run(*THREE, *options, "--json").out)
    assert (document["audits"], document["rules"]) == (2, {"max_gap": 3, "cooldown": 1})
    assert (document["weights"], document["programme"]) == (weights, None)
    assert document["attacks"][0]["verdict"] == "not refuted"


def test_what_is_not_set_is_named_too(run: Run) -> None:
    _, out, _ = run(*SMALL, "--targets", "2", "--rounds", "3", "--mechanism", "race,rr", "--delta", "0.1")
    told = " ".join(out.split())
    assert "not refuted: race, 2 targets, 1 audit a round, no rules, equal weights." in told
    assert "not refuted: rr, 2 targets, 1 audit a round, no rules." in told


def test_the_audits_are_played(run: Run) -> None:
    """In one quiet round two of three targets are audited: the report's own with 2/3, or 1/2 + 1/2 * 2/3 at rho = 2."""
    options = [
        "--targets",
        "3",
        "--rounds",
        "1",
        "--audits",
        "2",
        "--mechanism",
        "race",
        "--delta",
        "0.2499",
        "--json",
    ]
    found = json.loads(run(*SMALL, *options).out)["attacks"][0]
    assert found["own_target"]["exact"]
    assert found["own_target"]["leak"] == pytest.approx(5 / 6 - 2 / 3, abs=1e-3)


def test_the_lightest_and_the_heaviest_target_are_attacked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_text("target,weight\n3,1\n1,5\n2,0.5\n", encoding="utf-8")
    document = json.loads(run(*THREE, "--weights", path, "--json").out)
    assert document["weights"] == [5, 0.5, 1]
    tried = document["attacks"][0]["tried"]
    assert {(one["stream"].split(", ")[-1], one["report"]["target"]) for one in tried} == {
        ("heaviest", 1),
        ("lightest", 2),
    }
    assert "fixed weights" in document["attacks"][0]["attacked"]


def test_weights_of_a_file_have_the_names_of_its_targets(run: Run, reports: Path, tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_text("target,weight\nacme,1\nbravo,2\ncharlie,3\n", encoding="utf-8")
    options = ["attack", *RACE, "--stream", reports, "--games", "40", "--weights", path]
    _, out, _ = run(*options, "--json")
    tried = {one["stream"].split(", ")[1] for one in json.loads(out)["attacks"][0]["tried"]}
    assert tried == {"busiest target", "quietest target", "lightest target", "heaviest target"}


def test_two_audits_of_counter_auditing_are_said_to_be_attacked_by_a_black_box(run: Run) -> None:
    options = ["--targets", "3", "--rounds", "4", "--mechanism", "tca", "--delta", "0.1", "--audits", "2"]
    told = " ".join(run(*SMALL, *options).out.split())
    assert "not refuted by the weaker adversary: tca, 3 targets, 2 audits a round, no rules." in told
    assert "a black box attacked it" in told


def test_a_counter_is_calibrated_for_the_gap_as_in_a_programme() -> None:
    common = {"delta": 0.1, "audits": 1, "weights": None}
    built = chosen(["tca", "rr"], 3, 8, rules=Rules(max_gap=20), **common).mechanisms  # type: ignore[arg-type]
    assert built["tca"] == dn.CounterAuditing.calibrate(3, 0.1, rules=Rules(max_gap=20))
    assert built["rr"] == dn.RandomizedResponse.calibrate(3, 0.1, 8, rules=Rules(max_gap=20))
    built = chosen(["tca"], 3, 8, rules=Rules(), **common).mechanisms  # type: ignore[arg-type]
    assert built["tca"] == dn.CounterAuditing.calibrate(3, 0.1, 8)


# A programme's public folder


def publish(desk: Desk, *options: object) -> None:
    desk.init(*options)
    desk.done("publish", "--public", "public")


def test_a_programme_is_attacked_as_it_is_published(desk: Desk) -> None:
    publish(desk, "--audits", 2, "--max-gap", 3, "--cooldown", 1, "--forecast", "--reports-per-person", 2)
    code, out, err = desk.run(*SMALL, "--public", "public", "--rounds", 4)
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert "The programme Site visits, whose public folder was verified. 4 targets, 4 rounds, 200 games" in told
    assert "not refuted: race, 4 targets, 2 audits a round, every target at least once in 3 rounds" in told
    assert "weights learnt from past audits." in told
    assert "up to 2 reports of one person" in told
    assert "as it was set up" not in told
    document = json.loads(desk.run(*SMALL, "--public", "public", "--rounds", 4, "--json").out)
    assert (document["delta"], document["programme"]["name"], document["targets"]) == (0.1, "Site visits", 4)


def test_fixed_weights_come_from_the_programme(desk: Desk) -> None:
    Path("weights.csv").write_text(
        "target,weight\n" + "".join(f"{name},{i + 1}\n" for i, name in enumerate(NAMES)), encoding="utf-8"
    )
    publish(desk, "--weights", "weights.csv")
    document = json.loads(desk.run(*SMALL, "--public", "public", "--rounds", 3, "--json").out)
    assert document["weights"] == [1, 2, 3, 4]
    assert {one["report"]["target"] for one in document["attacks"][0]["tried"]} == {1, 4}


def test_the_horizon_of_tca_limits_what_is_watched(desk: Desk) -> None:
    publish(desk, "--mechanism", "tca", "--horizon", 5)
    document = json.loads(desk.run(*SMALL, "--public", "public", "--json").out)
    assert (document["rounds"], document["attacks"][0]["worst"]["adversary"]) == (5, "particles")
    assert document["attacks"][0]["worst"]["proven"]["horizon"] == 5
    assert_refused(desk.run(*SMALL, "--public", "public", "--rounds", 6), "covers 5 rounds, but 6 are to be watched")


def test_a_file_of_reports_has_the_programmes_targets(desk: Desk) -> None:
    publish(desk)
    Path("reports.csv").write_text(f"round,target,reports\n1,{NAMES[3]},4\n3,{NAMES[0]},1\n", encoding="utf-8")
    options = ["attack", "--public", "public", "--stream", "reports.csv", "--games", 40]
    document = json.loads(desk.run(*options, "--json").out)
    assert (document["targets"], document["rounds"]) == (4, 3)
    assert "confidential" in document["notes"][0]
    Path("reports.csv").write_text("round,target,reports\n1,Elm Yard,4\n", encoding="utf-8")
    assert_refused(desk.run(*options), "not in the public list of targets")


def test_what_the_office_decided_later_is_said_not_to_be_attacked(desk: Desk) -> None:
    publish(desk)
    desk.done("targets", "add", "Elm Yard", "--reason", "New.", BECAUSE, "--yes")
    desk.clock.tomorrow()
    desk.done("close-round")
    desk.done("publish")
    told = " ".join(desk.run(*SMALL, "--public", "public", "--rounds", 3).out.split())
    assert "attacked as it was set up" in told
    assert "race, 4 targets, 1 audit a round" in told


def test_a_folder_that_does_not_verify_is_refused(desk: Desk) -> None:
    publish(desk)
    path = Path("public/programme.json")
    path.write_text(path.read_text(encoding="utf-8").replace(NAMES[0], "Ash Hill"), encoding="utf-8")
    assert_refused(desk.run(*SMALL, "--public", "public"), "was not signed with")


def test_a_folder_that_is_no_programme_is_refused(run: Run, tmp_path: Path) -> None:
    assert_refused(run(*SMALL, "--public", tmp_path), "has no programme.json")
    assert_refused(run(*SMALL, "--public", tmp_path / "nowhere"), "does not exist")


@pytest.mark.parametrize(
    "options",
    [
        ["--mechanism", "race"],
        ["--delta", "0.1"],
        ["--audits", "1"],
        ["--max-gap", "9"],
        ["--cooldown", "0"],
        ["--weights", "weights.csv"],
        ["--forecast"],
        ["--steady-forecast"],
        ["--targets", "4"],
    ],
    ids=lambda options: options[0],
)
def test_options_beside_a_folder_are_refused(run: Run, options: list[str]) -> None:
    """Even where they say what the programme says; the folder is not looked at."""
    assert_refused(run(*SMALL, "--public", "public", *options), f"leave out {options[0]}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--audits", "4"], "audits must be at most the number of targets, 3, got 4"),
        (["--audits", "0"], "audits must be a whole number of at least 1, got 0"),
        (["--max-gap", "2"], "--max-gap must be at least 3 rounds for 3 targets with 1 audit a round, got 2"),
        (["--cooldown", "-1"], "cooldown must be a whole number of at least 0, got -1"),
        (["--weights", "nowhere.csv"], "cannot read nowhere.csv"),
        (["--weights", "nowhere.csv", "--forecast"], "got --weights and --forecast"),
        (["--forecast", "--steady-forecast"], "got --forecast and --steady-forecast"),
        (["--mechanism", "rr", "--audits", "2"], "covers one audit a round, got 2"),
        (["--mechanism", "tca", "--forecast"], "weights are for race; tca has none"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_line(run: Run, options: list[str], words: str) -> None:
    assert_refused(run(*THREE, *options), words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("target,weight\n1,1\n2,1\n", "has none for 3"),
        ("target,weight\n1,1\n2,1\n3,1\n4,1\n", "one line for each target"),
        ("target,weight\n1,1\n2,1\n3,0\n", "weights must be positive numbers"),
    ],
)
def test_weights_that_do_not_fit_are_refused(run: Run, tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "weights.csv"
    path.write_text(content, encoding="utf-8")
    assert_refused(run(*THREE, "--weights", path), words)
