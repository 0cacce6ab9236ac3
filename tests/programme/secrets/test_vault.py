"""The vault: each secret opens under its own name, programme and key, and under nothing else."""

import copy
import os
import pickle
import secrets
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.programme.secrets.vault import Kdf, Vault, derive, new_key_file, read_key_file

MASTER = bytes(range(32))
PROGRAMME = "0123456789abcdef" * 2
VAULT = Vault(MASTER, PROGRAMME)
UNREADABLE = "cannot be read: it was changed, or belongs to another row or programme"


# Sealing


@given(st.text(), st.binary(max_size=300))
def test_what_is_sealed_opens_again(name: str, plaintext: bytes) -> None:
    blob = VAULT.seal(name, plaintext)
    assert VAULT.open(name, blob) == plaintext
    assert Vault(MASTER, PROGRAMME).open(name, blob) == plaintext
    assert len(blob) == len(plaintext) + 28


def test_the_plaintext_does_not_show() -> None:
    plaintext = b"a plaintext that is long enough"
    assert plaintext not in VAULT.seal("tally/round 1", plaintext)
    assert VAULT.seal("tally/round 1", plaintext)[12:] != VAULT.seal("tally/round 1", plaintext)[12:]


def test_swapped_names_are_refused() -> None:
    first, second = VAULT.seal("tally/round 1", b"one"), VAULT.seal("tally/round 2", b"two")
    with pytest.raises(DeniableError, match=f"the stored tally/round 1 {UNREADABLE}"):
        VAULT.open("tally/round 1", second)
    with pytest.raises(DeniableError, match=f"the stored tally/round 2 {UNREADABLE}"):
        VAULT.open("tally/round 2", first)


@given(st.text(), st.text())
def test_no_two_names_are_alike(name: str, other: str) -> None:
    blob = VAULT.seal(name, b"secret")
    if name == other:
        assert VAULT.open(other, blob) == b"secret"
    else:
        with pytest.raises(DeniableError):
            VAULT.open(other, blob)


def test_another_programme_is_refused() -> None:
    blob = VAULT.seal("tally/round 1", b"one")
    with pytest.raises(DeniableError, match=UNREADABLE):
        Vault(MASTER, "f" * 32).open("tally/round 1", blob)


def test_the_programme_is_bound_twice() -> None:
    """Keys differ from programme to programme, and so does what is authenticated."""
    other = Vault(MASTER, "f" * 32)
    other._cipher = VAULT._cipher
    with pytest.raises(DeniableError, match=UNREADABLE):
        other.open("tally/round 1", VAULT.seal("tally/round 1", b"one"))
    # Control: with both the same it opens.
    other._programme = PROGRAMME
    assert other.open("tally/round 1", VAULT.seal("tally/round 1", b"one")) == b"one"


def test_another_key_is_refused() -> None:
    blob = VAULT.seal("tally/round 1", b"one")
    with pytest.raises(DeniableError, match=UNREADABLE):
        Vault(bytes(32), PROGRAMME).open("tally/round 1", blob)


def test_truncated_and_longer_blobs_are_refused() -> None:
    blob = VAULT.seal("tally/round 1", b"one")
    for length in range(len(blob)):
        with pytest.raises(DeniableError, match=UNREADABLE):
            VAULT.open("tally/round 1", blob[:length])
    with pytest.raises(DeniableError, match=UNREADABLE):
        VAULT.open("tally/round 1", blob + b"\0")


def test_no_changed_bit_goes_unnoticed() -> None:
    blob = VAULT.seal("tally/round 1", b"one")
    for bit in range(8 * len(blob)):
        changed = bytearray(blob)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DeniableError, match=UNREADABLE):
            VAULT.open("tally/round 1", bytes(changed))


def nonces_differ(vault: Vault, seals: int) -> bool:
    return len({vault.seal("tally/round 1", b"one")[:12] for _ in range(seals)}) == seals


