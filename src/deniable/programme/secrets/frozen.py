"""A frozen round: what its audits follow from, fixed before the public value is out, and the draw itself."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from deniable.noise import ReplayNoise
from deniable.programme.parameters import Parameters
from deniable.programme.secrets.sealed_inputs import Inputs, packed_reports
from deniable.run import AuditRun
from deniable.state import Secret

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, eq=False, repr=False)
class Frozen(Secret):
    """Everything that a round is drawn from, besides the public value. Its length tells public facts alone."""

    inputs: Inputs
    run: bytes
    """Saved, before the round."""

    def hash(self, programme: str) -> str:
        """What may be published of it: the salt and the seed, which stay secret, hide the rest."""
        inputs = self.inputs
        bound = f"deniable-inputs/3\n{programme}\n{inputs.round}\n".encode("ascii")
        run, reports = hashlib.sha256(self.run).digest(), packed_reports(inputs.reports)
        return hashlib.sha256(bound + inputs.salt + inputs.seed + run + reports).hexdigest()

    def _counted(self, parameters: Parameters) -> str:
        """The hash of the state and of what counts in the draw. It is never published, since it has no salt: the office
        chooses the salt when it knows the rest, so a draw that followed from it would be one that the office chose.
        """
        run, counts = hashlib.sha256(self.run).digest(), packed_reports(parameters.weighed(self.inputs.reports))
        return hashlib.sha256(b"deniable-counted/1\n" + run + counts).hexdigest()

    def drawn(
        self, parameters: Parameters, public_value: str, orders: Sequence[Sequence[int]] = ()
    ) -> tuple[AuditRun, tuple[int, ...]]:
        """The run after the round's draw with what this public value adds, and the targets drawn.

        `orders` are the targets of each order since, which does not change the draw.
        """
        programme, round_, seed = parameters.programme, self.inputs.round, self.inputs.seed
        noise = noise_of_draw(programme, round_, seed, public_value, self._counted(parameters))
        run = AuditRun.restore(parameters.built(), self.run, noise)
        drawn = run.select(parameters.weighed(self.inputs.reports), audits=parameters.audits)
        for ordered in orders:
            run.order(ordered)
        return run, drawn

    def to_bytes(self) -> bytes:
        inputs = self.inputs.packed()
        return _LENGTH.pack(len(inputs)) + inputs + self.run

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        (length,) = _LENGTH.unpack_from(stored)
        end = _LENGTH.size + length
        return cls(Inputs.unpacked(stored[_LENGTH.size : end]), stored[end:])


def noise_of_draw(programme: str, round_: int, seed: bytes, public_value: str, counted: str) -> ReplayNoise:
    """The generator of a round's draw: it follows from the secret seed, the public value, the programme, the round and
    the hash of what counts in the draw, and from nothing that the office could choose when it knows these.
    """
    about = f"deniable-draw/3\n{programme}\n{round_}\n{public_value}\n{counted}\n".encode("ascii")
    return ReplayNoise(hashlib.shake_256(about + seed).digest(32))
