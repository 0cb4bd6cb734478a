#include "lower/train.h"

/* `v`, converted to float if it is float16 or bfloat16. */
static glow_value *
wide(glow_builder *b, glow_value *v)
{
    bool is_short =
        v->type->elem == GLOW_FLOAT16 || v->type->elem == GLOW_BFLOAT16;

    return is_short ? glow_lower_convert(b, v, GLOW_FLOAT) : v;
}

bool
glow_lower_train_begin(glow_builder *b, const glow_node *n, float norm,
                       glow_lower_train *s)
{
    *s = (glow_lower_train){.r = NULL};
    s->r = glow_lower_convert(b, n->in[0], GLOW_FLOAT64);
    s->t = glow_lower_convert(b, n->in[1], GLOW_FLOAT64);
    s->x = wide(b, n->in[2]);
    s->g = wide(b, n->in[3]);
    for (int i = 4; i < n->n_in; i++)
        s->kept[i - 4] = wide(b, n->in[i]);
    if (norm != 0)
        s->g = glow_build_add(b, glow_lower_times(b, s->x, (double)norm), s->g);
    return !glow_builder_failed(b);
}

void
glow_lower_train_end(glow_builder *b, glow_node *n, int i, glow_value *v)
{
    glow_builder_replace(b, n, i,
                         glow_lower_convert(b, v, n->out[i]->type->elem));
}

glow_value *
glow_lower_rate(glow_builder *b, const glow_lower_train *s, glow_value *rate)
{
    const glow_type *x = s->x->type;

    return glow_lower_spread(b, glow_lower_convert(b, rate, x->elem), 0,
                             x->shape);
}

glow_value *
glow_lower_step(glow_builder *b, glow_value *x, glow_value *rate,
                glow_value *direction, glow_value *h, float epsilon)
{
    glow_value *y = glow_build_mul(b, rate, direction);

    if (h) {
        h = glow_build_sqrt(b, h);
        y = glow_build_div(b, y, glow_lower_plus(b, h, (double)epsilon));
    }
    return glow_build_sub(b, x, y);
}
