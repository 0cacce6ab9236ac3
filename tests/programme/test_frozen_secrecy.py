"""The hash of the inputs tells nothing: until the draw, the public sees the same whatever was reported.

Two worlds' public folders before the draw are equal in distribution. All of them but the hash of the inputs is equal to
the byte, and the hash of any inputs is as random as its salt. With one salt, folders of equal inputs are equal to the
byte. Fixed seeds, failure probability 1e-6 a check.
"""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyrage
import pytest
from scipy.stats import chisquare
from tests.programme import planted_bugs
from tests.programme.frozen_offices import draw, freeze, made
from tests.programme.insight import unsealed
from tests.programme.offices import TARGETS, Office, make_tables_at_once
from tests.programme.planted_bugs import Plant
from tests.programme.test_secrecy import seen, stream

from deniable.programme import creation, rounds
from deniable.programme.secrets import vault
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.transcript.hidden import SALT_BYTES

WORLDS: tuple[dict[str, int], ...] = ({TARGETS[0]: 2}, {TARGETS[0]: 3}, {TARGETS[0]: 2, TARGETS[3]: 900}, {})
"""What comes in before the second round is frozen."""
SETTINGS: dict[str, dict[str, Any]] = {
    "race": {},
    "tca": {"mechanism": "tca", "horizon": 20},
    "names that follow": {"reveal_after": 2},
}
SALTS, FAILURE = 1600, 1e-6


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)
    monkeypatch.setattr(creation, "new_key", lambda: bytes(range(32)))


def waiting(folder: Path, reports: dict[str, int], salt: bytes, **settings: Any) -> Office:
    """An office whose second round waits. The first is the same in all worlds, and so is all that chance decides."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as fixed:
        for module in (rounds, vault):  # the second encrypts names that follow
            fixed.setattr(module, "secrets", SimpleNamespace(token_bytes=lambda size: salt[:size]))
        office = made(folder, entropy=stream(1), **settings)
        draw(office)
        if reports:
            office.programme.report(reports)
        freeze(office)
    office.programme.publish(folder / "public")
    return office


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_with_one_salt_folders_of_equal_inputs_are_equal_to_the_byte(tmp_path: Path, settings: dict[str, Any]) -> None:
    """The control: those of another salt, or of other inputs, are not."""
    cases = {"one": (2, b"1"), "same": (2, b"1"), "other salt": (2, b"2"), "other inputs": (3, b"1")}
    for name, (count, salt) in cases.items():
        waiting(tmp_path / name, {TARGETS[0]: count}, salt * SALT_BYTES, **settings)
    one, same, *others = (seen(tmp_path / name / "public") for name in cases)
    assert same == one
    assert one not in others


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_nothing_but_the_hash_depends_on_the_reports(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Frozen, "hash", lambda *_: "ab" * 32)
    for number, reports in enumerate(WORLDS):
        waiting(tmp_path / str(number), reports, bytes(SALT_BYTES), **settings)
    first, *others = (seen(tmp_path / str(number) / "public") for number in range(len(WORLDS)))
    assert all(other == first for other in others)


def frozen_in(office: Office) -> Frozen:
    with office.programme._access.looking() as transaction:
        return transaction.frozen()


def unevenness(frozen: Frozen) -> float:
    """The smallest p-value of all digits of the hash, over salts that are random; a planted bug makes it 0."""
    chance = random.Random(1)
    salted = (replace(frozen, inputs=replace(frozen.inputs, salt=chance.randbytes(SALT_BYTES))) for _ in range(SALTS))
    digits = zip(*(one.hash("ab" * 16) for one in salted), strict=True)
    counted = ([Counter(place)[digit] for digit in "0123456789abcdef"] for place in digits)
    return min(float(chisquare(numbers).pvalue) for numbers in counted)


@pytest.mark.parametrize("reports", WORLDS, ids=str)
def test_the_hash_of_any_inputs_is_as_random_as_its_salt(tmp_path: Path, reports: dict[str, int]) -> None:
    assert unevenness(frozen_in(waiting(tmp_path / "office", reports, bytes(SALT_BYTES)))) > FAILURE / 64


@pytest.mark.parametrize(
    "plant", [planted_bugs.a_frozen_round_without_a_salt, planted_bugs.a_hash_beside_the_digest_of_the_reports]
)
def test_a_hash_that_tells_something_is_found(tmp_path: Path, plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: planted bugs."""
    plant(monkeypatch)
    assert unevenness(frozen_in(waiting(tmp_path / "office", WORLDS[0], bytes(SALT_BYTES)))) < FAILURE / 64


def test_every_round_has_salts_of_its_own(tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    office = made(tmp_path, oversight=str(identity.to_public()), reveal_after=2)
    for _ in range(5):
        draw(office)
    inputs = unsealed(office.database, identity).values()
    salts = {salt for one in inputs for salt in (one.salt, one.names_salt)}
    assert len(salts - {bytes(SALT_BYTES)}) == 10
