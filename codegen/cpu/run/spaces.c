/*
 * Memory spaces of a bundle.
 *
 * A plan has the regions of a base one behind the other.  In a bundle each of them but the
 * first has a pointer of its own, since memories of a machine need not be adjacent; the
 * offsets of the others move down by the sizes of those before them.  The region of state
 * always has one, and behind its tensors a number that tells an interrupted call.
 */

#include "codegen/cpu/run/spaces.h"

#include <string.h>

#include "codegen/cpu/layout.h"
#include "codegen/cpu/run/header.h"

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
