"""Published files are read again when they may have changed, and not with every page."""

import os
import tracemalloc
from pathlib import Path

import pytest
from tests.console.offices import Office

from deniable.console.pages import published
from deniable.programme.public.folder import read_public


def fine(office: Office) -> bool:
    return "unchanged, the office signed it" in office.browser("Otto").get("/transcript").text


def test_files_that_stay_as_they_are_are_not_read_again(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "SETTLED", -(10**18))
    office.begin().publish(office.public)
    read: list[str] = []

    def noted(path: Path) -> bytes:
        read.append(path.name)
        return read_public(path)

    monkeypatch.setattr(published, "read_public", noted)
    assert fine(office)
    assert len(set(read)) == 7
    assert len(read) == 14  # for the fingerprint, and for the check
    assert fine(office)
    assert len(read) == 14


def test_a_change_is_seen_though_size_and_time_are_the_same(office: Office) -> None:
    office.begin().publish(office.public)
    assert fine(office)
    file = office.public / "programme.json"
    content, times = file.read_bytes(), file.stat()
    file.write_bytes(content.replace(b"Site visits", b"Site vizits"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.stat().st_size == times.st_size
    assert not fine(office)
    file.write_bytes(content)
    assert fine(office)


def test_the_check_of_changes_can_fail(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fingerprint of names alone."""
    monkeypatch.setattr(published, "_digest", lambda path: path.name)
    with pytest.raises(AssertionError):
        test_a_change_is_seen_though_size_and_time_are_the_same(office)


def test_a_pipe_among_the_files_makes_no_page_wait(office: Office) -> None:
    office.begin().publish(office.public)
    (office.public / "transcript.jsonl").unlink()
    os.mkfifo(office.public / "transcript.jsonl")
    assert not fine(office)


@pytest.mark.parametrize("line", [b"\n", b"ab\n", b"x" * 119 + b"\n"])
def test_a_file_of_very_many_lines_takes_little_memory(office: Office, line: bytes) -> None:
    """The office's signed head is below them."""
    programme = office.begin()
    programme.override(["Ash Mill"], "A storm.", independent=True)
    programme.publish(office.public)
    assert fine(office)
    file = office.public / "transcript.jsonl"
    entry, head = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(entry + line * (6 * 10**6 // len(line)) + head)
    tracemalloc.start()
    try:
        page = office.browser("Otto").get("/transcript").text
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "is not what the office signed" in page
    assert peak < 4 * file.stat().st_size
