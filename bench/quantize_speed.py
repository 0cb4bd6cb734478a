"""Speed, memory and cost of profiling of quantized networks: rows of bench/quantize."""

import json
import pathlib
import subprocess
import sys

import quantize_peer

HERE = pathlib.Path(__file__).resolve().parent

# Name, options of glow-run, the flag in /proc/cpuinfo that it needs, largest time of integers
# by that of floats for each kind of network: 3x3 convolutions above all, and others.
LEVELS = [
    ("this machine", [], "", None),
    ("VNNI", ["-features=-amx-int8,-amx-bf16"], "avx512_vnni", (0.40, 0.60)),
    ("AVX2", ["-cpu=haswell"], "avx2", (0.75, 0.75)),
]
SMALL = {"squeezenet1_1", "mobilenet_v2"}
WITH_ORT = 0.85  # largest time by that of ONNX Runtime's integers
# With AMX: that time, and the one by that of our own bfloat16.
AMX_ORT = {"mobilenet_v2": 0.55}
AMX_ORT_OTHERS = 0.50
AMX_BF16 = {"squeezenet1_1": 0.85, "mobilenet_v2": 0.90}
AMX_BF16_OTHERS = 0.75
QDQ, QDQ_COMPILE_MS = 1.1, 1000
ACTIVATIONS, WEIGHTS, PROFILE = 0.30, 0.27, 2.5


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


class Network:
    """An ONNX model of one input, as floats, quantized, and as QDQ for ONNX Runtime."""

    def __init__(self, tools, name, model, ort):
        self.tools, self.name, self.ort = tools, name, ort
        folder = model.parent
        self.input = folder / "input_0.npy"
        self.net = tools.prepared(model, name)
        self.feed = "input_0"
        for line in self.net.read_text().splitlines():
            if line.startswith("placeholder @"):
                self.feed = line[len("placeholder @"):].split(" ", 1)[0]
                break
        self.profile = tools.profile(self.net, {self.feed: self.input})
        self.small = tools.passes(self.net, "q", f"-load-profile={self.profile}", "-quantize")
        self.qdq = None
        if ort:
            self.folder = tools.out / f"{name}.qdq"
            self.folder.mkdir(exist_ok=True)
            (self.folder / "input_0.npy").write_bytes(self.input.read_bytes())
            self.onnx = self.folder / "model.onnx"
            run(sys.executable, HERE / "qdq.py", ort, model, self.onnx, self.input)
            self.qdq = tools.out / f"{name}.qdq.gir"
            tools.run("glow-translate", "-import-onnx", self.onnx, "-o", self.qdq)

    def ours(self, net, options, seconds):
        text = self.tools.run("glow-run", net, "-backend=cpu", "-O2", "-threads=1", "-no-cache",
                              "-input", f"{self.feed}={self.input}", "-bench",
                              f"-seconds={seconds}", "-json", *options)
        return json.loads(text[text.index("{"):])

    def theirs(self, tool, seconds):
        return json.loads(run(tool, self.ort, self.onnx, 1, 3, seconds, self.folder))


def ort_tool(tools):
    tool = tools.out / "ort_bench"
    run("cc", "-O2", "-o", tool, HERE / "ort_bench.c", "-ldl")
    return tool


def least(found, key):
    return min(f[key] for f in found)


def has(flag):
    return flag in pathlib.Path("/proc/cpuinfo").read_text()


def runs_here(net, options):
    """True if glow-run makes code of these features, and this machine runs it."""
    command = [net.tools.build / "tools/glow-run/glow-run", net.small, "-backend=cpu", "-O2",
               "-no-cache", "-input", f"{net.feed}={net.input}", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, check=False).returncode == 0


