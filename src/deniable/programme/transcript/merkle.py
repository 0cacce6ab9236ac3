"""The hash tree of RFC 6962 over the entries' lines: its root fixes how the first lines read, whatever follows."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from deniable.errors import DeniableError


@dataclass(frozen=True)
class Tree:
    """The tree of some lines, as far as it takes to add more: the roots of its full subtrees, the largest first.

    >>> Tree().after("one").after("two").root == root(["one", "two"])
    True
    """

    size: int = 0
    subtrees: tuple[bytes, ...] = ()
    """Of 2**k leaves for each bit k of `size` that is set."""

    def after(self, line: str) -> Self:
        """With one more line; it takes as many steps as `size` has bits at its end that are set."""
        subtrees, node, size = [*self.subtrees], _hash(b"\0", line.encode("ascii")), self.size
        while size & 1:
            node = _hash(b"\1", subtrees.pop(), node)
            size >>= 1
        return type(self)(self.size + 1, (*subtrees, node))

    @property
    def root(self) -> bytes:
        """MTH of section 2.1."""
        if not self.subtrees:
            return _hash()
        *larger, node = self.subtrees
        for subtree in reversed(larger):
            node = _hash(b"\1", subtree, node)
        return node

    def to_list(self) -> list[str]:
        """Ready for JSON, without the size."""
        return [subtree.hex() for subtree in self.subtrees]

    @classmethod
    def from_list(cls, size: int, stored: Sequence[str]) -> Self:
        """What `to_list` wrote of a tree of this size."""
        if len(stored) != size.bit_count():
            raise DeniableError("the stored hash tree does not have the entries that there are")
        return cls(size, tuple(map(bytes.fromhex, stored)))


def root(lines: Iterable[str]) -> bytes:
    """That of the tree of these lines, each without its line break."""
    nodes = [_hash(b"\0", line.encode("ascii")) for line in lines] or [_hash()]
    while len(nodes) > 1:
        pairs = zip(nodes[::2], nodes[1::2], strict=False)
        nodes = [*(_hash(b"\1", *pair) for pair in pairs), *nodes[len(nodes) // 2 * 2 :]]
    return nodes[0]


def roots(lines: Iterable[str]) -> Iterator[bytes]:
    """Those of the trees of the first 0, 1, 2, … of these lines; n + 1 of them take n log n steps."""
    return (tree.root for tree in accumulate(lines, Tree.after, initial=Tree()))


def _hash(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()
