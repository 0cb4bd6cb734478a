"""Fails on a public header that does not compile by itself or is not installed.

    headers.py TREE COMPILER...

The compiler is run once for each header of include/glow, on a file that
includes it twice and nothing else.
"""

import subprocess
import sys

import sources


def main(root, compiler):
    bad = 0
    listed = (root / "include" / "glow" / "meson.build").read_text(encoding="utf-8")
    folder = root / "include" / "glow"
    for path in sorted(folder.rglob("*.h")):
        within = path.relative_to(folder).as_posix()
        name = f"glow/{within}"
        if f"'{within}'" not in listed:
            print(f"include/{name}: error: is not in the list of meson.build")
            bad += 1
        text = f'#include "{name}"\n#include "{name}"\n'
        done = subprocess.run(
            compiler + ["-fsyntax-only", "-I", str(root / "include"), "-"],
            input=text, text=True, capture_output=True,
        )
        if done.returncode:
            print(f"include/{name}: error: does not compile by itself")
            print(done.stderr, end="")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1]), sys.argv[2:]))
