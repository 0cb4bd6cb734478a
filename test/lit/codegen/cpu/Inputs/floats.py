"""Writes random floats from -1/16 to 1/16: floats.py FILE NAME:ROWSxCOLUMNS ..."""
import array
import json
import random
import sys

random.seed(1)
entries, data = {}, b""
for word in sys.argv[2:]:
    name, _, shape = word.partition(":")
    shape = [int(n) for n in shape.split("x")]
    count = 1
    for n in shape:
        count *= n
    more = array.array("f", (random.uniform(-1, 1) / 16 for _ in range(count))).tobytes()
    entries[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
    data += more
header = json.dumps(entries).encode()
with open(sys.argv[1], "wb") as f:
    f.write(len(header).to_bytes(8, "little") + header + data)
