"""The names of an unannounced draw, sealed in the public transcript for the office itself.

The key is drawn once, when the programme is created, so that every backup has it: an office that lost its records since
can still reveal what it had drawn.
"""

import struct
from dataclasses import dataclass
from typing import Self

from deniable.programme.secrets.vault import Vault
from deniable.programme.transcript.hidden import NUMBER_BYTES, SALT_BYTES, names_commitment
from deniable.state import Secret


@dataclass(frozen=True, repr=False)
class Selected(Secret):
    """What a draw selected, and the salt that hides it."""

    round: int
    targets: tuple[int, ...]
    """Numbers, in the order drawn."""
    salt: bytes

    def committed(self, programme: str) -> str:
        return names_commitment(programme, self.round, self.salt, self.targets)

    def sealed(self, key: bytes, programme: str) -> str:
        """In hexadecimal digits, as many whichever targets these are."""
        packed = self.salt + struct.pack(f">{len(self.targets)}I", *self.targets)
        return Vault(key, programme).seal(_name(self.round), packed).hex()

    @classmethod
    def opened(cls, key: bytes, programme: str, round_: int, capsule: str) -> Self:
        packed = Vault(key, programme).open(_name(round_), bytes.fromhex(capsule))
        numbers = packed[SALT_BYTES:]
        return cls(round_, struct.unpack(f">{len(numbers) // NUMBER_BYTES}I", numbers), packed[:SALT_BYTES])


def _name(round_: int) -> str:
    return f"names/round {round_}"
