"""Kernels decide by no integer above 9 that has no name: test/fuzz/thresholds.py reads
those that have one, and sizes around them are drawn.  Numbers of registers are none.

    thresholds.py ROOT
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sources

BARE = re.compile(r"(\w+) *(?:[<>]=?|[=!]=) *(\d{2,})\b(?!\.)")


def main():
    root, failed = pathlib.Path(sys.argv[1]), False
    for path in sorted(sources.files(root)):
        if path.parts[:3] != ("codegen", "cpu", "kernels") and path.stem not in (
                "stack", "stack_emit", "split"):
            continue
        for number, line in enumerate(sources.code(root / path).split("\n"), 1):
            for name, value in BARE.findall(line):
                if name != "registers":
                    failed = True
                    print(f"{path}:{number}: error: {name} is compared with {value}, "
                          "which has no name")
    return failed


if __name__ == "__main__":
    sys.exit(main())
