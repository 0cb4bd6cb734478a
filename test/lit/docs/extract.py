"""Writes the named code blocks of a Markdown page as files.

    extract.py PAGE FOLDER

A block is named by a second word after its fence: ```c passes/pass.c
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main(page, folder):
    blocks = BLOCK.findall(pathlib.Path(page).read_text(encoding="utf-8"))
    for name, text in blocks:
        path = pathlib.Path(folder) / pathlib.Path(name).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0 if blocks else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
