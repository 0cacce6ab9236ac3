"""Lines, chain and signed head: one form only for each, and no other is read."""

import hashlib
import json
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.public.published import KEY, NAMES, OTHER_KEY, fresh, programmes

from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.chain import (
    check_head,
    check_lines,
    commitment,
    digest,
    from_file,
    parse_head,
    signed_head,
    to_file,
)
from deniable.programme.transcript.entries import KINDS
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import MAX_REASON
from deniable.programme.transcript.merkle import root
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.signatures import public_key

ROUND = {"audits": ("Ashford",), "commitment": fresh(1), "late": 0, "reason": None, "sealed": None}


def entry(kind: str = "round", number: int = 1, **fields: Any) -> Entry:
    values = ROUND | fields if kind == "round" else fields
    return KINDS[kind](number=number, round=1, previous=fresh(0), **values)


def dumped(values: dict[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def test_a_line_is_canonical_json_in_ascii() -> None:
    text = entry("end", reason="Brühl floods").line()
    assert text == (f'{{"entry":1,"kind":"end","previous":"{fresh(0)}","reason":"Br\\u00fchl floods","round":1}}')
    assert digest(text) == hashlib.sha256(text.encode()).hexdigest()


@given(programmes())
def test_every_entry_is_read_back(programme: tuple[Parameters, list[Entry]]) -> None:
    _, entries = programme
    for number, written in enumerate(entries, start=1):
        assert parse(written.line(), number) == written
        assert parse(written.line()) == written


@pytest.mark.parametrize(
    "text",
    [
        entry().line().replace(":", ": "),
        entry().line() + " ",
        entry().line().replace('"audits":["Ashford"],', "")[:-1] + ',"audits":["Ashford"]}',
        entry().line().replace('"late":0', '"late":0,"late":0'),
        entry().line().replace("Ashford", "Br\\u00FChl"),
        entry().line().replace("Ashford", "Brühl"),
        entry().line().replace('"late":0', '"late":-0'),
        "[]",
        "null",
    ],
)
def test_a_line_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(DeniableError, match=r"^entry 1 must be a JSON object in the canonical form"):
        parse(text, 1)


@pytest.mark.parametrize("text", ["", "{", "9" * 5000, "[" * 500, "\x00"])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(DeniableError, match=r"^entry 7 must be a line of JSON$"):
        parse(text, 7)


WHOLE, HEX = "must be a whole number of at least", "must be 64 lower-case hexadecimal digits"
NAME = "a target's name must have 1 to 200 printable characters and no spaces at the ends, got "
REASON = f"the reason must be 1 to {MAX_REASON} printable characters on one line, without spaces at the ends"
FIELDS: list[tuple[str, Any, str]] = [
    ("entry", 0, f"entry {WHOLE} 1"),
    ("entry", True, f"entry {WHOLE} 1"),
    ("entry", "1", f"entry {WHOLE} 1"),
    ("entry", 1.0, f"entry {WHOLE} 1"),
    ("kind", "audit", "this version knows no entry of kind 'audit', only round"),
    ("kind", ["round"], "this version knows no entry of kind ['round'], only round"),
    ("round", 0, f"round {WHOLE} 1"),
    ("round", None, f"round {WHOLE} 1"),
    ("previous", "ab", f"previous {HEX}"),
    ("previous", fresh(0).upper(), f"previous {HEX}"),
    ("audits", [], "audits must be a list of one or more different names of targets"),
    ("audits", "Ashford", "audits must be a list of one or more different names of targets"),
    ("audits", ["Ashford", "Ashford"], "audits has a name twice; write each name once"),
    ("audits", ["Ashford", 3], f"{NAME}int"),
    ("audits", [["Ashford"]], f"{NAME}list"),
    ("audits", [" Ashford"], f"{NAME}' Ashford'"),
    ("audits", ["a\u202eb"], f"{NAME}'a\\u202eb'"),
    ("audits", ["\ud800"], f"{NAME}'\\ud800'"),
    ("audits", {"Ashford": 1}, "audits must be a list of one or more different names of targets"),
    ("commitment", None, f"commitment {HEX}"),
    ("commitment", fresh(1) + "\n", f"commitment {HEX}"),
    ("late", -1, f"late {WHOLE} 0"),
    ("late", False, f"late {WHOLE} 0"),
    ("late", 0.0, f"late {WHOLE} 0"),
    ("late", float("nan"), f"late {WHOLE} 0"),
    ("late", 10**20, "late must be at most 1,000,000,000"),
    ("reason", "", f"write the reason: at most {MAX_REASON} characters, on one line"),
    ("reason", " late", REASON),
    ("reason", "two\nlines", REASON),
    ("reason", "x" * (MAX_REASON + 1), REASON),
    ("sealed", "none", f"sealed {HEX}"),
]


@pytest.mark.parametrize(("field", "value", "says"), FIELDS)
def test_a_field_with_another_value_is_refused(field: str, value: Any, says: str) -> None:
    with pytest.raises(DeniableError, match=f"^the entry: {re.escape(says)}"):
        parse(dumped(json.loads(entry().line()) | {field: value}))


def test_missing_and_unknown_fields_are_refused() -> None:
    values = json.loads(entry().line())
    for field in values:
        with pytest.raises(DeniableError, match=r"must have the field|the fields of the kind round must be"):
            parse(dumped({name: value for name, value in values.items() if name != field}))
    with pytest.raises(
        DeniableError, match="the fields of the kind round must be reason, commitment, late, sealed, audits"
    ):
        parse(dumped(values | {"count": 3}))


def test_a_line_elsewhere_than_it_says_is_refused() -> None:
    with pytest.raises(DeniableError, match=r"^entry 2 is numbered 1: a line was changed, moved or taken out$"):
        parse(entry().line(), 2)


def test_an_error_does_not_quote_a_long_line() -> None:
    with pytest.raises(DeniableError) as refused:
        entry(reason="x" * 10**6)
    assert len(str(refused.value)) < 200


def test_a_commitment_binds_programme_round_and_seed() -> None:
    programme, seed = "ab" * 16, bytes(32)
    expected = hashlib.sha256(b"deniable-seed/1\n" + programme.encode() + b"\n12\n" + seed).hexdigest()
    assert commitment(programme, 12, seed) == expected
    others = {commitment("ac" * 16, 12, seed), commitment(programme, 13, seed), commitment(programme, 12, b"1" * 32)}
    assert len(others | {expected}) == 4


def test_the_head_is_signed_with_the_programme() -> None:
    text = signed_head(KEY, fresh(0), 3, bytes.fromhex(fresh(1)))
    head = parse_head(text)
    assert (head.entries, head.root) == (3, fresh(1))
    assert text == dumped({"entries": 3, "root": fresh(1), "signature": head.signature})
    check_head(public_key(KEY), fresh(0), head)
    for key, parameters_digest in [(OTHER_KEY, fresh(0)), (KEY, fresh(2))]:
        with pytest.raises(DeniableError, match="was not signed with the programme's key"):
            check_head(public_key(key), parameters_digest, head)


@pytest.mark.parametrize(
    ("field", "value"), [("entries", -1), ("entries", "3"), ("root", "00"), ("signature", "00"), ("signature", None)]
)
def test_a_head_in_another_form_is_refused(field: str, value: Any) -> None:
    values = json.loads(signed_head(KEY, fresh(0), 3, bytes.fromhex(fresh(1))))
    with pytest.raises(DeniableError, match=f"^{field} of the signed head must be "):
        parse_head(dumped(values | {field: value}))
    for other in ({**values, "more": 1}, {name: values[name] for name in values if name != field}):
        with pytest.raises(DeniableError, match="the fields of the signed head must be"):
            parse_head(dumped(other))
    with pytest.raises(DeniableError, match="the signed head must be a JSON object in the canonical form"):
        parse_head(json.dumps(values))


def test_a_file_is_its_lines_and_the_head() -> None:
    lines = [entry(number=number).line() for number in (1, 2)]
    head = signed_head(KEY, fresh(0), 2, root(lines))
    content = to_file(lines, head)
    assert content == f"{lines[0]}\n{lines[1]}\n{head}\n".encode()
    assert from_file(content) == (lines, head)
    assert from_file(to_file([], head)) == ([], head)


@given(st.data())
def test_a_file_that_was_cut_is_refused(data: st.DataObject) -> None:
    lines = [entry(number=number).line() for number in (1, 2)]
    content = to_file(lines, signed_head(KEY, fresh(0), 2, root(lines)))
    kept = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DeniableError, match=r"transcript\.jsonl must end with the line of the signed head"):
        from_file(content[:kept])


def peak(step: Callable[[], object]) -> int:
    """The most bytes that it takes at a time; it must be refused."""
    tracemalloc.start()
    try:
        with pytest.raises(DeniableError):
            step()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("short", ["", "ab", "x" * 50])
def test_a_file_of_short_lines_is_refused_before_it_is_cut_into_lines(short: str) -> None:
    head = signed_head(KEY, fresh(0), 10**6, bytes(32))
    content = f"{short}\n".encode() * (10**6 // (len(short) + 1)) + f"{head}\n".encode()
    with pytest.raises(DeniableError, match=r"^transcript\.jsonl has lines that are too short for an entry"):
        from_file(content)
    assert peak(lambda: from_file(content)) < 10**5


def test_lines_of_entries_are_never_too_short() -> None:
    """Nor those at the end of a file of which one byte of the line before is left, or none."""
    shortest = [entry("end", number, reason="x").line() for number in (1, 2, 3)]
    head = signed_head(KEY, fresh(0), 3, root(shortest))
    for content in (to_file(shortest, head), b"}\n" + to_file(shortest, head), b"\n" + to_file(shortest, head)):
        assert from_file(content)[0][-3:] == shortest


def test_a_long_line_is_not_taken_for_the_head() -> None:
    content = b'{"entries":[' + b"[]," * 10**5 + b"[]]}\n"
    with pytest.raises(DeniableError, match="must end with the line of the signed head"):
        from_file(content)


def test_lines_are_counted_before_they_are_hashed() -> None:
    lines = [entry(number=number).line() for number in (1, 2)]
    head = signed_head(KEY, fresh(0), 2, root(lines))
    many = lines * 10_000
    with pytest.raises(DeniableError, match=r"^the signed head is not that of these 20,000 entries$"):
        check_lines(public_key(KEY), fresh(0), many, head)
    assert peak(lambda: check_lines(public_key(KEY), fresh(0), many, head)) < 10**5


def test_a_file_with_other_characters_is_refused() -> None:
    with pytest.raises(DeniableError, match="ASCII"):
        from_file("Brühl\n".encode())


def test_names_of_the_programme_are_names_of_entries() -> None:
    assert parse(entry(audits=list(NAMES)).line()).own()["audits"] == NAMES