def speeds(net, row, rounds, seconds, peer):
    """Rows of times: floats, integers and peers take turns."""
    ok = True
    with_ort = AMX_ORT.get(net.name, AMX_ORT_OTHERS) if has("amx_int8") else WITH_ORT
    for level, options, flag, most in LEVELS:
        if options and not (has(flag) and runs_here(net, options)):
            continue
        f, q, b, d, o = [], [], [], [], []
        for _ in range(rounds):
            f.append(net.ours(net.net, options, seconds))
            q.append(net.ours(net.small, options, seconds))
            if has("amx_int8") and not options:
                b.append(net.ours(net.net, ["-convert=bf16"], seconds))
            if net.qdq:
                d.append(net.ours(net.qdq, options, seconds))
            if peer and not options:
                o.append(net.theirs(peer, seconds))
        own, small = least(f, "processor_min_ms"), least(q, "processor_min_ms")
        share = most[net.name in SMALL] if most else 1
        ok &= row(net.name, f"int8 by float, {level}", f"{share:.2f}",
                  f"{small:.2f} / {own:.2f} ms = {small / own:.2f}", small <= share * own)
        if b:
            half, share = least(b, "processor_min_ms"), AMX_BF16.get(net.name, AMX_BF16_OTHERS)
            ok &= row(net.name, "int8 by bf16, AMX", f"{share:.2f}",
                      f"{small:.2f} / {half:.2f} ms = {small / half:.2f}", small <= share * half)
        if d:
            same, compiled = least(d, "processor_min_ms"), least(d, "processor_compile_ms")
            ok &= row(net.name, f"QDQ by quantize, {level}", f"{QDQ:.2f}",
                      f"{same:.2f} / {small:.2f} ms = {same / small:.2f}", same <= QDQ * small)
            if not options and net.name == "squeezenet1_1":
                ok &= row(net.name, "QDQ, compiled in", f"{QDQ_COMPILE_MS} ms",
                          f"{compiled:.0f} ms", compiled < QDQ_COMPILE_MS)
        if o:
            theirs = min(x.get("processor_min_ms", x["min_ms"]) for x in o)
            ok &= row(net.name, "QDQ by ONNX Runtime's, one thread", f"{with_ort:.2f}",
                      f"{same:.2f} / {theirs:.2f} ms = {same / theirs:.2f}",
                      same <= with_ort * theirs)
    return ok


def planned(net, path):
    """Figures of the program without bands, which float networks have sooner."""
    placed = net.tools.out / f"{path.stem}.placed.gir"
    net.tools.run("glow-opt", "-O2", "-backend=cpu", "-no-winograd", "-disable-pass=tile-rows",
                  path, "-o", placed)
    return net.ours(placed, ["-no-winograd"], 0)


def memory(net, row):
    f, q = planned(net, net.net), planned(net, net.small)
    ok = True
    for what, most in (("activation", ACTIVATIONS), ("weight", WEIGHTS)):
        a, b = q[f"{what}_bytes"], f[f"{what}_bytes"]
        ok &= row(net.name, f"{what}s, int8 by float", f"{most:.2f}",
                  f"{a / 1e6:.2f} / {b / 1e6:.2f} MB = {a / b:.2f}", a <= most * b)
    return ok


def seconds_of(*command):
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def profile_cost(net, row, runs=64):
    feeds = net.tools.out / f"{net.name}.feeds"
    feeds.write_text(f"{net.input}\n" * runs)
    tool = net.tools.build / "tools/glow-run/glow-run"
    end = ["-input", f"{net.feed}=list:{feeds}", "-backend=cpu", "-threads=1"]
    file = net.tools.out / f"{net.name}.cost.prof"
    profiled = seconds_of(tool, net.net, *end, f"-dump-profile={file}", "-no-cache")
    one = net.ours(net.net, [], 0.5)
    plain = (one["processor_compile_ms"] + runs * one["processor_median_ms"]) / 1000
    ok = row(net.name, f"profile of {runs} runs by plain ones", f"{PROFILE:.1f}",
             f"{profiled:.2f} / {plain:.2f} s = {profiled / plain:.2f}",
             profiled <= PROFILE * plain)
    size = file.stat().st_size
    return row(net.name, "file of the profile", "2 MB", f"{size / 1e6:.2f} MB",
               size <= 2e6) and ok


def rows(tools, names, models, ort, rounds, seconds, row):
    """All rows of the networks `names`, whose model is models/NAME/model.onnx."""
    ok, peer = True, ort_tool(tools) if ort else None
    for name in names:
        model = models / name / "model.onnx"
        if not model.exists():
            print(f"{name:16} no {model}: bench/models writes it")
            continue
        net = Network(tools, name, model, ort)
        if ort:
            ok &= quantize_peer.elements_row(net, row)
            ok &= quantize_peer.outputs_row(net, model, row)
        ok &= speeds(net, row, rounds, seconds, peer)
        ok &= memory(net, row)
        ok &= profile_cost(net, row)
    return ok
