"""Runs bundles on an emulated AArch64, whose processor has all features that QEMU knows."""

import re
import subprocess
import sys


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.decode()}")
    return done.stdout


def run_bundle(folder, driver, features, inputs, backend="cpu"):
    """Compiles net.gir and runs it on arrays by name; returns a function to a result's bytes."""
    run("glow-opt", "-O2", "-emit-bundle", f"-backend={backend}", "-target=aarch64-linux-gnu",
        f"-features={features}", "net.gir", "-o", "net", cwd=folder)
    run("clang-19", "--target=aarch64-linux-gnu", "-O1", "-ffreestanding", "-fno-pic", "-nostdlib",
        "-static", "-fuse-ld=lld-19", "-I", ".", driver, "net.o", "-o", "net", cwd=folder)
    header = (folder / "net.h").read_text()
    sizes = {m[1]: int(m[2]) for m in re.finditer(r"#define NET_(\w+) (\d+)", header)}
    memory = bytearray(sizes["PLACEHOLDERS_SIZE"])
    for name, array in inputs.items():
        at = sizes[f"{name.upper()}_OFFSET"]
        memory[at:at + array.nbytes] = array.tobytes()
    weights = (folder / "net.weights").read_bytes()[:sizes["CONSTANTS_SIZE"]]
    got = run("qemu-aarch64", "-cpu", "max", folder / "net", input=weights + memory)

    def result(name, size):
        at = sizes[f"{name.upper()}_OFFSET"]
        return got[at:at + size]

    return result
