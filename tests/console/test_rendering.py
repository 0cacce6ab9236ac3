"""What each template may show: exactly the declared fields of its page, and for whom there are counts in them.

A field that is not in this list cannot reach a browser; a field that is added must be added here, by somebody who asks
who will see it.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2 import meta, nodes
from tests.console.offices import Browser, Office

from deniable.console import rendering
from deniable.console.app import ErrorPage
from deniable.console.charts import Chart
from deniable.console.pages import (
    account,
    activity,
    api_guide,
    decisions,
    emergencies,
    frozen_round,
    guarantee,
    health,
    hotlines,
    imports,
    invitations,
    login,
    open_round,
    people,
    plan,
    report,
    tokens,
    transcript,
    work_list,
)
from deniable.console.pages.common import Bar

FRAME = {"who", "role", "navigation", "programme", "csrf", "demo"}

ROUND = {"round", "due", "overdue", "ended", "targets", "may_close", "may_decide", "may_report", "waiting",
         "value_is_out", "not_public"}  # fmt: skip
EMERGENCIES = {"classes", "asked", "others", "hours", "ended", "done", "error"}
PREVIEW = {"pending", "kind", "source", "round", "minutes", "megabytes", "paused", "is_large", "set_aside", "visits"}

SHOWN: dict[str, tuple[type, set[str]]] = {
    "account.html": (account.AccountPage, {"name", "role", "done", "error"}),
    "activity.html": (activity.ActivityPage, {"auditors", "rows", "only_people", "older", "newer"}),
    "api.html": (api_guide.ApiPage, {"operations", "document"}),
    "close.html": (open_round.ClosePage, {"round", "is_drawn", "audits", "public_value", "late", "reason", "error"}),
    "closed.html": (
        open_round.ClosedPage,
        {"round", "audits", "already", "next_round", "next_due", "overdue", "secret", "waiting", "has_values"},
    ),
    "decision.html": (
        decisions.DecisionPage,
        {"kind", "title", "lead", "button", "round", "targets", "audits", "is_long", "found", "chosen", "added",
         "new_name", "reason", "independent", "consequence", "error"},
    ),
    "emergencies.html": (emergencies.EmergenciesPage, EMERGENCIES),
    "emergencies_waiting.html": (emergencies.WaitingEmergenciesPage, EMERGENCIES | {"waiting"}),
    "error.html": (ErrorPage, {"status", "heading", "sentence"}),
    "frozen.html": (
        frozen_round.FrozenPage,
        {"waiting", "source", "is_published", "is_out", "address", "throws", "differ", "has_entered", "entered_by",
         "numbers", "place", "time", "zone", "may_without", "asked_by", "asked_by_self", "asked_reason", "reason",
         "others", "done", "error"},
    ),
    "guarantee.html": (guarantee.GuaranteePage, {"name", "promise", "coverage", "lapsed", "waits"}),
    "health.html": (health.HealthPage, {"checks", "wrong", "may_back_up", "error"}),
    "hotlines.html": (hotlines.HotlinesPage, {"hotlines", "people", "typed_name", "done", "error"}),
    "import.html": (
        imports.ImportPage,
        {"kinds", "kind", "sources", "source", "mapped", "megabytes", "paused", "may_resume", "reason", "done",
         "error", "classes", "class_column"},
    ),
    "import_preview.html": (imports.PreviewPage, PREVIEW),
    "import_preview_counts.html": (
        imports.CountedPreviewPage,
        PREVIEW | {"new", "others", "n_set_aside", "left_out", "by_class", "counts"},
    ),
    "invitation.html": (
        invitations.InvitationPage,
        {"name", "role", "is_first", "joins", "qr", "uri", "secret", "typed_name", "error"},
    ),
    "login.html": (login.LoginPage, {"done", "error", "demo"}),
    "people.html": (
        people.PeoplePage,
        {"people", "self_id", "lacks_auditor", "roles", "link", "typed_name", "typed_role", "error"},
    ),
    "plan.html": (plan.PlanPage, {"form", "zones", "preview", "shown", "error"}),
    "planned.html": (
        plan.PlannedPage,
        {"name", "begun", "promise", "first", "first_is_past", "facts", "charts", "notes"},
    ),
    "report.html": (
        report.ReportPage,
        {"round", "due", "ended", "targets", "found", "is_long", "most", "classes", "visits", "may_withdraw",
         "form_id", "receipt", "done", "error", "error_at"},
    ),
    "round.html": (open_round.RoundPage, ROUND),
    "round_counts.html": (
        open_round.CountedRoundPage,
        ROUND | {"counts", "found", "has_classes", "most_counted", "visit_waits"},
    ),
    "tokens.html": (tokens.TokensPage, {"tokens", "new", "typed_name", "error"}),
    "transcript.html": (
        transcript.TranscriptPage,
        {"entries", "published", "folder", "proposed", "holds_from", "has_emergencies", "verified", "hidden", "events",
         "found", "head", "may_publish", "done", "error"},
    ),
    "work_list.html": (work_list.WorkListPage, {"audits", "total", "found", "today", "done", "error"}),
}  # fmt: skip

CONFIDENTIAL = {"round_counts.html", "import_preview_counts.html"}
SHARED = ("base.html", "parts.html")
TEMPLATES = Path(rendering.__file__).parent / "templates"


def fields(kind: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def test_every_template_is_listed() -> None:
    assert {path.name for path in TEMPLATES.iterdir()} == SHOWN.keys() | set(SHARED)


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_has_exactly_these_fields_and_is_frozen(name: str) -> None:
    kind, declared = SHOWN[name]
    assert fields(kind) == declared
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_the_frame_has_exactly_these_fields() -> None:
    assert fields(rendering.Frame) == FRAME


@pytest.mark.parametrize("name", [*SHOWN, *SHARED])
def test_a_template_uses_its_page_and_the_frame_alone(name: str) -> None:
    tree = rendering._templates().parse((TEMPLATES / name).read_text())
    assert meta.find_undeclared_variables(tree) <= {
        "page",
        "frame",
        "parts",
        "target",
        "targets",
    }  # of which three are macros
    assert _used(tree, "frame") <= FRAME
    if name in SHOWN:
        assert _used(tree, "page") <= SHOWN[name][1]


@pytest.mark.parametrize("name", SHOWN)
def test_no_template_marks_text_as_safe(name: str) -> None:
    source = (TEMPLATES / name).read_text()
    assert "|safe" not in source
    assert "autoescape" not in source
    assert " style=" not in source
    assert "<script" not in source


def _used(tree: nodes.Template, name: str) -> set[str]:
    return {
        found.attr
        for found in tree.find_all(nodes.Getattr)
        if isinstance(found.node, nodes.Name) and found.node.name == name
    }


@pytest.mark.parametrize("name", sorted(SHOWN.keys() - CONFIDENTIAL))
def test_only_confidential_pages_can_hold_a_count(name: str) -> None:
    assert Bar not in set(_types(SHOWN[name][0]))


@pytest.mark.parametrize("name", sorted(CONFIDENTIAL))
def test_the_check_finds_a_count_where_there_is_one(name: str) -> None:
    assert Bar in set(_types(SHOWN[name][0]))


def _types(kind: Any) -> Iterator[Any]:
    """The type itself, and those of everything in it."""
    yield kind
    for inner in getattr(kind, "__args__", ()):
        yield from _types(inner)
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            yield from _types(field.type)


GETS = {
    "Ada": ("/people", "/hotlines", "/tokens", "/api", "/health", "/activity", "/guarantee", "/account"),
    "Otto": ("/round", "/round/close", "/round/decisions/skip", "/transcript", "/guarantee", "/health", "/account"),
    "Ida": ("/report", "/import", "/account"),
    "Anna": ("/round", "/report", "/import", "/plan", "/transcript", "/guarantee", "/health", "/activity", "/account"),
}


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Every template that is rendered, with what it was given."""
    seen: list[tuple[str, dict[str, Any]]] = []
    original = jinja2.Template.render

    def spy(self: jinja2.Template, *args: Any, **context: Any) -> str:
        assert not args
        seen.append((str(self.name), context))
        return original(self, **context)

    monkeypatch.setattr(jinja2.Template, "render", spy)
    return seen


