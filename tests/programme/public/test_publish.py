"""The public folder: what is in it, and that a crash or a wrong folder does no harm."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.programme.public.published import (
    KEY,
    NAMES,
    OTHER_KEY,
    Said,
    chained,
    drawn,
    lines_in,
    made,
    programmes,
    skip,
)

from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.public import publish as publish_module
from deniable.programme.public.folder import TRANSCRIPT, read_head
from deniable.programme.public.page import render
from deniable.programme.public.publish import contents, publish
from deniable.programme.public.verify import verify
from deniable.programme.transcript.chain import signed_head
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.merkle import root
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.signatures import public_key
from deniable.storage.files import replace_file

A, B, C, D = NAMES
FILES = [
    "transcript.jsonl",
    "checkpoint",
    "programme.json",
    "public_key.pem",
    "VERIFY.md",
    "calendar.ics",
    "index.html",
]
UNCHANGED = ["public_key.pem", "VERIFY.md"]
"""By further entries; and programme.json."""
SAID: list[Said] = [
    drawn(1, A),
    ("override", 2, {"audits": (B,), "reason": "a court ordered it", "independent": True, "during": 2}),
    drawn(2, C),
    skip(3),
]


def lines_of(entries: Sequence[Entry]) -> list[str]:
    return [entry.line() for entry in entries]


def signed(parameters: Parameters, lines: Sequence[str], key: bytes = KEY) -> str:
    return signed_head(key, parameters.digest, len(lines), root(lines))


def published(folder: Path, said: Sequence[Said] = SAID, parameters: Parameters | None = None) -> None:
    parameters = parameters or made()
    lines = lines_of(chained(parameters, said))
    publish(parameters, lines, signed(parameters, lines), folder)


def snapshot(folder: Path) -> dict[str, tuple[bytes, float, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime, path.stat().st_mode & 0o777) for path in folder.iterdir()
    }


class Killed(BaseException):
    """What no handler of errors sees."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, method: str, call: int) -> Iterator[None]:
    """The process ends at this call of a method of Path, without a chance to clean up."""
    calls = 0
    original = getattr(Path, method)

    def counted(self: Path, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Killed
        if calls > call:  # what a `finally` would do, the dead do not
            return None
        return original(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, method, counted)
        patched.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(Killed):
            yield


def test_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "public"
    published(folder)
    parameters = made()
    lines = lines_of(chained(parameters, SAID))
    head = signed(parameters, lines)
    assert sorted(snapshot(folder)) == sorted(FILES)
    assert (folder / "transcript.jsonl").read_text() == "\n".join([*lines, head]) + "\n"
    assert (folder / "programme.json").read_bytes() == parameters.to_bytes()
    assert (folder / "index.html").read_text() == render(
        parameters, [parse(line) for line in lines], None, parameters.voice()
    )
    assert lines_in(folder) == lines
    assert read_head(folder / TRANSCRIPT).entries == 4


def test_it_verifies(tmp_path: Path) -> None:
    published(tmp_path / "before", [])
    published(tmp_path / "after")
    assert verify(tmp_path / "before").pages == {"index.html": "matches"}
    assert verify(tmp_path / "after", against=tmp_path / "before").pages == {"index.html": "matches"}


@settings(max_examples=6, deadline=None)
@given(made_=programmes())
def test_bytes_depend_on_nothing_else(tmp_path_factory: pytest.TempPathFactory, made_: tuple[Any, Any]) -> None:
    parameters, entries = made_
    lines = lines_of(entries)
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    publish(parameters, lines, signed(parameters, lines), one)
    for known in range(len(lines)):
        publish(parameters, lines[:known], signed(parameters, lines[:known]), other)
    publish(parameters, lines, signed(parameters, lines), other)
    assert snapshot(one) == snapshot(other)


def test_files_do_not_tell_when_they_were_written(tmp_path: Path) -> None:
    calendar = made().calendar
    published(tmp_path, [])
    assert {time for _, time, _ in snapshot(tmp_path).values()} == {calendar.opens(1).timestamp()}
    published(tmp_path, SAID[:2])
    assert {time for _, time, _ in snapshot(tmp_path).values()} == {calendar.due(1).timestamp() + 1}
    published(tmp_path)
    assert {time for _, time, _ in snapshot(tmp_path).values()} == {calendar.due(3).timestamp()}


def test_everybody_may_read_them(tmp_path: Path) -> None:
    published(tmp_path)
    assert {mode for _, _, mode in snapshot(tmp_path).values()} == {0o644}


@pytest.mark.parametrize("method", ["open", "replace"])
@pytest.mark.parametrize("call", range(1, len(FILES) + 1))
@pytest.mark.parametrize("before", [None, 0, 2], ids=["first", "empty", "older"])
def test_an_interrupted_publication_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, call: int, before: int | None
) -> None:
    folder, whole = tmp_path / "public", tmp_path / "whole"
    published(whole)
    if before is not None:
        published(folder, SAID[:before])
        for name in UNCHANGED:  # so that each of the files is written
            (folder / name).write_text("altered")
        (folder / "programme.json").unlink()
    with killed_at(monkeypatch, method, call):
        published(folder)
    left = {name for name in snapshot(folder) if name.endswith(".tmp")}
    assert left == ({f".{FILES[call - 1]}.tmp"} if method == "replace" else set())
    published(folder)
    assert snapshot(folder) == snapshot(whole)


