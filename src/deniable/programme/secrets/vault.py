"""What keeps a programme's secrets at rest: the master key, which is never in the database, and what it encrypts.

The master key is 32 bytes, from a key file or from a passphrase. An office that loses it loses the open reports and
the signing key; an attacker who has it and the database can read both.
"""

import dataclasses
import json
import os
import re
import secrets
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, SupportsIndex

from argon2.exceptions import HashingError
from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from deniable.errors import DeniableError, check_hexadecimal, check_whole, why
from deniable.programme.programme_file import KEY_FILE_BEGINS
from deniable.storage.files import sync_folder

KEY_BYTES = 32
LEAST_PASSPHRASE = 12
_NONCE_BYTES = 12
SEALING = _NONCE_BYTES + 16
"""Bytes by which a ciphertext is longer than its plaintext."""
_SALT_BYTES = 16
_KEY_FILE = re.compile(KEY_FILE_BEGINS + rb"([0-9a-f]{64})\n?")


class Vault:
    """Seals a programme's secrets under names, and opens each under its own name only.

    A name says what the secret belongs to ("tally/round 12"), so that ciphertexts cannot be exchanged unnoticed. A
    ciphertext is 28 bytes longer than its plaintext; a plaintext's length must not depend on what is secret.

    >>> vault = Vault(bytes(32), "0123456789abcdef0123456789abcdef")
    >>> vault.open("tally/round 1", vault.seal("tally/round 1", b"secret"))
    b'secret'
    >>> vault
    Vault(programme='0123456789abcdef0123456789abcdef')
    """

    __slots__ = ("_cipher", "_programme")

    def __init__(self, master: bytes, programme: str) -> None:
        if not isinstance(master, bytes) or len(master) != KEY_BYTES:
            raise DeniableError("the master key must be {key_bytes} bytes", key_bytes=KEY_BYTES)
        self._programme = programme
        self._cipher = AESGCM(_derived(master, programme, b"deniable-vault/1 encryption"))

    def __repr__(self) -> str:
        return f"Vault(programme={self._programme!r})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise DeniableError("Vault cannot be copied or pickled: its keys must not leave the process")

    def seal(self, name: str, plaintext: bytes) -> bytes:
        """The plaintext under AES-256-GCM: a fresh 12-byte nonce, then the ciphertext with its 16-byte tag."""
        # Nonces are random. The manifest is sealed every second: some 2**25 ciphertexts a year for each process that
        # ticks. NIST's limit for random nonces under one key is 2**32 (SP 800-38D, 8.3); `rekey` begins anew.
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plaintext, self._bound_to(name))

    def open(self, name: str, blob: bytes) -> bytes:
        """What was sealed under this name."""
        try:
            return self._cipher.decrypt(blob[:_NONCE_BYTES], blob[_NONCE_BYTES:], self._bound_to(name))
        except (InvalidTag, ValueError):  # ValueError: cut off within the nonce
            raise DeniableError(
                "the stored {name} cannot be read: it was changed, or belongs to another row or programme", name=name
            ) from None

    def check(self) -> bytes:
        """A ciphertext by which `matches` recognises the programme's key."""
        return self.seal("check", b"deniable")

    def matches(self, blob: bytes) -> bool:
        """Whether this vault has the key, and the programme, of the one that made the `check`."""
        try:
            return self.open("check", blob) == b"deniable"
        except DeniableError:
            return False

    def _bound_to(self, name: str) -> bytes:
        return _encoded("deniable-secret/1", self._programme, name)


def new_key_file(path: Path) -> bytes:
    """Write a new master key into a file of its owner's alone, and return it. An existing file is never touched."""
    key = secrets.token_bytes(KEY_BYTES)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(file, 0o600)  # some file systems do not heed the mode above
            with os.fdopen(file, "wb", closefd=False) as stream:
                stream.write(KEY_FILE_BEGINS + key.hex().encode("ascii") + b"\n")
            os.fsync(file)
        except BaseException:
            Path(path).unlink()  # half a key is worse than none
            raise
        finally:
            os.close(file)
        sync_folder(Path(path).parent)
    except FileExistsError:
        raise DeniableError(
            "{path} exists already; a key file is never overwritten, so name another", path=path
        ) from None
    except OSError as error:
        raise DeniableError("cannot write the key file {path}: {why}", path=path, why=why(error)) from None
    return key


