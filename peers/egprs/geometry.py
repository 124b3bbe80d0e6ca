#!/usr/bin/env python3
"""C/I of a static EGPRS layout by Monte Carlo, from the formulas alone.

A judge for `crates/cells`: it shares no code and no data file with it, and needs nothing but Python.

    python3 peers/egprs/geometry.py [drops] [sigma_db] [activity] [reuse]

Layout: 25 tri-sector sites on a hexagonal torus, 1500 m apart, boresights 0/120/240 degrees, reuse 1/1, 1/3
(the default) or 5/15 (site colours i + 2 j modulo 5); path loss
120.9 + 37.6 log10(d/km), antenna -min(12 (angle/65)^2, 20) dB, EIRP 57.5 dBm, noise -111 dBm; shadowing with a
correlation of 0.5 between sites; ideal best server; neighbours of the group on air with the given probability.
"""
import math
import random
import sys

SIDE, SPACING = 5, 1500.0


def images():
    for i in (-SIDE, 0, SIDE):
        for j in (-SIDE, 0, SIDE):
            yield i, j


def nearest(u, v):
    """Vector in metres, of the shortest of nine images."""
    best = None
    for i, j in images():
        a, b = u + i, v + j
        x, y = SPACING * (a + b / 2), SPACING * b * math.sqrt(3) / 2
        if best is None or x * x + y * y < best[0] ** 2 + best[1] ** 2:
            best = (x, y)
    return best


def group(cell, reuse):
    i, j, sector = cell
    return {"1/1": 0, "1/3": sector, "5/15": ((i + 2 * j) % 5, sector)}[reuse]


def drop(sigma, activity, reuse):
    u, v = random.random() * SIDE, random.random() * SIDE
    common = random.gauss(0, 1)
    level = {}
    for i in range(SIDE):
        for j in range(SIDE):
            x, y = nearest(u - i, v - j)
            distance = max(math.hypot(x, y), 35.0)
            bearing = math.degrees(math.atan2(y, x))
            shadow = sigma * (math.sqrt(0.5) * common + math.sqrt(0.5) * random.gauss(0, 1))
            for sector in range(3):
                off = (bearing - 120 * sector + 180) % 360 - 180
                antenna = min(12 * (off / 65) ** 2, 20)
                dbm = 57.5 - 120.9 - 37.6 * math.log10(distance / 1000) - antenna - shadow
                level[i, j, sector] = 10 ** (dbm / 10)
    server = max(level, key=level.get)
    others = [p for cell, p in level.items() if group(cell, reuse) == group(server, reuse) and cell != server]
    noise = 10 ** (-111 / 10)
    return 10 * math.log10(level[server] / (noise + sum(p for p in others if random.random() < activity)))


def main():
    drops = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    sigma = float(sys.argv[2]) if len(sys.argv) > 2 else 6.0
    activity = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    reuse = sys.argv[4] if len(sys.argv) > 4 else "1/3"
    random.seed(1)
    ci = sorted(drop(sigma, activity, reuse) for _ in range(drops))
    print("sigma_db activity p5 p10 p50 p90")
    print(sigma, activity, *(f"{ci[int(p * drops)]:.2f}" for p in (0.05, 0.1, 0.5, 0.9)))


main()
