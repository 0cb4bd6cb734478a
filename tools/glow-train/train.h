/* The internals of glow-train. */

#ifndef GLOW_TOOLS_GLOW_TRAIN_TRAIN_H
#define GLOW_TOOLS_GLOW_TRAIN_TRAIN_H

#include "glow/network.h"
#include "glow/philox.h"
#include "tools/common/tool.h"

typedef struct train_values {
    tool_list data, valid; /* NAME=WHAT[,scale=S][,shift=N] */
    const char *image_layout;
    const char *function, *loss, *of;
    tool_list weights, metrics;
    const char *init, *state, *output;
    bool fresh;
    int64_t seed, epochs, steps, save_every;
    bool shuffle;

    const char *optimizer, *schedule;
    double rate, alpha, beta, epsilon, decay, factor;
    int64_t warmup, every, accumulate;
    double clip_norm, clip_value;

    const char *log, *plot;

    const char *backend, *passes, *convert;
    int64_t threads, limit;
    tool_caching cache;
} train_values;

/* Samples of a placeholder: elements one after the other, in a file or in memory. */
typedef struct train_source {
    const glow_storage *storage;
    const glow_type *type; /* of the placeholder, dense */
    const char *path;
    glow_data *owner;
    glow_tensor elements; /* of all samples; the type has the file's kind */
    bool swap;            /* in the other byte order */
    int64_t samples;
    int64_t size;      /* elements of a sample */
    glow_dims shape;   /* of a sample */
    double scale;      /* 1: as they are */
    int64_t shift;     /* of pictures, in pixels, at most */
    glow_tensor batch; /* what the program reads */
} train_source;

/* The sources of a program, which have as many samples. */
typedef struct train_set {
    train_source *at;
    size_t count;
    int64_t samples, batch; /* of all; of a batch */
} train_set;

/* A network with its tensors. */
typedef struct train_program {
    glow_module *module;
    glow_func *func; /* of the module, before it is compiled */
    glow_network network;
    bool is_loaded;
    glow_binding *bindings;
    int n_bindings;
    glow_tensor *own; /* of placeholders that are only written */
    size_t n_own;
    const glow_tensor *loss; /* its tensor */
} train_program;

/* -metric NAME=OUTPUT,LABEL: rows of OUTPUT with the greatest element at LABEL. */
typedef struct train_metric {
    const char *name;
    const glow_tensor *output, *label;
    int64_t right, of; /* in the last validation */
} train_metric;

/* State of the network, and how -fresh draws it. */
typedef struct train_kept {
    const char *name;
    double number, spread; /* uniform within `spread` of `number` */
} train_kept;

/* A row of the log: after step `step`. */
typedef struct train_row {
    int64_t step, epoch;
    float loss, rate;
    bool is_valid; /* a row of a validation */
    double valid_loss;
    const double *metrics;
} train_row;

typedef struct train {
    tool tool;
    train_values values;
    const glow_backend *backend;
    const void *options; /* of the backend */
    const char *loss;    /* name of its placeholder */
    train_set data, valid;
    glow_module *plain;            /* the step as a graph, to look for NaN */
    train_program step, judge;     /* judge: without -valid not loaded */
    glow_tensor rate;              /* what the step reads */
    const glow_storage *rate_port; /* the placeholder */
    train_kept *kept;              /* state of the network itself */
    size_t n_kept;
    train_metric *metrics;
    size_t n_metrics;
    glow_state *state;
    const char *identity; /* of the run: what may not differ when it goes on */

    int64_t at, total; /* steps done, and to do */
    int64_t per_epoch; /* steps */
    double sum;        /* of the losses of this epoch */
    uint32_t *order;   /* of the samples in epoch `order_of` */
    int64_t order_of;  /* -1: none */
    train_row *rows;   /* of the log */
    size_t n_rows, cap_rows;
    double begun_ms;  /* when the steps of this process began */
    int64_t begun_at; /* and at which */
    double valid_loss;
    glow_tensor *before; /* copies of the state, to look for NaN */
    int64_t before_at;
} train;

/* Functions return an exit code, TOOL_GO_ON to go on, unless it says otherwise. */

/* data.c: opens the files of a list, for placeholders of `m`. */
int open_data(train *t, const glow_module *m, const char *option,
              const tool_list *l, train_set *out);
void close_data(train_set *s);
/* The source of a placeholder, or NULL. */
train_source *find_source(const train_set *s, const char *name);
/*
 * Fills row `row` of the batch of each source from sample `i`; `draw` names the epoch,
 * for shifts, or is -1 for none.
 */
void fill_row(const train *t, const train_set *s, int64_t row, int64_t i,
              int64_t draw);
/* Element `i` of all samples of a source of integers. */
int64_t sample_int(const train_source *s, int64_t i);

/* labels.c: reports a label of a loss of `f` that is none of its classes. */
bool check_labels(train *t, const train_set *set, const glow_func *f);

/* pictures.c: a folder with a folder of pictures for each class. */
bool is_folder(const char *path);
bool read_folder(train *t, train_source *s);

/* program.c */
int make_programs(train *t, glow_module *m);
bool run_program(const train *t, const train_program *p);
void end_program(train_program *p);

/* start.c: reads or draws the first state. */
int begin_state(train *t);
/* Writes the state of the run: false after a report. */
bool save_checkpoint(train *t);
/* Writes -o. */
bool write_trained(train *t);

/* fresh.c: decides by the network `m` how to draw its state; draws it. */
void plan_weights(train *t, const glow_module *m);
void draw_weights(train *t);

/* schedule.c */
int check_schedule(train *t);
float rate_at(const train *t, int64_t step);

/* loop.c */
int run_steps(train *t);
/* Fills the batch and the rate of step t->at. */
void fill_batch(train *t);
/* Makes step t->at: fills its batch, runs it, and counts; false after a report. */
bool make_step(train *t, float *loss);

/* judge.c: runs the network on -valid. */
int find_metrics(train *t);
bool judge(train *t);

/* nan.c: keeps the state as it is before step t->at. */
void keep_state(train *t);
/* Reports the first node of step `step` that gave no number. */
void report_nan(train *t, int64_t step);

/* log.c */
bool read_log(train *t);
void log_step(train *t, float loss, float rate);
void log_judged(train *t);
bool write_log(train *t);
/* plot.c */
bool write_plot(train *t);

#endif
