"""The public parameters: what they build and promise, programme.json to the byte, and what is refused."""

import dataclasses
import datetime
import hashlib
import json
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.guarantee import Guarantee
from deniable.languages.language import Terms
from deniable.mechanisms import CounterAuditing, Race, forecast, steady_forecast
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Calendar
from deniable.programme.names import check_name
from deniable.programme.parameters import Parameters
from deniable.report_classes import parsed
from deniable.rules import Rules

CALENDAR = Calendar(datetime.date(2026, 1, 5), "1W", "Europe/Berlin", datetime.time(9))
RECIPIENT = "age1" + "q" * 58
RACE: dict[str, Any] = {
    "programme": "0123456789abcdef" * 2,
    "name": "Prüfstelle Süd",
    "targets": ("Acme", "Bravo", "Cáfé"),
    "mechanism": "race",
    "delta": 0.1,
    "calendar": CALENDAR,
    "public_key": "ab" * 32,
    "commitment": "cd" * 32,
}
TCA = RACE | {"mechanism": "tca", "horizon": 100}
RICH = RACE | {
    "reports_per_person": 3,
    "audits": 2,
    "max_gap": 4,
    "cooldown": 1,
    "weights": (1.0, 2.5, 0.5),
    "oversight": RECIPIENT,
}
VARIANTS = [
    *(RACE, TCA, RICH, RACE | {"mechanism": "tca", "max_gap": 10}),
    RACE | {"terms": Terms("inspection", "employer")},
    *(RACE | {"weights": "forecast"}, RACE | {"weights": "steady-forecast"}),
]


def stored(parameters: Parameters) -> dict[str, Any]:
    fields = json.loads(parameters.to_bytes())
    assert isinstance(fields, dict)
    return fields


def written(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, indent=2, sort_keys=True).encode() + b"\n"


# What they build and promise


def test_race_is_built_with_rules_and_weights() -> None:
    rules = Rules(max_gap=4, cooldown=1)
    assert Parameters(**RICH).built() == Race.calibrate(3, 0.1, weights=(1.0, 2.5, 0.5), rules=rules)
    assert Parameters(**RICH).rules == rules
    for name, weights in (("forecast", forecast), ("steady-forecast", steady_forecast)):
        assert Parameters(**RACE | {"weights": name}).built() == Race.calibrate(3, 0.1, weights=weights)


def test_tca_is_built_with_a_horizon_or_a_max_gap() -> None:
    assert Parameters(**TCA).built() == CounterAuditing.calibrate(3, 0.1, 100)
    assert Parameters(**TCA).guarantee().horizon == 100
    covered = Parameters(**RACE | {"mechanism": "tca", "max_gap": 10})
    assert covered.built() == CounterAuditing.calibrate(3, 0.1, rules=Rules(max_gap=10))
    assert covered.guarantee().horizon is None


def test_the_guarantee_is_for_all_reports_of_a_person() -> None:
    assert Parameters(**RACE).guarantee() == Race.calibrate(3, 0.1).guarantee()
    assert Parameters(**RICH).guarantee() == Race.calibrate(3, 0.1).guarantee().for_reports(3)


def test_numbers_of_numpy_are_taken_as_plain_ones() -> None:
    plain = Parameters(**RICH)
    numpy = Parameters(
        **RICH
        | {
            "targets": list(RICH["targets"]),
            "audits": np.int64(2),
            "reports_per_person": np.int64(3),
            "max_gap": np.int64(4),
            "cooldown": np.int64(1),
            "weights": np.array(RICH["weights"]),
        }
    )
    assert numpy == plain
    assert numpy.to_bytes() == plain.to_bytes()


# programme.json


@pytest.mark.parametrize("fields", VARIANTS)
def test_bytes_round_trip(fields: dict[str, Any]) -> None:
    parameters = Parameters(**fields)
    raw = parameters.to_bytes()
    read = Parameters.from_bytes(raw)
    assert read == parameters
    assert read.to_bytes() == raw
    assert pickle.loads(pickle.dumps(parameters)) == parameters
    assert parameters.digest == hashlib.sha256(raw).hexdigest()


