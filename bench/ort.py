#!/usr/bin/python3
"""Writes the model that ONNX Runtime makes of a model.

    ort.py LIBONNXRUNTIME MODEL.onnx OUT.onnx

At the level "extended": all fusions, but none for the layouts of one processor.
Through the C interface, one table of functions that only ever grows at its end.
"""

import ctypes
import sys

GET_ERROR_MESSAGE, CREATE_ENV, CREATE_SESSION = 2, 3, 7
CREATE_SESSION_OPTIONS, SET_OPTIMIZED_PATH, SET_LEVEL = 10, 11, 23
EXTENDED, LOG_FATAL, API_VERSION = 2, 4, 1


class Base(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32)),
                ("version", ctypes.CFUNCTYPE(ctypes.c_char_p))]


def main(library, model, out):
    get_base = ctypes.CDLL(library).OrtGetApiBase
    get_base.restype = ctypes.POINTER(Base)
    table = get_base().contents.get_api(API_VERSION)

    def call(slot, *args):
        status = ctypes.CFUNCTYPE(ctypes.c_void_p, *map(type, args))(table[slot])(*args)
        if status:
            message = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(table[GET_ERROR_MESSAGE])
            sys.exit(f"ort.py: {message(status).decode()}")

    def made(slot, *args):
        out = ctypes.c_void_p()
        call(slot, *args, ctypes.pointer(out))
        return out

    env = made(CREATE_ENV, ctypes.c_int(LOG_FATAL), ctypes.c_char_p(b"bench"))
    options = made(CREATE_SESSION_OPTIONS)
    call(SET_LEVEL, options, ctypes.c_int(EXTENDED))
    call(SET_OPTIMIZED_PATH, options, ctypes.c_char_p(out.encode()))
    made(CREATE_SESSION, env, ctypes.c_char_p(model.encode()), options)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
