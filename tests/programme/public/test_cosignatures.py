"""Countersignatures in a public folder: whatever lies there is read, and only what the reader trusts counts."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.programme.public.published import KEY, NAMES, OTHER_KEY, Said, chained, drawn, made, write

from deniable.errors import DeniableError
from deniable.programme.public import cosignatures
from deniable.programme.public.cosignatures import COSIGNATURES, put_note, read_key
from deniable.programme.public.publish import publish
from deniable.programme.public.verify import VerificationResult, verify
from deniable.programme.transcript.chain import parse_head, signed_head
from deniable.programme.transcript.merkle import root
from deniable.programme.transcript.signatures import public_key
from deniable.programme.witness.notes import COSIGNATURE, Note, Signature, VerifierKey, office_key, signed_checkpoint

A, B, C, D = NAMES
SAID: list[Said] = [
    drawn(1, A),
    drawn(2, B),
    drawn(3, A),
    ("override", 4, {"audits": (C,), "reason": "a court ordered it", "independent": True, "during": 4}),
]
NOW = datetime(2026, 1, 27, tzinfo=UTC)
"""Three rounds are due."""
NOON = datetime(2026, 2, 2, 12, tzinfo=UTC)
UNION, PAPER = bytes(range(2, 34)), bytes(range(3, 35))


def key_of(private: bytes, name: str = "union.example") -> VerifierKey:
    return VerifierKey(name, COSIGNATURE, public_key(private))


KEYS = (key_of(UNION), key_of(PAPER, "paper.example/desk"))


def checkpoint(said: Sequence[Said], key: bytes = KEY) -> Note:
    lines = [entry.line() for entry in chained(made(), said)]
    return signed_checkpoint(made(), parse_head(signed_head(key, made().digest, len(lines), root(lines))))


def note(said: Sequence[Said], private: bytes = UNION, name: str = "union.example", time: datetime = NOON) -> Note:
    return checkpoint(said).cosigned(name, private, int(time.timestamp()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "public"
    write(folder, made(), chained(made(), SAID))
    return folder


def put(folder: Path, content: bytes | Note, name: str = "note") -> Path:
    path = folder / COSIGNATURES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.to_bytes() if isinstance(content, Note) else content)
    return path


def checked(folder: Path, *keys: VerifierKey, at_least: int | None = None) -> VerificationResult:
    return verify(folder, now=NOW, witnesses=keys or KEYS, at_least=at_least)


def test_none_is_asked_for(folder: Path) -> None:
    """Nothing that lies there is looked at."""
    put(folder, b"garbage")
    report = verify(folder, now=NOW)
    assert (report.witnessed, report.warnings, report.to_dict()["witnessed"]) == ((), (), [])


def test_what_was_countersigned(folder: Path) -> None:
    for size, hours in ((4, 3), (1, 1), (2, 2)):
        put(folder, note(SAID[:size], time=NOON + timedelta(hours=hours)), f"any/where/{size}")
    put(folder, note(SAID[:3], PAPER, "paper.example/desk"))
    union, paper = checked(folder).witnessed
    assert (union.name, [*union.countersignatures]) == (
        "union.example",
        [(1, NOON + timedelta(hours=1)), (2, NOON + timedelta(hours=2)), (4, NOON + timedelta(hours=3))],
    )
    assert (paper.name, [*paper.countersignatures]) == ("paper.example/desk", [(3, NOON)])
    assert checked(folder).to_dict()["witnessed"][1] == {
        "name": "paper.example/desk",
        "key": str(KEYS[1]),
        "countersigned": [{"entries": 3, "time": "2026-02-02T12:00:00+00:00"}],
    }


def test_how_many_have_seen_an_entry(folder: Path) -> None:
    put(folder, note(SAID, time=NOON + timedelta(hours=1)), "one")
    put(folder, note(SAID[:2], time=NOON), "other")
    put(folder, note(SAID[:3], PAPER, "paper.example/desk", NOON + timedelta(hours=2)))
    report = checked(folder)
    assert [report.seen_by(entry) for entry in range(6)] == [2, 2, 2, 2, 1, 0]
    second = timedelta(seconds=1)
    for entry, before, expected in [
        (2, NOON, 0),
        (2, NOON + second, 1),
        (3, NOON + timedelta(hours=1), 0),
        (3, NOON + timedelta(hours=1) + second, 1),
        (3, NOON + timedelta(hours=2) + second, 2),
        (4, NOON + timedelta(days=1), 1),
    ]:
        assert report.seen_by(entry, before) == expected


def test_the_earliest_time_counts(folder: Path) -> None:
    for number, hours in enumerate((2, 1, 3)):
        put(folder, note(SAID, time=NOON + timedelta(hours=hours)), str(number))
    assert checked(folder).witnessed[0].countersignatures == ((4, NOON + timedelta(hours=1)),)


def test_one_file_with_several_countersignatures(folder: Path) -> None:
    """As other programs for transparency logs keep them; and without the office's own line."""
    both = note(SAID).cosigned("paper.example/desk", PAPER, int(NOON.timestamp()) + 5)
    put(folder, Note(both.text, both.signatures[1:]))
    assert checked(folder, at_least=2).seen_by(4) == 2


