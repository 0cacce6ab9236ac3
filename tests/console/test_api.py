"""The JSON API: what it takes, what it refuses, and that its answers say nothing about the counts."""

import itertools
import json
import warnings
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.console.offices import CLASSES, Browser, Office, recovered
from tests.programme.frozen_offices import DICE
from tests.programme.offices import TARGETS

from deniable.console.accounts import tokens
from deniable.console.api import LONGEST_ID
from deniable.errors import MAX_REPORTS
from deniable.programme import intake, ticker
from deniable.programme.ticker import Ticker
from deniable.programme.transaction import SEED
from deniable.storage import tables

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.core.result import Ok
    from schemathesis.generation import GenerationMode

_numbers = itertools.count()
PUSH, STATUS = "/api/v1/reports", "/api/v1/status"


def token(office: Office, *scopes: str) -> dict[str, str]:
    """The header of a new token."""
    with office.console.store.writing() as connection:
        key = office.console.key
        secret = tokens.make(connection, key, f"machine {len(tokens.listed(connection, key))}", scopes)
    return {"Authorization": f"Bearer {secret}"}


def push(browser: Browser, headers: dict[str, str], document: Any) -> Any:
    """Under an id of its own where the document is one that lacks nothing else."""
    if isinstance(document, dict) and "reports" in document:
        document = {"id": f"push {next(_numbers)}", **document}
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return browser.client.post(PUSH, content=body, headers=headers)


def test_counts_are_pushed(office: Office) -> None:
    programme = office.begin()
    headers, machine = token(office, "reports"), office.browser()
    answer = push(machine, headers, {"reports": {"Ash Mill": 3, "Cedar Bank": 1}})
    assert (answer.status_code, answer.json()) == (200, {"counted": True, "left_out": []})
    assert push(machine, headers, {"reports": {"Ash Mill": 1}}).status_code == 200
    counts = programme.active_counts()
    assert (counts["Ash Mill"], counts["Cedar Bank"], sum(counts.values())) == (4, 1, 5)


def test_a_push_that_is_sent_again_counts_once(office: Office) -> None:
    """Its answer may have got lost. Whatever comes under an id that is known counts nothing."""
    programme = office.begin()
    headers, machine = token(office, "reports"), office.browser()
    first, *others = (
        push(machine, headers, {"id": "7", "reports": {"Ash Mill": number}}) for number in (3, 3, 3, MAX_REPORTS)
    )
    assert all((one.status_code, one.content) == (200, first.content) for one in others)
    assert programme.active_counts()["Ash Mill"] == 3
    office.clock.tomorrow()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.close_round(1)
    push(machine, headers, {"id": "7", "reports": {"Birch Works": 5}})
    assert sum(programme.active_counts().values()) == 0


def test_two_machines_may_choose_the_same_id(office: Office) -> None:
    """Otherwise one of them could find out from the audits what the other pushed, or silence it."""
    programme, machine = office.begin(), office.browser()
    for headers in (token(office, "reports"), token(office, "reports")):
        push(machine, headers, {"id": "7", "reports": {"Ash Mill": 1}})
    assert programme.active_counts()["Ash Mill"] == 2


@pytest.mark.parametrize("id_", ["a", " ", "~", "a" * LONGEST_ID, "2026-03-02/17"])
def test_ids(office: Office, id_: str) -> None:
    programme = office.begin()
    push(office.browser(), token(office, "reports"), {"id": id_, "reports": {"Ash Mill": 1}})
    assert programme.active_counts()["Ash Mill"] == 1


def test_a_report_about_a_target_that_does_not_take_part_holds_nothing_back(office: Office) -> None:
    programme = office.begin()
    headers, machine = token(office, "reports"), office.browser()
    answer = push(machine, headers, {"reports": {"Nowhere": 1, "Ash Mill": 2, "": 1}})
    assert (answer.status_code, answer.json()) == (200, {"counted": True, "left_out": ["Nowhere", ""]})
    assert programme.active_counts()["Ash Mill"] == 2


