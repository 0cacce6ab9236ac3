"""From which channel, or from which value of a field, a report's class follows."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.programme.imports.exports import (
    CANARY,
    GLOBALEAKS,
    NORTH,
    SECRETS,
    SOUTH,
    TARGETS,
    TEST,
    error_of,
    globaleaks_csv,
    hushline_zip,
    leaked,
    mapping,
    outside_id,
    tip,
)

from deniable.errors import DeniableError
from deniable.programme.imports import Batch, Mapping, SetAside, read, read_mapping
from deniable.programme.imports.classes import ClassField, chosen_field, visit_classes
from deniable.report_classes import ONE_CLASS, parsed

CLASSES = [parsed("minor=1"), parsed("serious=3"), parsed("danger=visit")]
FILE = "value,class\n1,minor\n2,minor\n3,serious\n9,danger\nspam,\n"
CLASS_OF = {"1": "minor", "2": "minor", "3": "serious", "9": "danger", "spam": None}
SEVERITY = ClassField("severity", CLASS_OF)
CHANNELS = "channel,target,class\nnorth,Acme Ltd,serious\nsouth,Acme Ltd,minor\ntest,,\n"

Scored = tuple[int, str, Any]
"""A report: its number, its channel, and the value of the field."""


def by_file(text: str = FILE, column: str | None = "severity") -> ClassField:
    found = chosen_field(CLASSES, mapping(), column, io.BytesIO(text.encode()))
    assert found is not None
    return found


def by_channel(text: str = CHANNELS) -> Mapping:
    return read_mapping(io.BytesIO(text.encode()), TARGETS, CLASSES)


def plain(rows: Sequence[Scored]) -> bytes:
    lines = (f"{outside_id(number)},{channel},{value}" for number, channel, value in rows)
    return "\n".join(["id,channel,severity", *lines]).encode()


def rtips(rows: Sequence[Scored]) -> bytes:
    """A recipient's list of GlobaLeaks, with what people wrote."""
    reports = (
        tip(number, channel) | {"answers": {CANARY: [CANARY]}, "score": value} for number, channel, value in rows
    )
    return json.dumps([*reports]).encode()


def classes_of(batch: Batch) -> list[str | None]:
    return [name for _, _, name in batch]


# The files


@pytest.mark.parametrize(
    "text", [FILE, "\ufeff" + FILE, FILE.replace("\n", "\r\n"), FILE.replace(",", " , "), FILE.replace("9", '"9"')]
)
def test_values_and_their_classes(text: str) -> None:
    assert by_file(text) == ClassField("severity", CLASS_OF)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must name its columns in the first line, but is empty"),
        ("value,class\n", "must give at least one value a class"),
        ("1,minor\n", "must have the columns value and class"),
        ("value,class,zq7canary\n", "only these"),
        ("value,class\nzq7canary\n", "line 2: the first line has 2 cells"),
        ("value,class\n1,zq7canary\n", "line 2: the class must be one of minor, serious, danger, or empty"),
        ("value,class\n1,Minor\n", "line 2: the class must be one of"),
        (FILE + "3,serious\n", "line 7: a value must come only once"),
        ('value,class\n"zq7canary,minor\n', "line 2: a quote"),
        ("value,class\nzq7canary\0,minor\n", "line 2: the value must be at most 200"),
        ("value,class\n" + "zq7canary" * 30 + ",minor\n", "line 2: the value must be at most 200"),
    ],
)
def test_a_class_mapping_that_is_refused(text: str, why: str) -> None:
    with pytest.raises(DeniableError) as refused:
        by_file(text)
    assert why in str(refused.value)
    assert leaked(refused.value) == []


def test_it_cannot_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.programme.imports.classes.MAX_VALUES", 4)
    with pytest.raises(DeniableError, match="at most 4 values"):
        by_file()


def test_a_channel_may_have_a_class() -> None:
    assert by_channel().class_of == {"north": "serious", "south": "minor", "test": None}
    assert by_channel("target,class,channel\n,minor,test\n").class_of == {"test": None}


@pytest.mark.parametrize(
    "line", ["north,Acme Ltd,", "north,Acme Ltd,zq7canary", "north,,zq7canary", "north,Acme Ltd,Serious"]
)
def test_a_channel_with_a_target_needs_a_class_that_there_is(line: str) -> None:
    with pytest.raises(DeniableError, match="line 2: the class must be one of minor, serious, danger") as refused:
        by_channel(f"channel,target,class\n{line}\n")
    assert leaked(refused.value) == []


# Which of the two it is


