"""Random numbers that what is entered is hashed with: without a target's nonce, neither key nor receipt tells it.

A target's nonce is destroyed by the next draw, and by its audit or removal before that: from then on nothing that was
entered can be taken back, or found out. A skip keeps it, since its reports go on.
"""

import secrets
from collections.abc import Sequence

from deniable.rules import History

SIZE = 16
"""Bytes of one: how long they all are depends on the number of targets alone."""


def new_nonces(n_targets: int) -> list[bytes]:
    return cut(secrets.token_bytes(SIZE * n_targets))


def cut(joined: bytes) -> list[bytes]:
    """By target."""
    return [joined[at : at + SIZE] for at in range(0, len(joined), SIZE)]


def renewed(nonces: Sequence[bytes], before: History, after: History) -> list[bytes]:
    """Others for the targets whose runs ended, for all after a draw; and those of targets that joined."""
    new = new_nonces(after.audits.shape[1])
    if after.rounds > before.rounds:
        return new
    known = len(nonces)
    goes_on = (before.audits == after.audits[:, :known]) & (before.present == after.present[:, :known])
    return [old if kept else fresh for old, fresh, kept in zip(nonces, new, goes_on[0], strict=False)] + new[known:]
