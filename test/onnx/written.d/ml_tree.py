"""Ensembles of trees of ai.onnx.ml, by a walk through each."""

import math
import operator

import numpy as np
from onnx import numpy_helper
from onnx.helper import make_node

from importlib.machinery import SourceFileLoader
from pathlib import Path

ml = SourceFileLoader("ml", str(Path(__file__).parent / "ml.py")).load_module()
TESTS = {"BRANCH_LEQ": operator.le, "BRANCH_LT": operator.lt, "BRANCH_GTE": operator.ge,
         "BRANCH_GT": operator.gt, "BRANCH_EQ": operator.eq, "BRANCH_NEQ": operator.ne}


class Tree:
    """(mode, feature, value, nan goes to true, yes, no), or a list of weights."""

    def __init__(self, draw, width, targets, depth, modes, leaf):
        self.nodes = []
        self.draw, self.width, self.targets = draw, width, targets
        self.modes, self.leaf = modes, leaf
        self.grow(depth)

    def grow(self, depth):
        at = len(self.nodes)
        if depth == 0 or (at and self.draw.uniform() < 0.2):
            self.nodes.append(self.leaf(self.draw))
            return at
        self.nodes.append(None)
        test = (self.modes[self.draw.randint(len(self.modes))],
                self.draw.randint(self.width), float(self.draw.randint(-3, 4)) / 2,
                int(self.draw.randint(2)))
        self.nodes[at] = (*test, self.grow(depth - 1), self.grow(depth - 1))
        return at

    def find(self, row, tracks):
        node = self.nodes[0]
        while isinstance(node, tuple):
            mode, feature, value, nan, yes, no = node
            x = row[feature]
            node = self.nodes[yes if TESTS[mode](x, value) or
                              (tracks and nan and math.isnan(x)) else no]
        return node


def attributes(trees, tracks, what, ids):
    """The trees as lists of numbers; numbers of nodes do not start at 0."""
    a = {f"nodes_{k}": [] for k in (
        "treeids nodeids featureids modes values truenodeids falsenodeids "
        "missing_value_tracks_true").split()}
    votes = {f"{what}_treeids": [], f"{what}_nodeids": [], ids: [], f"{what}_weights": []}
    for t, tree in enumerate(trees):
        for i, node in enumerate(tree.nodes):
            leaf = not isinstance(node, tuple)
            mode, feature, value, nan, yes, no = ("LEAF", 0, 0.0, 0, 0, 0) if leaf else node
            row = t, i, feature, mode, value, yes, no, nan
            for column, v in zip(a.values(), row):
                column.append(v)
            for target, weight in node if leaf else ():
                for column, v in zip(votes.values(), (t, i, target, weight)):
                    column.append(v)
    if not tracks:
        del a["nodes_missing_value_tracks_true"]
    return {**a, **votes}


AGGREGATES = {"SUM": np.sum, "AVERAGE": np.sum, "MIN": np.min, "MAX": np.max}


def scores(trees, x, targets, how="SUM", tracks=False):
    """[N, targets], and which of them any leaf spoke of."""
    y, has = np.zeros((len(x), targets)), np.zeros((len(x), targets), bool)
    for i, row in enumerate(x):
        said = [[] for _ in range(targets)]
        for tree in trees:
            for target, weight in tree.find(row, tracks):
                said[target].append(np.float32(weight))
        for k, weights in enumerate(said):
            if weights:
                y[i, k], has[i, k] = AGGREGATES[how](weights), True
    return y / (len(trees) if how == "AVERAGE" else 1), has


def inputs(draw, rows, width):
    x = draw.randint(-4, 5, (rows, width)) / 2
    return x.astype(np.float32)


