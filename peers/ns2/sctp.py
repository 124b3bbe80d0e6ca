"""Records what ns-2.35's SCTP sends at low rates: one block for each case, under crates/sctp/tests/data.

    python3 sctp.py > ../../crates/sctp/tests/data/ns2-low-rates.csv
"""

import subprocess

print("# ns-2.35 (Debian 2.35): Agent/SCTP, peers/ns2/sctp.tcl. Blocks: window, queue (0: no limit), bit/s, chunks delivered.")
print("# Rows: seconds, TSN (from 1) of each DATA packet that the sender hands to its link.")
for window, queues in (60, (0, 50)), (20, (0, 13)):
    for queue in queues:
        for rate in 9050, 13400, 15600, 21400:
            arguments = [f"rate={rate}", f"window={window}", f"queue={queue or 100000}"]
            lines = subprocess.run(["ns", "sctp.tcl", *arguments], capture_output=True, text=True, check=True).stdout.split("\n")
            rows = [line for line in lines if line[:1].isdigit()]
            (delivered,) = [line.split()[-1] for line in lines if line.startswith("# delivered")]
            print(f"case,{window},{queue},{rate},{delivered}")
            for row in rows:
                t, tsn = row.split(",")
                print(f"{float(t):.3f},{tsn}")
