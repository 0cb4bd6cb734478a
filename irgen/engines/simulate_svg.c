/*
 * A simulated run as a picture: a row for each queue, time to the right, a box for each
 * instruction.
 */

#include "irgen/engines/simulation.h"
#include "irgen/report/svg.h"

#define LEFT 90.0
#define WIDTH 1000.0
#define ROW 34.0
#define TOP 56.0
#define TICKS 8

static double
x_of(const simulation *s, double cycles)
{
    return LEFT + (s->cycles > 0 ? cycles * WIDTH / s->cycles : 0);
}

static double
y_of(size_t row)
{
    return TOP + (double)row * ROW;
}

static void
put_step(glow_buf *b, const simulation *s, const sim_step *p)
{
    double x = x_of(s, p->begin), w = x_of(s, p->end) - x;

    glow_svg_rect(b, p->work.link ? "move" : "work",
                  (glow_svg_box){x, y_of((size_t)p->engine - 1) + 4,
                                 w > 0.2 ? w : 0.2, ROW - 8});
    glow_buf_puts(b, "><title>");
    glow_svg_escaped(b, p->node->name);
    glow_buf_printf(b, ", %s, %.0f to %.0f", p->node->op->name, p->begin,
                    p->end);
    if (p->work.link)
        glow_buf_printf(b, ", %.0f bytes", p->work.bytes);
    glow_buf_puts(b, "</title></rect>\n");
}

static void
put_rows(glow_buf *b, const simulation *s)
{
    for (size_t i = 0; i < s->target->n_queues; i++) {
        glow_svg_rect(b, "panel",
                      (glow_svg_box){LEFT, y_of(i) + 2, WIDTH, ROW - 4});
        glow_buf_puts(b, "/>\n");
        glow_svg_text(b, "end", LEFT - 8, y_of(i) + ROW / 2 + 4,
                      s->target->queues[i].name);
    }
}

static void
put_ticks(glow_buf *b, glow_arena *a, const simulation *s)
{
    double y = y_of(s->target->n_queues);

    for (int i = 0; i <= TICKS; i++) {
        double at = s->cycles * i / TICKS;

        glow_svg_line(b, "tick", x_of(s, at), TOP, x_of(s, at), y + 4);
        glow_svg_text(b, "mid", x_of(s, at), y + 18,
                      glow_arena_printf(a, "%.0f", at));
    }
}

void
glow_simulation_svg(glow_buf *b, const simulation *s)
{
    glow_arena *a = glow_arena_new();
    int width = (int)(LEFT + WIDTH) + 40;
    int height = (int)y_of(s->target->n_queues) + 30;

    glow_buf_printf(
        b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d "
        "%d\" font-family=\"sans-serif\" font-size=\"12\">\n<style>"
        ".panel{fill:#f2f4f6}.tick{stroke:#d5dbe1}"
        ".work{fill:#a9ccf4;stroke:#3b7cc4;stroke-width:.4}"
        ".move{fill:#f2cf8c;stroke:#b97f17;stroke-width:.4}"
        ".end{text-anchor:end}.mid{text-anchor:middle}</style>\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
        width, height, width, height);
    glow_svg_text(
        b, "head", LEFT, 20,
        glow_arena_printf(a,
                          "@%s on %s: %.0f cycles, %.1f %% of the "
                          "roofline (%.0f, of %s)",
                          s->func->name, s->target->name, s->cycles,
                          s->cycles > 0 ? s->bound * 100 / s->cycles : 0,
                          s->bound, s->bounded_by));
    glow_svg_text(
        b, "head", LEFT, 40,
        glow_arena_printf(a,
                          "transfers: %.0f cycles while a unit works, "
                          "%.0f while none does",
                          s->hidden, s->exposed));
    put_rows(b, s);
    put_ticks(b, a, s);
    for (size_t i = 0; i < s->n_steps; i++)
        if (s->steps[i].engine > 0)
            put_step(b, s, &s->steps[i]);
    glow_buf_puts(b, "</svg>\n");
    glow_arena_free(a);
}
