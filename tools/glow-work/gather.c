/* The results of a set, joined along their first axes. */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-work/work.h"

/* True if a file has elements of the kind and shape of `all`, but for the first axis. */
static bool
is_part(const npy_array *a, const glow_tensor *all, int64_t count)
{
    glow_type want = *all->type;

    want.shape.at[0] = count;
    return !a->swap && a->elements.type->elem == want.elem &&
           glow_dims_equal(a->elements.type->shape, want.shape);
}

/* Copies the file of samples from `first` on; makes `all` for the first one. */
static bool
add(work *w, const work_set *s, size_t output, int64_t first, glow_tensor *all)
{
    int64_t count =
        s->samples - first < s->chunk ? s->samples - first : s->chunk;
    const char *path = work_result_path(w->tool.arena, s, output, first);
    npy_array a;
    bool ok;

    if (!npy_map(w->tool.ctx, path, &a))
        return false;
    if (first == 0 && a.elements.type->shape.rank > 0) {
        glow_type type = *a.elements.type;

        type.shape.at[0] = s->samples;
        *all = glow_tensor_new(glow_type_get(w->tool.ctx, type));
    }
    ok = all->data && is_part(&a, all, count);
    if (ok)
        memcpy((char *)all->data +
                   (size_t)(glow_type_bytes(all->type) / s->samples * first),
               a.elements.data, (size_t)glow_type_bytes(a.elements.type));
    else
        glow_error(w->tool.ctx, "E1105", "%s is no result of %s", path,
                   s->name);
    glow_data_unref(a.file);
    return ok;
}

int
work_gather(work *w, const work_set *s)
{
    bool ok = true;

    for (size_t i = 0; i < s->outputs.count && ok; i++) {
        glow_tensor all = {0};

        for (int64_t at = 0; at < s->samples && ok; at += s->chunk)
            ok = add(w, s, i, at, &all);
        ok = ok &&
             npy_write(w->tool.ctx,
                       glow_arena_printf(w->tool.arena, "%s/%s.npy",
                                         w->values.output, s->files.items[i]),
                       &all);
        glow_tensor_end(&all);
    }
    return ok ? TOOL_DONE : TOOL_FAILED;
}