def test_after_the_last_round_a_push_counts_only_if_its_class_leads_to_a_visit(office: Office) -> None:
    """Whatever is in it."""
    programme = office.begin(mechanism="tca", horizon=1, classes=CLASSES, randomness=DICE)
    headers, machine, names = token(office, "reports"), office.browser(), [one.name for one in CLASSES]

    def told(reports: dict[str, int]) -> dict[str, bool]:
        answers = (push(machine, headers, {"reports": reports, "class": name}) for name in names)
        return {name: answer.json()["counted"] for name, answer in zip(names, answers, strict=True)}

    leads_to_visit = {one.name: one.leads_to_visit for one in CLASSES}
    assert {*leads_to_visit.values()} == {False, True}
    for reports in ({}, {"Ash Mill": 1}):
        assert told(reports) == dict.fromkeys(names, True)
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    assert programme.status().waiting is not None
    for reports in ({}, {"Ash Mill": 1}, {"Nowhere": 1}):
        assert told(reports) == leads_to_visit


def test_while_imports_are_paused_a_push_is_known_and_does_not_count(office: Office) -> None:
    programme = recovered(office)
    headers, machine = token(office, "reports", "status"), office.browser()
    answer = push(machine, headers, {"id": "7", "reports": {"Ash Mill": 1}})
    assert (answer.status_code, answer.json()) == (200, {"counted": False, "left_out": []})
    assert machine.get(STATUS, headers=headers).json()["paused"] is True
    programme.resume_imports("All hotlines were brought once.")
    for id_ in ("7", "8"):
        assert push(machine, headers, {"id": id_, "reports": {"Ash Mill": 1}}).json()["counted"] is True
    assert programme.active_counts()["Ash Mill"] == 1


def test_the_status_is_read(office: Office) -> None:
    programme = office.begin()
    programme.report({"Ash Mill": 7})
    answer = office.browser().get(STATUS, headers=token(office, "status"))
    assert answer.json() == {
        "programme": "Site visits",
        "round": 1,
        "due": "2026-01-06T00:00:00+00:00",
        "overdue": 0,
        "entries": 0,
        "published": 0,
        "targets": list(TARGETS),
        "classes": {"report": 1},
        "paused": False,
        "ended": False,
    }


@pytest.mark.parametrize(
    ("scopes", "pushes", "reads"),
    [(("reports",), 200, 403), (("status",), 403, 200), (("reports", "status"), 200, 200)],
)
def test_a_token_is_for_what_it_is_for(office: Office, scopes: tuple[str, ...], pushes: int, reads: int) -> None:
    office.begin()
    headers, machine = token(office, *scopes), office.browser()
    assert push(machine, headers, {"reports": {"Ash Mill": 1}}).status_code == pushes
    assert machine.get(STATUS, headers=headers).status_code == reads


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer ", "Bearer x", "Basic eDp4", "Bearer \xff", "deniable-x"]
)
def test_without_a_token(office: Office, given: str | None) -> None:
    office.begin()
    machine = office.browser()
    headers: Any = {} if given is None else {"Authorization": given.encode("latin-1")}
    for answer in (push(machine, headers, {"reports": {"Ash Mill": 1}}), machine.get(STATUS, headers=headers)):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json().keys() == {"error"}


def test_without_a_token_the_body_is_not_looked_at(office: Office) -> None:
    assert push(office.browser(), {}, b"no JSON").status_code == 401


def test_a_session_is_no_token(office: Office) -> None:
    """Otherwise another site could make a browser push."""
    office.begin()
    anna = office.browser("Anna")
    assert push(anna, {}, {"reports": {"Ash Mill": 1}}).status_code == 401
    assert anna.get(STATUS).status_code == 401


