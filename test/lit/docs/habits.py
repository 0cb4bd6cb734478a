"""Fails unless glow-opt answers each option of a table with what stands beside it.

    habits.py PAGE

Rows are `| `-their-option` | ours |`.
"""

import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"^\| `-([\w-]+)` \| (-.*) \|$", re.M)


def main(page):
    rows = ROW.findall(pathlib.Path(page).read_text(encoding="utf-8"))
    bad = 0
    for theirs, ours in rows:
        done = subprocess.run(["glow-opt", f"-{theirs}"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        if f"here it is {ours.replace(chr(92), '')}" not in done.stderr:
            print(f"-{theirs} is not answered by {ours}: {done.stderr.strip()}")
            bad += 1
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
