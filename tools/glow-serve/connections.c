/*
 * Connections by the time since which a client sends a request or takes an answer: one
 * that does so for longer than -transfer-ms is ended, however it spreads its bytes.
 */

#include <stdlib.h>
#include <sys/socket.h>

#include "tools/glow-serve/serve.h"

struct connection {
    int socket;
    int64_t since; /* of glow_now; 0: the server is at work */
    connection *next, **link;
};

connection *
serve_connection_new(server *s, int socket)
{
    connection *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    *c = (connection){
        .socket = socket, .since = glow_now(), .link = &s->connections};
    pthread_mutex_lock(&s->connecting);
    c->next = s->connections;
    if (c->next)
        c->next->link = &c->next;
    s->connections = c;
    pthread_mutex_unlock(&s->connecting);
    return c;
}

void
serve_connection_end(server *s, connection *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&s->connecting);
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    pthread_mutex_unlock(&s->connecting);
    free(c);
}

void
serve_connection_waits(server *s, connection *c, bool for_client)
{
    if (!c)
        return;
    pthread_mutex_lock(&s->connecting);
    c->since = for_client ? glow_now() : 0;
    pthread_mutex_unlock(&s->connecting);
}

void
serve_connections_end_slow(server *s)
{
    int64_t since = glow_now() - s->values.transfer_ms * 1000000;

    pthread_mutex_lock(&s->connecting);
    for (const connection *c = s->connections; c; c = c->next)
        if (c->since && c->since < since)
            shutdown(c->socket, SHUT_RDWR);
    pthread_mutex_unlock(&s->connecting);
}
