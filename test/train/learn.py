"""Networks that learn: the learning tests of Glow's MLTest, and its examples.

usage: learn.py TOOLS FOLDER [NAME ...]

Each network of learn/ is trained by glow-train from drawn weights, on samples that are made
here, and must come as near as Glow asks for: numbers within a distance, classes of samples
that were not trained on, or a likelihood.  FOLDER is for files in between; needs numpy.
"""

import pathlib
import re
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
F, I = np.float32, np.int64


def numbers(rng, x, t, most, **options):
    """Samples, whose first batch must come out within `most`."""
    return dict(data={"x": x.astype(F), "t": t.astype(F)}, most=most, **options)


def classes(rng, x, t, right, **options):
    """Samples and classes; of the last fifth, `right` of 1 must be right."""
    cut = len(x) - len(x) // 5
    order = rng.permutation(len(x))
    x, t = x[order].astype(F), t[order].astype(I)
    return dict(data={"x": x[:cut], "t": t[:cut]}, valid={"x": x[cut:], "t": t[cut:]},
                right=right, **options)


def sqrt2(rng):
    return dict(data={"t": np.full((1, 1), 2, F)}, want=np.full((1, 1), 2**0.5), most=0.01,
                rate=0.05, epochs=200)


def simple(rng):
    return numbers(rng, np.array([[0.15, 0.15, 0.15]]), np.array([[0.9, 0.1, 0.5, 0.7]]), 0.05,
                   rate=0.5, epochs=1000)


def regression(rng):
    x = rng.uniform(0, 2, (40, 3))
    return numbers(rng, x, x + 1, 0.1, optimizer="adam", rate=0.02, epochs=150)


def xor(rng):
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    return numbers(rng, x, x.sum(1, keepdims=True) % 2, 0.1, rate=0.5, epochs=2500)


def log(rng):
    x = rng.uniform(0.5, 2, (40, 1))
    return numbers(rng, x, np.log(3 * x), 0.02, rate=0.2, epochs=100)


def circle(rng):
    x = rng.uniform(-1, 1, (600, 2))
    radius = np.hypot(*x.T)
    x, radius = x[abs(radius - 0.6) > 0.1], radius[abs(radius - 0.6) > 0.1]
    return classes(rng, x, radius > 0.6, 0.97, optimizer="adam", rate=0.01, epochs=60)


def concat(rng):
    return numbers(rng, rng.uniform(-1, 1, (1, 4)), np.full((1, 8), 0.9), 0.1, rate=1,
                   epochs=500)


def sequence(rng):
    """The next number of 0.1, 0.2 ... in four shifts."""
    steps = (np.arange(7) + np.arange(4)[:, None]) / 10
    return dict(data={"x": steps[:, :6, None].astype(F), "t": steps[:, 1:].astype(F)},
                most=0.05, optimizer="adam", rate=0.01, epochs=1000)


def scan(rng):
    """The last state of a recurrent cell of drawn weights."""
    w, u = rng.normal(0, 0.4, (3, 2)), rng.normal(0, 0.4, (2, 2))
    x, h = rng.normal(0, 1, (400, 5, 3)), np.zeros((400, 2))
    for k in range(5):
        h = np.tanh(x[:, k] @ w + h @ u)
    return numbers(rng, x, h, 0.01, optimizer="momentum", rate=0.05, epochs=60)


def line(rng):
    x = rng.uniform(-2, 2, (80, 1))
    return numbers(rng, x, 0.7 * x + 0.3, 0.01, rate=0.1, epochs=30)


def sport(rng):
    """Basketball and football, by height and weight in units of their spread."""
    tall = rng.normal([1, 0], 0.3, (150, 2))
    heavy = rng.normal([-0.5, 1], 0.3, (150, 2))
    return classes(rng, np.concatenate([tall, heavy]), np.repeat([0, 1], 150), 0.98,
                   optimizer="adam", rate=0.01, epochs=20)


def sine(rng):
    x = np.linspace(-3, 3, 100)[:, None]
    order = rng.permutation(100)
    return numbers(rng, x[order], np.sin(x)[order] / 2, 0.05, optimizer="adam", rate=0.02,
                   epochs=400)


