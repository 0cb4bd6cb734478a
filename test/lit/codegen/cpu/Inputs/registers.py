"""Prints the instructions on registers of matrices in each innermost loop of a function.

registers.py FUNCTION < ASSEMBLY
"""

import re
import sys

labels, lines, inside = {}, [], False
for line in sys.stdin:
    if line.startswith(sys.argv[1] + ":"):
        inside = True
    if line.startswith(".Lfunc_end"):
        inside = False
    if not inside:
        continue
    label = re.match(r"(\.LBB\w+):", line)
    jump = re.match(r"\tj\w+\t(\.LBB\w+)", line)
    if label:
        labels = {label.group(1): len(lines)}  # an inner loop has no other label
    lines.append(line)
    if jump and jump.group(1) in labels:
        body = "".join(lines[labels[jump.group(1)] :])
        if "tdpbf16ps" in body:
            print(
                f"{body.count('tileloadd')} loads, {body.count('tdpbf16ps')} products, "
                f"{body.count('tilestored')} stores"
            )
