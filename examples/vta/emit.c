/*
 * Artifacts: the instruction words, a listing of them, all that the machine needs to run
 * them, and a report of the cycles, multiply-adds and bytes of each operator.
 */

#include <inttypes.h>
#include <string.h>

#include <glow/file.h>

#include "program.h"

const glow_artifact vta_artifacts[] = {
    {"words",
     "instruction words of 16 bytes, their number in 8 before each segment"},
    {"listing", "an instruction a line"},
    {"image", "sizes, words, and the first contents of DRAM: see image.h"},
    {"report", "cycles, multiply-adds and bytes, in JSON"},
    {0},
};

/* Little-endian. */
static void
put_number(glow_buf *b, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        glow_buf_putc(b, (char)(v >> 8 * i));
}

static void
put_words(glow_buf *b, const vta_program *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const vta_segment *g = &p->segments[i];

        put_number(b, (uint64_t)g->count);
        for (int64_t k = 0; k < g->count; k++) {
            put_number(b, g->words[k].low);
            put_number(b, g->words[k].high);
        }
    }
}

/* The bytes of DRAM before a run. */
static bool
put_dram(glow_buf *b, glow_arena *a, const vta_program *p)
{
    uint8_t *dram = glow_arena_alloc(a, (size_t)p->dram_bytes + 1);

    if (!vta_fill_dram(p, dram))
        return false;
    glow_buf_add(b, (const char *)dram, (size_t)p->dram_bytes);
    return true;
}

static bool
put_image(glow_buf *b, glow_arena *a, const vta_program *p)
{
    const vta_config *c = &p->config;
    uint64_t inputs = 0;

    for (int k = VTA_UOP; k <= VTA_ACC; k++)
        put_number(b, (uint64_t)c->elements[k]);
    put_number(b, (uint64_t)c->depth);
    put_number(b, (uint64_t)c->outstanding);
    put_number(b, (uint64_t)c->setup);
    put_number(b, (uint64_t)c->bytes_per_cycle);
    put_number(b, (uint64_t)p->dram_bytes);
    put_number(b, p->count);
    put_words(b, p);
    GLOW_FOR_EACH_NODE(n, p->func)
        inputs += n->op == &glow_op_weight && !glow_is_constant(n->out[0]);
    put_number(b, inputs);
    GLOW_FOR_EACH_NODE(n, p->func)
        if (n->op == &glow_op_weight && !glow_is_constant(n->out[0])) {
            put_number(b, (uint64_t)vta_offset(n->out[0]));
            put_number(b, (uint64_t)glow_type_bytes(n->out[0]->type));
        }
    return put_dram(b, a, p);
}

static void
put_listing(glow_buf *b, const vta_program *p)
{
    for (size_t i = 0; i < p->count; i++)
        for (int64_t k = 0; k < p->segments[i].count; k++) {
            vta_instruction x;
            char line[256];

            vta_decode(p->segments[i].words[k], &x);
            vta_print(&x, line, sizeof line);
            glow_buf_printf(b, "%s\n", line);
        }
}

/* Bytes that any order of instructions moves: each element that is read or written, once. */
static int64_t
least_bytes(const glow_node *n)
{
    int64_t bytes = glow_type_bytes(n->out[0]->type);

    if (glow_is(n, &vta_op_conv)) {
        vta_window w = vta_window_of(n);

        bytes += w.batch * vta_read_elements(&w, 0, 0, w.out_height) *
                 vta_read_elements(&w, 1, 0, w.out_width) * w.blocks *
                 VTA_LANES;
    }
    for (int i = glow_is(n, &vta_op_conv); i < n->n_in; i++)
        bytes += n->in[i] ? glow_type_bytes(n->in[i]->type) : 0;
    return bytes;
}

