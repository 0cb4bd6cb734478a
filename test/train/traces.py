"""Losses of training steps against those that PyTorch reached in float64.

usage: traces.py TOOLS DATA FOLDER [--float64] [--steps N] [NETWORK OPTIMIZER ...]
       traces.py TOOLS DATA FOLDER --gradients [NETWORK ...]

DATA is ../shared/data/training: networks with first weights, and the losses of 50 steps.
Each network is imported for training, differentiated and updated, and run on cpu, one
process for each step, which reads and writes weights and moments in a file (glow-run
-state).  A loss may be off by 1e-5 of itself.  With --float64 the step is of float64, and
run by the interpreter: a loss may be off by 1e-10.  Without names a few pairs are run that
stay together in float32.  With --gradients the norm of each first gradient is compared, in
float32 on cpu, with that of float64.  FOLDER is for files in between; needs numpy.
"""

import json
import pathlib
import re
import struct
import subprocess
import sys

import numpy as np

# Samples, of how many a batch is made, and the weights, if some are not trained.
NETWORKS = {
    "digits": ("8", 32, None),
    "lenet": ("28", 64, None),
    "resnet18w8": ("32", 16, None),
    "transformer": ("text", 16, "model.[!m]*"),  # not its mask
    "charrnn": ("text", 16, None),
}
# Options of update-weights, and the rate.
OPTIMIZERS = {
    "sgd": ("optimizer=sgd", 0.05),
    "momentum": ("optimizer=momentum", 0.01),
    "nesterov": ("optimizer=nesterov", 0.01),
    "decay": ("optimizer=momentum,decay=0.001", 0.01),
    "adam": ("optimizer=adam", 1e-3),
    "adamw": ("optimizer=adamw,decay=0.01", 1e-3),
    "adagrad": ("optimizer=adagrad,epsilon=1e-10", 0.01),
    "rmsprop": ("optimizer=rmsprop,beta=0.99", 1e-3),
}
PAIRS = ["digits", "sgd", "digits", "adam", "lenet", "momentum",
         "transformer", "adamw", "charrnn", "momentum"]
MOST, MOST_WIDE = 1e-5, 1e-10


def text(count=20000, vocab=64):
    """The made language of DATA/models.py."""
    rng = np.random.default_rng(7)
    words = [rng.integers(1, vocab, rng.integers(2, 8)) for _ in range(40)]
    weights = 1 / np.arange(1, 41)
    picks = rng.choice(40, count, p=weights / weights.sum())
    return np.concatenate([np.append(words[i], 0) for i in picks])[:count]


