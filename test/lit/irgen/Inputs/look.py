"""Looks at pictures of memory maps as a reader does: fails if one is not well formed,
needs a script, or has a label outside of its buffer or over another."""

import re
import sys
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"title": 20, "head": 14}  # pixels of a font; of all else 11
WIDE, HIGH = 0.51, 0.82  # of these, a character in a common font


def number(element, name):
    return float(element.get(name))


def extent(text):
    """The left, top, right and bottom of a line of text."""
    classes = text.get("class").split()
    size = max([SIZES.get(c, 11) for c in classes])
    turned = re.match(r"translate\((\S+) (\S+)\) rotate", text.get("transform", ""))
    long, high = WIDE * size * len(text.text), HIGH * size
    if turned:
        x, y = map(float, turned.groups())
        return x - high, y - long, x, y
    x, y = number(text, "x"), number(text, "y")
    x -= long if "end" in classes else long / 2 if "mid" in classes else 0
    return x, y - high, x + long, y


def meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def look(path):
    root = ET.parse(path).getroot()
    assert not list(root.iter(SVG + "script")), "a script"
    width, height = map(float, root.get("viewBox").split()[2:])
    groups = 0
    labels = [(extent(t), t.text) for t in root.iter(SVG + "text")]
    for e, name in labels:
        assert 0 <= e[0] and e[2] <= width and 0 <= e[1] and e[3] <= height, \
            f"'{name}' is outside of the picture"
    for g in root.iter(SVG + "g"):
        rect = g.find(SVG + "rect")
        box = [number(rect, k) for k in ("x", "y", "width", "height")]
        assert 0 <= box[0] and box[0] + box[2] <= width, f"a box beyond the page: {box}"
        assert 0 <= box[1] and box[1] + box[3] <= height, f"a box below the page: {box}"
        if "b" not in g.get("class").split():
            continue
        groups += 1
        assert g.find(SVG + "title").text, "a buffer that says nothing"
        for text in g.findall(SVG + "text"):
            left, top, right, bottom = extent(text)
            assert (box[0] <= left and right <= box[0] + box[2] and
                    box[1] <= top and bottom <= box[1] + box[3]), \
                f"'{text.text}' is outside of its box"
    assert groups, "no buffer"
    labels.sort()
    for i, (a, name) in enumerate(labels):
        for b, other in labels[i + 1:]:
            if b[0] >= a[2]:
                break
            assert not meet(a, b), f"'{name}' over '{other}'"


for name in sys.argv[1:]:
    look(name)