# How many there must be


def test_enough_witnesses(folder: Path) -> None:
    put(folder, note(SAID), "one")
    with pytest.raises(DeniableError, match="entry 3, of round 3, must be countersigned by at least 2"):
        checked(folder, at_least=2)
    put(folder, note(SAID[:2], PAPER, "paper.example/desk"), "other")
    with pytest.raises(DeniableError, match="and is by 1"):
        checked(folder, at_least=2)
    put(folder, note(SAID[:3], PAPER, "paper.example/desk"), "newer")
    report = checked(folder, at_least=2)
    assert report.warnings == ("fewer than 2 witnesses countersigned the entries after entry 3 so far",)
    assert checked(folder, at_least=1).warnings == ()


def test_before_the_first_round_is_closed(tmp_path: Path) -> None:
    write(tmp_path, made(), [])
    with pytest.raises(DeniableError, match=r"programme\.json must be countersigned by at least 1 of the witnesses,"):
        checked(tmp_path, at_least=1)
    put(tmp_path, note([]))
    assert checked(tmp_path, at_least=1).seen_by(0) == 1


@pytest.mark.parametrize("at_least", [0, -1, 3, True])
def test_a_number_that_cannot_be(folder: Path, at_least: int) -> None:
    put(folder, note(SAID))
    with pytest.raises(DeniableError, match=r"witness"):
        checked(folder, at_least=at_least)


def test_two_names_do_not_make_two_witnesses(folder: Path) -> None:
    """The signed message does not name the witness."""
    again = key_of(UNION, "paper.example")
    put(folder, note(SAID), "one")
    put(folder, note(SAID, UNION, "paper.example"), "other")
    with pytest.raises(DeniableError, match=r"union\.example and paper\.example have the same key"):
        checked(folder, KEYS[0], again, at_least=2)
    with pytest.raises(DeniableError, match="got the names of 1"):
        checked(folder, KEYS[0], KEYS[0], at_least=2)
    assert checked(folder, KEYS[0], KEYS[0], at_least=1).seen_by(4) == 1


def test_the_office_is_not_its_own_witness(folder: Path) -> None:
    put(folder, note(SAID, KEY, "union.example"))
    with pytest.raises(DeniableError, match="its own witness"):
        checked(folder, key_of(KEY))
    with pytest.raises(DeniableError, match="not one for countersignatures"):
        checked(folder, office_key(made()))


# Another history


def test_another_history_is_an_error(folder: Path) -> None:
    put(folder, note([SAID[0], drawn(2, D)]))
    with pytest.raises(DeniableError, match=r"union\.example countersigned another history of 2 entries on 2026-02-02"):
        checked(folder)
    with pytest.raises(DeniableError, match="the office signed that one, too"):
        checked(folder)
    assert checked(folder, KEYS[1]).seen_by(0) == 0  # a reader who does not trust the union


