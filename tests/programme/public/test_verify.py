"""The offline check: a folder as published passes, anything done to it is refused with its reason."""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.programme import frozen_offices
from tests.programme.public.published import KEY, NAMES, OTHER_KEY, Said, chained, drawn, fresh, made, programmes, write

from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.parameters import Parameters
from deniable.programme.public.calendar_file import calendar_file
from deniable.programme.public.folder import published_names
from deniable.programme.public.page import render, verify_text
from deniable.programme.public.verify import VerificationResult, verify
from deniable.programme.transcript import signatures
from deniable.programme.transcript.chain import digest, parse_head, signed_head, to_file
from deniable.programme.transcript.coverage import Coverage
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.merkle import root
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.signatures import pem, public_key
from deniable.programme.witness.notes import signed_checkpoint

A, B, C, D = NAMES
NOW = datetime.datetime(2026, 2, 6, tzinfo=datetime.UTC)
"""Four rounds are due."""
OVERRIDE: Said = ("override", 3, {"audits": (C,), "reason": "a court ordered it", "independent": False, "during": 3})
SAID: list[Said] = [drawn(1, A), drawn(2, B, late=2, reason="power cut"), OVERRIDE, drawn(3, A), drawn(4, D)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, made(), chained(made(), SAID))
    return tmp_path


def lines_of(folder: Path) -> list[str]:
    return (folder / "transcript.jsonl").read_text(encoding="ascii").splitlines()


def put(folder: Path, lines: Sequence[str]) -> None:
    (folder / "transcript.jsonl").write_text("".join(f"{text}\n" for text in lines), encoding="ascii")


def rewritten(folder: Path, said: Sequence[Said], **settings: Any) -> Path:
    """What an office that holds the key can publish in the place of what it published before."""
    parameters = made(**settings)
    write(folder, parameters, chained(parameters, said))
    return folder


# What passes


def test_a_folder_as_published(folder: Path) -> None:
    report = verify(folder, now=NOW)
    last = digest(lines_of(folder)[-2])
    assert (report.name, report.entries, report.rounds, report.head) == ("Ports", 5, 4, last)
    assert (report.programme, report.public_key) == (made().digest, public_key(KEY).hex())
    assert report.coverage.holds_from == 4
    assert [(entry.number, entry.kind) for entry in report.remarkable] == [(2, "round"), (3, "override")]
    assert (report.overdue, report.early, report.warnings) == ((), (), ())
    assert (report.pages, report.instructions, report.ended) == ({"index.html": "missing"}, "missing", False)
    assert report.missing == ("checkpoint", "VERIFY.md", "calendar.ics", "index.html")
    (folder / "public_key.pem").unlink()
    there = {"transcript.jsonl", "programme.json"}
    assert verify(folder, now=NOW).to_dict()["missing"] == [one for one in published_names(made()) if one not in there]


def test_a_programme_without_an_entry(tmp_path: Path) -> None:
    write(tmp_path, made(), [])
    report = verify(tmp_path, now=NOW)
    assert (report.entries, report.rounds, report.head) == (0, 0, made().digest)
    assert report.overdue == (1, 2, 3, 4)
    assert report.warnings == ("rounds 1 to 4 are due but not in the transcript",)


@given(programmes())
def test_random_programmes_pass(
    tmp_path_factory: pytest.TempPathFactory, programme: tuple[Parameters, list[Entry]]
) -> None:
    folder = tmp_path_factory.mktemp("public")
    write(folder, *programme)
    assert verify(folder, now=NOW).entries == len(programme[1])


def test_rounds_overdue_and_early(folder: Path) -> None:
    week = datetime.timedelta(days=7)
    assert verify(folder, now=NOW + week).warnings == ("round 5 is due but not in the transcript",)
    early = verify(folder, now=NOW - 2 * week)
    assert early.early == (3, 4)
    assert early.warnings == ("rounds 3 to 4 are in the transcript but not due yet",)


