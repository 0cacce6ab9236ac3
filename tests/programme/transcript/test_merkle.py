"""The hash tree: against the published vectors, against the definition, and one line at a time."""

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.programme.transcript.merkle import Tree, root, roots

# The test data of Certificate Transparency's own trees: leaves, and the roots of the first 0, 1, …, 8 of them.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LINES = [bytes.fromhex(leaf).decode("ascii") for leaf in LEAVES]


def defined(lines: Sequence[str]) -> bytes:
    """MTH as section 2.1 of RFC 6962 defines it."""
    if not lines:
        return hashlib.sha256().digest()
    if len(lines) == 1:
        return hashlib.sha256(b"\0" + lines[0].encode()).digest()
    k = 1
    while 2 * k < len(lines):
        k *= 2
    return hashlib.sha256(b"\1" + defined(lines[:k]) + defined(lines[k:])).digest()


def test_the_published_vectors() -> None:
    assert [root(LINES[:size]).hex() for size in range(9)] == ROOTS
    assert [one.hex() for one in roots(LINES)] == ROOTS


@given(st.lists(st.text(st.characters(max_codepoint=127), max_size=5), max_size=70))
def test_the_definition(lines: list[str]) -> None:
    assert root(lines) == defined(lines)
    assert [*roots(lines)] == [defined(lines[:size]) for size in range(len(lines) + 1)]


@given(st.lists(st.text(st.characters(max_codepoint=127), max_size=5), max_size=40), st.text("ab", max_size=3))
def test_a_stored_tree_goes_on(lines: list[str], line: str) -> None:
    tree = Tree()
    for one in lines:
        tree = tree.after(one)
    again = Tree.from_list(len(lines), tree.to_list())
    assert (again, again.after(line).root) == (tree, defined([*lines, line]))


def test_a_stored_tree_of_another_size_is_refused() -> None:
    with pytest.raises(DeniableError, match="hash tree"):
        Tree.from_list(3, Tree().after("a").to_list())


def test_every_line_and_their_order_matter() -> None:
    """Also that a leaf is no inner node: the root of two lines is not that of one line made of their hashes."""
    lines = ["a", "b", "c"]
    others = [["a", "b"], ["a", "b", "d"], ["b", "a", "c"], ["a", "b", "c", "c"], ["ab", "c"], ["a", "bc"], [""]]
    assert len({root(lines), *map(root, others)}) == len(others) + 1
