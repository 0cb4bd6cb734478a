"""What operators of Caffe2 compute, in numpy, written from their definition."""

import math
import re

import numpy


def string(text):
    """The bytes of a string in text form: hexadecimal and octal escapes."""
    parts = re.findall(r"\\x([0-9a-fA-F]{1,2})|\\([0-7]{1,3})|([^\\])", text)
    return bytes(int(h, 16) if h else int(o, 8) if o else ord(c) for h, o, c in parts)


def rounded(x, scale, offset, least=-128, most=127):
    """Quantized elements of reals."""
    return (numpy.rint(numpy.asarray(x) / scale) + offset).clip(least, most).astype(
        numpy.int8 if most < 128 else numpy.float64)


def grouped(x, w, b):
    """Two groups of N C H W, a filter [O, 1, 1, C / 2], and a pad of 1."""
    half, k = x.shape[1] // 2, w.shape[0] // 2
    w = numpy.transpose(w, (0, 3, 1, 2))
    parts = [conv(x[:, i * half : (i + 1) * half], w[i * k : (i + 1) * k],
                  b[i * k : (i + 1) * k], pad=1) for i in range(2)]
    return numpy.concatenate(parts, axis=1)


def dynamic_fc(x, w, b):
    """Each row of x in 8 bits, by its largest element."""
    scale = abs(x).max(axis=1, keepdims=True) / 127
    return numpy.rint(x / scale) * scale @ w.T + b


def weights(path):
    """The float and integer fills of a net in text form, by name."""
    text = path.read_text(encoding="utf-8")
    kinds = {
        "GivenTensorFill": "float32",
        "GivenTensorFp16Fill": "float16",
        "GivenTensorIntFill": "int32",
        "GivenTensorInt64Fill": "int64",
        "ConstantFill": "float32",
        "GivenTensorByteStringToUInt8Fill": "uint8",
        "Int8GivenTensorFill": "uint8",
        "Int8GivenIntTensorFill": "int32",
    }
    found = {}
    for op in re.split(r"^op\s*\{", text, flags=re.MULTILINE)[1:]:
        kind = re.search(r'\btype:\s*"(\w+)"', op)[1]
        name = re.search(r'\boutput:\s*"([^"]+)"', op)[1]
        lists = {}
        for arg in re.findall(r"\barg\s*\{([^{}]*)\}", op):
            key = re.search(r'name:\s*"(\w+)"', arg)[1]
            lists[key] = re.findall(r"\b(?:ints|floats|f|i):\s*([-+.\deE]+)", arg)
        if kind not in kinds:
            continue
        shape = [int(i) for i in lists["shape"]]
        values = [float(v) for v in lists.get("values", ["0"])]
        if kinds[kind] == "uint8":
            values = list(string(re.search(r'\b(?:s|strings):\s*"([^"]*)"', op)[1]))
        if kind == "ConstantFill":
            values = float(lists.get("value", ["0"])[0])
        found[name] = numpy.full(shape, 0, kinds[kind])
        found[name][...] = numpy.reshape(values, shape) if numpy.ndim(values) else values
    return found


def padded(x, pads, value=0.0):
    """Pads the last two axes by (top, left, bottom, right)."""
    t, l, b, r = pads
    return numpy.pad(x, [(0, 0), (0, 0), (t, b), (l, r)], constant_values=value)


def patches(x, kernel, stride, dilation=1):
    """Yields (row, column, patch) of N C H W."""
    reach = (kernel - 1) * dilation + 1
    for i, y in enumerate(range(0, x.shape[2] - reach + 1, stride)):
        for j, z in enumerate(range(0, x.shape[3] - reach + 1, stride)):
            yield i, j, x[:, :, y : y + reach : dilation, z : z + reach : dilation]


def windowed(x, kernel, stride, dilation, channels, work):
    all_of = list(patches(x, kernel, stride, dilation))
    rows, columns = all_of[-1][0] + 1, all_of[-1][1] + 1
    out = numpy.zeros((x.shape[0], channels, rows, columns))
    for i, j, patch in all_of:
        out[:, :, i, j] = work(patch)
    return out


def conv(x, w, b, pad=0, stride=1, dilation=1):
    """N C H W with a filter of M C kernel kernel."""
    x = padded(x.astype(float), [pad] * 4)
    return b[:, None, None] + windowed(
        x, w.shape[2], stride, dilation, w.shape[0],
        lambda patch: numpy.einsum("nchw,mchw->nm", patch, w),
    )


