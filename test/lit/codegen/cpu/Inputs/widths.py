"""Reads assembly for x86-64 or AArch64 from standard input, and prints the name of
each kernel and how wide the widest vectors are that its functions use: `sve` are
registers of SVE.
"""

import re
import sys

WIDTHS = {"512": r"%zmm\d", "256": r"%ymm\d", "sve": r"\bz\d+\b",
          "128": r"%xmm\d+|\bv\d+\.\d+[bhsd]\b|\bq\d+\b"}


def widest(text):
    return next((w for w, r in WIDTHS.items() if re.search(r, text)), "none")


def main():
    bodies, kernels, body = [], {}, []
    for line in sys.stdin:
        label = re.match(r"([A-Za-z]\w*)(?:\.\d+)?:", line)
        if label:
            body = []
            bodies.append((label[1], body))
        elif line.startswith("\t"):
            body.append(line)
    for name, body in bodies:
        kernels.setdefault(name, set()).add(widest("".join(body)))
    for name, widths in sorted(kernels.items()):
        print(name, *sorted(widths))


main()
