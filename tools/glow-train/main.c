/*
 * glow-train: trains the weights of a network on samples.
 *
 * The graph is differentiated, a step of an optimizer is appended, and the whole is
 * compiled as one program, which reads a batch and changes its state in place.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/image.h"
#include "tools/glow-train/train.h"

#define AT(member) offsetof(train_values, member)

static const char *const optimizers[] = {
    "sgd", "momentum", "nesterov", "adagrad", "adam", "adamw", "rmsprop", NULL};
static const char *const schedules[] = {"constant", "step", "cosine", NULL};

static const tool_option options[] = {
    {"data", TOOL_LIST, AT(data), "NAME=FILE[,...]", NULL, "samples",
     "samples of a placeholder: x.npy, x.safetensors, or a folder with a "
     "folder of .png for each class; ,scale=S multiplies them, ,shift=N moves "
     "pictures by up to N pixels"},
    {"valid", TOOL_LIST, AT(valid), "NAME=FILE[,...]", NULL, "samples",
     "samples that are not trained on, judged after each epoch"},
    {"metric", TOOL_LIST, AT(metrics), "NAME=OUTPUT,LABEL", NULL, "samples",
     "of -valid: how many rows of OUTPUT are greatest at LABEL"},
    {"image-layout", TOOL_WORD, AT(image_layout), "NCHW|NHWC", image_layouts,
     "samples", "the axes of pictures (NCHW)"},
    {"seed", TOOL_INT, AT(seed), "N", NULL, "samples",
     "of all that is drawn: order, shifts, first weights (1)"},
    {"shuffle", TOOL_FLAG, AT(shuffle), NULL, NULL, "samples",
     "another order in each epoch (the default); -no-shuffle: as in the file"},

    {"init", TOOL_TEXT, AT(init), "FILE", NULL, "state",
     "a .safetensors of first weights"},
    {"fresh", TOOL_FLAG, AT(fresh), NULL, NULL, "state",
     "draw first weights, by the number of terms of each sum (He et al.)"},
    {"state", TOOL_TEXT, AT(state), "FILE", NULL, "state",
     "a .safetensors of the run: if it is there, the run goes on from it; "
     "written after each epoch"},
    {"save-every", TOOL_INT, AT(save_every), "N", NULL, "state",
     "write it after each N steps too"},
    {"o", TOOL_TEXT, AT(output), "FILE", NULL, "state",
     "write the weights at the end, for bind-placeholders"},

    {"epochs", TOOL_INT, AT(epochs), "N", NULL, "training",
     "how often each sample is seen (1)"},
    {"steps", TOOL_INT, AT(steps), "N", NULL, "training",
     "end after so many steps"},
    {"optimizer", TOOL_TEXT, AT(optimizer),
     "sgd|momentum|nesterov|adagrad|adam|adamw|rmsprop", optimizers, "training",
     "the formula of a step (sgd)"},
    {"rate", TOOL_REAL, AT(rate), "R", NULL, "training",
     "the size of a step (0.01)"},
    {"schedule", TOOL_TEXT, AT(schedule), "constant|step|cosine", schedules,
     "training",
     "how the rate goes on: step: times -factor each -every steps; cosine: "
     "falls to 0 (constant)"},
    {"every", TOOL_INT, AT(every), "N", NULL, "training", "see -schedule"},
    {"factor", TOOL_REAL, AT(factor), "F", NULL, "training",
     "see -schedule (0.1)"},
    {"warmup", TOOL_INT, AT(warmup), "N", NULL, "training",
     "let the rate rise from 0 over N steps first (0)"},
    {"alpha", TOOL_REAL, AT(alpha), "A", NULL, "training",
     "what stays of the momentum or mean (0.9)"},
    {"beta", TOOL_REAL, AT(beta), "B", NULL, "training",
     "what stays of the mean of squares (0.999)"},
    {"epsilon", TOOL_REAL, AT(epsilon), "E", NULL, "training",
     "added to roots (1e-8)"},
    {"decay", TOOL_REAL, AT(decay), "D", NULL, "training",
     "the pull of weights toward 0 (0)"},
    {"clip-norm", TOOL_REAL, AT(clip_norm), "N", NULL, "training",
     "the greatest norm of all gradients (any)"},
    {"clip-value", TOOL_REAL, AT(clip_value), "V", NULL, "training",
     "the greatest element of a gradient (any)"},
    {"accumulate", TOOL_INT, AT(accumulate), "N", NULL, "training",
     "step along the mean gradient of N batches (1)"},
    {"loss", TOOL_TEXT, AT(loss), "NAME", NULL, "training",
     "the placeholder of the loss (the only one of one float)"},
    {"of", TOOL_TEXT, AT(of), "NAME[,NAME...]", NULL, "training",
     "train these, by name or pattern (those with Trained); what leads to "
     "others alone is not computed"},

    {"log", TOOL_TEXT, AT(log), "FILE.csv", NULL, "records",
     "write the loss and the rate of each step, and what -valid gives"},
    {"plot", TOOL_TEXT, AT(plot), "FILE.svg", NULL, "records",
     "draw the losses"},

    {"function", TOOL_TEXT, AT(function), "NAME", NULL, "running",
     "which function (@main, or the only one)"},
    {"backend", TOOL_TEXT, AT(backend), "NAME", NULL, "running",
     "what runs it: cpu, interp (cpu), with options: 'cpu<winograd=off>'"},
    {"passes", TOOL_TEXT, AT(passes), "TEXT", NULL, "running",
     "the passes after the step is made (O2)"},
    {"limit", TOOL_BYTES, AT(limit), "BYTES", NULL, "running",
     "what activations may take at once, as 512KiB: results are computed again "
     "to keep to it"},
    {"convert", TOOL_TEXT, AT(convert), "[pure-]bf16|f16", tool_convert_words,
     "running",
     "compute in 16 bits; weights and state stay as they are, and for f16 the "
     "loss has a factor that adapts"},
    {"threads", TOOL_INT, AT(threads), "N", NULL, "running",
     "split the work for so many, at most (1)"},
    {"weights", TOOL_LIST, AT(weights), "ALIAS=PATH", NULL, "running",
     "take the constants of ALIAS from PATH"},
    TOOL_CACHE_OPTIONS(AT(cache), "running"),
    {0},
};

/* Bounds of the numbers. */
static const struct {
    const char *name;
    size_t at;
    int64_t least, most;
} bounds[] = {
    {"epochs", AT(epochs), 1, 1 << 30},
    {"steps", AT(steps), 0, INT64_MAX},
    {"save-every", AT(save_every), 0, INT64_MAX},
    {"accumulate", AT(accumulate), 1, 1 << 20},
    {"warmup", AT(warmup), 0, INT64_MAX},
    {"threads", AT(threads), 1, TOOL_MOST_THREADS},
};

