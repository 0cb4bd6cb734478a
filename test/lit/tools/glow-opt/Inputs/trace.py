"""Checks a Chrome trace: B and E nest, X lies within, times do not go back."""

import json
import sys

with open(sys.argv[1]) as f:
    events = json.load(f)["traceEvents"]
open_at, last, runs, names = [], 0, 0, set()
for e in events:
    assert e["ts"] >= last - 1e-3, (e, last)
    last = e["ts"]
    if e["ph"] == "B":
        open_at.append(e["name"])
        names.add(e["name"])
    elif e["ph"] == "E":
        assert open_at.pop() == e["name"], e
    else:
        assert e["ph"] == "X" and e["dur"] >= 0, e
        assert open_at[0] == "O2", open_at
        last += e["dur"]
        runs += 1
        assert e["args"]["run"] == runs, e
assert not open_at and runs > 20 and "fixpoint" in names, (open_at, runs, names)
