"""Fails on an object file that takes a symbol against the arrows of includes.py.

    objects.py TREE ARCHIVE

An object of codegen/cpu may refer to symbols of the rooms alone that its source may
include headers of, so that a declaration written out by hand, or a header that stands
lower than its functions, is no way around them.  (Elsewhere rooms have public headers.)
The table of kernels names the kernels of all families.
"""

import subprocess
import sys

import includes
import sources

FOLDER = "codegen/cpu"
TABLE = "codegen/cpu/plan/kernels.c"


def symbols(archive):
    """Yields (object, kind, symbol) for each global symbol of the archive."""
    text = subprocess.run(["nm", "-g", archive], check=True, capture_output=True, text=True)
    name = ""
    for line in text.stdout.split("\n"):
        if line.endswith(".o:"):
            name = line[:-len(".o:")]
        elif line:
            yield name, *line.split()[-2:]


def complaints(paths, found):
    """Yields a line for each symbol that goes against an arrow; `found` as of symbols."""
    source_of = {path.replace("/", "_"): path for path in paths}
    home = {name: source_of.get(at) for at, kind, name in found if kind != "U"}
    for at, kind, name in found:
        here, there = source_of.get(at), home.get(name)
        if kind == "U" and here and there and here != TABLE:
            why = includes.room_complaint(here, there)
            if why:
                yield f"{here}: error: {name} of {there}: {why}"


def main(root, archive):
    paths = [p.as_posix() for p in sources.files(root)
             if p.suffix == ".c" and includes.under(p.as_posix(), FOLDER)]
    found = list(symbols(archive))
    bad = list(complaints(paths, found))
    seen = {at for at, _, _ in found} & {path.replace("/", "_") for path in paths}
    print(*bad, f"{len(seen)} objects", sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1]), sys.argv[2]))
