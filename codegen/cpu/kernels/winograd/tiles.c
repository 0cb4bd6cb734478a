/*
 * The loops over the tiles of Winograd's convolution.
 *
 * Tiles of a phase are adjacent, and phases follow each other: a column of
 * tiles has the number phase * tiles_w + column, and a row (image * phases_h +
 * phase) * tiles_h + row.  Columns are known at compile time, so spans group
 * the columns of tiles whose valid pixels are the same.
 */

#include <string.h>

#include "codegen/cpu/kernels/winograd/make.h"

/* True if two phases have the same runs. */
static bool
same_runs(const cpu_span *a, const cpu_run *b, int n, int64_t pixels)
{
    for (int i = 0; i < n; i++)
        if (a[i].run.first != b[i].first || a[i].run.count != b[i].count ||
            memcmp(a[i].run.valid, b[i].valid, (size_t)pixels) != 0)
            return false;
    return true;
}

/* Cuts all phases; `x` is the first, and the others each begin a pixel later. */
static bool
cut(glow_arena *a, const cpu_winograd *w, cpu_window_axis x, cpu_spans *s)
{
    cpu_run runs[CPU_MOST_RUNS];
    int before = 0; /* spans of the phase before */

    s->count = 0;
    for (int64_t phase = 0; phase < w->phases_w; phase++, x.start--) {
        int n = glow_cpu_cut(a, &x, 1, runs);
        cpu_span *last = &s->at[s->count - before];

        if (n > 0 && n == before && same_runs(last, runs, n, x.kernel)) {
            for (int i = 0; i < n; i++)
                last[i].phases++;
            continue;
        }
        if (n == 0 || n > CPU_MOST_RUNS - s->count)
            return false;
        for (int i = 0; i < n; i++)
            s->at[s->count++] = (cpu_span){phase, 1, runs[i]};
        before = n;
    }
    return true;
}

bool
glow_cpu_winograd_read(glow_arena *a, const cpu_winograd *w, cpu_spans *s)
{
    return cut(a, w,
               (cpu_window_axis){.in = w->in_w,
                                 .out = w->tiles_w,
                                 .kernel = w->n_w,
                                 .stride = w->m_w * w->apart_w,
                                 .dilation = w->apart_w,
                                 .start = w->pad_w},
               s);
}

bool
glow_cpu_winograd_written(glow_arena *a, const cpu_winograd *w, cpu_spans *s)
{
    return cut(a, w,
               (cpu_window_axis){.in = w->out_w,
                                 .out = w->tiles_w,
                                 .kernel = w->m_w,
                                 .stride = w->m_w * w->apart_w,
                                 .dilation = w->apart_w},
               s);
}

/* Tiles of a phase in the current row. */
typedef struct stretch {
    cg_value phase;
    cg_value from;       /* the number of the phase's first column */
    cg_value first, end; /* columns of tiles of the block */
    cg_value begin;      /* the number of the block's first tile as a column */
} stretch;

/* The tiles of `run` in phase `phase` and the current row. */
static stretch
stretch_of(const cpu_winograd_maker *m, cg_value phase, const cpu_run *run)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    cg_value row = cg_mulc(g, m->row, glow_cpu_winograd_columns(w));
    stretch s = {.phase = phase, .begin = cg_sub(g, m->tile0, row)};
    cg_value first, end;

    s.from = cg_mulc(g, phase, w->tiles_w);
    first = cg_addc(g, s.from, run->first);
    end = cg_addc(g, s.from, run->first + run->count);
    s.first = glow_cg_imax(g, s.begin, first);
    s.end = glow_cg_imin(g, cg_sub(g, m->tile1, row), end);
    return s;
}

/* Makes the tile of column `column` the one at hand. */
static void
take_tile(cpu_winograd_maker *m, const stretch *s, cg_value column)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;

    m->x = cg_mulc(g, cg_sub(g, column, s->from), w->m_w * w->apart_w);
    m->x = cg_add(g, s->phase, m->x);
    m->tile = cg_sub(g, column, s->begin);
}

/* The tiles of a span in the current row. */
static void
each_column(cpu_winograd_maker *m, const cpu_span *span, cpu_winograd_fn body)
{
    cg *g = m->j->g;
    cg_loop phases, columns;
    stretch s;

    glow_cg_for(g, &phases, span->phases);
    s = stretch_of(m, cg_addc(g, phases.i, span->phase), &span->run);
    glow_cg_loop_guarded(g, &columns, s.first, s.end, 1, NULL, 0);
    take_tile(m, &s, columns.i);
    body(m, span);
    glow_cg_loop_end(g, &columns, NULL);
    glow_cg_loop_end(g, &phases, NULL);
}

/* Begins the loop over the rows of tiles of the block. */
static void
begin_rows(cpu_winograd_maker *m, cg_loop *rows)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    int64_t columns = glow_cpu_winograd_columns(w);
    cg_value end = cg_addc(g, m->tile1, columns - 1);
    cg_value phase, row = cg_over(g, m->tile0, columns);

    glow_cg_loop(g, rows, row, cg_over(g, end, columns), 1, NULL, 0);
    m->row = rows->i;
    phase = cg_over(g, rows->i, w->tiles_h);
    row = cg_modulo(g, rows->i, w->tiles_h);
    m->image = cg_over(g, phase, w->phases_h);
    m->y = cg_affine(g, cg_modulo(g, phase, w->phases_h), 1, row,
                     w->m_h * w->apart_h);
}

void
glow_cpu_winograd_each(cpu_winograd_maker *m, const cpu_spans *spans,
                       cpu_winograd_fn body)
{
    cg_loop rows;

    begin_rows(m, &rows);
    for (int i = 0; i < spans->count; i++)
        each_column(m, &spans->at[i], body);
    glow_cg_loop_end(m->j->g, &rows, NULL);
}

void
glow_cpu_winograd_begin_rows(cpu_winograd_maker *m, cpu_winograd_row_loops *l)
{
    cg *g = m->j->g;
    const cpu_run all = {.count = m->w.tiles_w};
    stretch s;

    begin_rows(m, &l->rows);
    glow_cg_for(g, &l->phases, m->w.phases_w);
    s = stretch_of(m, l->phases.i, &all);
    take_tile(m, &s, s.first);
    l->count = cg_sub(g, s.end, s.first);
}

void
glow_cpu_winograd_end_rows(cpu_winograd_maker *m, cpu_winograd_row_loops *l)
{
    cg *g = m->j->g;

    glow_cg_loop_end(g, &l->phases, NULL);
    glow_cg_loop_end(g, &l->rows, NULL);
}

void
glow_cpu_winograd_each_vector(cpu_winograd_maker *m, cg_value first,
                              cg_value end, int64_t count,
                              cpu_winograd_vector_fn body, const void *what)
{
    cg *g = m->j->g;
    int lanes = m->p.lanes;
    int64_t whole = count / lanes * lanes;
    cg_value at = cg_i64(g, whole);
    cg_loop l;
    cg_if s;

    if (whole) {
        glow_cg_loop_guarded(g, &l, first, glow_cg_imin(g, end, at), lanes,
                             NULL, 0);
        body(m, l.i, lanes, what);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (whole == count)
        return;
    glow_cg_if(g, &s, cg_icmp(g, LLVMIntSGT, end, at));
    body(m, at, (int)(count - whole), what);
    glow_cg_end_if(g, &s);
}