def test_where_there_is_one_class_it_is_not_asked_for() -> None:
    assert chosen_field(ONE_CLASS, mapping(), None, None, usual_column="score") is None
    for column, file in (("severity", None), (None, io.BytesIO(FILE.encode()))):
        with pytest.raises(DeniableError, match="all reports of this programme have the same class"):
            chosen_field(ONE_CLASS, mapping(), column, file)
    with pytest.raises(DeniableError, match="must have no column class"):
        read_mapping(io.BytesIO(CHANNELS.encode()), TARGETS)


def test_where_there_are_several_it_must_be_given_once() -> None:
    with pytest.raises(DeniableError, match=r"minor, serious, danger\): add a column class to the mapping, or name"):
        chosen_field(CLASSES, mapping(), None, None, usual_column="score")
    assert chosen_field(CLASSES, by_channel(), None, None) is None
    for column, file in (("severity", None), (None, io.BytesIO(FILE.encode()))):
        with pytest.raises(DeniableError, match="in one way"):
            chosen_field(CLASSES, by_channel(), column, file)


def test_the_column_has_a_name() -> None:
    assert chosen_field(CLASSES, mapping(), None, io.BytesIO(FILE.encode()), usual_column="score") == ClassField(
        "score", CLASS_OF
    )
    for column in (None, "", "a\nb", "x" * 201):
        with pytest.raises(DeniableError, match="name the class column"):
            by_file(column=column)


def test_without_a_file_the_values_are_the_names() -> None:
    names = {"minor": "minor", "serious": "serious", "danger": "danger"}
    assert chosen_field(CLASSES, mapping(), "severity", None) == ClassField("severity", names)


def test_which_classes_lead_to_a_visit_is_said_from_the_mapping_alone() -> None:
    assert visit_classes(CLASSES, mapping(), SEVERITY) == ("danger",)
    assert visit_classes(CLASSES, mapping(), ClassField("severity", {"1": "minor", "9": None})) == ()
    assert visit_classes(CLASSES, by_channel(), None) == ()
    assert visit_classes(CLASSES, by_channel(CHANNELS + "west,Acme Ltd,danger\n"), None) == ("danger",)
    assert visit_classes(ONE_CLASS, mapping(), None) == ()


# Exports


ROWS: list[Scored] = [(3, SOUTH, 3), (2, NORTH, 1), (1, NORTH, 9), (4, TEST, 7), (5, NORTH, "spam")]


def test_the_class_of_every_report() -> None:
    score = ClassField("score", CLASS_OF)
    for batch in (
        read("csv", io.BytesIO(plain(ROWS)), mapping(), SEVERITY),
        read("globaleaks", io.BytesIO(rtips(ROWS)), mapping(), score),
    ):
        assert [*batch] == [
            (outside_id(3), "Bravo plc", "serious"),
            (outside_id(2), "Acme Ltd", "minor"),
            (outside_id(1), "Acme Ltd", "danger"),
            (outside_id(4), None, None),
            (outside_id(5), None, None),
        ]
        assert (batch.with_target, batch.left_out, batch.set_aside.in_words()) == (3, 2, ())
        assert batch.by_class() == {"minor": 1, "serious": 1, "danger": 1}


@pytest.mark.parametrize(("kind", "export"), [("hushline", hushline_zip()), ("globaleaks", globaleaks_csv())])
def test_the_class_of_every_channel(kind: str, export: bytes) -> None:
    channels = by_channel(f"channel,target,class\n{NORTH},Acme Ltd,serious\n{SOUTH},Bravo plc,minor\n{TEST},,\n")
    batch = read(kind, io.BytesIO(export), channels)
    assert [(target, name) for _, target, name in batch] == [
        ("Bravo plc", "minor"),
        ("Acme Ltd", "serious"),
        ("Acme Ltd", "serious"),
        (None, None),
    ]
    assert batch.set_aside.reports == 0


def test_a_channel_that_is_not_named_has_no_class_either() -> None:
    batch = read("csv", io.BytesIO(b"id,channel\n1,north\n2,west\n"), by_channel())
    assert [*batch] == [("1", "Acme Ltd", "serious"), ("2", None, None)]
    assert batch.set_aside == SetAside(("west",), 0, (), 0, reports=1)


def test_a_value_without_a_class_is_set_aside_and_holds_back_no_other() -> None:
    batch = read("csv", io.BytesIO(plain([*ROWS, (6, NORTH, 7), (7, NORTH, ""), (8, "west", 8)])), mapping(), SEVERITY)
    assert classes_of(batch) == ["serious", "minor", "danger", None, None, None, None, None]
    assert batch.set_aside == SetAside(("west",), 0, (), 0, reports=3, values=("(empty)", "7", "8"))
    channels, values = batch.set_aside.in_words()
    assert "channels: west." in channels
    assert "stand for no class: (empty), 7 and 8. Give each of them a class" in values
    assert batch.set_aside.in_words(counts=False) == ()  # then all of them become known


