/*
 * A plugin that does wrong: one pass for each way in which a pass can fail the
 * manager, and one that takes options of every kind.
 */

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "glow/ops.h"
#include "glow/plugin.h"

/* faulty.crash */

static glow_result
crash(glow_pass_run *run, glow_func *f)
{
    (void)run, (void)f;
    raise(SIGSEGV);
    return GLOW_UNCHANGED;
}

static const glow_pass pass_crash = {
    .name = "faulty.crash",
    .summary = "raise SIGSEGV",
    .level = GLOW_ANY,
    .run = crash,
};

/* faulty.break */

static glow_result
break_type(glow_pass_run *run, glow_func *f)
{
    const glow_type *wrong = glow_type_get(
        glow_run_context(run), glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(7, 7)));

    GLOW_FOR_EACH_NODE(n, f)
        if (n->n_out == 1)
            n->out[0]->type = wrong;
    return GLOW_CHANGED;
}

static const glow_pass pass_break = {
    .name = "faulty.break",
    .summary = "give results another type",
    .level = GLOW_GRAPH,
    .run = break_type,
};

/* faulty.lie */

static glow_result
lie(glow_pass_run *run, glow_func *f)
{
    break_type(run, f);
    return GLOW_UNCHANGED;
}

static const glow_pass pass_lie = {
    .name = "faulty.lie",
    .summary = "give results another type, and say that nothing has changed",
    .level = GLOW_GRAPH,
    .run = lie,
};

/* faulty.hush */

static glow_result
hush(glow_pass_run *run, glow_func *f)
{
    (void)run;
    if (f->last)
        glow_node_rename(f->last, "hush");
    return GLOW_UNCHANGED;
}

static const glow_pass pass_hush = {
    .name = "faulty.hush",
    .summary = "rename a node, and say that nothing has changed",
    .level = GLOW_ANY,
    .run = hush,
};

/* faulty.retype */

static glow_value *
another_type(glow_builder *b, glow_node *n)
{
    (void)b;
    return n->n_in > 1 ? n->in[1] : NULL;
}

static glow_result
retype(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_fullyconnected, another_type);
}

static const glow_pass pass_retype = {
    .name = "faulty.retype",
    .summary = "replace a FullyConnected by its weights",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "it is a test",
    .run = retype,
};

/* faulty.restless */

static glow_value *
again(glow_builder *b, glow_node *n)
{
    return GLOW_BUILD_PLAIN(b, relu, GLOW_IN(n->in[0]));
}

static glow_result
restless(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_relu, again);
}

static const glow_pass pass_restless = {
    .name = "faulty.restless",
    .summary = "replace Relu by Relu, for ever",
    .level = GLOW_GRAPH,
    .run = restless,
};

/* faulty.flip */

static glow_result
flip(glow_pass_run *run, glow_func *f)
{
    (void)run, (void)f;
    return GLOW_CHANGED;
}

static const glow_pass pass_flip = {
    .name = "faulty.flip",
    .summary = "say that something has changed, each time",
    .level = GLOW_ANY,
    .run = flip,
};

/* faulty.silent */

static glow_result
silent(glow_pass_run *run, glow_func *f)
{
    (void)run, (void)f;
    return GLOW_FAILED;
}

static const glow_pass pass_silent = {
    .name = "faulty.silent",
    .summary = "fail and not say why",
    .level = GLOW_ANY,
    .run = silent,
};

/* faulty.lazy */

static const glow_pass pass_lazy = {
    .name = "faulty.lazy",
    .summary = "promise a program, and leave the graph",
    .level = GLOW_GRAPH,
    .makes = GLOW_PROGRAM,
    .run = flip,
};

/* faulty.wrong */

static glow_value *
negate(glow_builder *b, glow_node *n)
{
    return GLOW_BUILD_PLAIN(b, neg, GLOW_IN(n->in[0]));
}

static glow_result
wrong(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_relu, negate);
}

static const glow_pass pass_wrong = {
    .name = "faulty.wrong",
    .summary = "replace Relu by Neg, and call it exact",
    .level = GLOW_GRAPH,
    .run = wrong,
};

/* faulty.swap */

/* Sub(Tanh(x), y) => Sub(y, Tanh(x)), if that Tanh has other users, too. */
static glow_value *
swap_operands(glow_builder *b, glow_node *n)
{
    if (!glow_is(n->in[0]->def, &glow_op_tanh) ||
        glow_is(n->in[1]->def, &glow_op_tanh) || glow_has_one_use(n->in[0]))
        return NULL;
    return GLOW_BUILD_PLAIN(b, sub, GLOW_IN(n->in[1], n->in[0]));
}

static glow_result
swap(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_sub, swap_operands);
}

static const glow_pass pass_swap = {
    .name = "faulty.swap",
    .summary = "change the operands of Sub, now and then",
    .level = GLOW_GRAPH,
    .run = swap,
};

/* faulty.trip */

static glow_value *
trip_over(glow_builder *b, glow_node *n)
{
    if (glow_is(n->in[0]->def, &glow_op_tanh))
        raise(SIGSEGV);
    return GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(n->in[0]->def->in[0]));
}

static glow_value *
trip_maybe(glow_builder *b, glow_node *n)
{
    return n->in[0]->def ? trip_over(b, n) : NULL;
}

static glow_result
trip(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_sigmoid, trip_maybe);
}

static const glow_pass pass_trip = {
    .name = "faulty.trip",
    .summary = "crash at a Sigmoid of a Tanh",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "it is a test",
    .run = trip,
};

/* faulty.spill */

