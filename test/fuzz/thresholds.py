"""Sizes around the thresholds of the cpu backend's kernels, read from their sources.

    thresholds.py [--most N] [--header]    prints them, or a header for sweep

A threshold is an integer that a file of codegen/cpu gives a name by `#define`; kernels
decide by no other integer above 9, which test/lit/tree/thresholds.test holds them to.  A
size next to it counts elements of an axis.  Where the comment says `vectors`, it is that
many vectors of each width instead.
"""

import argparse
import pathlib
import re

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "codegen/cpu"
LANES = (4, 8, 16)  # floats of SSE2, AVX2 and AVX-512
DEFINE = re.compile(r"^#define (\w+) \(?(\d+)\)?(?:\s+/\*(.*))?\s*$", re.MULTILINE)


def named():
    """{file: NAME}: (value, comment) of every integer that is given a name."""
    return {
        (path.relative_to(SOURCES).as_posix(), name): (int(value), comment or "")
        for path in sorted(SOURCES.rglob("*.[ch]"))
        for name, value, comment in DEFINE.findall(path.read_text(encoding="utf-8"))
    }


def sizes(most):
    """The sizes from 2 to `most` at, before and behind each threshold, in order."""
    at = {lanes * n for lanes in LANES for n in (1, 2)}
    for value, comment in named().values():
        at |= {value * lanes for lanes in LANES} if "vectors" in comment else {value}
    return sorted({n for t in at for n in (t - 1, t, t + 1) if 2 <= n <= most})


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--most", type=int, default=130)
    a.add_argument("--header", action="store_true")
    a = a.parse_args()
    if a.header:
        print(f"static const int64_t threshold_sizes[] = {{{', '.join(map(str, sizes(a.most)))}}};")
        return
    for (file, name), (value, _) in named().items():
        print(f"{file}: {name} {value}")
    print(*sizes(a.most))


if __name__ == "__main__":
    main()
