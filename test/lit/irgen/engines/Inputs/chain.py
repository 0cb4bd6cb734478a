"""Compiles networks for the queues of mac.json, and holds them to the interpreter."""
import json
import os
import random
import re
import subprocess
import sys

OPT, RUN, PLUGIN, INPUTS, OUT = sys.argv[1:]
PASSES = "schedule,irgen,engines"
os.makedirs(OUT, exist_ok=True)


def call(*command, fails=False):
    got = subprocess.run(command, capture_output=True, text=True)
    assert (got.returncode != 0) == fails, (command, got.stderr, got.stdout)
    return got


def target(divide):
    with open(INPUTS + "/mac.json") as f:
        t = json.load(f)
    for s in t["spaces"]:
        if "size" in s:
            s["size"] //= divide
    path = "%s/mac-%d.json" % (OUT, divide)
    with open(path, "w") as f:
        json.dump(t, f)
    return path


def network(c, h, w, o, kernel, stride, pad):
    """A convolution of c blocks of channels to o blocks."""
    y = [(n + 2 * pad - k) // stride + 1 for n, k in zip((h, w), kernel)]
    shape = "%d x %d x %d x 16" % (o, *y)
    path = "%s/net.gir" % OUT
    with open(path, "w") as f:
        f.write("""gir 1 "mac" 1
placeholder @x : int8<%d x %d x %d x 16>
placeholder @w : int8<%d x %d x %d x %d x 16 x 16>
placeholder @b : index32<%d x 1 x 1 x 16>
placeholder @y : int8<%s>
function @main {
  %%c = mac.Conv(@x, @w, _) {Kernels: [%d, %d], Strides: [%d, %d], Pads: [%s]} : index32<%s>
  %%r = mac.Requantize(%%c, @b) {Shift: 3, Least: -100, Most: 100} : index32<%s>
  %%s = mac.Store(%%r) : int8<%s>
  %%save = Save(%%s, @y)
}
""" % (c, h, w, o, c, *kernel, o, shape, *kernel, stride, stride,
            ", ".join([str(pad)] * 4), shape, shape, shape))
    return path


INPUT = [a for n, s in (("x", 1), ("w", 2), ("b", 3))
         for a in ("-input", "%s=random:%d" % (n, s))]


def expect(net):
    call(RUN, "-plugin=" + PLUGIN, "-backend=interp", net, *INPUT,
         "-output", "y=%s/y.npy" % OUT)


def compile(net, machine, *more):
    path = OUT + "/out.gir"
    call(OPT, "-plugin=" + PLUGIN, "-target-file=" + machine,
         "-passes=" + PASSES, net, "-o", path, *more)
    s = call(OPT, "-plugin=" + PLUGIN, "-target-file=" + machine,
             "-simulate=json", path)
    return path, json.loads(s.stdout)


def run(path, orders, fails=False):
    return call(RUN, "-plugin=" + PLUGIN, "-backend=interp<orders=%d>" % orders,
                path, *INPUT, "-expect", "y=%s/y.npy" % OUT, "-atol", "0",
                "-rtol", "0", fails=fails)


net = INPUTS + "/conv.gir"
expect(net)
path, full = compile(net, target(1))
run(path, 1000)
print("conv.gir: 1000 orders exact")
with open(path) as f:
    good = f.read()
last = full["cycles"]
for divide in 2, 4:
    path, s = compile(net, target(divide))
    run(path, 30)
    print("conv.gir, scratchpads / %d: 30 orders exact, %s cycles"
          % (divide, "more" if s["cycles"] >= 0.99 * last else "fewer"))
    last = s["cycles"]

random.seed(5)
for i in range(12):
    kernel = random.choice([(1, 1), (3, 3), (3, 1), (5, 5), (2, 3)])
    other = network(random.randint(1, 4), random.randint(5, 13),
                    random.randint(5, 13), random.randint(1, 5), kernel,
                    random.choice([1, 1, 2, 3]), random.randint(0, 3))
    expect(other)
    path, s = compile(other, target(random.choice([1, 2])))
    run(path, 10)
    work = s["units"][0]["work"]
    with open(other) as f:
        c, h, w = map(int, re.search(r"@x : int8<(\d+) x (\d+) x (\d+)",
                                     f.read()).groups())
    with open(other) as f:
        o, y, z = map(int, re.search(r"@y : int8<(\d+) x (\d+) x (\d+)",
                                     f.read()).groups())
    assert work == o * y * z * c * 256 * kernel[0] * kernel[1], (work, other)
    stored = [k for k in s["links"] if k["to"] == "dram"][0]
    assert stored["bytes"] == stored["least"] == o * y * z * 16, stored
print("12 generated shapes exact")

expect(net)
path, s = compile(net, target(1), "-disable-pass=double-buffer")
run(path, 10)
print("without double-buffer: exact, %s cycles"
      % ("more" if s["cycles"] > full["cycles"] else "fewer"))

tokens = re.findall(r"^ *%(\S+) = alloc token<>$", good, re.M)
assert len(tokens) > 10
found = ran = 0
for t in random.sample(tokens, 10):
    bad = "".join(line + "\n" for line in good.splitlines()
                  if not re.search(r"%%%s( |$)" % re.escape(t), line))
    path = OUT + "/bad.gir"
    with open(path, "w") as f:
        f.write(bad)
    got = call(OPT, "-plugin=" + PLUGIN, "-target-file=" + target(1),
               "-verify-engines", path, fails=True)
    found += "error[E0338]" in got.stderr
    got = subprocess.run(
        [RUN, "-plugin=" + PLUGIN, "-backend=interp<orders=1000>", path, *INPUT,
         "-expect", "y=%s/y.npy" % OUT], capture_output=True, text=True)
    ran += got.returncode != 0
print("tokens removed one by one: %s"
      % ("all found" if found == 10 and ran == 10
         else "%d by replay, %d by running, of 10" % (found, ran)))

product = network(5, 1, 37, 3, (1, 1), 1, 0)
expect(product)
path, s = compile(product, target(4))
run(path, 50)
print("product of matrices: exact")

path, s = compile(INPUTS + "/layers.gir", target(1))
LAYERS = INPUT + ["-input", "v=random:4", "-input", "d=random:5"]
INPUT = LAYERS
expect(INPUTS + "/layers.gir")
run(path, 300)
print("four layers, and the host between: 300 orders exact")

with open(target(1)) as f:
    more = json.load(f)
more["units"].append({"queue": "compute", "op": "Add", "per_cycle": 16,
                      "operands": {"LHS": "acc", "RHS": "acc", "Result": "acc"}})
with open(OUT + "/add.json", "w") as f:
    json.dump(more, f)
INPUT = INPUT[:6] + ["-input", "r=random:6"]
expect(INPUTS + "/residual.gir")
path, s = compile(INPUTS + "/residual.gir", OUT + "/add.json")
run(path, 100)
stored = sum(k["bytes"] for k in s["links"] if k["to"] == "dram")
print("a residual in the scratchpad: exact, %s"
      % ("stored once" if stored == 3 * 81 * 16 * 5 else "%d bytes" % stored))