def test_bytes_are_these() -> None:
    assert Parameters(**RACE).to_bytes().decode("ascii") == (
        "{\n"
        '  "audits": 1,\n'
        '  "calendar": {\n'
        '    "period": "1W",\n'
        '    "start": "2026-01-05",\n'
        '    "time": "09:00",\n'
        '    "zone": "Europe/Berlin"\n'
        "  },\n"
        '  "calibrated": 1.3134667431317784,\n'
        '  "classes": [\n'
        "    [\n"
        '      "report",\n'
        "      1\n"
        "    ]\n"
        "  ],\n"
        f'  "commitment": "{"cd" * 32}",\n'
        '  "cooldown": 0,\n'
        '  "delta": 0.1,\n'
        '  "format": "deniable-programme/5",\n'
        '  "guarantee": {\n'
        '    "advantage": 0.05,\n'
        '    "between_two": {\n'
        '      "advantage": 0.1,\n'
        '      "delta": 0.2\n'
        "    },\n"
        '    "curve": {\n'
        '      "kind": "exponential",\n'
        '      "rho": 1.31346675\n'
        "    },\n"
        '    "delta": 0.1,\n'
        '    "horizon": null,\n'
        '    "likelihood_cap": 1.31346675,\n'
        '    "reports": 1\n'
        "  },\n"
        '  "horizon": null,\n'
        '  "languages": [\n'
        '    "en"\n'
        "  ],\n"
        '  "max_gap": null,\n'
        '  "mechanism": "race",\n'
        '  "most_counted": null,\n'
        '  "name": "Pr\\u00fcfstelle S\\u00fcd",\n'
        '  "oversight": null,\n'
        f'  "programme": "{"0123456789abcdef" * 2}",\n'
        f'  "public_key": "{"ab" * 32}",\n'
        '  "randomness": null,\n'
        '  "registered": null,\n'
        '  "reports_per_person": 1,\n'
        '  "reveal_after": 0,\n'
        '  "targets": [\n'
        '    "Acme",\n'
        '    "Bravo",\n'
        '    "C\\u00e1f\\u00e9"\n'
        "  ],\n"
        '  "terms": {\n'
        '    "audit": "audit",\n'
        '    "target": "target"\n'
        "  },\n"
        '  "translations": {},\n'
        '  "weights": null,\n'
        '  "yearly_figures_delta": null\n'
        "}\n"
    )


@pytest.mark.parametrize("fields", VARIANTS)
def test_the_figures_written_are_those_promised_rounded_up(fields: dict[str, Any]) -> None:
    parameters = Parameters(**fields)
    shown, exact = stored(parameters)["guarantee"], parameters.guarantee().to_dict()
    assert shown.keys() == exact.keys()
    for name in ("delta", "advantage"):
        assert exact[name] <= shown[name] <= exact[name] * (1 + 1e-8)
    assert (shown["horizon"], shown["reports"]) == (exact["horizon"], exact["reports"])


