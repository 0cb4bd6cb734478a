/*
 * Memory of a plan: the regions of each base one after the other, and the byte
 * ranges of values in them.
 */

#include "codegen/cpu/plan/memory.h"

#include <string.h>

#include "codegen/cpu/layout.h"
#include "glow/ops.h"

static int
region_number(const cpu_plan *p, const glow_region *r)
{
    for (int i = 0; i < p->n_regions; i++)
        if (p->regions[i].region == r)
            return i;
    return -1;
}

static bool
is_weight(const glow_value *v)
{
    return v->def && v->def->op == &glow_op_weight;
}

static bool
is_constant(const glow_value *v)
{
    return is_weight(v) && v->storage->is_constant;
}

/* Records that buffer `n` is in its region; false after a report. */
static bool
claim_region(cpu_plan *p, const glow_node *n)
{
    int i = n->place ? region_number(p, n->place->region) : -1;

    if (i < 0)
        return glow_error_at(p->func->module->ctx, n->span, "E0822",
                             "cpu: buffer '%s' has no place", n->name);
    if (is_constant(n->out[0])) {
        p->regions[i].keeps = true;
        return true;
    }
    if (!p->regions[i].changes || !is_weight(n->out[0]))
        p->regions[i].base =
            is_weight(n->out[0]) ? CPU_PLACEHOLDERS : CPU_ACTIVATIONS;
    p->regions[i].changes = true;
    return true;
}

static bool
is_same_memory(const glow_region *a, const glow_region *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->space, b->space) == 0;
}

/* Widens [*begin, *end) to the constants of `f` in the memory of `r`. */
static void
widen(const glow_func *f, const glow_region *r, int64_t *begin, int64_t *end)
{
    GLOW_FOR_EACH_NODE(n, f) {
        const glow_place *at = n->place;

        if (n->op != &glow_op_weight)
            break;
        if (!is_constant(n->out[0]) || !at || !is_same_memory(at->region, r))
            continue;
        if (at->offset < *begin)
            *begin = at->offset;
        if (at->offset + at->size > *end)
            *end = at->offset + at->size;
    }
}

/*
 * The offset of the constants of region `r`: regions with one name and space
 * share one memory in the whole plan, of which only the range that functions of
 * the module use is kept.
 */
static int64_t
lay_constants(cpu_plan *p, const glow_region *r)
{
    cpu_plan *root = p->root;
    int64_t begin = INT64_MAX, end = 0, *size = &p->size[CPU_CONSTANTS];
    cpu_memory *m;

    for (int i = 0; i < root->n_memories; i++)
        if (is_same_memory(root->memories[i].region, r))
            return root->memories[i].offset;
    root->memories =
        glow_arena_grow(root->arena, root->memories, (size_t)root->n_memories,
                        &root->cap_memories, sizeof *root->memories);
    m = &root->memories[root->n_memories++];
    GLOW_FOR_EACH_FUNC(f, root->func->module)
        widen(f, r, &begin, &end);
    begin = begin / CPU_ALIGN * CPU_ALIGN;
    *m = (cpu_memory){r, *size - begin};
    *size = glow_cpu_aligned(*size + end - begin);
    return m->offset;
}

bool
glow_cpu_lay_regions(cpu_plan *p)
{
    int k = 0;

    for (glow_region *r = p->func->regions; r; r = r->next)
        p->n_regions++;
    p->regions = glow_arena_alloc_array(p->arena, (size_t)p->n_regions,
                                        sizeof(*p->regions));
    for (glow_region *r = p->func->regions; r; r = r->next)
        p->regions[k++].region = r;
    GLOW_FOR_EACH_NODE(n, p->func)
        if ((n->op == &glow_op_weight || n->op == &glow_op_alloc) &&
            !claim_region(p, n))
            return false;
    for (int i = 0; i < p->n_regions; i++) {
        int64_t *size = &p->size[p->regions[i].base];

        if (p->regions[i].keeps)
            p->regions[i].constants = lay_constants(p, p->regions[i].region);
        if (!p->regions[i].changes)
            continue;
        p->regions[i].offset = *size;
        *size = glow_cpu_aligned(*size + p->regions[i].region->size);
    }
    return true;
}

/* Bytes from the base of a tensorview to its first element. */
static int64_t
view_offset(const glow_node *view)
{
    const glow_tensorview *a = view->attrs;
    const glow_type *t = view->in[0]->type;
    glow_dims strides = glow_cpu_strides(t);
    int64_t at = 0;

    for (int d = 0; d < a->offsets.rank && d < strides.rank; d++)
        at += a->offsets.at[d] * strides.at[d];
    return at * glow_kind_get(t->elem)->bytes;
}

cpu_range
glow_cpu_range(const cpu_plan *p, const glow_value *v)
{
    cpu_range r = {.size = glow_type_bytes(v->type)};
    const glow_value *b = v;

    for (; b->def->op == &glow_op_tensorview; b = b->def->in[0])
        r.offset += view_offset(b->def);

    int region = region_number(p, b->def->place->region);

    r.base = is_constant(b) ? CPU_CONSTANTS : p->regions[region].base;
    r.offset +=
        b->def->place->offset + (is_constant(b) ? p->regions[region].constants
                                                : p->regions[region].offset);
    return r;
}

int64_t
glow_cpu_region_bytes(const glow_func *f)
{
    int64_t bytes = 0;

    for (const glow_region *r = f->regions; r; r = r->next)
        GLOW_FOR_EACH_NODE(n, f)
            if (n->place && n->place->region == r && !is_constant(n->out[0])) {
                if (glow_add_overflow(bytes, glow_cpu_aligned(r->size), &bytes))
                    return INT64_MAX;
                break;
            }
    return bytes;
}
