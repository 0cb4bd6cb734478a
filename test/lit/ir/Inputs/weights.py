"""Writes weights files, right ones and wrong ones, into a folder.

    weights.py FOLDER
"""

import hashlib
import json
import os
import pathlib
import struct
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True)


def safetensors(name, header, data, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    length = len(text) if length is None else length
    (folder / name).write_bytes(struct.pack("<Q", length) + text + data)


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def npy(descr, shape, data):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


two = struct.pack("<2f", 1, -2)
w = tensor("F32", [2], 0, 8)
safetensors("good.safetensors",
            {"__metadata__": {"made": "by hand"}, "conv.weight": w,
             "flag": tensor("BOOL", [2], 8, 10), "odd": tensor("F32", [1], 10, 14)},
            two + b"\1\2" + struct.pack("<f", 3))
whole = (folder / "good.safetensors").read_bytes()
(folder / "hash").write_text(hashlib.sha256(whole).hexdigest()[:8])

safetensors("hole.safetensors", {"w": tensor("F32", [2], 4, 12)}, b"    " + two)
safetensors("overlap.safetensors", {"w": w, "v": tensor("F32", [2], 4, 12)}, two + two)
safetensors("trailing.safetensors", {"w": w}, two + b"!")
safetensors("twice.safetensors",
            b'{"w":' + json.dumps(w).encode() + b',"w":' + json.dumps(w).encode() + b"}", two)
safetensors("long.safetensors", {"w": w}, two, length=1 << 60)
safetensors("outside.safetensors", {"w": tensor("F32", [2], 0, 1 << 62)}, two)
safetensors("negative.safetensors", {"w": tensor("F32", [-2], 0, 8)}, two)
safetensors("wraps.safetensors", {"w": tensor("F32", [1 << 32, 1 << 32], 0, 0)}, b"")
safetensors("dtype.safetensors", {"w": tensor("F33", [2], 0, 8)}, two)
safetensors("rank.safetensors", {"w": tensor("F32", [1] * 9, 0, 4)}, two[:4])
safetensors("deep.safetensors", b'{"w":' + b"[" * 200000, b"")
(folder / "short.safetensors").write_bytes(b"1234")
(folder / "empty.safetensors").write_bytes(b"")

with zipfile.ZipFile(folder / "good.npz", "w") as z:
    z.writestr("w.npy", npy("<f4", "(2,)", two))
with zipfile.ZipFile(folder / "packed.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("w.npy", npy("<f4", "(2,)", two))
with zipfile.ZipFile(folder / "short.npz", "w") as z:
    z.writestr("w.npy", npy("<f4", "(3,)", two))
(folder / "cut.npz").write_bytes((folder / "good.npz").read_bytes()[:-8])
(folder / "raw.bin").write_bytes(b"1234" + two)

(folder / "sub").mkdir()
(folder / "origin").write_bytes(whole)
os.symlink(folder / "good.safetensors", folder / "link")
os.link(folder / "origin", folder / "twin")
os.mkfifo(folder / "pipe")

SOURCE = """weights "w" = {format}("{path}"{hash})
constant @w : {type} = external("w", "{key}")
placeholder @y : {type}
function @main {{
  %r = {op}(@w) : {type}
  %s = Save(%r, @y)
}}
"""


def gir(name, path, key="w", type="float<2>", format="safetensors", hash="", op="Relu"):
    (folder / f"{name}.gir").write_text(
        SOURCE.format(path=path, key=key, type=type, format=format, hash=hash, op=op))


for path in folder.glob("*.safetensors"):
    gir(path.stem, path.name)
gir("good", "good.safetensors", "conv.weight")
gir("hashed", "good.safetensors", "conv.weight",
    hash=f', sha256: "{(folder / "hash").read_text()}"')
gir("other-hash", "good.safetensors", "conv.weight", hash=', sha256: "00000000"')
gir("key", "good.safetensors", "conv.wieght")
gir("type", "good.safetensors", "conv.weight", "float16<2>")
gir("shape", "good.safetensors", "conv.weight", "float<1 x 2>")
gir("flag", "good.safetensors", "flag", "bool<2>", op="Not")
gir("unaligned", "good.safetensors", "odd", "float<1>")
for path in folder.glob("*.npz"):
    gir("npz-" + path.stem, path.name, format="npz")
gir("raw", "raw.bin", "4", format="raw")
gir("raw-end", "raw.bin", "8", format="raw")
gir("raw-key", "raw.bin", "-4", format="raw")
gir("up", "../good.safetensors")
gir("inner-up", "sub/../good.safetensors")
gir("absolute", f"{folder}/good.safetensors")
gir("link", "link")
gir("twin", "twin")
gir("pipe", "pipe")
gir("folder", "sub")
gir("device", "/dev/zero", "0", format="raw")
gir("missing", "missing.safetensors")