def test_an_empty_value_may_have_a_class() -> None:
    batch = read("csv", io.BytesIO(plain([(1, NORTH, "")])), mapping(), by_file(FILE + ",minor\n"))
    assert classes_of(batch) == ["minor"]


def test_values_that_are_no_identifiers_are_not_shown() -> None:
    rows = [(1, NORTH, "west"), (2, NORTH, f"the {CANARY} of my boss"), (3, NORTH, CANARY * 9)]
    aside = read("csv", io.BytesIO(plain(rows)), mapping(), SEVERITY).set_aside
    assert (aside.values, aside.more_values) == (("west",), 2)
    assert "no class: west and 2 not shown here." in aside.in_words()[0]


def test_at_most_20_values_are_listed_and_1000_told_apart() -> None:
    rows = [(number, NORTH, f"v{number:04}") for number in range(1500)]
    aside = read("csv", io.BytesIO(plain(rows)), mapping(), SEVERITY).set_aside
    assert (len(aside.values), aside.reports) == (20, 1500)
    assert " and at least 980 not shown here." in aside.in_words()[0]


@pytest.mark.parametrize("value", [f"x{CANARY}\0", CANARY * 30, '"' + CANARY, f"1,{CANARY}"])
def test_a_row_whose_class_cannot_be_read_is_set_aside_by_itself(value: str) -> None:
    batch = read("csv", io.BytesIO(plain([ROWS[0], (6, NORTH, value), ROWS[1]])), mapping(), SEVERITY)
    assert classes_of(batch) == ["serious", "minor"]
    assert [str(row.place) for row in batch.set_aside.malformed] == ["line 3"]
    assert not any(secret in repr(batch.set_aside) for secret in SECRETS)


@pytest.mark.parametrize("value", [1.5, [], {}, [3], {CANARY: 3}, " 3", "x" * 201, CANARY + "\n", 10**300])
def test_a_score_that_is_none_is_set_aside_by_itself(value: object) -> None:
    rows = [ROWS[0], (6, NORTH, value), ROWS[1]]
    batch = read("globaleaks", io.BytesIO(rtips(rows)), mapping(), ClassField("score", CLASS_OF))
    assert classes_of(batch) == ["serious", "minor"]
    ((place, why),) = batch.set_aside.malformed
    assert (str(place), str(why)) == ("report 2", "the score must be at most 200 printable characters")


def test_values_of_json_are_those_of_a_table() -> None:
    class_of = {"": "minor", "true": "serious", "false": "danger", "-3": "minor"}
    rows = [(1, NORTH, None), (2, NORTH, True), (3, NORTH, False), (4, NORTH, -3), (5, NORTH, "true")]
    batch = read("globaleaks", io.BytesIO(rtips(rows)), mapping(), ClassField("score", class_of))
    assert classes_of(batch) == ["minor", "serious", "danger", "minor", "serious"]


def test_any_field_of_globaleaks() -> None:
    opened = ClassField("status", {f"opened{CANARY}": "serious"})
    assert classes_of(read("globaleaks", io.BytesIO(globaleaks_csv()), mapping(), opened))[:3] == ["serious"] * 3


def test_an_export_that_has_no_class_column() -> None:
    def why(kind: str, content: bytes, column: str) -> str:
        error = error_of(lambda: read(kind, io.BytesIO(content), mapping(), ClassField(column, CLASS_OF)))
        assert error is not None
        assert leaked(error) == []
        return str(error)

    assert "no score: use the JSON of /api/recipient/rtips" in why("globaleaks", globaleaks_csv(), "score")
    assert "urgency among them" in why("globaleaks", globaleaks_csv(), "urgency")
    assert "offer a username for each class" in why("hushline", hushline_zip(), "status")
    assert "columns id, channel and severity and no others" in why("csv", b"id,channel\n1,a\n", "severity")
    assert "columns id, channel and severity and no others" in why("csv", b"id,channel,severity,text\n", "severity")
    assert "columns id and channel and no others" in str(
        error_of(lambda: read("csv", io.BytesIO(plain(ROWS)), mapping()))
    )
    audit_log = json.dumps([tip(1, NORTH), tip(2, NORTH)]).encode()  # row by row: it need not be so of all
    aside = read("globaleaks", io.BytesIO(audit_log), mapping(), ClassField("score", CLASS_OF)).set_aside
    assert [str(row.why) for row in aside.malformed] == [
        "it is no report with id, context_id and score; is this GlobaLeaks’s list of reports?"
    ] * 2


def test_an_empty_export_of_globaleaks_has_no_columns(tmp_path: Path) -> None:
    (tmp_path / "reports.csv").write_bytes(b"\n")
    score = ClassField("score", CLASS_OF)
    assert [*read("globaleaks", tmp_path / "reports.csv", mapping(), score)] == []
    assert "score" not in GLOBALEAKS