def test_nonces_never_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nonces come from the system, so there is no seed to fix: a repetition among 20,000 random ones of 96 bits
    has probability below 2e8 / 2**96 < 1e-20. The control draws them from 16 bits.
    """
    assert nonces_differ(VAULT, 20_000)
    monkeypatch.setattr(secrets, "token_bytes", lambda n: int.from_bytes(os.urandom(2)).to_bytes(n))
    assert not nonces_differ(VAULT, 70_000)  # more than there are


def test_check_tells_a_wrong_key_from_the_right_one() -> None:
    blob = VAULT.check()
    assert VAULT.matches(blob)
    assert Vault(MASTER, PROGRAMME).matches(blob)
    assert not Vault(bytes(32), PROGRAMME).matches(blob)
    assert not Vault(MASTER, "f" * 32).matches(blob)
    assert not VAULT.matches(blob[:-1])
    assert not VAULT.matches(b"")
    assert not VAULT.matches(VAULT.seal("tally/round 1", b"deniable"))


@pytest.mark.parametrize("master", [b"", bytes(31), bytes(33), "x" * 32, None])
def test_a_master_key_has_32_bytes(master: Any) -> None:
    with pytest.raises(DeniableError, match="the master key must be 32 bytes"):
        Vault(master, PROGRAMME)


# Keys stay inside


def test_keys_are_not_shown() -> None:
    for shown in (repr(VAULT), str(VAULT), f"{VAULT}", repr([VAULT]), repr({"vault": VAULT})):
        assert MASTER.hex() not in shown
    assert repr(VAULT) == f"Vault(programme='{PROGRAMME}')"
    assert not hasattr(VAULT, "__dict__")


def test_the_master_key_is_not_kept() -> None:
    assert MASTER not in [getattr(VAULT, name) for name in Vault.__slots__]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_vault_is_not_pickled(protocol: int) -> None:
    with pytest.raises(DeniableError, match="Vault cannot be copied or pickled"):
        pickle.dumps(VAULT, protocol)
    with pytest.raises(DeniableError, match="Vault cannot be copied or pickled"):
        pickle.dumps({"inside": [VAULT]}, protocol)


def test_a_vault_is_not_copied() -> None:
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(DeniableError, match="Vault cannot be copied or pickled"):
            copied(VAULT)


# Key files


def test_a_new_key_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = new_key_file(path)
    assert read_key_file(path) == key
    assert len(key) == 32
    assert path.read_bytes() == b"deniable-key/1 " + key.hex().encode() + b"\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert new_key_file(tmp_path / "other") != key


def test_a_new_key_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        new_key_file(tmp_path / "key")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = new_key_file(path)
    with pytest.raises(DeniableError, match="exists already; a key file is never overwritten"):
        new_key_file(path)
    assert read_key_file(path) == key
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(DeniableError, match="exists already"):
        new_key_file(link)
    assert not (tmp_path / "nowhere").exists()


def test_a_key_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DeniableError, match=r"cannot write the key file .*: the disk is full"):
        new_key_file(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match=r"cannot write the key file .*: No such file or directory"):
        new_key_file(tmp_path / "nowhere" / "key")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o610, 0o660, 0o777])
def test_a_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    key = new_key_file(path)
    path.chmod(mode)
    with pytest.raises(DeniableError, match=f"must be closed to other users; run: chmod 600 {path}"):
        read_key_file(path)
    path.chmod(0o400)
    assert read_key_file(path) == key


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match=r"there is no key file .*, so put back the copy you keep"):
        read_key_file(tmp_path / "key")


def test_other_kinds_of_file_are_refused(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir(0o700)
    os.mkfifo(pipe, 0o600)
    for path in (folder, pipe, Path("/dev/null")):
        with pytest.raises(DeniableError, match="must be an ordinary file"):
            read_key_file(path)
    with pytest.raises(DeniableError, match="cannot read the key file"):
        read_key_file(tmp_path / ("x" * 300))


def test_a_link_to_a_private_file_is_followed(tmp_path: Path) -> None:
    """Secrets are mounted as links by some container systems."""
    key = new_key_file(tmp_path / "key")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    assert read_key_file(tmp_path / "link") == key


SECRET_HEX = "5ec2e7" * 10 + "beef"


@pytest.mark.parametrize(
    "content",
    [
        "",
        SECRET_HEX + "\n",
        f"deniable-key/2 {SECRET_HEX}\n",
        f"deniable-key/1 {SECRET_HEX[:-1]}\n",
        f"deniable-key/1 {SECRET_HEX}0\n",
        f"deniable-key/1 {SECRET_HEX.upper()}\n",
        f"deniable-key/1 {SECRET_HEX}\n\n",
        f"deniable-key/1 {SECRET_HEX}\nmore",
        f" deniable-key/1 {SECRET_HEX}\n",
        f"deniable-key/1 {SECRET_HEX[:-1]}ü\n",
        f"deniable-key/1 {SECRET_HEX}\n" + "x" * 5000,
    ],
)
def test_bad_content_is_refused_and_not_repeated(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DeniableError, match="is not a key file of deniable, or it was changed") as caught:
        read_key_file(path)
    assert "5ec2e7" not in str(caught.value).lower()
    assert caught.value.__cause__ is None


def test_a_key_file_without_its_last_newline_will_do(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_text(f"deniable-key/1 {SECRET_HEX}", encoding="utf-8")
    assert read_key_file(path).hex() == SECRET_HEX


# Passphrases

KDF = Kdf("00112233445566778899aabbccddeeff")
PHRASE = "correct horse battery"


def test_the_parameters_are_those_of_rfc_9106() -> None:
    assert (KDF.memory_kib, KDF.iterations, KDF.lanes) == (64 * 1024, 3, 4)


def test_derive_is_argon2id() -> None:
    """Against OpenSSL's implementation, which is not the one that `derive` uses."""
    reference = Argon2id(salt=bytes.fromhex(KDF.salt), length=32, iterations=3, lanes=4, memory_cost=65536)
    key = derive(PHRASE, KDF)
    assert key == reference.derive(PHRASE.encode())
    assert len(key) == 32
    assert derive(PHRASE, KDF) == key


