"""A copy of a shared library that believes in a lesser processor.

Each CPUID of the copy is UD2, which traps everywhere; mask_cpu.c, loaded before it, answers.
The disassembler says where they are, since the same two bytes occur inside of others."""

import os
import re
import struct
import subprocess

CPUID, UD2 = b"\x0f\xa2", b"\x0f\x0b"
PT_LOAD = 1


def loads(elf):
    """(address, bytes, offset in the file) of each loaded part of a 64-bit ELF file."""
    at, = struct.unpack_from("<Q", elf, 0x20)
    size, count = struct.unpack_from("<HH", elf, 0x36)
    for i in range(count):
        kind, _, offset, address, _, held = struct.unpack_from("<IIQQQQ", elf, at + i * size)
        if kind == PT_LOAD:
            yield address, held, offset


def patched(library, copy):
    """Writes `copy` of `library` without CPUID."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    elf = bytearray(library.read_bytes())
    parts = list(loads(elf))
    for match in re.finditer(r"^ *([0-9a-f]+):\tcpuid\b", listing, re.MULTILINE):
        address = int(match[1], 16)
        start, _, offset = next(p for p in parts if p[0] <= address < p[0] + p[1])
        where = address - start + offset
        if elf[where:where + 2] != CPUID:
            raise ValueError(f"{library}: no CPUID at {address:#x}")
        elf[where:where + 2] = UD2
    copy.write_bytes(elf)


def environment(answers, cpu):
    """In which mask_cpu.so, `answers`, is loaded before such a copy."""
    return {**os.environ, "LD_PRELOAD": str(answers), "MASK_CPU": cpu}
