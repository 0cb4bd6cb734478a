/*
 * nest-concat: reuse a Concat as the prefix or suffix of a longer one.
 *
 *     %y = Concat([@a, @b])              %y = Concat([@a, @b])
 *     %z = Concat([@a, @b, @c])      =>  %z = Concat([%y, @c])
 *     %w = Concat([@a, @b, @c, @d])      %w = Concat([%z, @d])
 *
 * Exporters write networks that concatenate all previous results (DenseNet)
 * with every part as an operand of every later Concat.  A part can be computed
 * in one buffer, so all but one of them would copy it.  Nested, each Concat is
 * a prefix of the next, the chain shares one buffer, and parts are computed in
 * it (join-parts).  Otherwise as many bytes are copied as before.
 *
 * The same for suffixes: Concat([@c, @a, @b]).  The longest one is reused.  It
 * must be defined before; equal Concats are left to cse.
 *
 * Each rewrite leaves fewer operands. fold-concat merges an inner Concat only
 * if it has no other user, and this pass reuses only a Concat that has a user,
 * so neither undoes the other.
 *
 * Time: the users of each operand are visited, at most LOOKS for a Concat;
 * Concats are visited from the last to the first, so that the earlier ones
 * still have all their operands.
 */

#include "glow/number.h"
#include "glow/ops.h"
#include "glow/pass.h"

enum { LOOKS = 10000 };

/* Operands `first` to `first + count - 1` of a Concat. */
typedef struct stretch {
    const glow_numbering *numbers;
    glow_node *n;
    int first, count;
} stretch;

static int
dim_of(const glow_node *n)
{
    const glow_concat *c = n->attrs;

    return c->dim;
}

/*
 * True if these are exactly the operands of `inner`, which is defined before.
 */
static bool
is_same(const stretch *s, const glow_node *inner)
{
    if (!glow_is(inner, &glow_op_concat) || inner->pred ||
        inner->func != s->n->func || inner->n_in != s->count ||
        glow_number_of(s->numbers, inner) >= glow_number_of(s->numbers, s->n) ||
        dim_of(inner) != dim_of(s->n))
        return false;
    for (int i = 0; i < s->count; i++)
        if (inner->in[i] != s->n->in[s->first + i])
            return false;
    return true;
}

/*
 * The Concat with exactly these operands, searched among the users of the
 * operand at the inner end; or NULL.
 */
static glow_node *
find(const stretch *s, int *looks)
{
    int at = s->first == 0 ? s->count - 1 : s->first;

    GLOW_FOR_EACH_USE(u, s->n->in[at])
        if ((*looks)-- <= 0)
            return NULL;
        else if (is_same(s, u->user))
            return u->user;
    return NULL;
}

/* The longest Concat whose operands are a prefix or suffix of n's; sets `s`. */
static glow_node *
find_longest(glow_node *n, stretch *s)
{
    int looks = LOOKS;

    s->n = n;
    for (s->count = n->n_in - 1; s->count > 1; s->count--)
        for (s->first = 0; s->first <= n->n_in - s->count;
             s->first += n->n_in - s->count) {
            glow_node *inner = find(s, &looks);

            if (inner)
                return inner;
        }
    return NULL;
}

static bool
nest(glow_builder *b, const stretch *s, glow_node *inner)
{
    glow_node *n = s->n;
    const char *name = n->name;
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    int count = 0;

    for (int i = 0; i < n->n_in; i++)
        if (i == s->first)
            in[count++] = inner->out[0];
        else if (i < s->first || i >= s->first + s->count)
            in[count++] = n->in[i];
    glow_builder_at(b, n);
    glow_value *y = glow_build(b, &glow_op_concat, NULL, in, count, n->attrs);

    if (!y)
        return false;
    glow_replace_uses(n->out[0], y);
    glow_node_erase(n);
    glow_node_rename(y->def, name);
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    glow_builder *b = glow_builder_new(a, f, glow_run_pass(pass)->name);
    glow_result result = GLOW_UNCHANGED;
    glow_numbering numbers = glow_number_nodes(a, f);
    glow_node **concats = GLOW_NEW_ARRAY(a, glow_node *, f->count);
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is(n, &glow_op_concat) && !n->pred && n->n_in > 2)
            concats[count++] = n;
    while (count-- > 0) {
        stretch s = {.numbers = &numbers};
        glow_node *inner = find_longest(concats[count], &s);

        if (!inner || !glow_run_may_rewrite(pass))
            continue;
        glow_run_remark(pass, concats[count], true,
                        "takes over %d of %d operands from %%%s", s.count,
                        s.n->n_in, inner->name);
        if (!nest(b, &s, inner))
            return GLOW_FAILED;
        glow_run_count(pass, "nested", 1);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_nest_concat = {
    .name = "nest-concat",
    .summary = "reuse a Concat as the prefix or suffix of a longer one",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
