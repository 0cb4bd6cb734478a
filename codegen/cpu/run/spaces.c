/*
 * Memory spaces of code: of a bundle, and in this process.
 *
 * A plan has the regions of a base one behind the other.  In a bundle each of them but the
 * first has a pointer of its own, since memories of a machine need not be adjacent; the
 * offsets of the others move down by the sizes of those before them.  The region of state
 * always has one, and behind its tensors a number that tells an interrupted call.
 *
 * In this process the spaces are placeholders, whose pointers are in a table, since their
 * number is known only after the function is called from C.  Offsets do not move there, so
 * that a pointer may as well be that of the placeholder's range in its base.
 */

#include "codegen/cpu/run/spaces.h"

#include <string.h>

#include "codegen/cpu/kernels/fork.h"
#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/layout.h"
#include "codegen/cpu/plan/memory.h"
#include "codegen/cpu/run/header.h"
#include "glow/ops.h"

/* `name`_memory as an identifier that no other space has. */
static const char *
pointer_name(const cpu_plan *p, const char *name)
{
    const char *base = glow_arena_printf(p->arena, "%s_memory",
                                         glow_cpu_c_name(p->arena, name));
    const char *unique = base;

    for (int n = 2, i = 0; i < p->n_spaces; i++)
        if (strcmp(p->spaces[i].name, unique) == 0) {
            unique = glow_arena_printf(p->arena, "%s_%d", base, n++);
            i = -1;
        }
    return unique;
}

/* The region that alloc keeps state in. */
static bool
is_for_state(const glow_region *r)
{
    return strcmp(r->name, "state") == 0;
}

static void
separate(cpu_plan *p)
{
    bool seen[CPU_BASES] = {false};

    p->spaces = glow_arena_alloc_array(p->arena, (size_t)p->n_regions + 1,
                                       sizeof *p->spaces);
    for (int i = 0; i < p->n_regions; i++) {
        cpu_base base = p->regions[i].base;
        const glow_region *r = p->regions[i].region;
        bool is_state = is_for_state(r);

        if (!p->regions[i].changes)
            continue;
        if (is_state)
            p->state_space = p->n_spaces;
        if (seen[base] || is_state) {
            cpu_space one = {.name =
                                 is_state ? "state" : pointer_name(p, r->name),
                             .base = base,
                             .begin = p->regions[i].offset,
                             .size = glow_cpu_aligned(r->size)};

            p->spaces[p->n_spaces++] = one;
        }
        seen[base] |= !is_state;
    }
}

cpu_plan *
glow_cpu_entry_at(const cpu_plan *root, int i)
{
    return i == 0 ? root->root : root->entries[i - 1];
}

void
glow_cpu_separate_spaces(cpu_plan *root)
{
    int64_t most = 0;

    for (int i = 0; i <= root->n_entries; i++) {
        cpu_plan *p = glow_cpu_entry_at(root, i);

        separate(p);
        if (p->state_space >= 0 && p->spaces[p->state_space].size > most)
            most = p->spaces[p->state_space].size;
    }
    for (int i = 0; i <= root->n_entries; i++)
        if (glow_cpu_entry_at(root, i)->state_space >= 0)
            glow_cpu_entry_at(root, i)->busy = most;
}

/* Placeholders in this process. */

/* True if a buffer of `p` other than that of `b` has bytes in its range. */
static bool
has_neighbor(const cpu_plan *p, const cpu_binding *b)
{
    const cpu_range own = {b->base, b->offset, b->size};

    GLOW_FOR_EACH_NODE(n, p->func)
        if ((n->op == &glow_op_weight || n->op == &glow_op_alloc) &&
            n->out[0]->storage != b->storage &&
            glow_cpu_overlap(glow_cpu_range(p, n->out[0]), own))
            return true;
    return false;
}

static bool
may_fail(const cpu_step *s)
{
    return s->root && s->kernel->fails;
}

static bool
writes_to(const cpu_step *s, cpu_range r)
{
    for (int i = 0; i < s->n_slots; i++)
        if (s->slots[i].written && glow_cpu_overlap(s->slots[i].range, r))
            return true;
    return false;
}

/* True if a step may fail after a write to the range of `b`, or in it. */
static bool
is_left_half_written(const cpu_plan *p, const cpu_binding *b)
{
    const cpu_range own = {b->base, b->offset, b->size};
    bool written = false;

    for (int i = 0; i < p->n_steps; i++) {
        written = written || writes_to(&p->steps[i], own);
        if (written && may_fail(&p->steps[i]))
            return true;
    }
    return false;
}

static bool
can_be_apart(const cpu_plan *p, const cpu_binding *b)
{
    return b->size > 0 && !b->storage->value.type->strides.rank &&
           !has_neighbor(p, b) &&
           (!b->written || glow_cpu_is_state(b) || !is_left_half_written(p, b));
}

void
glow_cpu_separate_placeholders(cpu_plan *p)
{
    p->spaces = glow_arena_alloc_array(p->arena, (size_t)p->n_bindings + 1,
                                       sizeof *p->spaces);
    p->has_table = true;
    for (int i = 0; i < p->n_bindings; i++) {
        const cpu_binding *b = &p->bindings[i];

        if (can_be_apart(p, b))
            p->spaces[p->n_spaces++] = (cpu_space){
                .name = b->storage->name,
                .base = b->base,
                .begin = b->offset,
                .size = b->size,
            };
    }
}

/* Addresses. */

int
glow_cpu_count_params(const cpu_plan *p)
{
    return glow_cpu_entry_params(p->target) + (p->has_table ? 1 : p->n_spaces);
}

cpu_location
glow_cpu_locate(const cpu_plan *p, cpu_base base, int64_t offset)
{
    cpu_location l = {-1, offset};

    for (int i = 0; i < p->n_spaces; i++) {
        const cpu_space *s = &p->spaces[i];

        if (s->base != base || offset < s->begin)
            continue;
        if (offset < s->begin + s->size)
            return (cpu_location){i, offset - s->begin};
        if (!p->has_table)
            l.offset -= s->size;
    }
    return l;
}

int64_t
glow_cpu_base_size(const cpu_plan *p, cpu_base base)
{
    int64_t size = p->size[base];

    for (int i = 0; i < p->n_spaces; i++)
        if (p->spaces[i].base == base)
            size -= p->spaces[i].size;
    return size;
}
