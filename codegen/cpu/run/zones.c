/*
 * Red zones: see zones.h.
 *
 * A step may change the bytes of the slots that it writes, each as the range
 * from its first element to its last, and its scratch.  In buffers with
 * strides, the bytes between rows count as part of the range.
 */

#include "codegen/cpu/run/zones.h"

#include "codegen/cpu/plan/memory.h"
#include "codegen/cpu/plan/plan.h"

#include <inttypes.h>
#include <string.h>

#include "glow/ops.h"

static size_t
whole(const cpu_zones *z, int base)
{
    return (size_t)z->plan->size[base] + 2 * CPU_ZONE_MARGIN;
}

cpu_zones *
glow_cpu_zones(glow_arena *a, const cpu_plan *p, uint8_t *const base[CPU_BASES])
{
    cpu_zones *z = GLOW_NEW(a, cpu_zones);
    size_t most = 0;

    z->plan = p;
    for (int i = 0; i < CPU_BASES; i++) {
        size_t size = whole(z, i);

        most = size > most ? size : most;
        z->base[i] = base[i];
        z->kept[i] = GLOW_NEW_ARRAY(a, uint8_t, size);
    }
    z->own = GLOW_NEW_ARRAY(a, uint8_t, most);
    return z;
}

void
glow_cpu_zones_clear(cpu_zones *z)
{
    /* The bytes 0xff are a NaN as floats, and -1 as integers. */
    memset(z->base[CPU_ACTIVATIONS], 0xff,
           (size_t)z->plan->size[CPU_ACTIVATIONS]);
}

void
glow_cpu_zones_begin(cpu_zones *z)
{
    for (int i = 0; i < CPU_BASES; i++) {
        uint8_t *from = z->base[i] - CPU_ZONE_MARGIN;

        memset(from, 0xff, CPU_ZONE_MARGIN);
        memset(z->base[i] + z->plan->size[i], 0xff, CPU_ZONE_MARGIN);
        memcpy(z->kept[i], from, whole(z, i));
    }
}

/* Flags the bytes that step `s` may change; false if there are none. */
static bool
flag_own(cpu_zones *z, const cpu_step *s, int base)
{
    uint8_t *own = z->own + CPU_ZONE_MARGIN;
    bool found = false;

    memset(z->own, 0, whole(z, base));
    for (int i = 0; i < s->n_slots; i++) {
        const cpu_slot *slot = &s->slots[i];

        if (!slot->written || (int)slot->range.base != base)
            continue;
        memset(own + slot->range.offset, 1, (size_t)slot->range.size);
        found = true;
    }
    if (base == CPU_ACTIVATIONS && s->scratch > 0 && s->own_scratch < 0) {
        memset(own + z->plan->scratch, 1, (size_t)s->scratch);
        found = true;
    }
    return found;
}

static const glow_node *
node_of(const cpu_step *s)
{
    return s->root ? s->root : s->items[0].n;
}

/* Describes byte `at` of a base: in a live buffer, or behind one. */
static const char *
place_of(const cpu_zones *z, const cpu_step *s, int base, int64_t at)
{
    static const char *const bases[] = {"constants", "placeholders",
                                        "activations"};
    glow_arena *a = z->plan->arena;
    const glow_node *near = NULL;
    int64_t end = INT64_MIN;

    GLOW_FOR_EACH_NODE(n, z->plan->func) {
        const glow_life *life;
        cpu_range r;

        if (n->op != &glow_op_weight && n->op != &glow_op_alloc)
            continue;
        r = glow_cpu_range(z->plan, n->out[0]);
        life = &z->plan->lives[glow_number_of(&z->plan->numbers, n)];
        if ((int)r.base != base || life->begin > s->last ||
            life->end <= s->first)
            continue;
        if (at >= r.offset && at < r.offset + r.size)
            return glow_arena_printf(a, "byte %" PRId64 " of %%%s",
                                     at - r.offset, n->name);
        if (r.offset + r.size <= at && r.offset + r.size > end) {
            end = r.offset + r.size;
            near = n;
        }
    }
    if (near)
        return glow_arena_printf(a, "byte %" PRId64 " behind %%%s", at - end,
                                 near->name);
    return glow_arena_printf(a, "byte %" PRId64 " of the %s", at, bases[base]);
}

static bool
report(const cpu_zones *z, const cpu_step *s, int base, int64_t at)
{
    const glow_node *n = node_of(s);

    return glow_error_hint(
        z->plan->func->module->ctx, n->span, "E0511",
        "the kernel is at fault, not the program: please report it",
        "%s %%%s changed %s, which is not its own", n->op->name, n->name,
        place_of(z, s, base, at));
}

/* The first changed byte of a base outside of the step's own bytes, or -1. */
static int64_t
first_changed(const cpu_zones *z, int base, bool owns)
{
    const uint8_t *now = z->base[base] - CPU_ZONE_MARGIN;
    size_t size = whole(z, base);

    if (memcmp(now, z->kept[base], size) == 0)
        return -1;
    for (size_t i = 0; i < size; i++)
        if (now[i] != z->kept[base][i] && !(owns && z->own[i]))
            return (int64_t)i;
    return -1;
}

bool
glow_cpu_zones_check(cpu_zones *z, const cpu_step *s)
{
    for (int i = 0; i < CPU_BASES; i++) {
        bool owns = flag_own(z, s, i);
        int64_t at = first_changed(z, i, owns);

        if (at >= 0)
            return report(z, s, i, at - CPU_ZONE_MARGIN);
        if (owns)
            memcpy(z->kept[i], z->base[i] - CPU_ZONE_MARGIN, whole(z, i));
    }
    return true;
}
