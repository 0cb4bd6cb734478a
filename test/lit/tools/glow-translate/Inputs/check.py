"""check.py NET NAME ...: interprets all inputs, and compiles for those that differ most."""
import pathlib
import subprocess
import sys

net = pathlib.Path(sys.argv[1])
for case in "some", "none", "all":
    for options in ["-backend=interp"], ["-backend=cpu", "-O2"]:
        expected = [f"-expect={name}={net}.{case}.{name}.npy" for name in sys.argv[2:]
                    if pathlib.Path(f"{net}.{case}.{name}.npy").exists()]
        if not expected or (case == "all" and "-O2" in options):
            continue
        print(case, options, flush=True)
        subprocess.run(["glow-run", f"{net}.gir", f"-input=x={net.parent}/{case}.npy",
                        "-rtol=1e-5", "-atol=1e-6", *expected, *options], check=True)
