/* Analysis of constant masks of attention. */

#include "passes/graph/common/attention_mask.h"

#include "glow/match.h"
#include "glow/trace.h"

#define MAX_MASK (INT64_C(1) << 24) /* elements of a mask that is analysed */

/* A mask whose elements are constant. */
typedef struct known {
    const glow_tensor *data;
    glow_trace trace;
    bool is_flipped;
    bool
        is_zero_or_hidden; /* so far, of 0 and numbers up to ATTENTION_HIDDEN */
} known;

static known
known_mask(glow_value *v, bool is_flipped)
{
    glow_trace t = glow_trace_begin(v);

    return (known){glow_constant_data(t.value, MAX_MASK), t, is_flipped, true};
}

/* True if element `i` of the constant does not mask its score. */
static bool
lets_through(known *m, int64_t i)
{
    double v;

    if (m->data->type->elem == GLOW_BOOL)
        return (glow_get_int(m->data, i) != 0) != m->is_flipped;
    v = glow_get_double(m->data, i);
    v = m->is_flipped ? -v : v;
    if (v != 0 && !(v <= ATTENTION_HIDDEN))
        m->is_zero_or_hidden = false;
    return v == 0;
}

/* The stride in the constant of axis `i`; 0: the elements repeat. */
static int64_t
stride_of(const known *m, int i)
{
    int64_t axis = m->trace.axis.at[i];

    return axis < 0 ? 0
                    : glow_dims_strides(m->trace.value->type->shape).at[axis];
}

bool
glow_attention_mask_is_causal(glow_value *mask, bool is_flipped, int64_t rows,
                              int64_t count, int64_t *past)
{
    known m = known_mask(mask, is_flipped);
    int rank = m.trace.shape.rank;
    int64_t row, column, seen = 0;

    if (!m.data || rank < 2 || m.trace.shape.at[rank - 2] != rows || rows < 2)
        return false;
    for (int i = 0; i < rank - 2; i++)
        if (m.trace.axis.at[i] >= 0)
            return false;
    row = stride_of(&m, rank - 2);
    column = stride_of(&m, rank - 1);
    while (seen < count && lets_through(&m, seen * column))
        seen++;
    *past = seen - 1;
    if (seen == 0 || seen == count)
        return false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < count; j++)
            if (lets_through(&m, i * row + j * column) != (j <= i + *past))
                return false;
    return m.is_zero_or_hidden;
}

bool
glow_attention_mask_shows_rows(glow_value *mask, bool is_flipped)
{
    known m = known_mask(mask, is_flipped);
    int rank = m.trace.shape.rank;
    int64_t last = m.trace.axis.at[rank - 1];
    int64_t width = last < 0 ? 1 : m.trace.shape.at[rank - 1];

    if (!m.data)
        return false;
    if (last >= 0 && last != m.trace.value->type->shape.rank - 1)
        return false;
    for (int64_t i = 0; i < glow_type_count(m.data->type); i += width) {
        int64_t j = 0;

        while (j < width && !lets_through(&m, i + j))
            j++;
        if (j == width)
            return false;
    }
    return true;
}
