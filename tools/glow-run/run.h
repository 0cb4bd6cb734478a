/* The internals of glow-run: options and actions. */

#ifndef GLOW_TOOLS_GLOW_RUN_RUN_H
#define GLOW_TOOLS_GLOW_RUN_RUN_H

#include "glow/network.h"
#include "glow/target.h"
#include "tools/common/tool.h"

#define RUN_LEVELS 5

typedef struct run_values {
    tool_list inputs; /* NAME=WHAT */
    tool_list outputs, expect;
    const char *output_dir;
    const char *state; /* the file, or NULL */
    double rtol, atol;
    const char *image_mode, *image_layout;

    const char *function;
    const char *backend;
    tool_list weights;
    bool level[RUN_LEVELS]; /* -O0 to -O3, -Os */
    const char *passes;     /* instead of these, or NULL */
    const char *devices;    /* file of the devices, or NULL */
    int64_t in_flight; /* runs at once on these; 0: run by the backend parts */
    const char *executor; /* of -in-flight; NULL: threads */
    bool isolate;         /* the devices of -in-flight are processes */
    bool resident;        /* the state of -in-flight stays on its device */
    const char *cpu, *features;
    const char *winograd, *subnormals;
    bool exact;
    const char *convert;  /* NULL: as it is */
    const char *quantize; /* options of the pass; NULL: none */
    bool accuracy;
    const char *reference;    /* -accuracy: the file to compare with, or NULL */
    const char *expect_class; /* the file of labels, or NULL */
    const char *sensitivity;  /* NULL, "" or "json" */
    int64_t sensitivity_budget;
    double least_sqnr; /* dB; 0: not asked for */
    const char *save_quantized;
    tool_tuning tuning;
    int64_t threads;
    tool_caching cache;
    int64_t cache_bytes; /* 0: not set */

    bool bench, json, profile, red_zones;
    int64_t warmup, iterations;
    double seconds;
    const char *trace, *target_file;

    const char *dump_profile;
    int64_t profile_bins;
    tool_list load_profile;
} run_values;

/* A placeholder that the function reads or writes, and its tensor. */
typedef struct run_port {
    const glow_storage *storage;
    const glow_type *type; /* dense */
    const char *input;     /* its -input, or NULL */
    glow_tensor tensor;
    bool is_read, is_written;
    bool is_profile;  /* of -dump-profile: zero at first */
    bool is_kept;     /* in the file of -state */
    glow_tensor all;  /* of several runs: its elements in all of them */
    int64_t runs;     /* how many; 1: the same in each */
    glow_tensor want; /* an output in all runs, in a row: of the reference */
    glow_tensor got;  /* and of the network to judge */
} run_port;

/* A value of -dump-profile, and the ports that its profile adds up in. */
typedef struct run_watch {
    const char *name, *model, *type;
    int64_t elements; /* of a run */
    bool is_of_body;  /* which a run executes any number of times */
    int axis;
    int64_t channels;
    const glow_storage *counts, *info;
    bool warned;
} run_watch;

typedef struct run {
    tool tool;
    run_values values;
    const glow_source *source;
    glow_module *module;
    glow_func *func;
    const glow_backend *backend;
    const void *options; /* of the backend */
    glow_network network;
    run_port *ports;
    size_t n_ports;
    glow_binding *bindings;     /* one for each port */
    const glow_target *machine; /* for -profile, or NULL */
    run_watch *watches;         /* of -dump-profile */
    size_t n_watches;
    int64_t runs; /* that the inputs are of */
    int64_t *labels;
    size_t n_labels;
    const char *hash;
    double compile_ms, processor_compile_ms;
    glow_state *state; /* the tensors of State and Trained placeholders */
} run;

/* Each returns an exit code, or TOOL_GO_ON. */

/* Finds the backend, and its options. */
int find_backend(run *r);

/* Finds the placeholders, and gives each a tensor as -input says. */
int open_ports(run *r);
void close_ports(run *r);
/* The port of a `NAME=...` in option -`option`; *rest is the text after it. */
run_port *find_port(run *r, const char *option, const char *text,
                    const char **rest);

/* The passes of -quantize and -convert, or NULL. */
const char *conversion(run *r);
/* Reads the module again, and makes `func` code. */
int read_module(run *r);
int compile(run *r);

/* The pipeline that -O0 to -O3 or -Os names, or NULL. */
const char *level_of(const run *r);
/* Target and options of code generation, of the command line. */
glow_target_options target_options(run *r);
/* -in-flight: checks the options; runs all inputs as requests of the runtime. */
int check_requests(run *r);
int run_requests(run *r);

/* True with -in-flight, -dump-profile and the options that compare outputs: -input may be of
   several runs. */
bool takes_runs(const run *r);
/* Sets r->runs to the number of runs of the inputs. */
int count_runs(run *r);
/* The inputs of run `k`; what a run has written is as before the first one. */
void begin_run(run *r, int64_t k);

/* The error of an output over all runs. */
typedef struct run_loss {
    double most, square, of; /* difference; sums of squares: of it, of all */
    int64_t count, odd;      /* numbers; of those, not finite but should be */
} run_loss;
/* True for outputs that are compared: of floats. */
bool is_judged(const run_port *p);
run_loss loss_of(const run_port *p);
/* Signal over noise; infinity without noise, -infinity if a number is not finite. */
double decibels(const run_loss *l);

/* -accuracy: runs the reference; prints the errors of the outputs. */
int run_reference(run *r);
/* Runs `n` on all inputs, bound to the placeholders of `m`, into `got` of each. */
int run_judged(run *r, const glow_network *n, const glow_module *m);
void print_accuracy(run *r);
/* Rows of scores of an output in all runs; 0 if its shape is none of scores. */
int64_t rows_of(const run *r, const run_port *p);
/* Reads the file of -expect-class. */
int read_labels(run *r);

/* -sensitivity and -least-sqnr. */
int find_sensitivity(run *r);

/* Cuts bounded outputs to their valid part. */
void cut_outputs(run *r);

/*
 * Makes the tensors of state in their first contents, or with -state in those of the file,
 * if it is there.
 */
int open_state(run *r);
/* Writes it. */
int write_state(run *r);

/* Writes, compares and prints the outputs of the run. */
int finish_outputs(run *r);

/* -dump-profile: runs insert-profile on the function. */
int insert_profile(run *r);
/* Fills port `p` with the elements of all runs. */
int fill_runs(run *r, run_port *p);
/* Runs on all inputs, and writes the profile. */
int dump_profile(run *r);

/* Runs once, or as often as -bench says. */
int run_or_bench(run *r);

/* Runs as often as -profile says, and prints the time of each step. */
int profile(run *r);

/* Milliseconds, from any start. */
double now_ms(void);
/* Processor time of all threads of the process. */
double processor_ms(void);

#endif
