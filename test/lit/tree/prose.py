"""Holds the comments of folders to the rules for words.

    prose.py TREE [FOLDER...]

A comment is written in the terms of the literature, and the subject of a sentence
is a noun.  Two figures of each folder show where it is not: the word "what", at
most 3 in 1,000 words, and sentences that begin with a relative or interrogative
pronoun, at most 1 in 100.  FOLDERS below are held to them; a folder joins the
list once its comments pass.
"""

import collections
import re
import sys

import sources

FOLDERS = (
    "codegen",
    "codegen/cpu",
    "codegen/cpu/c",
    "codegen/cpu/emit",
    "codegen/cpu/kernels",
    "codegen/cpu/kernels/attention",
    "codegen/cpu/kernels/call",
    "codegen/cpu/kernels/direct",
    "codegen/cpu/kernels/integer",
    "codegen/cpu/kernels/matrix",
    "codegen/cpu/kernels/move",
    "codegen/cpu/kernels/recurrent",
    "codegen/cpu/kernels/rows",
    "codegen/cpu/kernels/window",
    "codegen/cpu/kernels/winograd",
    "codegen/cpu/plan",
    "codegen/cpu/run",
    "codegen/interp",
    "codegen/llvm",
    "codegen/parts",
    "include/glow",
    "ir",
    "ir/base",
    "ir/ops",
    "ir/text",
    "irgen",
    "irgen/engines",
    "irgen/place",
    "irgen/report",
    "irgen/schedule",
    "irgen/sharing",
    "lower",
    "passes",
    "passes/graph",
    "passes/graph/common",
    "passes/partition",
    "passes/program",
    "runtime",
    "tools/common",
    "tools/glow-alloc",
    "tools/glow-device",
    "tools/glow-opt",
    "tools/glow-run",
    "tools/glow-serve",
    "tools/glow-translate",
    "tools/glow-work",
    "tools/glow-translate/caffe2",
    "tools/glow-translate/export",
    "tools/glow-translate/import",
    "tools/glow-translate/import/ml",
    "tools/glow-translate/import/ort",
)

MOST_WHAT = 3  # in 1,000 words
MOST_HEADLESS = 1  # in 100 sentences

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
HEADLESS = re.compile(r"\s*(What|Whether|Where|Who|That|Those|Which|How)\b")


class Figures:
    """Words and sentences of the comments of one folder."""

    def __init__(self):
        self.words = self.what = self.sentences = 0
        self.headless = []

    def add(self, name, text):
        for match in COMMENT.finditer(text):
            body = re.sub(r"\n\s*\*", " ", match.group(1))
            words = re.findall(r"[A-Za-z']+", body)
            line = text.count("\n", 0, match.start()) + 1
            self.words += len(words)
            self.what += sum(word.lower() == "what" for word in words)
            self.sentences += len(re.findall(r"[.;:?](?:\s|$)", body)) or 1
            for part in re.split(r"(?<=[.;:])\s+", body):
                if HEADLESS.match(part):
                    self.headless.append(f"{name}:{line}: {part.split()[0]} ...")

    def complaints(self):
        what = 1000 * self.what / max(self.words, 1)
        headless = 100 * len(self.headless) / max(self.sentences, 1)
        if what > MOST_WHAT:
            yield f"{what:.1f} \"what\" in 1,000 words, at most {MOST_WHAT}"
        if headless > MOST_HEADLESS:
            yield f"{headless:.1f} % of sentences have no subject, at most {MOST_HEADLESS} %"
            yield from self.headless


def main(root, folders):
    figures = collections.defaultdict(Figures)
    for path in sources.files(root):
        name = path.as_posix()
        figures[path.parent.as_posix()].add(name, (root / path).read_text("utf-8"))
    bad = 0
    for folder in folders or FOLDERS:
        if folder not in figures:
            print(f"{folder}: error: no such folder of sources")
            bad += 1
        for complaint in figures[folder].complaints():
            print(f"{folder}: error: {complaint}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1]), sys.argv[2:]))
