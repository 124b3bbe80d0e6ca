#!/usr/bin/env python3
"""Delay spikes by a recipe that any simulator can repeat, written as CSV: rep,start_s,length_s.

    spikes.py --min 20 --max 40 [--seed 1] [--reps 100] [--first-rep 0] [--until 4000]

Generator: x <- 16807 x mod (2^31 - 1), u = x / (2^31 - 1). Repetition r of seed S starts from
x = (S * 1000003 + (r + 1)^3 * 40692 + 12345) mod (2^31 - 1), 1 in place of 0, and its first ten draws are thrown away.
Draws, in order: the start of the first spike, its length; then for every further spike the interval and its length.
Intervals run from start to start. The first start is stationary: the rest of an interval seen from a random moment.
Starts are seconds from the start of the transfer.
"""

import argparse
import math
import sys

M = 2**31 - 1


def draws(seed, rep):
    x = (seed * 1000003 + (rep + 1) ** 3 * 40692 + 12345) % M or 1
    for count in range(sys.maxsize):
        x = 16807 * x % M
        if count >= 10:
            yield x / M


def stationary(u, low, high):
    """Inverse of the distribution of the time to the next start, for intervals uniform in (low, high)."""
    area = u * (low + high) / 2
    if area <= low:
        return area
    return high - math.sqrt((high - low) * (high - low) - 2.0 * (high - low) * (area - low))


def spikes(seed, rep, low, high, shortest=3.0, longest=15.0, until=4000.0):
    u = draws(seed, rep)
    start = stationary(next(u), low, high)
    while start < until:
        yield start, shortest + (longest - shortest) * next(u)
        start += low + (high - low) * next(u)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--min", type=float, required=True, help="shortest interval, s")
    words.add_argument("--max", type=float, required=True, help="longest interval, s")
    words.add_argument("--shortest", type=float, default=3.0, help="shortest spike, s")
    words.add_argument("--longest", type=float, default=15.0, help="longest spike, s")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--reps", type=int, default=100)
    words.add_argument("--first-rep", type=int, default=0)
    words.add_argument("--until", type=float, default=4000.0, help="spikes that start before this, s")
    given = words.parse_args()
    print("rep,start_s,length_s")
    for rep in range(given.first_rep, given.first_rep + given.reps):
        for start, length in spikes(given.seed, rep, given.min, given.max, given.shortest, given.longest, given.until):
            print(f"{rep},{start:.9f},{length:.9f}")


if __name__ == "__main__":
    main()
