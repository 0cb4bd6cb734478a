#!/usr/bin/python3
"""Writes the networks that bench/models measures, as PyTorch exports them.

    torch_models.py OUT [NAME ...]      without names: all of them

Each becomes OUT/NAME/ with model.onnx (opset 13, every shape known), input_i.npy,
output_i.npy as PyTorch computes it, and script.pt, the traced module, from which
torch_bench.py times it.  Those of torchvision have its shapes; the others are of
the usual ones.  Weights are random, from a fixed seed.  Statistics of batch
normalizations are measured on random data, so that activations stay in a sane range,
and then disturbed together with scale and bias, so that folding them is really tested.

Needs Debian's python3-torch, python3-torchvision and python3-onnx.
"""

import math
import pathlib
import sys
import warnings

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    import torchvision.models as tv
    from torch import nn
except ImportError as missing:
    sys.exit(f"torch_models.py: {missing}; install python3-torch and python3-torchvision")

OPSET = 13
SEED = 1234


# Networks that torchvision does not have.

class UNet(nn.Module):
    """Ronneberger et al., arXiv 1505.04597, with padding and batch normalization."""

    def __init__(self, width=32, depth=4, classes=2):
        super().__init__()

        def block(i, o):
            return nn.Sequential(
                nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

        w = [width << k for k in range(depth + 1)]
        self.down = nn.ModuleList(block(w[k - 1] if k else 3, w[k]) for k in range(depth))
        self.middle = block(w[depth - 1], w[depth])
        self.up = nn.ModuleList(nn.ConvTranspose2d(w[k + 1], w[k], 2, 2) for k in range(depth))
        self.merge = nn.ModuleList(block(2 * w[k], w[k]) for k in range(depth))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            skips.append(down(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.middle(x)
        for k in reversed(range(len(self.up))):
            x = self.merge[k](torch.cat([skips[k], self.up[k](x)], 1))
        return self.head(x)


class LSTM(nn.Module):
    """Classifies a row of tokens."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10000, 256)
        self.rnn = nn.LSTM(256, 512, num_layers=2)
        self.head = nn.Linear(512, 20)

    def forward(self, tokens):  # [time, batch]
        y, _ = self.rnn(self.embedding(tokens))
        return self.head(y[-1])


class GRU(nn.Module):
    """Tags each vector of a row, in both directions."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(128, 256, num_layers=2, bidirectional=True)
        self.head = nn.Linear(512, 64)

    def forward(self, x):  # [time, batch, feature]
        y, _ = self.rnn(x)
        return F.log_softmax(self.head(y), dim=-1)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, bias):
        n, t, width = x.shape

        def split(y):
            return y.view(n, t, self.heads, self.size).transpose(1, 2)

        scores = split(self.q(x)) @ split(self.k(x)).transpose(-1, -2) / math.sqrt(self.size)
        y = torch.softmax(scores + bias, -1) @ split(self.v(x))
        return self.o(y.transpose(1, 2).reshape(n, t, width))


class BertLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x, bias):
        x = self.norm1(x + self.attention(x, bias))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """Devlin et al., arXiv 1810.04805, base."""

    def __init__(self, width=768, heads=12, layers=12, inner=3072, words=30522, length=512):
        super().__init__()
        self.token, self.place, self.kind = (nn.Embedding(n, width) for n in (words, length, 2))
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(BertLayer(width, heads, inner) for _ in range(layers))
        self.pool = nn.Linear(width, width)

    def forward(self, ids, mask, kind):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1])) + self.kind(kind)
        x, bias = self.norm(x), (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pool(x[:, 0]))


class GPTLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, bias):
        x = x + self.attention(self.norm1(x), bias)
        u = self.up(self.norm2(x))
        u = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u * u * u)))
        return x + self.down(u)


class GPT2(nn.Module):
    """Radford et al., 2019, small; every token's logits."""

    def __init__(self, width=768, heads=12, layers=12, words=50257, length=1024):
        super().__init__()
        self.token, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(GPTLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.register_buffer("causal", torch.triu(torch.full((length, length), -10000.0), 1))

    def forward(self, ids):
        t = ids.shape[1]
        x = self.token(ids) + self.place(torch.arange(t))
        for layer in self.layers:
            x = layer(x, self.causal[:t, :t])
        return F.linear(self.norm(x), self.token.weight)


class SmallTransformer(nn.Module):
    """Of the library's multi-head attention, for what that is exported as."""

    def __init__(self, width=256, heads=4, layers=4, classes=10):
        super().__init__()

        def each(make):
            return nn.ModuleList(make() for _ in range(layers))

        self.attention = each(lambda: nn.MultiheadAttention(width, heads))
        self.norm1, self.norm2 = (each(lambda: nn.LayerNorm(width)) for _ in range(2))
        self.inner = each(lambda: nn.Sequential(
            nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)))
        self.head = nn.Linear(width, classes)

    def forward(self, x):  # [time, batch, feature]
        for attention, norm1, norm2, inner in zip(
                self.attention, self.norm1, self.norm2, self.inner):
            x = norm1(x + attention(x, x, x)[0])
            x = norm2(x + inner(x))
        return self.head(x.mean(0))