def test_nothing_is_overdue_after_the_end(folder: Path) -> None:
    rewritten(folder, [drawn(1, A), ("end", 2, {"reason": "the law was repealed"})])
    report = verify(folder, now=NOW)
    assert (report.overdue, report.ended) == ((), True)


def test_without_a_time_the_present_counts(tmp_path: Path) -> None:
    write(tmp_path, made(), [])
    assert len(verify(tmp_path).overdue) == made().calendar.rounds_due(datetime.datetime.now(datetime.UTC))


def test_the_report_is_ready_for_json(folder: Path) -> None:
    shown = json.loads(json.dumps(verify(folder, now=NOW).to_dict()))
    assert [(lapse["entry"], lapse["round"]) for lapse in shown["lapses"]] == [(3, 3)]
    assert [entry["reason"] for entry in shown["remarkable"]] == ["power cut", "a court ordered it"]
    assert shown["remarkable"][1]["effect"] == (
        "The promise does not cover reports filed in round 3 or earlier, that is, before Monday 26 January 2026, "
        "00:00 (Europe/Berlin time)."
    )


def test_the_page_is_compared(folder: Path) -> None:
    page, entries = folder / "index.html", chained(made(), SAID)
    page.write_bytes(render(made(), entries, None, plain()).encode())
    assert verify(folder, now=NOW).pages == {"index.html": "matches"}
    page.write_text(page.read_text(encoding="utf-8").replace(A, C), encoding="utf-8")
    report = verify(folder, now=NOW)
    assert report.pages == {"index.html": "differs"}
    assert "index.html is not the page" in report.warnings[0]


def test_the_calendar_is_compared(folder: Path) -> None:
    calendar, state = folder / "calendar.ics", replay(made(), chained(made(), SAID))
    calendar.write_bytes(calendar_file(state, plain()))
    report = verify(folder, now=NOW)
    assert (report.calendar_files, report.warnings) == ({"calendar.ics": "matches"}, ())
    calendar.write_bytes(calendar.read_bytes().replace(b"20260119", b"20260120"))
    report = verify(folder, now=NOW)
    assert report.calendar_files == report.to_dict()["calendar_files"] == {"calendar.ics": "differs"}
    assert "calendar.ics is not the calendar" in report.warnings[0]


def test_a_page_or_calendar_in_a_language_that_the_programme_has_not_is_named(folder: Path) -> None:
    for name in ("index.fr.html", "calendar.de.ics", "notes.html"):
        (folder / name).write_text("planted")
    report = verify(folder, now=NOW)
    assert report.unexpected == ("calendar.de.ics", "index.fr.html")
    assert report.to_dict()["unexpected"] == [*report.unexpected]
    told = "is not among the files that this programme publishes"
    assert [warning.split(told)[0] for warning in report.warnings] == ["calendar.de.ics ", "index.fr.html "]


def test_the_instructions_are_compared(folder: Path) -> None:
    """Whoever follows instructions that were changed may check another thing."""
    instructions = folder / "VERIFY.md"
    instructions.write_bytes(verify_text(made()).encode())
    report = verify(folder, now=NOW)
    assert (report.instructions, report.warnings) == ("matches", ())
    instructions.write_text("Trust us.", encoding="ascii")
    report = verify(folder, now=NOW)
    assert report.instructions == report.to_dict()["instructions"] == "differs"
    assert report.warnings == (
        "VERIFY.md is not what this version of deniable writes for this programme: it was changed, or written by "
        "another version",
    )


def test_the_checkpoint_is_compared(folder: Path) -> None:
    """It follows from the signed head; what is verified is the head."""
    lines = lines_of(folder)
    (folder / "checkpoint").write_bytes(signed_checkpoint(made(), parse_head(lines[-1])).to_bytes())
    report = verify(folder, now=NOW)
    assert (report.checkpoint, report.warnings) == ("matches", ())
    (folder / "checkpoint").write_bytes(b"another")
    report = verify(folder, now=NOW)
    assert report.checkpoint == report.to_dict()["checkpoint"] == "differs"
    assert "checkpoint is not the one" in report.warnings[0]


