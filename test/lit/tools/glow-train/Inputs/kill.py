"""Kills a run of glow-train at random moments, and lets it go on.

usage: kill.py KILLS STATE COMMAND ...

A run is killed after a random number of changes of its file of state, and a moment more.
At the end it runs undisturbed.
"""

import os
import random
import signal
import subprocess
import sys
import time

kills, state, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
draw = random.Random(1805)


def stamp():
    try:
        s = os.stat(state)
        return s.st_mtime_ns, s.st_ino
    except FileNotFoundError:
        return None


landed = 0
for _ in range(kills):
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    seen, changes = stamp(), draw.randrange(3)
    while run.poll() is None and changes >= 0:
        if stamp() != seen:
            seen, changes = stamp(), changes - 1
    time.sleep(draw.random() * 2e-3)
    if run.poll() is None:
        run.send_signal(signal.SIGKILL)
        landed += 1
    run.wait()
print(f"{landed} of {kills} kills came before the end", flush=True)
sys.exit(subprocess.run(command).returncode)