@pytest.mark.parametrize("fields", VARIANTS)
def test_the_last_bits_of_a_computers_logarithm_do_not_show(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = Parameters(**fields).to_bytes()
    exact = Guarantee.to_dict

    def elsewhere(self: Guarantee) -> dict[str, Any]:
        nudged: dict[str, Any] = _nudged(exact(self))
        return nudged

    monkeypatch.setattr(Guarantee, "to_dict", elsewhere)
    assert Parameters.from_bytes(raw).to_bytes() == raw


def _nudged(value: Any) -> Any:
    """Smaller by four units in the last place."""
    if isinstance(value, dict):
        return {name: _nudged(inner) for name, inner in value.items()}
    return value * (1 - 2.0**-50) if isinstance(value, float) else value


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"format": "deniable-programme/4"}, "must have format deniable-programme/5"),
        ({"extra": 1}, "has an unknown field 'extra'"),
        ({"delta": 1}, "has a value of the wrong type for delta"),
        ({"delta": "0.1"}, "has a value of the wrong type for delta"),
        ({"delta": True}, "has a value of the wrong type for delta"),
        ({"delta": 1.5}, "cannot be used: delta must be above 0 and below 1"),
        ({"delta": float("nan")}, "cannot be used: delta must be above 0 and below 1"),
        ({"audits": True}, "has a value of the wrong type for audits"),
        ({"audits": 1.0}, "has a value of the wrong type for audits"),
        ({"audits": 9}, "cannot be used: audits must be at most the number of targets, 3, got 9"),
        ({"targets": "Acme"}, "has a value of the wrong type for targets"),
        ({"targets": ["Acme", 2]}, "cannot be used: a target's name must have"),
        ({"weights": [1.0, 2.0, "3"]}, "cannot be used: weights must be numbers"),
        ({"weights": [1.0, 2.0, [3.0]]}, "cannot be used: weights must be numbers"),
        ({"weights": [1.0, 2.0, float("inf")]}, "cannot be used: weights must be positive numbers"),
        ({"weights": [1.0, 2.0, 10**400]}, "cannot be used: weights must be positive numbers, and at least one"),
        ({"weights": [1, 2, 3]}, "is not written as deniable writes it"),
        ({"calendar": {}}, "cannot be used: calendar must have the fields"),
        ({"calendar": "weekly"}, "has a value of the wrong type for calendar"),
        ({"guarantee": {}}, "states another guarantee than its parameters give"),
        ({"delta": 0.2}, "cannot be used: calibrated must be what delta comes to"),
        ({"calibrated": 1.4}, "cannot be used: calibrated must be what delta comes to"),
        ({"calibrated": 2}, "cannot be used: calibrated must be what delta comes to"),
        ({"calibrated": 10**400}, "cannot be used: calibrated must be what delta comes to"),
        ({"calibrated": float("nan")}, "cannot be used: calibrated must be what delta comes to"),
        ({"calibrated": float("inf")}, "cannot be used: calibrated must be what delta comes to"),
        ({"targets": ["Acme", "Bravo", "ACME"]}, "cannot be used: each target must have its own name"),
        ({"targets": ["Acme", "Bravo", "Cafe\u0301"]}, "cannot be used: a target's name must be in Unicode NFC"),
        ({"max_gap": 10**400}, "cannot be used: max_gap must be at most"),
        ({"reports_per_person": 2}, "states another guarantee than its parameters give"),
        ({"terms": {"audit": "raid", "target": "target"}}, "cannot be used: the word for an audit must be audit, insp"),
        ({"terms": {"audit": "audit", "target": ["site"]}}, "cannot be used: the word for a target must be target, "),
        ({"terms": {"audit": "audit"}}, "cannot be used: terms must have the fields audit and target"),
        ({"terms": "inspection"}, "has a value of the wrong type for terms"),
        ({"horizon": 10**30, "mechanism": "tca"}, "cannot be used: horizon must be at most"),
    ],
)
def test_changed_fields_are_refused(changed: dict[str, Any], says: str) -> None:
    fields = stored(Parameters(**RACE)) | changed
    with pytest.raises(DeniableError, match=re.escape(f"programme.json {says}")):
        Parameters.from_bytes(written(fields))


@pytest.mark.parametrize("calibrated", [10**400, -(10**400), 0])
def test_a_changed_variance_is_refused(calibrated: int) -> None:
    fields = stored(Parameters(**TCA)) | {"calibrated": calibrated}
    with pytest.raises(DeniableError, match=r"programme\.json cannot be used: calibrated must be what delta comes to"):
        Parameters.from_bytes(written(fields))


def test_every_field_is_needed() -> None:
    fields = stored(Parameters(**RACE))
    for name in fields.keys() - {"format"}:
        with pytest.raises(DeniableError, match=f"programme.json lacks {name}"):
            Parameters.from_bytes(written({other: value for other, value in fields.items() if other != name}))