def read_key_file(path: Path) -> bytes:
    """The master key in a file that only its owner can read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not make us wait
    except FileNotFoundError:
        raise DeniableError(
            "there is no key file {path}; nothing secret can be read without it, so put back the copy you keep",
            path=path,
        ) from None
    except OSError as error:
        raise DeniableError("cannot read the key file {path}: {why}", path=path, why=why(error)) from None
    try:
        # Asked of the open file: the path may name another one by now.
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise DeniableError("the key file {path} must be an ordinary file", path=path)
        if status.st_mode & 0o077:
            raise DeniableError("the key file {path} must be closed to other users; run: chmod 600 {path}", path=path)
        content = os.read(file, 1024)
    except OSError as error:
        raise DeniableError("cannot read the key file {path}: {why}", path=path, why=why(error)) from None
    finally:
        os.close(file)
    found = _KEY_FILE.fullmatch(content)
    if found is None:
        raise DeniableError("{path} is not a key file of deniable, or it was changed", path=path)
    return bytes.fromhex(found[1].decode("ascii"))


@dataclass(frozen=True)
class Kdf:
    """How a passphrase becomes a master key: Argon2id with these public parameters.

    The defaults are the memory-constrained choice of RFC 9106.
    """

    salt: str
    """16 random bytes in hex."""
    memory_kib: int = 65536
    iterations: int = 3
    lanes: int = 4

    def __post_init__(self) -> None:
        check_hexadecimal("salt", self.salt, 2 * _SALT_BYTES)
        # Upper limits, so that a changed database cannot exhaust the machine.
        for name, least, most in (("memory_kib", 65536, 4194304), ("iterations", 3, 100), ("lanes", 1, 64)):
            if check_whole(name, getattr(self, name), least) > most:
                raise DeniableError(
                    "{name} must be at most {most}, got {name_2}", name=name, most=most, name_2=getattr(self, name)
                )

    @classmethod
    def new(cls) -> Self:
        """The defaults with a salt of its own."""
        return cls(secrets.token_hex(_SALT_BYTES))

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """What `to_dict` wrote."""
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(stored, dict) or stored.keys() != names:
            raise DeniableError("the stored key derivation must have salt, memory_kib, iterations and lanes")
        return cls(**stored)


def derive(passphrase: str, kdf: Kdf) -> bytes:
    """The master key of a passphrase of at least 12 characters. The same passphrase typed on another keyboard, with
    its accents composed differently, gives the same key.
    """
    typed = unicodedata.normalize("NFC", passphrase)
    if len(typed) < LEAST_PASSPHRASE:
        raise DeniableError(
            "the passphrase must have at least {least_passphrase} characters", least_passphrase=LEAST_PASSPHRASE
        )
    try:
        encoded = typed.encode("utf-8")
    except UnicodeEncodeError:
        raise DeniableError("the passphrase must be text, and some of it is not") from None
    try:
        return hash_secret_raw(
            encoded,
            bytes.fromhex(kdf.salt),
            time_cost=kdf.iterations,
            memory_cost=kdf.memory_kib,
            parallelism=kdf.lanes,
            hash_len=KEY_BYTES,
            type=Type.ID,
        )
    except HashingError:
        raise DeniableError(
            "the key cannot be derived: that needs {memory_kib} MiB of free memory", memory_kib=kdf.memory_kib // 1024
        ) from None


def _derived(master: bytes, programme: str, purpose: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=programme.encode("utf-8"), info=purpose).derive(master)


def _encoded(*parts: str) -> bytes:
    """The parts as bytes from which they can be told apart again."""
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=True).encode("ascii")