def conv_transpose(x, w, b, pad=0, stride=1):
    """N C H W with a filter of C M kernel kernel: each element is spread."""
    k = w.shape[2]
    shape = [(size - 1) * stride + k for size in x.shape[2:]]
    out = numpy.zeros((x.shape[0], w.shape[1], *shape))
    for i in range(x.shape[2]):
        for j in range(x.shape[3]):
            out[:, :, i * stride : i * stride + k, j * stride : j * stride + k] += (
                numpy.einsum("nc,cmhw->nmhw", x[:, :, i, j], w)
            )
    return out[:, :, pad : shape[0] - pad, pad : shape[1] - pad] + b[:, None, None]


def max_pool(x, kernel, stride, pads):
    x = padded(x, pads, -math.inf)
    return windowed(x, kernel, stride, 1, x.shape[1], lambda p: p.max(axis=(2, 3)))


def avg_pool(x, kernel, stride, pads):
    """The mean of what is not padding."""
    ones = padded(numpy.ones_like(x), pads)
    total, count = (
        windowed(v, kernel, stride, 1, x.shape[1], lambda p: p.sum(axis=(2, 3)))
        for v in (padded(x, pads), ones)
    )
    return total / count


def last(work, x, *more, **named):
    """Does with channels first what is wanted with channels last."""
    y = work(numpy.transpose(x, (0, 3, 1, 2)), *more, **named)
    return numpy.transpose(y, (0, 2, 3, 1))


def fc(x, w, b, axis=1):
    """Rows of `w` are results; axes of `x` from `axis` on are one."""
    rows = x.reshape(math.prod(x.shape[:axis]), -1)
    return (rows @ w.T + b).reshape(*x.shape[:axis], w.shape[0])


def layer_norm(x, axis, epsilon, scale=1, bias=0):
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + epsilon) * scale + bias


def box_cox(x, lambda1, lambda2):
    x = numpy.maximum(x + lambda2, 1e-6)
    one = numpy.where(lambda1 == 0, 1, lambda1)
    return numpy.where(lambda1 == 0, numpy.log(x), (x**one - 1) / one)


def gelu(x):
    erf = numpy.vectorize(math.erf)
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def segments(lengths):
    """(row, first, end) of each run of `lengths`."""
    ends = numpy.cumsum(lengths)
    return [(i, e - n, e) for i, (n, e) in enumerate(zip(lengths, ends))]


def lengths_sum(data, lengths):
    return numpy.stack([data[a:b].sum(axis=0) for _, a, b in segments(lengths)])


def batch_sparse_to_dense(lengths, indices, values, width, default=0.0):
    out = numpy.full((len(lengths), width), default)
    for row, a, b in segments(lengths):
        out[row, indices[a:b]] = values[a:b]
    return out


def fill_examples(data, indicator):
    out = numpy.zeros((len(indicator), *data.shape[1:]), data.dtype)
    out[indicator != 0] = data
    return out


def gather_ranges(data, ranges):
    return numpy.concatenate(
        [data[start : start + n] for row in ranges for start, n in row]
    )


def sparse_to_dense(indices, values, rows):
    out = numpy.zeros((rows, *values.shape[1:]), values.dtype)
    numpy.add.at(out, indices, values)
    return out


def sparse_to_dense_mask(indices, values, default, mask):
    out = numpy.stack([default] * len(mask))
    for index, value in zip(indices, values):
        if index in mask:
            out[mask.index(index)] = value
    return out


def sparse_label_split(lengths, indices, values, labels):
    examples = numpy.repeat(numpy.arange(len(lengths), dtype="int32"), lengths)
    of = [indices == label for label in range(labels)]
    offsets = numpy.zeros(len(indices), "int32")
    for mine in of:
        offsets[mine] = numpy.arange(mine.sum())
    return [values[m] for m in of] + [examples[m] for m in of] + [offsets]


def columns(data, bits, tail):
    """The reals of rows that end in scale and offset, two numbers of kind `tail`."""
    size = 2 * numpy.dtype(tail).itemsize
    q, pair = data[:, :-size], numpy.ascontiguousarray(data[:, -size:]).view(tail)
    if bits == 4:
        q = numpy.stack([q & 15, q >> 4], axis=2).reshape(len(q), -1)
    return q * pair[:, :1].astype(float) + pair[:, 1:].astype(float)


def picked(table, v):
    """Sums of the rows that v["indices"] picks, by v["weights"] if there are any."""
    rows = table[v["indices"]]
    if "weights" in v:
        rows = rows * v["weights"][:, None]
    ends = numpy.cumsum(v["lengths"])
    return numpy.stack([rows[e - n : e].sum(axis=0)
                        for n, e in zip(v["lengths"], ends)])
