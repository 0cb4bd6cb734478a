"""Fails if boxes of a picture overlap, words leave their box, or a line goes up.

    boxes.py PICTURE.svg
"""

import re
import sys
import xml.dom.minidom

CHARACTER = 6.63  # DejaVu Sans Mono at 11 pixels


def number(e, name):
    return float(e.getAttribute(name))


def main(path):
    boxes = []
    svg = xml.dom.minidom.parse(path)
    for g in svg.getElementsByTagName("g"):
        if not g.getAttribute("class").startswith("n "):
            continue
        rect = g.getElementsByTagName("rect")[0]
        x, y, w, h = (number(rect, k) for k in ("x", "y", "width", "height"))
        boxes.append((x, y, x + w, y + h))
        for text in g.getElementsByTagName("text"):
            words = text.firstChild.data
            if number(text, "x") + CHARACTER * len(words) > x + w:
                sys.exit(f"'{words}' is wider than its box")
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
                sys.exit(f"boxes overlap: {a} and {b}")
    for line in svg.getElementsByTagName("path"):
        if not line.getAttribute("marker-end"):
            continue
        ys = [int(y) for y in re.findall(r"\d+ (\d+)", line.getAttribute("d"))]
        if ys != sorted(ys):
            sys.exit(f"a line goes up: {line.getAttribute('d')}")
    if not boxes:
        sys.exit("there are no boxes")


main(sys.argv[1])