def test_neither_a_database_nor_jinja2_is_needed(folder: Path) -> None:
    (folder / "index.html").write_text("<html>", encoding="ascii")
    code = (
        "import sys; sys.modules.update(sqlalchemy=None, jinja2=None)\n"
        "from pathlib import Path; from deniable.programme.public.verify import verify\n"
        "print(verify(Path(sys.argv[1])).pages['index.html'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True, env=os.environ
    )
    assert done.stdout == "unchecked\n"


OFFLINE = """if True:
    import socket
    import sys

    def alarm(event, _):
        if event.startswith("socket."):
            print("the network was asked", file=sys.stderr)
            sys.stderr.flush()
            raise SystemExit(99)

    from deniable.cli.main import main
    sys.addaudithook(alarm)
    {planted}
    sys.exit(main(["programme", "verify", sys.argv[1]]))
"""


def checked_offline(folder: Path, planted: str = "") -> int:
    """The exit code of the command, in a process that ends as soon as it asks the network for anything."""
    code = OFFLINE.format(planted=planted)
    return subprocess.run([sys.executable, "-c", code, str(folder)], check=False, capture_output=True).returncode


def test_no_network_is_asked(tmp_path: Path) -> None:
    """So a check tells no one that it is made; also where beacons of drand are checked."""
    office = frozen_offices.made(tmp_path, randomness=frozen_offices.DRAND)
    frozen_offices.draw(office)
    assert checked_offline(office.programme.publish(tmp_path / "public")) == 0


def test_a_question_to_the_network_is_noticed(folder: Path) -> None:
    """Negative control."""
    assert checked_offline(folder, "socket.getaddrinfo('localhost', 80)") == 99


# What is refused, by somebody without the key


def cut(lines: list[str]) -> list[str]:
    return lines[:-1]


def cut_under_the_head(lines: list[str]) -> list[str]:
    return [*lines[:-2], lines[-1]]


def dropped(lines: list[str]) -> list[str]:
    return [*lines[:2], *lines[3:]]


def reordered(lines: list[str]) -> list[str]:
    return [lines[1], lines[0], *lines[2:]]


def repeated(lines: list[str]) -> list[str]:
    return [lines[0], *lines]


def edited(lines: list[str]) -> list[str]:
    return [lines[0].replace(A, C), *lines[1:]]


def edited_last(lines: list[str]) -> list[str]:
    return [*lines[:-2], lines[-2].replace(D, C), lines[-1]]


def with_another_commitment(lines: list[str]) -> list[str]:
    return [lines[0].replace(fresh(1), fresh(77)), *lines[1:]]


def declared_independent(lines: list[str]) -> list[str]:
    return [*lines[:2], lines[2].replace("false", "true"), *lines[3:]]


def spaced(lines: list[str]) -> list[str]:
    return [lines[0].replace(",", ", ", 1), *lines[1:]]


def with_other_line_breaks(lines: list[str]) -> list[str]:
    return [f"{text}\r" for text in lines]


def with_another_head(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1].replace(root(lines[:-1]).hex(), fresh(77))]


TAMPERED: list[tuple[Callable[[list[str]], list[str]], str]] = [
    (cut, "must end with the line of the signed head"),
    (cut_under_the_head, "must have the 5 entries that its signed head speaks of, got 4"),
    (dropped, "must have the 5 entries that its signed head speaks of, got 4"),
    (reordered, "entry 1 is numbered 2"),
    (repeated, "must have the 5 entries that its signed head speaks of, got 6"),
    (with_other_line_breaks, "a program changed the line breaks on the way"),
    (edited, r"entry 2 \(round\) is not valid: it does not follow on entry 1"),
    (edited_last, "entry 5 is not the one that the signed head speaks of"),
    (with_another_commitment, r"entry 2 \(round\) is not valid: it does not follow on entry 1"),
    (declared_independent, r"entry 4 \(round\) is not valid: it does not follow on entry 3"),
    (spaced, "entry 1 must be a JSON object in the canonical form"),
    (with_another_head, "entry 5 is not the one that the signed head speaks of"),
]


