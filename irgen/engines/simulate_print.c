/* Reports of a simulated run: text, JSON, and events for a trace viewer. */

#include <inttypes.h>

#include "glow/simulate.h"
#include "irgen/engines/simulation.h"
#include "irgen/json.h"

static double
percent(double part, double of)
{
    return of > 0 ? part * 100 / of : 0;
}

/* Text. */

static void
put_queues(glow_buf *b, const simulation *s)
{
    glow_buf_puts(b, "queue         instructions          busy  share\n");
    for (size_t i = 0; i <= s->target->n_queues; i++)
        if (i > 0 || s->queues[i].instructions > 0)
            glow_buf_printf(b, "%-12s  %12" PRId64 "  %12.0f  %4.1f %%\n",
                            i ? s->target->queues[i - 1].name : "(host)",
                            s->queues[i].instructions, s->queues[i].busy,
                            percent(s->queues[i].busy, s->cycles));
}

static void
put_links(glow_buf *b, const simulation *s)
{
    const glow_target *t = s->target;

    glow_buf_puts(
        b,
        "link             transfers  commands         bytes   least  times\n");
    for (size_t i = 0; i < t->n_links; i++) {
        const sim_link *l = &s->links[i];

        if (l->transfers > 0)
            glow_buf_printf(
                b, "%6s to %-6s  %9" PRId64 "  %8.0f  %12.0f  %12.0f  %.2f\n",
                t->spaces[t->links[i].from].name,
                t->spaces[t->links[i].to].name, l->transfers, l->commands,
                l->bytes, l->least, l->bytes / l->least);
    }
}

static void
put_units(glow_buf *b, const simulation *s)
{
    glow_buf_puts(
        b, "unit              instructions          work        cycles\n");
    for (size_t i = 0; i < s->target->n_units; i++)
        if (s->units[i].instructions > 0)
            glow_buf_printf(b, "%-16s  %12" PRId64 "  %12.0f  %12.0f\n",
                            s->target->units[i].op, s->units[i].instructions,
                            s->units[i].work, s->units[i].cycles);
}

static void
put_text(glow_buf *b, const simulation *s)
{
    glow_buf_printf(b, "@%s on %s: %.0f cycles", s->func->name, s->target->name,
                    s->cycles);
    if (s->target->clock_hz > 0)
        glow_buf_printf(b, ", %.3f ms", s->cycles * 1e3 / s->target->clock_hz);
    glow_buf_putc(b, '\n');
    put_queues(b, s);
    put_links(b, s);
    put_units(b, s);
    glow_buf_printf(b,
                    "transfers: %.0f cycles while a unit works, %.0f while "
                    "none does\n",
                    s->hidden, s->exposed);
    glow_buf_printf(b, "roofline: %.0f cycles, of %s; reached %.1f %%\n",
                    s->bound, s->bounded_by, percent(s->bound, s->cycles));
    glow_buf_printf(b, "cycle model: %016" PRIx64 "\n",
                    glow_cycle_model(s->target));
}

/* JSON. */

static void
put_json(glow_buf *b, const simulation *s)
{
    const glow_target *t = s->target;
    const char *comma = "";

    glow_buf_puts(b, "{\"program\": ");
    glow_put_json_string(b, s->func->name);
    glow_buf_puts(b, ", \"target\": ");
    glow_put_json_string(b, t->name);
    glow_buf_printf(b, ", \"model\": \"%016" PRIx64 "\"", glow_cycle_model(t));
    glow_buf_printf(b,
                    ", \"cycles\": %.0f, \"bound\": %.0f, \"hidden\": %.0f, "
                    "\"exposed\": %.0f, \"ratio\": ",
                    s->cycles, s->bound, s->hidden, s->exposed);
    glow_buf_double(b, s->cycles > 0 ? s->bound / s->cycles : 0);
    glow_buf_puts(b, ", \"queues\": [");
    for (size_t i = 1; i <= t->n_queues; i++, comma = ", ") {
        glow_buf_printf(b, "%s{\"name\": ", comma);
        glow_put_json_string(b, t->queues[i - 1].name);
        glow_buf_printf(b, ", \"instructions\": %" PRId64 ", \"busy\": %.0f}",
                        s->queues[i].instructions, s->queues[i].busy);
    }
    comma = "], \"links\": [";
    for (size_t i = 0; i < t->n_links; i++, comma = ", ") {
        glow_buf_printf(b, "%s{\"from\": ", comma);
        glow_put_json_string(b, t->spaces[t->links[i].from].name);
        glow_buf_puts(b, ", \"to\": ");
        glow_put_json_string(b, t->spaces[t->links[i].to].name);
        glow_buf_printf(
            b,
            ", \"transfers\": %" PRId64
            ", \"commands\": %.0f, \"bytes\": %.0f, \"least\": %.0f}",
            s->links[i].transfers, s->links[i].commands, s->links[i].bytes,
            s->links[i].least);
    }
    comma = t->n_links ? "], \"units\": [" : "], \"links\": [], \"units\": [";
    for (size_t i = 0; i < t->n_units; i++, comma = ", ") {
        glow_buf_printf(b, "%s{\"op\": ", comma);
        glow_put_json_string(b, t->units[i].op);
        glow_buf_printf(b,
                        ", \"instructions\": %" PRId64
                        ", \"work\": %.0f, \"cycles\": %.0f}",
                        s->units[i].instructions, s->units[i].work,
                        s->units[i].cycles);
    }
    glow_buf_puts(b, t->n_units ? "]}\n" : "], \"units\": []}\n");
}

