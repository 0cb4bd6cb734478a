/* The two programs: a step of training, and the network alone. */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-train/train.h"

/* Passes. */

/* float16, whose gradients need a factor. */
static bool
is_half(const train_values *v)
{
    return v->convert && strstr(v->convert, "f16") != NULL &&
           strstr(v->convert, "bf16") == NULL;
}

static void
put_step(train *t, glow_buf *b)
{
    const train_values *v = &t->values;

    bool scales = is_half(v);

    /*
     * Rules of composite operators keep fewer results than their parts; those of a
     * rounding go by its pair, of which recognize makes operators of integers.
     */
    glow_buf_puts(b, "simplify,recognize,expand-quantized,");
    if (scales)
        glow_buf_printf(b, "scale-loss<loss=\"%s\">,", t->loss);
    glow_buf_printf(b, "differentiate<loss=\"%s\"",
                    scales ? "scaled.loss" : t->loss);
    if (v->of)
        glow_buf_printf(b, ",of=\"%s\"", v->of);
    glow_buf_puts(b, scales ? ">,unscale-gradients" : ">");
    if (v->accumulate > 1)
        glow_buf_printf(b, ",accumulate-gradients<every=%" PRId64 ">",
                        v->accumulate);
    if (v->clip_norm > 0 || v->clip_value > 0)
        glow_buf_printf(b, ",clip-gradients<norm=%.9g,value=%.9g>",
                        v->clip_norm, v->clip_value);
    glow_buf_printf(b,
                    ",update-weights<optimizer=%s,alpha=%.9g,beta=%.9g,"
                    "epsilon=%.9g,decay=%.9g>",
                    v->optimizer, v->alpha, v->beta, v->epsilon, v->decay);
}

static bool
run_passes(train *t, glow_module *m, const char *text)
{
    glow_pipeline *p = glow_pipeline_parse(
        t->tool.ctx, t->tool.arena,
        glow_source_from(t->tool.ctx, "<passes>", text, strlen(text)));

    return p && glow_pipeline_run(p, m, NULL);
}

static bool
load(train *t, train_program *p)
{
    const char *passes = t->values.passes;
    const glow_target_options code = {
        .threads = (int)t->values.threads,
        .most_bytes = t->values.limit,
        .cache = tool_cache_folder(&t->tool, &t->values.cache),
        .options = t->options,
    };

    if (!passes && t->backend->level != GLOW_ANY)
        passes = "O2";
    if (t->values.convert)
        passes = glow_arena_printf(
            t->tool.arena, "%s%s%s",
            tool_conversion(&t->tool, t->values.convert, NULL),
            passes ? "," : "", passes ? passes : "");
    p->is_loaded = glow_network_load(
        &p->network, p->func,
        &(glow_network_options){
            .backend = t->backend, .code = &code, .passes = passes});
    return p->is_loaded;
}

/* Bindings. */

static glow_tensor *
tensor_of(train *t, train_program *p, const train_set *set,
          const glow_storage *s)
{
    glow_state_entry *e = glow_state_find(t->state, s->name);
    train_source *x = find_source(set, s->name);
    glow_type type = *s->value.type;

    if (e)
        return &e->tensor;
    if (x)
        return &x->batch;
    type.strides.rank = 0;
    if (glow_placeholder_is(s, "Rate")) {
        if (!t->rate.data)
            t->rate = glow_tensor_new(glow_type_get(t->tool.ctx, type));
        return &t->rate;
    }
    if (glow_func_reads(p->func, s))
        return NULL;
    p->own[p->n_own] = glow_tensor_new(glow_type_get(t->tool.ctx, type));
    return &p->own[p->n_own++];
}

static int
bind(train *t, train_program *p, const train_set *set, const char *option)
{
    glow_buf b = {.arena = t->tool.arena};
    int count = 0;

    GLOW_FOR_EACH_STORAGE(s, p->module)
        count++;
    p->bindings = GLOW_NEW_ARRAY(t->tool.arena, glow_binding, count);
    p->own = GLOW_NEW_ARRAY(t->tool.arena, glow_tensor, count);
    GLOW_FOR_EACH_STORAGE(s, p->module) {
        glow_tensor *x;

        if (s->is_constant ||
            (!glow_func_reads(p->func, s) && !glow_func_writes(p->func, s)))
            continue;
        x = tensor_of(t, p, set, s);
        if (!x) {
            glow_buf_printf(&b, "%s@%s : ", b.len ? ", " : "", s->name);
            glow_buf_type(&b, s->value.type);
            continue;
        }
        p->bindings[p->n_bindings++] = (glow_binding){s, x};
        if (strcmp(s->name, t->loss) == 0)
            p->loss = x;
    }
    return b.len == 0
               ? TOOL_GO_ON
               : tool_usage(&t->tool,
                            glow_arena_printf(t->tool.arena,
                                              "add -%s NAME=FILE", option),
                            "no samples are given for %s", b.text);
}

/* The loss. */

static bool
find_loss(train *t, const glow_func *f)
{
    const char *found = t->values.loss;
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        const glow_type *type = n->op == &glow_op_save ? n->in[1]->type : NULL;

        if (found || !type || !glow_is_float(type->elem) ||
            glow_type_count(type) != 1 || glow_is_state(n->in[1]->storage))
            continue;
        t->loss = n->in[1]->storage->name;
        count++;
    }
    if (found)
        t->loss = found[0] == '@' ? found + 1 : found;
    return found || count == 1 ||
           glow_error(t->tool.ctx, "E0440",
                      "function @%s saves %d placeholders of one float; name "
                      "the loss: -loss NAME, or append one: -append-loss",
                      f->name, count);
}

