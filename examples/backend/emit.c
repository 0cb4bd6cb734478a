/* The listing: `npu.dense spm+0, spm+64, spm+128 -> spm+192`. */

#include <inttypes.h>

#include <glow/file.h>

#include "npu.h"

static void
put_address(glow_buf *b, const glow_value *v)
{
    glow_extent e;

    if (!v) {
        glow_buf_puts(b, "_");
        return;
    }
    e = glow_extent_of(v);
    glow_buf_printf(b, "%s+%" PRId64, e.base->place->region->space,
                    e.base->place->offset +
                        e.first * glow_kind_get(e.layout->elem)->bytes);
}

static void
put_instruction(glow_buf *b, const glow_node *n)
{
    char name[64];

    glow_op_instr_name(n->op, name, sizeof name);
    glow_buf_puts(b, name);
    for (int i = 0; i < n->n_in; i++) {
        glow_buf_puts(b, i ? ", " : " ");
        put_address(b, n->in[i]);
    }
    glow_buf_puts(b, " ->");
    for (int i = 0; i < n->n_out; i++) {
        glow_buf_puts(b, i ? ", " : " ");
        put_address(b, n->out[i]);
    }
    glow_buf_putc(b, '\n');
}

bool
npu_emit(glow_func *f, const char *artifact, const glow_target_options *t,
         const char *path)
{
    glow_buf b = {0};
    bool ok;

    (void)artifact, (void)t; /* there is one */
    GLOW_FOR_EACH_NODE(n, f)
        if (!(n->op->traits & GLOW_STRUCTURAL))
            put_instruction(&b, n);
    ok = glow_file_write(f->module->ctx, path, b.text ? b.text : "", b.len);
    glow_buf_free(&b);
    return ok;
}
