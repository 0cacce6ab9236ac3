"""A line, or a file, of brackets is refused before it is read."""

import json
import tracemalloc
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.programme.bounded_json import MOST_BRACKETS, check_brackets
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.replay import parse

LINES = {
    "one in another": '{"entry":' + "[" * 10**6 + "]" * 10**6 + "}",
    "one beside another": '{"entry":[' + "[]," * 10**6 + "[]]}",
    "objects": '{"entry":[' + "{}," * 10**6 + "{}]}",
    "never closed": '{"a":"\\"[","entry":[' + '{"a":' * 10**6,
    "and then a string that does not end": '{"entry":[' + "[]," * 10**6 + '"',
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_of_brackets_is_refused_before_it_is_read(line: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DeniableError, match=r"^entry 1 has more than 100,000 lists and objects in it"):
            parse(line, 1)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_so_is_a_programme_file() -> None:
    with pytest.raises(DeniableError, match=r"^programme\.json has more than 100,000 lists and objects in it"):
        Parameters.from_bytes(LINES["one beside another"].encode())


def test_brackets_in_names_do_not_count() -> None:
    names = [f'[{{"\\Mill {number}' for number in range(2 * MOST_BRACKETS)]
    check_brackets(json.dumps({"added": names}), "the entry")


VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[{"\\a\n'),
    lambda one: st.lists(one) | st.dictionaries(st.text(), one),
)


@given(VALUES)
def test_as_many_as_there_are(value: object) -> None:
    """The limit is met exactly, whatever stands in strings."""

    def brackets(one: object) -> int:
        if isinstance(one, dict):
            return 1 + sum(map(brackets, one.values()))
        return 1 + sum(map(brackets, one)) if isinstance(one, list) else 0

    most = MOST_BRACKETS - brackets(value) - 1
    for more, is_refused in ((most, False), (most + 1, True)):
        text = json.dumps([value, *[[]] * more])
        with pytest.raises(DeniableError) if is_refused else nullcontext():
            check_brackets(text, "the entry")
