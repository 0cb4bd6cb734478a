"""Lists the C sources of a tree, and reads them without their comments."""

import pathlib
import re

LIBRARY = ("ir", "passes", "lower", "irgen", "codegen")
FOLDERS = LIBRARY + ("include", "runtime", "tools")
SUFFIXES = {".c", ".h", ".l", ".y", ".in"}

TOKEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE,
)


def files(root):
    """Yields the path, relative to `root`, of each source, in a fixed order."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path.relative_to(root)


def code(path):
    """Returns the text of `path` with comments and strings blanked out."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return TOKEN.sub(blank, path.read_text(encoding="utf-8"))


def lines_without_comments(path):
    """Yields (number, line) of `path`, comments blanked and strings kept."""

    def blank(match):
        text = match.group()
        return re.sub(r"[^\n]", " ", text) if text[0] == "/" else text

    text = TOKEN.sub(blank, path.read_text(encoding="utf-8"))
    yield from enumerate(text.split("\n"), 1)


def root_of(argument):
    return pathlib.Path(argument).resolve()
