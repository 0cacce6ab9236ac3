"""The receipt of reports that were entered by hand. With it they can be taken back while the round is open."""

import base64
import re
import secrets

from deniable.errors import DeniableError


def new_receipt() -> str:
    """80 random bits, as people can copy them.

    >>> check_receipt(new_receipt().lower().replace("-", " ")).count("-")
    3
    """
    return receipt_from(secrets.token_bytes(10))


def receipt_from(drawn: bytes) -> str:
    """The receipt made of ten bytes. They must be secret to all but the person who enters the reports."""
    return _grouped(base64.b32encode(drawn).decode("ascii"))


def check_receipt(typed: str) -> str:
    """The receipt as it was given out, however it was typed."""
    letters = re.sub(r"[\s-]", "", typed).upper()
    if not re.fullmatch("[A-Z2-7]{16}", letters):
        raise DeniableError("a receipt has 16 letters and digits, such as ABCD-EFGH-2345-WXYZ; type it as it was shown")
    return _grouped(letters)


def _grouped(letters: str) -> str:
    return "-".join(letters[start : start + 4] for start in range(0, len(letters), 4))
