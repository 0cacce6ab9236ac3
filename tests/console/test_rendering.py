"""What each template may show: exactly the declared fields of its page, and for whom there are counts in them.

A field that is not in this list cannot reach a browser; a field that is added must be added here, by somebody who asks
who will see it.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2 import meta, nodes
from tests.console.offices import Browser, Office

from deniable.console import rendering
from deniable.console.charts import Chart
from deniable.console.pages import (
    account,
    activity,
    api_guide,
    channels,
    closed_round,
    decisions,
    emergencies,
    frozen_round,
    guarantee,
    handbook,
    health,
    hotlines,
    import_page,
    import_preview,
    invitations,
    login,
    office_details,
    open_round,
    pending_decisions,
    people,
    plan,
    plan_check,
    report,
    round_counts,
    tokens,
    transcript,
    work_list,
)
from deniable.console.refusals import ErrorPage
from deniable.languages.language import Terms

FRAME = {"who", "role", "navigation", "programme", "csrf", "demo", "help", "again", "today", "languages"}

PREVIEW = {
    "pending", "kind", "source", "file", "round", "has_open_round", "minutes", "megabytes", "paused", "is_large",
    "choices", "new_channels", "has_channel_ids", "without_class", "is_nothing_saved",
    "hidden_channels", "new_values", "hidden_values", "chosen_again", "malformed", "more_malformed", "visits",
    "is_complete", "error", "assigned", "assigned_values", "auditors", "sees_emergencies",
}  # fmt: skip
ROUND = {"is_stopped", "has_open_round", "has_values", "publish_first", "entered_by", "round", "due", "overdue",
         "ended", "notices", "targets", "is_late", "may_report", "waiting", "value_is_out",
         "not_public", "to_visit", "n_to_visit", "visits", "has_own_visit", "decisions", "has_own_decision",
         "refused_by", "unpublished", "is_published", "is_loss_hidden", "drawn_last", "visit_first"}  # fmt: skip
EMERGENCIES = {"classes", "asked", "others", "away", "hours", "round", "due", "has_open_round", "is_overdue", "ended",
               "done", "error"}  # fmt: skip

SHOWN: dict[str, tuple[type, set[str]]] = {
    "account.html": (account.AccountPage, {"name", "role", "is_code_left", "done", "error"}),
    "activity.html": (activity.ActivityPage, {"auditors", "may_count", "days", "only_people", "names", "who", "found"}),
    "api.html": (api_guide.ApiPage, {"operations", "document"}),
    "channels.html": (
        channels.ChannelsPage,
        {"source", "choices", "rows", "values", "empty_lines", "start", "earlier", "later", "done", "error",
         "file_error", "without_class"},
    ),
    "close.html": (
        open_round.ClosePage,
        {"value_at", "revealed", "effect", "round", "is_drawn", "audits", "public_value", "is_foreseeable",
         "has_visits", "visits", "decisions", "late", "reason", "wrong",
         "error"},
    ),
    "closed.html": (
        closed_round.ClosedPage,
        {"visits_are_public", "to_publish", "round", "audits", "visits", "earlier_visits", "other_visits", "already",
         "next_round", "next_due", "has_open_round", "overdue", "secret",
         "waiting", "has_values", "value_is_out"},
    ),
    "decision.html": (
        decisions.DecisionPage,
        {"damage", "kind", "title", "lead", "round", "due", "until", "looked", "unaware", "targets", "audits",
         "had_any",
         "is_long", "found", "chosen", "added", "new_name", "reason", "independent", "error", "has_own"},
    ),
    "decision_confirm.html": (decisions.ConfirmPage, {"looked", "kind", "would", "typed", "needs_two", "others",
                                                      "is_changed"}),
    "disable.html": (people.DisablePage, {"id", "name", "role", "is_self", "is_last", "decides_alone", "hotlines"}),
    "emergencies.html": (emergencies.EmergenciesPage, EMERGENCIES),
    "emergencies_waiting.html": (emergencies.WaitingEmergenciesPage, EMERGENCIES | {"waiting"}),
    "error.html": (ErrorPage, {"status", "heading", "sentence", "help", "home", "form"}),
    "frozen.html": (
        frozen_round.FrozenPage,
        {"is_drands_own", "waiting", "source", "is_published", "is_out", "address", "throws", "differ", "times_differ",
         "has_entered", "entered_by", "numbers", "place", "time", "zone", "may_without", "asked_by", "asked_by_self",
         "asked_reason", "reason", "others", "done", "error", "wrong_numbers", "next_step"},
    ),
    "guarantee.html": (
        guarantee.GuaranteePage,
        {"name", "promise", "lapse_reason", "no_reason", "was_due", "ended", "waiting", "open_round", "is_outdated",
         "is_behind", "is_damaged"},
    ),
    "health.html": (
        health.HealthPage,
        {"attention", "good", "notices", "may_back_up", "administrators", "deciders", "helpers", "ended", "error"},
    ),
    "help.html": (handbook.HelpPage, {"title", "parts", "html", "others"}),
    "hotline_confirm.html": (hotlines.NewHotlinePage, {"name", "person", "by"}),
    "hotlines.html": (
        hotlines.HotlinesPage,
        {"hotlines", "people", "invited", "person", "typed_name", "done", "add_error", "hand_over_error"},
    ),
    "import.html": (
        import_page.ImportPage,
        {"ended", "was_stopped_at_last_tick", "kinds", "kind", "sources", "source", "has_classes", "megabytes",
         "recent", "paused", "may_resume", "reason", "done", "imported", "final_at", "error", "administrators",
         "brings_all", "auditors",
         "expected_columns", "other_columns", "example",
         "shows_files"},
    ),
    "import_preview.html": (import_preview.PreviewPage, PREVIEW),
    "import_preview_counts.html": (
        import_preview.CountedPreviewPage,
        PREVIEW
        | {"new", "by_target", "more_targets", "others", "unassigned", "unreadable", "left_out", "by_class", "lines",
           "more_lines"},
    ),
    "invitation.html": (
        invitations.InvitationPage,
        {"name", "role", "is_first", "joins", "until", "here", "qr", "uri", "secret", "typed_name", "mistakes",
         "wrong"},
    ),
    "office_details.html": (
        office_details.OfficeDetailsPage,
        {"today", "contact", "hotline", "is_independent", "error"},
    ),
    "login.html": (login.LoginPage, {"name", "done", "error", "demo", "kept", "over", "is_lost", "to"}),
    "office_details_confirm.html": (
        office_details.ConfirmDetailsPage,
        {"contact", "hotline", "round", "deed", "effect"},
    ),
    "pending_decisions.html": (
        pending_decisions.PendingPage,
        {"shows_names", "requests", "others", "away", "looked", "hours", "done", "error"},
    ),
    "people.html": (
        people.PeoplePage,
        {"people", "links", "self_id", "lacks_auditor", "lacks_people", "lacks_hotline", "roles", "link", "done",
         "typed_name", "typed_role", "error"},
    ),
    "plan.html": (
        plan.PlanPage,
        {"form", "zones", "preview", "wrong", "more", "audit_terms", "target_terms", "languages"},
    ),
    "plan_check.html": (
        plan_check.CheckPage,
        {"name", "targets", "promise", "measures", "warnings", "facts", "expert_facts", "first", "overdue",
         "not_chosen", "command", "typed", "shown", "error"},
    ),
    "planned.html": (
        plan.PlannedPage,
        {"name", "begun", "notices", "promise", "first", "first_is_past", "facts", "expert_facts", "explained",
         "is_published", "ended", "administrators", "missing", "has_key_file", "began_with", "lost_before",
         "lost_because"},
    ),
    "remove.html": (people.RemovePage, {"id", "name", "role", "altered", "hotlines"}),
    "report.html": (
        report.ReportPage,
        {"round", "due", "has_open_round", "is_overdue", "ended", "notices", "targets", "found", "is_long", "most",
         "classes", "visits", "may_withdraw", "auditors", "form_id", "entered", "target", "receipt", "most_counted",
         "error", "error_at", "taken_back", "typed", "was_stopped_at_last_tick"},
    ),
    "reset.html": (people.ResetPage, {"id", "name", "role", "is_self"}),
    "revoke.html": (tokens.RevokePage, {"id", "name"}),
    "round.html": (open_round.RoundPage, ROUND),
    "round_auditor.html": (open_round.AuditorRoundPage, ROUND | {"visit_waits", "visit_refused_by"}),
    "round_counts.html": (
        round_counts.CountsPage,
        {"round", "has_open_round", "targets", "counts", "found", "classes", "most_counted", "is_frozen"},
    ),
    "tokens.html": (tokens.TokensPage, {"tokens", "new", "typed_name", "revoked", "error"}),
    "transcript.html": (
        transcript.TranscriptPage,
        {"ended", "is_stopped", "visits_to_publish", "names_to_publish", "revealed", "entries", "published", "folder",
         "proposed", "lost_before", "is_loss_hidden", "has_emergencies", "verified",
         "public_page", "hidden", "events", "places", "unpublished", "helpers", "found", "unselected",
         "has_more_targets", "hides_names", "head", "may_publish", "sends_first", "is_new", "done", "error"},
    ),
    "waiting.html": (login.WaitingPage, {"may_report"}),
    "work_list.html": (
        work_list.WorkListPage,
        {"audits", "total", "recordable", "all_published", "had_any", "found", "today", "ended", "done", "error",
         "error_at"},
    ),
    "channels_confirm.html": (
        channels.ReplacePage,
        {"source", "content", "changes", "more", "seen", "is_changed"},
    ),
    "work_list_confirm.html": (work_list.VisitPage, {"key", "target", "round", "day"}),
    "wrong_codes.html": (login.WrongCodesPage, {"wrong_codes", "to"}),
}  # fmt: skip

CONFIDENTIAL = {"round_counts.html", "import_preview_counts.html"}
SHARED = (
    "base.html",
    "channel_parts.html",
    "consequences.html",
    "parts.html",
    "plan_languages.html",
    "plan_parts.html",
)
GIVEN = {"page", "frame", "say", "counted", "counted_html", "html"}
"""What is handed to every template."""
FOR_ALL = {"sentence", "static", "MOST_NAMES", "ROLE_NAMES"}
"""What every template may use besides: it says nothing of the office."""
COUNTS = {round_counts.Bar, import_preview.ChannelLine}
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
def test_a_template_uses_its_page_the_frame_and_the_voice_alone(name: str) -> None:
    tree = rendering._templates().parse((TEMPLATES / name).read_text())
    assert meta.find_undeclared_variables(tree) <= {
        *GIVEN,
        "answer",
        "at_most",
        "channels",
        "channels_of",
        "class_of",
        "consequences",
        "damaged",
        "emergencies",
        "entered",
        "forgotten",
        "go_first",
        "imported",
        "is_chosen_here",
        "kept",
        "note_all",
        "parts",
        "plan_parts",
        "printed",
        "publish",
        "publish_first",
        "publishing",
        "reason",
        "recent",
        "reports",
        "request_of_another",
        "roles",
        "step",
        "take_back",
        "target",
        "targets",
        "to_destroy",
        "unassigned",
        "value",
        "waits",
        "what_it_does",
        "what_it_means",
        "where",
        "wrong",
    }  # of which all but those given are macros
    assert rendering._templates().globals.keys() >= FOR_ALL
    assert _used(tree, "frame") <= FRAME
    if name in SHOWN:
        assert _used(tree, "page") <= SHOWN[name][1]


def test_the_macros_of_the_promise_use_what_they_are_given_alone() -> None:
    source, _, _ = rendering._templates().loader.get_source(rendering._templates(), "public/promise.html.j2")  # type: ignore[union-attr]
    assert meta.find_undeclared_variables(rendering._templates().parse(source)) == set()
    assert "safe" not in source


TERMS_NEEDED = re.compile(r"\b(audit(?!or)|target)\w*", re.IGNORECASE)
SAID_ANYWAY = {
    "channels.html": ("columns channel, target and class", "columns channel and target", "If target is empty"),
    "import.html": ("The audit log of reports",),
    "plan.html": ("What you call an audit", "What you call a target", "counter auditing"),
    "plan_check.html": ("targets.txt",),
    "transcript.html": ("targets.csv",),
}
"""Names of columns and files, of a log of GlobaLeaks and of a mechanism; and the questions about the words."""
READ_OUT = re.compile(r'(?:alt|aria-label|placeholder|title)="([^"]*)"')


def said_by(name: str, source: str) -> str:
    """What the template says itself: its text without tags, what else is read out, and the sentences and names that it
    hands on.
    """
    plain = re.sub("{[{%#].*?[}%#]}", "", source, flags=re.DOTALL)
    strings = (one.value for one in rendering._templates().parse(source).find_all(nodes.Const))
    handed_on = [one for one in strings if isinstance(one, str) and (" " in one or one[:1].isupper())]
    said = " ".join(
        part for text in (plain, *handed_on) for part in (re.sub("<[^>]*>", " ", text), *READ_OUT.findall(text))
    )
    for known in SAID_ANYWAY.get(name, ()):
        said = said.replace(known, "")
    return re.sub(r"{[\w.]+}", "", said)


@pytest.mark.parametrize("name", [*SHOWN, *SHARED])
def test_a_template_uses_the_offices_words(name: str) -> None:
    assert not TERMS_NEEDED.search(said_by(name, (TEMPLATES / name).read_text()))


@pytest.mark.parametrize("name", SAID_ANYWAY)
def test_a_template_still_says_what_it_may_say(name: str) -> None:
    source = (TEMPLATES / name).read_text()
    assert all(known in source for known in SAID_ANYWAY[name])


@pytest.mark.parametrize(
    "planted",
    [
        "<h1>Audits</h1>",
        '<input placeholder="Name of the target">',
        '{{ parts.field("name", "Target") }}',
        '{{ "The {terms.target} is audited".format(terms=terms) }}',
    ],
)
def test_a_template_with_words_of_its_own_is_found(planted: str) -> None:
    source = (TEMPLATES / "round.html").read_text()
    assert TERMS_NEEDED.search(said_by("round.html", source + planted))
    assert not TERMS_NEEDED.search("another operator or auditor")


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
    assert not COUNTS & set(_types(SHOWN[name][0]))


@pytest.mark.parametrize("name", sorted(CONFIDENTIAL))
def test_the_check_finds_a_count_where_there_is_one(name: str) -> None:
    assert COUNTS & set(_types(SHOWN[name][0]))


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


def test_a_template_is_given_its_page_the_frame_and_the_voice(
    office: Office, rendered: list[tuple[str, dict[str, Any]]]
) -> None:
    programme = office.begin()
    programme.report({"Ash Mill": 31_337})
    office.clock.tomorrow()
    for name, paths in GETS.items():
        browser = office.browser(name)
        for path in paths:
            assert browser.get(path).status_code == 200, path
    preview(office.browser("Ida"))
    preview(office.browser("Anna"))
    assert "31,337" in office.browser("Anna").counts()
    for name, context in rendered:
        assert context.keys() == GIVEN
        assert type(context["page"]) is SHOWN[name][0]
        role = context["frame"].role
        if role != "auditor":
            assert name not in CONFIDENTIAL
            assert not any(isinstance(value, (*COUNTS,)) for value in _values(context["page"]))
            assert 31_337 not in [*_values(context["page"])]
    assert {name for name, _ in rendered} >= CONFIDENTIAL
    counted = next(context["page"] for name, context in rendered if name == "round_counts.html")
    assert 31_337 in set(_values(counted))  # the check above can fail


@pytest.mark.parametrize(("audit", "target"), [("audit", "target"), ("inspection", "employer"), ("visit", "company")])
def test_pages_say_what_the_programme_calls_them(office: Office, audit: str, target: str) -> None:
    terms = Terms(audit, target)
    office.begin(terms=terms)
    office.clock.tomorrow()
    otto = office.browser("Otto")
    asked = otto.get("/round/close").text
    assert f"This draws one {audit}, once" in asked
    assert f"about the {target} that is drawn" in asked
    closed = otto.post("/round/close", {"round": "1"}).text
    assert f"To be {terms.audited}:" in closed
    assert f"{terms.a_target.capitalize()} that is drawn" in closed


def preview(browser: Browser) -> None:
    data = {"kind": "csv", "source": "hotline"}
    assert browser.post("/import", data, files={"file": ("a.csv", b"id,channel\n1,Ash Mill\n")}).status_code == 200


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, Chart):
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in dataclasses.fields(value):
            yield from _values(getattr(value, field.name))
    elif isinstance(value, tuple | list | frozenset):
        for inner in value:
            yield from _values(inner)
    elif isinstance(value, Mapping):
        yield from _values([*value.values()])
    else:
        yield value