def test_a_better_promise_is_refused() -> None:
    fields = stored(Parameters(**RACE))
    fields["guarantee"]["advantage"] = 0.01
    with pytest.raises(DeniableError, match="another guarantee"):
        Parameters.from_bytes(written(fields))


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda raw: raw[:-1],
        lambda raw: raw + b"\n",
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.replace(b"  ", b" "),
        lambda raw: json.dumps(json.loads(raw), sort_keys=True).encode(),
        lambda raw: json.dumps(dict(reversed(json.loads(raw).items())), indent=2).encode() + b"\n",
        lambda raw: raw.replace(b'"delta": 0.1,\n  "format"', b'"delta": 1e-1,\n  "format"'),
        lambda raw: raw.replace(b'"audits": 1,', b'"audits": 2,\n  "audits": 1,'),
        lambda raw: raw.replace(b'"reports": 1\n', b'"reports": 1.0\n'),
        lambda raw: raw.replace(b"\\u00fc", b"\\u00FC"),
        lambda raw: raw.replace(b"Acme", b"\\u0041cme"),
    ],
)
def test_bytes_written_otherwise_are_refused(rewrite: Any) -> None:
    raw = Parameters(**RACE).to_bytes()
    assert rewrite(raw) != raw
    with pytest.raises(DeniableError, match=r"programme\.json is not written as deniable writes it"):
        Parameters.from_bytes(rewrite(raw))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff", '{"name": "ü"}'.encode(), b"[" * 500, b"1" * 5000, "{}".encode("utf-16")]
)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(DeniableError, match=r"programme\.json is not JSON as deniable writes it"):
        Parameters.from_bytes(raw)


@given(st.integers(0), st.integers(0, 255))
def test_no_changed_byte_goes_unnoticed(position: int, byte: int) -> None:
    """Another byte is refused, or it is a change of a field, and then the digest is another."""
    parameters = Parameters(**RACE)
    raw = bytearray(parameters.to_bytes())
    raw[position % len(raw)] = byte
    try:
        read = Parameters.from_bytes(bytes(raw))
    except DeniableError:
        return
    assert read.to_bytes() == bytes(raw)
    assert (read.digest == parameters.digest) == (read == parameters)


