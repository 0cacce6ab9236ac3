"""drand's beacons: all in one batch, against one after the other, with a chain of our own key.

    python -m benchmarks.drand [--beacons 1000] [--one-by-one 20]

Seconds are those of the processor, which other processes disturb less than the time on a clock.
"""

import argparse
import time
from collections.abc import Sequence

from benchmarks.rows import Row
from tests.programme.randomness.own_chain import OwnChain

from deniable.programme.randomness.drand import Beacon, Chain, check_beacons


def seconds(chain: Chain, batches: Sequence[Sequence[Beacon]]) -> float:
    began = time.process_time()
    for batch in batches:
        check_beacons(chain, batch)
    return time.process_time() - began


def main(args: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beacons", type=int, default=1000)
    parser.add_argument("--one-by-one", type=int, default=20, help="how many to check one after the other")
    given = parser.parse_args(args)
    own = OwnChain()
    beacons = [own.sign(round_) for round_ in range(1, given.beacons + 1)]
    check_beacons(own.chain, beacons[:1])  # imports what it needs, and reads the key
    single = seconds(own.chain, [[beacon] for beacon in beacons[: given.one_by_one]]) / given.one_by_one
    batch = seconds(own.chain, [beacons])
    print(f"{given.beacons:,} beacons; one after the other from the mean of {given.one_by_one:,}\n")
    print("| checked | seconds | ms a beacon | against the batch |\n| --- | ---: | ---: | ---: |")
    for name, taken in (("in one batch", batch), ("one after the other", single * given.beacons)):
        print(f"| {name} | {taken:.1f} | {1000 * taken / given.beacons:.1f} | {taken / batch:.1f} x |")
    what = f"{given.beacons:,} of drand's beacons checked in one batch"
    return [Row(what, 1000 * batch / given.beacons, "one after the other", 1000 * single, "ms a beacon")]


if __name__ == "__main__":
    main()