/* Events: a cycle is a microsecond. */

/* An arrow from a signal to its wait. */
static void
put_flow(glow_buf *b, const sim_wait *w, size_t id)
{
    for (int end = 0; end < 2; end++) {
        glow_buf_printf(b,
                        ",\n{\"name\": \"token\", \"cat\": \"token\", "
                        "\"ph\": \"%s\", \"id\": %zu, \"pid\": 0, \"tid\": "
                        "%d, \"ts\": ",
                        end ? "f" : "s", id, end ? w->to : w->from);
        glow_buf_double(b, end ? w->ended : w->signalled);
        glow_buf_puts(b, end ? ", \"bp\": \"e\"}" : "}");
    }
}

static void
put_trace(glow_buf *b, const simulation *s)
{
    glow_buf_puts(b, "{\"traceEvents\": [");
    for (size_t i = 0; i <= s->target->n_queues; i++) {
        glow_buf_printf(
            b,
            "%s\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": "
            "0, \"tid\": %zu, \"args\": {\"name\": ",
            i ? "," : "", i);
        glow_put_json_string(b, i ? s->target->queues[i - 1].name : "host");
        glow_buf_puts(b, "}}");
    }
    for (size_t i = 0; i < s->n_steps; i++) {
        const sim_step *p = &s->steps[i];

        glow_buf_puts(b, ",\n{\"name\": ");
        glow_put_json_string(b, p->node->name);
        glow_buf_puts(b, ", \"cat\": ");
        glow_put_json_string(b, p->node->op->name);
        glow_buf_printf(
            b, ", \"ph\": \"X\", \"pid\": 0, \"tid\": %d, \"ts\": ", p->engine);
        glow_buf_double(b, p->begin);
        glow_buf_puts(b, ", \"dur\": ");
        glow_buf_double(b, p->end - p->begin);
        glow_buf_printf(b, ", \"args\": {\"bytes\": %.0f, \"work\": %.0f}}",
                        p->work.bytes, p->work.work);
    }
    for (size_t i = 0; i < s->n_waits; i++)
        put_flow(b, &s->waits[i], i);
    glow_buf_puts(b, "\n]}\n");
}

bool
glow_simulate(glow_buf *b, glow_func *f, const glow_target *t,
              glow_simulate_format format)
{
    static void (*const put[])(glow_buf *, const simulation *) = {
        [GLOW_SIMULATE_TEXT] = put_text,
        [GLOW_SIMULATE_JSON] = put_json,
        [GLOW_SIMULATE_TRACE] = put_trace,
        [GLOW_SIMULATE_SVG] = glow_simulation_svg,
    };
    glow_arena *a;
    const simulation *s;

    if (!f->is_program || !f->placed || t->n_queues == 0)
        return glow_error_hint(f->module->ctx, f->span, "E0507",
                               t->n_queues ? "run alloc and schedule-engines"
                                           : "name one with -target-file",
                               "@%s: %s", f->name,
                               t->n_queues ? "it is no placed program"
                                           : "the target has no queues");
    a = glow_arena_new();
    s = glow_simulation_of(a, f, t);
    put[format](b, s);
    glow_arena_free(a);
    return true;
}
