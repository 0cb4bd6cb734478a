"""What the scripts of this folder share: commands, bundles and how they are linked."""

import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
BOARD = SOURCE / "examples" / "board"
LIMIT = 120  # seconds of a command
OBJDUMP = "llvm-objdump-19"


class Failure(Exception):
    pass


def begin(build):
    """Puts the tools of a build first on the PATH."""
    tools = [str(t) for t in pathlib.Path(build).resolve().glob("tools/glow-*")]
    os.environ["PATH"] = os.pathsep.join([*tools, os.environ["PATH"]])
    os.environ["GLOW_CACHE"] = ""


def in_ci():
    return os.environ.get("CI") == "true"


def call(*command, cwd=None, codes=(0,)):
    command = [str(c) for c in command]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True,
                          timeout=LIMIT)
    if done.returncode not in codes:
        raise Failure(f"{' '.join(command)[:200]}: exit code {done.returncode}: "
                      f"{(done.stderr or done.stdout)[-500:]}")
    return done


def missing(machine):
    """The first program that is not installed, or None."""
    needs = [*machine.run[:1], OBJDUMP,
             *(["clang-19", "ld.lld-19"] if machine.clang else ["wasm-ld-19"])]
    return next((n for n in needs if not shutil.which(n)), None)


def header_numbers(header, name):
    """The macros of a bundle `name` that are numbers, without their prefix."""
    return {macro: int(value) for macro, value in
            re.findall(rf"#define {name.upper()}_(\w+) (\d+)$", header.read_text(),
                       re.M)}


def link(machine, folder, *sources):
    """Links sources with start code to `program` in `folder`; returns how to run it."""
    start = [BOARD / "start.c", BOARD / "float.c"] if machine.board else [
        HERE / "linux.c"]
    script = ["-T", BOARD / "board.ld"] if machine.board else []
    call("clang-19", *machine.clang, "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror",
         "-ffreestanding", "-fno-pic", "-fno-stack-protector", "-nostdlib", "-static",
         "-fuse-ld=lld-19", "-I", BOARD, "-I", folder, *sources, *start, *script, "-o",
         folder / "program", cwd=folder)
    return [*machine.run, folder / "program"]


def check_instructions(pattern, *objects):
    text = call(OBJDUMP, "-d", "-r", "--mattr=+all", *objects).stdout
    if not re.search(pattern, text):
        raise Failure(f"the code has no instruction like {pattern}")