def test_what_has_not_changed_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path, SAID[:1])
    written = list[str]()

    def noted(path: Path, *arguments: Any, **options: Any) -> None:
        written.append(path.name)
        replace_file(path, *arguments, **options)

    monkeypatch.setattr(publish_module, "replace_file", noted)
    published(tmp_path)
    assert written == ["transcript.jsonl", "checkpoint", "calendar.ics", "index.html"]


def test_an_interrupted_publication_can_go_on_with_more_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_at(monkeypatch, "replace", 2):
        published(tmp_path, SAID[:1])
    published(tmp_path)
    assert verify(tmp_path).pages == {"index.html": "matches"}


def test_the_transcript_is_never_behind_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for call in (1, 2):  # the transcript and the page
        folder = tmp_path / str(call)
        published(folder, SAID[:1])
        with killed_at(monkeypatch, "replace", call):
            published(folder)
        assert verify(folder).entries == (1 if call == 1 else 4)
        assert verify(folder).pages == {"index.html": "matches" if call == 1 else "differs"}


def test_a_failure_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path, SAID[:1])
    before = snapshot(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DeniableError, match=r"^cannot publish into .*: the disk is full; make room and try again$"):
        published(tmp_path)
    assert snapshot(tmp_path) == before


def test_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("here first")
    published(tmp_path)
    published(tmp_path)
    assert (tmp_path / "robots.txt").read_text() == "here first"


def refused(folder: Path, message: str, said: Sequence[Said] = SAID, parameters: Parameters | None = None) -> None:
    before = snapshot(folder)
    with pytest.raises(DeniableError, match=message):
        published(folder, said, parameters)
    assert snapshot(folder) == before


@pytest.mark.parametrize("missing", [[], ["transcript.jsonl"], ["programme.json"]], ids=["whole", "rules", "record"])
@pytest.mark.parametrize("said", [[], SAID], ids=["empty", "entries"])
def test_another_programmes_folder_is_refused(tmp_path: Path, missing: list[str], said: list[Said]) -> None:
    published(tmp_path, said, made(programme="cd" * 16))
    for name in missing:
        (tmp_path / name).unlink()
    refused(tmp_path, "another programme|not one that this programme published")


def test_a_folder_signed_with_another_key_is_refused(tmp_path: Path) -> None:
    parameters = made(public_key=public_key(OTHER_KEY).hex())
    lines = lines_of(chained(parameters, SAID))
    publish(parameters, lines, signed(parameters, lines, OTHER_KEY), tmp_path)
    refused(tmp_path, "belongs to another programme")


def test_a_folder_that_knows_more_is_refused(tmp_path: Path) -> None:
    published(tmp_path)
    refused(tmp_path, "has entries the database does not know: 4 against 2", SAID[:2])
    refused(tmp_path, "has entries the database does not know: 4 against 0", [])


def test_a_folder_that_tells_another_story_is_refused(tmp_path: Path) -> None:
    published(tmp_path)
    refused(tmp_path, r"^entry 3 in the folder .* differs from the database's", [*SAID[:2], drawn(2, D)])


