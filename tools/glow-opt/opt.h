/* The internals of glow-opt: options, instruments and actions. */

#ifndef GLOW_TOOLS_GLOW_OPT_OPT_H
#define GLOW_TOOLS_GLOW_OPT_OPT_H

#include "glow/cost.h"
#include "glow/semantics.h"
#include "tools/common/tool.h"

typedef struct opt_values {
    /* input and output */
    const char *output;
    bool split_input_file, verify_diagnostics;
    bool allow_unknown_ops, allow_elided;
    bool print_all_attrs;
    tool_list annotate;
    tool_list weights;
    const char *externalize;
    const char *reattach;
    /* pipeline */
    const char *passes;
    glow_buf flags; /* passes given as options, as the text of a pipeline */
    bool print_pipeline;
    tool_list disable_pass;
    const char *rewrite_limit;
    tool_list load_profile;
    int64_t stop_after;
    int64_t limit; /* bytes; 0: none */
    const char *backend;
    const char *target_file;
    /* checks */
    bool verify_each, verify_semantics, verify_roundtrip_each;
    bool verify_determinism;
    const char *reproducer, *run_reproducer;
    const char *bisect;
    /* inspection */
    tool_list print_before, print_after;
    bool print_before_all, print_after_all;
    const char *print_changed;
    const char *print_ir_dir;
    tool_list debug;
    const char *time, *stats;
    const char *memory_map, *simulate;
    bool why_peak;
    const char *view;
    const char *remarks, *report;
    tool_list remarks_filter;
    bool cost, explain_support;
    /* emitting */
    const char *emit, *state;
    bool emit_object, emit_asm, emit_llvm, emit_bundle;
    const char *target, *cpu, *features, *winograd, *subnormals,
        *bundle_weights;
    bool exact;
    int64_t threads;
    tool_tuning tuning;
    /* lists */
    const char *list_passes, *list_ops, *list_errors, *list_targets;
    const char *list_plugins;
} opt_values;

/* A pass named in -rewrite-limit=PASS:N. */
typedef struct opt_limit {
    const char *pass;
    int64_t count;
} opt_limit;

typedef struct opt {
    tool tool;
    opt_values values;
    const glow_backend *backend;
    const glow_target *machine; /* of -target-file, or the backend's */
    glow_target_options code;   /* what code is made for */
    opt_limit limit;
    const char *const (*rebound)[2]; /* of -weights */
    const glow_source *pipeline;     /* its text */
    glow_semantics *semantics;
    bool differs;    /* a comparison failed: exit with TOOL_DIFFERS */
    int bisect_code; /* to exit with if -bisect found something */
    struct print_state *print;
    struct ir_dir *ir_dir;
    struct debug_state *debug;
    struct time_state *time;
    struct remark_list *remarks;
    struct report_state *report;
} opt;

/* Instruments; each is added if an option needs it. */
typedef struct instruments {
    glow_instrument at[16];
    int count;
} instruments;

void add_disable(opt *o, instruments *list);
void add_crash(opt *o, instruments *list);
void add_print(opt *o, instruments *list);
void add_roundtrip(opt *o, instruments *list);
void add_time(opt *o, const glow_pipeline *p, instruments *list);
void add_debug(opt *o, instruments *list);
void end_debug(opt *o);
void add_notes(opt *o, instruments *list);
void add_remarks(opt *o, instruments *list);
/* Adds remarks of the backend, of code that is made from now on. */
void take_code_remarks(opt *o);
void add_report(opt *o, glow_pipeline *p, instruments *list);
void add_progress(opt *o, instruments *list);
void end_print(opt *o);

/* -remarks and -report: their files; false after a report. */
bool write_remarks(opt *o);
bool write_report(opt *o, const glow_source *source, glow_module *m);

/* Reports of -time, -stats and -cost. */
void print_time(opt *o);
void print_stats(opt *o);
/* The number of rewrites of all passes in this context. */
int64_t count_rewrites(glow_context *ctx);
void put_cost(glow_buf *b, glow_module *m, const glow_target *t);
/* -explain-support; false after a report. */
bool put_support(opt *o, glow_module *m, glow_buf *b);

/* -print-ir-dir: creates the folder with the input; then adds each step. */
bool begin_ir_dir(opt *o, glow_module *m);
void add_ir_dir(opt *o, instruments *list);
void end_ir_dir(opt *o);

/* The RUN line of the command, with the weights of `m` (or NULL). */
const char *opt_run_line(const opt *o, const glow_module *m);

/*
 * -bisect: reports the failing pass and rewrite, and appends a reduced test.
 * False after a report.
 */
bool put_bisection(opt *o, glow_module *m, glow_buf *out);

/* Installs the crash handler, which writes a reproducer of `source`. */
void crash_install(opt *o);
void crash_input(const glow_source *source);
/* Sets the input module, whose weights are in the command. */
void crash_module(const opt *o, const glow_module *m);

/* -run-reproducer: returns only on failure, with the exit code. */
int run_reproducer(opt *o);

/* Options of other tools. */
extern const tool_habit opt_habits[];

/* True if the options are consistent; else false after tool_usage. */
bool opt_check_usage(opt *o);
/* True if an -emit option is given. */
bool opt_emits(const opt_values *v);
/* The artifact that it names; NULL: none. */
const char *opt_artifact(const opt_values *v);
/* Does what the options say; the code to end with. */
int opt_run(opt *o);

/* True if `name` is in the list. */
bool list_has(const tool_list *l, const char *name);

glow_parse_options opt_parse_options(opt *o, const glow_source *source);
glow_print_options opt_print_options(const opt *o);

#endif
