"""An audit office at the command line: a folder of its own, and a clock."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.running import Result, Run
from tests.programme.offices import Clock

NAMES = ("Ash Mill", "Birch Works", "Cedar Bank", "Dogwood Clinic")
SETTINGS = ("--name", "Site visits", "--delta", "0.1", "--start", "2026-01-05", "--period", "1D", "--time", "00:00")
INDEPENDENT, BECAUSE = "--independent-of-reports", "--because-of-reports"


@dataclass
class Desk:
    """The office's desk: calls give the result of `deniable programme`, which runs in the desk's folder."""

    run: Run
    folder: Path
    clock: Clock

    def __call__(self, *args: object) -> Result:
        return self.run("programme", *args)

    def done(self, *args: object) -> str:
        """What a command that must succeed prints."""
        result = self(*args)
        assert (result.code, result.err) == (0, ""), result
        return result.out

    def json(self, *args: object) -> Any:
        return json.loads(self.done(*args, "--json"))

    def init(self, *args: object) -> str:
        Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
        return self.done("init", "targets.txt", *SETTINGS, *args)

    def close(self) -> Any:
        """Close the open round a day later."""
        self.clock.tomorrow()
        return self.json("close-round")

    def counts(self) -> dict[str, int]:
        """The active counts, but for those that are 0."""
        found: dict[str, int] = self.json("status", "--show-counts")["confidential"]["active_counts"]
        return {name: count for name, count in found.items() if count}
