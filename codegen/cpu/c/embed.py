"""Writes a file as a C array: embed.py IN OUT NAME."""

import sys

data = open(sys.argv[1], "rb").read()
name = sys.argv[3]
with open(sys.argv[2], "w") as out:
    out.write(f"/* {len(data)} bytes of LLVM bitcode, made by the build. */\n")
    out.write('#include "codegen/cpu/emit/link.h"\n')
    out.write(f"const unsigned char {name}[] = {{\n")
    for i in range(0, len(data), 16):
        out.write(",".join(str(b) for b in data[i : i + 16]) + ",\n")
    out.write(f"}};\nconst size_t {name}_size = sizeof({name});\n")
