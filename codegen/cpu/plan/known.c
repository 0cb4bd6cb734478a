/*
 * Kernels that were chosen by the elements of constants: the names of those in the order
 * of instructions, behind the digest of the constants.  A name is `-` where no kernel does
 * the instruction.
 */

#include "codegen/cpu/plan/known.h"

#include <string.h>

#include "codegen/cpu/plan/kernels.h"

/* True if a kernel of `op` is chosen by the elements of constants. */
static bool
asks_elements(const glow_op *op)
{
    for (int i = 0; glow_cpu_kernels[i]; i++)
        if (glow_cpu_kernels[i]->op == op && glow_cpu_kernels[i]->by_elements)
            return true;
    return false;
}

const cpu_kernel *
glow_cpu_known_kernel(cpu_plan *root, const glow_node *n)
{
    const char *name = root->known_kernels;
    size_t length = name ? strcspn(name, " ") : 0;

    if (!length || !asks_elements(n->op))
        return NULL;
    root->known_kernels = name + length + (name[length] == ' ');
    for (int i = 0; glow_cpu_kernels[i]; i++) {
        const cpu_kernel *k = glow_cpu_kernels[i];

        if (k->op == n->op && strlen(k->name) == length &&
            memcmp(k->name, name, length) == 0)
            return k;
    }
    return NULL;
}

void
glow_cpu_note_kernel(cpu_plan *root, const glow_node *n, const cpu_kernel *k)
{
    if (!asks_elements(n->op))
        return;
    root->by_elements = glow_arena_grow(
        root->arena, root->by_elements, (size_t)root->n_by_elements,
        &root->cap_by_elements, sizeof *root->by_elements);
    root->by_elements[root->n_by_elements++] = k;
}

const char *
glow_cpu_with_known(const cpu_plan *root, const char *digest)
{
    glow_buf b = {.arena = root->arena};

    glow_buf_printf(&b, "%s", digest);
    for (int i = 0; i < root->n_by_elements; i++)
        glow_buf_printf(
            &b, " %s", root->by_elements[i] ? root->by_elements[i]->name : "-");
    return b.text;
}

const char *
glow_cpu_known_names(const char *line)
{
    const char *space = strchr(line, ' ');

    return space ? space + 1 : NULL;
}