def nonlinear(rng):
    x = rng.uniform(-1, 1, (900, 2))
    x = x[(abs(x) > 0.1).all(1)]
    return classes(rng, x, x.prod(1) > 0, 0.97, optimizer="adam", rate=0.01, epochs=60)


def crosses(rng):
    x, t = np.zeros((400, 8, 8, 1)), rng.integers(0, 2, 400)
    for picture, cross in zip(x, t):
        r, c = rng.integers(1, 7, 2)
        picture[r, c - 1:c + 2] = 1
        if cross:
            picture[r - 1:r + 2, c] = 1
    return classes(rng, x + rng.normal(0, 0.1, x.shape), t, 0.97, optimizer="adam", rate=3e-3,
                   epochs=12)


def pixel(rng):
    at = np.tile(np.arange(100), 10)
    rng.shuffle(at)
    x = np.eye(100)[at]
    return numbers(rng, x, np.stack([at // 10, at % 10], 1) / 10, 0.05, optimizer="adam",
                   rate=3e-3, epochs=60)


def rotation(rng):
    a = rng.uniform(-1, 1, (1700, 3, 3))
    t = rng.integers(0, 2, 1700)
    b = np.where(t[:, None, None] == 1, np.rot90(a, axes=(1, 2)), a)
    return classes(rng, np.concatenate([a, b], 1).reshape(-1, 18), t, 16 / 17,
                   optimizer="adam", rate=0.01, epochs=60)


TABLE = np.array([1, 0, 0.5, -1, 0, 1, -0.5, 0.5, 0.25, -0.75, 1, 0, -1, 0.5, 0, 1, 0.5, 0.5,
                  -1, 0.25, -0.25, 1, 0.75, -0.5]).reshape(6, 4)


def lookups(rng, weights, one):
    """Sums of three rows each, of which the network learns the rows or the weights."""
    n = 2 if one else 64
    picks = np.arange(6).reshape(1, 2, 3) if one else rng.permuted(
        np.tile(np.arange(6), (n // 2, 1)), axis=1).reshape(-1, 2, 3)
    t = (TABLE[picks] * weights.reshape(2, 3, 1)).sum(2).reshape(n, 4)
    return dict(data={"lengths": np.full(n, 3, np.int32), "indices": picks.reshape(n, 3),
                      "t": t.astype(F)}, most=0.02, optimizer="adam", rate=0.02,
                epochs=400 if one else 60, ordered=True)


def sum_embeddings(rng):
    return lookups(rng, np.ones(6), False)


def weighted_embeddings(rng):
    return lookups(rng, np.array([0.5, 1, -1, 2, 0.25, -0.5]), False)


def weighted_weights(rng):
    return lookups(rng, np.array([0.5, 1, -1, 2, 0.25, -0.5]), True)


def mnist(rng):
    """The digits of examples/digits, three times as large, as 28 x 28."""
    folder = HERE.parents[1] / "examples/digits"

    def large(x):
        return np.pad(x.repeat(3, 2).repeat(3, 3), ((0, 0), (0, 0), (2, 2), (2, 2))).reshape(
            -1, 28, 28, 1).astype(F)

    x = large(np.load(folder / "train-images.npy") / 16)
    return dict(data={"x": x, "t": np.load(folder / "train-labels.npy").astype(I)},
                valid={"x": large(np.load(folder / "images.npy")[:80]),
                       "t": np.load(folder / "labels.npy")[:80]},
                right=74 / 80, optimizer="momentum", rate=1e-3, decay=1e-3, epochs=4)


def cifar10(rng):
    """Ten patterns of colour and direction, with noise."""
    t = rng.integers(0, 10, 1000)
    r, c = np.mgrid[:32, :32]
    colours = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]])
    phase = rng.integers(0, 8, 1000)
    stripes = [(np.where(k < 5, r, c) + p) // 4 % 2 for k, p in zip(t, phase)]
    x = np.stack(stripes)[..., None] * colours[t % 5][:, None, None]
    return classes(rng, x + rng.normal(0, 0.3, x.shape), t, 0.9, optimizer="momentum",
                   rate=1e-3, decay=1e-4, epochs=3)


def language(rng, vocabulary, length, count, **options):
    """Words of a made language, drawn by Zipf's law: who reads one can tell its end."""
    words = [rng.integers(1, vocabulary, rng.integers(3, 8)) for _ in range(20)]
    p = 1 / np.arange(1, 21)
    text = np.concatenate([np.append(words[i], 0) for i in
                           rng.choice(20, count * length // 4, p=p / p.sum())])
    starts = np.arange(count)[:, None] * length + np.arange(length)
    cut = count - count // 10
    x, t = text[starts].astype(I), text[starts + 1].astype(I)
    share = np.bincount(text, minlength=vocabulary) / len(text)
    entropy = -(share[share > 0] * np.log(share[share > 0])).sum()
    return dict(data={"x": x[:cut], "t": t[:cut]}, valid={"x": x[cut:], "t": t[cut:]},
                loss=0.5 * entropy, **options)


def char_rnn(rng):
    return language(rng, 32, 20, 800, optimizer="adam", rate=5e-3, epochs=4)


def ptb(rng):
    return language(rng, 50, 10, 2000, optimizer="adam", rate=0.01, epochs=6)


TESTS = {"sqrt2": sqrt2, "simple": simple, "regression": regression, "xor": xor, "log": log,
         "circle": circle, "concat": concat, "rnn": sequence, "gru": sequence,
         "lstm": sequence, "scan": scan, "line": line, "sport": sport, "sine": sine,
         "nonlinear": nonlinear, "crosses": crosses, "pixel": pixel, "rotation": rotation,
         "sum-embeddings": sum_embeddings, "weighted-embeddings": weighted_embeddings,
         "weighted-weights": weighted_weights, "mnist": mnist, "cifar10": cifar10,
         "char-rnn": char_rnn, "ptb": ptb}


def save(folder, samples, word):
    for name, v in samples.items():
        np.save(folder / f"{word}.{name}.npy", v)
        yield from (f"-{word}", f"{name}={folder}/{word}.{name}.npy")


def train(tools, folder, name, test):
    net = HERE / "learn" / f"{name}.gir"
    run = [tools / "glow-train/glow-train", net, "-fresh", "-loss=loss",
           *save(folder, test["data"], "data"), "-o", folder / "w.safetensors"]
    for option in ("optimizer", "rate", "decay", "epochs"):
        if option in test:
            run += [f"-{option}", str(test[option])]
    if "valid" in test:
        run += save(folder, test["valid"], "valid")
    if "ordered" in test:
        run.append("-no-shuffle")
    if "right" in test:
        run += ["-metric", "accuracy=y,t"]
    return net, subprocess.run(run, check=True, capture_output=True, text=True).stdout


def distance(tools, folder, net, test):
    """How far the first batch is off."""
    batch = {name: int(size) for name, size in
             re.findall(r"placeholder @(\w+) : \w+<(\d+)", net.read_text())}
    run = [tools / "glow-run/glow-run", net, f"-state={folder}/w.safetensors",
           f"-output=y={folder}/y.npy"]
    for name, v in test["data"].items():
        v = v.reshape(-1) if name == "indices" else v
        np.save(folder / f"{name}.npy", v[:batch[name]])
        run.append(f"-input={name}={folder / name}.npy")
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    y = np.load(folder / "y.npy")
    want = test.get("want", test["data"]["t"][:len(y)])
    return np.abs(y - want).max()


def check(tools, folder, name):
    test = TESTS[name](np.random.default_rng(1805))
    net, log = train(tools, folder, name, test)
    last = log.splitlines()[-1]
    if "right" in test:
        right, of = map(int, re.search(r"\((\d+) of (\d+)\)", last).groups())
        ok, text = right >= test["right"] * of, f"{right} of {of} right"
    elif "loss" in test:
        loss = float(re.search(r"valid ([0-9.e-]+)", last).group(1))
        ok, text = loss < test["loss"], f"loss {loss:.3f}, and {test['loss']:.3f} are asked for"
    else:
        off = distance(tools, folder, net, test)
        ok, text = off <= test["most"], f"off by {off:.4f}, {test['most']} at most"
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {text}", flush=True)
    return ok


def main():
    tools, folder = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    folder.mkdir(exist_ok=True)
    return not all([check(tools, folder, name) for name in sys.argv[3:] or TESTS])


sys.exit(main())
