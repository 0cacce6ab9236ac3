"""One audit programme's run: a mechanism, its secret state and its noise, one round at a time."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from deniable.errors import DeniableError
from deniable.mechanisms import Mechanism
from deniable.noise import Noise, SystemNoise
from deniable.state import pack, unpack
from deniable.streams import check_round

FORMAT = "deniable-run/1"


class AuditRun:
    """Draws one audit a round.

    >>> import deniable as dn
    >>> run = dn.AuditRun(dn.Race.calibrate(n_targets=3, delta=0.1))
    >>> run.step([4, 0, 1]) in {0, 1, 2}
    True
    >>> run.step({1: 2}) in {0, 1, 2}  # sparse: two reports about target 1
    True
    """

    def __init__(self, mechanism: Mechanism[Any], noise: Noise | None = None) -> None:
        self.mechanism = mechanism
        self._noise = SystemNoise() if noise is None else noise
        self._state = mechanism.init()

    def __repr__(self) -> str:
        return f"AuditRun({self.mechanism!r}, rounds={self.rounds})"

    @property
    def rounds(self) -> int:
        """Rounds closed so far."""
        rounds: int = self._state.rounds
        return rounds

    def step(self, reports: ArrayLike | Mapping[int, int]) -> int:
        """Close a round with these new reports, C counts or {target: count}; returns the audited target, 0-based.

        Where anything is refused, the run is as it was before.
        """
        counts = check_round(reports, self.mechanism.n_targets)
        audits, self._state = self.mechanism.step(self._state, counts[None], self._noise)
        return int(audits[0])

    def save(self) -> bytes:
        """Everything needed to go on later, except the noise. Secret: it holds active counts; encrypt it."""
        body = json.dumps(
            {"format": FORMAT, "mechanism": repr(self.mechanism), "state": pack(self._state)},
            separators=(",", ":"),
        ).encode()
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body

    @classmethod
    def restore(cls, mechanism: Mechanism[Any], blob: bytes, noise: Noise | None = None) -> Self:
        """The run that `save` wrote, going on with `noise` exactly as the saved one would have."""
        digest, _, body = blob.partition(b"\n")
        if digest != hashlib.sha256(body).hexdigest().encode():
            raise DeniableError("the saved run is damaged: its checksum does not match; restore it from a backup")
        saved = json.loads(body)
        if not isinstance(saved, dict) or saved.get("format") != FORMAT:
            raise DeniableError(f"the saved run must have format {FORMAT}; it was written by another version")
        if saved.get("mechanism") != repr(mechanism):
            raise DeniableError(
                f"the saved run belongs to {saved.get('mechanism')}, not to {mechanism!r}; "
                "restore it with its own mechanism"
            )
        run = cls(mechanism, noise)
        run._state = unpack(run._state, saved.get("state"))
        return run
