"""What the tests share: a small grid."""

import pytest

import williwaw

SMALL = """
williwaw = 1
title = "A small grid"

[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "30 kbit/s"
delay = "300 ms"
queue = { drop-tail = { limit = "10 packets" } }

[[hop.gate]]
name = "reselection"
every = "uniform(20 s, 40 s)"
first = "stationary"
lasts = "uniform(3 s, 15 s)"

[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { tcp = { profile = "ns2-2001", recovery = "reno", timestamps = true } }
app = { bulk = { bytes = "20 KiB" } }

[run]
repetitions = 5
seed = 1
limit = "1 h"

[grid]
"flow.download.transport.tcp.recovery" = ["reno", "sack"]
"flow.download.transport.tcp.spurious" = ["none", "eifel"]
"""


@pytest.fixture
def small() -> williwaw.Scenario:
    return williwaw.Scenario(SMALL, name="small.toml")