def test_a_revoked_token(office: Office) -> None:
    office.begin()
    headers, machine = token(office, "status"), office.browser()
    assert machine.get(STATUS, headers=headers).status_code == 200
    with office.console.store.writing() as connection:
        tokens.revoke(connection, tokens.listed(connection, office.console.key)[0].id)
    assert machine.get(STATUS, headers=headers).status_code == 401


def test_a_token_opens_no_page(office: Office) -> None:
    office.begin()
    headers = token(office, "reports", "status")
    for path in ("/people", "/round", "/health"):
        assert office.browser().get(path, headers=headers).headers["location"].startswith("/login")


def test_without_a_programme_or_after_its_end(office: Office) -> None:
    headers, machine = token(office, "reports", "status"), office.browser()
    assert push(machine, headers, {"reports": {"Ash Mill": 1}}).status_code == 409
    assert machine.get(STATUS, headers=headers).status_code == 409
    office.begin().end("The pilot is over.")
    assert push(machine, headers, {"reports": {"Ash Mill": 1}}).status_code == 409
    assert machine.get(STATUS, headers=headers).json()["ended"] is True


DEEP = b'{"reports":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BAD = {
    "nothing": b"",
    "no JSON": b"reports=1",
    "cut off": b'{"reports": {"Ash Mill": 1',
    "two ids": b'{"id": "a", "id": "b", "reports": {"Ash Mill": 1}}',
    "no text": b'\xff\xfe{"reports"',
    "deep": DEEP,
    "no id": b'{"reports": {"Ash Mill": 1}}',
}
WRONG: list[Any] = [
    None, [], 1, "reports", {}, {"reports": None}, {"reports": []}, {"reports": {"Ash Mill": 1}, "more": 1},
    *({"id": id_, "reports": {"Ash Mill": 1}} for id_ in ("", "a" * (LONGEST_ID + 1), "ä", "a\n", "\ud800", 1, None)),
]  # fmt: skip


@pytest.mark.parametrize("body", [*BAD.values(), *WRONG], ids=[*BAD, *map(ascii, WRONG)])
def test_what_is_refused_counts_nothing(office: Office, body: Any) -> None:
    programme = office.begin()
    answer = push(office.browser(), token(office, "reports"), body)
    assert answer.status_code in {400, 422}
    assert answer.json().keys() == {"error"}
    assert not any(programme.active_counts().values())


LEFT_OUT = ["0", "-1", "1.0", "true", '"1"', "null", "NaN", "[]", '{"Ash Mill": 1}', "-" + "9" * 10_000]


@pytest.mark.parametrize("number", LEFT_OUT, ids=lambda number: number[:20])
def test_a_number_that_is_not_valid_holds_back_no_other(office: Office, number: str) -> None:
    programme = office.begin()
    body = f'{{"id": "a", "reports": {{"Birch Works": {number}, "Ash Mill": 2}}}}'
    answer = push(office.browser(), token(office, "reports"), body.encode())
    assert (answer.status_code, answer.json()) == (200, {"counted": True, "left_out": ["Birch Works"]})
    assert {name: count for name, count in programme.active_counts().items() if count} == {"Ash Mill": 2}


@pytest.mark.parametrize(("name", "shown"), [("\x00", "\\x00"), ("\ud800", "\\ud800"), ("", "")])
def test_a_name_that_cannot_be_printed_holds_back_no_other(office: Office, name: str, shown: str) -> None:
    programme = office.begin()
    answer = push(office.browser(), token(office, "reports"), {"reports": {"Ash Mill": 1, name: 1}})
    assert (answer.status_code, answer.json()["left_out"]) == (200, [shown])
    assert programme.active_counts()["Ash Mill"] == 1


