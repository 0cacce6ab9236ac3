"""The office's mapping of channels to targets."""

import io
from pathlib import Path

import pytest
from tests.programme.imports.exports import CANARY, TARGETS, leaked

from deniable.errors import DeniableError
from deniable.programme.imports import read_mapping

FILE = "channel,target\nnorth,Acme Ltd\nsouth,Acme Ltd\nwest,Bravo plc\ntest,\n"
MAPPED = {"north": "Acme Ltd", "south": "Acme Ltd", "west": "Bravo plc", "test": None}


@pytest.mark.parametrize(
    "text",
    [
        FILE,
        "\ufeff" + FILE,
        FILE.replace("\n", "\r\n"),
        FILE.replace(",", ";"),
        FILE.replace(",", "\t"),
        FILE.replace(",", " , "),
        FILE.replace("Acme Ltd", '"Acme Ltd"'),
        "target,channel\nAcme Ltd,north\n\nAcme Ltd,south\nBravo plc,west\n,test",
    ],
)
def test_channels_and_their_targets(text: str) -> None:
    assert read_mapping(io.BytesIO(text.encode()), TARGETS).target_of == MAPPED


def test_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "mapping.csv"
    path.write_text(FILE)
    assert read_mapping(path, TARGETS).target_of == MAPPED
    with pytest.raises(DeniableError, match="the mapping cannot be opened: No such file or directory"):
        read_mapping(tmp_path / "none.csv", TARGETS)
    with pytest.raises(DeniableError, match="the mapping cannot be opened: Is a directory"):
        read_mapping(tmp_path, TARGETS)
    with pytest.raises(DeniableError, match="this is not a path"):
        read_mapping("map\0ping", TARGETS)


def test_it_cannot_be_changed() -> None:
    mapping = read_mapping(io.BytesIO(FILE.encode()), TARGETS)
    with pytest.raises(TypeError):
        mapping.target_of["north"] = "Bravo plc"  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must name its columns in the first line, but is empty"),
        ("channel,target\n", "must give at least one channel a target"),
        ("north,Acme Ltd\n", "must have the columns channel and target"),
        ("channel,target,zq7canary\n", "only these"),
        ("channel|target\nnorth|Acme Ltd\n", "must have the columns"),
        ("channel,target\nzq7canary\n", "line 2: the first line has 2 cells"),
        ("channel,target\n,Acme Ltd\n", "line 2: the channel must be 1 to 200"),
        ("channel,target\nnorth,zq7canary\n", "line 2: the target must be the name of a target"),
        ("channel,target\nnorth,acme ltd\n", "line 2: the target must be the name of a target"),
        (FILE + "north,Acme Ltd\n", "line 6: a channel must come only once"),
        (FILE + "north,\n", "line 6: a channel must come only once"),
        ('channel,target\n"zq7canary,Acme Ltd\n', "line 2: a quote"),
        ("channel,target\nzq7canary\0,\n", "line 2: the channel must be 1 to 200"),
    ],
)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(DeniableError) as refused:
        read_mapping(io.BytesIO(text.encode()), TARGETS)
    assert why in str(refused.value)
    assert leaked(refused.value) == []


def test_not_text() -> None:
    with pytest.raises(DeniableError, match="the mapping, line 2: a letter cannot be read") as refused:
        read_mapping(io.BytesIO(b"channel,target\n" + CANARY.encode() + b"\xff,"), TARGETS)
    assert leaked(refused.value) == []
