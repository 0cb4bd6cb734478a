/*
 * glow-alloc: static placement of buffers with known live ranges.
 *
 * Reads a table of buffers, places them (glow/place.h), and writes the table
 * with their offsets.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/glow-alloc/alloc.h"

#define AT(member) offsetof(alloc_values, member)

static const tool_option options[] = {
    {"o", TOOL_TEXT, AT(output), "FILE", NULL, "files",
     "where the rows go, with their offsets; -: standard output"},
    {"json", TOOL_FLAG, AT(json), NULL, NULL, "files",
     "print what was found as an object in one line"},

    {"capacity", TOOL_INT, AT(capacity), "BYTES", NULL, "space",
     "end at the first placement within so much; without: at the least"},
    {"align", TOOL_INT, AT(align), "BYTES", NULL, "space",
     "the alignment of rows that state none (1)"},
    {"bank", TOOL_INT, AT(bank), "BYTES", NULL, "space",
     "a buffer that fits in a bank of so much lies within one"},
    {"forbid", TOOL_LIST, AT(forbidden), "FROM:TO", NULL, "space",
     "nothing lies at offsets FROM <= x < TO"},

    {"strategy", TOOL_TEXT, AT(strategy), "NAME", NULL, "search",
     "auto, exact, greedy, or one order of placement (auto)"},
    {"budget", TOOL_INT, AT(budget), "STEPS", NULL, "search",
     "how long auto and exact search"},
    {"check", TOOL_FLAG, AT(check), NULL, NULL, "search",
     "place nothing: see whether all offsets are as they must be"},
    {0},
};

static const tool_spec spec = {
    .name = "glow-alloc",
    .usage = "[OPTION]... [PROBLEM.csv] [-o SOLUTION.csv]",
    .about =
        "Finds offsets for buffers whose lifetimes are known. Columns: id, "
        "lower, upper (half open), size; optional alignment, and offset "
        "where it is fixed.",
    .options = options,
};

typedef struct job {
    tool tool;
    alloc_values values;
    rows rows;
    glow_place_space space;
    glow_place_options how;
    glow_placement found;
    double ms;
} job;

/* The command line. */

static int
take_strategy(job *j)
{
    tool_list names = {0};

    for (int i = 0; glow_place_strategies[i]; i++) {
        tool_list_add(&j->tool, &names, glow_place_strategies[i]);
        if (strcmp(glow_place_strategies[i], j->values.strategy) == 0) {
            j->how.strategy = (glow_place_strategy)i;
            return TOOL_GO_ON;
        }
    }
    return tool_unknown(&j->tool, "strategy", j->values.strategy, &names);
}

static int
take_forbidden(job *j)
{
    const tool_list *l = &j->values.forbidden;
    glow_place_range *r =
        GLOW_NEW_ARRAY(j->tool.arena, glow_place_range, l->count);

    for (size_t i = 0; i < l->count; i++) {
        long long from, to;
        int read = 0;

        if (sscanf(l->items[i], "%lld:%lld%n", &from, &to, &read) != 2 ||
            l->items[i][read] || from < 0 || to < from)
            return tool_usage(&j->tool, "write -forbid FROM:TO",
                              "-forbid '%s' is no range of offsets",
                              l->items[i]);
        r[i] = (glow_place_range){from, to};
    }
    j->space.forbidden = r;
    j->space.n_forbidden = l->count;
    return TOOL_GO_ON;
}

static int
take_options(job *j)
{
    const alloc_values *v = &j->values;
    int code = take_strategy(j);

    if (code == TOOL_GO_ON)
        code = take_forbidden(j);
    if (code != TOOL_GO_ON)
        return code;
    if (j->tool.inputs.count > 1)
        return tool_usage(&j->tool, NULL, "more than one input file");
    if (v->capacity < 1 || v->align < 1)
        return tool_usage(&j->tool, NULL,
                          "-capacity and -align take 1 or more");
    if (v->bank < 0 || v->budget < 0)
        return tool_usage(&j->tool, NULL, "-bank and -budget take 0 or more");
    j->space.capacity = v->capacity;
    j->space.bank = v->bank;
    j->how.space = &j->space;
    j->how.budget = v->budget;
    j->how.enough = v->capacity < INT64_MAX ? v->capacity : 0;
    return TOOL_GO_ON;
}

/* Reports an error in a problem or a placement. */

