"""Fails for a page of docs that docs/README.md does not name, and for names of no page.

    pages.py DOCS
"""

import pathlib
import re
import sys


def main(docs):
    text = (docs / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/-]+\.md)`", text))
    pages = {p.relative_to(docs).as_posix() for p in docs.rglob("*.md")} - {"README.md"}
    bad = [f"does not name {page}" for page in sorted(pages - named)]
    bad += [f"names {page}, which is not there" for page in sorted(named - pages)]
    for why in bad:
        print(f"docs/README.md: error: {why}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
