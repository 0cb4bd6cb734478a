"""Fails if a page is not whole: tags that are left open, names that are not there,
or anything that it would have to fetch.

    page.py PAGE.html
"""

import html.parser
import sys

VOID = {"meta", "input", "br"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], set(), set()

    def handle_startendtag(self, tag, attrs):
        self.look(attrs)

    def handle_starttag(self, tag, attrs):
        self.look(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def look(self, attrs):
        for name, value in attrs:
            if name == "id" and value in self.ids:
                sys.exit(f"two of id {value}")
            if name == "id":
                self.ids.add(value)
            if name in ("src", "href") and not value.startswith("#"):
                sys.exit(f"the page needs {value}")
            if name == "href":
                self.links.add(value[1:])

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"</{tag}> closes nothing, in line {self.getpos()[0]}")


page = Page()
with open(sys.argv[1], encoding="utf-8") as file:
    page.feed(file.read())
page.close()
if page.open:
    sys.exit(f"left open: {page.open}")
if page.links - page.ids:
    sys.exit(f"links to nowhere: {page.links - page.ids}")