static const tool_spec spec = {
    .name = "glow-train",
    .usage = "[OPTION]... [INPUT.gir] -data NAME=FILE...",
    .about = "Trains the weights of a network on samples.  The network saves a "
             "loss (append-loss), and its weights are placeholders with "
             "{Trained: true} (glow-translate -train, free-constants).",
    .options = options,
};

static glow_module *
read_module(train *t)
{
    const char *const(*rebound)[2];
    const glow_source *source;
    glow_module *m;

    if (!tool_rebind(&t->tool, &t->values.weights, &rebound))
        return NULL;
    source = tool_read(&t->tool);
    if (!source)
        return NULL;
    m = glow_parse(
        t->tool.ctx, source,
        &(glow_parse_options){.folder = tool_folder_of(&t->tool, source->name),
                              .rebind = rebound});
    if (m && !tool_check_rebound(&t->tool, rebound, m)) {
        glow_module_free(m);
        return NULL;
    }
    return m;
}

static int
check_bounds(train *t)
{
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        int64_t v = *(const int64_t *)((const char *)&t->values + bounds[i].at);

        if (v < bounds[i].least)
            return tool_usage(&t->tool, NULL, "-%s takes %" PRId64 " or more",
                              bounds[i].name, bounds[i].least);
        if (v > bounds[i].most)
            return tool_usage(&t->tool, NULL, "-%s takes %" PRId64 " at most",
                              bounds[i].name, bounds[i].most);
    }
    return TOOL_GO_ON;
}

/* Bounds of real numbers. */
static const struct {
    const char *name;
    size_t at;
    bool below_one; /* a part that stays */
} parts[] = {
    {"alpha", AT(alpha), true},          {"beta", AT(beta), true},
    {"epsilon", AT(epsilon), false},     {"decay", AT(decay), false},
    {"clip-norm", AT(clip_norm), false}, {"clip-value", AT(clip_value), false},
    {"factor", AT(factor), false},       {"rate", AT(rate), false},
};

static int
check_parts(train *t)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double v = *(const double *)((const char *)&t->values + parts[i].at);

        if (!(v >= 0) || !isfinite(v))
            return tool_usage(&t->tool, NULL, "-%s takes 0 or more",
                              parts[i].name);
        if (parts[i].below_one && v >= 1)
            return tool_usage(&t->tool, NULL, "-%s takes less than 1",
                              parts[i].name);
    }
    return TOOL_GO_ON;
}

/* Files are written after hours; a folder that is not there is told before. */
static bool
can_write(train *t, const char *path)
{
    const char *end = strrchr(path, '/');
    const char *folder = !end ? (*path ? "." : "")
                              : glow_arena_strndup(t->tool.arena, path,
                                                   (size_t)(end - path) + 1);

    return access(folder, W_OK) == 0 ||
           glow_error(t->tool.ctx, "E0602", "cannot write `%s`: %s", path,
                      strerror(errno));
}

