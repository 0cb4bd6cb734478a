"""A picture without its style sheet has all colors: by attributes alone."""

import sys
import xml.etree.ElementTree as tree

NS = "{http://www.w3.org/2000/svg}"
counts = {}


def walk(e, around):
    own = {**around, **{k: v for k, v in e.attrib.items() if k in ("fill", "stroke")}}
    tag = e.tag.replace(NS, "")
    for value in e.attrib.values():
        assert "var(" not in value and "$" not in value, (tag, value)
    if tag in ("rect", "text", "circle"):
        assert "fill" in own, (tag, e.attrib)
    if tag in ("line", "path"):
        assert "stroke" in own, (tag, e.attrib)
    if tag == "path" and "marker-end" in e.attrib:
        assert own["fill"] == "none", e.attrib
    counts[tag] = counts.get(tag, 0) + 1
    for child in e:
        walk(child, own)


root = tree.parse(sys.argv[1]).getroot()
style = root.find(NS + "style").text
assert style.startswith("@supports(") and style.count("{") == style.count("}")
walk(root, {})
assert counts["rect"] > 2 and counts["text"] > 2, counts