@pytest.mark.parametrize(("tamper", "why"), TAMPERED)
def test_tampering_is_refused(folder: Path, tamper: Callable[[list[str]], list[str]], why: str) -> None:
    put(folder, tamper(lines_of(folder)))
    with pytest.raises(DeniableError, match=why):
        verify(folder, now=NOW)


def test_a_rewritten_transcript_needs_the_key(folder: Path) -> None:
    """Chain and head are made to fit again, and signed with another key, or with the old signature."""
    old = json.loads(lines_of(folder)[-1])
    entries = chained(made(), SAID[:-1])
    write(folder, made(), entries, key=OTHER_KEY)
    with pytest.raises(DeniableError, match="the transcript's head was not signed with the programme's key"):
        verify(folder, now=NOW)
    forged = json.loads(lines_of(folder)[-1]) | {"signature": old["signature"]}
    put(folder, [*lines_of(folder)[:-1], json.dumps(forged, sort_keys=True, separators=(",", ":"))])
    with pytest.raises(DeniableError, match="the transcript's head was not signed"):
        verify(folder, now=NOW)


def test_another_programme_json_is_refused(folder: Path) -> None:
    (folder / "programme.json").write_bytes(made(name="Harbours").to_bytes())
    with pytest.raises(DeniableError, match=r"entry 1 \(round\) is not valid: it does not follow on programme\.json"):
        verify(folder, now=NOW)
    write(folder, made(), [])
    (folder / "programme.json").write_bytes(made(name="Harbours").to_bytes())
    with pytest.raises(DeniableError, match="the transcript's head was not signed"):
        verify(folder, now=NOW)


def test_a_head_signed_for_another_programme_is_refused(tmp_path: Path) -> None:
    parameters = made(name="Harbours")
    write(tmp_path, parameters, [])
    put(tmp_path, [signed_head(KEY, made().digest, 0, root([]))])
    with pytest.raises(DeniableError, match="the transcript's head was not signed"):
        verify(tmp_path, now=NOW)


def test_another_public_key_file_is_refused(folder: Path) -> None:
    (folder / "public_key.pem").write_text(pem(public_key(OTHER_KEY)), encoding="ascii")
    with pytest.raises(DeniableError, match=r"public_key\.pem is not the public key that programme\.json names"):
        verify(folder, now=NOW)


def test_a_missing_transcript_is_refused(folder: Path) -> None:
    (folder / "transcript.jsonl").unlink()
    with pytest.raises(DeniableError, match=r"transcript\.jsonl cannot be read: No such file"):
        verify(folder, now=NOW)


def test_a_folder_that_no_programme_published(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match=r"the folder .* has no programme\.json: give the folder that") as refused:
        verify(tmp_path, now=NOW)
    assert str(refused.value.elsewhere).startswith("the public folder has no programme.json")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match=r"the folder .*/pubic does not exist: give the one that holds") as refused:
        verify(tmp_path / "pubic", now=NOW)
    assert str(refused.value.elsewhere).startswith("the public folder does not exist")


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["programme.json", "transcript.jsonl"])
def test_every_flipped_byte_is_refused(folder: Path, name: str, step: int) -> None:
    """At every place of the file, or every `step`-th: one bit, and the bit that changes a letter's case."""
    content = (folder / name).read_bytes()
    for at in range(0, len(content), step):
        for bit in (1, 32):
            changed = bytearray(content)
            changed[at] ^= bit
            (folder / name).write_bytes(changed)
            with pytest.raises(DeniableError):
                verify(folder, now=NOW)


