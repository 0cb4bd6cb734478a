"""What the innermost loops of assembly for x86-64 do: reads it from standard
input, prints `MULTIPLICATIONS of vectors, MOVES of them to or from the stack,
POINTERS that come from there`.

A loop is what lies between a label and a jump back to it; it is innermost if no
other jumps back within it.  Those that multiply nothing do not count.
"""

import re
import sys


def innermost(lines):
    labels, loops = {}, []
    for i, line in enumerate(lines):
        label = re.match(r"(\.L\w+):", line)
        jump = re.match(r"\s+j\w+\s+(\.L\w+)", line)
        if label:
            labels[label[1]] = i
        elif jump and jump[1] in labels:
            loops.append((labels[jump[1]], i))
    return [(a, b) for a, b in loops
            if not any((c, d) != (a, b) and a <= c and d <= b for c, d in loops)]


def main():
    lines = sys.stdin.read().splitlines()
    loops = [lines[a:b] for a, b in innermost(lines)]
    body = [text for loop in loops if any("vfmadd" in text for text in loop)
            for text in loop]
    multiplications = sum("vfmadd" in text for text in body)
    moves = sum(bool(re.search(r"mov.*\(%rsp\).*%[yz]mm|mov.*%[yz]mm.*\(%rsp\)", text))
                for text in body)
    pointers = sum(bool(re.search(r"mov\w+\s+-?\d*\(%rsp\), %r", text))
                   for text in body)
    print(multiplications, "multiplications,", moves, "moves,", pointers,
          "pointers")
    sys.exit(16 * moves > multiplications)


main()
