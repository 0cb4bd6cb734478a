/*
 * Common parts of the tools: tables of options, diagnostics on standard error,
 * plugins, help.
 *
 *     static const tool_option options[] = {
 *         {"o", TOOL_TEXT, offsetof(values, output), "FILE", NULL,
 *          "files", "where the output goes"},
 *         {0},
 *     };
 *
 *     int code = tool_begin(&t, &spec, &values, argc, argv);
 *
 *     if (code < 0)
 *         code = work(&t, &values);
 *     return tool_end(&t, code);
 */

#ifndef GLOW_TOOLS_COMMON_TOOL_H
#define GLOW_TOOLS_COMMON_TOOL_H

#include <stdio.h>

#include "glow/glow.h"

enum {
    TOOL_GO_ON = -1,
    TOOL_DONE = 0,
    TOOL_FAILED = 1,  /* the input is wrong, or a pass failed */
    TOOL_USAGE = 2,   /* the command line is wrong */
    TOOL_DIFFERS = 3, /* results differ from the expected ones */
};

enum { TOOL_MOST_THREADS = 256 };

typedef enum tool_kind {
    TOOL_FLAG,  /* bool; -no-NAME unsets it */
    TOOL_TEXT,  /* const char *: -NAME=VALUE or -NAME VALUE */
    TOOL_INT,   /* int64_t */
    TOOL_REAL,  /* double */
    TOOL_BYTES, /* int64_t above 0, as 512KiB */
    TOOL_LIST,  /* tool_list: one more each time */
    TOOL_NAMES, /* tool_list: values are split at commas */
    TOOL_WORD,  /* const char *: -NAME or -NAME=WORD of `words`; "" without */
} tool_kind;

typedef struct tool_list {
    const char **items;
    size_t count, cap;
} tool_list;

typedef struct tool_option {
    const char *name; /* NULL ends a table */
    tool_kind kind;
    size_t at;                /* offset in the tool's struct of values */
    const char *arg;          /* the value in the help */
    const char *const *words; /* of words and texts; NULL: any */
    const char *group;        /* options of a group are adjacent */
    const char *help;
} tool_option;

/*
 * An option of other tools, and its equivalent here; a NULL name ends a table.
 */
typedef struct tool_habit {
    const char *name;
    const char *ours;
} tool_habit;

typedef struct tool tool;

typedef struct tool_spec {
    const char *name;  /* "glow-opt" */
    const char *usage; /* "[OPTION]... [INPUT]" */
    const char *about; /* a sentence or two */
    const tool_option *options;
    /* An option that is in no table; true if it was taken.  May be NULL. */
    bool (*other)(tool *t, const char *name, const char *value);
    /* More names that options may have, for suggestions.  May be NULL. */
    void (*names)(tool *t, tool_list *names);
    const tool_habit *habits; /* or NULL */
} tool_spec;

struct tool {
    const tool_spec *spec;
    void *values;
    glow_context *ctx;
    glow_arena *arena;
    int argc;
    char **argv;
    tool_list plugins; /* loaded: of GLOW_PLUGINS, then of -plugin */
    tool_list inputs;  /* arguments that are no options; "-" among them */
    bool bad_usage;
    int64_t errors_shown;
    /* Options that every tool has. */
    struct {
        tool_list plugins;
        const char *diag_format;
        const char *color;
        const char *explain;
        const char *help;
        int64_t max_errors;
        bool verbose;
        bool version;
    } common;
};

/*
 * Creates the context, parses the command line, loads the plugins and handles
 * -help, -version and -explain.  Returns TOOL_GO_ON, or the exit code.
 */
int tool_begin(tool *t, const tool_spec *spec, void *values, int argc,
               char **argv);
/* Frees everything; returns `code`, or TOOL_FAILED if output is lost. */
int tool_end(tool *t, int code);

/*
 * For handlers of SIGBUS: a message and TOOL_FAILED if `address` is of a mapped file
 * that became shorter; else it returns.
 */
void tool_end_if_shorter(const void *address);

/* Writes lines, escaped by glow_buf_show. */
void tool_put(FILE *to, const char *text, size_t n);
void tool_print(FILE *to, const char *fmt, ...) GLOW_PRINTF(2, 3);

/* Reports a mistake in the command line; returns TOOL_USAGE. */
int tool_usage(tool *t, const char *hint, const char *fmt, ...)
    GLOW_PRINTF(3, 4);
/* The same, for a name that is none of `names`. */
int tool_unknown(tool *t, const char *what, const char *name,
                 const tool_list *names);

void tool_list_add(tool *t, tool_list *l, const char *item);
/* All passes by name. */
tool_list tool_pass_names(tool *t);
/* The pass, or NULL after tool_unknown. */
const glow_pass *tool_find_pass(tool *t, const char *name);
/*
 * The backend of -backend=TEXT, "cpu<winograd=off>", and its options, with those
 * of `own`, "winograd=2".  NULL after tool_unknown, tool_usage or a report.
 */
const glow_backend *tool_find_backend(tool *t, const char *text,
                                      const tool_list *own,
                                      const void **options);
