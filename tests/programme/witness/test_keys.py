"""The key file of a witness: for its owner alone, in a form that others read, and never half of it."""

import base64
from pathlib import Path

import pytest
from tests.programme.public.published import KEY

from deniable.errors import DeniableError
from deniable.programme.transcript.signatures import public_key
from deniable.programme.witness.keys import WitnessKey
from deniable.programme.witness.notes import COSIGNATURE


def written(path: Path) -> WitnessKey:
    key = WitnessKey("union.example", KEY)
    key.write(path)
    return key


def test_a_key_file(tmp_path: Path) -> None:
    path = tmp_path / "union.key"
    key = written(path)
    assert (WitnessKey.read(path), path.stat().st_mode & 0o777) == (key, 0o600)
    secret = base64.b64encode(b"\x04" + KEY).decode()
    assert path.read_text() == f"PRIVATE+KEY+union.example+{key.public.id.hex()}+{secret}\n"
    assert (key.public.type, key.public.public) == (COSIGNATURE, public_key(KEY))
    assert [file.name for file in tmp_path.iterdir()] == ["union.key"]


def test_a_key_is_new_and_does_not_show_itself() -> None:
    one, other = WitnessKey.new("union.example"), WitnessKey.new("union.example")
    assert one.private != other.private
    assert repr(one) == "WitnessKey(secret)"


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "union.key")
    with pytest.raises(DeniableError, match="never overwritten"):
        WitnessKey.new("union.example").write(tmp_path / "union.key")
    with pytest.raises(DeniableError, match="cannot write the key file"):
        WitnessKey.new("union.example").write(tmp_path / "nowhere" / "union.key")
    assert WitnessKey.read(tmp_path / "union.key").private == KEY


@pytest.mark.parametrize("name", ["union.example", "paper.example/desk", "w1", "A-b_c.d/e/f"])
def test_names(name: str) -> None:
    assert WitnessKey(name, KEY).public.name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b",
        "a+b",
        "..",
        ".hidden",
        "a/..",
        "a//b",
        "/a",
        "a/",
        "a/.b",
        "a\\b",
        "a\n",
        "é",
        "x" * 201,
        "a\u202eb",
    ],
)
def test_a_name_that_is_no_address_is_refused(name: str) -> None:
    """It becomes a folder's name, and is printed."""
    with pytest.raises(DeniableError, match="address"):
        WitnessKey(name, KEY)


def test_what_is_no_key_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "union.key"
    written(path)
    good = path.read_text()
    name, key_id, secret = good.strip().removeprefix("PRIVATE+KEY+").split("+", 2)
    for text, why in {
        "": "not the key file",
        "deniable-key/1 " + "0" * 64: "not the key file",
        good.replace("PRIVATE", "PUBLIC"): "not the key file",
        good + "more": "not the key file",
        good.replace(secret, base64.b64encode(b"\x01" + KEY).decode()): "not the key file",
        good.replace(secret, base64.b64encode(b"\x04" + KEY[1:]).decode()): "not the key file",
        good.replace(name, "paper.example"): "do not belong together",
        good.replace(key_id, "00000000"): "do not belong together",
        good.replace(name, "a/../b"): "address",
    }.items():
        path.write_text(text)
        with pytest.raises(DeniableError, match=why):
            WitnessKey.read(path)
    path.unlink()
    with pytest.raises(DeniableError, match="the first time, make one with --name"):
        WitnessKey.read(path)
    path.mkdir()
    with pytest.raises(DeniableError, match="not the key file"):
        WitnessKey.read(path)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "union.key"
    written(path)
    path.chmod(mode)
    with pytest.raises(DeniableError, match="chmod 600"):
        WitnessKey.read(path)
