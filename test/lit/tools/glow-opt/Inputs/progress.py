"""Runs a pass that sleeps, on a terminal and not on one."""

import os
import pty
import subprocess
import sys

plugin, module = sys.argv[1:]
command = ["glow-opt", "-plugin=" + plugin, "-faulty.sleep", module, "-o", "/dev/null"]
master, slave = pty.openpty()
on = subprocess.Popen(command, stderr=slave)
off = subprocess.Popen(command, stderr=subprocess.PIPE)
os.close(slave)
said = b""
while True:
    try:
        part = os.read(master, 4096)
    except OSError:  # the other end is closed
        break
    if not part:
        break
    said += part
assert on.wait() == 0
assert off.communicate()[1] == b"" and off.returncode == 0
assert b"2 s: 1: faulty.sleep @main" in said, said
assert said.endswith(b"\r\x1b[K"), said
