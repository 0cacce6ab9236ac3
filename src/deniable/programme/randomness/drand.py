"""drand: a public network that signs the number of each round, and what a reader checks of a beacon."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from types import ModuleType
from typing import Any

from deniable.errors import DeniableError, check_hexadecimal, check_whole, pip_install
from deniable.message import why_not

SCHEME = "bls-unchained-g1-rfc9380"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 10**6
"""In microseconds, in which times are whole numbers."""


def check_round(round_: int) -> int:
    """The number of a round, which has 64 bits."""
    if check_whole("the round of a drand beacon", round_, least=1) >= 2**64:
        raise DeniableError("the round of a drand beacon must be less than 2^64")
    return round_


@dataclass(frozen=True)
class Chain:
    """A drand network: what a reader must know to check its beacons, and when each is out.

    `genesis` is the time of round 1 in seconds since 1970, `period` the seconds from one round to the next. The scheme
    is `SCHEME`.
    """

    hash: str
    public_key: str
    genesis: int
    period: int

    def __post_init__(self) -> None:
        check_hexadecimal("the hash of a drand chain", self.hash, 64)
        check_hexadecimal("the public key of a drand chain", self.public_key, 192)
        check_whole("the genesis of a drand chain", self.genesis, least=0)
        check_whole("the period of a drand chain", self.period, least=1)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Chain":
        wanted = cls.__dataclass_fields__.keys()
        if not isinstance(fields, Mapping) or fields.keys() != wanted:
            raise DeniableError("a drand chain has the fields {wanted}, and no others", wanted=", ".join(wanted))
        return cls(**fields)

    def round_at(self, instant: datetime) -> int:
        """The first round whose beacon is out at this instant or later.

        >>> QUICKNET.round_at(datetime(2023, 8, 23, 15, 9, 30, tzinfo=UTC))
        2
        >>> QUICKNET.round_at(datetime(2023, 8, 23, 15, 9, 31, tzinfo=UTC))
        3
        """
        if not isinstance(instant, datetime) or instant.utcoffset() is None:
            raise DeniableError("the time of a beacon must be a date and time with a time zone")
        since = (instant - _EPOCH) // timedelta(microseconds=1) - self.genesis * _SECOND
        if since < 0:
            raise DeniableError("the drand chain had not started at that time; choose a later one")
        return 1 - (-since // (self.period * _SECOND))

    def time_of(self, round_: int) -> datetime:
        """When the beacon of this round is out, in UTC.

        >>> QUICKNET.time_of(1000).isoformat()
        '2023-08-23T15:59:24+00:00'
        """
        seconds = self.genesis + (check_round(round_) - 1) * self.period
        try:
            return _EPOCH + timedelta(seconds=seconds)
        except OverflowError:
            raise DeniableError("that round of the drand chain is after the year 9999; choose an earlier one") from None


QUICKNET = Chain(
    hash="52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
    public_key="83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c"
    "8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb"
    "5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
    genesis=1692803367,
    period=3,
)
"""The League of Entropy's network with a beacon every three seconds."""


@dataclass(frozen=True)
class Beacon:
    """The signature of one round, which is the same for all and which no one can foresee."""

    round: int
    signature: str

    def __post_init__(self) -> None:
        check_round(self.round)
        check_hexadecimal("the signature of a drand beacon", self.signature, 96)

    @property
    def randomness(self) -> str:
        return sha256(bytes.fromhex(self.signature)).hexdigest()


def check_beacons(chain: Chain, beacons: Sequence[Beacon]) -> None:
    """Refuse the first beacon that the chain's key did not sign, by its round."""
    if (wrong := first_wrong(chain, beacons)) is not None:
        raise DeniableError(
            "the beacon of drand's round {round} is not genuine: its signature is not that of the chain's key",
            round=str(wrong.round),
        )


def first_wrong(chain: Chain, beacons: Sequence[Beacon]) -> Beacon | None:
    """The first beacon that the chain's key did not sign, found in one batch; None if it signed all."""
    if not beacons:
        return None
    bls = _bls()
    messages = [sha256(beacon.round.to_bytes(8)).digest() for beacon in beacons]
    signatures = [bytes.fromhex(beacon.signature) for beacon in beacons]
    try:
        index = bls.first_wrong(bytes.fromhex(chain.public_key), messages, signatures)
    except ValueError:
        raise DeniableError(_NO_KEY) from None
    return None if index is None else beacons[index]


def check_chain(chain: Chain) -> None:
    """Refuse a chain whose beacons cannot be checked on this machine, before a programme depends on it."""
    bls = _bls()
    try:
        bls.public_key(bytes.fromhex(chain.public_key))
    except ValueError:
        raise DeniableError(_NO_KEY) from None


_NO_KEY = why_not("the public key of the drand chain is not a valid key; copy it again")


def _bls() -> ModuleType:
    """The module that needs py_ecc."""
    limit = sys.getrecursionlimit()
    try:
        from deniable.programme.randomness import bls  # noqa: PLC0415  (optional)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise DeniableError(
            "drand's beacons need py_ecc: run {command} in a copy of the project", command=pip_install("programme")
        ) from None
    finally:  # py_ecc raises it, so far that JSON nested deeply enough would end the process
        sys.setrecursionlimit(limit)
    return bls
