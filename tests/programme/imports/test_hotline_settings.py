"""What is kept of a hotline: in one length, by the targets' numbers, and as a file and back."""

import csv
import io

import pytest

from deniable.errors import DeniableError
from deniable.programme.imports import ClassField, Mapping, read_mapping
from deniable.programme.imports.hotline_settings import ROOM, Assigned, Kept, from_mapping
from deniable.report_classes import ONE_CLASS, parsed

NAMES = ("Ash Mill", "Birch Works", "Cedar Bank")
NUMBERS = {name: number for number, name in enumerate(NAMES)}
CLASSES = tuple(map(parsed, ("minor=1", "serious=3")))


def many(number: int) -> Kept:
    return Kept().with_channels({f"channel {i:04} in „Süd“": Assigned(i % 3, "minor") for i in range(number)})


def test_it_has_one_length_whatever_it_says() -> None:
    for one in (Kept(), many(1), many(3000), Kept(class_column="score", values={"1": "minor", "": None})):
        stored = one.to_bytes()
        assert len(stored) == ROOM
        assert Kept.from_bytes(stored) == one
    with pytest.raises(DeniableError, match="at the terminal"):
        many(9000).to_bytes()


def test_it_does_not_show_itself() -> None:
    assert "channel" not in repr(many(1))


def test_a_channel_is_about_its_target_whatever_that_is_called_now() -> None:
    one = Kept().with_channels({"north": Assigned(0), "test": Assigned(None), "old": Assigned(2)})
    present = ("Ash Quarry", "Birch Works")
    assert one.mapping(("Ash Quarry", "Birch Works", "Cedar Bank"), present, ONE_CLASS) == Mapping(
        {"Ash Quarry": "Ash Quarry", "Birch Works": "Birch Works", "north": "Ash Quarry", "test": None}
    )


def test_what_is_assigned_goes_before_a_channel_that_is_called_like_a_target() -> None:
    one = Kept().with_channels({"Ash Mill": Assigned(1)})
    assert one.mapping(NAMES, NAMES, ONE_CLASS).target_of["Ash Mill"] == "Birch Works"
    assert one.with_channels({"Ash Mill": None}).mapping(NAMES, NAMES, ONE_CLASS).target_of["Ash Mill"] == "Ash Mill"


def test_classes_follow_from_the_channel_or_from_a_column() -> None:
    one = Kept().with_channels({"a": Assigned(0, "minor"), "b": Assigned(1), "test": Assigned(None)})
    assert one.mapping(NAMES, NAMES, CLASSES).class_of == {"a": "minor", "test": None}
    assert one.class_field(CLASSES) is None
    scored = Kept(one.channels, "score")
    assert scored.mapping(NAMES, NAMES, CLASSES).class_of is None
    assert scored.class_field(CLASSES) == ClassField("score", {"minor": "minor", "serious": "serious"})
    assert scored.with_values({"1": "minor", "0": None}).class_field(CLASSES) == ClassField(
        "score", {"1": "minor", "0": None}
    )
    assert scored.class_field(ONE_CLASS) is None


@pytest.mark.parametrize("has_classes", [False, True])
def test_as_a_file_and_back(has_classes: bool) -> None:
    classes = CLASSES if has_classes else ONE_CLASS
    one = Kept().with_channels({"Werk, „Süd“": Assigned(0, "minor" if has_classes else None), "test": Assigned(None)})
    columns, rows = one.table(NAMES, has_classes=has_classes)
    written = io.StringIO()
    csv.writer(written).writerows([columns, *rows])
    again = from_mapping(read_mapping(io.BytesIO(written.getvalue().encode()), NAMES, classes), NUMBERS, many(5))
    assert again == one
    assert Kept.from_bytes(again.to_bytes()) == one
