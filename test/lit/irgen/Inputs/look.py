"""Looks at pictures of memory maps as a reader does: fails if one is not well formed,
needs a script, or has a label outside of its buffer or over another."""

import re
import sys
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
CHARACTER, HIGH = 5.6, 9.0  # of 11 pixels, in a common font


def number(element, name):
    return float(element.get(name))


def extent(text):
    """The left, top, right and bottom of a line of text."""
    turned = re.match(r"translate\((\S+) (\S+)\) rotate", text.get("transform", ""))
    long = CHARACTER * len(text.text)
    if turned:
        x, y = map(float, turned.groups())
        return x - HIGH, y - long, x, y
    x, y = number(text, "x"), number(text, "y")
    return x, y - HIGH, x + long, y


def meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def look(path):
    root = ET.parse(path).getroot()
    assert not list(root.iter(SVG + "script")), "a script"
    width, height = map(float, root.get("viewBox").split()[2:])
    groups, labels = 0, []
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
            labels.append((extent(text), text.text))
    assert groups, "no buffer"
    labels.sort()
    for i, (a, name) in enumerate(labels):
        for b, other in labels[i + 1:]:
            if b[0] >= a[2]:
                break
            assert not meet(a, b), f"'{name}' over '{other}'"


for name in sys.argv[1:]:
    look(name)
