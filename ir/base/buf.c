/* Growing text buffers. */

#include "ir/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Grows the buffer for `more` bytes and a NUL. */
static void
reserve(glow_buf *b, size_t more)
{
    size_t need = b->len + more + 1;

    if (need <= b->cap)
        return;

    size_t cap = b->cap ? b->cap : 64;

    while (cap < need)
        cap *= 2;

    if (b->arena) {
        char *text = glow_arena_alloc(b->arena, cap);

        if (b->len)
            memcpy(text, b->text, b->len);
        b->text = text;
    } else {
        char *text = realloc(b->text, cap);

        if (!text)
            glow_no_memory(cap);
        b->text = text;
    }
    b->cap = cap;
}

void
glow_buf_add(glow_buf *b, const char *text, size_t n)
{
    reserve(b, n);
    if (n)
        memcpy(b->text + b->len, text, n);
    b->len += n;
    b->text[b->len] = 0;
}

void
glow_buf_puts(glow_buf *b, const char *text)
{
    glow_buf_add(b, text, strlen(text));
}

void
glow_buf_putc(glow_buf *b, char c)
{
    glow_buf_add(b, &c, 1);
}

void
glow_buf_printf(glow_buf *b, const char *fmt, ...)
{
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);

    int n = vsnprintf(NULL, 0, fmt, ap);

    if (n > 0) {
        reserve(b, (size_t)n);
        vsnprintf(b->text + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

void
glow_buf_free(glow_buf *b)
{
    if (!b->arena)
        free(b->text);
    *b = (glow_buf){.arena = b->arena};
}