/* Adds NAME=VALUE to `own`, unless `value` is NULL. */
void tool_own_option(tool *t, tool_list *own, const char *name,
                     const char *value);

/* The words of -winograd, an option of cpu, ending with NULL. */
extern const char *const tool_winograd_words[];
/* An option of cpu, and its word of the least memory. */
typedef struct tool_size {
    const char *name, *small;
} tool_size;
extern const tool_size tool_winograd, tool_packing;
/*
 * The word that was given, or o->small without one if the text of a pipeline (or NULL)
 * names Os, which takes no memory for time, and the backend is cpu without a word of its
 * own; else NULL.
 */
const char *tool_size_option(const tool_size *o, const char *given,
                             const char *backend, const char *pipeline);
/* TOOL_USAGE, after a report, if -exact goes with options that round otherwise. */
int tool_check_exact(tool *t, bool exact, const char *winograd,
                     const char *subnormals);

/* The words of -subnormals, ending with NULL; true if a word means to flush. */
extern const char *const tool_subnormal_words[];
bool tool_flushes(const char *word);

/*
 * The words of -convert, ending with NULL, and the passes for a word, without
 * the operators and nodes `except` (or NULL).
 */
extern const char *const tool_convert_words[];
const char *tool_conversion(tool *t, const char *word, const char *except);

/*
 * The options of a pass as a command line has them, between commas or blanks, as
 * the text of the pass: `-quantize='schema=symmetric assert'` is
 * `quantize<schema=symmetric,assert>`.
 */
void tool_put_pass(glow_buf *b, const char *name, const char *options);
/* The pass `quantize` with the options of -quantize; NULL for NULL. */
const char *tool_quantization(tool *t, const char *options);

/*
 * The pipeline `passes` (or NULL) with the files of -load-profile: as an option of its
 * first `calibrate`, else of one before all other passes.  `passes` without files.
 * TOOL_EQUALIZE comes before their first `quantize`, unless they have an `equalize`.
 */
#define TOOL_EQUALIZE "equalize<when=helps>"
const char *tool_calibrated(tool *t, const tool_list *files,
                            const char *passes);

/* -tune-file, -tune and -tune-budget. */
typedef struct tool_tuning {
    const char *file;
    bool tune;
    int64_t budget;
} tool_tuning;

#define TOOL_MOST_BUDGET 1000
#define TOOL_BUDGET 16

/* Rows of a table of options, at `offset`. */
#define TOOL_TUNING_OPTIONS(offset, group)                             \
    {"tune-file",                                                      \
     TOOL_TEXT,                                                        \
     (offset) + offsetof(tool_tuning, file),                           \
     "FILE",                                                           \
     NULL,                                                             \
     group,                                                            \
     "how kernels of cpu are made where it says so; -tune writes it"}, \
        {"tune",                                                       \
         TOOL_FLAG,                                                    \
         (offset) + offsetof(tool_tuning, tune),                       \
         NULL,                                                         \
         NULL,                                                         \
         group,                                                        \
         "measure what -tune-file does not say, and add it there"},    \
        {"tune-budget",                                                \
         TOOL_INT,                                                     \
         (offset) + offsetof(tool_tuning, budget),                     \
         "N",                                                          \
         NULL,                                                         \
         group,                                                        \
         "ways of each kernel to measure, at most (16)"}

/* Checks that the options are consistent.  TOOL_GO_ON or an exit code. */
int tool_check_tuning(tool *t, const tool_tuning *v);
/* Reads the file; *out is NULL without one.  TOOL_GO_ON or an exit code. */
int tool_read_tuning(tool *t, const tool_tuning *v, glow_tuning **out);
/* With -tune, tunes `f`, reports the results, and writes the file. */
int tool_tune(tool *t, const tool_tuning *v, const glow_backend *b,
              glow_func *f, const glow_target_options *options,
              glow_tuning *tuning);

/* -cache and -cache-dir. */
typedef struct tool_caching {
    bool on;
    const char *dir;
} tool_caching;

/* Rows of a table of options, at `offset`. */
#define TOOL_CACHE_OPTIONS(offset, group)                       \
    {"cache",                                                   \
     TOOL_FLAG,                                                 \
     (offset) + offsetof(tool_caching, on),                     \
     NULL,                                                      \
     NULL,                                                      \
     group,                                                     \
     "keep code on disk for the next time; -no-cache: do not"}, \
        {"cache-dir",                                           \
         TOOL_TEXT,                                             \
         (offset) + offsetof(tool_caching, dir),                \
         "DIR",                                                 \
         NULL,                                                  \
         group,                                                 \
         "where ($GLOW_CACHE, $XDG_CACHE_HOME/glow, or "        \
         "~/.cache/glow)"}

/* The folder of the cache of objects; NULL: none. */
const char *tool_cache_folder(const tool *t, const tool_caching *v);

/* The devices of a host. */
typedef struct tool_devices {
    const char *backend, *cpu, *features;
    int64_t memory;       /* 0: not bounded */
    const char *executor; /* NULL: threads */
    int64_t count, limit_ms;
    bool isolate, checksums;
} tool_devices;

