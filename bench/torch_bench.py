#!/usr/bin/python3
"""Times a module of torch_models.py in PyTorch, traced, frozen and fused.

    torch_bench.py FOLDER THREADS RUNS SECONDS

FOLDER holds script.pt and its inputs.  After three runs for warmth there are at
least RUNS, until SECONDS are over.  Writes outputs as FOLDER/torch_i.npy, and prints
one JSON object, with times of the clock and of the processor.
"""

import json
import os
import pathlib
import resource
import statistics
import sys
import time
import warnings

WARM_RUNS, MOST_RUNS = 3, 2000


def fastest(torch, path, inputs):
    """The module as it runs best; some cannot be fused."""
    frozen = torch.jit.freeze(torch.jit.load(str(path)).eval())
    try:
        fused = torch.jit.optimize_for_inference(frozen)
        fused(*inputs)
        return fused
    except RuntimeError:
        return frozen


def measure(run, runs, seconds):
    wall, processor, begin = [], [], time.perf_counter()
    while len(wall) < MOST_RUNS and (len(wall) < runs or time.perf_counter() - begin < seconds):
        start, spent = time.perf_counter(), time.process_time()
        run()
        processor.append(1e3 * (time.process_time() - spent))
        wall.append(1e3 * (time.perf_counter() - start))
    return wall, processor


def main(folder, threads, runs, seconds):
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    import numpy as np
    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    files = sorted(folder.glob("input_*.npy"), key=lambda p: int(p.stem[6:]))
    inputs = [torch.from_numpy(np.load(p)) for p in files]
    with torch.no_grad():
        begin = time.perf_counter()
        module = fastest(torch, folder / "script.pt", inputs)
        load = time.perf_counter() - begin
        for _ in range(WARM_RUNS):
            outputs = module(*inputs)
        wall, processor = measure(lambda: module(*inputs), runs, seconds)
    for i, y in enumerate(outputs if isinstance(outputs, (tuple, list)) else [outputs]):
        np.save(folder / f"torch_{i}.npy", y.numpy())
    print(json.dumps({
        "version": torch.__version__, "load_ms": 1e3 * load, "runs": len(wall),
        "min_ms": min(wall), "median_ms": statistics.median(wall),
        "processor_min_ms": min(processor), "processor_median_ms": statistics.median(processor),
        "peak_rss_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
