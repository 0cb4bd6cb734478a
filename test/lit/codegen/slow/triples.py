"""Generates code for every triple of LLVM, of every network of a folder.

    triples.py FOLDER [N]

Each run is to end with code, or with an error that has an id.  Prints what ended
otherwise, and the numbers of triples and networks.  The processors are those that
`llc --version` registers, by the names that triples have, and some variants.  With N each
triple gets so many networks, drawn by the commit.
"""

import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SYSTEMS = ("unknown-linux-gnu", "unknown-none-elf", "apple-macosx",
           "pc-windows-msvc", "none-eabi", "unknown-unknown", "wasi")
NAMES = {"ppc32": "powerpc", "ppc32le": "powerpcle", "ppc64": "powerpc64",
         "ppc64le": "powerpc64le", "systemz": "s390x", "x86": "i686",
         "x86-64": "x86_64"}
VARIANTS = ("armv7", "armv7eb", "thumbv6m", "thumbv7em", "thumbv8.1m.main", "i386",
            "arm64ec", "x86_64h", "spirv64", "csky", "nonsense")


def registered():
    text = subprocess.run(["llc", "--version"], capture_output=True, text=True,
                          check=True).stdout
    names = re.findall(r"^    (\S+) +- ", text, re.M)
    return [NAMES.get(n, n) for n in names]


def generate(triple, network, out):
    run = subprocess.run(
        ["glow-opt", "-O2", "-emit-object", "-target=" + triple, network, "-o", out],
        capture_output=True, text=True, timeout=300)
    if run.returncode == 0 and not run.stderr:
        return "code"
    if run.returncode == 1 and re.match(r".*error\[E\d+\]: ", run.stderr):
        return "error"
    print(f"{triple} {network}: {run.returncode}: {run.stderr[:300]}")
    return "neither"


def sweep(triple, networks):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "x.o")
        return [generate(triple, n, out) for n in networks]


def seed_of_commit():
    sys.path.insert(0, str(pathlib.Path(__file__).parents[3]))
    import widths

    return widths.seed_of_commit()


def main(folder, count=None):
    networks = sorted(str(p) for p in pathlib.Path(folder).glob("*.gir"))
    triples = [f"{arch}-{system}" for arch in [*registered(), *VARIANTS]
               for system in SYSTEMS]
    of = {t: networks for t in triples}
    if count:
        seed = seed_of_commit()
        print(f"networks of each triple are drawn by seed {seed}")
        of = {t: random.Random(f"{seed} {t}").sample(networks, int(count)) for t in triples}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = sum(pool.map(lambda t: sweep(t, of[t]), triples), [])
    print(f"{len(triples)} triples, {len(networks)} networks: "
          f"{ends.count('code')} code, {ends.count('error')} error, "
          f"{ends.count('neither')} neither")


if __name__ == "__main__":
    main(*sys.argv[1:])