static int
say_fault(job *j)
{
    static const char *const what[] = {
        [GLOW_PLACE_NEGATIVE] = "has a number that must not be negative",
        [GLOW_PLACE_OVERFLOWS] = "brings the sizes to more than 2^63 - 1",
        [GLOW_PLACE_ODD_ALIGN] = "has an alignment that neither divides the "
                                 "bank nor is a multiple of it",
        [GLOW_PLACE_MISALIGNED] = "lies at no multiple of its alignment",
        [GLOW_PLACE_FORBIDDEN] = "lies where it is forbidden",
        [GLOW_PLACE_CROSSES_BANK] = "lies in two banks",
        [GLOW_PLACE_BEYOND] = "ends past the capacity",
        [GLOW_PLACE_OVERLAPS] = "shares bytes with another, while both live",
    };
    const glow_placement *p = &j->found;
    const rows *r = &j->rows;
    const glow_lifetime *b = &r->buffers[p->buffer];
    glow_buf text = {.arena = j->tool.arena};

    glow_buf_printf(&text,
                    "buffer '%s' (%" PRId64 " bytes, offset %" PRId64
                    ", alignment %" PRId64 ") %s",
                    r->ids[p->buffer], b->size, b->offset, b->align,
                    what[p->fault]);
    if (p->other != p->buffer)
        glow_buf_printf(&text, ": '%s' (%" PRId64 " bytes, offset %" PRId64 ")",
                        r->ids[p->other], r->buffers[p->other].size,
                        r->buffers[p->other].offset);
    glow_error_at(j->tool.ctx, r->spans[p->buffer], "E0631", "%s", text.text);
    return TOOL_FAILED;
}

/* Checks the capacity; reports an excess. */
static int
check_capacity(job *j)
{
    const glow_placement *p = &j->found;
    int64_t capacity = j->values.capacity;

    if (p->height <= capacity)
        return TOOL_DONE;
    if (p->load > capacity)
        glow_error(j->tool.ctx, "E0632",
                   "no placement is within %" PRId64
                   " bytes: at moment %" PRId64 ", %" PRId64 " are alive",
                   capacity, p->busiest, p->load);
    else if (p->bound > capacity)
        glow_error(j->tool.ctx, "E0632",
                   "no placement is within %" PRId64 " bytes: it takes %" PRId64
                   " at least, though no more than "
                   "%" PRId64 " are alive at one moment",
                   capacity, p->bound, p->load);
    else
        glow_error_hint(j->tool.ctx, (glow_span){0}, "E0632",
                        "-strategy=exact or a larger -budget may find one",
                        "found no placement within %" PRId64
                        " bytes: the best takes %" PRId64
                        ", and it is proved that none takes less than %" PRId64,
                        capacity, p->height, p->bound);
    return TOOL_FAILED;
}

/* Printing. */

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void
print_found(const job *j)
{
    const glow_placement *p = &j->found;
    const char *output = j->values.output;
    FILE *f = output && strcmp(output, "-") == 0 ? stderr : stdout;

    if (j->values.json)
        fprintf(f,
                "{\"buffers\": %zu, \"height\": %" PRId64
                ", \"bound\": %" PRId64 ", \"load\": %" PRId64
                ", \"proved\": %s, \"by\": \"%s\", "
                "\"steps\": %" PRId64 ", \"ms\": %.3f}\n",
                j->rows.count, p->height, p->bound, p->load,
                p->proved ? "true" : "false", p->by ? p->by : "check", p->steps,
                j->ms);
    else
        fprintf(f,
                "height %" PRId64 ", bound %" PRId64 "%s, %" PRId64
                " alive at moment %" PRId64 "; %zu buffers, by %s\n",
                p->height, p->bound, p->proved ? " (proved least)" : "",
                p->load, p->busiest, j->rows.count, p->by ? p->by : "check");
    fflush(f);
}

static int
place(job *j)
{
    rows *r = &j->rows;
    glow_arena *a = j->tool.arena;
    double begin = now_ms();
    tool_progress_begin(&j->tool);
    tool_progress("placing %zu buffers (%s)", r->count, j->values.strategy);

    bool ok =
        j->values.check
            ? glow_place_check(a, r->buffers, r->count, &j->space, &j->found)
            : glow_place_buffers(a, r->buffers, r->count, &j->how, &j->found);

    tool_progress_end();
    if (!ok)
        return say_fault(j);
    j->ms = now_ms() - begin;
    print_found(j);
    return check_capacity(j);
}

/* With -check, each row must have an offset. */
static bool
has_offsets(job *j)
{
    const rows *r = &j->rows;
    bool ok = true;

    for (size_t i = 0; i < r->count && j->values.check; i++)
        if (!r->buffers[i].is_fixed)
            ok = glow_error_at(j->tool.ctx, r->spans[i], "E0631",
                               "buffer '%s' has no offset that could be "
                               "checked",
                               r->ids[i]);
    return ok;
}

static int
work(job *j)
{
    const char *output = j->values.output;
    int code = take_options(j);
    const glow_source *source;

    if (code != TOOL_GO_ON)
        return code;
    source = tool_read(&j->tool);
    if (!source || !read_rows(&j->tool, source, j->values.align, &j->rows) ||
        !has_offsets(j))
        return TOOL_FAILED;
    code = place(j);
    if (code == TOOL_DONE && output && !write_rows(&j->tool, &j->rows, output))
        code = TOOL_FAILED;
    return code;
}

int
main(int argc, char **argv)
{
    job j = {.values = {.capacity = INT64_MAX, .align = 1, .strategy = "auto"}};
    int code = tool_begin(&j.tool, &spec, &j.values, argc, argv);

    if (code == TOOL_GO_ON)
        code = work(&j);
    return tool_end(&j.tool, code);
}
