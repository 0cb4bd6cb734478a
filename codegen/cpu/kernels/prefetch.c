/*
 * Software prefetch of the operands and results of an epilogue.
 *
 * A kernel computes for long, then its fused element-wise chain reads operands
 * and writes results all at once.  A cache miss takes the time of many
 * multiplications, and a core overlaps only few of these with it.  A prefetch
 * before the multiplications overlaps the two.
 */

#include "codegen/cpu/kernels/common.h"
#include "codegen/cpu/kernels/kernel.h"

/*
 * A slot that is expected beyond the cache, and the strides with which the
 * epilogue accesses it.
 */
typedef struct far {
    int slot;
    int64_t at;
    int64_t row; /* step, in elements */
    int bytes;   /* of an element */
} far;

typedef struct fars {
    far at[CPU_MOST_AHEAD];
    int count;
    int64_t beyond; /* slots of more bytes */
} fars;

static void
add(const cpu_job *j, const cpu_access *a, const glow_type *type, fars *to)
{
    const cpu_slot *slot = &j->step->slots[a->slot];

    if (slot->dead || slot->held || a->step.rank != 2 || a->step.at[1] != 1 ||
        slot->range.size <= to->beyond)
        return;
    for (int i = 0; i < to->count; i++)
        if (to->at[i].slot == a->slot)
            return;
    if (to->count < CPU_MOST_AHEAD)
        to->at[to->count++] =
            (far){a->slot, a->at, a->step.at[0], glow_cg_bytes(type)};
}

static void
find(const cpu_job *j, fars *to)
{
    const cpu_step *s = j->step;
    cpu_access result = {.slot = s->out[0]};

    glow_cpu_rows(j->out[0].type, &result.step);
    add(j, &result, j->out[0].type, to);
    for (int k = 0; k < s->n_items; k++) {
        const cpu_item *item = &s->items[k];

        add(j, &item->out, item->n->out[0]->type, to);
        for (int i = 0; i < item->n_in; i++)
            add(j, &item->in[i], item->n->in[i]->type, to);
    }
}

/* Cache lines of `columns` columns of `rows` rows of each slot. */
static int64_t
lines_of(const fars *f, int rows, int64_t columns)
{
    int64_t lines = 0;

    for (int i = 0; i < f->count; i++)
        lines += rows * cg_ceil_div(columns * f->at[i].bytes, CPU_LINE);
    return lines;
}

bool
glow_cpu_may_prefetch(const cpu_job *j, int rows, int64_t columns,
                      int64_t beyond)
{
    fars f = {.beyond = beyond};
    int64_t lines;

    find(j, &f);
    lines = lines_of(&f, rows, columns);
    return lines > 0 && lines <= CPU_MOST_AHEAD;
}

void
glow_cpu_prefetch(cpu_job *j, cpu_place at, int rows, int64_t apart,
                  int64_t columns, int64_t beyond)
{
    cg *g = j->g;
    fars f = {.beyond = beyond};

    find(j, &f);
    if (lines_of(&f, rows, columns) > CPU_MOST_AHEAD)
        return;
    for (int i = 0; i < f.count; i++) {
        const far *x = &f.at[i];
        cg_value first = cg_add(g, cg_mulc(g, at.row, x->row), at.col);
        int64_t bytes = columns * x->bytes;

        for (int r = 0; r < rows; r++) {
            int64_t plus =
                x->at + (at.row_plus + r * apart) * x->row + at.col_plus;
            cg_value row =
                glow_cg_at(g, j->slot[x->slot],
                           cg_mulc(g, cg_addc(g, first, plus), x->bytes));

            for (int64_t b = 0; b < bytes; b += CPU_LINE)
                glow_cg_prefetch(g, glow_cg_atc(g, row, b),
                                 j->step->slots[x->slot].written, 3);
        }
    }
}
