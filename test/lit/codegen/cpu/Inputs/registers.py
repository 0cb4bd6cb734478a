"""Prints the instructions on registers of matrices in each basic block of a function that
multiplies any.

registers.py FUNCTION < ASSEMBLY
"""

import re
import sys

blocks, inside = [[]], False
for line in sys.stdin:
    if line.startswith(sys.argv[1] + ":"):
        inside = True
    if line.startswith(".Lfunc_end"):
        inside = False
    if not inside:
        continue
    blocks[-1].append(line)
    if re.match(r"\.LBB|\tj", line):
        blocks.append([])
for block in blocks:
    body = "".join(block)
    if "tdpbf16ps" in body:
        print(
            f"{body.count('tileloadd')} loads, {body.count('tdpbf16ps')} products, "
            f"{body.count('tilestored')} stores"
        )
