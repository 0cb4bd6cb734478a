"""How the tests of this folder are found and run.  See ../README.md."""

import glob
import os
import platform
import shutil
import sys

import lit.util

sys.path[:0] = [os.path.join(config.source_root, "test"), os.path.dirname(__file__)]
import lit_sample
import widths

# Seed of what is drawn: widths of vectors, and the tests of a sample.
seed = int(lit_config.params.get("seed", widths.seed_of_commit()))

config.name = "glow"
size = int(lit_config.params.get("sample", 1))
config.test_format = lit_sample.Sample(size, seed)
config.suffixes = [".gir", ".test", ".onnxtxt"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

# The tools by their bare names: ours, then FileCheck, not, count, split-file.
# scripts/compare-builds puts wrappers before them.
path = [lit_config.params.get("tools"), config.path, os.environ["PATH"]]
config.environment["PATH"] = ":".join(p for p in path if p)

# Tests must not depend on where or when they run.
config.environment["LC_ALL"] = "C.UTF-8"
config.environment.pop("GLOW_PLUGINS", None)
config.environment["GLOW_CACHE"] = ""  # none: what is compiled is tested

# Data too large or too foreign to be kept here; tests that read it say
# `REQUIRES: shared-data`.
data = os.path.normpath(os.path.join(config.source_root, "..", "shared", "data"))
config.available_features.update(config.features)
if os.path.isdir(data):
    config.available_features.add("shared-data")
if platform.machine() == "x86_64":
    config.available_features.add("x86_64")
    if shutil.which("valgrind"):
        config.available_features.add("valgrind")

# Debian's emulators, clang-19 and lld-19: they make and run programs for others.
if all(map(shutil.which, ["qemu-aarch64", "clang-19", "ld.lld-19"])):
    config.available_features.add("qemu-aarch64")
if all(map(shutil.which, ["qemu-system-arm", "clang-19", "ld.lld-19"])):
    config.available_features.add("boards")
# Bundles for WebAssembly.
if shutil.which("node") and (shutil.which("wasm-ld-19") or shutil.which("wasm-ld")):
    config.available_features.add("wasm")
if shutil.which("clang-format-19"):
    config.available_features.add("clang-format")
if shutil.which("chromium"):
    config.available_features.add("chromium")

# Debian's HAProxy, which is not on the PATH of all users.
if shutil.which("haproxy") or os.access("/usr/sbin/haproxy", os.X_OK):
    config.available_features.add("haproxy")

# Debian's PostgreSQL, whose programs are beside the PATH, and which root starts as another.
if glob.glob("/usr/lib/postgresql/*/bin/initdb") and shutil.which("runuser"):
    config.available_features.add("postgresql")

# Widths of vectors that this machine runs, looked for once.  %{widths} runs a command at
# one of them, which is drawn, or under `--param widths=all` at each.
glow_run = lit.util.which("glow-run", config.environment["PATH"])
if glow_run:
    found = widths.here(glow_run, say=lit_config.note)
    config.environment["GLOW_WIDTHS"] = " ".join(found)
    config.available_features.update("runs-" + cpu.partition("+")[0] for cpu in found)
if lit_config.params.get("widths") != "all":
    config.environment["GLOW_WIDTHS_SEED"] = str(seed)
lit_config.note(f"drawn by --param seed={seed}: "
                f"{'widths, ' if 'GLOW_WIDTHS_SEED' in config.environment else ''}"
                f"one test of {size}")

if "address" in config.features:
    config.environment.setdefault(
        "ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1"
    )
    config.environment["LSAN_OPTIONS"] = "report_objects=1"
if "undefined" in config.features:
    config.environment.setdefault(
        "UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1"
    )

config.substitutions += [
    ("%{data}", data),
    ("%{src}", config.source_root),
    ("%{build}", config.build_root),
    ("%{python}", config.python),
    ("%{widths}", f"{config.python} {config.source_root}/test/widths.py"),
    ("%{exits}", f"{config.python} {config.test_source_root}/exits.py"),
    ("%{cc}", config.cc),
    ("%{cxx}", config.cxx),
    ("%{libglow}", config.libglow),
    ("%{libllvm}", config.libllvm),
]
