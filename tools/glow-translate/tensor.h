/* Conversion of TensorProto: element kinds and elements, in both directions. */

#ifndef GLOW_TRANSLATE_TENSOR_H
#define GLOW_TRANSLATE_TENSOR_H

#include "glow/file.h"
#include "onnx.pb-c.h"

/* A row of the table of ONNX's element types. */
typedef enum tensor_field {
    TENSOR_NO_FIELD,
    TENSOR_FLOATS, /* float_data, and so on */
    TENSOR_INTS32,
    TENSOR_INTS64,
    TENSOR_DOUBLES,
    TENSOR_UINTS64,
} tensor_field;

typedef struct tensor_elem {
    int type; /* TensorProto.DataType */
    const char *name;
    glow_kind kind;     /* GLOW_NO_KIND: unsupported */
    tensor_field field; /* the field of elements that are not raw */
} tensor_elem;

/* NULL if ONNX has no such type. */
const tensor_elem *tensor_elem_of(int64_t type);
/* By its name, such as "FLOAT". */
const tensor_elem *tensor_elem_named(const char *name);
/* The integers that quantized elements are in ONNX; other kinds are themselves. */
glow_kind tensor_stored_as(glow_kind kind);
/* NULL if ONNX has no such kind; of quantized kinds, that of their integers. */
const tensor_elem *tensor_elem_for(glow_kind kind);

/* The model of a tensor. */
typedef struct tensor_file {
    glow_context *ctx;
    glow_arena *arena;  /* for the data of this struct */
    const char *path;   /* the model, for messages */
    const char *folder; /* that must contain external data */
    glow_data *owner;   /* keeps the message, or NULL: bytes are copied */
    struct tensor_mapping *mapped; /* external files */
} tensor_file;

/*
 * Reads `t`, which `what` names in messages, into *out: its type (interned),
 * its elements, and in out->owner one reference for the caller.  Raw and
 * external elements are not copied if they are aligned.  False after E0707
 * (elements and shape disagree) or E0708 (external data).
 */
bool tensor_read(tensor_file *file, const Onnx__TensorProto *t,
                 const char *what, glow_tensor *out);

/* The same for a sparse tensor, which is converted to a dense one. */
bool tensor_read_sparse(tensor_file *file, const Onnx__SparseTensorProto *p,
                        const char *what, glow_tensor *out);

/*
 * ONNX packs elements of 4 and of 2 bits, the first in the low bits of a byte;
 * in tensors each has a byte.  The packed size of a type, and the packed
 * elements of `t`.
 */
size_t tensor_packed_bytes(const glow_type *type);
void tensor_pack(const glow_tensor *t, uint8_t *to);

/* Releases the mapped files. */
void tensor_file_end(tensor_file *file);

#endif