@pytest.mark.parametrize(
    ("reports", "counted"),
    [
        ('"Ash Mill": 1, "Ash Mill": 2', 3),
        (f'"Ash Mill": {MAX_REPORTS}, "Ash Mill": 2', MAX_REPORTS),
        (f'"Ash Mill": {"9" * 10_000}', MAX_REPORTS),
        ("", 0),
    ],
    ids=["twice", "too many", "many digits", "nothing"],
)
def test_what_comes_twice_is_added_and_held_at_the_limit(office: Office, reports: str, counted: int) -> None:
    programme = office.begin()
    body = f'{{"id": "a", "reports": {{{reports}}}}}'.encode()
    assert push(office.browser(), token(office, "reports"), body).status_code == 200
    assert programme.active_counts()["Ash Mill"] == counted


def test_a_restored_database_is_not_the_senders_fault(office: Office) -> None:
    programme = office.begin()
    headers, machine = token(office, "reports"), office.browser()
    with programme._access.store.writing() as connection:
        connection.execute(sa.delete(tables.secrets).where(tables.secrets.c.name == SEED))
    answer = push(machine, headers, {"reports": {"Ash Mill": 1}})
    assert answer.status_code == 503
    assert "restored from a backup" in answer.json()["error"]


def test_large_bodies_are_refused(office: Office) -> None:
    office.begin()
    headers, machine = token(office, "reports"), office.browser()
    chunk = b" " * 65_536
    assert push(machine, headers, b" " * (1024 * 1024 + 1)).status_code == 413
    assert machine.client.post(PUSH, content=(chunk for _ in range(17)), headers=headers).status_code == 413
    absurd = {**headers, "Content-Length": "9" * 30}
    assert machine.client.post(PUSH, content=b"", headers=absurd).status_code == 413


def test_answers_and_statements_are_the_same_whatever_the_counts(office: Office) -> None:
    """The same push twice, once on a small tally and once on a large one: same bytes, same headers, same SQL."""
    programme = office.begin()
    headers, machine = token(office, "reports", "status"), office.browser()
    statements: list[str] = []
    sa.event.listen(office.console.store._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))

    def seen(count: int) -> tuple[Any, ...]:
        statements.clear()
        answers = [push(machine, headers, {"reports": {"Ash Mill": count}}), machine.get(STATUS, headers=headers)]
        return (*[(one.status_code, one.content, tuple(one.headers.items())) for one in answers], tuple(statements))

    seen(1)  # from now on the programme is known
    first = seen(1)
    programme.report(dict.fromkeys(TARGETS, 1000))
    assert len(first[-1]) > 3
    assert seen(MAX_REPORTS) == first


def test_a_token_of_which_too_much_waits_is_told_to_come_again(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """And counts once it does: nothing of what was refused is known."""
    programme = office.begin()
    headers, machine, sent = token(office, "reports"), office.browser(), {"id": "one", "reports": {"Ash Mill": 3}}
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=0.01))
    office.console.start()
    with monkeypatch.context() as full:
        full.setattr(ticker, "MOST_WAITING", 0)
        answer = push(machine, headers, sent)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
        assert answer.json()["error"].startswith("Too much that this token sent before")
    assert push(machine, headers, sent).status_code == 200
    assert programme.active_counts()["Ash Mill"] == 3
    office.console.close()


@pytest.mark.parametrize("is_revoked", [True, False])
def test_what_waits_of_a_revoked_token_does_not_count(
    office: Office, monkeypatch: pytest.MonkeyPatch, is_revoked: bool
) -> None:
    office.begin()
    token(office, "reports")
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=1e6))
    office.console.start()
    programme = office.console.programme()
    assert programme is not None
    now = programme._intake._ticker
    assert now is not None
    with office.console.store.writing() as connection:
        (one,) = tokens.listed(connection, office.console.key)
        if is_revoked:
            tokens.revoke(connection, one.id)
    monkeypatch.setattr(now, "_of_token", 1)
    written = [programme.bring_push(one.id, str(number), {"Ash Mill": 1})[1] for number in range(3)]
    for _ in range(4):
        now._tick()
    assert [wait.exception() is None for wait in written] == [True, *[not is_revoked] * 2]
    assert programme.active_counts()["Ash Mill"] == (1 if is_revoked else 3)
    office.console.close()


