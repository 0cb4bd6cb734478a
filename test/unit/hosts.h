/*
 * Hosts of unit tests: a network in a file of its own, devices, a service of it, and the
 * outcomes of requests.
 */

#ifndef GLOW_TEST_HOSTS_H
#define GLOW_TEST_HOSTS_H

#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "glow/diag.h"
#include "glow/host.h"
#include "glow/plugin.h"

#define MS 1000000
#define NEVER INT64_MAX

typedef struct bench {
    char path[64];
    char state[80]; /* a file for state objects */
    char ids[64];   /* of reports, in the order of their coming */
    glow_context *ctx;
    glow_host *host;
    glow_service *service; /* NULL: none yet */
} bench;

static inline void
keep_id(const glow_diag *d, void *user)
{
    strncat(user, d->id, 8);
}

/* Opens a host on the network `text`, in a file that `name` tells from others. */
static inline void
open_bench(bench *b, const char *name, const char *text,
           const glow_host_options *o)
{
    FILE *f;

    *b = (bench){0};
    snprintf(b->path, sizeof b->path, "/tmp/glow-%s-%d.gir", name,
             (int)getpid());
    snprintf(b->state, sizeof b->state, "%s.safetensors", b->path);
    f = fopen(b->path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    b->ctx = glow_context_new();
    glow_context_set_sink(b->ctx, keep_id, b->ids);
    b->host = glow_host_new(o);
}

static inline void
end(bench *b)
{
    if (b->service)
        glow_service_release(b->service);
    glow_host_free(b->host);
    glow_context_free(b->ctx);
    unlink(b->path);
    unlink(b->state);
}

/* Adds the network as service net, in the place of one that is there. */
static inline void
add_service(bench *b, glow_service_options o)
{
    o.name = "net";
    o.path = b->path;
    assert_true(glow_host_add(b->host, b->ctx, &o));
    if (b->service)
        glow_service_release(b->service);
    b->service = glow_host_find(b->host, "net");
    assert_non_null(b->service);
}

/* Output y of a request that is done, or fails the test. */
static inline const float *
wait_for_y(glow_request *r, size_t *bytes)
{
    glow_report_text why;
    const float *y;

    if (glow_fence_wait(glow_request_fence(r), NEVER, &why) != GLOW_RUN_DONE)
        fail_msg("%s: %s", glow_outcome_name(why.outcome), why.text);
    y = glow_request_output(r, "y", bytes);
    assert_non_null(y);
    return y;
}

/* Releases a request that ends as `o`, with `text` in its report. */
static inline void
expect_failure(glow_request *r, glow_outcome o, const char *text)
{
    glow_report_text why;

    assert_int_equal(glow_fence_wait(glow_request_fence(r), NEVER, &why), o);
    if (!strstr(why.text, text))
        fail_msg("'%s' is not in '%s'", text, why.text);
    glow_request_release(r);
}

#endif
