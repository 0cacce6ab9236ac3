"""The random numbers of one round's draw: they follow from the committed seed and from all that goes into the draw.

Were they the seed's alone, a round drawn a second time, from a restored backup say, would tell whether its reports
changed in between: equal audits if they did not. Two draws from different inputs are independent instead
(docs/explanation/end-to-end.md).
"""

import hashlib
import struct
from collections.abc import Sequence

from deniable.noise import ReplayNoise


def noise_of_round(programme: str, number: int, seed: bytes, run: bytes, reports: Sequence[int]) -> ReplayNoise:
    """The generator of round `number`. `run` is the saved run before the round, `reports` are the round's own."""
    inputs = hashlib.sha256(
        b"deniable-inputs/1\n" + hashlib.sha256(run).digest() + struct.pack(f">{len(reports)}Q", *reports)
    ).digest()
    bound = f"deniable-draw/1\n{programme}\n{number}\n".encode("ascii")
    return ReplayNoise(hashlib.shake_256(bound + seed + inputs).digest(32))
