"""Faults in derivatives, each of which -verify-gradients must report.

usage: mutants.py GLOW-OPT PLUGIN FOLDER
       mutants.py GLOW-OPT PLUGIN FOLDER --lower

The plugin misgradient plants one fault into the rule of one operator.  A fault is
judged by all functions that use the operator, of the files FOLDER/*.gir that run
-verify-gradients: without a fault all of
them pass, with it at least one is reported as E0443.

With --lower faults are planted into the lowering of operators that have gradients: each
node of floats that a rule builds is multiplied by some factors, one at a time.  A fault is
judged by FOLDER/OPERATOR.gir, where -verify-semantics must report it as E0411.
"""

import glob
import re
import subprocess
import sys
import tempfile

OF_ALL = ["sign", "factor"]
SOFTMAX = ["pass", "axis", "term", "diagonal", "outer", "all"]
NORM = ["epsilon", "pass", "count", "outer", "all", "unit", "diagonal"]
FAULTS = {
    # Rules of all gradients at once.
    "SoftMax": SOFTMAX,
    "LogSoftMax": SOFTMAX,
    "MaxPool": ["offset", "least", "evenly", "outer", "all"],
    "MaxPoolWithArgmax": ["latest", "outer", "all"],
    "BatchedReduceMax": ["least", "evenly", "count", "outer", "all"],
    "CumProd": ["pass", "reverse", "axis", "pads"],
    "LayerNormalization": NORM + ["swap", "term"],
    "RMSNormalization": NORM,
    "BatchNormalization": ["epsilon", "swap", "pass"],
    # By the statistics of the batch.
    "BatchNormalization MeanVarNormalization": NORM + ["swap", "term"],
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


# Operators of gradients, which are lowered, and factors of results of nodes.
LOWERED = ["BatchNormalizationGrad", "LayerNormalizationGrad", "RMSNormalizationGrad",
           "ConvolutionFilterGrad", "MaxPoolGrad", "ReluGrad", "GeluGrad", "SigmoidGrad",
           "SwishGrad", "TanhGrad"]
FACTORS = [-1, 1.01, 0]


def functions(folder, ops):
    """The functions that use all of `ops`, as the text of one split file."""
    found = []
    for path in sorted(glob.glob(f"{folder}/*.gir")):
        whole = open(path, encoding="utf-8").read()
        if "-verify-gradients" not in whole:
            continue
        for text in re.split(r"^// -----\n", whole, flags=re.M):
            code = "\n".join(l for l in text.split("\n") if not l.startswith("//"))
            if all(re.search(rf"%(?!sum|mixed)[\w.]+ = {op}\(", code) for op in ops):
                found.append(code)
    return "\n// -----\n".join(found)


def errors(glow_opt, plugin, *args):
    """The kinds of the errors of a run; [] if all is well."""
    run = subprocess.run(
        [glow_opt, f"-plugin={plugin}", "-split-input-file", *args, "-o", "/dev/null"],
        capture_output=True, text=True, timeout=60,
    )
    found = re.findall(r"error\[(E\d+)\]", run.stderr)
    return found or ([] if run.returncode == 0 else [f"exit {run.returncode}"])


def errors_of_rule(glow_opt, plugin, op, fault, path):
    return errors(glow_opt, plugin, f'-misgradient.plant=op="{op}",fault={fault}',
                  "-differentiate", "-verify-gradients", path)


def errors_of_lowering(glow_opt, plugin, op, node, by, path):
    return errors(glow_opt, plugin, f'-misgradient.lower=op="{op}",node={node},by={by}',
                  "-verify-semantics", path)


def nodes_of_lowering(glow_opt, plugin, op, path):
    """How many nodes may be spoiled: the text is that of the last fault from then on."""
    def text(node):
        return subprocess.run(
            [glow_opt, f"-plugin={plugin}",
             f'-misgradient.lower=op="{op}",node={node},by=2', path],
            capture_output=True, text=True, timeout=60, check=True,
        ).stdout

    right, count = text(-1), 0
    while text(count) != right:
        count += 1
    return count


def main_lower(glow_opt, plugin, folder):
    reported = 0
    for op in LOWERED:
        path = f"{folder}/{op.lower()}.gir"
        right = errors_of_lowering(glow_opt, plugin, op, -1, 1, path)
        if right:
            print(f"{op} without a fault: {' '.join(right)}")
        count = nodes_of_lowering(glow_opt, plugin, op, path)
        for node in range(count):
            for by in FACTORS:
                found = errors_of_lowering(glow_opt, plugin, op, node, by, path)
                if "E0411" in found:
                    reported += 1
                else:
                    print(f"not reported: {op} {node} {by}: {' '.join(found)}")
        print(f"{op}: {count} nodes")
    print(f"{reported} faults reported")


def main():
    glow_opt, plugin, folder = sys.argv[1:4]
    if sys.argv[4:] == ["--lower"]:
        main_lower(glow_opt, plugin, folder)
        return
    reported = 0
    for ops, own in FAULTS.items():
        op = ops.split()[0]
        with tempfile.NamedTemporaryFile("w", suffix=".gir") as f:
            f.write(functions(folder, ops.split()))
            f.flush()
            right = errors_of_rule(glow_opt, plugin, op, "none", f.name)
            if right:
                print(f"{ops} without a fault: {' '.join(right)}")
            for fault in OF_ALL + own:
                found = errors_of_rule(glow_opt, plugin, op, fault, f.name)
                if "E0443" in found:
                    reported += 1
                else:
                    print(f"not reported: {ops} {fault}: {' '.join(found)}")
    print(f"{reported} faults reported")


main()
