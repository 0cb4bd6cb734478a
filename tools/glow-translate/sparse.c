/*
 * Sparse tensors (COO), converted to dense ones, since no operator computes on
 * them.
 *
 *     values:  [NNZ]          zero everywhere but at `indices`, which count
 *     indices: [NNZ] or       through the whole tensor, or give a coordinate
 *              [NNZ, rank]    for each axis
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/tensor.h"

#define MAX_BYTES ((int64_t)1 << 30)

typedef struct sparse {
    tensor_file *file;
    const char *what;
    glow_tensor values, indices, out;
} sparse;

/* Sets the dense type: the kind of the values, with the declared shape. */
static bool
make_dense(sparse *s, const Onnx__SparseTensorProto *p)
{
    glow_context *ctx = s->file->ctx;
    glow_dims shape = {.rank = (int)p->n_dims};
    const char *wrong;

    if (p->n_dims > GLOW_MAX_RANK)
        return glow_error(ctx, "E0707",
                          "%s: %s: the rank is %zu, and %d is the limit",
                          s->file->path, s->what, p->n_dims, GLOW_MAX_RANK);
    for (size_t i = 0; i < p->n_dims; i++)
        shape.at[i] = p->dims[i];

    glow_type t = glow_type_of(s->values.type->elem, shape);

    wrong = glow_type_check(&t, s->file->arena);
    if (wrong)
        return glow_error(ctx, "E0707", "%s: %s: %s", s->file->path, s->what,
                          wrong);
    if (glow_type_bytes(&t) > MAX_BYTES)
        return glow_error(ctx, "E0703",
                          "%s: %s: takes %" PRId64 " bytes when it is written "
                          "out, and %" PRId64 " are the limit",
                          s->file->path, s->what, glow_type_bytes(&t),
                          MAX_BYTES);
    s->out = glow_tensor_new(glow_type_get(ctx, t));
    memset(s->out.data, 0, (size_t)glow_type_bytes(&t));
    return true;
}

static bool
check_shapes(const sparse *s)
{
    glow_dims v = s->values.type->shape, i = s->indices.type->shape;
    int rank = s->out.type->shape.rank;

    if (s->indices.type->elem == GLOW_INDEX64 && v.rank == 1 &&
        (i.rank == 1 || (i.rank == 2 && i.at[1] == rank)) && i.at[0] == v.at[0])
        return true;
    return glow_error(s->file->ctx, "E0707",
                      "%s: %s: values are %s and indices %s for a rank of %d",
                      s->file->path, s->what,
                      glow_type_text(s->file->arena, s->values.type),
                      glow_type_text(s->file->arena, s->indices.type), rank);
}

/* The offset of value k, or -1 if it is out of range. */
static int64_t
place(const sparse *s, int64_t k)
{
    glow_dims shape = s->out.type->shape;
    bool linear = s->indices.type->shape.rank == 1;
    int64_t at = 0;

    if (linear) {
        at = glow_get_int(&s->indices, k);
        return at < 0 || at >= glow_type_count(s->out.type) ? -1 : at;
    }
    for (int i = 0; i < shape.rank; i++) {
        int64_t c = glow_get_int(&s->indices, k * shape.rank + i);

        if (c < 0 || c >= shape.at[i])
            return -1;
        at = at * shape.at[i] + c;
    }
    return at;
}

static bool
scatter(const sparse *s)
{
    int64_t count = s->values.type->shape.at[0], last = -1;
    size_t size = (size_t)glow_kind_get(s->out.type->elem)->bytes;

    for (int64_t k = 0; k < count; k++) {
        int64_t at = place(s, k);

        if (at <= last)
            return glow_error(s->file->ctx, "E0707",
                              "%s: %s: index %" PRId64 " is %s", s->file->path,
                              s->what, k,
                              at < 0 ? "outside" : "not above the one before");
        memcpy((char *)s->out.data + (size_t)at * size,
               (const char *)s->values.data + (size_t)k * size, size);
        last = at;
    }
    return true;
}

bool
tensor_read_sparse(tensor_file *file, const Onnx__SparseTensorProto *p,
                   const char *what, glow_tensor *out)
{
    sparse s = {.file = file, .what = what};
    bool ok;

    if (!p->values || !p->indices)
        return glow_error(file->ctx, "E0707", "%s: %s: no %s", file->path, what,
                          p->values ? "indices" : "values");
    if (!tensor_read(file, p->values, what, &s.values))
        return false;
    ok = tensor_read(file, p->indices, what, &s.indices);
    if (ok) {
        ok = make_dense(&s, p);
        if (ok && !(check_shapes(&s) && scatter(&s))) {
            glow_tensor_end(&s.out);
            ok = false;
        }
        glow_tensor_end(&s.indices);
    }
    glow_tensor_end(&s.values);
    if (ok)
        *out = s.out;
    return ok;
}
