"""shapes.py ROUNDS FOLDER: odd convolutions in odd scratchpads, held to the interpreter.

Sizes, strides, pads, dilations, groups and channels are drawn, and so are capacities:
some are one byte less than a number of elements.  In the default scratchpads all
multiply-adds must be on the accelerator.  Each third network is done by vta.units too.
"""

import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


UNITS = "form-units,lower,fold-constants,dce,schedule,irgen,propagate-copy,engines"


def check_units(net, inputs, out, seed):
    queues = net.with_suffix(".queues.gir")
    subprocess.run(["glow-opt", "-backend=vta.units", f"-passes={UNITS}", net, "-o", queues], check=True)
    for backend in "interp<orders=3>", f"vta.units<seed={seed % 2 * seed}>":
        done = subprocess.run(["glow-run", f"-backend={backend}", queues, *inputs, "-expect", f"y={out}"],
                              capture_output=True, text=True, check=False)
        if done.returncode or " 0 apart" not in done.stdout + done.stderr:
            sys.exit(f"seed {seed}, {backend}:\n{done.stdout}{done.stderr}")


def capacity(r, element, least, most):
    return r.randint(least, most) * element - r.choice([0, 1])


def main():
    rounds, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    all_macs = done_macs = 0
    for seed in range(1, rounds + 1):
        r = random.Random(-seed)
        net, out, report = (folder / f"{seed}.{end}" for end in ("gir", "npy", "json"))
        macs = int(subprocess.run([sys.executable, HERE / "networks.py", "shapes", str(seed), net],
                                  check=True, capture_output=True).stdout)
        fits = r.random() < 0.3
        options = [f"seed={r.choice([0, 1 + seed])}",
                   f"double_buffer={r.choice(['true', 'true', 'false'])}"]
        if not fits:
            options += [f"inp={capacity(r, 16, 8, 200)}", f"wgt={capacity(r, 256, 4, 60)}",
                        f"acc={capacity(r, 64, 12, 200)}", f"uop={capacity(r, 4, 60, 500)}",
                        f"depth={r.randint(1, 20)}", f"bytes_per_cycle={r.choice([1, 8, 16])}"]
        inputs = ["-input", f"x=random:{seed}"]
        if "@z" in net.read_text(encoding="utf-8"):
            inputs += ["-input", f"z=random:{seed + 1}"]
        run = ["glow-run", net, *inputs]
        subprocess.run([*run, "-backend=interp", "-output", f"y={out}"], check=True)
        done = subprocess.run([*run, f"-backend=vta.core<{','.join(options)}>", "-O2", "-expect", f"y={out}"],
                              capture_output=True, text=True, check=False)
        if done.returncode or " 0 apart" not in done.stdout + done.stderr:
            sys.exit(f"seed {seed}, {' '.join(options)}:\n{done.stdout}{done.stderr}")
        if seed % 3 == 0:
            check_units(net, inputs, out, seed)
        subprocess.run(["glow-opt", net, f"-backend=vta.core<{','.join(options)}>", "-O2",
                        "-emit=report", "-o", report], check=True)
        done = sum(u["macs"] for u in json.loads(report.read_text(encoding="utf-8"))["units"])
        if done > macs or (fits and done != macs):
            sys.exit(f"seed {seed}: {done} of {macs} multiply-adds on the accelerator")
        all_macs += macs
        done_macs += done
    print(f"{rounds} networks, {100 * done_macs // all_macs} % of the multiply-adds on the accelerator")


main()
