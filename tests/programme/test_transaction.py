"""A database that somebody changed: what does not belong where it is stored is refused, with the reason."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyrage
import pytest
import sqlalchemy as sa
from tests.programme.changed_databases import ELSEWHERE, goes_on, in_third_round, refused
from tests.programme.insight import blobs_of, connected, everything, put, put_state, rows, standing_of, state_of
from tests.programme.offices import TARGETS, Office

from deniable.errors import DeniableError
from deniable.programme.secrets.lock import CHECK
from deniable.programme.secrets.sealed_rows import MANIFEST
from deniable.programme.secrets.vault import Vault, read_key_file
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun
from deniable.storage import tables


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return in_third_round(database, tmp_path)


def vault_of(office: Office) -> Vault:
    return Vault(read_key_file(office.key.path), office.programme.parameters.programme)


def by_the_key(office: Office, blobs: dict[str, bytes]) -> None:
    """Put these rows, and the manifest that fits them, as somebody who has the key could."""
    put(office.database, blobs)
    parameters, vault, stored = office.programme.parameters, vault_of(office), blobs_of(office.database)
    state = state_of(office.database, parameters)
    public = json.dumps([parameters.digest, state.digest, standing_of(office.database)["folder"]])
    manifest = json.loads(vault.open(MANIFEST, stored[MANIFEST]))
    manifest |= {name: sha256(blob).hexdigest() for name, blob in stored.items() if name not in {CHECK, MANIFEST}}
    manifest |= {"public": sha256(public.encode()).hexdigest()}
    put(office.database, {MANIFEST: vault.seal(MANIFEST, json.dumps(manifest).encode())})


def test_another_oversight_body_in_the_parameters(office: Office) -> None:
    """Somebody without the key would have the counts sealed to themselves."""
    recipient = str(pyrage.x25519.Identity.generate().to_public())
    parameters = replace(office.programme.parameters, oversight=recipient)
    state = state_of(office.database, office.programme.parameters)
    with connected(office.database) as connection:
        connection.execute(sa.update(tables.programme), {"parameters": parameters.to_bytes().decode()})
    put_state(office.database, replace(state, parameters=parameters))
    refused(office, "public folder were changed")


def test_a_newer_transcript_in_an_old_database(office: Office) -> None:
    """An attacker without the key puts back an old database, with the public half of a newer one."""
    old = blobs_of(office.database), state_of(office.database, office.programme.parameters)
    office.programme.close_round()
    entries = rows(office.database, tables.entries)
    put(office.database, old[0])
    put_state(office.database, old[1])
    assert len(entries) == 3
    with pytest.raises(DeniableError, match="were changed"):
        office.again().report({"Ash Mill": 1})
    with pytest.raises(DeniableError, match="were changed"):
        office.again().close_round()


def test_a_changed_entry_is_not_shown_as_the_audit_of_its_round(office: Office) -> None:
    with connected(office.database) as connection:
        line = connection.execute(sa.select(tables.entries.c.line).where(tables.entries.c.number == 1)).scalar_one()
        audited = parse(line).own()["audits"][0]
        other = next(name for name in TARGETS if name != audited)
        changed = line.replace(audited, other)
        connection.execute(sa.update(tables.entries).where(tables.entries.c.number == 1), {"line": changed})
    with pytest.raises(DeniableError, match="the stored transcript was changed"):
        office.again().close_round(1)


@pytest.mark.parametrize("folder", [None, "elsewhere"])
def test_another_place_of_publication(office: Office, tmp_path: Path, folder: str | None) -> None:
    """An attacker without the key would have an old database forget what to compare itself with."""
    office.programme.publish(tmp_path / "public")
    with connected(office.database) as connection:
        connection.execute(sa.update(tables.standing), {"folder": folder})
    refused(office, "public folder were changed")
    with pytest.raises(DeniableError, match="public folder were changed"):
        office.programme.report({"Ash Mill": 1})


def test_a_seed_that_was_not_committed_to(office: Office) -> None:
    """Even whoever has the key cannot choose the seed once the round is open."""
    blobs, vault = blobs_of(office.database), vault_of(office)
    seed = vault.open("seed/round 3", blobs["seed"])
    by_the_key(office, {"seed": vault.seal("seed/round 3", bytes(32))})
    refused(office, "the stored seed is not the one that was committed to; restore the last backup")
    by_the_key(office, {"seed": vault.seal("seed/round 3", seed[:31])})
    refused(office, "the stored seed is not the one that was committed to")
    by_the_key(office, {"seed": vault.seal("seed/round 3", seed)})
    goes_on(office, {})


def test_a_run_that_does_not_fit_the_transcript(office: Office) -> None:
    vault, mechanism = vault_of(office), office.programme.parameters.built()
    blobs = blobs_of(office.database)
    kept = AuditRun.restore(mechanism, vault.open("run/round 3", blobs["run"]))
    by_the_key(office, {"run": vault.seal("run/round 3", AuditRun(mechanism).save())})
    refused(office, "the saved run has closed 0 rounds, but 2 are published")
    other = AuditRun(mechanism)
    other.adopt([0])
    other.adopt([0])
    other.order([1])
    by_the_key(office, {"run": vault.seal("run/round 3", other.save())})
    refused(office, "the stored run and the transcript do not fit together; restore the last backup")
    by_the_key(office, {"run": vault.seal("run/round 3", kept.save())})
    goes_on(office, {})


def test_a_tally_for_other_targets(office: Office) -> None:
    vault = vault_of(office)
    blobs = blobs_of(office.database)
    by_the_key(office, {"tally": vault.seal("tally/round 3", bytes(8 * 5))})
    with pytest.raises(
        DeniableError, match="the stored tally and the transcript do not fit together; restore the last backup"
    ):
        office.again().close_round()
    goes_on(office, blobs)


def with_history(state: PublicState, **changes: Any) -> PublicState:
    return replace(state, history=replace(state.history, **changes))


CHANGES: list[tuple[Callable[[PublicState], PublicState], str]] = [
    (lambda state: replace(state, commitment="0" * 64), "the stored seed is not the one that was committed to"),
    (lambda state: replace(state, closed=1), f"round 2/0 {ELSEWHERE}"),
    (lambda state: with_history(state, rounds=1), "the saved run has closed 2 rounds, but 1 are published"),
    (
        lambda state: with_history(state, audits=state.history.audits + 1),
        "the stored run and the transcript do not fit",
    ),
    (lambda state: with_history(state, last=state.history.last * 0), "the stored run and the transcript do not fit"),
    (lambda state: with_history(state, present=~state.history.present), "the stored run and the transcript do not fit"),
]


@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_a_changed_public_state(office: Office, change: Callable[[PublicState], PublicState], says: str) -> None:
    """By somebody who knows how it is written down, and even by somebody who has the key."""
    put_state(office.database, change(state_of(office.database, office.programme.parameters)))
    refused(office, "the stored parameters, state or public folder were changed")
    by_the_key(office, {})
    with pytest.raises(DeniableError, match=says):
        office.again().close_round()


def test_a_damaged_public_state(office: Office) -> None:
    with connected(office.database) as connection:
        blob = bytes(connection.execute(sa.select(tables.public_state.c.blob)).scalar_one())
        changed = blob.replace(b'"closed": 2', b'"closed": 1')
        assert changed != blob
        connection.execute(sa.update(tables.public_state), {"blob": changed})
    with pytest.raises(DeniableError, match="the stored public state is damaged; restore the last backup"):
        office.again().close_round()


def test_changed_parameters(office: Office) -> None:
    with connected(office.database) as connection:
        text = connection.execute(sa.select(tables.programme.c.parameters)).scalar_one()
        connection.execute(sa.update(tables.programme), {"parameters": text.replace('"delta": 0.1', '"delta": 0.2')})
    with pytest.raises(DeniableError, match=r"programme\.json"):
        office.again()


def test_a_changed_entry_is_never_published(office: Office, tmp_path: Path) -> None:
    with connected(office.database) as connection:
        line = connection.execute(sa.select(tables.entries.c.line).where(tables.entries.c.number == 1)).scalar_one()
        changed = line.replace('"late":0', '"late":1').replace('"reason":null', '"reason":"snow"')
        assert changed != line
        connection.execute(sa.update(tables.entries).where(tables.entries.c.number == 1), {"line": changed})
    with pytest.raises(DeniableError, match="the stored transcript was changed: entry 2"):
        office.programme.publish(tmp_path / "public")


def test_closing_a_round_opens_each_secret_once_to_count_and_once_to_draw(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    honest = Vault.open

    def noted(self: Vault, name: str, blob: bytes) -> bytes:
        opened.append(name)
        return honest(self, name, blob)

    monkeypatch.setattr(Vault, "open", noted)
    assert office.programme.close_round().round == 3
    assert Counter(name for name in opened if "round" in name) == {
        "page/round 3/0": 1,
        "nonces/round 3": 1,
        "tally/round 3": 2,
        "run/round 3": 1,
        "seed/round 3": 1,
    }


def test_a_programme_can_have_50_hotlines(office: Office) -> None:
    """The source of what is entered is none of them; the office of this test has one hotline already."""
    for number in range(2, 51):
        office.programme.hotlines.add(f"hotline {number}")
    assert len(office.programme.hotlines.names()) == 50
    before = everything(office.database)
    with pytest.raises(DeniableError, match="at most 50 hotlines"):
        office.programme.hotlines.add("hotline 51")
    assert everything(office.database) == before
