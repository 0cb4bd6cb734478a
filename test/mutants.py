"""Faults in derivatives, each of which -verify-gradients must report.

usage: mutants.py GLOW-OPT PLUGIN FOLDER

The plugin misgradient plants one fault into the rule of one operator.  A fault is
judged by all functions that use the operator, of the files FOLDER/*.gir that run
-verify-gradients: without a fault all of
them pass, with it at least one is reported as E0443.
"""

import glob
import re
import subprocess
import sys
import tempfile

OF_ALL = ["sign", "factor"]
SOFTMAX = ["pass", "axis", "term", "diagonal", "outer", "all"]
FAULTS = {
    # Rules of all gradients at once.
    "SoftMax": SOFTMAX,
    "LogSoftMax": SOFTMAX,
    "MaxPool": ["offset", "least", "evenly", "outer", "all"],
    "MaxPoolWithArgmax": ["latest", "outer", "all"],
    "BatchedReduceMax": ["least", "evenly", "count", "outer", "all"],
    "CumProd": ["pass", "reverse", "axis", "pads"],
    "LayerNormalization": ["epsilon", "swap", "pass"],
    "RMSNormalization": ["epsilon", "pass"],
    "BatchNormalization": ["epsilon", "swap", "pass"],
    "MeanVarNormalization": ["epsilon"],
    "LocalResponseNormalization": ["epsilon", "unit", "pass"],
    "NegativeLogLikelihoodLoss": ["count", "swap"],
    "CrossEntropyLoss": [],
    "SigmoidCrossEntropyWithLogits": ["count"],
    # Partial derivatives.
    "Add": [],
    "Sub": ["swap", "pass"],
    "Mul": ["swap", "pass"],
    "Div": ["swap", "pass"],
    "Pow": ["swap", "pass"],
    "Max": ["swap", "pass"],
    "Exp": ["pass"],
    "Relu": ["pass"],
    "Sigmoid": ["pass"],
    "Sqrt": ["pass"],
    "Tanh": ["pass"],
    # Transposes.
    "AvgPool": ["offset", "pads"],
    "BatchedReduceAdd": ["count"],
    "BatchedReduceMean": ["count"],
    "Convolution": ["offset", "unit"],
    "ConvolutionFilterGrad": ["offset"],
    "CumSum": ["reverse", "axis", "pads", "pass"],
    "MatMul": [],
    "MaxPoolGrad": ["offset"],
    "Embedding": [],
    "Gather": [],
    "ROIAlign": [],
    "MaxRoiPool": [],
    "ResizeBilinear": ["grid"],
    "ResizeNearest": ["grid"],
    "Slice": ["offset"],
    "Transpose": [],
}


def functions(folder, op):
    """The functions that use `op`, as the text of one split file."""
    found = []
    for path in sorted(glob.glob(f"{folder}/*.gir")):
        whole = open(path, encoding="utf-8").read()
        if "-verify-gradients" not in whole:
            continue
        for text in re.split(r"^// -----\n", whole, flags=re.M):
            code = "\n".join(l for l in text.split("\n") if not l.startswith("//"))
            if re.search(rf"%(?!sum|mixed)[\w.]+ = {op}\(", code):
                found.append(code)
    return "\n// -----\n".join(found)


def errors(glow_opt, plugin, op, fault, path):
    """The kinds of the errors of a run; [] if all is well."""
    run = subprocess.run(
        [glow_opt, f"-plugin={plugin}", "-split-input-file",
         f'-misgradient.plant=op="{op}",fault={fault}',
         "-differentiate", "-verify-gradients", path, "-o", "/dev/null"],
        capture_output=True, text=True, timeout=60,
    )
    found = re.findall(r"error\[(E\d+)\]", run.stderr)
    return found or ([] if run.returncode == 0 else [f"exit {run.returncode}"])


def main():
    glow_opt, plugin, folder = sys.argv[1:]
    reported = 0
    for op, own in FAULTS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".gir") as f:
            f.write(functions(folder, op))
            f.flush()
            right = errors(glow_opt, plugin, op, "none", f.name)
            if right:
                print(f"{op} without a fault: {' '.join(right)}")
            for fault in OF_ALL + own:
                found = errors(glow_opt, plugin, op, fault, f.name)
                if "E0443" in found:
                    reported += 1
                else:
                    print(f"not reported: {op} {fault}: {' '.join(found)}")
    print(f"{reported} faults reported")


main()