def test_a_template_is_given_its_page_and_the_frame(office: Office, rendered: list[tuple[str, dict[str, Any]]]) -> None:
    programme = office.begin()
    programme.report({"Ash Mill": 31_337})
    office.clock.tomorrow()
    for name, paths in GETS.items():
        browser = office.browser(name)
        for path in paths:
            assert browser.get(path).status_code == 200, path
    preview(office.browser("Ida"))
    preview(office.browser("Anna"))
    for name, context in rendered:
        assert context.keys() == {"page", "frame"}
        assert type(context["page"]) is SHOWN[name][0]
        role = context["frame"].role
        if role != "auditor":
            assert name not in CONFIDENTIAL
            assert not any(isinstance(value, Bar) for value in _values(context["page"]))
            assert 31_337 not in set(_values(context["page"]))
    assert {name for name, _ in rendered} >= CONFIDENTIAL
    counted = next(context["page"] for name, context in rendered if name == "round_counts.html")
    assert 31_337 in set(_values(counted))  # the check above can fail


def preview(browser: Browser) -> None:
    data = {"kind": "csv", "source": "hotline", "mapped": "names"}
    assert browser.post("/import", data, files={"file": ("a.csv", b"id,channel\n1,Ash Mill\n")}).status_code == 200


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, Chart):
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in dataclasses.fields(value):
            yield from _values(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _values(inner)
    else:
        yield value
