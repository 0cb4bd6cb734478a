"""Holds calibrate to searches that count element by element: calibrate_oracle.py GLOW-OPT.

Histograms are drawn; each range that glow-opt chooses is to be that of the oracle.
"""

import json
import math
import random
import re
import struct
import subprocess
import sys


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def edges(v):
    h = v["histogram"]
    return [h["low"] + h["width"] * i for i in range(len(h["counts"]) + 1)]


def percentile(v, keep):
    e, c = edges(v), v["histogram"]["counts"]
    cut = sum(c) * (1 - keep / 100) / 2
    first, last = 0, len(c)
    while first + 1 < last and sum(c[: first + 1]) <= cut:
        first += 1
    while last - 1 > first and sum(c[last - 1 :]) <= cut:
        last -= 1
    return e[first], e[last]


def error(e, c, i, j, bits):
    """The squared error of the range from edge i to edge j."""
    step = (max(e[j], 0) - min(e[i], 0)) / (2**bits - 1)
    total = 0
    for k, n in enumerate(c):
        x = (e[k] + e[k + 1]) / 2
        if k < i:
            total += n * (e[i] - x) ** 2
        elif k >= j:
            total += n * (x - e[j]) ** 2
        elif not e[k] <= 0 < e[k + 1]:
            total += n * step * step / 12
    return total


def mse(v, bits):
    """All ranges within the ends that hold 0 as the ends do."""
    e, c = edges(v), v["histogram"]["counts"]
    n = len(c)
    lows = [i for i in range(n) if i == 0 or (e[0] < 0 and e[i] <= 0)]
    highs = [j for j in range(n + 1) if j == n or (e[n] > 0 and e[j] >= 0)]
    return min(
        (error(e, c, i, j, bits), e[i], e[j]) for i in lows for j in highs if i < j
    )


def smooth(p):
    zeros = sum(x <= 0 for x in p)
    take = 1e-4 * zeros / (len(p) - zeros)
    return [max(x - take, 1e-12) if x > 0 else 1e-4 for x in p]


def divergence(p, q):
    p, q = smooth(p), smooth(q)
    a, b = sum(p), sum(q)
    return sum(x / a * math.log((x / a) / (y / b)) for x, y in zip(p, q))


def entropy(v, bits, spike):
    e, c = edges(v), [float(x) for x in v["histogram"]["counts"]]
    merged, n = 2**bits - 1, len(c)
    zero = [k for k in range(n) if e[k] <= 0 < e[k + 1]]
    if zero and not spike:
        z = zero[0]
        c[z] = min(c[z], max(([c[z - 1]] if z else []) + c[z + 1 : z + 2] + [0]))
    best, begin, end = None, 0, n
    while end - begin >= merged:
        inner = c[begin:end]
        p = inner[:]
        p[0] += sum(c[:begin])
        p[-1] += sum(c[end:])
        q, each = [], len(p) // merged
        for m in range(merged):
            at = slice(m * each, len(p) if m == merged - 1 else (m + 1) * each)
            full = sum(x > 0 for x in p[at])
            q += [sum(inner[at]) / full if x > 0 else 0 for x in p[at]]
        if any(p) and any(q):
            d = divergence(p, q)
            if best is None or d < best[0] - 1e-12:
                best = d, begin, end
        if sum(c[begin : begin + 2]) < sum(c[end - 2 : end]):
            begin += 2
        else:
            end -= 2
    return e[best[1]], e[best[2]]


def draw(rng, name):
    n = rng.randrange(20, 60)
    width = 2.0 ** rng.randrange(-6, 3)
    first = rng.choice([0, -rng.randrange(n), 3, -n - 2])
    counts = [rng.choice([0, 1, 2, 9, 50]) for _ in range(n)]
    counts = [rng.randrange(1, 3) if k in (0, n - 1) else x for k, x in enumerate(counts)]
    if 0 < -first < n:
        counts[-first] = rng.choice([3, 4000])
    low = f32((first + 0.25) * width)
    high = f32((first + n - 0.25) * width)
    return {
        "name": name, "elements": sum(counts), "runs": 1, "range": [low, high],
        "run_min": low, "run_max": high,
        "histogram": {"bins": n, "low": first * width, "width": width, "counts": counts},
    }


def ranges(tool, options, count):
    text = "placeholder @x : float<4>\nfunction @main {\n"
    text += "".join(f"  %v{i} = Relu(@x) : float<4>\n" for i in range(count)) + "}\n"
    p = subprocess.run(
        [tool, "-load-profile=oracle.prof", f"-calibrate={options}"],
        input=text, capture_output=True, text=True,
    )
    assert p.returncode == 0, p.stderr
    found = re.findall(r"%v(\d+): \[(\S+), (\S+)\]", p.stdout)
    assert len(found) == count, p.stdout
    return {int(i): (float(a), float(b)) for i, a, b in found}


def main(tool):
    rng = random.Random(7)
    values = [draw(rng, f"%v{i}") for i in range(40)]
    json.dump({"version": 1, "runs": 1, "values": values}, open("oracle.prof", "w"))
    kinds = {
        "how=percentile percentile=90": lambda v: percentile(v, 90),
        "how=percentile": lambda v: percentile(v, 99.99),
        "how=mse bits=3": lambda v: mse(v, 3),
        "how=mse bits=6": lambda v: mse(v, 6),
        "how=entropy bits=4": lambda v: entropy(v, 4, False),
        "how=entropy bits=4 spike": lambda v: entropy(v, 4, True),
    }
    narrower = 0
    for options, oracle in kinds.items():
        got = ranges(tool, options, len(values))
        for i, v in enumerate(values):
            want = oracle(v)
            least, low, high = want if len(want) == 3 else (None, *want)
            low = max(low, v["range"][0])
            high = min(high, v["range"][1])
            same = abs(got[i][0] - low) + abs(got[i][1] - high) < 1e-6
            narrower += got[i] != tuple(v["range"])
            assert same, f"{options}, value {i}: {got[i]}, not {(low, high)}"
    print(f"{len(kinds) * len(values)} ranges, {narrower} narrower than all elements")


main(sys.argv[1])
