"""Fails on a call of which two arguments, or on braces of which two members, build.

    order.py TREE

A function builds if it makes nodes, instructions of LLVM, or calls such a
function, by name or by a pointer that is handed a builder.  A function may be defined
by a macro whose parameter is its name.  C leaves the order of arguments to the
compiler, and so the names and the order of what they build.
"""

import re
import sys

import sources

ROOT = re.compile(r"glow_build(_node|_splat|_constant)?|LLVMBuild\w+")
WORD = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
BY_POINTER = re.compile(r"(?:->|\.)\s*([A-Za-z_]\w*)\s*\(\s*(?:b|g)\b")
DEFINITION = re.compile(r"^([A-Za-z_]\w*)\(", re.MULTILINE)
MACRO = re.compile(r"^#define\s+(\w+)\(([^)]*)\)((?:.*\\\n)*.*)$", re.MULTILINE)
USE = re.compile(r"^(\w+)\(([^(){};]*)\)\s*(?=[A-Z#]|$)", re.MULTILINE)
STATEMENTS = {"if", "while", "for", "switch", "sizeof"}
PAIR = {")": "(", "]": "[", "}": "{"}


class Source:
    """Brackets, commas and definitions of a file."""

    def __init__(self, text):
        self.text = text
        self.close = {}
        self.commas = {}
        self._match()
        self.bodies = []  # name, begin, end
        for m in DEFINITION.finditer(text):
            end = self.close.get(m.end() - 1)
            begin = re.compile(r"\s*\{").match(text, end + 1) if end else None
            if begin:
                at = begin.end() - 1
                self.bodies.append((m[1], at, self.close.get(at, at)))
        self.calls = {}
        for name, begin, end in self.bodies:
            self.calls.setdefault(name, set()).update(self.called(begin, end))
        self.definers = {}  # macro: parameters, name of the function, its calls
        for m in MACRO.finditer(text):
            calls = set(WORD.findall(m[3]))
            parameters = [p.strip() for p in m[2].split(",")]
            defined = re.search(r"\b(\w+)\s*\([^()]*\)[\s\\]*\{", m[3])
            self.calls.setdefault(m[1], set()).update(calls)
            if defined and defined[1] in parameters:
                self.definers[m[1]] = parameters, defined[1], calls

    def define(self, definers):
        """Adds the functions that uses of macros of `definers` define here."""
        for m in USE.finditer(self.text):
            if m[1] not in definers:
                continue
            parameters, name, calls = definers[m[1]]
            given = dict(zip(parameters, (a.strip() for a in m[2].split(","))))
            called = self.calls.setdefault(given[name], set())
            called.update(given.get(c, c) for c in calls if c != name)

    def _match(self):
        open_ = []
        for m in re.finditer(r"[][(){},]", self.text):
            c, at = m[0], m.start()
            if c in "([{":
                open_.append(at)
            elif c == ",":
                if open_:
                    self.commas.setdefault(open_[-1], []).append(at)
            elif open_ and self.text[open_[-1]] == PAIR[c]:
                self.close[open_.pop()] = at

    def called(self, begin, end):
        """Returns the names that text calls; `*` stands for one by pointer."""
        names = set(WORD.findall(self.text, begin, end))
        return names | {"*"} if BY_POINTER.search(self.text, begin, end) else names

    def lists(self, begin, end):
        """Yields (name, position) of the lists of arguments and of members."""
        for m in WORD.finditer(self.text, begin, end):
            if m[1] not in STATEMENTS:
                yield m[1], m.end() - 1
        for m in re.finditer(r"(?:[=,{(]|\]\))\s*(\{)|(\w\))\s*(\{)", self.text[begin:end]):
            at = begin + m.start(1 if m[1] else 3)
            if m[1] or self._is_literal(begin + m.end(2) - 1):
                yield "braces", at

    def _is_literal(self, end):
        """Is the parenthesis that ends here a type, as in `(point){...}`?"""
        at = self.text.rfind("(", 0, end)
        return self.close.get(at) == end and not re.search(
            r"\w\s*$", self.text[max(0, at - 40) : at]
        )

    def members(self, at):
        end = self.close.get(at)
        if end is None:
            return
        begin = at + 1
        for comma in [*self.commas.get(at, []), end]:
            yield begin, comma
            begin = comma + 1


def read(root):
    files = [p for p in sources.files(root) if p.suffix in (".c", ".h")]
    tree = {p: Source(sources.code(root / p)) for p in files}
    definers = {}
    for source in tree.values():
        definers.update(source.definers)
    for source in tree.values():
        source.define(definers)
    return tree


class Builders:
    """The functions that build, to a fixed point; a file's own come first."""

    def __init__(self, tree):
        self.tree = tree
        self.anywhere = {}
        for path, source in tree.items():
            for name in source.calls:
                self.anywhere.setdefault(name, path)
        self.found = set()
        grows = True
        while grows:
            before = len(self.found)
            for path, source in tree.items():
                for name, calls in source.calls.items():
                    if any(self.builds(path, c) for c in calls):
                        self.found.add((path, name))
            grows = len(self.found) > before

    def builds(self, path, name):
        if name == "*" or ROOT.fullmatch(name):
            return True
        home = path if name in self.tree[path].calls else self.anywhere.get(name)
        return (home, name) in self.found


def complaints(path, source, builders):
    for _, begin, end in source.bodies:
        for name, at in source.lists(begin, end):
            building = [
                source.text[b:e]
                for b, e in source.members(at)
                if any(builders.builds(path, c) for c in source.called(b, e))
            ]
            if len(building) > 1:
                line = source.text.count("\n", 0, at) + 1
                shown = " and ".join(" ".join(x.split()) for x in building[:2])
                yield line, f"{name}: {shown} build in any order"


def main(root):
    tree = read(root)
    builders = Builders(tree)
    bad = 0
    for path, source in tree.items():
        for line, text in sorted(complaints(path, source, builders)):
            print(f"{path.as_posix()}:{line}: error: {text}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1])))