class DLRM(nn.Module):
    """Naumov et al., arXiv 1906.00091: embeddings, their products in pairs, layers."""

    def __init__(self, tables=26, rows=10000, width=64):
        super().__init__()

        def layers(*sizes):
            return [m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), nn.ReLU())]

        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(*layers(13, 512, 256, width))
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(*layers(pairs + width, 512, 256), nn.Linear(256, 1), nn.Sigmoid())
        i, j = np.tril_indices(tables + 1, -1)
        self.register_buffer("pairs", torch.tensor(i * (tables + 1) + j))

    def forward(self, dense, sparse):  # sparse [table, batch, bag]
        x = self.bottom(dense)
        z = torch.stack([x] + [t(sparse[k]).sum(1) for k, t in enumerate(self.tables)], 1)
        z = torch.bmm(z, z.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, z[:, self.pairs]], 1))


class ESPCN(nn.Module):
    """Shi et al., arXiv 1609.05158."""

    def __init__(self, r=3):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 64, 5, padding=2), nn.Conv2d(64, 32, 3, padding=1)
        self.c3, self.shuffle = nn.Conv2d(32, r * r, 3, padding=1), nn.PixelShuffle(r)

    def forward(self, x):
        return self.shuffle(self.c3(torch.tanh(self.c2(torch.tanh(self.c1(x))))))