#define TOOL_EXECUTOR_HELP                                                  \
    "where devices run: threads (of each), serial (one at a time), starpu " \
    "(its workers) (threads)"

/* Rows of a table of options, at `offset`. */
#define TOOL_DEVICE_OPTIONS(offset, group)                                    \
    {"backend",                                                               \
     TOOL_TEXT,                                                               \
     (offset) + offsetof(tool_devices, backend),                              \
     "NAME",                                                                  \
     NULL,                                                                    \
     group,                                                                   \
     "what runs them: cpu, interp (cpu), with options: 'cpu<winograd=off>'"}, \
        {"cpu",                                                               \
         TOOL_TEXT,                                                           \
         (offset) + offsetof(tool_devices, cpu),                              \
         "NAME",                                                              \
         NULL,                                                                \
         group,                                                               \
         "make code as for this processor, which this one can stand in for"}, \
        {"features",                                                          \
         TOOL_TEXT,                                                           \
         (offset) + offsetof(tool_devices, features),                         \
         "LIST",                                                              \
         NULL,                                                                \
         group,                                                               \
         "with these features and without those, as -avx2,-fma"},             \
        {"devices",                                                           \
         TOOL_INT,                                                            \
         (offset) + offsetof(tool_devices, count),                            \
         "N",                                                                 \
         NULL,                                                                \
         group,                                                               \
         "devices that run networks, one request each (1)"},                  \
        {"executor",                                                          \
         TOOL_TEXT,                                                           \
         (offset) + offsetof(tool_devices, executor),                         \
         "NAME",                                                              \
         NULL,                                                                \
         group,                                                               \
         TOOL_EXECUTOR_HELP},                                                 \
        {"isolate",                                                           \
         TOOL_FLAG,                                                           \
         (offset) + offsetof(tool_devices, isolate),                          \
         NULL,                                                                \
         NULL,                                                                \
         group,                                                               \
         "give each device a process, which may crash without harm"},         \
        {"limit-ms",                                                          \
         TOOL_INT,                                                            \
         (offset) + offsetof(tool_devices, limit_ms),                         \
         "MS",                                                                \
         NULL,                                                                \
         group,                                                               \
         "with -isolate: end a process whose run takes longer (no limit)"},   \
        {"checksums",                                                         \
         TOOL_FLAG,                                                           \
         (offset) + offsetof(tool_devices, checksums),                        \
         NULL,                                                                \
         NULL,                                                                \
         group,                                                               \
         "with -isolate: check tensors in memory shared with a process"},     \
        {"memory",                                                            \
         TOOL_BYTES,                                                          \
         (offset) + offsetof(tool_devices, memory),                           \
         "BYTES",                                                             \
         NULL,                                                                \
         group,                                                               \
         "what all networks of a device may take, as 512MiB (no limit)"}

/* Checks that the options are consistent.  TOOL_GO_ON or an exit code. */
int tool_check_devices(tool *t, const tool_devices *v);
struct glow_host;
struct glow_host_options;
/* The command of a device in a process of its own, ended by NULL. */
const char *const *tool_device_command(tool *t, const char *backend,
                                       const char *cpu, const char *features);
/*
 * A host with `executor`, or threads if that is NULL; the caller frees it.  NULL after a
 * report.
 */
struct glow_host *tool_new_host(tool *t, const char *executor,
                                const struct glow_host_options *o);
/*
 * The host `*out`, which the caller frees, with the devices of the options.  `host` is
 * all but the limit of a run.  TOOL_GO_ON or an exit code; *out is then NULL or to be
 * freed too.
 */
int tool_open_host(tool *t, const tool_devices *v,
                   const struct glow_host_options *host,
                   struct glow_host **out);

/* The folder of `path`; NULL: this one. */
const char *tool_folder_of(const tool *t, const char *path);
/*
 * A name of a placeholder as that of a file: slashes become underscores, and of several
 * names that are one file then, all but the first get a number.  `used` has all files.
 */
const char *tool_file_name(const tool *t, glow_map *used, const char *name);
bool tool_ends_with(const char *text, const char *end);

/*
 * The values of -weights as glow_parse takes them; false after tool_usage of one
 * without a path.
 */
bool tool_rebind(tool *t, const tool_list *l, const char *const (**out)[2]);
/* False after tool_unknown of an alias that names no weights file of `m`. */
bool tool_check_rebound(tool *t, const char *const (*pairs)[2],
                        const glow_module *m);

/*
 * A line with the current step: on standard error, if that is a terminal and -v
 * is not given, from two seconds after tool_progress_begin on.  `wipe` erases
 * it before other output, `end` ends it.
 */
void tool_progress_begin(tool *t);
void tool_progress(const char *fmt, ...) GLOW_PRINTF(1, 2);
void tool_progress_wipe(void);
void tool_progress_end(void);

/* The sink: prints to standard error as the options say. */
void tool_show(const glow_diag *d, void *t);

/* The input: its name, or standard input; NULL after a report. */
const glow_source *tool_read(tool *t);

#endif
