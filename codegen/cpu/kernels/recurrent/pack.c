/*
 * Blocking of recurrent networks for a target, and the packing of R in the
 * order in which it is read:
 *
 *     [direction][phase][vector of units][element of the state][gate][lane]
 *
 * with zeros for the lanes beyond the last hidden unit.
 */

#include "codegen/cpu/kernels/recurrent/recurrent.h"
#include "codegen/cpu/kernels/runs.h"

static int
most_gates(const cpu_cell *c)
{
    return c->phases > 1 && c->phase[1].count > c->phase[0].count
               ? c->phase[1].count
               : c->phase[0].count;
}

cpu_recurrent_shape
glow_cpu_recurrent_shape(const cpu_target *t, const glow_node *n)
{
    glow_dims y = n->out[0]->type->shape;
    cpu_recurrent_shape s = {
        .cell = glow_cpu_cell(n),
        .steps = y.at[0],
        .directions = y.at[1],
        .batch = y.at[2],
        .hidden = y.at[3],
        .lanes = t->vector_bytes / 4,
    };
    int gates = most_gates(s.cell), most = (t->registers - 2) / gates - 1;

    if (s.hidden < s.lanes)
        s.lanes = glow_cg_lanes_over(s.hidden);
    s.vectors = (s.hidden + s.lanes - 1) / s.lanes;
    s.rows = glow_cpu_best_rows(s.batch, gates, most > 1 ? most : 1);
    s.tiles = (s.batch + s.rows - 1) / s.rows;
    return s;
}

int64_t
glow_cpu_state_bytes(const cpu_recurrent_shape *s)
{
    return glow_cpu_room(s->batch, s->vectors * s->lanes * 4);
}

int64_t
glow_cpu_phase_bytes(const cpu_recurrent_shape *s, int i)
{
    return s->cell->phase[i].count * s->hidden * s->vectors * s->lanes * 4;
}

int64_t
glow_cpu_recurrent_bytes(const cpu_recurrent_shape *s)
{
    int64_t bytes = 0;

    for (int i = 0; i < s->cell->phases; i++)
        bytes += glow_cpu_phase_bytes(s, i);
    return bytes;
}

/* Rows of R for one gate and vector of units, side by side from `to` on. */
static void
pack_rows(const cpu_recurrent_shape *s, int gates, const glow_tensor *from,
          int64_t row, int64_t units, float *to)
{
    for (int64_t lane = 0; lane < s->lanes; lane++)
        for (int64_t k = 0; k < s->hidden; k++) {
            float *at = to + k * gates * s->lanes + lane;

            if (lane >= units)
                *at = 0.0f;
            else if (from->type->elem == GLOW_FLOAT)
                *at = ((const float *)from->data)[(row + lane) * s->hidden + k];
            else
                *at =
                    (float)glow_get_double(from, (row + lane) * s->hidden + k);
        }
}

void
glow_cpu_pack_recurrent(const cpu_target *t, const glow_node *n,
                        const glow_tensor *from, void *data)
{
    cpu_recurrent_shape s = glow_cpu_recurrent_shape(t, n);
    float *to = data;

    for (int64_t d = 0; d < s.directions; d++)
        for (int i = 0; i < s.cell->phases; i++) {
            const cpu_phase *p = &s.cell->phase[i];

            for (int64_t v = 0; v < s.vectors; v++) {
                for (int k = 0; k < p->count; k++)
                    pack_rows(&s, p->count, from,
                              (d * s.cell->gates + p->first + k) * s.hidden +
                                  v * s.lanes,
                              s.hidden - v * s.lanes, to + k * s.lanes);
                to += s.hidden * p->count * s.lanes;
            }
        }
}

/* The vectors from `first` to `end` of a gate, of which `units` lanes are. */
static void
emit_vectors(cg *g, const cpu_recurrent_shape *s, const cpu_phase *p, int gate,
             int64_t first, int64_t end, int64_t units, cg_tensor from,
             cg_value row, cg_value to)
{
    int64_t element = p->count * s->lanes;
    cg_value at, unit;
    cg_nest n;

    if (first == end || units == 0)
        return;
    glow_cg_nest(g, &n, GLOW_DIMS_OF(end - first, units, s->hidden));
    n.at[0] = cg_addc(g, n.at[0], first);
    unit = cg_add(g, cg_mulc(g, n.at[0], s->lanes), n.at[1]);
    at = cg_add(g, cg_mulc(g, cg_add(g, row, unit), s->hidden), n.at[2]);
    unit = cg_add(g, cg_mulc(g, n.at[0], s->hidden), n.at[2]);
    unit = cg_add(g, cg_mulc(g, unit, element), n.at[1]);
    at = glow_cg_load(g, from, at, 1);
    unit = cg_mulc(g, cg_addc(g, unit, gate * s->lanes), 4);
    glow_cg_store_raw(g, at, glow_cg_at(g, to, unit));
    glow_cg_nest_end(g, &n);
}

void
glow_cpu_emit_pack_recurrent(cg *g, const cpu_recurrent_shape *s,
                             cg_tensor from, cg_value direction, cg_value to)
{
    int64_t whole = s->hidden / s->lanes, bytes = glow_cpu_recurrent_bytes(s);
    cg_loop zeros;

    glow_cg_loop(g, &zeros, cg_i64(g, 0), cg_i64(g, bytes), s->lanes * 4, NULL,
                 0);
    glow_cg_store_raw(g, LLVMConstNull(glow_cg_vector(g->f32, s->lanes)),
                      glow_cg_at(g, to, zeros.i));
    glow_cg_loop_end(g, &zeros, NULL);
    for (int i = 0; i < s->cell->phases; i++) {
        const cpu_phase *p = &s->cell->phase[i];

        for (int k = 0; k < p->count; k++) {
            cg_value row = cg_mulc(g, direction, s->cell->gates * s->hidden);

            row = cg_addc(g, row, (p->first + k) * s->hidden);
            emit_vectors(g, s, p, k, 0, whole, s->lanes, from, row, to);
            emit_vectors(g, s, p, k, whole, s->vectors,
                         s->hidden - whole * s->lanes, from, row, to);
        }
        to = glow_cg_atc(g, to, glow_cpu_phase_bytes(s, i));
    }
}
