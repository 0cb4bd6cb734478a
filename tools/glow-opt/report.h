/* Data that -remarks and -report collect while passes run. */

#ifndef GLOW_TOOLS_GLOW_OPT_REPORT_H
#define GLOW_TOOLS_GLOW_OPT_REPORT_H

#include "glow/cost.h"
#include "tools/glow-opt/opt.h"
#include "tools/glow-opt/shot.h"

typedef struct remark {
    int number;       /* of the pass run, from 1 */
    const char *pass; /* or the backend */
    const char *func, *node, *op;
    const char *loc; /* "Conv_0 in net.onnx", or NULL */
    const char *text;
    bool done;
} remark;

typedef struct remark_list remark_list;
struct remark_list {
    remark *items;
    size_t count, cap;
    int number; /* of the current pass */
    glow_map *seen;
};

/* A pass run. */
typedef struct step {
    int number;
    const char *text; /* `tile<rows=32>` */
    const char *pass;
    const char *func; /* NULL: the module */
    glow_result result;
    double seconds;
    int64_t nodes_before, nodes; /* of all functions, before and after */
    bool is_graph;               /* after the pass all functions are graphs */
    int64_t rewrites;
    glow_cost cost;    /* of all functions, after */
    changes diff;      /* only the items that are shown */
    const char *lines; /* the diff as HTML */
    const char *note;  /* of glow_run_note, or NULL */
} step;

typedef struct report_state report_state;
struct report_state {
    step *steps;
    size_t count, cap;
    int64_t nodes; /* of the input */
    glow_cost cost;
    glow_pipeline *pipeline;
    glow_arena *scratch; /* reset after each pass */
    shot *before;
    int64_t rewrites; /* so far */
    size_t size;      /* of all lines */
    const char *note;
    double seconds;
};

/* Appends changes as a list in HTML. */
void put_changes_html(glow_buf *b, const changes *c);
/*
 * Appends the whole page; `m` is the result of the passes, NULL if they failed.
 */
void put_report(glow_buf *b, const opt *o, const glow_source *source,
                glow_module *m);

extern const char report_style[], report_script[];

#endif
