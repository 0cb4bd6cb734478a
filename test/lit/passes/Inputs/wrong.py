"""Runs each pass of test/plugin/wrong.def under -verify-semantics on the term
that its rule rewrites: wrong.py WRONG.def WRONG.so FOLDER"""

import re
import subprocess
import sys

TABLE, PLUGIN, FOLDER = sys.argv[1:]
ROW = re.compile(r'WRONG\((\w+), (\w+), (\w+), "([^"]*)", "[^"]*", \d+, (\d+)\)')


def read(words):
    """The term at the front of the list of words, which is used up."""
    word = words.pop(0)
    if word != "(":
        return word
    term = []
    while words[0] != ")":
        term.append(read(words))
    words.pop(0)
    return term


class Text:
    """The text of a function that computes a term."""

    def __init__(self, kind, count):
        self.kind, self.size = kind, f"<{count}>"
        self.heads, self.nodes = {}, []

    def value(self, term):
        if isinstance(term, list):
            operands = ", ".join([self.value(t) for t in term[1:]])
            name = f"%n{len(self.nodes)}"
            kind = "bool" if term[0][:3] in ("Cmp", "Not") else self.kind
            self.nodes.append(f"{name} = {term[0]}({operands}) : {kind}{self.size}")
            return name
        if term.isalpha():
            self.heads[f"@{term}"] = f"placeholder @{term} : {self.kind}{self.size}"
            return f"@{term}"
        name = f"@k{len(self.heads)}"
        number = f"{float(term)}" if self.kind == "float" else term
        self.heads[name] = f"constant {name} : {self.kind}{self.size} = splat({number})"
        return name

    def __str__(self):
        result = self.nodes[-1]
        kind = result.rsplit(" : ", 1)[1]
        return "\n".join(
            ["gir 1", *self.heads.values(), f"placeholder @result : {kind}",
             "function @main {", *self.nodes,
             f"%save = Save({result.split()[0]}, @result)", "}", ""])


passed = 0
missed = []
for name, _, kind, term, least in ROW.findall(open(TABLE).read()):
    for count in {16, int(least)}:
        text = Text(kind, count)
        text.value(read(re.findall(r"[()]|[^\s()]+", term)))
        path = f"{FOLDER}/{name}.{count}.gir"
        with open(path, "w") as file:
            file.write(str(text))
        run = subprocess.run(
            ["glow-opt", f"-plugin={PLUGIN}", f"-wrong.{name}",
             "-verify-semantics", path, "-o", "/dev/null"],
            stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode == 3 and "error[E0411]" in run.stderr:
            passed += 1
        else:
            missed.append(f"missed {name} on {count} elements: exit "
                          f"{run.returncode} {run.stderr}")
print("\n".join([f"caught {passed}", *missed]))
