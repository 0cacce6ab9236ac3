"""Forms that outlive a session: what a person typed is sealed, kept in their own browser, and opened for them alone.

The server keeps nothing. What the browser has tells nothing without the console's key, and is of use to no other
person. Passwords, one-time codes and files are never among it. Its length goes up in steps, and hardly tells how much
was typed: an observer of the network sees how long the sign-in page is.
"""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from deniable.errors import DeniableError
from deniable.programme.secrets.vault import Vault

LASTS = timedelta(hours=12)
MOST = 48 * 1024
"""Characters of what is sealed: it must fit into the form for signing in. A longer form is not kept."""
STEP = 2048
"""Bytes, to a multiple of which what is sealed is filled up."""
NEVER_KEPT = {"csrf", "password", "old", "again", "code", "kept"}
_SEALED = re.compile(rf"[A-Za-z0-9_-]{{1,{MOST}}}={{0,2}}")


@dataclass(frozen=True, repr=False)
class KeptForm:
    path: str
    """Where it was to be sent."""
    fields: tuple[tuple[str, str], ...]
    """Names and what was typed, in their order."""


def seal(key: bytes, person: str, form: KeptForm, now: datetime) -> str | None:
    """For the person of this id; None where there is too much of it."""
    kept = [pair for pair in form.fields if pair[0] not in NEVER_KEPT]
    content = json.dumps([form.path, kept, (now + LASTS).timestamp()], ensure_ascii=False).encode()
    filled = content.ljust(-(-len(content) // STEP) * STEP)
    sealed = base64.urlsafe_b64encode(_vault(key).seal(person, filled)).decode()
    return sealed if len(sealed) <= MOST else None


def opened(key: bytes, person: str, sealed: str, now: datetime) -> KeptForm | None:
    """What was sealed for this person; None where it is another person's, altered, or too old."""
    if not is_sealed(sealed):
        return None
    try:
        content = _vault(key).open(person, base64.urlsafe_b64decode(sealed))
    except (DeniableError, ValueError):
        return None
    path, fields, until = json.loads(content)
    return KeptForm(path, _pairs(fields)) if now.timestamp() < until else None


def is_sealed(given: str) -> bool:
    """Whether it looks so, and may be given back to the browser that sent it."""
    return _SEALED.fullmatch(given) is not None


def _pairs(fields: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in fields)


def _vault(key: bytes) -> Vault:
    return Vault(key, "kept forms")
