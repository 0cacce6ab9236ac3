"""programme.json as a file: which fields it has, of which types, and how it writes numbers."""

import json
from decimal import ROUND_CEILING
from typing import Any

from deniable.errors import DeniableError
from deniable.programme.bounded_json import check_brackets
from deniable.rounding import nine_digits

FORMAT = "deniable-programme/5"
KEY_FILE_BEGINS = b"deniable-key/1 "
"""The file with a programme's key. It is told here, since what looks for one in a public folder must not be able to
open it.
"""

_TYPES: dict[str, tuple[type, ...]] = {
    "programme": (str,),
    "name": (str,),
    "targets": (list,),
    "mechanism": (str,),
    "delta": (float,),
    "horizon": (int, type(None)),
    "reports_per_person": (int,),
    "audits": (int,),
    "max_gap": (int, type(None)),
    "cooldown": (int,),
    "weights": (list, str, type(None)),
    "classes": (list,),
    "most_counted": (int, type(None)),
    "yearly_figures_delta": (float, type(None)),
    "calendar": (dict,),
    "public_key": (str,),
    "commitment": (str,),
    "oversight": (str, type(None)),
    "reveal_after": (int,),
    "randomness": (dict, type(None)),
    "registered": (list, type(None)),
    "terms": (dict,),
    "languages": (list,),
    "translations": (dict,),
    "calibrated": (float, int),
    "format": (str,),
    "guarantee": (dict,),
}


def read_fields(raw: bytes) -> dict[str, Any]:
    """The fields of programme.json, with the types they must have."""
    check_brackets(raw.decode("latin-1"), "programme.json")
    try:
        stored = json.loads(raw.decode("ascii"))
    except (ValueError, RecursionError):
        raise DeniableError("programme.json is not JSON as deniable writes it") from None
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise DeniableError(
            "programme.json must have format {format}; it was written by another version", format=FORMAT
        )
    if stored.keys() != _TYPES.keys():
        missing, unknown = sorted(_TYPES.keys() - stored.keys()), sorted(stored.keys() - _TYPES.keys())
        wrong = [f"lacks {name}" for name in missing] + [f"has an unknown field {name!a}" for name in unknown]
        raise DeniableError("programme.json {wrong}", wrong=wrong[0])
    for name, types in _TYPES.items():
        if type(stored[name]) not in types:
            raise DeniableError("programme.json has a value of the wrong type for {name}", name=name)
    return stored


def portable(figures: Any) -> Any:
    """The figures with every number rounded up to nine digits.

    Two computers may differ in the last bits of a logarithm; programme.json must come out the same on both.
    """
    if isinstance(figures, dict):
        return {name: portable(value) for name, value in figures.items()}
    if isinstance(figures, float):
        return nine_digits(figures, ROUND_CEILING)
    return figures
