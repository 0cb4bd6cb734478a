"""Prints the index of passes/graph/README.md: the summary behind the name of each pass.

    index.py [--check] FOLDER

Reads the summaries from the sources in FOLDER, and writes the page anew.  Fails, and
writes nothing, if a pass stands in no list or in two, or a list names what is no pass;
with --check also if the page is not as it would be written.
"""

import pathlib
import re
import sys

PASS = re.compile(r'^const glow_pass glow_pass_\w+ = \{\s*\.name = "([^"]+)",\s*'
                  r'\.summary =((?:\s*"(?:[^"\\]|\\.)*")+)', re.M)
LINE = re.compile(r"^- `([^`]+)`:.*$", re.M)


def summaries(folder):
    """The summary of each pass by its name."""
    found = {}
    for path in sorted(folder.glob("*.c")):
        for name, text in PASS.findall(path.read_text(encoding="utf-8")):
            found[name] = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))
    return found


def main(check, folder):
    page, passes = folder / "README.md", summaries(folder)
    text = page.read_text(encoding="utf-8")
    listed = LINE.findall(text)
    bad = [f"{name} stands in no list" for name in passes if name not in listed]
    bad += [f"{name} stands in {listed.count(name)} lists"
            for name in sorted(set(listed)) if listed.count(name) > 1]
    bad += [f"{name} is no pass" for name in listed if name not in passes]
    written = LINE.sub(lambda m: f"- `{m[1]}`: {passes.get(m[1], '')}", text)
    if check and not bad and written != text:
        bad.append("differs from the passes: scripts/docs")
    for why in bad:
        print(f"{page}: error: {why}")
    if not bad and not check:
        page.write_text(written, encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:], pathlib.Path(sys.argv[-1])))