def test_the_document_describes_the_api_and_nothing_else(office: Office) -> None:
    document = office.browser().get("/api/v1/openapi.json").json()
    assert document["paths"].keys() == {PUSH, STATUS}
    assert document["components"]["schemas"].keys() == {"Pushed", "ProgrammeStatus", "Refusal"}
    for path, method in ((PUSH, "post"), (STATUS, "get")):
        described = document["paths"][path][method]
        assert described["description"]
        assert {"200", "401", "403", "409", "503"} <= described["responses"].keys()
    assert office.browser("Ada").get("/api").text.count("Authorization: Bearer") == 3


def _examples(office: Office, mode: Any, wanted: dict[str, str]) -> set[int]:
    """Requests made up from the API's own description; returns the statuses they got."""
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", office.app)
    statuses: set[int] = set()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=15,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def sent(case: Any) -> None:
            case.headers = {**(case.headers or {}), **wanted}
            response = case.call()
            statuses.add(response.status_code)
            assert response.status_code < 500
            if response.status_code != 404:
                json.loads(response.content)

        sent()
    return statuses


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_whatever_is_sent_is_answered(office: Office, mode: Any) -> None:
    """Neither a well-formed request nor a broken one is a bug."""
    office.begin()
    statuses = _examples(office, mode, token(office, "reports", "status"))
    assert statuses & {200, 422}


@given(body=st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
    lambda value: json.dumps({"id": "a", "reports": value}).encode()))  # fmt: skip
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_answered(office: Office, body: bytes) -> None:
    if office.console.programme() is None:
        office.begin()
        office.people["headers"] = token(office, "reports")  # type: ignore[assignment]
    answer = push(office.browser(), office.people["headers"], body)  # type: ignore[arg-type]
    assert answer.status_code in {400, 422}


def test_a_push_names_a_class_where_there_are_several(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    headers, machine = token(office, "reports", "status"), office.browser()
    answers = [push(machine, headers, {"class": one, "reports": {"Ash Mill": 1}}) for one in ("serious", "danger")]
    assert {(one.status_code, one.content) for one in answers} == {(200, b'{"counted":true,"left_out":[]}')}
    assert programme.active_counts()["Ash Mill"] == 3
    assert programme.waiting_visits() == [("Ash Mill", "danger")]
    for wrong in ({}, {"class": None}, {"class": "none"}, {"class": "Serious"}, {"class": ""}):
        refused = push(machine, headers, {"reports": {"Ash Mill": 1}, **wrong})
        assert refused.status_code == 422
        assert refused.json() == {"error": "The class must be one of: minor, serious, danger."}
    for other in ({"class": 1}, {"class": ["minor"]}, {"class": "minor", "more": 1}):
        document = {"reports": {"Ash Mill": 1}} | other
        assert "The body must be" in push(machine, headers, document).json()["error"]
    twice = b'{"id": "9", "reports": {"Ash Mill": 1}, "class": "minor", "class": "minor"}'
    assert push(machine, headers, twice).status_code == 422
    assert programme.active_counts()["Ash Mill"] == 3
    known = machine.client.get(STATUS, headers=headers).json()
    assert known["classes"] == {"minor": 1, "serious": 3, "danger": "visit"}
    assert "&#34;class&#34;: &#34;minor&#34;" in office.browser("Ada").get("/api").text


def test_where_there_is_one_class_a_push_need_not_name_it(office: Office) -> None:
    programme = office.begin()
    headers, machine = token(office, "reports"), office.browser()
    for right in ({}, {"class": None}, {"class": "report"}):
        assert push(machine, headers, {"reports": {"Ash Mill": 1}, **right}).status_code == 200
    assert push(machine, headers, {"class": "minor", "reports": {"Ash Mill": 1}}).status_code == 422
    assert "&#34;class&#34;" not in office.browser("Ada").get("/api").text
    assert programme.active_counts()["Ash Mill"] == 3