def samples(data, kind, length=32):
    """Inputs and labels, in the order of the traces."""
    if kind == "text":
        t = text()
        starts = 7 * np.arange((len(t) - length - 1) // 7)[:, None] + np.arange(length)
        return t[starts].astype(np.int64), t[starts + 1].astype(np.int64)
    z = np.load(data / "digits.npz")
    order = np.random.default_rng(1805).permutation(len(z["images"]))[360:]
    x = (z["images"].astype(np.float32) / 16)[order][:, None]
    if kind == "28":
        x = np.pad(x.repeat(3, 2).repeat(3, 3), ((0, 0), (0, 0), (2, 2), (2, 2)))
    if kind == "32":
        x = x.repeat(4, 2).repeat(4, 3)
        x = np.concatenate([x, 1 - x, x * x], 1)
    return x, z["labels"].astype(np.int64)[order]


def widen(path):
    """Makes the program one of float64; its constants are numbers that it states."""
    text = path.read_text()
    if re.search(r"^constant @.* : float<.*= (external|base64)", text, re.M):
        sys.exit(f"{path}: constants of float are not widened")
    path.write_text(re.sub(r"\bfloat<", "float64<", text))


def widen_weights(path):
    """Makes the floats of a safetensors file ones of float64."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    for t in header.values():
        t["dtype"], t["data_offsets"] = "F64", [2 * at for at in t["data_offsets"]]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = np.frombuffer(raw[8 + size :], "<f4").astype("<f8").tobytes()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_step(tools, data, folder, network, update, wide):
    """The program of a step; its weights are in FOLDER/NETWORK.safetensors."""
    net, step = folder / f"{network}.gir", folder / f"{network}.step.gir"
    only = NETWORKS[network][2]
    subprocess.run([tools / "glow-translate/glow-translate", "-import-onnx",
                    data / f"{network}.onnx", "-train", "-o", net], check=True)
    if wide:
        widen(net)
        widen_weights(folder / f"{network}.safetensors")
    subprocess.run([tools / "glow-opt/glow-opt", "-drop-unused-results", "-simplify", "-recognize",
                    f'-differentiate=of="{only}"' if only else "-differentiate",
                    *update, net, "-o", step], check=True, stderr=subprocess.DEVNULL)
    return step


def losses(tools, data, folder, network, optimizer, steps, wide):
    update = ["-update-weights=" + OPTIMIZERS[optimizer][0]]
    program = make_step(tools, data, folder, network, update, wide)
    kind, batch, _ = NETWORKS[network]
    x, y = samples(data, kind)
    rate = np.float32(OPTIMIZERS[optimizer][1])
    np.save(folder / "rate.npy", rate)
    if wide and x.dtype == np.float32:
        x = x.astype(np.float64)
    how = ["-backend=interp"] if wide else ["-O2", "-cache", f"-cache-dir={folder}/cache"]
    for step in range(steps):
        pick = (np.arange(batch) + step * batch) % len(x)
        np.save(folder / "x.npy", x[pick])
        np.save(folder / "label.npy", y[pick].flatten())
        run = [tools / "glow-run/glow-run", program, *how,
               f"-output=loss={folder}/loss.npy",
               f"-state={folder}/{network}.safetensors"]
        for name in ("x", "label", "rate"):
            run.append(f"-input={name}={folder / name}.npy")
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        yield float(np.load(folder / "loss.npy"))


# How far a norm may be off.
MOST_NORM = {"resnet18w8": 2e-5}


def gradients(tools, data, folder, network):
    """How far the norm of a first gradient is off, of itself, at most.

    Names differ where the exporter folded a transpose or packed an LSTM; so norms are
    compared in the order of their size.
    """
    program = make_step(tools, data, folder, network, [], False)
    kind, batch, _ = NETWORKS[network]
    x, y = samples(data, kind)
    out = folder / f"{network}.gradients"
    out.mkdir(exist_ok=True)
    np.save(folder / "x.npy", x[:batch])
    np.save(folder / "label.npy", y[:batch].flatten())
    subprocess.run([tools / "glow-run/glow-run", program, "-O2", f"-output-dir={out}",
                    f"-state={folder}/{network}.safetensors",
                    f"-input=x={folder}/x.npy", f"-input=label={folder}/label.npy"],
                   check=True, stdout=subprocess.DEVNULL)
    expected = json.loads((data / f"{network}.json").read_text())["gradients"]
    got = [np.linalg.norm(np.load(p).astype(np.float64)) for p in out.glob("grad.*.npy")]
    if len(got) != len(expected):
        sys.exit(f"{network}: {len(got)} gradients, and not {len(expected)}")
    return max(abs(g - e) / e for g, e in zip(sorted(got), sorted(expected.values())))


def main_gradients(tools, data, folder, networks):
    failed = 0
    for network in networks or NETWORKS:
        away = gradients(tools, data, folder, network)
        print(f"{network}: norms of gradients off by {away:.1e} at most")
        failed += not away <= MOST_NORM.get(network, 1e-5)
    return failed > 0


def main():
    args = sys.argv[1:]
    tools, data, folder = (pathlib.Path(p).resolve() for p in args[:3])
    rest = args[3:]
    if rest[:1] == ["--gradients"]:
        return main_gradients(tools, data, folder, rest[1:])
    steps, wide = 50, rest[:1] == ["--float64"]
    rest = rest[wide:]
    if rest[:1] == ["--steps"]:
        steps, rest = int(rest[1]), rest[2:]
    rest = rest or PAIRS
    failed = 0
    for network, optimizer in zip(rest[::2], rest[1::2]):
        trace = json.loads((data / f"{network}.json").read_text())["optimizers"]
        expected = trace[optimizer]["float64"][:steps]
        got = losses(tools, data, folder, network, optimizer, len(expected), wide)
        away = max(abs(g - e) / abs(e) for g, e in zip(got, expected))
        print(f"{network} {optimizer}: {len(expected)} losses, off by {away:.1e} at most")
        failed += not away <= (MOST_WIDE if wide else MOST)
    return failed > 0


sys.exit(main())