static int
find_function(train *t, glow_module *m, glow_func **out)
{
    const char *name = t->values.function;
    tool_list names = {0};
    glow_func *entry = glow_module_entry(m);

    if (name && *name == '@')
        name++;
    *out = name ? glow_find_func(m, name)
                : (entry ? entry : glow_find_func(m, "main"));
    GLOW_FOR_EACH_FUNC(f, m)
        tool_list_add(&t->tool, &names, f->name);
    if (!*out)
        return tool_unknown(&t->tool, "function", name ? name : "main", &names);
    if ((*out)->is_program)
        return tool_usage(&t->tool, NULL,
                          "a graph is trained, but @%s is a program",
                          (*out)->name);
    return TOOL_GO_ON;
}

/* State of the network itself, before the step adds its own. */
static void
list_kept(train *t, const glow_module *m)
{
    size_t cap = 0;

    GLOW_FOR_EACH_STORAGE(s, m) {
        if (s->is_constant || (!glow_is_state(s) && !glow_is_trained(s)))
            continue;
        t->kept = glow_arena_grow(t->tool.arena, t->kept, t->n_kept, &cap,
                                  sizeof *t->kept);
        t->kept[t->n_kept++] = (train_kept){.name = s->name};
    }
}

enum { HASHED = 64 }; /* samples of a source, evenly spaced */

/* The samples of a source, and the changes made to them. */
static void
put_source(glow_buf *b, const train_source *s)
{
    int64_t bytes = s->size * glow_kind_get(s->elements.type->elem)->bytes;
    int64_t count = s->samples < HASHED ? s->samples : HASHED;
    uint64_t hash = 0;

    for (int64_t i = 0; i < count; i++)
        hash = glow_hash((const char *)s->elements.data +
                             i * (s->samples / count) * bytes,
                         (size_t)bytes, hash);
    glow_buf_printf(b, " data:%s=%016" PRIx64, s->storage->name, hash);
    if (s->scale != 1)
        glow_buf_printf(b, " scale:%s=%.9g", s->storage->name, s->scale);
    if (s->shift != 0)
        glow_buf_printf(b, " shift:%s=%" PRId64, s->storage->name, s->shift);
}

/*
 * The identity of a run: the network, how it steps, and the order of its samples.  A
 * run that goes on under another would be none of the two.
 */
static void
identify(train *t, const glow_module *m)
{
    const train_values *v = &t->values;
    glow_buf b = {0}, id = {.arena = t->tool.arena};

    glow_print(&b, (glow_module *)m,
               &(glow_print_options){.elide_constants = true});
    glow_buf_printf(&id, "network=%016" PRIx64 " ",
                    glow_hash(b.text, b.len, 0));
    put_step(t, &id);
    glow_buf_printf(&id,
                    " rate=%.9g schedule=%s every=%" PRId64
                    " factor=%.9g warmup=%" PRId64 " seed=%" PRId64
                    " shuffle=%d samples=%" PRId64,
                    v->rate, v->schedule, v->every, v->factor, v->warmup,
                    v->seed, v->shuffle, t->data.samples);
    for (size_t i = 0; i < t->data.count; i++)
        put_source(&id, &t->data.at[i]);
    if (v->convert)
        glow_buf_printf(&id, " convert=%s", v->convert);
    if (strcmp(v->schedule, "cosine") == 0)
        glow_buf_printf(&id, " steps=%" PRId64, t->total);
    glow_buf_free(&b);
    t->identity = id.text;
}

static int
make_step_program(train *t, glow_module *m)
{
    glow_buf b = {.arena = t->tool.arena};
    const char *name = t->step.func->name;

    identify(t, m);
    put_step(t, &b);
    if (!run_passes(t, m, b.text))
        return TOOL_FAILED;
    t->step.func = glow_find_func(m, name);
    t->state = glow_state_new(t->tool.ctx, m);
    if (!t->state)
        return TOOL_FAILED;
    t->plain = glow_module_clone(m);
    return bind(t, &t->step, &t->data, "data");
}

static int
make_judge(train *t)
{
    const char *name = t->step.func->name;
    int code;

    if (!run_passes(t, t->judge.module, "for-inference,dce"))
        return TOOL_FAILED;
    t->judge.func = glow_find_func(t->judge.module, name);
    code = bind(t, &t->judge, &t->valid, "valid");
    if (code == TOOL_GO_ON && !load(t, &t->judge))
        code = TOOL_FAILED;
    return code;
}

int
make_programs(train *t, glow_module *m)
{
    int code;

    t->step.module = m;
    code = find_function(t, m, &t->step.func);
    if (code != TOOL_GO_ON)
        return code;
    if (!find_loss(t, t->step.func) ||
        !check_labels(t, &t->data, t->step.func) ||
        !check_labels(t, &t->valid, t->step.func))
        return TOOL_FAILED;
    list_kept(t, m);
    plan_weights(t, m);
    if (t->values.valid.count > 0)
        t->judge.module = glow_module_clone(m);
    code = make_step_program(t, m);
    if (code == TOOL_GO_ON && t->judge.module)
        code = make_judge(t);
    if (code == TOOL_GO_ON && !load(t, &t->step))
        code = TOOL_FAILED;
    return code;
}

bool
run_program(const train *t, const train_program *p)
{
    return t->backend->run(p->network.executable, p->bindings, p->n_bindings);
}

void
end_program(train_program *p)
{
    if (p->is_loaded)
        glow_network_unload(&p->network);
    for (size_t i = 0; i < p->n_own; i++)
        glow_tensor_end(&p->own[i]);
    if (p->module)
        glow_module_free(p->module);
}