static glow_result
spill(glow_pass_run *run, glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is(n, &glow_op_sub) && glow_run_may_rewrite(run)) {
            glow_value *left = n->in[0];

            glow_set_operand(n, 0, n->in[1]);
            glow_set_operand(n, 1, left);
        }
    return GLOW_CHANGED;
}

static const glow_pass pass_spill = {
    .name = "faulty.spill",
    .summary = "change the operands of sub, in programs",
    .level = GLOW_PROGRAM,
    .run = spill,
};

/* faulty.talk */

static glow_result
talk(glow_pass_run *run, glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is(n, &glow_op_relu)) {
            bool one = glow_has_one_use(n->out[0]);

            glow_run_remark(run, n, one, "it has %d user%s", one ? 1 : 2,
                            one ? "" : "s");
        }
    return GLOW_UNCHANGED;
}

static const glow_pass pass_talk = {
    .name = "faulty.talk",
    .summary = "count the users of Relu, aloud",
    .level = GLOW_GRAPH,
    .run = talk,
};

/* faulty.moody */

static glow_result
moody(glow_pass_run *run, glow_func *f)
{
    static int times; /* what no pass may have */
    char name[32];

    snprintf(name, sizeof name, "mood%d", times++);
    if (f->first)
        glow_node_rename(f->first, name);
    (void)run;
    return GLOW_CHANGED;
}

static const glow_pass pass_moody = {
    .name = "faulty.moody",
    .summary = "do another thing each time",
    .level = GLOW_ANY,
    .run = moody,
};

/* faulty.aim */

static glow_result
aim(glow_pass_run *run, glow_func *f)
{
    (void)run;
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is(n, &glow_op_gather))
            glow_set_operand(
                n, 1,
                &glow_constant_splat(f->module, "far", n->in[1]->type, 1000)
                     ->value);
    return GLOW_CHANGED;
}

static const glow_pass pass_aim = {
    .name = "faulty.aim",
    .summary = "let every Gather reach too far",
    .level = GLOW_GRAPH,
    .run = aim,
};

/* faulty.forget */

static glow_result
forget(glow_pass_run *run, glow_func *f)
{
    (void)run;
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is(n, &glow_op_save))
            glow_node_erase(n);
    return GLOW_CHANGED;
}

static const glow_pass pass_forget = {
    .name = "faulty.forget",
    .summary = "write no results",
    .level = GLOW_GRAPH,
    .run = forget,
};

/* faulty.sleep */

static glow_result
sleep_long(glow_pass_run *run, glow_func *f)
{
    struct timespec left = {.tv_sec = 2, .tv_nsec = 400000000};

    (void)run, (void)f;
    while (nanosleep(&left, &left) != 0)
        continue;
    return GLOW_UNCHANGED;
}

static const glow_pass pass_sleep = {
    .name = "faulty.sleep",
    .summary = "take more than two seconds",
    .preserves = GLOW_EXACT,
    .run = sleep_long,
};

/* faulty.options */

static const char *const words[] = {"slow", "fast", NULL};

typedef struct every {
    int count;
    int64_t bytes;
    float ratio;
    bool loud;
    const char *text;
    int speed;
    glow_dims shape;
    glow_ints list;
    glow_floats reals;
    glow_kind kind;
} every;

static glow_result
options(glow_pass_run *run, glow_func *f)
{
    const every *o = glow_run_options(run);

    (void)f;
    glow_run_count(run, "count", o->count);
    glow_run_note(run, "count %d, text %s", o->count, o->text);
    return GLOW_UNCHANGED;
}

static const glow_pass pass_options = {
    .name = "faulty.options",
    .summary = "take options of every kind, and do nothing",
    .level = GLOW_ANY,
    .options = {GLOW_FIELD_DEFAULT(every, count, GLOW_INT, "a count"),
                GLOW_FIELD_DEFAULT(every, bytes, GLOW_INT64, "a size"),
                GLOW_FIELD_DEFAULT(every, ratio, GLOW_FLOAT32, "a ratio"),
                GLOW_FIELD_DEFAULT(every, loud, GLOW_FLAG, "a flag"),
                GLOW_FIELD_DEFAULT(every, text, GLOW_STRING, "a text"),
                GLOW_FIELD_ENUM(every, speed, words, "a word"),
                GLOW_FIELD_DEFAULT(every, shape, GLOW_DIMS, "a shape"),
                GLOW_FIELD_DEFAULT(every, list, GLOW_INTS, "integers"),
                GLOW_FIELD_DEFAULT(every, reals, GLOW_FLOATS, "numbers"),
                GLOW_FIELD_DEFAULT(every, kind, GLOW_KIND, "a kind")},
    .defaults = &(const every){.count = 1,
                               .bytes = 64,
                               .ratio = 0.5F,
                               .text = "none",
                               .kind = GLOW_FLOAT},
    .run = options,
};

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = GLOW_ABI_MINOR,
    .sizes = GLOW_ABI_SIZES,
    .name = "faulty",
    .version = "1",
    .licence = "Apache-2.0",
    .passes =
        (const glow_pass *const[]){
            &pass_aim,    &pass_break,   &pass_lie,      &pass_crash,
            &pass_flip,   &pass_forget,  &pass_hush,     &pass_lazy,
            &pass_moody,  &pass_options, &pass_restless, &pass_retype,
            &pass_silent, &pass_sleep,   &pass_spill,    &pass_swap,
            &pass_talk,   &pass_trip,    &pass_wrong,    NULL},
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major, (void)abi_minor, (void)reason;
    return &plugin;
}
