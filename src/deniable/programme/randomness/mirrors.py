"""Where beacons come from: drand's mirrors on the web, and files with what a mirror answered."""

import base64
import ipaddress
import json
import socket
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTP_PORT, HTTPS_PORT, HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from deniable.errors import DeniableError, check_positive, why
from deniable.message import Message, all_of, why_not
from deniable.programme.randomness.drand import SCHEME, Beacon, Chain, check_round, first_wrong

MIRRORS: tuple[str, ...] = (
    "https://api.drand.sh",
    "https://api2.drand.sh",
    "https://api3.drand.sh",
    "https://drand.cloudflare.com",
)
LARGEST = 10_000
"""Bytes of an answer; a beacon has a few hundred."""
_NOT_YET = why_not("{mirror} does not have it yet")
_BUSY = why_not("{mirror} is too busy")
_WRONG = why_not("{mirror} gave a wrong answer")
_SILENT = why_not("{mirror} did not answer")
_WHY_NOT: dict[int, Message] = {
    HTTPStatus.NOT_FOUND: _NOT_YET,
    HTTPStatus.TOO_EARLY: _NOT_YET,
    HTTPStatus.TOO_MANY_REQUESTS: _BUSY,
    HTTPStatus.SERVICE_UNAVAILABLE: _BUSY,
}


class NoBeaconError(DeniableError):
    """No mirror gave the beacon; it may be out later."""


def fetch(chain: Chain, round_: int, mirrors: Sequence[str] = MIRRORS, timeout: float = 5.0) -> Beacon:
    """The first genuine beacon of the round; each mirror has `timeout` seconds in all, one after the other."""
    check_round(round_)
    check_positive("the seconds that a mirror has", timeout)
    reasons = []
    for place in [_place(mirror) for mirror in mirrors]:
        found = _from_mirror(place, chain, round_, timeout)
        if isinstance(found, Beacon):
            return found
        reasons.append(found.filled(mirror=place.hostname))
    told = all_of(reasons or [why_not("none was named")])
    raise NoBeaconError(
        "no mirror gave beacon {beacon} ({told}): it may not be out yet; try again in a few minutes",
        beacon=str(round_),
        told=told,
    )


def check_mirrors(mirrors: Sequence[str]) -> Sequence[str]:
    """Refuse what is no mirror's address, before any is asked."""
    for mirror in mirrors:
        _place(mirror)
    return mirrors


def _from_mirror(place: SplitResult, chain: Chain, round_: int, timeout: float) -> Beacon | Message:
    """The beacon, or why there is none."""
    try:
        status, body = _ask(place, f"{place.path.rstrip('/')}/{chain.hash}/public/{round_}", timeout)
    except (OSError, HTTPException, ValueError):  # ValueError: of a name that no machine can have
        return _SILENT
    if status != HTTPStatus.OK:
        refused: Message = _WHY_NOT.get(status, _WRONG)
        return refused
    beacon = _beacon_in(body)
    if beacon is None or beacon.round != round_ or first_wrong(chain, [beacon]) is not None:
        return _WRONG
    return beacon


def read_beacon(path: Path) -> Beacon:
    """From a file with the JSON that a mirror gives. Whether it is genuine, `check_beacons` says."""
    if (beacon := _beacon_in(_read(path))) is None:
        raise DeniableError(
            "{path} has no beacon of drand; it must be the JSON that a mirror gives for one round", path=path
        )
    return beacon


def beacon_in(content: bytes) -> Beacon:
    """From what such a file has in it."""
    if (beacon := _beacon_in(content)) is None:
        raise DeniableError(
            "the file has no beacon: save what the sender of beacons shows for it, unchanged, and choose that file"
        )
    return beacon


def read_chain(path: Path) -> Chain:
    """From a file with the JSON that a mirror gives at /CHAIN/info."""
    text = _read(path)
    try:
        given = json.loads(text[:LARGEST])
        described = [given[name] for name in ("hash", "public_key", "genesis_time", "period")]
        scheme = given["schemeID"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DeniableError(
            "{path} describes no chain of drand; it must be the JSON that a mirror gives at "
            "/CHAIN/info, with hash, public_key, genesis_time, period and schemeID",
            path=path,
        ) from None
    if scheme != SCHEME:
        raise DeniableError(
            "{path} has a chain with another scheme than {scheme}; its beacons cannot be checked",
            path=path,
            scheme=SCHEME,
        )
    return Chain(*described)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise DeniableError("cannot read {path}: {why}", path=path, why=why(error)) from None


def _beacon_in(text: bytes) -> Beacon | None:
    if len(text) > LARGEST:
        return None
    try:
        given = json.loads(text)
        beacon = Beacon(given["round"], given["signature"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return beacon if given.get("randomness", beacon.randomness) == beacon.randomness else None


def _place(mirror: str) -> SplitResult:
    """A mirror's address. Without TLS others could see which beacon is asked for, so that is for this machine alone."""
    try:
        place = urlsplit(mirror)
        _ = place.port
    except ValueError:
        place = urlsplit("")
    encrypted = place.scheme == "https" or (place.scheme == "http" and _is_loopback(place.hostname or ""))
    if not encrypted or not place.hostname or place.query or place.fragment or "@" in place.netloc:
        raise DeniableError(
            "a mirror of drand must be an address such as {mirrors}, got {mirror}",
            mirrors=MIRRORS[0],
            mirror=ascii(mirror),
        )
    return place


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ask(place: SplitResult, path: str, timeout: float) -> tuple[int, bytes]:
    """Status and body of the answer, or an OSError or HTTPException, after `timeout` seconds at the latest.

    A thread asks, because neither the search for an address nor a server that sends a byte a second has an end of its
    own. When time is up, its connection is cut, and it ends as well.
    """
    deadline = time.monotonic() + timeout
    outcome: SimpleQueue[tuple[int, bytes] | Exception] = SimpleQueue()
    opened: list[socket.socket] = []

    def ask() -> None:
        try:
            with closing(_connection(place, timeout)) as connection:
                connection.connect()
                opened.append(connection.sock)
                if time.monotonic() >= deadline:
                    return  # the caller has left, and will not cut the connection any more
                connection.request("GET", path, headers={"Accept": "application/json", "User-Agent": "deniable"})
                with connection.getresponse() as answer:  # otherwise one that is cut off keeps the socket open
                    outcome.put((answer.status, answer.read(LARGEST + 1)))
        except Exception as error:
            outcome.put(error)

    Thread(target=ask, daemon=True).start()
    try:
        found = outcome.get(timeout=timeout)
    except Empty:
        raise TimeoutError from None
    finally:
        for one in opened:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
    if isinstance(found, Exception):
        raise found
    return found


def _connection(place: SplitResult, timeout: float) -> HTTPConnection:
    """To the mirror, by the proxy that the environment names, if it names one. Redirections are not followed."""
    host = place.hostname or ""
    if place.scheme == "http":
        return HTTPConnection(host, place.port or HTTP_PORT, timeout=timeout)
    port = place.port or HTTPS_PORT
    named = None if proxy_bypass(place.netloc) else getproxies().get("https")
    if not named:
        return HTTPSConnection(host, port, timeout=timeout)
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    connection = HTTPSConnection(proxy.hostname or "", proxy.port or HTTPS_PORT, timeout=timeout)
    headers = {}
    if proxy.username:
        password = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(password.encode()).decode()}"
    connection.set_tunnel(host, port, headers)
    return connection
