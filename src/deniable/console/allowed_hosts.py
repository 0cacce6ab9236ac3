"""Under which name browsers reach the console. A request under another one is refused: a page elsewhere, whose name was
made to point here, would otherwise read what it gets as its own.
"""

import ipaddress
import re
from urllib.parse import urlsplit

from deniable.errors import DeniableError

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_PORTS = {"http": 80, "https": 443}


def checked(origin: str, *, secure: bool) -> str:
    """The origin as browsers write it: in lower case, with the port where it is not the usual one.

    >>> checked("https://Console.example.org:443/", secure=True)
    'https://console.example.org'
    """
    scheme = "https" if secure else "http"
    expected = f"--origin must be what browsers show, such as {scheme}://console.example.org, without a path"
    try:
        parts = urlsplit(origin.lower())
        port = parts.port
    except ValueError:
        raise DeniableError(expected) from None
    is_plain = parts.path in {"", "/"} and not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme == "https" and not secure:
        raise DeniableError(
            "an --origin with https:// needs a web server that has the certificate, in front of the console: give "
            "--behind-proxy too"
        )
    if parts.scheme != scheme or not is_plain or not _is_name(parts.hostname or ""):
        raise DeniableError(expected)
    shown = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{scheme}://{shown}" + ("" if port in {None, _PORTS[scheme]} else f":{port}")


def is_ours(host: str, origin: str | None) -> bool:
    """Whether a request with this Host header was meant for us. Without an origin: for this computer.

    >>> is_ours("localhost:8470", None), is_ours("attacker.example:8470", None)
    (True, False)
    """
    if origin is None:
        return is_loopback(_name_of(host))
    scheme, _, name = origin.partition("://")
    return host.lower().removesuffix(f":{_PORTS[scheme]}") == name


def is_loopback(host: str) -> bool:
    """Whether this name or address always means this computer."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may stand for any address
        return False


def _name_of(host: str) -> str:
    """Without the port; empty where it cannot be read."""
    found = re.fullmatch(r"(\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9.-]+))(:[0-9]{1,5})?", host.lower())
    return "" if found is None else found["six"] or found["name"]


def _is_name(host: str) -> bool:
    if ":" not in host:
        return _NAME.fullmatch(host) is not None
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False
