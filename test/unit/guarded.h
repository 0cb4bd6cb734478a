/* Tensors that end at the end of a page, with a page behind that no access may touch. */

#ifndef GLOW_TEST_GUARDED_H
#define GLOW_TEST_GUARDED_H

#include "unit.h"

#include "glow/tensor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The page behind the bytes of a tensor, and the block that both are in. */
typedef struct guard {
    unsigned char *block, *page;
} guard;

static inline size_t
page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static inline void
end_guarded(void *user)
{
    guard *g = user;

    assert_int_equal(mprotect(g->page, page_size(), PROT_READ | PROT_WRITE), 0);
    free(g->block);
    free(g);
}

/* A zeroed tensor. */
static inline glow_tensor
guarded_tensor(const glow_type *type)
{
    size_t bytes = (size_t)glow_type_bytes(type), page = page_size();
    size_t whole = (bytes + page - 1) / page * page;
    guard *g = malloc(sizeof *g);
    glow_tensor t = {.type = type};

    assert_non_null(g);
    g->block = aligned_alloc(page, whole + page);
    assert_non_null(g->block);
    memset(g->block, 0, whole + page);
    g->page = g->block + whole;
    assert_int_equal(mprotect(g->page, page, PROT_NONE), 0);
    t.data = g->page - bytes;
    t.owner = glow_data_wrap(t.data, bytes, end_guarded, g);
    return t;
}

#endif