# What is refused at construction


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (RACE | {"programme": "x"}, "programme must be 32 lower-case hexadecimal digits"),
        (RACE | {"programme": "0123456789ABCDEF" * 2}, "programme must be 32 lower-case hexadecimal digits"),
        (RACE | {"programme": "0123456789abcdef" * 2 + "\n"}, "programme must be 32 lower-case hexadecimal digits"),
        (RACE | {"name": ""}, "the programme's name must not be empty"),
        (RACE | {"targets": ("Acme",)}, "targets must be a list of at least two names"),
        (RACE | {"targets": "Acme"}, "targets must be a list of at least two names"),
        (RACE | {"targets": ("Acme", "Bravo", "Acme")}, "each target must have its own name, but Acme comes twice"),
        (
            RACE | {"targets": ("Straße", "Bravo", "STRASSE")},
            "but Straße and STRASSE differ only in upper and lower case",
        ),
        (RACE | {"name": "Cafe\u0301"}, "name must be in Unicode NFC, with accents composed: 'Caf\\xe9', got"),
        (RACE | {"name": "a\u3164"}, "programme's name must have 1 to 200 printable characters"),
        (RACE | {"mechanism": "greedy"}, "mechanism must be race or tca, got greedy"),
        (RACE | {"delta": 0.0}, "delta must be above 0 and below 1, got 0.0"),
        (RACE | {"horizon": 10}, "horizon is for tca"),
        (TCA | {"horizon": None}, "counter auditing needs a horizon"),
        (TCA | {"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
        (TCA | {"max_gap": 10}, "give either a horizon or a max_gap for tca, got both"),
        (RACE | {"weights": (1.0, 2.0, 10**400)}, "weights must be positive numbers, and at least one of them is too"),
        (RACE | {"reports_per_person": 0}, "reports_per_person must be a whole number of at least 1, got 0"),
        (TCA | {"reports_per_person": 10**400}, "reports_per_person must be at most 10,000"),
        (RACE | {"audits": 0}, "audits must be a whole number of at least 1, got 0"),
        (RACE | {"audits": 4}, "audits must be at most the number of targets, 3, got 4"),
        (RACE | {"max_gap": 0}, "max_gap must be a whole number of at least 1, got 0"),
        (RACE | {"max_gap": 2}, "max_gap must be at least "),
        (RACE | {"cooldown": -1}, "cooldown must be a whole number of at least 0, got -1"),
        (RACE | {"reveal_after": -1}, "reveal_after must be a whole number of at least 0, got -1"),
        (RACE | {"reveal_after": 1.5}, "reveal_after must be a whole number of at least 0, got 1.5"),
        (RACE | {"reveal_after": 1001}, "reveal_after must be at most 1,000 rounds, got 1,001"),
        (TCA | {"reveal_after": 100}, "reveal_after must be less than the horizon, 100,"),
        (RACE | {"weights": (1.0, 2.0)}, "weights must have shape (3,), one for each target, got (2,)"),
        (RACE | {"weights": (1.0, 2.0, 0.0)}, "weights must be positive numbers"),
        (RACE | {"weights": (1.0, 2.0, True)}, "weights must be numbers"),
        (RACE | {"weights": "guess"}, "weights must be numbers, forecast or steady-forecast, got guess"),
        (TCA | {"weights": "forecast"}, "weights are for race"),
        (RACE | {"calendar": CALENDAR.to_dict()}, "calendar must be Calendar, got dict"),
        (RACE | {"terms": {"audit": "audit", "target": "target"}}, "terms must be Terms, got dict"),
        (RACE | {"public_key": "ab" * 31}, "public_key must be 64 lower-case hexadecimal digits"),
        (RACE | {"commitment": None}, "commitment must be 64 lower-case hexadecimal digits"),
        (RACE | {"oversight": "age1"}, "oversight must be an age recipient"),
        (RACE | {"oversight": "AGE-SECRET-KEY-1" + "Q" * 58}, "oversight must be an age recipient"),
    ],
)
def test_bad_parameters(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(DeniableError, match=re.escape(says)):
        Parameters(**fields)


def test_a_secret_key_given_for_oversight_is_not_repeated() -> None:
    with pytest.raises(DeniableError) as caught:
        Parameters(**RACE | {"oversight": "AGE-SECRET-KEY-1" + "Q" * 58})
    assert "AGE-SECRET" not in str(caught.value)


def test_a_max_gap_that_can_just_be_met() -> None:
    assert Parameters(**RACE | {"max_gap": 3}).built().rules.max_gap == 3
    assert Parameters(**RACE | {"max_gap": 2, "audits": 2}).built().rules.max_gap == 2


def test_parameters_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Parameters(**RACE).delta = 0.5  # type: ignore[misc]


@pytest.mark.parametrize("name", ["A", "x" * 200, "Süd & Söhne", "東京", "two words", "'); DROP TABLE", "<b>"])
def test_good_names(name: str) -> None:
    assert check_name("a target's name", name) == name


@pytest.mark.parametrize(
    "name", ["x" * 201, " A", "A ", "a\nb", "a\tb", "a\0b", "\u202eabc", "a\u2028b", "a\u00a0b", "\ud800", 1, None]
)
def test_bad_names(name: object) -> None:
    with pytest.raises(DeniableError, match=r"target's name (must have 1 to|can have at most) 200") as caught:
        check_name("a target's name", name)
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


def test_an_empty_name_is_called_empty() -> None:
    with pytest.raises(DeniableError, match=r"^a target's name must not be empty$"):
        check_name("a target's name", "")


@pytest.mark.parametrize(
    "unseen",
    ["\u3164", "\u2800", "\u115f", "\u1160", "\uffa0", "\u034f", "\u17b4", "\u180b", "\ufe0f", "\u200b", "\u00ad",
     "\U0001d159", "\U000e0100"],
)  # fmt: skip
def test_a_name_has_nothing_that_cannot_be_seen(unseen: str) -> None:
    for name in (unseen, f"a{unseen}b", f"a{unseen}"):
        with pytest.raises(DeniableError, match=r"target's name (must have 1 to|can have at most) 200"):
            check_name("a target's name", name)


# delta_for

advantages = st.floats(1e-4, 0.49)
persons = st.integers(1, 50)


@given(advantages, persons, st.sampled_from(["race", "tca"]))
def test_delta_for_keeps_the_advantage_and_wastes_nothing(advantage: float, reports: int, mechanism: str) -> None:
    delta = delta_for(advantage, reports, mechanism, horizon=20)

    def reached(delta: float) -> float:
        built = Race.calibrate(2, delta) if mechanism == "race" else CounterAuditing.calibrate(2, delta, 20)
        return built.guarantee().for_reports(reports).advantage

    assert reached(delta) <= advantage
    # Negative control: a little more delta is too much.
    assert delta * (1 + 1e-7) >= 1 or reached(delta * (1 + 1e-7)) > advantage


@pytest.mark.parametrize("mechanism", ["race", "tca"])
def test_delta_for_one_report_is_twice_the_advantage(mechanism: str) -> None:
    assert delta_for(0.05, 1, mechanism, 100) == 0.1
    assert delta_for(0.15, 1, mechanism, 100) == 0.3


@pytest.mark.parametrize("mechanism", ["race", "tca"])
def test_delta_for_several_reports_beats_the_union_bound(mechanism: str) -> None:
    assert 0.5 / 5 < delta_for(0.25, 5, mechanism, 100) < 0.5


@pytest.mark.parametrize("mechanism", ["race", "tca"])
@pytest.mark.parametrize("reports", [1, 4])
def test_parameters_with_that_delta_promise_the_advantage(mechanism: str, reports: int) -> None:
    fields = TCA if mechanism == "tca" else RACE
    delta = delta_for(0.05, reports, mechanism, fields.get("horizon"))
    promise = Parameters(**fields | {"delta": delta, "reports_per_person": reports}).guarantee()
    assert 0.05 * (1 - 1e-8) < promise.advantage <= 0.05


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0.0, 1, "race"), "advantage must be above 0 and below 0.5, got 0.0"),
        ((0.5, 1, "race"), "advantage must be above 0 and below 0.5, got 0.5"),
        ((0.05, 0, "tca", 10), "max_reports must be a whole number of at least 1, got 0"),
        ((0.05, 1, "rr"), "mechanism must be race or tca, got rr"),
        ((0.05, 1, "tca"), "counter auditing needs a horizon"),
    ],
)
def test_bad_arguments_of_delta_for(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(DeniableError, match=re.escape(says)):
        delta_for(*arguments)


# Yearly figures

FIGURES = {**RACE, "yearly_figures_delta": 0.02}


def test_yearly_figures_are_added_to_the_promise() -> None:
    alone, both = Parameters(**RACE), Parameters(**FIGURES)
    assert both.guarantee_of_audits() == alone.guarantee()
    assert 0.1199 < both.guarantee().delta <= 0.12
    assert both.guarantee().likelihood_cap == math.inf
    many = Parameters(**FIGURES, reports_per_person=3, classes=tuple(map(parsed, ("minor=1", "serious=2"))))
    assert many.guarantee_of_audits().curve == alone.guarantee().for_reports(6).curve
    assert many.guarantee().delta == pytest.approx(alone.guarantee().for_reports(6).delta + 3 * 0.019997, abs=1e-5)


def test_the_statement_has_both_parts_and_is_recomputed() -> None:
    parameters = Parameters(**FIGURES)
    assert Parameters.from_bytes(parameters.to_bytes()) == parameters
    stated = stored(parameters)["guarantee"]
    assert stated["yearly_figures"]["variance"] == 398
    assert stated["audits"] == stored(Parameters(**RACE))["guarantee"]
    assert stated["delta"] <= stated["audits"]["delta"] + stated["yearly_figures"]["delta"] + 1e-9
    for figure in (b'"delta": 0.119', b'"variance": 398'):
        with pytest.raises(DeniableError, match="another guarantee"):
            Parameters.from_bytes(parameters.to_bytes().replace(figure, figure.replace(b"9", b"8")))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"yearly_figures_delta": 0.0}, "must be at least"),
        ({"yearly_figures_delta": 1.0}, "must be at least"),
        ({"yearly_figures_delta": 0.4, "delta": 0.7}, "leaves nothing for the audits"),
        ({"yearly_figures_delta": 0.02, "reports_per_person": 50}, "leaves nothing for the audits"),
    ],
)
def test_figures_that_leave_nothing(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(DeniableError, match=says):
        Parameters(**(RACE | settings))