@given(programmes(most=6), st.data())
def test_any_change_of_a_byte_of_any_programme_is_refused(
    tmp_path_factory: pytest.TempPathFactory, programme: tuple[Parameters, list[Entry]], data: st.DataObject
) -> None:
    """Replaced, put in or taken out."""
    folder = tmp_path_factory.mktemp("public")
    write(folder, *programme)
    path = folder / data.draw(st.sampled_from(["programme.json", "transcript.jsonl"]))
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content)))
    put_in = data.draw(st.binary(max_size=1) | st.sampled_from([b"0", b"1", b'"', b"\n", b" ", b"e"]))
    changed = content[:at] + put_in + content[at + data.draw(st.integers(0, 1)) :]
    assume(changed != content)
    path.write_bytes(changed)
    with pytest.raises(DeniableError):
        verify(folder, now=NOW)


# What is refused, by an office that holds the key

AGAINST_THE_RULES: dict[str, tuple[dict[str, Any], list[Said], str]] = {
    "within the cool-down": ({"cooldown": 1}, [drawn(1, A), drawn(2, A)], "did not allow an audit of Ashford"),
    "against the coverage": ({"max_gap": 4}, [drawn(1, A), drawn(2, A)], "did not allow an audit of Ashford"),
    "too many audits": ({}, [drawn(1, A, B)], "a round has 1 audits, got 2"),
    "too few audits": ({"audits": 2}, [drawn(1, A)], "a round has 2 audits, got 1"),
    "a removed target": (
        {},
        [
            ("targets", 1, {"added": (), "removed": (A,), "reason": "closed", "independent": True, "during": 1}),
            drawn(1, A),
        ],
        "Ashford was removed before",
    ),
    "after the end": ({}, [("end", 1, {"reason": "over"}), drawn(1, A)], "nothing can come after its end"),
    "a commitment again": ({}, [drawn(1, A), drawn(2, B), drawn(3, C, commitment=fresh(1))], "must be a new one"),
    "a decision before its round": (
        {},
        [drawn(1, A), ("override", 2, OVERRIDE[2] | {"during": 1})],
        "made during round 2 or later, not during round 1",
    ),
    "a round left out": ({}, [drawn(2, A)], "it belongs to round 2, but round 1 is open"),
}


@pytest.mark.parametrize("what", AGAINST_THE_RULES)
def test_a_signature_does_not_excuse_what_the_rules_forbid(tmp_path: Path, what: str) -> None:
    settings, said, why = AGAINST_THE_RULES[what]
    rewritten(tmp_path, said[:-1], **settings)
    verify(tmp_path, now=NOW)
    rewritten(tmp_path, said, **settings)
    with pytest.raises(DeniableError, match=why):
        verify(tmp_path, now=NOW)


# Against an earlier copy


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    return rewritten(tmp_path / "earlier", SAID[:3])


def accepted(folder: Path, against: Path | str) -> VerificationResult:
    return verify(folder, against=against, now=NOW)


def test_a_continued_copy_passes(folder: Path, earlier: Path, tmp_path: Path) -> None:
    for against in (earlier, earlier / "transcript.jsonl", str(earlier), folder):
        assert accepted(folder, against).entries == 5
    assert accepted(folder, rewritten(tmp_path / "start", [])).entries == 5
    heads = [made().digest, *map(digest, lines_of(folder)[:-1])]
    assert [accepted(folder, head).entries for head in [*heads, heads[-1].upper()]] == [5] * 7


def test_what_is_no_fingerprint_is_called_by_its_name(folder: Path) -> None:
    head = digest(lines_of(folder)[-2])
    for against, why in {
        made().public_key: "is the office's public key: give the fingerprint",
        made().commitment.upper(): "is the commitment to the random number of a round",
        fresh(4): "is the commitment to the random number of a round",
        head[:16]: "must have 64 characters, got 16",
        f"{head[:12]}…": "must have 64 characters, got 12",
        head + "0": "must have 64 characters, got 65",
        "x" * 5000: "which is none of them",
        "\0": "which is none of them",
    }.items():
        with pytest.raises(DeniableError, match=why):
            accepted(folder, against)
    assert accepted(folder, head).head == head