@pytest.mark.parametrize("damaged", [b"", b"{}\n", b"\xff\n", b'{"entries":0}\n'])
def test_a_damaged_transcript_is_refused(tmp_path: Path, damaged: bytes) -> None:
    published(tmp_path)
    (tmp_path / "transcript.jsonl").write_bytes(damaged)
    refused(tmp_path, "is not one that this programme published")


@pytest.mark.parametrize("name", ["index.html", "VERIFY.md", "public_key.pem"])
def test_somebody_elses_files_are_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("my home page")
    refused(tmp_path, f"has a file {name} that no programme published")


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "public", tmp_path / "outside"
    published(folder, SAID[:1])
    outside.write_text("keep")
    (folder / "index.html").unlink()
    (folder / "index.html").symlink_to(outside)
    published(folder)
    assert outside.read_text() == "keep"
    assert not (folder / "index.html").is_symlink()


def test_a_link_that_comes_while_a_file_is_looked_at_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a key, say, which all could read then."""
    folder, key = tmp_path / "public", tmp_path / "key"
    published(folder, SAID[:1])
    key.touch(0o600)
    os.utime(key, (0, 0))
    opened = os.open

    def exchanged(path: Any, *arguments: Any, **options: Any) -> int:
        descriptor = opened(path, *arguments, **options)
        if path == folder / "VERIFY.md":
            path.unlink()
            path.symlink_to(key)
        return descriptor

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", exchanged)
        published(folder)
    assert (folder / "VERIFY.md").is_symlink()
    assert (key.stat().st_mode & 0o777, key.stat().st_mtime) == (0o600, 0)
    published(folder)
    assert not (folder / "VERIFY.md").is_symlink()


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "public").write_text("a file")
    with pytest.raises(DeniableError, match=r"^cannot publish into .*public: File exists$"):
        published(tmp_path / "public")


def test_nothing_is_written_that_the_head_does_not_sign(tmp_path: Path) -> None:
    parameters = made()
    lines = lines_of(chained(parameters, SAID))
    for head in (signed(parameters, lines[:2]), signed(parameters, lines, OTHER_KEY)):
        with pytest.raises(DeniableError, match="head"):
            publish(parameters, lines, head, tmp_path / "public")
    wrong = lines_of(chained(parameters, [drawn(2, A)]))
    with pytest.raises(DeniableError, match="entry 1"):
        publish(parameters, wrong, signed(parameters, wrong), tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_reading_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match=r"^cannot read what was published in .*: No such file .*; put it back"):
        read_head(tmp_path / TRANSCRIPT)


def follow(folder: Path) -> subprocess.CompletedProcess[str]:
    """The program in VERIFY.md, run as its reader would."""
    program = re.findall(r"```python\n(.*?)```", (folder / "VERIFY.md").read_text(), re.DOTALL)
    assert len(program) == 1
    return subprocess.run(
        [sys.executable, "-I", "-c", program[0]], cwd=folder, capture_output=True, text=True, check=False
    )


def openssl(folder: Path) -> int:
    command = re.findall(r"^    (openssl .*)$", (folder / "VERIFY.md").read_text(), re.MULTILINE)
    assert len(command) == 1
    return subprocess.run(command[0].split(), cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.parametrize("said", [[], SAID], ids=["empty", "entries"])
def test_the_instructions_work(tmp_path: Path, said: list[Said]) -> None:
    published(tmp_path, said)
    ran = follow(tmp_path)
    assert ran.stdout == f"{len(said)} entries, fingerprint {verify(tmp_path).head}\n"
    signed_lines = (tmp_path / "checkpoint").read_text().splitlines(keepends=True)[:3]
    assert (tmp_path / "message.bin").read_text() == "".join(signed_lines)
    if shutil.which("openssl"):
        assert openssl(tmp_path) == 0
        (tmp_path / "message.bin").write_text("something else")
        assert openssl(tmp_path) != 0


def test_the_instructions_find_a_change(tmp_path: Path) -> None:
    published(tmp_path)
    path = tmp_path / "transcript.jsonl"
    path.write_text(path.read_text().replace("a court ordered it", "a court wished it"))
    assert follow(tmp_path).stderr == "entry 3 does not follow on the line before it\n"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[-1:]))
    assert follow(tmp_path).stderr == "the head is not that of these entries\n"


def test_contents_are_in_the_order_of_writing() -> None:
    assert list(contents(made(), [], signed(made(), []))) == FILES
