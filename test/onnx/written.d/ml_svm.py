"""Support vector machines of ai.onnx.ml, by loops over their vectors."""

from importlib.machinery import SourceFileLoader
from pathlib import Path

import numpy as np

ml = SourceFileLoader("ml", str(Path(__file__).parent / "ml.py")).load_module()
KERNELS = {
    "LINEAR": lambda x, v, g, c, d: x @ v,
    "POLY": lambda x, v, g, c, d: (g * (x @ v) + c) ** d,
    "RBF": lambda x, v, g, c, d: np.exp(-g * ((x - v) ** 2).sum()),
    "SIGMOID": lambda x, v, g, c, d: np.tanh(g * (x @ v) + c),
}
PARAMS = [0.25, 0.5, 3.0]


def rows(kernel, x, vectors):
    return np.array([[KERNELS[kernel](row, v, *PARAMS) for v in vectors] for row in x])


def floats(a):
    return np.asarray(a, np.float32).ravel().tolist()


def rounded(draw, *shape):
    return draw.standard_normal(shape).astype(np.float32).astype(float)


def regressors(draw):
    x, v, c = rounded(draw, 6, 3), rounded(draw, 5, 3), rounded(draw, 5)
    for kernel in KERNELS:
        yield (f"Regressor_{kernel}", ml.ML,
               ml.node("SVMRegressor", ["x"], ["y"], kernel_type=kernel, n_supports=5,
                       kernel_params=PARAMS, support_vectors=floats(v),
                       coefficients=floats(c), rho=[0.5]),
               ml.f32(x=x), ml.f32(y=rows(kernel, x, v) @ c[:, None] + 0.5))
    y = rows("RBF", x, v) @ c[:, None] + 0.5
    yield ("Regressor_one_class", ml.ML,
           ml.node("SVMRegressor", ["x"], ["y"], kernel_type="RBF", n_supports=5,
                   kernel_params=PARAMS, support_vectors=floats(v), one_class=1,
                   coefficients=floats(c), rho=[0.5]),
           ml.f32(x=x), ml.f32(y=np.where(y > 0, 1, -1)))
    yield ("Regressor_plain", ml.ML,
           ml.node("SVMRegressor", ["x"], ["y"], coefficients=floats(c[:3]), rho=[-1.0]),
           ml.f32(x=x), ml.f32(y=x @ c[:3, None] - 1))


def coupled(r):
    """The second method of Wu, Lin and Weng, as libsvm iterates it."""
    k = len(r)
    q = -r.T * r
    np.fill_diagonal(q, (r * r).sum(0))
    p = np.full(k, 1 / k)
    for _ in range(100):
        qp = q @ p
        pqp = p @ qp
        if np.abs(qp - pqp).max() < 0.005 / k:
            break
        for i in range(k):
            diff = (pqp - qp[i]) / q[i, i]
            p[i] += diff
            pqp = (pqp + diff * (diff * q[i, i] + 2 * qp[i])) / (1 + diff) ** 2
            qp = (qp + diff * q[i]) / (1 + diff)
            p /= 1 + diff
    return p


def classifier(draw, sizes, kernel, probable, how="NONE"):
    k, x = len(sizes), rounded(draw, 7, 3)
    v = rounded(draw, sum(sizes), 3)
    c = rounded(draw, k - 1, sum(sizes))
    pairs = k * (k - 1) // 2
    rho, a, b = rounded(draw, pairs), -np.abs(rounded(draw, pairs)), rounded(draw, pairs) / 4
    starts = np.concatenate(([0], np.cumsum(sizes)))
    kernels = rows(kernel, x, v)
    scores, votes = np.zeros((7, pairs)), np.zeros((7, k), int)
    r = np.zeros((7, k, k))
    pair = 0
    for i in range(k):
        for j in range(i + 1, k):
            one, two = (slice(starts[t], starts[t + 1]) for t in (i, j))
            s = kernels[:, one] @ c[j - 1, one] + kernels[:, two] @ c[i, two] + rho[pair]
            scores[:, pair] = s
            votes[:, i] += s > 0
            votes[:, j] += s <= 0
            p = np.clip(1 - ml.sigmoid(s * a[pair] + b[pair]), 1e-7, 1 - 1e-7)
            r[:, i, j], r[:, j, i] = p, 1 - p
            pair += 1
    labels = np.arange(k) * 3 + 2
    z = np.array([coupled(m) for m in r]) if probable else scores
    if k == 2 and not probable:
        z = np.concatenate((-z if how == "NONE" else 1 - z, z), 1)
    elif how != "NONE":
        z = ml.TRANSFORMS[how](z)
    more = dict(prob_a=floats(a), prob_b=floats(b)) if probable else {}
    return (ml.ML,
            ml.node("SVMClassifier", ["x"], ["y", "z"], kernel_type=kernel,
                    kernel_params=PARAMS, vectors_per_class=sizes, post_transform=how,
                    support_vectors=floats(v), coefficients=floats(c), rho=floats(rho),
                    classlabels_ints=labels.tolist(), **more),
            ml.f32(x=x), {**ml.f32(z=z), "y": labels[votes.argmax(1)]})


def cases(draw):
    yield from regressors(draw)
    for kernel in KERNELS:
        yield (f"Classifier_{kernel}", *classifier(draw, [3, 1, 2], kernel, False))
    yield ("Classifier_two", *classifier(draw, [2, 3], "RBF", False))
    yield ("Classifier_two_probable", *classifier(draw, [2, 3], "RBF", True))
    yield ("Classifier_three_probable", *classifier(draw, [3, 1, 2], "RBF", True))
    yield ("Classifier_five_probable", *classifier(draw, [1, 2, 1, 2, 2], "SIGMOID", True))
    yield ("Classifier_softmax", *classifier(draw, [1, 2, 1], "LINEAR", False, "SOFTMAX"))