@pytest.mark.parametrize("at", range(3))
def test_a_transcript_that_the_office_rewrote_is_refused(folder: Path, earlier: Path, at: int) -> None:
    head = digest(lines_of(earlier)[-2])
    kind, number, fields = SAID[at]
    rewritten(folder, [*SAID[:at], (kind, number, fields | {"audits": (D,)}), *SAID[at + 1 :]])
    verify(folder, now=NOW)
    for against in (earlier, earlier / "transcript.jsonl"):
        with pytest.raises(DeniableError, match=f"entry {at + 1} is not the same as in the earlier copy"):
            accepted(folder, against)
    with pytest.raises(DeniableError, match=f"the transcript never had the fingerprint {head}"):
        accepted(folder, head)


def test_a_replaced_commitment_is_refused(folder: Path, earlier: Path) -> None:
    rewritten(folder, [drawn(1, A, commitment=fresh(77)), *SAID[1:]])
    with pytest.raises(DeniableError, match="entry 1 is not the same as in the earlier copy"):
        accepted(folder, earlier)


def test_entries_taken_back_are_refused(folder: Path, earlier: Path) -> None:
    with pytest.raises(DeniableError, match="the earlier copy has 5 entries and this one 3"):
        accepted(earlier, folder)


def test_a_programme_under_another_key_is_refused(folder: Path, tmp_path: Path) -> None:
    """Everything anew, down to the key: only an earlier copy or hash can tell."""
    parameters = made(public_key=public_key(OTHER_KEY).hex())
    copy = tmp_path / "copy"
    write(copy, parameters, chained(parameters, SAID), key=OTHER_KEY)
    (copy / "public_key.pem").write_text(pem(public_key(OTHER_KEY)), encoding="ascii")
    assert verify(copy, now=NOW).public_key == public_key(OTHER_KEY).hex()
    with pytest.raises(DeniableError, match=r"programme\.json is not the same as in the earlier copy"):
        accepted(copy, folder)
    with pytest.raises(DeniableError, match="entry 1 is not the same"):
        accepted(copy, folder / "transcript.jsonl")
    empty = rewritten(tmp_path / "empty", []) / "transcript.jsonl"
    with pytest.raises(DeniableError, match="the signed head of the earlier copy is not one that this transcript"):
        accepted(copy, empty)


def test_a_damaged_earlier_copy_is_refused(folder: Path, earlier: Path) -> None:
    put(earlier, [*lines_of(earlier)[:-2], lines_of(earlier)[-1]])
    with pytest.raises(DeniableError, match="the earlier copy is damaged"):
        accepted(folder, earlier)
    with pytest.raises(DeniableError, match="got elsewhere, which is none of them"):
        accepted(folder, "elsewhere")
    (earlier / "transcript.jsonl").write_bytes(to_file([], chained(made(), SAID)[0].line()))
    with pytest.raises(DeniableError, match="must end with the line of the signed head"):
        accepted(folder, earlier)


def test_the_standing_of_a_quiet_programme(tmp_path: Path) -> None:
    assert verify(rewritten(tmp_path, [drawn(1, A)]), now=NOW).coverage == Coverage(made().calendar)


def test_a_programme_that_names_a_key_for_which_anybody_can_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The neutral element as the key, and a head that nobody's key signed."""
    neutral = (1).to_bytes(32, "little")
    parameters = made(public_key=neutral.hex())
    entries = chained(parameters, SAID)
    write(tmp_path, parameters, entries)
    (tmp_path / "public_key.pem").unlink()
    *lines, head = lines_of(tmp_path)
    put(
        tmp_path,
        [*lines, json.dumps(json.loads(head) | {"signature": (neutral + bytes(32)).hex()}, separators=(",", ":"))],
    )
    with pytest.raises(DeniableError, match="got a point of small order, for which anyone can"):
        verify(tmp_path, now=NOW)
    monkeypatch.setattr(signatures, "_has_small_order", lambda _: False)
    assert verify(tmp_path, now=NOW).entries == len(SAID)  # the planted bug
