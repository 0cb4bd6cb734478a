"""Writes the cards of passes: the comment at the head of the file of each.

    cards.py OUTPUT SOURCE...

A file with `const glow_pass glow_pass_NAME` begins with a comment that begins with the
name of the pass and a colon. It is an error if it does not.
"""

import os
import re
import sys

PASS = re.compile(r'^const glow_pass glow_pass_\w+ = \{\s*\.name = "([^"]+)"', re.M)


def card(path, text, name):
    """The head comment as Markdown: its stars off, its indented blocks as they are."""
    head = re.match(r"/\*\n(.*?)\n? \*/", text, re.S)
    lines = [re.sub(r"^ \*(?: |$)", "", line) for line in head[1].splitlines()] if head else []
    if not lines or not lines[0].startswith(name + ": "):
        sys.exit(f"{path}: the file of a pass begins with a comment `{name}: ...`")
    lines[0] = lines[0][len(name) + 2:]
    if lines[0][0].islower():
        lines[0] = lines[0][0].upper() + lines[0][1:]
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def literal(line):
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'     "{escaped}\\n"'


def main(output, sources):
    cards = {}
    for path in sources:
        if not path.endswith(".c"):
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for name in PASS.findall(text):
            cards[name] = card(path, text, name)
    with open(output, "w", encoding="utf-8") as f:
        f.write("/* Written by passes/builtin/cards.py. */\n\n"
                '#include "passes/card.h"\n\n'
                "const glow_pass_text glow_pass_texts[] = {\n")
        for name in sorted(cards):
            body = "\n".join(literal(line) for line in cards[name].splitlines())
            f.write(f'    {{"{name}",\n{body}}},\n')
        f.write("    {NULL, NULL},\n};\n")


main(os.path.abspath(sys.argv[1]), sys.argv[2:])