def generator():
    """Of DCGAN: Radford et al., arXiv 1511.06434."""
    widths, modules = [100, 512, 256, 128, 64], []
    for k in range(4):
        stride, pad = (2, 1) if k else (1, 0)
        modules += [nn.ConvTranspose2d(widths[k], widths[k + 1], 4, stride, pad, bias=False),
                    nn.BatchNorm2d(widths[k + 1]), nn.ReLU()]
    return nn.Sequential(*modules, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.f1, self.f2 = nn.Linear(800, 500), nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return torch.softmax(self.f2(F.relu(self.f1(x.flatten(1)))), 1)


class First(nn.Module):
    """What a segmentation network calls "out", of its dictionary."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


# All of them: each makes the module, and draws its inputs.

def image(batch=1, channels=3, size=224):
    return torch.randn(batch, channels, size, size)


def ids(words, *shape):
    return torch.randint(0, words, shape)


def vision(name, size=224, batch=1, **how):
    return lambda: (getattr(tv, name)(weights=None, **how), [image(batch, 3, size)])


def segmentation(name, size=256):
    make = getattr(tv.segmentation, name)
    how = dict(weights=None, weights_backbone=None, num_classes=21, aux_loss=False)
    return lambda: (First(make(**how)), [image(1, 3, size)])


def bert(tokens=128):
    mask = torch.ones(1, tokens, dtype=torch.int64)
    mask[:, tokens - tokens // 8:] = 0
    return Bert(), [ids(30522, 1, tokens), mask, ids(2, 1, tokens)]


MODELS = {
    "resnet50": vision("resnet50"),
    "resnet50_b8": vision("resnet50", batch=8),
    "vgg19": vision("vgg19"),
    "vgg19_b8": vision("vgg19", batch=8),
    "vgg16": vision("vgg16"),
    "vgg16_b8": vision("vgg16", batch=8),
    "squeezenet1_1": vision("squeezenet1_1"),
    "squeezenet1_1_b8": vision("squeezenet1_1", batch=8),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_small": vision("mobilenet_v3_small"),
    "mnasnet1_0": vision("mnasnet1_0"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "regnet_y_400mf": vision("regnet_y_400mf"),
    "shufflenet_v2_x1_0": vision("shufflenet_v2_x1_0"),
    "densenet121": vision("densenet121"),
    "googlenet": vision("googlenet", init_weights=False, aux_logits=False),
    "inception_v3": vision("inception_v3", 299, init_weights=False, aux_logits=True),
    "resnet18": vision("resnet18"),
    "alexnet": vision("alexnet"),
    "convnext_tiny": vision("convnext_tiny"),
    "vit_b_16": vision("vit_b_16"),
    "bert_base": bert,
    "gpt2_small": lambda: (GPT2(), [ids(50257, 1, 128)]),
    "transformer_small": lambda: (SmallTransformer(), [torch.randn(64, 1, 256)]),
    "lstm": lambda: (LSTM(), [ids(10000, 64, 1)]),
    "gru": lambda: (GRU(), [torch.randn(64, 1, 128)]),
    "unet": lambda: (UNet(), [image(1, 3, 256)]),
    "fcn_resnet50": segmentation("fcn_resnet50"),
    "deeplabv3_resnet50": segmentation("deeplabv3_resnet50"),
    "espcn": lambda: (ESPCN(), [image(1, 1, 224)]),
    "dcgan": lambda: (generator(), [torch.randn(1, 100, 1, 1)]),
    "dlrm": lambda: (DLRM(), [torch.randn(16, 13), ids(10000, 26, 16, 4)]),
    "lenet": lambda: (LeNet(), [image(1, 1, 28)]),
}


# Weights that mean something.

def settle_norms(model, inputs):
    """Gives every batch normalization measured, then disturbed, statistics."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    drops = [m for m in model.modules() if isinstance(m, nn.Dropout)]
    if not norms:
        return
    for m in norms:
        m.momentum = None
        m.reset_running_stats()
    kept = [m.p for m in drops]
    for m in drops:
        m.p = 0.0
    model.train()
    # Two pictures are enough for statistics, and keep maps of one element legal.
    model(*(torch.randn(2, *x.shape[1:]) for x in inputs))
    for m, p in zip(drops, kept):
        m.p = p
    for m in norms:
        deviation = m.running_var.sqrt()
        m.running_mean += 0.1 * deviation * torch.randn_like(deviation)
        m.running_var *= torch.empty_like(deviation).uniform_(0.8, 1.25)
        m.weight.data.uniform_(0.6, 1.2)
        m.bias.data.normal_(0, 0.1)
        m.momentum = 0.1


def settle(model, inputs):
    settle_norms(model, inputs)
    for m in model.modules():
        if isinstance(m, nn.Linear) and not m.weight.abs().max() > 0:
            m.weight.data.normal_(0, 0.05)  # some heads begin at zero
        bias = getattr(m, "bias", None)
        if isinstance(bias, torch.Tensor) and not bias.abs().max() > 0:
            bias.data.normal_(0, 0.02)
        if isinstance(m, nn.MultiheadAttention):
            m.in_proj_bias.data.normal_(0, 0.02)
        if isinstance(m, nn.LayerNorm):
            m.weight.data.uniform_(0.6, 1.4)
            m.bias.data.normal_(0, 0.1)
        if isinstance(m, nn.Embedding) and m.num_embeddings > 1000:
            m.weight.data.mul_(0.05 if m.embedding_dim > 256 else 0.5)
    return model.eval()


def export(model, inputs, count, path):
    how = dict(opset_version=OPSET, do_constant_folding=True,
               input_names=[f"input_{i}" for i in range(len(inputs))],
               output_names=[f"output_{i}" for i in range(count)])
    attention = [m for m in model.modules() if isinstance(m, nn.MultiheadAttention)]
    if attention:
        # Its path for inference has no form in ONNX; that for training is the same
        # function, as nothing is dropped.
        for m in attention:
            m.train()
            m.dropout = 0.0
        how["training"] = torch.onnx.TrainingMode.PRESERVE
    torch.onnx.export(model, tuple(inputs), str(path), **how)
    model.eval()


def write(name, folder):
    torch.manual_seed(SEED)
    model, inputs = MODELS[name]()
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        settle(model, inputs).requires_grad_(False)
        outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        torch.jit.trace(model, tuple(inputs), check_trace=False).save(str(folder / "script.pt"))
        export(model, inputs, len(outputs), folder / "new.onnx")
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for i, t in enumerate(tensors):
            np.save(folder / f"{kind}_{i}.npy", t.numpy())
    (folder / "new.onnx").rename(folder / "model.onnx")  # the sign that all is there


def main(out, names):
    warnings.filterwarnings("ignore")
    for name in names or MODELS:
        if name not in MODELS:
            sys.exit(f"torch_models.py: no model {name}; there are {', '.join(MODELS)}")
        write(name, pathlib.Path(out, name))
        print(name, flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
