"""Writes the table of LLVM's functions that the backend calls.

    calls.py OUTPUT INCLUDE SOURCE...

A function is in it if a SOURCE names it and a header below INCLUDE/llvm-c
declares it.  The output is left alone where it would not change.
"""

import pathlib
import re
import sys

DECLARED = re.compile(r"\b(LLVM[A-Z]\w+|llvm_blake3_hasher_\w+)\(")
CAST = re.compile(r"LLVMIsA[A-Z]")  # a macro declares them all
NAMED = re.compile(r"\b(LLVM[A-Z]\w+|llvm_blake3_hasher_\w+)\b")


def main(output, include, *sources):
    declared, named = set(), set()
    for header in pathlib.Path(include, "llvm-c").rglob("*.h"):
        declared.update(DECLARED.findall(header.read_text()))
    for source in sources:
        named.update(NAMED.findall(pathlib.Path(source).read_text()))
    names = sorted(n for n in named if n in declared or CAST.match(n))
    text = "".join([
        "/* Written by codegen/llvm/calls.py. */\n\n",
        "#define GLOW_LLVM_CALLS(X) \\\n",
        *(f"    X({name}) \\\n" for name in names), "\n",
        "extern struct glow_llvm_calls {\n",
        *(f"    __typeof__(&{name}) {name};\n" for name in names),
        "} glow_llvm;\n\n",
        *(f"#define {name} glow_llvm.{name}\n" for name in names),
    ])
    path = pathlib.Path(output)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