def test_another_passphrase_salt_or_cost_gives_another_key() -> None:
    keys = {
        derive(PHRASE, KDF),
        derive(PHRASE + ".", KDF),
        derive(PHRASE, Kdf("ff" * 16)),
        derive(PHRASE, Kdf(KDF.salt, iterations=4)),
        derive(PHRASE, Kdf(KDF.salt, lanes=2)),
    }
    assert len(keys) == 5


def test_a_wrong_passphrase_does_not_match() -> None:
    blob = Vault(derive(PHRASE, KDF), PROGRAMME).check()
    assert Vault(derive(PHRASE, KDF), PROGRAMME).matches(blob)
    assert not Vault(derive(PHRASE.upper(), KDF), PROGRAMME).matches(blob)


def test_accents_may_be_composed_or_not() -> None:
    assert derive("caf\u00e9 au lait !", KDF) == derive("cafe\u0301 au lait !", KDF)


@pytest.mark.parametrize("passphrase", ["", "elevenchars", "e\u0301" * 11])
def test_short_passphrases_are_refused(passphrase: str) -> None:
    with pytest.raises(DeniableError, match="the passphrase must have at least 12 characters") as caught:
        derive(passphrase, KDF)
    assert not passphrase or passphrase not in str(caught.value)


def test_a_passphrase_that_is_not_text_is_refused_and_not_repeated() -> None:
    with pytest.raises(DeniableError, match="the passphrase must be text") as caught:
        derive("twelve chars \ud800", KDF)
    assert caught.value.__cause__ is None
    assert "twelve chars" not in str(caught.value)


def test_kdf_survives_its_dictionary() -> None:
    assert Kdf.from_dict(KDF.to_dict()) == KDF
    assert KDF.to_dict() == {"salt": KDF.salt, "memory_kib": 65536, "iterations": 3, "lanes": 4}
    assert Kdf.new() != Kdf.new()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"salt": "00" * 8}, "salt must be 32 lower-case hexadecimal digits"),
        ({"salt": "FF" * 16}, "salt must be 32 lower-case hexadecimal digits"),
        ({"salt": 1}, "salt must be 32 lower-case hexadecimal digits"),
        ({"memory_kib": 1024}, "memory_kib must be a whole number of at least 65,536, got 1,024"),
        ({"memory_kib": 2**40}, "memory_kib must be at most 4,194,304, got"),
        ({"memory_kib": "65536"}, "memory_kib must be a whole number"),
        ({"iterations": 1}, "iterations must be a whole number of at least 3, got 1"),
        ({"iterations": 10**9}, "iterations must be at most 100, got"),
        ({"lanes": 0}, "lanes must be a whole number of at least 1, got 0"),
        ({"lanes": 1000}, "lanes must be at most 64, got 1,000"),
        ({"more": 1}, "the stored key derivation must have"),
    ],
)
def test_bad_derivations_are_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(DeniableError, match=says):
        Kdf.from_dict(KDF.to_dict() | changed)


@pytest.mark.parametrize("stored", [None, [], {}, "argon2id"])
def test_something_else_than_a_derivation_is_refused(stored: object) -> None:
    with pytest.raises(DeniableError, match="the stored key derivation must have"):
        Kdf.from_dict(stored)