@pytest.mark.parametrize("key", [None, OTHER_KEY])
def test_a_history_that_the_office_did_not_sign(folder: Path, key: bytes | None) -> None:
    """Is the witness wrong, or did the office take away its line? That a reader must ask."""
    other = checkpoint([SAID[0], drawn(2, D)], KEY if key is None else key)
    cosigned = (other if key else replace(other, signatures=())).cosigned("union.example", UNION, 1769000000)
    put(folder, cosigned)
    with pytest.raises(DeniableError, match="the office's signature is not on that one"):
        checked(folder)


def test_entries_that_were_taken_back_are_an_error(folder: Path) -> None:
    put(folder, note([*SAID, drawn(4, D)]))
    with pytest.raises(DeniableError, match=r"countersigned 5 entries on 2026-02-02, and this transcript has 4"):
        checked(folder)


# What does not count


def left_aside(folder: Path, *words: str) -> None:
    """Nothing in the folder counts, and a warning says why."""
    report = checked(folder)
    assert (report.seen_by(0), len(report.warnings)) == (0, 1)
    assert all(word in report.warnings[0] for word in words), report.warnings


def test_a_forged_time(folder: Path) -> None:
    cosigned = note(SAID)
    last = cosigned.signatures[-1]
    earlier = replace(last, signature=(last.time - 3600).to_bytes(8, "big") + last.signature[8:])
    put(folder, replace(cosigned, signatures=(*cosigned.signatures[:-1], earlier)))
    left_aside(folder, "1 file", "union.example does not fit")


def test_a_countersignature_moved_to_another_checkpoint(folder: Path) -> None:
    put(folder, replace(checkpoint(SAID), signatures=note(SAID[:2]).signatures))
    left_aside(folder, "does not fit")


def test_a_countersignature_of_another_programme(folder: Path) -> None:
    other = made(name="Harbours")
    head = parse_head(signed_head(KEY, other.digest, 0, root([])))
    put(folder, signed_checkpoint(other, head).cosigned("union.example", UNION, 1769000000))
    left_aside(folder, "another programme")


def test_a_countersignature_of_something_else(folder: Path) -> None:
    put(folder, Note("We like this office.\n", ()).cosigned("union.example", UNION, 1769000000))
    left_aside(folder, "no checkpoint")


def test_an_unknown_key(folder: Path) -> None:
    """Under a known name, or under its own."""
    put(folder, note(SAID, OTHER_KEY), "one")
    put(folder, note(SAID, OTHER_KEY, "stranger.example"), "other")
    report = checked(folder)
    assert (report.seen_by(0), report.warnings) == (0, ())


def test_an_unknown_kind_of_signature_beside(folder: Path) -> None:
    cosigned = note(SAID)
    stranger = Signature("pq.example", b"abcd", bytes(8 + 2420))
    put(folder, replace(cosigned, signatures=(stranger, *cosigned.signatures)))
    assert checked(folder).seen_by(4) == 1


def test_garbage_does_not_hide_what_counts(folder: Path, tmp_path: Path) -> None:
    put(folder, note(SAID), "deep/er/note")
    put(folder, b"garbage", "garbage")
    put(folder, os.urandom(1000), "noise")
    put(folder, b"", "empty")
    put(folder, b"x" * (cosignatures.MOST_BYTES + 1), "large")
    put(folder, b"\n" * cosignatures.MOST_BYTES, "lines")
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(put(folder, note(SAID, PAPER, "paper.example/desk"), "paper"), outside / "paper")
    (folder / COSIGNATURES / "paper").unlink()
    (folder / COSIGNATURES / "link").symlink_to(outside / "paper")
    (folder / COSIGNATURES / "linked folder").symlink_to(outside)
    (folder / COSIGNATURES / "round").symlink_to(folder / COSIGNATURES)
    (folder / COSIGNATURES / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / COSIGNATURES / "pipe")
    report = checked(folder)
    assert [one.has_seen(4) for one in report.witnessed] == [True, False]
    (warning,) = report.warnings
    assert warning.startswith("10 files in cosignatures left aside: this is no signed note")


