/* Synchronous requests: the thread of the caller runs commands while it waits. */

#include "runtime/executor.h"
#include "runtime/state.h"

static bool
is_done(void *user)
{
    glow_request *r = user;
    bool ended;

    pthread_mutex_lock(&r->host->lock);
    ended = r->ended;
    pthread_mutex_unlock(&r->host->lock);
    return ended;
}

glow_request *
glow_service_call(glow_service *s, const glow_input *in, int n_in,
                  const glow_request_options *o)
{
    glow_executor *x = s->host->options.executor;
    bool bounded = s->host->options.limit_ns || (o && o->deadline);
    bool keeps = !bounded && x->kind->keep && x->kind->keep(x);
    glow_request *r = glow_service_run(s, in, n_in, o);

    if (keeps)
        x->kind->run_kept(is_done, r);
    glow_fence_wait(glow_request_fence(r), INT64_MAX, NULL);
    return r;
}