def regressors(draw):
    def leaf(targets):
        return lambda d: [(k, float(np.float32(d.standard_normal()))) for k in targets]

    x = inputs(draw, 9, 4)
    holes = x.copy()
    holes[draw.uniform(size=x.shape) < 0.3] = np.nan
    for mode in TESTS:
        trees = [Tree(draw, 4, 1, 3, [mode], leaf([0])) for _ in range(3)]
        yield (f"Regressor_{mode}", ml.ML,
               ml.node("TreeEnsembleRegressor", ["x"], ["y"], n_targets=1,
                       **attributes(trees, False, "target", "target_ids")),
               dict(x=x), ml.f32(y=scores(trees, x, 1)[0]))
    for how in AGGREGATES:
        trees = [Tree(draw, 4, 3, 4, list(TESTS), lambda d: leaf(
            [k for k in range(3) if d.uniform() < 0.6] or [1])(d)) for _ in range(5)]
        base = [0.5, -1.0, 2.0]
        yield (f"Regressor_{how}", ml.ML,
               ml.node("TreeEnsembleRegressor", ["x"], ["y"], n_targets=3,
                       aggregate_function=how, base_values=base,
                       **attributes(trees, True, "target", "target_ids")),
               dict(x=holes), ml.f32(y=scores(trees, holes, 3, how, True)[0] + base))
    trees = [Tree(draw, 4, 1, 3, ["BRANCH_LEQ"], leaf([0])) for _ in range(2)]
    for kind in (np.float64, np.int64):
        yield (f"Regressor_{kind.__name__}", ml.ML,
               ml.node("TreeEnsembleRegressor", ["x"], ["y"], n_targets=1,
                       **attributes(trees, False, "target", "target_ids")),
               dict(x=x.astype(kind)), ml.f32(y=scores(trees, x.astype(kind), 1)[0]))


def classifiers(draw):
    x = inputs(draw, 9, 4)

    def shares(d):
        p = d.dirichlet(np.ones(3)) / 4
        return [(k, float(np.float32(v))) for k, v in enumerate(p)]

    trees = [Tree(draw, 4, 3, 4, ["BRANCH_LEQ"], shares) for _ in range(4)]
    y = scores(trees, x, 3)[0]
    for how in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield (f"Classifier_{how}", ml.ML,
               ml.node("TreeEnsembleClassifier", ["x"], ["y", "z"], post_transform=how,
                       classlabels_int64s=[7, 5, 6],
                       **attributes(trees, False, "class", "class_ids")),
               dict(x=x), {**ml.f32(z=ml.TRANSFORMS[how](y)),
                           "y": np.array([7, 5, 6])[y.argmax(1)]})
    boosted = [Tree(draw, 4, 3, 3, ["BRANCH_LT"],
                    lambda d, k=k: [(k % 3, float(np.float32(d.standard_normal())))])
               for k in range(6)]
    y = scores(boosted, x, 3)[0] + 0.5
    yield ("Classifier_boosted", ml.ML,
           ml.node("TreeEnsembleClassifier", ["x"], ["y", "z"], post_transform="SOFTMAX",
                   classlabels_int64s=[0, 1, 2], base_values=[0.5, 0.5, 0.5],
                   **attributes(boosted, False, "class", "class_ids")),
           dict(x=x), {**ml.f32(z=ml.softmax(y)), "y": y.argmax(1)})
    sparse = [Tree(draw, 4, 3, 2, ["BRANCH_LEQ"],
                   lambda d: [(d.randint(3), -float(d.randint(1, 9)) / 8)])
              for _ in range(2)]
    y, has = scores(sparse, x, 3)
    yield ("Classifier_sparse", ml.ML,
           ml.node("TreeEnsembleClassifier", ["x"], ["y", "z"],
                   classlabels_int64s=[0, 1, 2],
                   **attributes(sparse, False, "class", "class_ids")),
           dict(x=x), {**ml.f32(z=y), "y": np.where(has, y, -np.inf).argmax(1)})
    for positive in (True, False):
        one = [Tree(draw, 4, 2, 3, ["BRANCH_LEQ"],
                    lambda d: [(0, float(d.randint(0 if positive else -8, 9)) / 16 + 0.01)])
               for _ in range(2)]
        s = scores(one, x, 2)[0][:, :1]
        labels = np.where(s[:, 0] > (0.5 if positive else 0), 9, 4)
        for how, z in (("NONE", np.concatenate((1 - s if positive else -s, s), 1)),
                       ("LOGISTIC", ml.sigmoid(np.concatenate((-s, s), 1)))):
            yield (f"Classifier_one_{positive}_{how}", ml.ML,
                   ml.node("TreeEnsembleClassifier", ["x"], ["y", "z"], post_transform=how,
                           classlabels_int64s=[4, 9],
                           **attributes(one, False, "class", "class_ids")),
                   dict(x=x), {**ml.f32(z=z), "y": labels})
        s1 = s + 0.25
        yield (f"Classifier_base_{positive}", ml.ML,
               ml.node("TreeEnsembleClassifier", ["x"], ["y", "z"],
                       post_transform="LOGISTIC", classlabels_int64s=[4, 9],
                       base_values=[0.25],
                       **attributes(one, False, "class", "class_ids")),
               dict(x=x), {**ml.f32(z=ml.sigmoid(np.concatenate((-s1, s1), 1))),
                           "y": np.where(s1[:, 0] > (0.5 if positive else 0), 9, 4)})
    both = [Tree(draw, 4, 2, 3, ["BRANCH_LEQ"],
                 lambda d: [(0, p := float(d.randint(1, 8)) / 16), (1, 0.5 - p)])
            for _ in range(2)]
    y = scores(both, x, 2)[0]
    yield ("Classifier_both", ml.ML,
           ml.node("TreeEnsembleClassifier", ["x"], ["y", "z"], classlabels_int64s=[4, 9],
                   **attributes(both, False, "class", "class_ids")),
           dict(x=x), {**ml.f32(z=y), "y": np.array([4, 9])[y.argmax(1)]})


