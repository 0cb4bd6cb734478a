"""Fails on an #include that ARCHITECTURE.md forbids.

    includes.py TREE

    ir/base <- ir <- {passes, lower, irgen, codegen} <- tools
    irgen <- {irgen/schedule -> irgen/sharing, irgen/engines -> irgen/report, irgen/place}
    codegen/cpu <- emit <- kernels <- its families <- plan <- run
    include/glow <- runtime

Every folder may include the public headers; the four in the middle see each
other only through these.  A pass and a lowering rule see nothing private at
all, so that a plugin can do whatever they do.
"""

import re
import sys

import sources

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
MIDDLE = ("passes", "lower", "irgen", "codegen")

# Rooms of a folder, and the rooms that each may see besides itself and the files
# at the top of the folder.  Those files see no room.  objects.py holds the symbols of
# object files to the same arrows.
CPU = "codegen/cpu/"
KERNEL = (CPU + "emit", CPU + "kernels")
ROOMS = {
    CPU + "c": (),
    CPU + "emit": (),
    CPU + "kernels": (CPU + "emit",),
    CPU + "kernels/attention": KERNEL + (
        CPU + "kernels/direct", CPU + "kernels/matrix", CPU + "kernels/move"),
    CPU + "kernels/call": KERNEL,
    CPU + "kernels/blocks": KERNEL + (CPU + "kernels/matrix",),
    CPU + "kernels/direct": KERNEL + (CPU + "kernels/move",),
    CPU + "kernels/integer": KERNEL,
    CPU + "kernels/matrix": KERNEL + (
        CPU + "kernels/direct", CPU + "kernels/move", CPU + "kernels/window"),
    CPU + "kernels/move": KERNEL,
    CPU + "kernels/recurrent": KERNEL,
    CPU + "kernels/rows": KERNEL + (CPU + "kernels/move",),
    CPU + "kernels/window": KERNEL,
    CPU + "kernels/winograd": KERNEL
    + (CPU + "kernels/direct", CPU + "kernels/integer", CPU + "kernels/matrix"),
    CPU + "plan": KERNEL,
    CPU + "run": KERNEL + (CPU + "plan",),
    "irgen/engines": ("irgen/report",),
    "irgen/place": (),
    "irgen/report": (),
    "irgen/schedule": ("irgen/sharing",),
    "irgen/sharing": (),
}
PLUGIN_LIKE = ("passes/graph", "passes/program", "lower", "runtime")

# What a foreign header is called, and the one place that may know it.
FOREIGN = (
    (re.compile(r"llvm-c?/"), "codegen/llvm"),
    (re.compile(r"protobuf-c/|google/protobuf|.*\.pb-c\.h$"), "tools/glow-translate"),
    (re.compile(r"cmocka\.h"), "test/unit"),
    (re.compile(r"microhttpd\.h"), "tools/glow-serve"),
    (re.compile(r"libpq-fe\.h"), "tools/glow-work"),
)


def under(path, folder):
    return path == folder or path.startswith(folder + "/")


def target_of(root, source, name):
    """Returns what `name` means in `source`: a path in the tree, or None."""
    for base in (source.parent, root, root / "include"):
        path = (base / name).resolve()
        if path.is_file() and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def room_of(path):
    """Returns the innermost room that `path` is in, or None."""
    return max((room for room in ROOMS if under(path, room)), key=len, default=None)


def room_complaint(source, target):
    """Returns why nothing in `source` may know of `target`, or None: rooms alone."""
    here, there = room_of(source), room_of(target)
    if there and here != there and there not in ROOMS.get(here, ()):
        return f"{here or source.rpartition('/')[0]} does not see into {there}"
    return None


def complaint(source, target):
    """Returns why `source` may not include `target`, or None."""
    if under(target, "include"):
        return None
    if under(source, "include"):
        return "a public header includes only public headers"
    for folder in PLUGIN_LIKE:
        if under(source, folder) and not under(target, folder):
            return f"{folder} includes only public headers and its own"
    if under(source, "ir/base"):
        return None if under(target, "ir/base") else "ir/base knows only itself"
    if under(source, "ir"):
        return None if under(target, "ir") else "ir knows only itself"
    why = room_complaint(source, target)
    if why:
        return why
    for folder in MIDDLE:
        if under(source, folder):
            ok = under(target, folder) or under(target, "ir")
            return None if ok else f"{folder} sees its peers by public headers"
    own = "/".join(source.split("/")[:2])
    shared = target.count("/") == 1 or under(target, "tools/common")
    if under(target, "tools") and not under(target, own) and not shared:
        return "a tool does not see into another"
    return None


def main(root):
    bad = 0
    for path in sources.files(root):
        source = path.as_posix()
        for number, line in sources.lines_without_comments(root / path):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            why = None
            for pattern, owner in FOREIGN:
                if pattern.match(name) and not under(source, owner):
                    why = f"only {owner} knows {name}"
            target = target_of(root, root / path, name)
            if target and not why:
                why = complaint(source, target)
            if why:
                print(f'{source}:{number}: error: "{name}": {why}')
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1])))
