"""Numba's compiler for the loops of studies, also if there is no folder for what it compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """`numba.njit` with these options, kept for the next process where that is possible.

    Numba refuses to compile at all where neither the installation nor the user's cache can be written to, as in a
    container or a service.
    """

    def decorate(loop: Loop) -> Loop:
        try:
            made: Loop = numba.njit(cache=True, **options)(loop)
        except RuntimeError:
            made = numba.njit(**options)(loop)
        return made

    return decorate