def test_a_link_instead_of_the_folder(folder: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", note(SAID))
    (folder / COSIGNATURES).symlink_to(tmp_path / "elsewhere" / COSIGNATURES)
    assert checked(folder).seen_by(0) == 0
    (folder / COSIGNATURES).unlink()
    (folder / COSIGNATURES).write_text("a file")
    assert checked(folder).seen_by(0) == 0


def test_folders_without_end(folder: Path) -> None:
    deep = folder / COSIGNATURES / "/".join("d" * 30)
    deep.mkdir(parents=True)
    (deep / "note").write_bytes(note(SAID).to_bytes())
    assert checked(folder).seen_by(0) == 0


def test_ten_thousand_files(folder: Path) -> None:
    for number in range(10_000):
        put(folder, b"garbage", f"{number % 10}/{number}")
    put(folder, note(SAID), "9/note")
    report = checked(folder)
    assert report.seen_by(4) == 1
    assert report.warnings[0].startswith("10,000 files")


@pytest.mark.parametrize("bound", ["MOST_FILES", "MOST_BYTES_IN_ALL"])
def test_too_much(folder: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    for number in range(4):
        put(folder, b"garbage", str(number))
    monkeypatch.setattr(cosignatures, bound, 3)
    with pytest.raises(DeniableError, match="take out what does not belong there"):
        checked(folder)


# Writing


def test_a_note_in_its_place(folder: Path) -> None:
    cosigned = note(SAID, PAPER, "paper.example/desk")
    path = put_note(folder, "paper.example/desk", cosigned)
    assert path == folder / COSIGNATURES / "paper.example" / "desk" / "4"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (cosigned.to_bytes(), 0o644)
    assert put_note(folder, "paper.example/desk", cosigned) == path
    assert checked(folder).seen_by(4) == 1


def test_a_note_is_not_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (folder / COSIGNATURES).mkdir()
    (folder / COSIGNATURES / "union.example").symlink_to(tmp_path / "private")
    with pytest.raises(DeniableError, match="not a link"):
        put_note(folder, "union.example", note(SAID))
    assert [*(tmp_path / "private").iterdir()] == []


def test_a_note_that_cannot_be_written(folder: Path) -> None:
    (folder / COSIGNATURES).write_text("a file")
    with pytest.raises(DeniableError, match="--out FILE"):
        put_note(folder, "union.example", note(SAID))


def test_publishing_leaves_them_alone(tmp_path: Path) -> None:
    lines = [entry.line() for entry in chained(made(), SAID)]

    def published(size: int) -> None:
        publish(made(), lines[:size], signed_head(KEY, made().digest, size, root(lines[:size])), tmp_path)

    published(2)
    path = put_note(tmp_path, "union.example", note(SAID[:2]))
    before = path.read_bytes(), path.stat().st_mtime
    published(4)
    assert (path.read_bytes(), path.stat().st_mtime) == before
    assert checked(tmp_path).seen_by(2) == 1


# The key of a witness


def test_a_key_as_text_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "union.txt").write_text(f"{KEYS[0]}\n")
    assert read_key(str(KEYS[0])) == read_key(str(tmp_path / "union.txt")) == KEYS[0]


def test_what_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("PRIVATE+KEY+union.example+00000000+AAAA\n")
    (tmp_path / "two.txt").write_text(f"{KEYS[0]}\n{KEYS[1]}\n")
    for text, why in {
        str(tmp_path / "nowhere"): "a file that holds one",
        str(tmp_path): "a file that holds one",
        "x" * 5000: "a file that holds one",
        "\0": "a file that holds one",
        str(tmp_path / "private"): "private key",
        str(tmp_path / "two.txt"): "NAME",
        str(KEYS[0]).replace("union", "onion"): "copied wrong",
    }.items():
        with pytest.raises(DeniableError, match=why):
            read_key(text)