def positions(draw):
    """TreeEnsemble of version 5: branches and leaves apart, and sets."""
    x = np.array([[1, 2], [3, 4], [5, 0.5], [2, np.nan], [np.nan, 1]])
    five = {"": 17, "ai.onnx.ml": 5}
    # Tree 0: x0 in {1, 3} ? (x1 <= 1 ? a : b) : c; tree 1: x1 > 1 ? d : e
    weights = np.array([1.5, -2.0, 4.0, 0.25, 8.0])
    for kind in (np.float32, np.float64):

        def tensor(v, kind=kind):
            return numpy_helper.from_array(np.asarray(v, kind))

        y = []
        for a, b in x:
            first = (2 if not a in (1, 3) else 0 if b <= 1 else 1)
            second = 3 if b > 1 or math.isnan(b) else 4
            y.append([0, 0])
            for leaf in (first, second):
                y[-1][leaf % 2] += weights[leaf]
        yield (f"TreeEnsemble_{kind.__name__}", five,
               ml.node("TreeEnsemble", ["x"], ["y"], n_targets=2, tree_roots=[0, 2],
                       nodes_featureids=[0, 1, 1], nodes_splits=tensor([0, 1, 1]),
                       nodes_modes=tensor([6, 0, 3], np.uint8),
                       nodes_truenodeids=[1, 0, 3], nodes_trueleafs=[0, 1, 1],
                       nodes_falsenodeids=[2, 1, 4], nodes_falseleafs=[1, 1, 1],
                       nodes_missing_value_tracks_true=[0, 0, 1],
                       membership_values=tensor([1, 3, np.nan]),
                       leaf_targetids=[0, 1, 0, 1, 0], leaf_weights=tensor(weights)),
               dict(x=x.astype(kind)), dict(y=np.array(y, kind)))


def cases(draw):
    for family in (regressors, classifiers, positions):
        yield from family(draw)
