"""Processors of each vector width, one with emulated AMX, and which of them this machine can run code for.

    widths.py COMMAND...           runs the command with each processor appended, as `-cpu=NAME`
    widths.py --draw COMMAND...    with `-draw N` put first, N changing with each commit

The first failure ends the script with the exit code of that command.  A processor that
this machine lacks is left out with a word; glow-run says so itself, by E0825.  Under lit
GLOW_WIDTHS in the environment has those that run here, so that they are looked for once,
and GLOW_WIDTHS_SEED draws one of them for each command.
"""

import os
import pathlib
import platform
import random
import subprocess
import sys
import tempfile

# Vectors of 16, 32 and 64 bytes, and registers of matrices; features follow the name.
PROCESSORS = {"x86_64": ["x86-64", "haswell", "skylake-avx512",
                         "skylake-avx512+amx-emulated"]}

PROBE = """placeholder @x : float<1>
placeholder @y : float<1>
function @main {
  %s = Save(@x, @y)
}
"""


def flags(cpu):
    """The options of glow-run for a processor and its features, NAME+FEATURE."""
    name, plus, features = cpu.partition("+")
    return [f"-cpu={name}", *([f"-features=+{features}"] if plus else [])]


def lacks(glow_run, cpu):
    """The sentence by which glow-run refuses to run code for `cpu` here, or None."""
    with tempfile.TemporaryDirectory(prefix="glow-width-") as folder:
        probe = pathlib.Path(folder) / "probe.gir"
        probe.write_text(PROBE)
        done = subprocess.run(
            [glow_run, "-backend=cpu", "-no-cache", *flags(cpu), probe, "-input=x=zero"],
            capture_output=True, text=True)
    if done.returncode and "error[E0825]" not in done.stderr:
        sys.exit(f"{glow_run} -cpu={cpu}: {done.stderr}")
    return done.stderr.split("\n")[0] if done.returncode else None


def here(glow_run, say=print):
    """Names for -cpu of all widths that run here; `say` is told of the others."""
    if "GLOW_WIDTHS" in os.environ:
        return os.environ["GLOW_WIDTHS"].split()
    found = []
    for cpu in PROCESSORS.get(platform.machine(), []):
        why = lacks(glow_run, cpu)
        if why:
            say(f"left out -cpu={cpu}: {why}")
        else:
            found.append(cpu)
    return found or ["native"]


def seed_of_commit():
    """A number that changes with each commit, so that samples differ; 1 without git."""
    done = subprocess.run(
        ["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "HEAD"],
        capture_output=True, text=True)
    return int(done.stdout[:8], 16) if done.returncode == 0 else 1


def add_seed(parser):
    """--seed of a fuzzer, whose inputs change with the commit unless it is given."""
    parser.add_argument("--seed", type=int, default=seed_of_commit(), help="default: the commit's")


def drawn(seed, case, cpus):
    """One of `cpus` for the case of that name."""
    return random.Random(f"{seed} {case}").choice(cpus)


def add_options(parser):
    """What fuzzers and runners of cases take: one width of each, or all."""
    parser.add_argument("--widths", choices=["native", "sample", "all"], default="native",
                        help="-cpu of the cpu backend: this machine's, one drawn, or every one")
    parser.add_argument("--width-seed", type=int, help="of the sample; default: the commit's")


class Widths:
    """Which -cpu each case is run with, as the options say."""

    def __init__(self, glow_run, options):
        self.all = ["native"] if options.widths == "native" else here(glow_run)
        self.samples = options.widths == "sample"
        self.seed = options.width_seed
        if self.seed is None:
            self.seed = seed_of_commit()
        if self.samples:
            print(f"-cpu of each case is drawn from {', '.join(self.all)}: "
                  f"--width-seed {self.seed}", flush=True)

    def of(self, case):
        """The list of -cpu for the case of that name."""
        if self.samples:
            return [drawn(self.seed, case, self.all)]
        return self.all


def main():
    command = sys.argv[1:]
    if command[0] == "--draw":
        done = subprocess.run([command[1], "-draw", str(seed_of_commit()), *command[2:]])
        sys.exit(done.returncode)
    cpus = here(command[0])
    if cpus and "GLOW_WIDTHS_SEED" in os.environ:
        cpus = [drawn(os.environ["GLOW_WIDTHS_SEED"], " ".join(command), cpus)]
    for cpu in cpus:
        print(*flags(cpu), flush=True)
        code = subprocess.run([*command, *flags(cpu)]).returncode
        if code:
            sys.exit(code)


if __name__ == "__main__":
    main()