static bool
simulate(const vta_program *p, const vta_segment *g, vta_report *r)
{
    vta_machine *m = vta_machine_new(&p->config);
    bool ok = vta_machine_run(m, NULL, p->dram_bytes, g->words, g->count, 0, r);

    vta_machine_free(m);
    return ok || glow_error_at(p->func->module->ctx, g->first->span, "E0823",
                               "%s %%%s: the accelerator stopped: %s",
                               g->first->op->name, g->first->name, r->fault);
}

static void
put_counts(glow_buf *b, const vta_report *r)
{
    glow_buf_printf(
        b,
        "\"instructions\": %" PRId64 ", \"cycles\": %" PRId64
        ", \"gemm\": %" PRId64 ", \"alu\": %" PRId64 ", \"loaded\": %" PRId64
        ", \"computed\": %" PRId64 ", \"stored\": %" PRId64
        ", \"busy\": [%" PRId64 ", %" PRId64 ", %" PRId64 "]",
        r->instructions, r->cycles, r->gemm_steps, r->alu_steps,
        r->bytes[VTA_LOADER], r->bytes[VTA_COMPUTER], r->bytes[VTA_STORER],
        r->busy[VTA_LOADER], r->busy[VTA_COMPUTER], r->busy[VTA_STORER]);
}

/* One instruction of the program alone, and its roofline. */
static void
put_unit(glow_buf *b, const glow_node *n, const vta_program *p,
         const vta_report *r)
{
    const vta_conv *c = glow_attrs_if(n, &vta_op_conv);
    double port = (double)least_bytes(n) / p->config.bytes_per_cycle;
    double gemm = c ? (double)vta_gemm_steps(n) : 0;

    glow_buf_printf(b, "    {\"name\": ");
    glow_buf_quoted(b, n->name, strlen(n->name));
    glow_buf_printf(b, ", \"op\": \"%s\", \"macs\": %" PRId64 ", ", n->op->name,
                    c ? c->macs : 0);
    put_counts(b, r);
    glow_buf_printf(b, ", \"least_bytes\": %" PRId64 ", \"roofline\": %.0f}",
                    least_bytes(n), gemm > port ? gemm : port);
}

static bool
put_report(glow_buf *b, glow_arena *a, glow_func *f, const vta_program *p,
           const vta_options *o, const glow_target_options *t)
{
    const vta_program *apart =
        glow_has_queues(f) ? NULL : vta_program_new(a, f, o, t, true);
    vta_report all = {0};

    if (!apart && !glow_has_queues(f))
        return false;
    glow_buf_puts(b, "{\n  \"units\": [\n");
    for (size_t i = 0; apart && i < apart->count; i++) {
        vta_report r = {0};

        if (!simulate(apart, &apart->segments[i], &r))
            return false;
        put_unit(b, apart->segments[i].first, apart, &r);
        glow_buf_puts(b, i + 1 < apart->count ? ",\n" : "\n");
    }
    for (size_t i = 0; i < p->count; i++)
        if (!simulate(p, &p->segments[i], &all))
            return false;
    glow_buf_puts(b, "  ],\n  \"all\": {");
    put_counts(b, &all);
    glow_buf_puts(b, "}\n}\n");
    return true;
}

bool
vta_emit(glow_func *f, const char *artifact, const glow_target_options *t,
         const char *path)
{
    const vta_options *o = glow_backend_options(&vta_backend, t);
    glow_arena *a = glow_arena_new();
    const vta_program *p = vta_program_new(a, f, o, t, false);
    glow_buf b = {0};
    bool ok = p != NULL;

    if (ok && strcmp(artifact, "words") == 0)
        put_words(&b, p);
    else if (ok && strcmp(artifact, "listing") == 0)
        put_listing(&b, p);
    else if (ok && strcmp(artifact, "image") == 0)
        ok = put_image(&b, a, p);
    else if (ok)
        ok = put_report(&b, a, f, p, o, t);
    ok = ok &&
         glow_file_write(f->module->ctx, path, b.text ? b.text : "", b.len);
    glow_buf_free(&b);
    glow_arena_free(a);
    return ok;
}
