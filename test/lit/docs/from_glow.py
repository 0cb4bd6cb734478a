"""Fails on a pass, test or function of a test that a page names in vain.

    from_glow.py PAGE PASSES TESTS

PASSES is what glow-opt -list-passes=md prints.  Of what the page sets as code, a
path names a test, which the functions in it may follow, as in
`passes/graph/dce.gir` @chain, @forward; and a word names a pass or pipeline,
which options may follow.
"""

import pathlib
import re
import sys

CODE = re.compile(r"`([^`]*)`((?:,? @\w+)*)")
PATH = re.compile(r"[\w/-]+\.(gir|test|c)")
NAME = re.compile(r"([A-Za-z][\w-]*)(<.*>)?")


def faults(line, passes, tests):
    for code, functions in CODE.findall(line):
        if PATH.fullmatch(code):
            path = tests / code
            if not path.is_file():
                yield f"there is no test {code}"
                continue
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r"@(\w+)", functions):
                if not re.search(rf"^(function|program) @{name}\b", text, re.M):
                    yield f"there is no @{name} in {code}"
        elif (name := NAME.fullmatch(code)) and name[1] not in passes:
            yield f"there is no pass {name[1]}"


def main(page, passes, tests):
    listed = pathlib.Path(passes).read_text(encoding="utf-8")
    names = set(re.findall(r"^## (\S+)$", listed, re.M))
    bad = 0
    lines = pathlib.Path(page).read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        for fault in faults(line, names, pathlib.Path(tests)):
            print(f"{pathlib.Path(page).name}:{number}: {fault}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
