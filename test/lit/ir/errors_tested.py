"""Fails on a diagnostic id that no test names.

    errors_tested.py GLOW-OPT TESTS

A test names an id as `[E0203]`, or at the begin of a string, as "E0203".
"""

import json
import pathlib
import re
import subprocess
import sys

# What no input can bring about: LLVM refuses no code that we make.
UNTESTED = {"E0824"}

SUFFIXES = {".gir", ".test", ".onnxtxt", ".py", ".c"}
NAMED = re.compile(r'\[([EW]\d{4})\]|"([EW]\d{4})\b')


def main(glow_opt, tests):
    listed = subprocess.run([glow_opt, "-list-errors=json"],
                            capture_output=True, check=True).stdout
    named = set()
    for path in pathlib.Path(tests).rglob("*"):
        if path.name == pathlib.Path(__file__).name:
            continue
        if path.suffix in SUFFIXES and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            named.update(a or b for a, b in NAMED.findall(text))
    bad = 0
    for e in json.loads(listed):
        if e["id"] not in named and e["id"] not in UNTESTED:
            print(f"{e['id']} has no test: {e['summary']}")
            bad += 1
        if e["id"] in named and e["id"] in UNTESTED:
            print(f"{e['id']} has a test, but is said to have none")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
