"""Fails on a call that the folder it stands in must not make.

    banned.py TREE

Library code neither prints nor exits, and depends on no locale and no clock;
what works on the IR takes its memory from arenas.  Every sort is stable, which qsort
need not be.  Nodes are numbered by glow/number.h; the member `mark` of a node is
the state of the rewrite driver.
"""

import re
import sys

import sources

PRINTS = "printf|vprintf|puts|putchar|perror|stdout|stderr"
ENDS = "exit|_exit|_Exit|quick_exit|abort"
VARIES = "rand|srand|random|srandom|setlocale|time|gettimeofday"
HEAP = "malloc|calloc|realloc|free|strdup|strndup|aligned_alloc|posix_memalign"

RULES = (
    (("ir", "passes", "lower", "irgen", "codegen"), PRINTS, "a library never prints"),
    (("ir", "passes", "lower", "irgen", "codegen"), ENDS, "a library never exits"),
    (("ir", "passes", "lower", "irgen", "codegen"), VARIES, "results must not vary"),
    (("passes", "lower", "irgen", "codegen"), HEAP, "memory comes from an arena"),
    (("ir", "passes", "lower", "irgen", "codegen", "tools", "include"),
     "qsort|qsort_r", "equal elements come in any order: glow_sort"),
    (("ir", "passes", "lower", "irgen", "codegen", "tools", "include"),
     "gets|strcpy|strcat|sprintf|vsprintf|alloca|strtok", "it cannot be bounded"),
)

MARK = re.compile(r"(?:->|\.)mark\b")
MARK_OWNERS = {"passes/rewrite.c"}

# The handler for running out of memory is the one way a library may end a
# program, unless the embedder sets another.  A child process has an end, too.
ALLOWED = {("ir/base/memory.c", "abort"), ("codegen/cpu/run/child.c", "_exit")}


def main(root):
    bad = 0
    for path in sources.files(root):
        name = path.as_posix()
        rules = [r for r in RULES if name.split("/")[0] in r[0]]
        for number, line in enumerate(sources.code(root / path).split("\n"), 1):
            if MARK.search(line) and name not in MARK_OWNERS:
                print(f"{name}:{number}: error: mark: nodes are numbered by "
                      "glow_numbering")
                bad += 1
            for _, words, why in rules:
                for match in re.finditer(rf"(?<![\w.>])({words})\b", line):
                    word = match.group(1)
                    is_call = re.match(r"\s*\(", line[match.end():])
                    if word not in ("stdout", "stderr") and not is_call:
                        continue
                    if (name, word) in ALLOWED:
                        continue
                    print(f"{name}:{number}: error: {word}: {why}")
                    bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1])))
