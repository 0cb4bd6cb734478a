/*
 * Memory maps: the timeline of a placed program as JSON; docs/memory.md defines
 * the fields.  memory_map_text.c and memory_map_svg.c have the other forms.
 */

#include "glow/memory_map.h"

#include <inttypes.h>

#include "irgen/json.h"
#include "irgen/report/memory_map.h"

/* `, "name": "text"`; the first one without the comma. */
static void
put_member(glow_buf *b, const char *name, const char *text)
{
    if (b->text[b->len - 1] != '{')
        glow_buf_puts(b, ", ");
    glow_buf_printf(b, "\"%s\": ", name);
    glow_put_json_string(b, text);
}

static void
put_count(glow_buf *b, const char *name, int64_t n)
{
    glow_buf_printf(b, ", \"%s\": %" PRId64, name, n);
}

static void
put_step(glow_buf *b, const glow_node *n)
{
    glow_buf_putc(b, '{');
    put_member(b, "name", n->name);
    put_member(b, "op", n->op->name);
    put_member(b, "source", glow_source_name(n));
    glow_buf_putc(b, '}');
}

static void
put_uses(glow_buf *b, const glow_timeline_buffer *e, bool writes)
{
    const char *comma = "";

    glow_buf_puts(b, writes ? ", \"written\": [" : ", \"read\": [");
    for (uint32_t i = 0; i < e->n_uses; i++)
        if (writes ? e->uses[i].writes : e->uses[i].reads) {
            glow_buf_printf(b, "%s%" PRIu32, comma, e->uses[i].step);
            comma = ", ";
        }
    glow_buf_putc(b, ']');
}

static void
put_buffer(glow_buf *b, const glow_timeline *t, const glow_timeline_buffer *e)
{
    glow_buf_putc(b, '{');
    put_member(b, "name", e->name);
    put_member(b, "type", glow_type_text(t->arena, e->type));
    put_member(b, "label", glow_buffer_label(t, e));
    put_member(b, "family", glow_buffer_family(t, e));
    put_count(b, "offset", e->offset);
    put_count(b, "size", e->size);
    put_count(b, "from", e->from);
    put_count(b, "to", e->to);
    put_uses(b, e, true);
    put_uses(b, e, false);
    glow_buf_putc(b, '}');
}

/* Offsets that no buffer spans, and ranges that no buffer covers. */
static void
put_walls(glow_buf *b, const glow_region *r)
{
    put_count(b, "bank", r->bank);
    glow_buf_puts(b, ", \"forbidden\": [");
    for (size_t i = 0; i < r->n_forbidden; i++)
        glow_buf_printf(b, "%s[%" PRId64 ", %" PRId64 "]", i ? ", " : "",
                        r->forbidden[i].begin, r->forbidden[i].end);
    glow_buf_putc(b, ']');
}

static void
put_region(glow_buf *b, const glow_timeline *t, const glow_timeline_space *s)
{
    glow_buf_putc(b, '{');
    put_member(b, "name", s->name);
    put_member(b, "space", s->region->space);
    put_count(b, "align", s->region->align);
    put_count(b, "size", s->region->size);
    put_count(b, "capacity", s->region->capacity);
    put_walls(b, s->region);
    put_count(b, "peak", s->peak);
    put_count(b, "bound", s->bound);
    put_count(b, "busiest", s->busiest);
    glow_buf_puts(b, ", \"live\": [");
    for (uint32_t i = 0; i < t->n_steps; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? ", " : "", s->live[i]);
    glow_buf_puts(b, "], \"buffers\": [");
    for (uint32_t i = 0; i < s->n_buffers; i++) {
        glow_buf_puts(b, i ? ", " : "");
        put_buffer(b, t, &s->buffers[i]);
    }
    glow_buf_puts(b, "]}");
}

void
glow_map_json(glow_buf *b, const glow_timeline *t)
{
    glow_buf_putc(b, '{');
    put_member(b, "program", t->f->name);
    glow_buf_puts(b, ", \"steps\": [");
    for (uint32_t i = 0; i < t->n_steps; i++) {
        glow_buf_puts(b, i ? ", " : "");
        put_step(b, t->steps[i]);
    }
    glow_buf_puts(b, "], \"regions\": [");
    for (uint32_t i = 0; i < t->n_spaces; i++) {
        glow_buf_puts(b, i ? ", " : "");
        put_region(b, t, &t->spaces[i]);
    }
    glow_buf_puts(b, "]}\n");
}

bool
glow_memory_map(glow_buf *b, glow_func *f, glow_map_format format)
{
    static void (*const print[])(glow_buf *, const glow_timeline *) = {
        glow_map_text, glow_map_json, glow_map_svg};
    glow_arena *scratch;

    if (!f->is_program || !f->placed)
        return glow_error_hint(f->module->ctx, f->span, "E0326",
                               "run -alloc first",
                               "@%s has no memory map: it is not a placed "
                               "program",
                               f->name);
    scratch = glow_arena_new();
    print[format](b, glow_timeline_of(scratch, f));
    glow_arena_free(scratch);
    return true;
}
