"""How long a process takes to start: `import deniable` and commands that compute nothing, beside NumPy's own import.

The figure is the user time of a whole process, which other processes disturb less than the time on a clock.
"""

import argparse
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.rows import Row

CASES = {
    "`pass`": "pass",
    "`import numpy`": "import numpy",
    "`import deniable`": "import deniable",
    "`import deniable`, a calibrated `Race`": "import deniable; deniable.Race.calibrate(n_targets=50, delta=0.1)",
    "`deniable --version`": "from deniable.cli.main import main; main(['--version'])",
    "`deniable --help`": "from deniable.cli.main import main; main(['--help'])",
    "`deniable programme --help`": "from deniable.cli.main import main; main(['programme', '--help'])",
}
PEER = "`import numpy`"


def user_time(code: str) -> float:
    """Seconds of user time that a new process needs for this code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main(args: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    repeats = parser.parse_args(args).repeats
    times: dict[str, list[float]] = {case: [] for case in CASES}
    for _ in range(repeats):  # in turns, so that a busy moment falls on all of them
        for case, code in CASES.items():
            times[case].append(user_time(code))
    medians = {case: statistics.median(found) for case, found in times.items()}
    print(f"User time of a process, the median of {repeats}\n")
    print(f"| process | ms | beside {PEER} |\n| --- | ---: | ---: |")
    for case, median in medians.items():
        print(f"| {case} | {1000 * median:.0f} | {median / medians[PEER]:.2f} x |")
    return [
        Row(case, 1000 * median, PEER, 1000 * medians[PEER], "ms of a new process")
        for case, median in medians.items()
        if "deniable" in case
    ]


if __name__ == "__main__":
    main()
