"""Simulates C2 to C12 of ResNet-18 (as VTA counts its convolutions)."""
import json
import os
import subprocess
import sys

OPT, PLUGIN, MACHINE, OUT = sys.argv[1:]
PASSES = "schedule,irgen,engines"
# Size, channels in and out, kernel, stride; and how often it occurs.
LAYERS = [(56, 64, 64, 3, 1, 4), (56, 64, 128, 3, 2, 1), (56, 64, 128, 1, 2, 1),
          (28, 128, 128, 3, 1, 3), (28, 128, 256, 3, 2, 1),
          (28, 128, 256, 1, 2, 1), (14, 256, 256, 3, 1, 3),
          (14, 256, 512, 3, 2, 1), (14, 256, 512, 1, 2, 1),
          (7, 512, 512, 3, 1, 3)]
os.makedirs(OUT, exist_ok=True)


def target(rate, divide):
    with open(MACHINE) as f:
        t = json.load(f)
    for s in t["spaces"]:
        size = {"inp": 32768, "wgt": 262144, "acc": 131072}.get(s["name"])
        if size:
            s["size"] = size // divide
    for link in t["links"]:
        link["bytes_per_cycle"] = rate
    with open(OUT + "/target.json", "w") as f:
        json.dump(t, f)


def network(h, c, o, k, s):
    p, y = k // 2, (h + 2 * (k // 2) - k) // s + 1
    shape = "%d x %d x %d x 16" % (o // 16, y, y)
    with open(OUT + "/net.gir", "w") as f:
        f.write("""gir 1 "mac" 1
placeholder @x : int8<%d x %d x %d x 16>
placeholder @w : int8<%d x %d x %d x %d x 16 x 16>
placeholder @b : index32<%d x 1 x 1 x 16>
placeholder @y : int8<%s>
function @main {
  %%c = mac.Conv(@x, @w, _) {Kernels: [%d, %d], Strides: [%d, %d], Pads: [%s]} : index32<%s>
  %%r = mac.Requantize(%%c, @b) {Shift: 8, Least: 0, Most: 127} : index32<%s>
  %%s = mac.Store(%%r) : int8<%s>
  %%save = Save(%%s, @y)
}
""" % (c // 16, h, h, o // 16, c // 16, k, k, o // 16, shape, k, k, s, s,
            ", ".join([str(p)] * 4), shape, shape, shape))
    return y


def simulate(rate, divide, *more):
    """Cycles, bound, bytes and least bytes of all layers."""
    total = [0, 0, 0, 0]
    target(rate, divide)
    for h, c, o, k, s, times in LAYERS:
        y = network(h, c, o, k, s)
        r = json.loads(subprocess.run(
            [OPT, "-plugin=" + PLUGIN, "-target-file=" + OUT + "/target.json",
             "-passes=" + PASSES, "-simulate=json", OUT + "/net.gir", *more],
            check=True, capture_output=True, text=True).stdout)
        macs = y * y * o * c * k * k
        # of a kernel of one element, the pixels at the stride
        pixels = h * h if k > 1 else y * y
        least = pixels * c + o * c * k * k + 4 * o + y * y * o
        moved = sum(link["bytes"] for link in r["links"])
        assert r["units"][0]["work"] == macs, r
        assert [link["bytes"] for link in r["links"]
                if link["to"] == "dram"] == [y * y * o], r
        assert moved >= least and r["cycles"] >= moved / rate, r
        assert r["cycles"] >= macs / 256, r
        for i, n in enumerate((r["cycles"], max(macs / 256, least / rate),
                               moved, least)):
            total[i] += times * n
    return total


for rate in 8, 16:
    cycles, bound, moved, least = simulate(rate, 1)
    assert bound >= 0.9 * cycles, bound / cycles
    assert moved <= 1.5 * least, moved / least
    print("%d bytes a cycle: at least 90 %% of the roofline, at most 1.5 times "
          "the least bytes" % rate)
    if rate == 8:
        whole = moved
cycles, bound, moved, least = simulate(8, 1, "-disable-pass=double-buffer")
assert bound <= 0.8 * cycles, bound / cycles
print("8 bytes a cycle, without double-buffer: at most 80 %")
for divide, word in (2, "halved"), (4, "quartered"):
    cycles, bound, moved, least = simulate(8, divide)
    assert moved > whole and cycles < 1.1 * bound / 0.9
    print("scratchpads %s: more bytes" % word)
    whole = moved
