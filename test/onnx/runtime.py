"""ONNX Runtime by its C interface, one table of functions that only grows at its end."""

import ctypes

import numpy as np

MESSAGE, ENV, SESSION, RUN, OPTIONS = 2, 3, 8, 9, 10
LEVEL, THREADS, TENSOR, DATA, KIND, RANK, DIMS = 23, 24, 49, 51, 60, 61, 62
SHAPE, MEMORY, CONFIG = 65, 69, 130
KINDS = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32,
         7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}
CODES = {np.dtype(kind): code for code, kind in KINDS.items()}
ALL, NONE = 99, 0
# Exact sums of products of 8 bits on processors without VNNI, where two products are added
# in 16 bits otherwise, which saturate.
EXACT = {"session.x64quantprecision": "1"}


class Base(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32)),
                ("version", ctypes.CFUNCTYPE(ctypes.c_char_p))]


class Runtime:
    """Runs models given as bytes; raises RuntimeError with ONNX Runtime's message.

    `config`: entries of the session's configuration, texts by texts.
    """

    def __init__(self, library, config=None):
        self.config = config or {}
        get = ctypes.CDLL(str(library)).OrtGetApiBase
        get.restype = ctypes.POINTER(Base)
        self.table = get().contents.get_api(1)
        self.env = self.made(ENV, ctypes.c_int(4), ctypes.c_char_p(b"test"))

    def call(self, slot, *args):
        status = ctypes.CFUNCTYPE(ctypes.c_void_p, *map(type, args))(self.table[slot])(*args)
        if status:
            text = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(self.table[MESSAGE])
            raise RuntimeError(text(status).decode())

    def made(self, slot, *args):
        out = ctypes.c_void_p()
        self.call(slot, *args, ctypes.pointer(out))
        return out

    def session(self, model, level):
        options = self.made(OPTIONS)
        self.call(LEVEL, options, ctypes.c_int(level))
        self.call(THREADS, options, ctypes.c_int(1))
        for key, value in self.config.items():
            self.call(CONFIG, options, ctypes.c_char_p(key.encode()),
                      ctypes.c_char_p(value.encode()))
        return self.made(SESSION, self.env, ctypes.cast(ctypes.c_char_p(model), ctypes.c_void_p),
                         ctypes.c_size_t(len(model)), options)

    def value(self, array):
        memory = self.made(MEMORY, ctypes.c_int(1), ctypes.c_int(0))
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        return self.made(TENSOR, memory, ctypes.c_void_p(array.ctypes.data),
                         ctypes.c_size_t(array.nbytes), ctypes.cast(shape, ctypes.c_void_p),
                         ctypes.c_size_t(array.ndim), ctypes.c_int(CODES[array.dtype]))

    def array(self, value):
        info = self.made(SHAPE, value)
        kind, rank, data = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_void_p()
        self.call(KIND, info, ctypes.pointer(kind))
        self.call(RANK, info, ctypes.pointer(rank))
        dims = (ctypes.c_int64 * rank.value)()
        self.call(DIMS, info, ctypes.cast(dims, ctypes.c_void_p), rank)
        self.call(DATA, value, ctypes.pointer(data))
        dtype, shape = np.dtype(KINDS[kind.value]), tuple(dims)
        size = int(np.prod(shape)) * dtype.itemsize
        return np.frombuffer(ctypes.string_at(data, size), dtype).reshape(shape).copy()

    def run(self, model, inputs, outputs, level=ALL):
        """The arrays of `outputs` for {name: array}.

        With EXACT it refuses some QLinearConv of signed elements, which it runs by the
        steps of the model alone.
        """
        try:
            session = self.session(model, level)
        except RuntimeError:
            if not self.config:
                raise
            session = self.session(model, NONE)
        arrays = [np.ascontiguousarray(a).reshape(np.shape(a)) for a in inputs.values()]
        values = [self.value(a) for a in arrays]
        given = (ctypes.c_void_p * len(values))(*[v.value for v in values])
        names = (ctypes.c_char_p * len(inputs))(*[k.encode() for k in inputs])
        asked = (ctypes.c_char_p * len(outputs))(*[k.encode() for k in outputs])
        made = (ctypes.c_void_p * len(outputs))()
        self.call(RUN, session, ctypes.c_void_p(), ctypes.cast(names, ctypes.c_void_p),
                  ctypes.cast(given, ctypes.c_void_p), ctypes.c_size_t(len(values)),
                  ctypes.cast(asked, ctypes.c_void_p), ctypes.c_size_t(len(outputs)),
                  ctypes.cast(made, ctypes.c_void_p))
        return [self.array(ctypes.c_void_p(v)) for v in made]
