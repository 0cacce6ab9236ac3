"""Random numbers for hashing what is entered by hand: without a target's nonce, neither key nor receipt shows the
target.

A target's nonce is destroyed when the round's reports are fixed for the draw, and by its audit or removal before that:
from then on nothing that was entered can be taken back, or found out. A skip keeps it, since its reports go on.
"""

import secrets

import numpy as np
from numpy.typing import NDArray

from deniable.rules import History

_SIZE = 16
"""Bytes of one: how long they all are depends on the number of targets alone."""

Nonces = NDArray[np.void]
"""Shape (C,)."""


def new_nonces(n_targets: int) -> Nonces:
    return cut(secrets.token_bytes(_SIZE * n_targets))


def cut(joined: bytes) -> Nonces:
    """By target."""
    return np.frombuffer(joined, f"V{_SIZE}")


def renewed(nonces: Nonces, before: History, after: History) -> Nonces:
    """Others for the targets whose runs ended; and those of targets that joined."""
    new = new_nonces(after.audits.shape[1])
    known = len(nonces)
    goes_on = (before.audits == after.audits[:, :known]) & (before.present == after.present[:, :known])
    return np.concatenate([np.where(goes_on[0], nonces, new[:known]), new[known:]])
