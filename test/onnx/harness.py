"""What the scripts of this folder share: tools, tensors, models, verdicts.

No module but Python's own is needed: tensors are converted by glow-translate
and compared by glow-run.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(1, str(pathlib.Path(__file__).parents[1]))
import widths
import wire

SKIPPED = 77  # what Meson takes for a skipped test

TIMEOUT = 300


class Tools:
    """The tools of one build, by name."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()

    def run(self, name, *arguments, timeout=TIMEOUT):
        """Runs a tool; returns (exit code, what it wrote to stderr)."""
        tool = self.build / "tools" / name / name
        return run([tool, *arguments], timeout)


def run(command, timeout=TIMEOUT):
    """Runs a command; returns (exit code, what it wrote to stderr)."""
    try:
        done = subprocess.run(
            list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return -1, f"{command[0]} took over {timeout} seconds"
    return done.returncode, done.stderr.decode(errors="replace")


class Case:
    """A model with sets of inputs and outputs, as ONNX lays them out."""

    round_trip = False  # export what was imported, and import that
    check = None  # called with the path of each exported model
    cpus = None  # a widths.Widths: -cpu of the cpu backend; None: this machine's

    def __init__(self, tools, model, sets, options=(), rtol=1e-3, atol=1e-7):
        self.tools, self.model, self.sets = tools, model, sets
        self.options, self.rtol, self.atol = list(options), rtol, atol

    def tensors(self, folder, what, values, scratch):
        """Converts what_0.pb, ... of the graph's `values`.

        Returns [(name, .npy)], and the options that say what the files do:
        lengths of sequences, and shapes that the model leaves open.
        """
        found, options = [], []
        types = {v.name: v.type for v in values}
        for i, value in enumerate(values):
            path = folder / f"{what}_{i}.pb"
            if not path.exists():
                break
            data = path.read_bytes()
            name = wire.value_name(data, value.type)
            name = name if name in types else value.name
            parts, lengths = wire.leaves(name, types[name], data)
            options += lengths
            for part in parts:
                file, size = self.convert(part, scratch / folder.name)
                found.append((part.name, file))
                if part.type.is_open and not self.options:
                    options.append(f"-shape={part.name}={size}")
        return found, options

    def convert(self, part, stem):
        """Writes a tensor as .npy; returns the path, and its shape as `1x3`."""
        name = re.sub(r"[^\w.]", "_", part.name)
        pb, out = (stem.parent / f"{stem.name}.{name}{end}" for end in (".pb", ".npy"))
        pb.write_bytes(part.data)
        code, text = self.tools.run("glow-translate", "-tensor", pb, "-o", out)
        if code:
            raise Failure(code, text)
        with open(out, "rb") as file:
            shape = re.search(rb"'shape': \(([^)]*)\)", file.read(256))[1].decode()
        return out, "x".join(re.findall(r"\d+", shape))

    def translate(self, scratch, folder):
        """Imports, binding those inputs that decide shapes, and bounded what still has
        no size.

        Returns the .gir, the inputs, and the names of those that were bound.
        """
        bound, out = {}, scratch / "model.gir"
        values = wire.graph_values(self.model)[0] if self.sets else []
        try:
            inputs, options = self.tensors(folder, "input", values, scratch)
        except Failure:
            # What the model says of it comes first.
            code, text = self.tools.run("glow-translate", "-import-onnx", self.model)
            if code:
                raise Failure(code, text) from None
            raise
        files = dict(inputs)
        allowed = []
        while True:
            binds = [f"-bind={n}={f}" for n, f in bound.items()]
            code, text = self.tools.run(
                "glow-translate", "-import-onnx", self.model, "-o", out,
                *allowed, *options, *self.options, *binds,
            )
            wanted = re.search(r"-bind (\S+)=FILE", text)
            if code == 0:
                return out, inputs, bound
            if wanted and wanted[1] in files and wanted[1] not in bound:
                bound[wanted[1]] = files[wanted[1]]
            elif not allowed:
                allowed = ["-allow-bounded"]
            else:
                raise Failure(code, text)

    def through_onnx(self, gir, scratch):
        """Exports and imports again; returns the new .gir."""
        model, again = scratch / "exported.onnx", scratch / "again.gir"
        for arguments in (["-export-onnx", gir, "-o", model],
                          ["-import-onnx", model, "-o", again, "-allow-bounded"]):
            code, text = self.tools.run("glow-translate", *arguments)
            if code:
                raise Failure(code if code != 1 else 99, "round trip: " + text)
            if self.check and arguments[0] == "-export-onnx":
                self.check(model)
        return again

    def run(self, config):
        """Runs all sets under all configurations; raises Failure."""
        with tempfile.TemporaryDirectory(prefix="glow-onnx-") as scratch:
            scratch = pathlib.Path(scratch)
            for folder in self.sets:
                self.run_set(folder, config, scratch)

    def run_set(self, folder, config, scratch):
        gir, inputs, bound = self.translate(scratch, folder)
        values = wire.graph_values(self.model)[1]
        outputs, _ = self.tensors(folder, "output", values, scratch)
        if self.round_trip:
            gir = self.through_onnx(gir, scratch)
        inputs, outputs = named(gir, inputs, outputs, bound)
        expect = [a for n, f in outputs for a in ("-expect", f"{n}={f}")]
        for backend, level in config:
            for cpu in self.cpus_of(backend):
                self.run_once(gir, backend, level, inputs, expect, cpu)

    def cpus_of(self, backend):
        if not self.cpus or backend != "cpu":
            return [None]
        return self.cpus.of(self.model.parent.name)

    def run_once(self, gir, backend, level, inputs, what, cpu=None):
        arguments = [gir, f"-backend={backend}", *([f"-{level}"] if level else []),
                     *(widths.flags(cpu) if cpu else [])]
        for name, path in inputs:
            arguments += ["-input", f"{name}={path}"]
        arguments += [f"-rtol={self.rtol}", f"-atol={self.atol}", *what]
        code, text = self.tools.run("glow-run", *arguments)
        if code:
            raise Failure(code, f"{backend} {cpu or ''} {level}: {text}")


def placeholders(gir):
    """Names of the placeholders of a .gir file: inputs, then outputs."""
    names = []
    with open(gir, encoding="utf-8") as lines:
        for line in lines:
            if found := re.match(r'placeholder @(?:"((?:[^"\\]|\\.)*)"|(\S+)) ', line):
                names.append(found[1] if found[1] is not None else found[2])
            elif line.startswith("function"):
                break
    return names


def named(gir, inputs, outputs, bound):
    """Gives each tensor the name of its placeholder."""
    free = [i for i in inputs if i[0] not in bound]
    names = placeholders(gir)
    by_name = set(names)
    if not all(n in by_name for n, _ in free + outputs):
        ins = names[: len(free)]
        outs = names[len(free) :]
        free = [(n, f) for n, (_, f) in zip(ins, free)]
        outputs = [(n, f) for n, (_, f) in zip(outs, outputs)]
    return free, outputs


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code, self.text = code, text

    def unsupported(self):
        """Why the model is not supported (a list), or None if that is not it."""
        if self.code != 1 or "error[E0705]" not in self.text:
            return None
        notes = re.findall(r"^note: (\S+) \((.*)\): \d+ node", self.text, re.MULTILINE)
        if notes:
            return [n if w.startswith("opset") else f"{n} ({w})" for n, w in notes]
        first = self.text.split("\n")[0]
        return [re.sub(r"^.*?\.onnx: (?:node \d+, )?", "", first)]

    def refused(self):
        """True if the backend does not take a node that is left after lowering."""
        return self.code == 1 and "error[E0418]" in self.text

    def line(self):
        """The part that says most."""
        lines = [l for l in self.text.split("\n") if l.strip()]
        return lines[0] if lines else f"exit code {self.code}"


def describe(failure, verbose=False):
    """What is printed of a Failure, or of a sentence."""
    if isinstance(failure, str):
        return failure
    return failure.text if verbose else failure.line()


def each(cases, work, jobs):
    """Yields (name, result of work) in order of the names, run in parallel."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [(name, pool.submit(work, case)) for name, case in cases]
        for name, future in futures:
            yield name, future.result()


def add_options(parser):
    parser.add_argument("build", help="the build folder")
    parser.add_argument("-f", "--filter", default="", help="cases by regular expression")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-b", "--backends", default="interp,cpu")
    parser.add_argument("-O", "--levels", default="O0,O2")
    parser.add_argument("-r", "--round-trip", action="store_true",
                        help="export what was imported, and import it again")
    parser.add_argument("-v", "--verbose", action="store_true")
    widths.add_options(parser)


def add_sample(parser):
    parser.add_argument("--sample", type=int, default=1, metavar="N",
                        help="one case of N, drawn by --sample-seed")
    parser.add_argument("--sample-seed", type=int, default=widths.seed_of_commit(),
                        help="default: the commit's")


def sample_of(cases, options):
    """Those of (name, case) that --sample draws, at least one."""
    if options.sample < 2:
        return cases
    count = -(-len(cases) // options.sample)
    drawn = sorted(
        zlib.crc32(f"{options.sample_seed} {name}".encode()) for name, _ in cases)[:count]
    print(f"one case of {options.sample} is drawn: --sample-seed {options.sample_seed}",
          flush=True)
    return [c for c in cases
            if zlib.crc32(f"{options.sample_seed} {c[0]}".encode()) in drawn]


def widths_of(options):
    """Which vector widths the cpu backend is asked for, as the options say."""
    return widths.Widths(pathlib.Path(options.build) / "tools/glow-run/glow-run", options)


def prepare(options):
    """Sets up what the options ask of all cases."""
    Case.round_trip = options.round_trip
    Case.cpus = widths_of(options)
    if not options.round_trip:
        return
    try:
        import onnx
    except ImportError:
        print("python3-onnx is not installed: exported models are not checked by it")
        return

    def check(path):
        try:
            onnx.checker.check_model(onnx.load(path), full_check=True)
        except Exception as error:  # it raises many kinds
            raise Failure(99, f"onnx.checker: {error}") from None

    Case.check = staticmethod(check)


def config_of(options):
    return [
        (b, l) for b in options.backends.split(",") for l in options.levels.split(",")
    ]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def finish(passed, failed, rest=""):
    print(f"{passed} passed, {failed} failed{rest}")
    return 1 if failed or not passed else 0
