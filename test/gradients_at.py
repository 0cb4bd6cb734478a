"""Gradients of the functions of a .gir file at stated numbers.

usage: gradients_at.py GLOW-OPT FILE

A line `// @x = [0.0, 1.0]` of a function states the elements of placeholder @x; the
function is differentiated and evaluated in float64.  Prints the elements of each
gradient, `TITLE: @x [...]`; the title is the first line of comment of the function.
"""

import re
import sys

from composites import differentiated, evaluated


def main():
    glow_opt, path = sys.argv[1:]
    text = open(path, encoding="utf-8").read()
    for piece in re.split(r"^// -----\n", text, flags=re.M)[1:]:
        title = re.match(r"// (.*)\n", piece)[1]
        at = dict(re.findall(r"^// @([\w.$-]+) = (\[.*\])$", piece, re.M))
        code = differentiated(glow_opt, piece)
        for name, numbers in at.items():
            code = re.sub(rf"^placeholder @{re.escape(name)} : (float64<[^>]*>).*$",
                          rf"constant @{name} : \1 = {numbers}", code, flags=re.M)
        for of, g in sorted(evaluated(glow_opt, code).items()):
            print(f"{title}: @{of} [{', '.join(f'{x + 0:.9g}' for x in g)}]")


main()
