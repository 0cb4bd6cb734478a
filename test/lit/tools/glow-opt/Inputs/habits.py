"""Each option that the table of habits names as ours is one."""

import re
import subprocess
import sys

with open(sys.argv[1]) as f:
    rows = re.findall(r'\{"([^"]+)",\s*((?:"[^"]*"\s*)+)\}', f.read())
known = subprocess.run(["glow-opt", "-help"], capture_output=True, text=True).stdout
known = set(re.findall(r"(?<![\w-])-([a-z][a-z-]*)", known))
passes = subprocess.run(["glow-opt", "-list-passes"], capture_output=True, text=True)
known |= {line.split()[0] for line in passes.stdout.splitlines()}
known |= {"passes", "stats", "dce"}
assert len(rows) > 50, rows
for theirs, ours in rows:
    for option in re.findall(r"(?<![\w-])-([a-z][a-z-]*)", ours):
        assert option in known, (theirs, option)
    assert theirs not in known, theirs