static int
check_outputs(train *t)
{
    const train_values *v = &t->values;
    const struct {
        const char *name, *path;
    } files[] = {{"state", v->state},
                 {"o", v->output},
                 {"log", v->log},
                 {"plot", v->plot}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!files[i].path)
            continue;
        for (size_t k = 0; k < i; k++)
            if (files[k].path && strcmp(files[k].path, files[i].path) == 0)
                return tool_usage(&t->tool, NULL,
                                  "-%s and -%s are the same file",
                                  files[k].name, files[i].name);
        if (!can_write(t, files[i].path))
            return TOOL_FAILED;
    }
    return TOOL_GO_ON;
}

static int
check_usage(train *t)
{
    const train_values *v = &t->values;

    if (t->tool.inputs.count > 1)
        return tool_usage(&t->tool, NULL, "more than one input file");
    if (v->data.count == 0)
        return tool_usage(&t->tool, "add -data NAME=x.npy",
                          "there are no samples to train on");
    if (check_bounds(t) != TOOL_GO_ON || check_parts(t) != TOOL_GO_ON)
        return TOOL_USAGE;
    if (v->save_every > 0 && !v->state)
        return tool_usage(&t->tool, "add -state FILE",
                          "-save-every says when -state is written");
    if (v->fresh && v->init)
        return tool_usage(&t->tool, NULL,
                          "first weights are drawn by -fresh or read by -init");
    if (v->metrics.count > 0 && v->valid.count == 0)
        return tool_usage(&t->tool, "add -valid NAME=x.npy",
                          "-metric judges the samples of -valid");
    return check_schedule(t);
}

/* The least number of whole steps that the options ask for. */
static int
count_steps(train *t)
{
    t->per_epoch = t->data.samples / t->data.batch;
    if (t->per_epoch == 0) {
        glow_error_hint(t->tool.ctx, (glow_span){0}, "E0640",
                        "import the network for a smaller batch",
                        "%s has %" PRId64 " samples, but a batch has %" PRId64,
                        t->data.at[0].path, t->data.samples, t->data.batch);
        return TOOL_FAILED;
    }
    t->total = t->values.steps;
    if (t->total == 0 &&
        glow_mul_overflow(t->per_epoch, t->values.epochs, &t->total))
        return tool_usage(&t->tool, NULL, "-epochs is too large");
    if (!t->values.state && t->values.accumulate > t->total)
        return tool_usage(&t->tool, "take a smaller N, or more -epochs",
                          "-accumulate=%" PRId64 " batches are a step, but "
                          "the run has %" PRId64,
                          t->values.accumulate, t->total);
    return TOOL_GO_ON;
}

static int
work(train *t)
{
    tool_list own = {0};
    glow_module *m = NULL;
    int code = check_usage(t);

    t->backend =
        tool_find_backend(&t->tool, t->values.backend, &own, &t->options);
    if (!t->backend)
        return TOOL_USAGE;
    if (code == TOOL_GO_ON)
        code = check_outputs(t);
    if (code == TOOL_GO_ON && !(m = read_module(t)))
        code = TOOL_FAILED;
    if (code == TOOL_GO_ON)
        code = open_data(t, m, "data", &t->values.data, &t->data);
    if (code == TOOL_GO_ON && t->values.valid.count > 0)
        code = open_data(t, m, "valid", &t->values.valid, &t->valid);
    if (code == TOOL_GO_ON)
        code = count_steps(t);
    if (code == TOOL_GO_ON)
        code = make_programs(t, m); /* `m` is theirs */
    else if (m)
        glow_module_free(m);
    if (code == TOOL_GO_ON)
        code = find_metrics(t);
    if (code == TOOL_GO_ON)
        code = begin_state(t);
    if (code == TOOL_GO_ON)
        code = run_steps(t);
    return code;
}

int
main(int argc, char **argv)
{
    train t = {.values = {.seed = 1,
                          .epochs = 1,
                          .shuffle = true,
                          .optimizer = "sgd",
                          .schedule = "constant",
                          .rate = 0.01,
                          .alpha = 0.9,
                          .beta = 0.999,
                          .epsilon = 1e-8,
                          .factor = 0.1,
                          .accumulate = 1,
                          .backend = "cpu",
                          .threads = 1,
                          .cache.on = true},
               .order_of = -1,
               .before_at = -1};
    int code = tool_begin(&t.tool, &spec, &t.values, argc, argv);

    if (code == TOOL_GO_ON)
        code = work(&t);
    end_program(&t.step);
    end_program(&t.judge);
    if (t.plain)
        glow_module_free(t.plain);
    close_data(&t.data);
    close_data(&t.valid);
    glow_tensor_end(&t.rate);
    glow_state_free(t.state);
    return tool_end(&t.tool, code);
}
