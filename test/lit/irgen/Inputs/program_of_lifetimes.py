"""A program whose buffers have the lifetimes of a table: id, lower, upper, size.

usage: program_of_lifetimes.py TABLE.csv
"""

import csv
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    # At one moment buffers end before others begin.
    events = [(int(r["upper"]), 0, int(r["id"]), 0) for r in rows]
    events += [(int(r["lower"]), 1, int(r["id"]), int(r["size"])) for r in rows]
    print("gir 1\nplaceholder @o : float<1>\n\nprogram @main {\n  declare {")
    print("    %o = weight float<1> @o mutable\n  }\n  code {")
    for _, begins, name, size in sorted(events):
        if begins:
            print(f"    %b{name} = alloc float<{size // 4}>")
            print(f"    %b{name}.fill = splat @out %b{name} {{Value: 1.0}}")
        else:
            print(f"    %b{name}.free = dealloc @out %b{name}")
    print("    %fill = splat @out %o {Value: 1.0}\n  }\n}")


main()
